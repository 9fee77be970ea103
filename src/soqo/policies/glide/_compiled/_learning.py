"""One reading of each run, as machine code: ``_plain_readings`` and ``_readings`` with what the policy does after them.

:func:`learn_quiet` handles the runs whose beliefs all expect the reading and whose structure stays as it is, and
:func:`learn_general` those in which beliefs are fitted, split or dropped. Both mark runs that only NumPy's code handles:
surprising readings, reviews, offsets that walk, and meters that repeat themselves.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes import MAX_DISTANCE, OFFSET_SIZE, RELATIVE_ERROR
from soqo.estimators.bayes.compiled import map_estimate, solve_symmetric, to_vector
from soqo.policies.glide._beliefs import _IMPROBABLE_NATS
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
    base_load,
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
    ALARMS,
    BELIEF_NUMBERS,
    BEST,
    BUFFER_ROWS,
    COUNT_READINGS,
    DENSITIES,
    EPOCH,
    GAIN,
    GAIN_ERROR,
    IN_A_ROW,
    LAST_ALARM,
    LAST_READING,
    LEVEL_SPEED,
    LEVEL_VARIANCE,
    LOG_EVIDENCE,
    LOG_SIZE,
    LOG_WEIGHT,
    MAX_ABS_READING,
    MAX_COUNT,
    MAX_READING,
    NOISE,
    OFFSET_STEP,
    PROTECTED,
    READINGS,
    REJECTED,
    RUN_NUMBERS,
    SAME_GAIN_CHANCE,
    SCALE,
    STUCK,
    SURPRISE,
    TOTAL_READINGS,
    VARIANTS,
)
from soqo.policies.glide._compiled._reviewing import BASE_LOADS, add_base_loads, doubt_first_reading, was_misled
from soqo.policies.glide._outliers import (
    AVERAGING_READINGS,
    CHANGE_RATIO,
    MAX_CHANGE,
    MAX_SQUARE,
    SAME_GAIN,
    SAME_GAIN_AGAIN,
    SAME_GAIN_RARELY,
    SURPRISE_SQUARE,
)
from soqo.policies.glide._reviews import _DOUBT_AGE
from soqo.typing import Array, BoolArray, IntArray

DONE, GENERAL, SLOW = 0, 1, 2
"""What became of a run: learned, needs :func:`learn_general`, or needs NumPy's code."""

_LOG_CORRECT_AGAIN = math.log(0.5)
_MAX_READING = 1e60


@compiled
def contains(ages: Array, age: float) -> bool:
    """Return whether a sorted array that ends with infinity contains an age."""
    return ages[np.searchsorted(ages, age)] == age


@compiled
def _check_meter(run: Array, first_u: int, u: Array, y: float) -> bool:
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
def _is_ordinary(u: Array, y: float, bias: int) -> bool:
    """Return whether no number needs to be clipped."""
    square = 0.0
    for i in range(u.size):
        if not abs(u[i]) < MAX_DISTANCE:
            return False
        square += u[i] * u[i]
    return abs(y) < _MAX_READING and (bias != 2 or square >= 1e-200)


@compiled
def _remember(old: Array, new: Array, u: Array, y: float) -> None:
    """Write the latest readings with one more row to ``new``: u, y, and whether it was rejected."""
    rows, d = old.shape[0], u.size
    new[: rows - 1] = old[1:]
    for i in range(d):
        new[rows - 1, i] = u[i]
    new[rows - 1, d], new[rows - 1, d + 1] = y, 0.0


