"""Fits of the latest readings at some ages: with other base loads, offsets that walk, and in case of a misled start."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np

from soqo._foundation.blas import any_entry
from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.bayes import OFFSET_SIZE, Posterior, ReadingModel, with_walking_offset
from soqo.policies.glide._base_loads import add_base_loads
from soqo.policies.glide._beliefs import (
    BASE_LOAD_LOG_PRIORS,
    DECISIVE_READINGS,
    PRUNE_NATS,
    Beliefs,
    best_index,
    best_total,
    first_of_runs,
    new_beliefs,
)
from soqo.policies.glide._changes import LOG_WALKING_OFFSET, OFFSET_SPEEDS
from soqo.policies.glide._outliers import LOG_ERROR_RANGE, LOG_FIRST_WRONG, LOG_NEXT_WRONG
from soqo.typing import BoolArray, IntArray

DOUBT_AGE = 5.0
"""The age at which the first two readings are doubted."""

MISLED_SHARE = 0.2
"""Where wrong readings have misled the start, the latest readings alone show less than this share of its noise."""

DECISIVE_NATS = 8.0
"""A fit of the latest readings replaces the others if it predicts the last five of them better by this much."""


def doubt_first_readings(beliefs: Beliefs, model: ReadingModel, seen: BoolArray) -> Beliefs:
    """Add beliefs in which the first or the second reading was wrong, at the fifth."""
    if not any_entry(beliefs.age == DOUBT_AGE):
        return beliefs
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
    stored = replace(rows, y=y).learned(model, Posterior.start(model, len(y)))
    weight = BASE_LOAD_LOG_PRIORS["none"] + np.where(dropped, cost, 0.0).sum(axis=1)
    runs = np.tile(runs, 2)
    gap = best_total(beliefs, runs) - weight - stored.summary_of_fit(model)[1]
    where = np.flatnonzero(~(gap > PRUNE_NATS))  # the others would be dropped
    if not where.size:
        return beliefs
    learned = stored.take(where).fit_all(model)
    return beliefs.join(new_beliefs(runs[where], learned, weight[where], age=DOUBT_AGE, rejected=1.0))


def review(beliefs: Beliefs, model: ReadingModel, seen: BoolArray, *, base_load: bool, misled: bool) -> Beliefs:
    """Add fits of the latest readings, with other base loads and in case of a misled start, at some ages."""
    after, best = beliefs, best_index(beliefs)
    age, in_a_row = np.where(seen, beliefs.age[best], -1.0), np.where(seen, beliefs.in_a_row[best], 0.0)
    base_load_ages, fresh_ages = ages_of_reviews(model.unknowns)
    now = set(age.tolist())
    if base_load and not now.isdisjoint(base_load_ages):
        due = np.flatnonzero(np.isin(age, list(base_load_ages)))
        after = add_base_loads(after, model, due[beliefs.posterior.offset_step[best[due]] == 0.0], best)
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
    stored = rows.learned(model, starts, len(speeds))
    evidence = stored.summary_of_fit(model)[1].reshape(len(speeds), runs.size)
    fastest = evidence[1:].argmax(axis=0) + 1
    gain = evidence[fastest, np.arange(runs.size)] - evidence[0] + LOG_WALKING_OFFSET
    where = np.flatnonzero(gain > 0.0)
    if not where.size:
        return beliefs
    learned = stored.take(fastest[where] * runs.size + where).fit_all(model)
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
    stored = rows.first(count - DECISIVE_READINGS).learned(model, start)
    # A start that was misled seems to have large noise, unless its belief rejects all later readings.
    rejects, least = beliefs.in_a_row[chosen] > DECISIVE_READINGS, MISLED_SHARE * beliefs.posterior.noise[chosen]
    which = np.flatnonzero(rejects | (stored.least_noise(model) < least))
    if which.size:
        noise, _ = stored.summary_of_fit(model, which)
        which = which[rejects[which] | (noise < least[which])]
    if not which.size:
        return beliefs
    runs, chosen, rows = runs[which], chosen[which], rows.of_runs(which)
    learned = stored.take(which).fit_all(model)
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
