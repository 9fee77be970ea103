r"""Beliefs that explain a surprising reading by a change: of A, of its scale, or of an offset that walks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.bayes import (
    Posterior,
    ReadingModel,
    frequent_fits,
    with_released_offset,
    with_rescaled_curvature,
    without_direction,
    without_readings,
)
from soqo.policies.glide._beliefs import Beliefs, best_index, best_total, push
from soqo.policies.glide._outliers import (
    MAX_CHANGE,
    SAME_GAIN,
    log_rarity,
    negative_penalty,
)
from soqo.typing import Array, BoolArray

_LOG_HAZARD = math.log(1e-5)
"""The logarithm of the prior probability of each kind of change in a round, at first.

With a constant probability, the number of false alarms, and what they cost, would grow in proportion to the number of
rounds, while all else grows with its logarithm. It decreases with the number of readings (see ``log_rarity``), as the
probability of wrong readings does."""

_FORCED_NATS = 3.0
"""After such evidence, a belief that starts again is at first this far below the best one."""

MIN_SCALE_CHANGE = 1.5
"""A change of A to a multiple of itself by less than this factor is not considered: to ignore it costs little."""

_LOG_SCALE_HAZARD = math.log(4e-5)
"""The same for a change of A to a multiple of itself."""

_RESTART_UNITS = (1.0, 0.1)
"""The deviations of A after a change, in units of its scale."""

_RESTART_SCALE_DEVIATION = math.log(2.0)
"""The deviation of the logarithm of the scale after a change."""

OFFSET_SPEEDS = (0.05, 0.3, 2.0)
"""The speeds of offsets that walk: how far a step changes a typical reading, in units of the noise."""

LOG_WALKING_OFFSET = math.log(0.01)
"""The logarithm of the prior probability that an offset walks."""


def restart(
    beliefs: Beliefs,
    before: Beliefs,
    model: ReadingModel,
    which: BoolArray,
    forced: BoolArray,
    u: Array,
    y: Array,
    features: Array,
    w: Array | None,
    estimate: Array,
    round_number: int,
) -> Beliefs:
    """Add beliefs that start again around the estimate, with this reading as their first."""
    runs = np.flatnonzero(which)
    old = before.best[runs]
    parent = before.posterior.take(old)
    everywhere = np.ones(runs.size, dtype=np.bool_)
    # Noise that seems to grow may be a change that goes on: it is believed after many readings only.
    shown = np.where(parent.readings >= 3 * model.unknowns, parent.noise, np.nan)
    known = np.where(parent.readings >= 12 * model.unknowns, shown, np.fmin(shown, parent.known_noise))
    fresh = evolve(
        without_readings(parent, everywhere),
        prior_mean=estimate[runs],
        scale_deviation=np.full(runs.size, _RESTART_SCALE_DEVIATION),
        known_noise=known,
        noise=np.where(np.isnan(known), parent.noise, known),
    )
    scale = np.maximum(np.trace(estimate[runs], axis1=1, axis2=2) / model.dim, 1e-150)
    context = None if w is None else w[runs]
    total = before.total[old] + _LOG_HAZARD + log_rarity(before.age[old])
    parts = []
    for unit in _RESTART_UNITS:
        start = evolve(fresh, prior_unit=unit * scale)
        learned = start.update(model, u[runs], y[runs], features[runs], w=context)
        penalty = negative_penalty(model, start, y[runs], learned.log_evidence)
        weight = np.where(
            forced[runs], best_total(beliefs, runs) - _FORCED_NATS - learned.log_evidence, total + penalty
        )
        zeros = np.zeros(runs.size)
        parts.append(
            {
                "owner": runs,
                "posterior": learned,
                "log_weight": weight,
                "epoch": np.full(runs.size, float(round_number)),
                "in_a_row": zeros,
                "rejected": zeros,
                "age": zeros + 1.0,
                "protected": zeros,
                "surprise": zeros + 1.0,
                "gain": zeros + np.nan,
                "gain_error": zeros + np.nan,
                "same_gain": zeros + SAME_GAIN,
                "densities": push(before.densities[old], learned.log_evidence, everywhere),
            }
        )
    # The old beliefs of these runs are kept for a while, and their averages begin again.
    mine = which[beliefs.owner]
    until = round_number + 3.0 * model.unknowns + 10.0
    leading = np.zeros(mine.size, dtype=np.bool_)
    leading[best_index(beliefs)] = which
    kept = evolve(
        beliefs,
        protected=np.where(leading, np.maximum(beliefs.protected, until), beliefs.protected),
        surprise=np.where(mine & forced[beliefs.owner], 1.0, beliefs.surprise),
    )
    return kept.join(*parts)


def release_offsets(
    beliefs: Beliefs, before: Beliefs, model: ReadingModel, which: BoolArray, u: Array, y: Array, features: Array
) -> Beliefs:
    """Add beliefs whose offset, if there is one, walks from now on."""
    posterior, best = before.posterior, before.best
    known = which & (posterior.variants[best][:, [1, 3]].sum(axis=1) > 0.5) & (posterior.offset_step[best] == 0.0)
    runs = np.flatnonzero(known & (posterior.readings[best] > frequent_fits(model)))
    if not runs.size:
        return beliefs
    parts = []
    for speed in OFFSET_SPEEDS:
        part = before.take(best[runs])
        start = with_released_offset(part["posterior"], model, speed)
        learned = start.update(model, u[runs], y[runs], features[runs], fit=np.zeros(runs.size, dtype=np.bool_))
        density = learned.log_evidence - start.log_evidence
        parts.append(_changed(part, learned, LOG_WALKING_OFFSET, density))
    return beliefs.join(*parts)


def rescale(
    beliefs: Beliefs,
    before: Beliefs,
    model: ReadingModel,
    which: BoolArray,
    y: Array,
    gain: Array,
    gain_error: Array,
    round_number: int,
) -> Beliefs:
    """Add beliefs in which A is now a multiple of what it was, as this reading says."""
    many = before.posterior.readings[before.best] > frequent_fits(model)
    runs = np.flatnonzero(which & many & (before.posterior.offset_step[before.best] == 0.0))
    if not runs.size:
        return beliefs
    old = before.best[runs]
    part = before.take(old)
    # The logarithm of the multiple is uniform. Near zero the density 1 / |y| is that of readings without noise.
    spread = np.abs(y[runs]) * np.maximum(1.0, gain_error[runs] / gain[runs])
    density = _LOG_SCALE_HAZARD - math.log(2.0 * math.log(MAX_CHANGE)) - np.log(spread)
    density = density + log_rarity(before.age[old])
    scaled = with_rescaled_curvature(part["posterior"], model, gain[runs], gain_error[runs])
    return beliefs.join(_changed(part, scaled, density, density, round_number))


def forget_eigenvalue(
    beliefs: Beliefs,
    before: Beliefs,
    model: ReadingModel,
    which: BoolArray,
    u: Array,
    y: Array,
    features: Array,
    w: Array | None,
    estimate: Array,
    round_number: int,
) -> Beliefs:
    """Add beliefs in which the eigenvalue that determines this reading was wrong, and the rest of A was right."""
    runs = np.flatnonzero(which & (before.posterior.readings[before.best] > frequent_fits(model)))
    if not runs.size:
        return beliefs
    old = before.best[runs]
    part = before.take(old)
    values, vectors = np.linalg.eigh(estimate[runs])
    largest = (values * np.square(np.vecmat(u[runs], vectors))).argmax(axis=1)
    start = without_direction(part["posterior"], model, vectors[np.arange(runs.size), :, largest])
    learned = start.update(model, u[runs], y[runs], features[runs], w=None if w is None else w[runs])
    density = learned.log_evidence - start.log_evidence
    weight = _LOG_HAZARD + log_rarity(before.age[old]) + negative_penalty(model, start, y[runs], density)
    return beliefs.join(_changed(part, learned, weight, density, round_number))


def _changed(
    part: dict[str, Any], posterior: Posterior, weight: Array | float, density: Array, epoch: int | None = None
) -> dict[str, Any]:
    """Return beliefs with another posterior, which explains this reading, and with a log weight that is larger by some.

    Beliefs in which A itself has changed begin an epoch.
    """
    zeros = np.zeros(len(density))
    changed = {
        **part,
        "posterior": posterior,
        "log_weight": part["log_weight"] + weight,
        "in_a_row": zeros,
        "age": part["age"] + 1.0,
        "protected": zeros,
        "surprise": zeros + 1.0,
        "gain": zeros + np.nan,
        "gain_error": zeros + np.nan,
        "densities": push(part["densities"], density, np.ones(len(density), dtype=np.bool_)),
    }
    if epoch is not None:
        changed |= {"epoch": zeros + float(epoch), "same_gain": zeros + SAME_GAIN}
    return changed
