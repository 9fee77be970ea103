"""Fits of the latest readings at some ages: with other base loads, offsets that walk, and in case of a misled start."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.bayes import OFFSET_SIZE, Posterior, ReadingModel, with_walking_offset
from soqo.policies.glide._beliefs import (
    BASE_LOAD_LOG_PRIORS,
    DECISIVE_READINGS,
    Beliefs,
    Rows,
    best_index,
    first_of_runs,
    new_beliefs,
)
from soqo.policies.glide._changes import LOG_WALKING_OFFSET, OFFSET_SPEEDS
from soqo.policies.glide._outliers import LOG_ERROR_RANGE, LOG_FIRST_WRONG, LOG_NEXT_WRONG
from soqo.typing import BoolArray, IntArray

SPEEDS = (0.05, 0.3, 2.0, 10.0)
"""The speeds rho of base loads that walk."""

DOUBT_AGE = 5.0
"""The age at which the first two readings are doubted."""

DECISIVE_NATS = 8.0
"""A fit of the latest readings replaces the others if it predicts the last five of them better by this much."""


def doubt_first_readings(beliefs: Beliefs, model: ReadingModel, seen: BoolArray) -> Beliefs:
    """Add beliefs in which the first or the second reading was wrong, at the fifth."""
    first = first_of_runs(beliefs.owner)
    runs = np.flatnonzero(seen & (beliefs.age[first] == DOUBT_AGE) & (beliefs.epoch[first] == 0.0))
    if not runs.size:
        return beliefs
    # Both doubts of each run, one after the other.
    rows = beliefs.latest(runs, int(DOUBT_AGE)).repeat(2)
    y = rows.y.copy()
    # A negative reading is wrong as well: without a base load only the noise explains it.
    dropped = y < 0.0
    dropped[: runs.size, 0] = dropped[runs.size :, 1] = True
    size = np.log(np.maximum(np.abs(y), 1e-300))
    follows = np.pad(dropped[:, :-1], ((0, 0), (1, 0)))
    cost = np.where(follows, LOG_NEXT_WRONG, LOG_FIRST_WRONG) - LOG_ERROR_RANGE - size
    y[dropped] = np.nan
    learned = _fit_stored(model, _store_rows(model, Posterior.start(model, len(y)), replace(rows, y=y), 1))
    weight = BASE_LOAD_LOG_PRIORS["none"] + np.where(dropped, cost, 0.0).sum(axis=1)
    return beliefs.join(new_beliefs(np.tile(runs, 2), learned, weight, age=DOUBT_AGE, rejected=1.0))


def review(beliefs: Beliefs, model: ReadingModel, seen: BoolArray, *, base_load: bool, misled: bool) -> Beliefs:
    """Add fits of the latest readings, with other base loads and in case of a misled start, at some ages."""
    after, best = beliefs, best_index(beliefs)
    age, in_a_row = np.where(seen, beliefs.age[best], -1.0), np.where(seen, beliefs.in_a_row[best], 0.0)
    base_load_ages, fresh_ages = ages_of_reviews(model.unknowns)
    now = set(age.tolist())
    if base_load and not now.isdisjoint(base_load_ages):
        due = np.flatnonzero(np.isin(age, list(base_load_ages)))
        after = _add_base_loads(after, model, due[beliefs.posterior.offset_step[best[due]] == 0.0], best)
    if base_load and model.offset and not model.context and not now.isdisjoint(offset_ages(model.unknowns)):
        due = np.flatnonzero(np.isin(age, list(offset_ages(model.unknowns))))
        after = _add_walking_offsets(after, model, due, best_index(after))
    if not misled:
        return after
    for when, count in fresh_ages.items():
        if when in now:
            after = _add_fresh_fit(after, model, np.flatnonzero(age == when), best_index(after), count)
    if in_a_row.any():
        few = after.posterior.readings[best_index(after)] < model.unknowns + 5
        stuck = ((in_a_row == 14.0) & few) | (in_a_row == 28.0) | (in_a_row == 56.0)
        if stuck.any():
            count = next(iter(fresh_ages.values()))
            after = _add_fresh_fit(after, model, np.flatnonzero(stuck), best_index(after), count)
    return after


def _add_base_loads(beliefs: Beliefs, model: ReadingModel, runs: IntArray, best: IntArray) -> Beliefs:
    """Add beliefs with a constant base load and with ones that walk, fitted to the latest readings."""
    if not runs.size:
        return beliefs
    chosen = best[runs]
    rows = beliefs.latest_accepted(runs, chosen)
    mode = beliefs.posterior.level_variance[chosen] > 0.0
    speeds = beliefs.posterior.level_speed[chosen]

    kinds: tuple[float | None, ...] = (None, 0.0, *SPEEDS)
    starts = Posterior.concatenate([Posterior.start(model, runs.size, base_load=rho) for rho in kinds])
    learned = _store_rows(model, starts, rows, len(kinds))
    marginal = dict(zip(kinds, learned.summary_of_fit(model)[1].reshape(len(kinds), -1), strict=True))
    evidence = {rho: found + _log_prior(rho) for rho, found in marginal.items()}
    reference = np.zeros(runs.size)
    for rho, value in evidence.items():
        same = (mode & (speeds == rho)) if rho is not None else ~mode
        reference = np.where(same, value, reference)
    reference_total = beliefs.total[chosen]
    walk_top = np.max(np.stack([evidence[speed] for speed in SPEEDS]), axis=0)
    # The first time, the latest readings are all that there are.
    first = beliefs.age[chosen] <= len(rows)
    least, cost = np.where(first, -6.0, 8.0), np.where(first, 0.0, 6.0)
    parts = []
    for k, rho in enumerate(kinds):
        gain = evidence[rho] - reference
        same = (mode & (speeds == rho)) if rho is not None else ~mode
        # One belief for each base load that the latest readings support better than the best belief's.
        wanted = ~same & (evidence[rho] >= walk_top) & (gain > least) & (rho is not None)
        if wanted.any():
            where = np.flatnonzero(wanted)
            weight = (reference_total + gain - cost - marginal[rho])[where]
            age = beliefs.age[chosen][where]
            fit = _fit_stored(model, learned.take(k * runs.size + where))
            part = new_beliefs(runs[where], fit, weight, age=0.0, rejected=0.0)
            part["age"], part["epoch"] = age, beliefs.epoch[chosen][where]
            parts.append(part)
    return beliefs.join(*parts) if parts else beliefs


def _add_walking_offsets(beliefs: Beliefs, model: ReadingModel, runs: IntArray, best: IntArray) -> Beliefs:
    """Add beliefs whose offset walks, where there is an offset, if the latest readings support them."""
    posterior = beliefs.posterior
    offset = posterior.variants[best[runs]][:, [1, 3]].sum(axis=1)
    known = (offset > 0.5) & (posterior.level_variance[best[runs]] > 0.0) & (posterior.offset_step[best[runs]] == 0.0)
    runs = runs[known]
    if not runs.size:
        return beliefs
    chosen = best[runs]
    rows = beliefs.latest_accepted(runs, chosen)
    start = evolve(Posterior.start(model, runs.size, base_load=0.0), level_speed=posterior.level_speed[chosen])
    size = np.maximum(posterior.sizes[chosen, 0], 1e-150)
    deviation = OFFSET_SIZE * size * posterior.scale[chosen] / np.maximum(posterior.noise[chosen], 1e-150)
    speeds = (0.0, *OFFSET_SPEEDS)
    starts = Posterior.concatenate([with_walking_offset(start, rho / size, deviation) for rho in speeds])
    stored = _store_rows(model, starts, rows, len(speeds))
    evidence = stored.summary_of_fit(model)[1].reshape(len(speeds), runs.size)
    fastest = evidence[1:].argmax(axis=0) + 1
    gain = evidence[fastest, np.arange(runs.size)] - evidence[0] + LOG_WALKING_OFFSET
    where = np.flatnonzero(gain > 0.0)
    if not where.size:
        return beliefs
    learned = _fit_stored(model, stored.take(fastest[where] * runs.size + where))
    part = new_beliefs(
        runs[where], learned, beliefs.total[chosen[where]] + gain[where] - learned.log_evidence, age=0.0, rejected=0.0
    )
    part["age"], part["epoch"] = beliefs.age[chosen[where]], beliefs.epoch[chosen[where]]
    return beliefs.join(part)


def _add_fresh_fit(beliefs: Beliefs, model: ReadingModel, runs: IntArray, best: IntArray, count: int) -> Beliefs:
    """Add a fit of the latest readings alone, where it predicts the last of them far better."""
    runs = runs[np.isfinite(beliefs.latest(runs, count).y).sum(axis=1) >= count]
    if not runs.size:
        return beliefs
    chosen, rows = best[runs], beliefs.latest(runs, count)
    kind = beliefs.posterior.level_variance[chosen] > 0.0
    start = Posterior.start(model, runs.size)
    start = evolve(start, level_variance=np.where(kind, np.inf, 0.0), level_speed=beliefs.posterior.level_speed[chosen])
    if beliefs.posterior.offset_step[chosen].any():
        parent = beliefs.posterior.take(chosen)
        deviation = OFFSET_SIZE * parent.sizes[:, 0] * parent.scale / np.maximum(parent.noise, 1e-150)
        start = with_walking_offset(start, parent.offset_step, deviation)
    stored = _store_rows(model, start, rows.first(count - DECISIVE_READINGS), 1)
    noise, _ = stored.summary_of_fit(model)
    # A start that was misled seems to have large noise, unless its belief rejects all later readings.
    misled = (noise < 0.2 * beliefs.posterior.noise[chosen]) | (beliefs.in_a_row[chosen] > DECISIVE_READINGS)
    which = np.flatnonzero(misled)
    if not which.size:
        return beliefs
    runs, chosen, rows = runs[which], chosen[which], rows.of_runs(which)
    learned = _fit_stored(model, stored.take(which))
    won, never = -beliefs.densities[chosen].sum(axis=1), np.zeros(runs.size, dtype=np.bool_)
    features = rows.features(model)
    for k in range(count - DECISIVE_READINGS, count):
        context = None if rows.context is None else rows.context[:, k]
        next_one = learned.update(model, rows.u[:, k], rows.y[:, k], features[:, k], w=context, fit=never)
        won = won + next_one.log_evidence - learned.log_evidence
        learned = next_one
    where = np.flatnonzero(won > DECISIVE_NATS)
    if not where.size:
        return beliefs
    learned = learned.take(where)
    learned = learned.fit(model, np.ones(where.size, dtype=np.bool_))
    weight = beliefs.total[chosen[where]] + 1.0 - learned.log_evidence
    return beliefs.join(new_beliefs(runs[where], learned, weight, age=float(count), rejected=0.0))


@cache
def ages_of_reviews(unknowns: int) -> tuple[frozenset[float], dict[float, int]]:
    """Return the ages at which base loads are reviewed, and those of fresh fits with their number of readings."""
    p = max(unknowns, 5)
    first = math.ceil(2.4 * p)
    fresh = {2.6: 2.0, 3.3: 2.0, 4.0: 2.0, 5.0: 3.0, 8.0: 3.0, 16.0: 3.0}
    return (
        frozenset(first * 4.0**k for k in range(10)),
        {float(math.ceil(age * p)): math.ceil(count * p) for age, count in fresh.items()},
    )


@cache
def review_ages(unknowns: int) -> frozenset[float]:
    """Return the ages at which anything is reviewed.

    Parameters
    ----------
    unknowns : int
        The number p of unknowns in A.
    """
    base_load_ages, fresh_ages = ages_of_reviews(unknowns)
    return base_load_ages | fresh_ages.keys() | offset_ages(unknowns) | {DOUBT_AGE}


@cache
def offset_ages(unknowns: int) -> frozenset[float]:
    """Return the ages at which it is reviewed whether an offset walks."""
    return frozenset(4.0 * max(unknowns, 5) * 2.0**k for k in range(20))


def _log_prior(rho: float | None) -> float:
    return BASE_LOAD_LOG_PRIORS["none" if rho is None else "walk" if rho else "constant"]


def _store_rows(model: ReadingModel, start: Posterior, rows: Rows, times: int) -> Posterior:
    """Return the posterior with some rows, in their order, before a fit; several posteriors of a run share its rows."""
    features = rows.features(model)
    if times > 1:
        features, rows = np.tile(features, (times, 1, 1)), rows.repeat(times)
    return start.update_rows(model, rows.u, rows.y, features, rows.context)


def _fit_stored(model: ReadingModel, learned: Posterior) -> Posterior:
    """Return the posterior of the stored rows, with their marginal density as its evidence."""
    return learned.fit(model, learned.total_readings > 0.0, review=True).with_marginal_evidence()
