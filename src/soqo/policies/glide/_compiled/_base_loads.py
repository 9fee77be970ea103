"""Other base loads than that of the best belief, for one run as machine code: ``soqo.policies.glide._base_loads``."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import NO, YES, compiled
from soqo.estimators.bayes import LOG_BASE_LOAD_RANGE
from soqo.estimators.bayes.compiled import cholesky
from soqo.policies.glide._base_loads import (
    COLLINEAR,
    CONSTANT_NATS,
    FIRST_NATS,
    LATER_COST,
    LATER_NATS,
    RESIDUAL_NATS,
    SPEEDS,
)
from soqo.policies.glide._beliefs import BASE_LOAD_LOG_PRIORS
from soqo.policies.glide._compiled._belief_update import features, fit, reading_variance
from soqo.policies.glide._compiled._judgment import total_weight
from soqo.policies.glide._compiled._layout import (
    AGE,
    BELIEF_NUMBERS,
    EPOCH,
    LEVEL_SPEED,
    LEVEL_VARIANCE,
    LOG_EVIDENCE,
    LOG_WEIGHT,
    NOISE,
    Constants,
)
from soqo.policies.glide._compiled._reviewing import fit_stored, start_belief, store_rows
from soqo.typing import Array

BASE_LOADS = 2 + len(SPEEDS)
"""The number of base loads that are compared: none, a constant one, and ones that walk."""

KINDS = np.array([np.nan, 0.0, *SPEEDS])
_LOG_PRIORS = np.array([BASE_LOAD_LOG_PRIORS[kind] for kind in ("none", "constant", *("walk",) * len(SPEEDS))])
_LOG_TWO_PI = math.log(2.0 * math.pi)


@compiled
def _own_kind(leader: Array) -> int:
    """Return the base load of a belief, -1 for one that is not compared."""
    if not leader[LEVEL_VARIANCE] > 0.0:
        return 0
    for k in range(1, BASE_LOADS):
        if leader[LEVEL_SPEED] == KINDS[k]:
            return k
    return -1


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
    skip, evidence = np.zeros(count), np.full(BASE_LOADS, -np.inf)
    # Without what the best belief has rejected, and what came before it started to learn.
    start = max(count - int(leader[AGE]), 0)
    for t in range(start, count):
        skip[t] = 1.0 if recent[t, d + 1] > 0.0 else 0.0
    # The first time, the latest readings are all that there are.
    first, own = leader[AGE] <= count, _own_kind(leader)
    if own < 0:
        return False
    if not first and not residual_gain(leader, recent, start, skip, own, model) > RESIDUAL_NATS:
        return True
    walk_top = -np.inf
    for i in range(BASE_LOADS):
        k = i if i else own
        if k == 2 and i and first and not evidence[1] - evidence[own] > CONSTANT_NATS:
            break
        if evidence[k] == -np.inf:
            start_belief(rows[k], factors[k], buffers[k], model.fresh, KINDS[k])
            if not store_rows(rows[k], factors[k], buffers[k], recent, start, count, skip, model, work):
                return False
            if not fit_stored(rows[k], roots[k], factors[k], buffers[k], YES, model, work):
                return False
            evidence[k] = rows[k, LOG_EVIDENCE] + _LOG_PRIORS[k]
        if i >= 2:
            # Faster ones are fitted only as the evidence increases with the speed.
            increases = i == 2 or evidence[k] > evidence[k - 1]
            walk_top = max(walk_top, evidence[k])
            if not increases:
                break
    least, cost = FIRST_NATS if first else LATER_NATS, 0.0 if first else LATER_COST
    for k in range(1, BASE_LOADS):
        gain = evidence[k] - evidence[own]
        if k == own or not evidence[k] >= walk_top or not gain > least:
            continue
        wanted[k] = 1.0
        rows[k, LOG_WEIGHT] = total_weight(leader) + gain - cost - rows[k, LOG_EVIDENCE]
        rows[k, AGE], rows[k, EPOCH] = leader[AGE], leader[EPOCH]
        if not fit(rows[k], roots[k], factors[k], buffers[k], model, YES, NO, work[2]):
            return False
    return True


@compiled
def residual_gain(leader: Array, recent: Array, start: int, skip: Array, own: int, model: Constants) -> float:
    """Return by how much residuals of the best belief support another base load than its own, in nats."""
    sizes = model.sizes
    d, p, q, e, m = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    n, width, noise = recent.shape[0] - start, e + 3, leader[NOISE]
    columns, R, f = np.empty((n, width)), np.empty(n), np.empty(m)
    count, largest, square, log_R, first = 0, 0.0, 0.0, 0.0, np.nan
    for t in range(start, start + n):
        y = recent[t, d]
        if math.isnan(y) or skip[t] != 0.0:
            R[t - start] = np.nan
            continue
        square_length = features(recent[t, :d], sizes, model.bias, f)
        variance = reading_variance(leader, square_length, model.trusted_distance)
        signal, bias = 0.0, 0.0
        for i in range(p):
            signal += f[m - p + i] * leader[BELIEF_NUMBERS + m - p + i]
        for i in range(q):
            bias += f[i] * leader[BELIEF_NUMBERS + i]
        row = columns[t - start]
        row[0], row[1], row[width - 1] = signal, square_length, y - signal
        for i in range(e):
            row[2 + i] = f[q + i]
        R[t - start] = variance
        square += (y - signal - bias) ** 2 / variance
        log_R += math.log(variance)
        largest, count = max(largest, abs(y)), count + 1
        if math.isnan(first):
            first = abs(y)
    if count <= width:
        return np.inf
    floor = (1e-12 * largest) ** 2 + 1e-200
    # A bias can take the place of a base load, and its prior says how improbable that is.
    for i in range(q):
        square += (leader[BELIEF_NUMBERS + i] / (model.kappa if model.kappa != 0.0 else 1.0)) ** 2
    variance = noise * noise + floor
    of_none = -0.5 * (count * (math.log(variance) + _LOG_TWO_PI) + square / variance + log_R) + _LOG_PRIORS[0]
    of_first = -LOG_BASE_LOAD_RANGE - math.log(max(first, noise, 1e-300))
    reference, best = of_none, -np.inf
    for k in range(1, BASE_LOADS):
        found = _log_likelihood(columns, R, KINDS[k], floor, count - 1) + of_first + _LOG_PRIORS[k]
        if k == own:
            reference = found
        else:
            best = max(best, found)
    return best - reference


@compiled
def _log_likelihood(columns: Array, R: Array, rho: float, floor: float, count: int) -> float:
    """Return the largest log likelihood of the last column given none, the first two, or all of the others."""
    n, width = columns.shape
    gram, level, white = np.zeros((width, width)), np.empty(width), np.empty(width)
    P, log_variance = np.inf, 0.0
    for t in range(n):
        if math.isnan(R[t]):
            P += rho**2
            continue
        if math.isinf(P):
            # The first reading defines the level.
            level[:] = columns[t]
            P = R[t] + rho**2
            continue
        variance = P + R[t]
        weight, gain = 1.0 / math.sqrt(variance), P / variance
        log_variance += math.log(variance)
        for i in range(width):
            difference = columns[t, i] - level[i]
            level[i] += gain * difference
            white[i] = weight * difference
        for i in range(width):
            for j in range(i + 1):
                gram[i, j] += white[i] * white[j]
        P = P * (1.0 - gain) + rho**2
    if not math.isfinite(np.sum(gram)):
        return np.inf
    size, last = np.empty(width), width - 1
    for i in range(width):
        size[i] = math.sqrt(max(gram[i, i], 1e-300))
    for i in range(width):
        for j in range(i):
            gram[i, j] /= size[i] * size[j]
        gram[i, i] = 1.0 + COLLINEAR
    if not cholesky(gram):
        return np.inf
    best, explained = -np.inf, 0.0
    for k in range(last + 1):
        if k in (0, 2, last):
            square = size[last] ** 2 * max(1.0 - explained, 0.0)
            best = max(best, -0.5 * (count * math.log(square / count + floor) + k * math.log(count)))
        explained += gram[last, k] ** 2
    return best - 0.5 * (log_variance + count * (1.0 + _LOG_TWO_PI))
