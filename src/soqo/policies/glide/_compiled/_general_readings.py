"""A reading after which beliefs are fitted, split, reviewed or dropped, as machine code: ``_readings``.

Runs that only NumPy's code handles are marked: surprising readings, offsets that walk, fits of the latest readings that
replace all others, and meters that repeat themselves.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes import RELATIVE_ERROR
from soqo.policies.glide._beliefs import _IMPROBABLE_NATS
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
)
from soqo.policies.glide._compiled._reviewing import (
    BASE_LOADS,
    add_base_loads,
    doubt_first_reading,
    was_misled,
)
from soqo.policies.glide._outliers import (
    AVERAGING_READINGS,
    CHANGE_RATIO,
    MAX_SQUARE,
    SAME_GAIN,
    SAME_GAIN_AGAIN,
    SAME_GAIN_RARELY,
    SURPRISE_SQUARE,
)
from soqo.policies.glide._reviews import _DOUBT_AGE
from soqo.typing import Array, BoolArray, IntArray

_LOG_CORRECT_AGAIN = math.log(0.5)
"""As in ``_readings``."""


@compiled
def _fit_is_due(row: Array, age: float, top: float, fit_ages: Array, frequent: int, several: bool) -> bool:
    """Return whether a belief is fitted at this age; the evidence of an improbable one is exact less often."""
    due = age <= frequent or contains(fit_ages, age)
    if due and several and age > 4.0 and total_weight(row) < top - _IMPROBABLE_NATS:
        return age % 4.0 == 0.0
    return due


@compiled
def _accept(
    old: Array,
    row: Array,
    root: Array,
    factor: Array,
    buffer: Array,
    u: Array,
    f: Array,
    y: float,
    square_length: float,
    due: bool,
    sizes: IntArray,
    kappa: float,
    optional_bias: bool,
    trusted_distance: float,
    diagonal: IntArray,
    frequent: int,
    work: Array,
) -> tuple[bool, float, float, float]:
    """Let a belief learn from a reading; return whether all is finite, what was expected, its deviation and noise."""
    m = sizes[4]
    difference, spread = work[0], work[1]
    explained, variance = predict(old, root, f, y, sizes, difference, spread)
    P, own_noise = old[LEVEL_VARIANCE], old[NOISE]
    innovation, noise = difference[m] - explained, own_noise * math.sqrt(1.0 + P)
    wide = variance + (RELATIVE_ERROR * square_length) ** 2
    wide += model_error(square_length, trusted_distance) * own_noise * own_noise
    mean = explained + old[BELIEF_NUMBERS + 2 * m]
    R = reading_variance(old, square_length, trusted_distance)
    weight = store(row, factor, buffer, u, y, sizes, difference, R, old[LEVEL_SPEED] ** 2, work[2])
    row[AGE] += 1.0
    finite = True
    if weight > 0.0:
        exact = due and row[READINGS] <= frequent
        if not exact:
            row[LOG_EVIDENCE] += log_density(innovation, variance, weight, own_noise)
        if not due:
            potter(row, root, sizes, spread, innovation, variance, weight, work[2])
        else:
            finite = fit(row, root, factor, buffer, sizes, kappa, optional_bias, diagonal, False, False, work[2])
        if exact:
            row[LOG_EVIDENCE] = marginal_evidence(row)
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
    is_best: bool,
    sizes: IntArray,
    kappa: float,
) -> tuple[bool, bool, bool]:
    """Weigh both outcomes of a reading; return whether each is kept, and whether a change must be considered."""
    p, m = sizes[1], sizes[4]
    diffuse = math.isinf(old[LEVEL_VARIANCE])
    error = 0.0 if diffuse else y - mean
    deviation = 1.0 if diffuse else deviation
    density = row[LOG_EVIDENCE] - old[LOG_EVIDENCE]
    accept = density + negative_penalty(old, y, density, kappa, p, m)
    reject, repeated = log_wrong(old, error, deviation, p), False
    if old[IN_A_ROW] > 0.0:
        accept += _LOG_CORRECT_AGAIN
        reject, repeated = wrong_again(old, reject, y, mean, deviation)
    tested = not diffuse and (old[AGE] >= 2.0 or old[EPOCH] > 0.0)
    nats = branch_nats(old, p)
    keep = not tested or not accept <= reject - nats
    doubt = tested and reject > accept - nats
    square = (error / deviation) ** 2
    ratio = old[SURPRISE] + (min(square, MAX_SQUARE) - old[SURPRISE]) / AVERAGING_READINGS
    ready = is_ready(old, y, error, noise, curvature, square_length, sizes)
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
    surprising = is_best and ready and (square > SURPRISE_SQUARE or ratio > CHANGE_RATIO)
    return keep, doubt, surprising


@compiled
def _review(
    rows: Array,
    roots: Array,
    factors: Array,
    buffers: Array,
    chosen: IntArray,
    count: int,
    largest: int,
    recent: Array,
    fresh: Array,
    has_base_load: bool,
    sizes: IntArray,
    bias: int,
    kappa: float,
    optional_bias: bool,
    trusted_distance: float,
    diagonal: IntArray,
    base_load_ages: Array,
    offset_ages: Array,
    fresh_ages: Array,
    fresh_counts: IntArray,
    work: Array,
) -> int:
    """Add fits of the latest readings to the chosen beliefs; return their number, or -1 if NumPy's code is needed."""
    added, first = 0, rows[chosen[0]]
    if first[AGE] == _DOUBT_AGE and first[EPOCH] == 0.0:
        for wrong in range(2):
            k = largest + added
            if not doubt_first_reading(
                wrong, rows[largest + k], roots[k], factors[k], buffers[k], recent, fresh, sizes, bias, kappa,
                optional_bias, trusted_distance, diagonal, work,
            ):  # fmt: skip
                return -1
            chosen[count] = largest + k
            count, added = count + 1, added + 1
    leader = rows[_best(rows, chosen, count)]
    age = leader[AGE]
    if leader[IN_A_ROW] in (14.0, 28.0, 56.0):
        return -1
    if has_base_load and contains(base_load_ages, age):
        k, wanted = largest + added, np.zeros(BASE_LOADS)
        if not add_base_loads(
            rows[largest + k :], roots[k:], factors[k:], buffers[k:], leader, recent, fresh, sizes, bias, kappa,
            optional_bias, trusted_distance, diagonal, work, wanted,
        ):  # fmt: skip
            return -1
        for kind in range(BASE_LOADS):
            if wanted[kind] > 0.0:
                chosen[count] = largest + k + kind
                count += 1
        added += BASE_LOADS
    leader = rows[_best(rows, chosen, count)]
    # Whether an offset walks is for NumPy's code.
    has_offset = leader[LEVEL_VARIANCE] > 0.0 and leader[VARIANTS + 1] + leader[VARIANTS + 3] > 0.5
    if has_offset and has_base_load and sizes[3] > 0 and contains(offset_ages, age):
        return -1
    if contains(fresh_ages, age):
        k, readings = largest + added, fresh_counts[np.searchsorted(fresh_ages, age)]
        if was_misled(
            rows[largest + k], roots[k], factors[k], buffers[k], leader, recent, readings, fresh, sizes, bias,
            kappa, optional_bias, trusted_distance, diagonal, work,
        ):  # fmt: skip
            return -1
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
    sizes: IntArray,
    bias: int,
    kappa: float,
    optional_bias: bool,
    trusted_distance: float,
    diagonal: IntArray,
    fit_ages: Array,
    frequent: int,
    fresh: Array,
    has_base_load: bool,
    base_load_ages: Array,
    offset_ages: Array,
    fresh_ages: Array,
    fresh_counts: IntArray,
    status: IntArray,
    expected: Array,
    out_table: Array,
    out_root: Array,
    out_factor: Array,
    out_buffer: Array,
    counts: IntArray,
) -> int:
    """Let the other runs learn, and write the beliefs of all runs to new arrays; return their number.

    The beliefs of a run that only NumPy's code handles are left out. ``table`` to ``buffer`` are the beliefs before the
    reading, ``quiet_...`` those after :func:`learn_quiet`, and ``counts`` becomes the number of beliefs of each run.
    """
    d, p, m = sizes[0], sizes[1], sizes[4]
    f, work = np.empty(m), np.empty((3, m + 1))
    largest = 0
    for r in range(y.size):
        largest = max(largest, starts[r + 1] - starts[r])
    # The beliefs of a run that accept the reading, those that reject it (whose arrays do not change), and new ones.
    space = largest + BASE_LOADS + 3
    rows = np.empty((largest + space, table.shape[1]))
    roots, factors = np.empty((space, m, m)), np.empty((space, m + 1, m + 1))
    buffers = np.empty((space, buffer.shape[1], m + 1))
    chosen, keep = np.empty(largest + space, np.int64), np.empty(largest + space, np.bool_)
    first_u = RUN_NUMBERS + 2 * (d + d * d) + d + d * d
    out = 0
    for r in range(y.size):
        begin, end = starts[r], starts[r + 1]
        count = end - begin
        counts[r] = 0
        if status[r] == DONE:
            out_table[out : out + count] = quiet_table[begin:end]
            out_root[out : out + count] = quiet_root[begin:end]
            out_factor[out : out + count] = factor[begin:end]
            out_buffer[out : out + count] = quiet_buffer[begin:end]
            counts[r] = count
            out += count
            continue
        if status[r] == SLOW:
            continue
        run = new_runs[r]
        run[:] = runs[r]
        for b in range(begin, end):
            if table[b, OFFSET_STEP] != 0.0:
                status[r] = SLOW
        if status[r] == SLOW or not check_meter(run, first_u, u[r], y[r]):
            status[r] = SLOW
            continue
        # ---- both outcomes of the reading, for each belief
        square_length = features(u[r], sizes, bias, f)
        curvature, best = mean_curvature(run, d), int(run[BEST])
        rows[:count] = table[begin:end]
        allow_return(rows, 0, count, round_number)
        top = total_weight(rows[best])
        old_epoch, old_rejected = rows[best, EPOCH], rows[best, REJECTED]
        surprising, kept, doubted = False, 0, 0
        old = np.empty(table.shape[1])
        for b in range(count):
            old[:] = rows[b]
            rows[largest + b] = old
            roots[b], factors[b], buffers[b] = root[begin + b], factor[begin + b], buffer[begin + b]
            due = _fit_is_due(old, old[AGE] + 1.0, top, fit_ages, frequent, count > 1)
            finite, mean, deviation, noise = _accept(
                old, rows[b], roots[b], factors[b], buffers[b], u[r], f, y[r], square_length, due, sizes, kappa,
                optional_bias, trusted_distance, diagonal, frequent, work,
            )  # fmt: skip
            if b == best:
                expected[r] = mean
            if not finite:
                status[r] = SLOW
                break
            keep[b], doubt, surprise = _weigh(
                old, rows[b], rows[largest + b], y[r], mean, deviation, noise, curvature, square_length, b == best,
                sizes, kappa,
            )  # fmt: skip
            surprising |= surprise
            keep[largest + b] = doubt
            doubted += doubt
        if status[r] == SLOW or surprising:
            status[r] = SLOW
            continue
        # ---- which beliefs are kept
        for b in range(count):
            if keep[b]:
                chosen[kept] = b
                kept += 1
        for b in range(count):
            if keep[largest + b]:
                chosen[kept] = largest + b
                kept += 1
        if doubted:
            select(rows, chosen, kept, round_number, p, keep)
            kept = _compress(chosen, kept, keep)
        remember(latest[r], recent[r], u[r], y[r])
        kept = _review(
            rows, roots, factors, buffers, chosen, kept, largest, recent[r], fresh, has_base_load, sizes, bias,
            kappa, optional_bias, trusted_distance, diagonal, base_load_ages, offset_ages, fresh_ages, fresh_counts,
            work,
        )  # fmt: skip
        if kept < 0:
            status[r] = SLOW
            continue
        place = select(rows, chosen, kept, round_number, p, keep)
        merge_repeats(rows, chosen, kept, place, round_number, p, keep)
        leader = chosen[place]
        kept = _compress(chosen, kept, keep)
        for i in range(kept):
            if rows[chosen[i], EPOCH] > rows[leader, EPOCH]:
                status[r] = SLOW
        if status[r] == SLOW:
            continue
        # ---- the beliefs after the reading
        for i in range(kept):
            source = chosen[i]
            out_table[out + i] = rows[source]
            if source == leader:
                run[BEST] = i
            if source < largest or source >= 2 * largest:
                own = source if source < largest else source - largest
                out_root[out + i], out_factor[out + i], out_buffer[out + i] = roots[own], factors[own], buffers[own]
            else:
                b = begin + source - largest
                out_root[out + i], out_factor[out + i], out_buffer[out + i] = root[b], factor[b], buffer[b]
        best = out + int(run[BEST])
        if out_table[best, IN_A_ROW] > 0.0:
            recent[r, recent.shape[1] - 1, d + 1] = 1.0
        finish(run, out_table[best], out_root[best], sizes, own_rounds[r], round_number, old_epoch, old_rejected)
        counts[r] = kept
        out += kept
        status[r] = DONE
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
