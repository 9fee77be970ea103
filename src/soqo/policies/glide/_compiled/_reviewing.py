"""Fits of the latest readings of one run, as machine code: ``_reviews``."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import NO, YES, compiled
from soqo.estimators.bayes.compiled import triangular_factor
from soqo.policies.glide._beliefs import BASE_LOAD_LOG_PRIORS, DECISIVE_READINGS
from soqo.policies.glide._compiled._belief_update import (
    features,
    fit,
    least_noise,
    log_density,
    marginal_evidence,
    potter,
    predict,
    reading_variance,
    store,
)
from soqo.policies.glide._compiled._judgment import total_weight
from soqo.policies.glide._compiled._layout import (
    AGE,
    BELIEF_NUMBERS,
    BUFFER_ROWS,
    DENSITIES,
    IN_A_ROW,
    LEVEL_SPEED,
    LEVEL_VARIANCE,
    LOG_EVIDENCE,
    LOG_WEIGHT,
    NOISE,
    READINGS,
    REJECTED,
    Constants,
)
from soqo.policies.glide._outliers import LOG_ERROR_RANGE, LOG_FIRST_WRONG, LOG_NEXT_WRONG
from soqo.policies.glide._reviews import DECISIVE_NATS, DOUBT_AGE, MISLED_SHARE
from soqo.typing import Array

_LOG_NO_BASE_LOAD = BASE_LOAD_LOG_PRIORS["none"]


@compiled
def start_belief(row: Array, factor: Array, buffer: Array, fresh: Array, speed: float) -> None:
    """Fill in a belief before the first reading; a speed of NaN is no base load."""
    row[:] = fresh
    factor[:, :] = 0.0
    buffer[:, :] = 0.0
    if not math.isnan(speed):
        row[LEVEL_VARIANCE], row[LEVEL_SPEED] = np.inf, speed


@compiled
def _triangularize(rows: Array, factor: Array) -> None:
    """Write the triangular factor of some rows to ``factor``, which is zero before."""
    R = triangular_factor(rows, 0)
    for i in range(min(rows.shape)):
        for j in range(i, rows.shape[1]):
            factor[i, j] = R[j, i]


@compiled
def store_rows(
    row: Array,
    factor: Array,
    buffer: Array,
    recent: Array,
    first: int,
    last: int,
    skip: Array,
    model: Constants,
    work: Array,
) -> bool:
    """Let a belief store some of the latest readings, before a fit; return False if there is none."""
    sizes = model.sizes
    d, m = sizes[0], sizes[4]
    f, level = np.empty(m), BELIEF_NUMBERS + m
    difference, stack = work[0], np.empty((last - first, m + 1))
    for t in range(first, last):
        y = recent[t, d]
        if math.isnan(y) or skip[t] != 0.0:
            continue
        square_length = features(recent[t, :d], sizes, model.bias, f)
        for i in range(m):
            difference[i] = f[i] - row[level + i]
        difference[m] = y - row[level + m]
        R = reading_variance(row, square_length, model.trusted_distance)
        store(row, factor, stack, recent[t, :d], y, sizes, difference, R, row[LEVEL_SPEED] ** 2, work[2])
    count = int(row[BUFFER_ROWS])
    if count == 0:
        return False
    if count <= buffer.shape[0]:
        buffer[:count] = stack[:count]
    else:
        _triangularize(stack[:count], factor)
        row[BUFFER_ROWS] = 0.0
    return True


@compiled
def fit_stored(
    row: Array, root: Array, factor: Array, buffer: Array, evidence_only: bool, model: Constants, work: Array
) -> bool:
    """Fit all stored readings, with their marginal density as the evidence; return False if the numbers overflow.

    If only the evidence is wanted, the mean and the root are not computed.
    """
    finite = fit(row, root, factor, buffer, model, YES, evidence_only, work[2])
    row[LOG_EVIDENCE] = marginal_evidence(row)
    return finite


@compiled
def doubt_first_reading(
    wrong: int,
    row: Array,
    root: Array,
    factor: Array,
    buffer: Array,
    recent: Array,
    model: Constants,
    work: Array,
) -> bool:
    """Fill in a belief in which the first or the second of five readings was wrong; return False if it cannot."""
    rows, d = recent.shape[0], model.sizes[0]
    first, skip = rows - int(DOUBT_AGE), np.zeros(rows)
    log_weight, follows = _LOG_NO_BASE_LOAD, False
    for t in range(first, rows):
        y = recent[t, d]
        # A negative reading is wrong as well: without a base load only the noise explains it.
        dropped = y < 0.0 or t == first + wrong
        if dropped:
            skip[t] = 1.0
            log_weight += (LOG_NEXT_WRONG if follows else LOG_FIRST_WRONG) - LOG_ERROR_RANGE
            log_weight -= math.log(max(abs(y), 1e-300))
        follows = dropped
    start_belief(row, factor, buffer, model.fresh, np.nan)
    if not store_rows(row, factor, buffer, recent, first, rows, skip, model, work):
        return False
    finite = fit_stored(row, root, factor, buffer, NO, model, work)
    row[LOG_WEIGHT], row[AGE], row[REJECTED] = log_weight, DOUBT_AGE, 1.0
    return finite


@compiled
def fit_afresh(
    row: Array,
    root: Array,
    factor: Array,
    buffer: Array,
    leader: Array,
    recent: Array,
    count: int,
    model: Constants,
    work: Array,
) -> int:
    """Fill in a belief that has learned from the latest readings alone.

    Return 1 if it predicts the last of them far better than the best belief, 0 if not, and -1 if it cannot be made.
    """
    rows, d = recent.shape[0], model.sizes[0]
    for t in range(rows - count, rows):
        if math.isnan(recent[t, d]):
            return 0
    speed = leader[LEVEL_SPEED] if leader[LEVEL_VARIANCE] > 0.0 else np.nan
    start_belief(row, factor, buffer, model.fresh, speed)
    decisive, rejects = rows - DECISIVE_READINGS, leader[IN_A_ROW] > DECISIVE_READINGS
    if not store_rows(row, factor, buffer, recent, rows - count, decisive, np.zeros(rows), model, work):
        return -1
    # A start that was misled seems to have large noise, unless its belief rejects all later readings.
    if not rejects and not least_noise(row, factor, buffer, model) < MISLED_SHARE * leader[NOISE]:
        return 0
    if not fit_stored(row, root, factor, buffer, YES, model, work):
        return -1
    if not rejects and not row[NOISE] < MISLED_SHARE * leader[NOISE]:
        return 0
    if not fit_stored(row, root, factor, buffer, NO, model, work):
        return -1
    won = _learn_decisive(row, root, factor, buffer, recent, decisive, model, work)
    for j in range(DENSITIES, DENSITIES + DECISIVE_READINGS):
        won -= leader[j]
    if not won > DECISIVE_NATS:
        return -1 if math.isnan(won) else 0
    if not fit(row, root, factor, buffer, model, NO, NO, work[2]):
        return -1
    if row[READINGS] <= model.first:
        row[LOG_EVIDENCE] = marginal_evidence(row)
    row[LOG_WEIGHT], row[AGE] = total_weight(leader) + 1.0 - row[LOG_EVIDENCE], count
    return 1


@compiled
def _learn_decisive(
    row: Array,
    root: Array,
    factor: Array,
    buffer: Array,
    recent: Array,
    first: int,
    model: Constants,
    work: Array,
) -> float:
    """Let a belief learn from the last readings without a fit, and return the sum of their log densities."""
    sizes = model.sizes
    d, m = sizes[0], sizes[4]
    f, total = np.empty(m), 0.0
    difference, spread = work[0], work[1]
    for t in range(first, recent.shape[0]):
        u, y = recent[t, :d], recent[t, d]
        square_length = features(u, sizes, model.bias, f)
        explained, variance, zeros = predict(row, root, f, y, sizes, difference, spread)
        innovation = difference[m] - explained
        R = reading_variance(row, square_length, model.trusted_distance)
        weight = store(row, factor, buffer, u, y, sizes, difference, R, row[LEVEL_SPEED] ** 2, work[2])
        density = log_density(innovation, variance, weight, row[NOISE])
        row[LOG_EVIDENCE] += density
        total += density
        potter(row, root, root, spread, innovation, variance, weight, zeros)
    return total
