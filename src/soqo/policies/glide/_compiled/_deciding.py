"""The action of each run, as machine code: drift, plan, moment, exploration and probes."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes import MAX_DISTANCE, TRACE_DEVIATION
from soqo.estimators.bayes.compiled import deviation
from soqo.policies.glide._compiled._belief_update import features
from soqo.policies.glide._compiled._judgment import total_weight
from soqo.policies.glide._compiled._layout import (
    AGE,
    BELIEF_NUMBERS,
    BEST,
    EPOCH,
    IN_A_ROW,
    LAST_PROBE,
    NOISE,
    PROBES,
    PRODUCTS,
    READINGS,
    RUN_NUMBERS,
    SQUARED_PRODUCTS,
    SQUARES,
    TOTAL_READINGS,
)
from soqo.policies.glide._drift import MAX_CORRELATION, SIGNIFICANT_DEVIATIONS
from soqo.policies.glide._probes import (
    EARLY_PROBE_PERIOD,
    EARLY_ROUNDS,
    EXPLORATION_ROUNDS,
    LATE_PROBE_PERIOD,
    PROBE_SIZES,
    SAFETY_FACTOR,
)
from soqo.policies.glide._verification import (
    ERROR_PROBABILITY,
    FIRST_AGE,
    MANY_DEVIATIONS,
    MANY_READINGS,
    PROBE_DEVIATIONS,
    UNCERTAIN_NATS,
    VERIFIED_DEVIATIONS,
)
from soqo.typing import Array, BoolArray, IntArray

_ROOT_HALF = math.sqrt(0.5)
_SIZES = PROBE_SIZES.size
_FIRST_EXPLORATION, _LAST_EXPLORATION = EXPLORATION_ROUNDS.start, EXPLORATION_ROUNDS.stop


@compiled
def _advance(a: float, n: float) -> float:
    """Return the fraction of the distance to v that a step covers, with n rounds to go."""
    quarter = 0.25 * a
    h = math.sqrt(quarter)
    pull = h
    if 2.0 * n * h < 20.0 * (1.0 + h):  # asinh(h) is at least h / (1 + h), and the hyperbolic tangent of 20 is 1
        pull = h * math.tanh(2.0 * n * math.asinh(h))
    return 2.0 * pull / (math.sqrt(1.0 + quarter) + pull)


@compiled
def _contraction(a: float, n: float) -> float:
    """Return the eigenvalue of C for an eigenvalue a of A."""
    quarter = 0.25 * a
    h = math.sqrt(quarter)
    decay = 1.0 / (h + math.sqrt(1.0 + quarter))
    stationary = decay * decay
    fading = math.exp(-4.0 * n * math.asinh(h))
    return (stationary + fading) / (1.0 + stationary * fading)


@compiled
def _clip(vector: Array) -> None:
    """Clip the entries in place, so that fourth powers do not overflow."""
    for i in range(vector.size):
        vector[i] = min(max(vector[i], -MAX_DISTANCE), MAX_DISTANCE)


@compiled
def _correlation(run: Array, step: Array, first: int, moves: bool) -> float:
    """Update the autoregression of the steps of v, and return its coefficient; zero if it is not significant."""
    if moves:
        product, square = 0.0, 0.0
        for i in range(step.size):
            product += step[i] * run[first + i]
            square += run[first + i] ** 2
        run[PRODUCTS] += product
        run[SQUARES] += square
        run[SQUARED_PRODUCTS] += product * product
        for i in range(step.size):
            run[first + i] = step[i]
    if not run[PRODUCTS] ** 2 > SIGNIFICANT_DEVIATIONS**2 * run[SQUARED_PRODUCTS]:
        return 0.0
    rho = run[PRODUCTS] / (run[SQUARES] if run[SQUARES] > 0.0 else 1.0)
    return min(max(rho, -MAX_CORRELATION), MAX_CORRELATION)


@compiled
def _update_moment(run: Array, first: int, w: Array, rounds: int) -> None:
    """Add one more term to the mean of w w', clipped to ten times the mean so that no jump dominates it."""
    d, share = w.size, 1.0
    if rounds > 0:
        trace, square = 0.0, 0.0
        for i in range(d):
            trace += run[first + i * d + i]
            square += w[i] * w[i]
        share = min(1.0, 10.0 * trace / max(square, 1e-300))
    for i in range(d):
        for j in range(d):
            k = first + i * d + j
            run[k] += (share * w[i] * w[j] - run[k]) / (rounds + 1)