@compiled
def _finish(
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
    # As in the policy, which pauses only with more unknowns than a dense posterior has.
    if own_round % 4 == 0 or row[READINGS] <= 4 * p or switched:
        _estimate(run, row, root, sizes)
    size = d + d * d
    run[RUN_NUMBERS + size : RUN_NUMBERS + 2 * size] = run[RUN_NUMBERS : RUN_NUMBERS + size]


@compiled
def _estimate(run: Array, row: Array, root: Array, sizes: IntArray) -> None:
    """Update the spectrum of the estimate and the shift of the minimizer."""
    d, p, q, e, m = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    first, last = RUN_NUMBERS, RUN_NUMBERS + d
    mean = row[BELIEF_NUMBERS + m - p : BELIEF_NUMBERS + m]
    values, vectors = map_estimate(
        mean, root[m - p :], row[READINGS], row[SCALE], run[first:last].copy(),
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
def _mean_curvature(run: Array, d: int) -> float:
    total = 0.0
    for i in range(d):
        total += run[RUN_NUMBERS + i]
    return total / d


@compiled
def _is_ready(
    row: Array, y: float, error: float, noise: float, curvature: float, square_length: float, sizes: IntArray
) -> bool:
    """Return whether a reading that does not fit may mean a change: A explains its error, and readings are many."""
    if not row[READINGS] >= sizes[1] + 5:
        return False
    if not y >= min(base_load(row, sizes[4]), 0.0) - 3.0 * noise:
        return False
    return abs(error) < 0.5 * MAX_CHANGE * curvature * square_length + 6.0 * noise


@compiled
def _push(row: Array, density: float) -> None:
    """Add a log density to the latest ones."""
    for j in range(DENSITIES, DENSITIES + 4):
        row[j] = row[j + 1]
    row[DENSITIES + 4] = density


@compiled
def _quiet_belief(
    old: Array,
    row: Array,
    root: Array,
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
    explained, variance = predict(old, root, f, y, sizes, difference, spread)
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
    if _is_ready(old, y, error, noise, curvature, square_length, sizes):
        row[SURPRISE] = ratio
    weight = store(row, buffer, buffer, u, y, sizes, difference, R, old[LEVEL_SPEED] ** 2, work[2])
    potter(row, root, sizes, spread, innovation, variance, weight, work[2])
    row[LOG_EVIDENCE] += density
    row[LOG_WEIGHT] += accept - density
    row[AGE] += 1.0
    _push(row, accept)
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
    table, root, buffer : Array, shape (beliefs, ...)
        The beliefs, copies of those before the reading; those of other runs are garbage afterwards.
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
            others -= status[r] == DONE
            continue
        if not _is_ordinary(u[r], y[r], bias):
            status[r] = SLOW
            continue
        for b in range(begin, end):
            if not _is_quiet(table[b], busy_ages, buffer.shape[1], round_number) or end - begin > 32:
                status[r] = GENERAL
        if status[r] != DONE:
            continue
        if not _check_meter(run, first_u, u[r], y[r]):
            status[r] = SLOW
            continue
        square_length = features(u[r], sizes, bias, f)
        curvature = _mean_curvature(run, d)
        old_epoch, old_rejected = table[best, EPOCH], table[best, REJECTED]
        for b in range(begin, end):
            old[:] = table[b]
            quiet, mean = _quiet_belief(
                old, table[b], root[b], buffer[b], u[r], f, y[r], square_length, curvature, sizes, kappa,
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
        _remember(latest[r], recent[r], u[r], y[r])
        _finish(run, table[best], root[best], sizes, own_rounds[r], round_number, old_epoch, old_rejected)
        others -= 1
    return others


@compiled
def _fit_is_due(
    row: Array, age: float, top: float, fit_ages: Array, frequent: int, several: bool
) -> bool:
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
            finite = fit(row, root, factor, buffer, sizes, kappa, optional_bias, diagonal, False, work[2])
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
    ready = _is_ready(old, y, error, noise, curvature, square_length, sizes)
    _refuse(refused, old, y, mean, deviation, diffuse, repeated)
    row[LOG_WEIGHT] += accept - density
    refused[LOG_WEIGHT] += reject
    row[IN_A_ROW] = 0.0
    row[GAIN], row[GAIN_ERROR] = np.nan, np.nan
    _push(row, accept)
    _push(refused, reject)
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
    noise_cap: float,
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
                wrong, rows[largest + k], roots[k], factors[k], buffers[k], recent, noise_cap, sizes, bias, kappa,
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
            rows[largest + k :], roots[k:], factors[k:], buffers[k:], leader, recent, noise_cap, sizes, bias, kappa,
            optional_bias, trusted_distance, diagonal, work, wanted,
        ):  # fmt: skip
            return -1
        for kind in range(BASE_LOADS):
            if wanted[kind] > 0.0:
                chosen[count] = largest + k + kind
                count += 1
        added += BASE_LOADS
    leader = rows[_best(rows, chosen, count)]
    if has_base_load and sizes[3] > 0 and contains(offset_ages, age) and leader[LEVEL_VARIANCE] > 0.0:
        if leader[VARIANTS + 1] + leader[VARIANTS + 3] > 0.5:
            return -1
    if contains(fresh_ages, age):
        k, readings = largest + added, fresh_counts[np.searchsorted(fresh_ages, age)]
        if was_misled(
            rows[largest + k], roots[k], factors[k], buffers[k], leader, recent, readings, noise_cap, sizes, bias,
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
    noise_cap: float,
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
        if status[r] == SLOW or not _check_meter(run, first_u, u[r], y[r]):
            status[r] = SLOW
            continue
        # ---- both outcomes of the reading, for each belief
        square_length = features(u[r], sizes, bias, f)
        curvature, best = _mean_curvature(run, d), int(run[BEST])
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
        _remember(latest[r], recent[r], u[r], y[r])
        kept = _review(
            rows, roots, factors, buffers, chosen, kept, largest, recent[r], noise_cap, has_base_load, sizes, bias,
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
        _finish(run, out_table[best], out_root[best], sizes, own_rounds[r], round_number, old_epoch, old_rejected)
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
