"""A reading after which beliefs are fitted, split, reviewed or dropped, as machine code: ``_readings``.

Runs that only NumPy's code handles are marked: surprising readings, offsets that walk, and meters that repeat
themselves.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import NO, compiled
from soqo.estimators.bayes import RELATIVE_ERROR
from soqo.policies.glide._beliefs import IMPROBABLE_NATS, MAX_BELIEFS
from soqo.policies.glide._compiled._after_reading import (
    DONE,
    SLOW,
    check_meter,
    contains,
    finish,
    is_ready,
    mean_curvature,
    push,
    remember,
)
from soqo.policies.glide._compiled._base_loads import BASE_LOADS, add_base_loads
from soqo.policies.glide._compiled._belief_update import (
    features,
    fit,
    log_density,
    marginal_evidence,
    model_error,
    potter,
    predict,
    reading_variance,
    store,
)
from soqo.policies.glide._compiled._judgment import (
    allow_return,
    branch_nats,
    log_correct_again,
    log_wrong,
    merge_repeats,
    negative_penalty,
    select,
    total_weight,
    wrong_again,
)
from soqo.policies.glide._compiled._layout import (
    AGE,
    BELIEF_NUMBERS,
    BEST,
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
    RUN_NUMBERS,
    SAME_GAIN_CHANCE,
    SURPRISE,
    VARIANTS,
    Constants,
)
from soqo.policies.glide._compiled._reviewing import doubt_first_reading, fit_afresh
from soqo.policies.glide._outliers import (
    AVERAGING_READINGS,
    CHANGE_RATIO,
    MAX_SQUARE,
    SAME_GAIN,
    SAME_GAIN_AGAIN,
    SAME_GAIN_RARELY,
    SURPRISE_SQUARE,
)
from soqo.policies.glide._reviews import DOUBT_AGE
from soqo.typing import Array, BoolArray, IntArray

NEW_BELIEFS = BASE_LOADS + 4
"""The largest number of beliefs that a review fits: two without a first reading, base loads, and two fresh ones."""


@compiled
def _frequent_fits(row: Array, model: Constants) -> int:
    """Return up to which number of readings a fit follows each of them."""
    return model.first if math.isnan(row[KNOWN_NOISE]) else model.frequent


@compiled
def _fit_is_due(row: Array, age: float, top: float, model: Constants, several: bool) -> bool:
    """Return whether a belief is fitted at this age; the evidence of an improbable one is exact less often."""
    due = age <= _frequent_fits(row, model) or contains(model.fit_ages, age)
    first = 2.0 if math.isnan(row[KNOWN_NOISE]) else 4.0
    if due and several and age > first and total_weight(row) < top - IMPROBABLE_NATS:
        return age % 4.0 == 0.0
    return due


@compiled
def _accept(
    old: Array,
    row: Array,
    root: Array,
    new_root: Array,
    factor: Array,
    buffer: Array,
    u: Array,
    f: Array,
    y: float,
    square_length: float,
    due: bool,
    model: Constants,
    work: Array,
) -> tuple[bool, float, float, float]:
    """Let a belief learn from a reading; return whether all is finite, what was expected, its deviation and noise."""
    sizes, m = model.sizes, model.sizes[4]
    difference, spread = work[0], work[1]
    explained, variance, zeros = predict(old, root, f, y, sizes, difference, spread)
    P, own_noise = old[LEVEL_VARIANCE], old[NOISE]
    innovation, noise = difference[m] - explained, own_noise * math.sqrt(1.0 + P)
    wide = variance + (RELATIVE_ERROR * square_length) ** 2
    wide += model_error(square_length, model.trusted_distance) * own_noise * own_noise
    mean = explained + old[BELIEF_NUMBERS + 2 * m]
    R = reading_variance(old, square_length, model.trusted_distance)
    weight = store(row, factor, buffer, u, y, sizes, difference, R, old[LEVEL_SPEED] ** 2, work[2])
    row[AGE] += 1.0
    finite, exact = True, due and row[READINGS] <= _frequent_fits(row, model)
    if weight == 0.0:
        new_root[:, :] = root
    elif due:
        finite = fit(row, new_root, factor, buffer, model, NO, NO, work[2])
    else:
        potter(row, root, new_root, spread, innovation, variance, weight, zeros)
    if weight > 0.0:
        if exact:
            row[LOG_EVIDENCE] = marginal_evidence(row)
        else:
            row[LOG_EVIDENCE] += log_density(innovation, variance, weight, own_noise)
    for i in range(m):
        finite &= math.isfinite(row[BELIEF_NUMBERS + i])
    return finite, mean, math.sqrt(wide + noise * noise), noise


@compiled
def _refuse(row: Array, old: Array, y: float, mean: float, deviation: float, diffuse: bool, repeated: bool) -> None:
    """Turn a copy of a belief into one that has rejected the reading."""
    row[LEVEL_VARIANCE] += old[LEVEL_SPEED] ** 2
    row[IN_A_ROW] += 1.0
    row[REJECTED] += 1.0
    row[AGE] += 1.0
    known = not diffuse and abs(mean) > 3.0 * deviation
    row[GAIN] = y / mean if known else np.nan
    row[GAIN_ERROR] = deviation / abs(mean) if known else np.nan
    row[SAME_GAIN_CHANCE] = SAME_GAIN
    if old[IN_A_ROW] > 0.0:
        row[SAME_GAIN_CHANCE] = SAME_GAIN_AGAIN if repeated else SAME_GAIN_RARELY


@compiled
def _weigh(
    old: Array,
    row: Array,
    refused: Array,
    y: float,
    mean: float,
    deviation: float,
    noise: float,
    curvature: float,
    square_length: float,
    model: Constants,
) -> tuple[bool, bool, bool]:
    """Weigh both outcomes of a reading; return whether each is kept, and whether the reading is surprising."""
    p, m = model.sizes[1], model.sizes[4]
    diffuse = math.isinf(old[LEVEL_VARIANCE])
    error = 0.0 if diffuse else y - mean
    deviation = 1.0 if diffuse else deviation
    density = row[LOG_EVIDENCE] - old[LOG_EVIDENCE]
    accept = density + negative_penalty(old, y, density, model.kappa, p, m)
    reject, repeated = log_wrong(old, error, deviation, p), False
    if old[IN_A_ROW] > 0.0:
        accept += log_correct_again(old)
        reject, repeated = wrong_again(old, reject, y, mean, deviation)
    tested = not diffuse and (old[AGE] >= 2.0 or old[EPOCH] > 0.0)
    nats = branch_nats(old, p)
    keep = not tested or not accept <= reject - nats
    doubt = tested and reject > accept - nats
    square = (error / deviation) ** 2
    ratio = old[SURPRISE] + (min(square, MAX_SQUARE) - old[SURPRISE]) / AVERAGING_READINGS
    ready = is_ready(old, y, error, noise, curvature, square_length, model.sizes)
    _refuse(refused, old, y, mean, deviation, diffuse, repeated)
    row[LOG_WEIGHT] += accept - density
    refused[LOG_WEIGHT] += reject
    row[IN_A_ROW] = 0.0
    row[GAIN], row[GAIN_ERROR] = np.nan, np.nan
    push(row, accept)
    push(refused, reject)
    if ready:
        row[SURPRISE] = refused[SURPRISE] = ratio
    # Of two outcomes, the more probable one inherits the protection.
    if doubt and reject > accept:
        row[PROTECTED] = 0.0
    if keep and reject <= accept:
        refused[PROTECTED] = 0.0
    return keep, doubt, ready and (square > SURPRISE_SQUARE or ratio > CHANGE_RATIO)


@compiled
def _review(
    rows: Array,
    roots: Array,
    factors: Array,
    buffers: Array,
    chosen: IntArray,
    count: int,
    first_new: int,
    recent: Array,
    has_base_load: bool,
    model: Constants,
    work: Array,
) -> int:
    """Add fits of the latest readings to the chosen beliefs; return their number, or -1 if NumPy's code is needed.

    The rows of new beliefs begin at ``first_new``, and their arrays are ``roots``, ``factors`` and ``buffers``.
    """
    added, first = 0, rows[chosen[0]]
    if first[AGE] == DOUBT_AGE and first[EPOCH] == 0.0:
        for wrong in range(2):
            if not doubt_first_reading(
                wrong, rows[first_new + added], roots[added], factors[added], buffers[added], recent, model, work
            ):
                return -1
            chosen[count] = first_new + added
            count, added = count + 1, added + 1
    leader = rows[_best(rows, chosen, count)]
    age, in_a_row = leader[AGE], leader[IN_A_ROW]
    if has_base_load and contains(model.base_load_ages, age):
        wanted = np.zeros(BASE_LOADS)
        if not add_base_loads(
            rows[first_new + added :], roots[added:], factors[added:], buffers[added:], leader, recent, model, work,
            wanted,
        ):  # fmt: skip
            return -1
        for kind in range(BASE_LOADS):
            if wanted[kind] > 0.0:
                chosen[count] = first_new + added + kind
                count += 1
        added += BASE_LOADS
    leader = rows[_best(rows, chosen, count)]
    # Whether an offset walks is for NumPy's code.
    has_offset = leader[LEVEL_VARIANCE] > 0.0 and leader[VARIANTS + 1] + leader[VARIANTS + 3] > 0.5
    if has_offset and has_base_load and model.sizes[3] > 0 and contains(model.offset_ages, age):
        return -1
    for stuck in range(2):
        leader = rows[_best(rows, chosen, count)]
        if stuck:
            few = leader[READINGS] < model.sizes[1] + 5
            if not ((in_a_row == 14.0 and few) or in_a_row == 28.0 or in_a_row == 56.0):
                continue
            readings = model.fresh_counts[0]
        else:
            if not contains(model.fresh_ages, age):
                continue
            readings = model.fresh_counts[np.searchsorted(model.fresh_ages, age)]
        found = fit_afresh(
            rows[first_new + added], roots[added], factors[added], buffers[added], leader, recent, readings, model, work
        )
        if found < 0:
            return -1
        if found:
            chosen[count] = first_new + added
            count, added = count + 1, added + 1
    return count


@compiled
def _best(rows: Array, chosen: IntArray, count: int) -> int:
    """Return the belief with the largest weight, the first of equal ones."""
    best = chosen[0]
    for i in range(1, count):
        if total_weight(rows[chosen[i]]) > total_weight(rows[best]):
            best = chosen[i]
    return best


@compiled
def _outcomes(
    rows: Array,
    largest: int,
    count: int,
    best: int,
    root: Array,
    factor: Array,
    buffer: Array,
    out_root: Array,
    out_factor: Array,
    out_buffer: Array,
    u: Array,
    f: Array,
    y: float,
    square_length: float,
    curvature: float,
    model: Constants,
    work: Array,
    keep: BoolArray,
) -> tuple[bool, float]:
    """Let each belief of a run accept the reading, and reject it; return False for NumPy's code, and what was expected.

    The rows of beliefs that accept begin at 0, and those that reject at ``largest``.
    """
    top, expected, ordinary = total_weight(rows[best]), 0.0, True
    for b in range(count):
        rows[largest + b] = rows[b]
        old = rows[largest + b].copy()
        if factor.shape[0]:
            out_factor[b] = factor[b]
        out_buffer[b] = buffer[b]
        due = _fit_is_due(old, old[AGE] + 1.0, top, model, count > 1)
        finite, mean, deviation, noise = _accept(
            old, rows[b], root[b], out_root[b], out_factor[b if factor.shape[0] else 0], out_buffer[b], u, f, y,
            square_length, due, model, work,
        )  # fmt: skip
        if not finite:
            return False, expected
        keep[b], keep[largest + b], surprising = _weigh(
            old, rows[b], rows[largest + b], y, mean, deviation, noise, curvature, square_length, model
        )
        if b == best:
            expected, ordinary = mean, not surprising
    return ordinary, expected


@compiled
def _choose(rows: Array, largest: int, count: int, keep: BoolArray, round_number: int, p: int, chosen: IntArray) -> int:
    """List the outcomes that are kept, and return their number."""
    kept, doubted = 0, False
    for side in range(2):
        for b in range(count):
            if keep[side * largest + b]:
                chosen[kept] = side * largest + b
                kept += 1
                doubted |= side == 1
    if doubted:
        select(rows, chosen, kept, round_number, p, keep)
        kept = _compress(chosen, kept, keep)
    return kept


@compiled
def room(table: Array, starts: IntArray, status: IntArray, review_ages: Array) -> int:
    """Return the largest number of beliefs that there may be after :func:`learn_general`."""
    total = 0
    for r in range(status.size):
        count = starts[r + 1] - starts[r]
        most = count
        if status[r] != DONE:
            most = 2 * count + 1  # a fresh one, after many readings that were rejected in a row
            for b in range(starts[r], starts[r + 1]):
                if contains(review_ages, table[b, AGE] + 1.0):
                    most = 2 * count + NEW_BELIEFS
            # No more are kept, and those that accept the reading need room at first.
            most = max(min(most, 2 * MAX_BELIEFS), count)
        total += most
    return total


@compiled
def learn_general(
    table: Array,
    root: Array,
    factor: Array,
    buffer: Array,
    starts: IntArray,
    quiet_table: Array,
    quiet_root: Array,
    quiet_buffer: Array,
    runs: Array,
    new_runs: Array,
    latest: Array,
    recent: Array,
    u: Array,
    y: Array,
    own_rounds: IntArray,
    round_number: int,
    has_base_load: bool,
    model: Constants,
    status: IntArray,
    expected: Array,
    out_table: Array,
    out_root: Array,
    out_factor: Array,
    out_buffer: Array,
    new_starts: IntArray,
) -> int:
    """Let the other runs learn, and write the beliefs of all runs to new arrays; return their number.

    The beliefs of a run that only NumPy's code handles are left out. ``table`` to ``buffer`` are the beliefs before the
    reading, ``quiet_...`` those after :func:`learn_quiet`, and ``new_starts`` the first belief of each run afterwards.
    The factors have no entries while all readings of all beliefs are in their buffers.
    """
    d, p, m = model.sizes[0], model.sizes[1], model.sizes[4]
    f, work, out = np.empty(m), np.empty((3, m + 1)), 0
    largest = np.max(np.diff(starts))
    rows = np.empty((2 * largest + NEW_BELIEFS, table.shape[1]))
    chosen, keep = np.empty(len(rows), np.int64), np.empty(len(rows), np.bool_)
    roots, factors = np.empty((NEW_BELIEFS, m, m)), np.empty((NEW_BELIEFS, m + 1, m + 1))
    buffers = np.empty((NEW_BELIEFS, buffer.shape[1], m + 1))
    first_u, has_factor = RUN_NUMBERS + 2 * (d + d * d) + d + d * d, factor.shape[0] > 0
    for r in range(y.size):
        begin, end = starts[r], starts[r + 1]
        count = end - begin
        new_starts[r + 1] = out
        if status[r] == DONE:
            out_table[out : out + count] = quiet_table[begin:end]
            out_root[out : out + count] = quiet_root[begin:end]
            out_buffer[out : out + count] = quiet_buffer[begin:end]
            if has_factor:
                out_factor[out : out + count] = factor[begin:end]
            out += count
            new_starts[r + 1] = out
            continue
        run, walks = new_runs[r], False
        run[:] = runs[r]
        for b in range(begin, end):
            walks |= table[b, OFFSET_STEP] != 0.0
        if status[r] == SLOW or walks or not check_meter(run, first_u, u[r], y[r]):
            status[r] = SLOW
            continue
        status[r] = SLOW
        rows[:count] = table[begin:end]
        allow_return(rows, 0, count, round_number)
        best, curvature = int(run[BEST]), mean_curvature(run, d)
        old_epoch, old_rejected = rows[best, EPOCH], rows[best, REJECTED]
        square_length = features(u[r], model.sizes, model.bias, f)
        ordinary, expected[r] = _outcomes(
            rows, largest, count, best, root[begin:], factor[begin:] if has_factor else factor, buffer[begin:],
            out_root[out:], out_factor[out:] if has_factor else factors, out_buffer[out:], u[r], f, y[r],
            square_length, curvature, model, work, keep,
        )  # fmt: skip
        if not ordinary:
            continue
        kept = _choose(rows, largest, count, keep, round_number, p, chosen)
        remember(latest[r], recent[r], u[r], y[r])
        kept = _review(rows, roots, factors, buffers, chosen, kept, 2 * largest, recent[r], has_base_load, model, work)
        if kept < 0:
            continue
        place = select(rows, chosen, kept, round_number, p, keep)
        merge_repeats(rows, chosen, kept, place, round_number, p, keep)
        leader = chosen[place]
        kept = _compress(chosen, kept, keep)
        later = False
        for i in range(kept):
            later |= rows[chosen[i], EPOCH] > rows[leader, EPOCH]
        if later:
            continue
        for i in range(kept):
            source = chosen[i]
            out_table[out + i] = rows[source]
            if source == leader:
                run[BEST] = i
            if source < largest:  # written there already, and never to a place before its own
                if source != i:
                    out_root[out + i], out_buffer[out + i] = out_root[out + source], out_buffer[out + source]
                    if has_factor:
                        out_factor[out + i] = out_factor[out + source]
            elif source < 2 * largest:
                b = begin + source - largest
                out_root[out + i], out_buffer[out + i] = root[b], buffer[b]
                if has_factor:
                    out_factor[out + i] = factor[b]
            else:
                b = source - 2 * largest
                out_root[out + i], out_buffer[out + i] = roots[b], buffers[b]
                if has_factor:
                    out_factor[out + i] = factors[b]
        best = out + int(run[BEST])
        if out_table[best, IN_A_ROW] > 0.0:
            recent[r, recent.shape[1] - 1, d + 1] = 1.0
        finish(run, out_table[best], out_root[best], model.sizes, own_rounds[r], round_number, old_epoch, old_rejected)
        out += kept
        new_starts[r + 1], status[r] = out, DONE
    return out


@compiled
def _compress(chosen: IntArray, count: int, keep: BoolArray) -> int:
    """Move the kept entries to the front, and return their number."""
    kept = 0
    for i in range(count):
        if keep[i]:
            chosen[kept] = chosen[i]
            kept += 1
    return kept
