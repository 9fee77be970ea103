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
    EPOCH,
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
from soqo.policies.glide._reviews import DECISIVE_NATS, DOUBT_AGE, SPEEDS
from soqo.typing import Array

BASE_LOADS = 2 + len(SPEEDS)
"""The number of base loads that are compared: none, a constant one, and ones that walk."""

_KINDS = np.array([np.nan, 0.0, *SPEEDS])
_LOG_PRIORS = np.array([BASE_LOAD_LOG_PRIORS[kind] for kind in ("none", "constant", *("walk",) * len(SPEEDS))])
_LOG_NO_BASE_LOAD = BASE_LOAD_LOG_PRIORS["none"]


@compiled
def _start(row: Array, factor: Array, buffer: Array, fresh: Array, speed: float) -> None:
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
def _fit_rows(
    row: Array,
    root: Array,
    factor: Array,
    buffer: Array,
    recent: Array,
    first: int,
    last: int,
    skip: Array,
    evidence_only: bool,
    model: Constants,
    work: Array,
) -> bool:
    """Let a belief learn from some of the latest readings, with one fit at the end; return False if it cannot.

    If only the evidence is wanted, the rows are stored and the mean and the root are not computed.
    """
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
    _start(row, factor, buffer, model.fresh, np.nan)
    finite = _fit_rows(row, root, factor, buffer, recent, first, rows, skip, NO, model, work)
    row[LOG_WEIGHT], row[AGE], row[REJECTED] = log_weight, DOUBT_AGE, 1.0
    return finite


@compiled
def add_base_loads(
    rows: Array,
    roots: Array,
    factors: Array,
    buffers: Array,
    leader: Array,
    recent: Array,
    model: Constants,
    work: Array,
    wanted: Array,
) -> bool:
    """Fill in beliefs with other base loads than the best one's, and mark those that the latest readings support."""
    count, d = recent.shape[0], model.sizes[0]
    skip, evidence = np.zeros(count), np.empty(BASE_LOADS)
    # Without what the best belief has rejected, and what came before it started to learn.
    start = max(count - int(leader[AGE]), 0)
    for t in range(start, count):
        skip[t] = 1.0 if recent[t, d + 1] > 0.0 else 0.0
    # The first time, the latest readings are all that there are.
    first = leader[AGE] <= count
    mode, reference, walk_top = leader[LEVEL_VARIANCE] > 0.0, 0.0, -np.inf
    for k in range(BASE_LOADS):
        _start(rows[k], factors[k], buffers[k], model.fresh, _KINDS[k])
        if not _fit_rows(rows[k], roots[k], factors[k], buffers[k], recent, start, count, skip, YES, model, work):
            return False
        evidence[k] = rows[k, LOG_EVIDENCE] + _LOG_PRIORS[k]
        if (mode and leader[LEVEL_SPEED] == _KINDS[k]) if k else not mode:
            reference = evidence[k]
        if k >= 2:
            walk_top = max(walk_top, evidence[k])
    least, cost = -6.0 if first else 8.0, 0.0 if first else 6.0
    for k in range(1, BASE_LOADS):
        gain = evidence[k] - reference
        same = mode and leader[LEVEL_SPEED] == _KINDS[k]
        wanted[k] = 1.0 if not same and evidence[k] >= walk_top and gain > least else 0.0
        rows[k, LOG_WEIGHT] = total_weight(leader) + gain - cost - rows[k, LOG_EVIDENCE]
        rows[k, AGE], rows[k, EPOCH] = leader[AGE], leader[EPOCH]
        if wanted[k] > 0.0 and not fit(rows[k], roots[k], factors[k], buffers[k], model, YES, NO, work[2]):
            return False
    return True


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
    _start(row, factor, buffer, model.fresh, speed)
    decisive = rows - DECISIVE_READINGS
    if not _fit_rows(row, root, factor, buffer, recent, rows - count, decisive, np.zeros(rows), YES, model, work):
        return True
    # A start that was misled seems to have large noise, unless its belief rejects all later readings.
    if not row[NOISE] < 0.2 * leader[NOISE] and not leader[IN_A_ROW] > DECISIVE_READINGS:
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
