"""What a run does with a reading apart from its beliefs, as machine code: meter, latest readings, and the estimate."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes import (
    MANY_PER_UNKNOWN,
    MAX_DISTANCE,
    OFFSET_SIZE,
    STEADY_RATIO,
    VERY_MANY_PER_UNKNOWN,
)
from soqo.estimators.bayes.compiled import map_estimate, solve_symmetric, to_vector
from soqo.policies.glide._compiled._belief_update import zero_block
from soqo.policies.glide._compiled._judgment import base_load
from soqo.policies.glide._compiled._layout import (
    ALARMS,
    BELIEF_NUMBERS,
    COUNT_READINGS,
    DENSITIES,
    EPOCH,
    LAST_ALARM,
    LAST_READING,
    LOG_SIZE,
    MAX_COUNT,
    MAX_READING,
    READINGS,
    REJECTED,
    RUN_NUMBERS,
    SCALE,
    STUCK,
    TOTAL_READINGS,
)
from soqo.policies.glide._outliers import MAX_CHANGE
from soqo.typing import Array, IntArray

DONE, GENERAL, SLOW = 0, 1, 2
"""What became of a run: it has learned, it needs ``learn_general``, or it needs NumPy's code."""

_MAX_READING = 1e60
"""NumPy's code clips larger readings."""


@compiled
def contains(ages: Array, age: float) -> bool:
    """Return whether a sorted array that ends with infinity contains an age."""
    return ages[np.searchsorted(ages, age)] == age


@compiled
def check_meter(run: Array, first_u: int, u: Array, y: float) -> bool:
    """Update what is known about repeated readings, in place; return False if the meter repeats itself."""
    if y == run[LAST_READING] or run[STUCK] != 0.0:
        return False
    run[LAST_READING] = y
    run[COUNT_READINGS] += 1.0
    if y > run[MAX_READING]:
        run[MAX_READING], run[MAX_COUNT] = y, 1.0
    elif y == run[MAX_READING]:
        run[MAX_COUNT] += 1.0
    for i in range(u.size):
        run[first_u + i] = u[i]
    return True


@compiled
def is_ordinary(u: Array, y: float, bias: int) -> bool:
    """Return whether no number needs to be clipped."""
    square = 0.0
    for i in range(u.size):
        if not abs(u[i]) < MAX_DISTANCE:
            return False
        square += u[i] * u[i]
    return abs(y) < _MAX_READING and (bias != 2 or square >= 1e-200)


@compiled
def remember(old: Array, new: Array, u: Array, y: float) -> None:
    """Write the latest readings with one more row to ``new``: u, y, and whether it was rejected."""
    rows, d = old.shape[0], u.size
    new[: rows - 1] = old[1:]
    for i in range(d):
        new[rows - 1, i] = u[i]
    new[rows - 1, d], new[rows - 1, d + 1] = y, 0.0


@compiled
def finish(
    run: Array,
    row: Array,
    root: Array,
    sizes: IntArray,
    own_round: int,
    round_number: int,
    old_epoch: float,
    old_rejected: float,
) -> None:
    """Do what the policy does after the beliefs have learned: alarms, the estimate, and the shift of the minimizer."""
    d, p = sizes[0], sizes[1]
    epoch = row[EPOCH]
    if epoch > run[LAST_ALARM] and epoch < round_number:
        run[ALARMS] += 1.0
        run[LAST_ALARM] = epoch
    switched = epoch != old_epoch or row[REJECTED] != old_rejected
    # As ``estimate_period``; a run whose offset walks is not compiled.
    period, smallest, largest = 1, run[RUN_NUMBERS], run[RUN_NUMBERS + d - 1]
    if row[READINGS] > VERY_MANY_PER_UNKNOWN * p and smallest > STEADY_RATIO * largest:
        period = 8
    elif row[READINGS] > MANY_PER_UNKNOWN * p:
        period = 4
    if own_round % period == 0 or switched:
        _estimate(run, row, root, sizes)
    size = d + d * d
    run[RUN_NUMBERS + size : RUN_NUMBERS + 2 * size] = run[RUN_NUMBERS : RUN_NUMBERS + size]


@compiled
def _estimate(run: Array, row: Array, root: Array, sizes: IntArray) -> None:
    """Update the spectrum of the estimate and the shift of the minimizer."""
    d, p, q, e, m = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    first, last = RUN_NUMBERS, RUN_NUMBERS + d
    mean = row[BELIEF_NUMBERS + m - p : BELIEF_NUMBERS + m]
    # The first columns are zero after a fit: they are those of a bias, which A does not depend on.
    _, left = zero_block(root[m - p :])
    root_A = np.ascontiguousarray(root[m - p :, left:])
    values, vectors = map_estimate(
        mean, root_A, row[READINGS], row[SCALE], run[first:last].copy(),
        run[last : last + d * d].copy().reshape(d, d),
    )  # fmt: skip
    for i in range(d):
        run[first + i] = values[i]
        for j in range(d):
            run[last + i * d + j] = vectors[i, j]
    if e == 0:
        return
    shift = RUN_NUMBERS + 2 * (d + d * d)
    g, known = row[BELIEF_NUMBERS + q : BELIEF_NUMBERS + q + d].copy(), False
    for i in range(d):
        run[shift + i] = 0.0
        known |= g[i] != 0.0
    if not known:
        return
    root_A, root_g = np.ascontiguousarray(root[m - p :]), np.ascontiguousarray(root[q : q + d])
    covariance = np.dot(root_A, np.ascontiguousarray(root_A.T))
    trace = 0.0
    for i in range(p):
        trace += covariance[i, i]
    for i in range(p):
        covariance[i, i] += 1e-10 * trace + 1e-300
    matrix, change = np.zeros((d, d)), np.empty(p)
    for i in range(d):
        for j in range(d):
            for k in range(d):
                matrix[i, j] += vectors[i, k] * values[k] * vectors[j, k]
    to_vector(matrix, change)
    change -= mean
    if not solve_symmetric(covariance, change):
        return
    g += np.dot(root_g, np.dot(change, root_A))
    deviations = np.dot(np.ascontiguousarray(vectors.T), root_g)
    size = OFFSET_SIZE * math.exp(row[LOG_SIZE] / max(row[TOTAL_READINGS], 1.0))
    for k in range(d):
        along, variance = 0.0, 0.0
        for i in range(d):
            along += g[i] * vectors[i, k]
        for j in range(m):
            variance += deviations[k, j] ** 2
        ratio = variance / max(size, 1e-150) ** 2
        along *= values[k] / max(values[k] * values[k] + ratio, 1e-300)
        for i in range(d):
            run[shift + i] += vectors[i, k] * along


@compiled
def mean_curvature(run: Array, d: int) -> float:
    total = 0.0
    for i in range(d):
        total += run[RUN_NUMBERS + i]
    return total / d


@compiled
def is_ready(
    row: Array, y: float, error: float, noise: float, curvature: float, square_length: float, sizes: IntArray
) -> bool:
    """Return whether a reading that does not fit may mean a change: A explains its error, and readings are many."""
    if not row[READINGS] >= sizes[1] + 5:
        return False
    if not y >= min(base_load(row, sizes[4]), 0.0) - 3.0 * noise:
        return False
    return abs(error) < 0.5 * MAX_CHANGE * curvature * square_length + 6.0 * noise


@compiled
def push(row: Array, density: float) -> None:
    """Add a log density to the latest ones."""
    for j in range(DENSITIES, DENSITIES + 4):
        row[j] = row[j + 1]
    row[DENSITIES + 4] = density
