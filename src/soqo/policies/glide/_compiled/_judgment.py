"""How far a belief expects a reading, and which beliefs are kept, as machine code: ``_outliers`` and ``_beliefs``."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.policies.glide._beliefs import (
    MANY_READINGS,
    MANY_UNKNOWNS,
    MAX_BELIEFS,
    PRUNE_NATS,
    RETURN_NATS,
    SAME_NATS,
    SETTLED_NATS,
    UNSEEN_NATS,
    UNSEEN_READINGS,
)
from soqo.policies.glide._compiled._layout import (
    AGE,
    BELIEF_NUMBERS,
    DENSITIES,
    EPOCH,
    GAIN,
    GAIN_ERROR,
    IN_A_ROW,
    KNOWN_NOISE,
    LEVEL_SPEED,
    LEVEL_VARIANCE,
    LOG_EVIDENCE,
    LOG_WEIGHT,
    NOISE,
    OFFSET_STEP,
    PROTECTED,
    READINGS,
    REJECTED,
    SAME_GAIN_CHANCE,
    TOTAL_READINGS,
)
from soqo.policies.glide._outliers import (
    BRANCH_NATS,
    LOG_CORRECT_AGAIN,
    LOG_EARLY_WRONG,
    LOG_ERROR_RANGE,
    LOG_FIRST_WRONG,
    LOG_NEXT_WRONG,
    PRIOR_READINGS,
    PRIOR_WRONG,
    RESTART_BRANCH_NATS,
    TAIL_INDEX,
    TAIL_RATIO,
    TAIL_REJECTED,
    TAIL_SQUARE,
)
from soqo.typing import Array, BoolArray, IntArray

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@compiled
def total_weight(row: Array) -> float:
    """Return the log weight of a belief with the evidence of its readings."""
    total = row[LOG_WEIGHT] + row[LOG_EVIDENCE]
    return total if abs(total) < 1e250 else -1e250


@compiled
def base_load(row: Array, m: int) -> float:
    """Return the estimate of the base load."""
    level = BELIEF_NUMBERS + m
    value = row[level + m]
    for i in range(m):
        value -= row[level + i] * row[BELIEF_NUMBERS + i]
    return value


@compiled
def negative_penalty(row: Array, y: float, density: float, kappa: float, p: int, m: int) -> float:
    """Return what a negative reading costs."""
    unknown = math.isnan(row[KNOWN_NOISE])
    if not (y < 0.0 and (row[TOTAL_READINGS] >= 2.0 or not unknown)):
        return 0.0
    if not (row[READINGS] < p + 5 or base_load(row, m) > -row[NOISE]):
        return 0.0
    nu = max(3.0, row[READINGS] / 2.0) if unknown else 20.0
    scale = 1.5 * row[NOISE] * math.sqrt(1.0 + kappa**2)
    z2 = (y / scale) ** 2 / nu
    constant = math.lgamma(0.5 * (nu + 1.0)) - math.lgamma(0.5 * nu) - 0.5 * math.log(nu * math.pi) - math.log(scale)
    return min(0.0, constant - 0.5 * (nu + 1.0) * math.log1p(z2) - density)


@compiled
def _log_first_wrong(row: Array, p: int) -> float:
    """Return the logarithm of the probability of a wrong reading after a correct one."""
    if row[READINGS] < p:
        return LOG_EARLY_WRONG
    return LOG_FIRST_WRONG - math.log1p(row[AGE] / PRIOR_READINGS) + math.log1p(row[REJECTED] / PRIOR_WRONG)


@compiled
def _log_tail(square: float, rejected: float) -> float:
    """Return the logarithm of the factor by which a wrong reading is more probable because it may be one of a tail."""
    if not square > TAIL_SQUARE:
        return 0.0
    share = rejected / (TAIL_REJECTED + rejected)
    return math.log1p(TAIL_RATIO * share * (TAIL_SQUARE / square) ** (0.5 * TAIL_INDEX))


@compiled
def _log_next_wrong(row: Array) -> float:
    """Return the logarithm of the probability of a wrong reading after a wrong one."""
    single = row[IN_A_ROW] == 1.0
    return LOG_NEXT_WRONG - (math.log1p(max(row[REJECTED] - 1.0, 0.0) / PRIOR_WRONG) if single else 0.0)


@compiled
def log_correct_again(row: Array) -> float:
    """Return the logarithm of the probability of a correct reading after a wrong one."""
    return max(math.log1p(-math.exp(_log_next_wrong(row))), LOG_CORRECT_AGAIN)


@compiled
def log_wrong(row: Array, error: float, deviation: float, p: int) -> float:
    """Return the log density of a wrong reading, without what the wrong readings before it say."""
    size = math.log(max(max(abs(error), deviation), 1e-300))
    if row[IN_A_ROW] > 0.0:
        return _log_next_wrong(row) - LOG_ERROR_RANGE - size
    return _log_first_wrong(row, p) + _log_tail((error / deviation) ** 2, row[REJECTED]) - LOG_ERROR_RANGE - size


@compiled
def branch_nats(row: Array, p: int) -> float:
    """Return how much the log weights of the outcomes of a reading may differ for both to be kept."""
    young = not math.isnan(row[KNOWN_NOISE]) and row[READINGS] < 2 * p
    return RESTART_BRANCH_NATS if young else BRANCH_NATS


@compiled
def wrong_again(row: Array, reject: float, y: float, mean: float, deviation: float) -> tuple[float, bool]:
    """Return the log density of a wrong reading after another, and whether it repeats the factor of that one."""
    if math.isnan(row[GAIN]):
        return reject, False
    gain = row[GAIN]
    spread = max(abs(gain) * math.hypot(deviation, mean * row[GAIN_ERROR]), 1e-300)
    same = -0.5 * ((y - gain * mean) / spread) ** 2 - math.log(spread) - _HALF_LOG_TWO_PI
    same += _log_next_wrong(row) + math.log(row[SAME_GAIN_CHANCE])
    other = reject + math.log1p(-row[SAME_GAIN_CHANCE])
    high, low = max(same, other), min(same, other)
    return high + math.log1p(math.exp(low - high)), same > other


@compiled
def allow_return(table: Array, begin: int, end: int, round_number: float) -> None:
    """Let a belief from before a suspected change keep a small probability, in place."""
    top = -np.inf
    for b in range(begin, end):
        top = max(top, total_weight(table[b]))
    for b in range(begin, end):
        if table[b, PROTECTED] >= round_number:
            table[b, LOG_WEIGHT] += max(top - total_weight(table[b]) - RETURN_NATS, 0.0)


@compiled
def select(table: Array, chosen: IntArray, count: int, round_number: float, p: int, keep: BoolArray) -> int:
    """Mark the beliefs that are kept among some rows of a table, and return the position of the best one."""
    best = 0
    for i in range(1, count):
        if total_weight(table[chosen[i]]) > total_weight(table[chosen[best]]):
            best = i
    top, of_best = total_weight(table[chosen[best]]), table[chosen[best], READINGS]
    shown = PRUNE_NATS
    if of_best >= UNSEEN_READINGS:
        shown = SETTLED_NATS if of_best >= 4 * p else UNSEEN_NATS
    for i in range(count):
        row = table[chosen[i]]
        total, rank = total_weight(row), 0
        for j in range(count):
            other = total_weight(table[chosen[j]])
            rank += other > total or (other == total and j < i)
        gap, guarded = top - total, row[PROTECTED] >= round_number
        kept = gap <= PRUNE_NATS and (gap <= shown or not row[LEVEL_VARIANCE] > 0.0)
        keep[i] = (kept or guarded) and (rank < MAX_BELIEFS or guarded) and rank < 2 * MAX_BELIEFS
    return best


@compiled
def merge_repeats(
    table: Array, chosen: IntArray, count: int, best: int, round_number: float, p: int, keep: BoolArray
) -> None:
    """Drop kept beliefs that predict the same as the best one, which inherits their probability."""
    leader = table[chosen[best]]
    if not leader[READINGS] >= (2 * p if p >= MANY_UNKNOWNS else MANY_READINGS) or leader[IN_A_ROW] != 0.0:
        return
    top, share = total_weight(leader), 0.0
    for i in range(count):
        row = table[chosen[i]]
        if i == best or row[EPOCH] != leader[EPOCH] or row[IN_A_ROW] != 0.0 or not row[PROTECTED] < round_number:
            continue
        if (row[LEVEL_VARIANCE] > 0.0) != (leader[LEVEL_VARIANCE] > 0.0) or row[LEVEL_SPEED] != leader[LEVEL_SPEED]:
            continue
        if row[OFFSET_STEP] != leader[OFFSET_STEP]:
            continue
        differs = False
        for j in range(DENSITIES, DENSITIES + 5):
            differs |= not abs(row[j] - leader[j]) < SAME_NATS
        if not differs and keep[i]:
            keep[i] = False
            share += math.exp(total_weight(row) - top)
    if share > 0.0:
        leader[LOG_WEIGHT] += math.log1p(share)