@compiled
def _identity_deviation(root: Array, d: int, p: int) -> float:
    """Return the standard deviation of tr(A) / sqrt(d)."""
    m, total = root.shape[0], 0.0
    for j in range(m):
        along, k = 0.0, m - p
        for i in range(d):
            k += i
            along += root[k, j]
            k += 1
        total += along * along
    return math.sqrt(total / d)


@compiled
def _slopes(values: Array, c: Array, n: float, slopes: Array) -> None:
    """Fill in (c_i - c_j) / (a_i - a_j), or the slope of c if a_i and a_j are close."""
    for i in range(values.size):
        for j in range(values.size):
            difference, middle = values[i] - values[j], 0.5 * (values[i] + values[j])
            if abs(difference) <= 1e-3 * middle:
                upper, lower = _contraction(1.001 * middle, n), _contraction(0.999 * middle, n)
                slopes[i, j] = (upper - lower) / (0.002 * middle)
            else:
                slopes[i, j] = (c[i] - c[j]) / difference


@compiled
def _saving(
    u: Array, row: Array, root: Array, Q: Array, c: Array, slopes: Array, W: Array, moment: Array, rounds: float,
    sizes: IntArray, bias: int, f: Array,
) -> float:  # fmt: skip
    """Return what a reading at u saves over the rounds to come."""
    d, p, m = sizes[0], sizes[1], sizes[4]
    features(u, sizes, bias, f)
    level, noise2 = BELIEF_NUMBERS + m, row[NOISE] ** 2
    for i in range(m):
        f[i] -= row[level + i]
    spread = np.dot(f, root)
    variance = np.dot(spread, spread)
    covariance, X, k = np.dot(root[m - p :], spread), np.empty((d, d)), 0
    for i in range(d):
        for j in range(i):
            X[i, j] = X[j, i] = _ROOT_HALF * covariance[k]
            k += 1
        X[i, i] = covariance[k]
        k += 1
    Y = slopes * np.dot(np.dot(np.ascontiguousarray(Q.T), X), Q)
    YW, per_round = np.dot(Y, W), 0.0
    for i in range(d):
        for j in range(d):
            per_round += 0.5 * YW[i, j] * Y[i, j] / c[i]
    per_round /= variance + noise2
    # The rate at which normal movement with the past second moment gives the same information without probes.
    XS, trace, information = np.dot(X, moment), 0.0, 0.0
    for i in range(d):
        trace += XS[i, i]
        for j in range(d):
            information += 0.5 * XS[i, j] * XS[j, i]
    rate = (information + 0.25 * trace * trace) / max(variance * noise2, 1e-300)
    return per_round * rounds / (1.0 + rate * rounds)


@compiled
def _is_too_expensive(
    run: Array, row: Array, own_root: Array, deviations: Array, c: Array, slopes: Array, rounds: float, moments: int
) -> bool:
    """Return whether a bound on what any reading can save is below the price of every probe."""
    d, movement, square_root, largest_slope, least, price = c.size, 0.0, 0.0, 0.0, c[0], np.inf
    for i in range(own_root.shape[0]):
        for j in range(own_root.shape[1]):
            square_root += own_root[i, j] ** 2
    for k in range(d):
        movement += run[moments + k * d + k]
        least = min(least, c[k])
        price = min(price, SAFETY_FACTOR * row[NOISE] / deviations[k] * PROBE_SIZES[0] ** 2 / c[k])
        for j in range(d):
            largest_slope = max(largest_slope, abs(slopes[k, j]))
    return 0.5 * rounds * movement * largest_slope**2 * square_root / least <= price


