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
def was_misled(
    row: Array,
    root: Array,
    factor: Array,
    buffer: Array,
    leader: Array,
    recent: Array,
    count: int,
    model: Constants,
    work: Array,
) -> bool:
    """Return whether a fit of the latest readings alone predicts the last of them far better, or cannot be made."""
    sizes = model.sizes
    rows, d, m = recent.shape[0], sizes[0], sizes[4]
    for t in range(rows - count, rows):
        if math.isnan(recent[t, d]):
            return False
    speed = leader[LEVEL_SPEED] if leader[LEVEL_VARIANCE] > 0.0 else np.nan
    start_belief(row, factor, buffer, model.fresh, speed)
    decisive, rejects = rows - DECISIVE_READINGS, leader[IN_A_ROW] > DECISIVE_READINGS
    if not store_rows(row, factor, buffer, recent, rows - count, decisive, np.zeros(rows), model, work):
        return True
    # A start that was misled seems to have large noise, unless its belief rejects all later readings.
    if not rejects and not least_noise(row, factor, buffer, model) < MISLED_SHARE * leader[NOISE]:
        return False
    if not fit_stored(row, root, factor, buffer, YES, model, work):
        return True
    if not rejects and not row[NOISE] < MISLED_SHARE * leader[NOISE]:
        return False
    if not fit(row, root, factor, buffer, model, YES, NO, work[2]):
        return True
    f, won = np.empty(m), 0.0
    for j in range(DENSITIES, DENSITIES + 5):
        won -= leader[j]
    difference, spread = work[0], work[1]
    for t in range(decisive, rows):
        u, y = recent[t, :d], recent[t, d]
        square_length = features(u, sizes, model.bias, f)
        explained, variance, zeros = predict(row, root, f, y, sizes, difference, spread)
        innovation = difference[m] - explained
        R = reading_variance(row, square_length, model.trusted_distance)
        weight = store(row, factor, buffer, u, y, sizes, difference, R, row[LEVEL_SPEED] ** 2, work[2])
        won += log_density(innovation, variance, weight, row[NOISE])
        potter(row, root, root, spread, innovation, variance, weight, zeros)
    return not won <= DECISIVE_NATS
