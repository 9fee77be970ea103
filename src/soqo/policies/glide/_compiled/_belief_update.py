"""One reading and one belief, as machine code: prediction, whitening, storage, Potter's step and fit."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes import LOG_BASE_LOAD_RANGE, NOISE_MARGIN, RELATIVE_ERROR
from soqo.estimators.bayes.compiled import fit_variants, fold_rows, offset_deviation, to_vector, unexplained
from soqo.policies.glide._compiled._layout import (
    BELIEF_NUMBERS,
    BUFFER_ROWS,
    FIRST_READING,
    KNOWN_NOISE,
    LEVEL_VARIANCE,
    LOG_EVIDENCE,
    LOG_JACOBIAN,
    LOG_MARGINAL,
    LOG_SIZE,
    MAX_ABS_READING,
    NOISE,
    NOISE_CAP,
    OFFSET_STEP,
    PRIOR_UNIT,
    READINGS,
    SCALE,
    SCALE_DEVIATION,
    TOTAL_READINGS,
    VARIANTS,
    Constants,
)
from soqo.typing import Array, IntArray

_ROOT_HALF = math.sqrt(0.5)
_TWO_PI = 2.0 * math.pi


@compiled
def features(u: Array, sizes: IntArray, bias: int, f: Array) -> float:
    """Fill in the features of a reading at u, and return |u|^2; bias is 0 for none, 1 for constant, 2 for direction."""
    d, p, q, e = sizes[0], sizes[1], sizes[2], sizes[3]
    square_length, k = 0.0, q + e
    for i in range(d):
        square_length += u[i] * u[i]
        for j in range(i):
            f[k] = _ROOT_HALF * u[i] * u[j]
            k += 1
        f[k] = 0.5 * u[i] * u[i]
        k += 1
    for i in range(e):
        f[q + i] = u[i]
    if bias == 1:
        f[0] = 1.0
    elif bias == 2:
        factor = 2.0 / square_length
        for i in range(p):
            f[i] = f[q + e + i] * factor
    return square_length


@compiled
def log_first_density(reading: float, noise: float) -> float:
    """Return the log density of the reading that defined the level; zero for none."""
    if math.isnan(reading):
        return 0.0
    return -LOG_BASE_LOAD_RANGE - math.log(max(reading, noise))


@compiled
def zero_block(root: Array) -> tuple[int, int]:
    """Return the number of first rows and of first columns that are zero.

    They are those of unknowns that the evidence has excluded: of a bias, and of an offset. At d = 10 this leaves a
    quarter of the entries.
    """
    m, top = root.shape[0], 0
    while top < m and not np.any(root[top]):
        top += 1
    left = root.shape[1]
    for i in range(top, m):
        j = 0
        while j < left and root[i, j] == 0.0:
            j += 1
        left = j
        if left == 0:
            break
    return top, left


@compiled
def predict(
    row: Array, root: Array, f: Array, y: float, sizes: IntArray, difference: Array, spread: Array
) -> tuple[float, float, tuple[int, int]]:
    """Fill in the row without the level and its spread; return the explained part, its variance and the zero block."""
    m = sizes[4]
    top, left = zero_block(root)
    level, explained = BELIEF_NUMBERS + m, 0.0
    for i in range(m):
        difference[i] = f[i] - row[level + i]
        explained += difference[i] * row[BELIEF_NUMBERS + i]
        spread[i] = 0.0
    difference[m] = y - row[level + m]
    for i in range(top, m):
        factor = difference[i]
        for j in range(left, m):
            spread[j] += factor * root[i, j]
    variance = 0.0
    for j in range(left, m):
        variance += spread[j] * spread[j]
    return explained, variance, (top, left)


@compiled
def store(
    row: Array,
    factor: Array,
    buffer: Array,
    u: Array,
    y: float,
    sizes: IntArray,
    difference: Array,
    variance_of_reading: float,
    speed2: float,
    work: Array,
) -> float:
    """Whiten and store a reading: level, buffer, factor and sums. Return its weight, 0 if it only defined the level."""
    d, m = sizes[0], sizes[4]
    level = BELIEF_NUMBERS + m
    P = row[LEVEL_VARIANCE]
    if math.isinf(P):
        for i in range(m + 1):
            row[level + i] += difference[i]
        row[LEVEL_VARIANCE] = variance_of_reading + speed2
        row[FIRST_READING] = abs(y)
        row[LOG_EVIDENCE] += log_first_density(abs(y), 1e-150)
        return 0.0
    weight = 1.0 / math.sqrt(P + variance_of_reading)
    row[LOG_JACOBIAN] += math.log(weight)
    if P > 0.0:
        gain = P * weight * weight
        for i in range(m + 1):
            row[level + i] += gain * difference[i]
        row[LEVEL_VARIANCE] = P * (1.0 - gain) + speed2
    rows = int(row[BUFFER_ROWS])
    if rows == buffer.shape[0]:
        fold_rows(factor, buffer, rows, work)
        buffer[:, :] = 0.0
        rows = 0
    for i in range(m + 1):
        buffer[rows, i] = weight * difference[i]
    row[BUFFER_ROWS] = rows + 1.0
    row[MAX_ABS_READING] = max(row[MAX_ABS_READING], abs(weight * difference[m]))
    moment, bounded, square = level + m + 1, min(weight, 1.0), 0.0
    for i in range(d):
        square += u[i] * u[i]
        for j in range(d):
            row[moment + i * d + j] += bounded * u[i] * u[j]
    if sizes[3] > 0:
        size = math.sqrt(square / d)
        if row[TOTAL_READINGS] > 0.0:
            # A reading at u = 0 says nothing about the typical size.
            size = max(size, 1e-3 * math.exp(row[LOG_SIZE] / row[TOTAL_READINGS]))
        row[LOG_SIZE] += math.log(max(size, 1e-150))
    row[READINGS] += 1.0
    row[TOTAL_READINGS] += 1.0
    return weight


@compiled
def reading_variance(row: Array, square_length: float, trusted_distance: float) -> float:
    """Return the variance of a reading in units of that of the noise."""
    relative = RELATIVE_ERROR * square_length / row[NOISE] if row[MAX_ABS_READING] > 0.0 else 0.0
    return 1.0 + relative * relative + model_error(square_length, trusted_distance)


@compiled
def model_error(square_length: float, trusted_distance: float) -> float:
    """Return the variance of the error of the model in units of that of the noise; NaN is no trusted distance."""
    if math.isnan(trusted_distance):
        return 0.0
    return (square_length / trusted_distance**2) ** 2


@compiled
def log_density(innovation: float, variance: float, weight: float, noise: float) -> float:
    """Return the log density of a reading from its innovation."""
    weight2 = weight * weight
    total = weight2 * variance + noise * noise
    return -0.5 * (weight2 * innovation * innovation / total + math.log(_TWO_PI * total / weight2))


@compiled
def potter(
    row: Array,
    old: Array,
    new: Array,
    spread: Array,
    innovation: float,
    variance: float,
    weight: float,
    zeros: tuple[int, int],
) -> None:
    """Update the mean, and write the root of the covariance after a row with this weight to ``new``."""
    m, noise = spread.size - 1, row[NOISE]
    top, left = zeros
    total = weight * weight * variance + noise * noise
    factor, shrink = weight * weight * innovation / total, weight * weight / (total + noise * math.sqrt(total))
    new[:top, :] = 0.0
    for i in range(top, m):
        gain = 0.0
        for j in range(left, m):
            gain += old[i, j] * spread[j]
        row[BELIEF_NUMBERS + i] += gain * factor
        gain *= shrink
        new[i, :left] = 0.0
        for j in range(left, m):
            new[i, j] = old[i, j] - gain * spread[j]


@compiled
def fit(
    row: Array,
    root: Array,
    factor: Array,
    buffer: Array,
    model: Constants,
    review: bool,
    evidence_only: bool,
    work: Array,
) -> bool:
    """Estimate noise and scale again; return False if the numbers overflow."""
    sizes = model.sizes
    d, p, q, e, m = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    rows, few = int(row[BUFFER_ROWS]), row[BUFFER_ROWS] == row[TOTAL_READINGS]
    if not few:
        fold_rows(factor, buffer, rows, work)
        buffer[:, :] = 0.0
        row[BUFFER_ROWS] = 0.0
    prior_mean = BELIEF_NUMBERS + 2 * m + 1 + d * d
    center, numbers = np.empty(p), np.empty(8)
    to_vector(row[prior_mean : prior_mean + d * d].reshape(d, d), center)
    numbers[0], numbers[1], numbers[2] = row[READINGS], row[MAX_ABS_READING], row[NOISE_CAP]
    numbers[3], numbers[4] = row[KNOWN_NOISE], row[SCALE_DEVIATION]
    numbers[5] = row[NOISE] if row[READINGS] > 2 * p else np.nan
    numbers[6], numbers[7] = row[PRIOR_UNIT], offset_deviation(row[LOG_SIZE], row[TOTAL_READINGS])
    offset = row[LEVEL_VARIANCE] > 0.0 and e > 0 and row[OFFSET_STEP] == 0.0
    finite, noise, scale, log_marginal = fit_variants(
        buffer[:rows] if few else factor,
        rows if few else q,
        sizes,
        model.kappa,
        model.optional_bias,
        model.diagonal,
        center,
        numbers,
        offset,
        review,
        evidence_only,
        row[VARIANTS : VARIANTS + 4],
        row[BELIEF_NUMBERS : BELIEF_NUMBERS + m],
        root,
    )
    row[NOISE], row[SCALE], row[LOG_MARGINAL] = noise, scale, log_marginal
    return finite


@compiled
def least_noise(row: Array, factor: Array, buffer: Array, model: Constants) -> float:
    """Return a lower bound on the noise that :func:`fit` finds; all readings are in the buffer or in the factor."""
    rows, sizes = int(row[BUFFER_ROWS]), model.sizes
    few, offset = rows > 0, row[LEVEL_VARIANCE] > 0.0 and row[OFFSET_STEP] == 0.0
    rest = unexplained(buffer[:rows] if few else factor, rows if few else sizes[2], sizes, model.kappa, offset)
    return NOISE_MARGIN * min(rest / math.sqrt(row[READINGS]), row[NOISE_CAP])


@compiled
def marginal_evidence(row: Array) -> float:
    """Return the density of all stored rows after a fit."""
    return row[LOG_MARGINAL] + row[LOG_JACOBIAN] + log_first_density(row[FIRST_READING], row[NOISE])