@compiled
def _best_probe(
    run: Array, row: Array, root: Array, planned: Array, n: float, rounds: float, sizes: IntArray, bias: int,
    probe: Array,
) -> bool:  # fmt: skip
    """Fill in the probe with the largest net value, and return whether one pays."""
    d, p, m = sizes[0], sizes[1], sizes[4]
    first, moments = RUN_NUMBERS, RUN_NUMBERS + 2 * (d + d * d) + d
    Q = run[first + d : first + d + d * d].copy().reshape(d, d)
    own_root, f = root[m - p :], np.empty(m)
    deviations, values, c, slopes = np.empty(d), np.empty(d), np.empty(d), np.empty((d, d))
    for k in range(d):
        deviations[k] = deviation(own_root, Q[:, k]) + 1e-300
        values[k] = max(run[first + k], deviations[k])
        c[k] = _contraction(values[k], n)
    _slopes(values, c, n, slopes)
    if _is_too_expensive(run, row, own_root, deviations, c, slopes, rounds, moments):
        return False
    W = np.dot(np.dot(np.ascontiguousarray(Q.T), run[moments : moments + d * d].copy().reshape(d, d)), Q)
    second = BELIEF_NUMBERS + 2 * m + 1
    moment = row[second : second + d * d].copy().reshape(d, d) / max(row[READINGS], 1.0)
    u = planned.copy()
    without = _saving(u, row, root, Q, c, slopes, W, moment, rounds, sizes, bias, f)
    best_value, direction, size = 0.0, -1, 0.0
    for k in range(d):
        unit = math.sqrt(2.0 * row[NOISE] / deviations[k])
        for s in range(_SIZES):
            length = unit * PROBE_SIZES[s]
            for i in range(d):
                u[i] = planned[i] + length * Q[i, k]
            saving = _saving(u, row, root, Q, c, slopes, W, moment, rounds, sizes, bias, f)
            value = saving - without - SAFETY_FACTOR * 0.5 * length * length / c[k]
            if value > best_value:
                best_value, direction, size = value, k, length
    for i in range(d):
        probe[i] = size * Q[i, direction] if direction >= 0 else 0.0
    return direction >= 0 and size != 0.0


@compiled
def _verification_probe(
    run: Array, row: Array, recent: Array, n: float, rounds: float, sizes: IntArray, bias: int, probe: Array
) -> bool:
    """Fill in a probe along the eigenvector whose eigenvalue, if it were an error, would cost most, if one pays."""
    d, m = sizes[0], sizes[4]
    score, information = np.zeros(d), np.zeros(d)
    f, level, count, seen = np.empty(m), BELIEF_NUMBERS + m, recent.shape[0], 0
    vectors = RUN_NUMBERS + d
    for t in range(count):
        y = recent[t, d]
        # What the best belief has rejected, and what came before it started to learn.
        if math.isnan(y) or recent[t, d + 1] > 0.0 or t < count - row[AGE]:
            continue
        features(recent[t, :d], sizes, bias, f)
        residual = y - row[level + m]
        for i in range(m):
            residual -= (f[i] - row[level + i]) * row[BELIEF_NUMBERS + i]
        seen += 1
        for k in range(d):
            along = 0.0
            for i in range(d):
                along += recent[t, i] * run[vectors + i * d + k]
            half = 0.5 * along * along
            score[k] += residual * half
            information[k] += half * half
    free, noise, total = _contraction(0.0, n), row[NOISE], row[TOTAL_READINGS]
    moments = RUN_NUMBERS + 2 * (d + d * d) + d
    best_value, direction, size = 0.0, -1, 0.0
    for k in range(d):
        value = run[RUN_NUMBERS + k]
        if value * information[k] + score[k] > VERIFIED_DEVIATIONS * noise * math.sqrt(information[k]):
            continue
        in_a_quarter = 0.25 * total * information[k] / max(seen, 1)
        if total >= MANY_READINGS and value * math.sqrt(in_a_quarter) > MANY_DEVIATIONS * noise:
            continue
        length = math.sqrt(2.0 * PROBE_DEVIATIONS * noise / max(value, 1e-300))
        c, movement = _contraction(value, n), 0.0
        for i in range(d):
            for j in range(d):
                movement += run[vectors + i * d + k] * run[moments + i * d + j] * run[vectors + j * d + k]
        loss = rounds * ERROR_PROBABILITY * 0.5 * (free - c) ** 2 / free * movement
        worth = loss - 0.5 * length * length / c
        if worth > best_value:
            best_value, direction, size = worth, k, length
    for i in range(d):
        probe[i] = size * run[vectors + i * d + direction] if direction >= 0 else 0.0
    return direction >= 0 and size != 0.0


