"""A reading that every belief of a run expects, as machine code: ``_plain_readings``."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes import RELATIVE_ERROR
from soqo.policies.glide._compiled._after_reading import (
    DONE,
    GENERAL,
    SLOW,
    check_meter,
    contains,
    finish,
    is_ordinary,
    is_ready,
    mean_curvature,
    push,
    remember,
)
from soqo.policies.glide._compiled._belief_update import (
    features,
    log_density,
    model_error,
    potter,
    predict,
    reading_variance,
    store,
)
from soqo.policies.glide._compiled._judgment import (
    branch_nats,
    log_wrong,
    merge_repeats,
    negative_penalty,
    select,
)
from soqo.policies.glide._compiled._layout import (
    AGE,
    BELIEF_NUMBERS,
    BEST,
    BUFFER_ROWS,
    EPOCH,
    IN_A_ROW,
    LEVEL_SPEED,
    LEVEL_VARIANCE,
    LOG_EVIDENCE,
    LOG_WEIGHT,
    MAX_ABS_READING,
    NOISE,
    OFFSET_STEP,
    PROTECTED,
    REJECTED,
    RUN_NUMBERS,
    SURPRISE,
)
from soqo.policies.glide._outliers import (
    AVERAGING_READINGS,
    CHANGE_RATIO,
    MAX_SQUARE,
    SURPRISE_SQUARE,
)
from soqo.typing import Array, IntArray


@compiled
def _quiet_belief(
    old: Array,
    row: Array,
    root: Array,
    new_root: Array,
    buffer: Array,
    u: Array,
    f: Array,
    y: float,
    square_length: float,
    curvature: float,
    sizes: IntArray,
    kappa: float,
    trusted_distance: float,
    work: Array,
) -> tuple[bool, float]:
    """Let a belief learn from a reading without a fit; return False if the reading needs more than this."""
    p, m = sizes[1], sizes[4]
    difference, spread = work[0], work[1]
    explained, variance, zeros = predict(old, root, f, y, sizes, difference, spread)
    P, own_noise = old[LEVEL_VARIANCE], old[NOISE]
    innovation, noise = difference[m] - explained, own_noise * math.sqrt(1.0 + P)
    mean = explained + old[BELIEF_NUMBERS + 2 * m]
    error = y - mean
    wide = variance + (RELATIVE_ERROR * square_length) ** 2
    wide += model_error(square_length, trusted_distance) * own_noise * own_noise
    deviation = math.sqrt(wide + noise * noise)
    square = (error / deviation) ** 2
    R = reading_variance(old, square_length, trusted_distance)
    density = log_density(innovation, variance, 1.0 / math.sqrt(P + R), own_noise)
    accept = density + negative_penalty(old, y, density, kappa, p, m)
    if not accept - log_wrong(old, error, deviation, p) - branch_nats(old, p) >= 0.0:
        return False, mean
    ratio = old[SURPRISE] + (min(square, MAX_SQUARE) - old[SURPRISE]) / AVERAGING_READINGS
    if square > SURPRISE_SQUARE or ratio > CHANGE_RATIO:
        return False, mean
    if is_ready(old, y, error, noise, curvature, square_length, sizes):
        row[SURPRISE] = ratio
    weight = store(row, buffer, buffer, u, y, sizes, difference, R, old[LEVEL_SPEED] ** 2, work[2])
    potter(row, root, new_root, spread, innovation, variance, weight, zeros)
    row[LOG_EVIDENCE] += density
    row[LOG_WEIGHT] += accept - density
    row[AGE] += 1.0
    push(row, accept)
    return True, mean


@compiled
def _is_quiet(row: Array, busy_ages: Array, buffer_size: int, round_number: int) -> bool:
    """Return whether a belief can learn without a fit, a review or a change of the structure."""
    return (
        row[AGE] + 1.0 > 2.0
        and row[IN_A_ROW] == 0.0
        and row[PROTECTED] < round_number
        and row[BUFFER_ROWS] < buffer_size
        and row[LEVEL_VARIANCE] < np.inf
        and row[OFFSET_STEP] == 0.0
        and row[MAX_ABS_READING] > 0.0
        and not contains(busy_ages, row[AGE] + 1.0)
    )


@compiled
def learn_quiet(
    table: Array,
    root: Array,
    new_root: Array,
    buffer: Array,
    starts: IntArray,
    runs: Array,
    latest: Array,
    recent: Array,
    u: Array,
    y: Array,
    own_rounds: IntArray,
    round_number: int,
    sizes: IntArray,
    bias: int,
    kappa: float,
    trusted_distance: float,
    busy_ages: Array,
    status: IntArray,
    expected: Array,
) -> int:
    """Let the runs learn whose beliefs all expect the reading, in place; return the number of the others.

    Parameters
    ----------
    table, buffer : Array, shape (beliefs, ...)
        The beliefs, copies of those before the reading; those of other runs are garbage afterwards.
    root, new_root : Array, shape (beliefs, m, m)
        Their roots before the reading, and where those after it are written.
    starts : IntArray, shape (runs + 1,)
        The first belief of each run.
    runs : Array, shape (runs, ...)
        The rows of the runs, copies.
    latest, recent : Array, shape (runs, rows, d + 2)
        The latest readings before this one, and where they are written with it.
    u, y : Array, shape (runs, d) and (runs,)
        The readings; y is NaN for none.
    own_rounds, round_number : IntArray of shape (runs,) and int
        The number of rounds of each run, and of this round.
    sizes, bias, kappa, trusted_distance : IntArray, int, float and float
        The model.
    busy_ages : Array
        The ages at which there is a fit or a review, sorted, with infinity at the end.
    status, expected : IntArray and Array, shape (runs,)
        What became of each run, and the reading that its best belief expected.
    """
    d, p, m = sizes[0], sizes[1], sizes[4]
    f, work = np.empty(m), np.empty((3, m + 1))
    old, keep = np.empty(table.shape[1]), np.empty(64, np.bool_)
    chosen = np.empty(64, np.int64)
    first_u, others = RUN_NUMBERS + 2 * (d + d * d) + d + d * d, y.size
    for r in range(y.size):
        begin, end = starts[r], starts[r + 1]
        run = runs[r]
        best = begin + int(run[BEST])
        status[r] = DONE
        expected[r] = np.nan
        if math.isnan(y[r]):
            for b in range(begin, end):
                if table[b, EPOCH] != table[best, EPOCH]:
                    status[r] = SLOW
            recent[r] = latest[r]
            new_root[begin:end] = root[begin:end]
            others -= status[r] == DONE
            continue
        if not is_ordinary(u[r], y[r], bias):
            status[r] = SLOW
            continue
        for b in range(begin, end):
            if not _is_quiet(table[b], busy_ages, buffer.shape[1], round_number) or end - begin > 32:
                status[r] = GENERAL
        if status[r] != DONE:
            continue
        if not check_meter(run, first_u, u[r], y[r]):
            status[r] = SLOW
            continue
        square_length = features(u[r], sizes, bias, f)
        curvature = mean_curvature(run, d)
        old_epoch, old_rejected = table[best, EPOCH], table[best, REJECTED]
        for b in range(begin, end):
            old[:] = table[b]
            quiet, mean = _quiet_belief(
                old, table[b], root[b], new_root[b], buffer[b], u[r], f, y[r], square_length, curvature, sizes, kappa,
                trusted_distance, work,
            )  # fmt: skip
            if b == best:
                expected[r] = mean
            if not quiet:
                status[r] = GENERAL
                break
        if status[r] != DONE:
            continue
        count = end - begin
        if count > 1:
            for i in range(count):
                chosen[i] = begin + i
            place = select(table, chosen, count, round_number, p, keep)
            merge_repeats(table, chosen, count, place, round_number, p, keep)
            for i in range(count):
                if not keep[i] or table[begin + i, EPOCH] > table[begin + place, EPOCH]:
                    status[r] = GENERAL
            if status[r] != DONE:
                continue
            run[BEST] = place
            best = begin + place
        remember(latest[r], recent[r], u[r], y[r])
        finish(run, table[best], new_root[best], sizes, own_rounds[r], round_number, old_epoch, old_rejected)
        others -= 1
    return others