@compiled
def decide(
    table: Array,
    root: Array,
    starts: IntArray,
    runs: Array,
    told: Array,
    x_prev: Array,
    last_v: Array,
    own_rounds: IntArray,
    next_round: int,
    rounds_to_go: float,
    has_horizon: bool,
    sizes: IntArray,
    bias: int,
    uses_drift: bool,
    may_probe: bool,
    follows: BoolArray,
    verification_ages: Array,
    recent: Array,
    x: Array,
) -> None:
    """Fill in the actions, and update the rows of the runs in place.

    Parameters
    ----------
    table, root : Array, shape (beliefs, ...)
        The beliefs.
    starts : IntArray, shape (runs + 1,)
        The first belief of each run.
    runs : Array, shape (runs, ...)
        The rows of the runs, a copy.
    told, x_prev, last_v : Array, shape (runs, d)
        The minimizers of this round, the positions, and the minimizers of the last round.
    own_rounds : IntArray, shape (runs,)
        The number of rounds that each run has played.
    next_round : int
        The number of this round.
    rounds_to_go : float
        The number of rounds to go, at most 1e150.
    has_horizon : bool
        Whether there is a horizon.
    sizes, bias : IntArray and int
        The model.
    uses_drift : bool
        Whether the predictable part of the steps of v is used.
    may_probe : bool
        Whether runs explore and probe.
    follows : BoolArray, shape (runs,)
        The runs that play for their companions, which do not probe.
    verification_ages : Array
        The ages at which estimates are verified, sorted, with infinity at the end.
    recent : Array, shape (runs, rows, d + 2)
        The latest readings.
    x : Array, shape (runs, d)
        The actions.
    """
    d, p = sizes[0], sizes[1]
    size = d + d * d
    played, shift = RUN_NUMBERS + size, RUN_NUMBERS + 2 * size
    last_step = shift + size + d
    target, aim, step, along, probe = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    values, go = np.empty(d), np.empty(d)
    for r in range(told.shape[0]):
        run, rounds = runs[r], own_rounds[r]
        best = starts[r] + int(run[BEST])
        total = 0.0
        for i in range(d):
            values[i] = run[played + i]
            total += values[i]
        exploring = may_probe and rounds >= _FIRST_EXPLORATION and rounds < _LAST_EXPLORATION
        if exploring and _identity_deviation(root[best], d, p) > TRACE_DEVIATION * total / d:
            for i in range(d):
                values[i] = min(values[i], 1.0)
        for i in range(d):
            go[i] = _advance(values[i], rounds_to_go)
            target[i] = aim[i] = told[r, i] - run[shift + i]
        if uses_drift:
            for i in range(d):
                step[i] = told[r, i] - last_v[r, i]
            _clip(step)
            rho = _correlation(run, step, last_step, rounds > 0)
            if rho != 0.0:
                for k in range(d):
                    along[k], ratio = 0.0, rho * (1.0 - go[k])
                    for i in range(d):
                        along[k] += run[last_step + i] * run[played + d + i * d + k]
                    along[k] *= ratio / (1.0 - ratio) * (1.0 - ratio ** (rounds_to_go - 1.0))
                for i in range(d):
                    for k in range(d):
                        aim[i] += run[played + d + i * d + k] * along[k]
        for k in range(d):
            along[k] = 0.0
            for i in range(d):
                along[k] += (aim[i] - x_prev[r, i]) * run[played + d + i * d + k]
            along[k] *= go[k]
        for i in range(d):
            x[r, i] = x_prev[r, i]
            for k in range(d):
                x[r, i] += run[played + d + i * d + k] * along[k]
            step[i] = x_prev[r, i] - target[i]
        _clip(step)
        _update_moment(run, shift + d, step, rounds)
        if not may_probe or follows[r]:
            continue
        probed, save = False, rounds_to_go - 1.0 if has_horizon else float(max(rounds, 100))
        if rounds > 0 and rounds % (EARLY_PROBE_PERIOD if rounds <= EARLY_ROUNDS else LATE_PROBE_PERIOD) == 0:
            for i in range(d):
                step[i] = x[r, i] - told[r, i]
            _clip(step)
            probed = _best_probe(run, table[best], root[best], step, rounds_to_go, save, sizes, bias, probe)
        beliefs = table[starts[r] : starts[r + 1]]
        if not probed and _verifies(run, table[best], beliefs, next_round - 1, verification_ages):
            probed = _verification_probe(run, table[best], recent[r], rounds_to_go, save, sizes, bias, probe)
        if probed:
            for i in range(d):
                x[r, i] += probe[i]
            run[PROBES] += 1.0
            run[LAST_PROBE] = next_round


@compiled
def _verifies(run: Array, row: Array, beliefs: Array, last_round: int, ages: Array) -> bool:
    """Return whether the estimate is verified now: at some ages, and again after a probe that did not fit."""
    if ages[np.searchsorted(ages, row[AGE])] == row[AGE]:
        settled = True
        for other in beliefs:
            settled &= not (other[EPOCH] < row[EPOCH] and total_weight(other) > total_weight(row) - UNCERTAIN_NATS)
        if settled:
            return True
    return run[LAST_PROBE] == last_round and row[IN_A_ROW] > 0.0 and row[AGE] >= FIRST_AGE
