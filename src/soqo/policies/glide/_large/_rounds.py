"""A round of GLIDE with many dimensions: the action, and what a reading does to the memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.gains import advance, advance_with_factor
from soqo._model.planner import anticipation, towards
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import MAX_DISTANCE, clip_inputs
from soqo.policies._base import State
from soqo.policies._runs import take_rows
from soqo.policies.glide._large._directions import add_steps, are_few
from soqo.policies.glide._large._learning import Options, learn
from soqo.policies.glide._large._memory import LargeMemory
from soqo.policies.glide._large._probes import FIRST_ROUND, best_probe, pause
from soqo.policies.glide._large._row import make_row
from soqo.policies.glide._large._stream import Stream
from soqo.policies.glide._moment import update_moment
from soqo.typing import Array

_EXPLORATION_READINGS, _UNKNOWN_SCALE = 100, 0.2
"""Up to so many readings the policy explores if the logarithm of the scale has at least this deviation."""


def decide(
    state: State[Any], v: Array, *, drift: bool, probing: bool, noise_cap: float | None = None
) -> tuple[Array, LargeMemory]:
    """Return the action and the new memory.

    Until the first reading has come, the action is v: its reading is nothing but noise, whose size is then known.

    Parameters
    ----------
    state : State
        The state.
    v : Array, shape (*batch, d)
        The minimizer.
    drift : bool
        Whether to use the predictable part of the steps of v.
    probing : bool
        Whether to explore if the readings do not show the scale of A, and to probe where that is worth its cost.
    noise_cap : float, optional
        A bound on the noise, if one is known.
    """
    d, n = v.shape[-1], state.rounds_to_go
    memory: LargeMemory = state.memory
    x_prev, told = state.x.reshape(-1, d), v.reshape(-1, d)
    steps, rounds = memory.drift, state.own_round
    if state.round:
        step = told - state.v.reshape(-1, d)
        if state.began is not None:  # the first minimizer of a run is not a step
            step = np.where(np.asarray(rounds)[:, None] > 0, step, 0.0)
        step = np.clip(step, -MAX_DISTANCE, MAX_DISTANCE)
        memory = evolve(memory, directions=add_steps(memory.directions, step))
        steps = steps.update(step) if drift else steps
    forecast = None if state.forecast is None else state.forecast.reshape(len(told), *state.forecast.shape[-2:])
    forecasts = memory.forecasts.update(told, forecast)
    memory = evolve(memory, drift=steps, forecasts=forecasts)
    x = told.copy()
    for i, stream in enumerate(memory.streams):
        if not stream.spectrum.values.size and not stream.seen:
            continue
        one = slice(i, i + 1)
        spectrum = Spectrum(stream.spectrum.values[None], stream.spectrum.vectors[None])
        if probing and _explores(stream):
            spectrum = Spectrum(np.minimum(spectrum.values, 1.0), spectrum.vectors)
        factor = None if state.factor is None else state.factor.reshape(-1)[one]
        target = aim = told[one]
        advances = advance(spectrum.values, n)
        if factor is not None:
            advances = advance_with_factor(spectrum.values, n, factor)
        if drift:
            aim = target + take_rows(steps, np.array([i])).target_offset(spectrum, advances, n)
        if forecast is None or not forecast.shape[1]:
            x[one] = towards(spectrum, advances, x_prev[one], aim)
            continue
        trusted = take_rows(forecasts, np.array([i]))
        # A forecast that is believed takes the place of the autoregression.
        aim = target + (1.0 - trusted.trust()[:, :1]) * (aim - target)
        expected = trusted.expected(told[one], forecast[one])
        x[one] = towards(spectrum, advances, x_prev[one], aim) + anticipation(spectrum, n, target, expected, factor)
    if probing:
        x, memory = _with_probes(state, memory, x, told, noise_cap)
    return x.reshape(v.shape), memory


def _with_probes(
    state: State[Any], memory: LargeMemory, x: Array, v: Array, noise_cap: float | None
) -> tuple[Array, LargeMemory]:
    """Return the actions with the probes of this round, and the memory that counts them."""
    rounds = state.own_round
    moment = update_moment(memory.moment, np.clip(state.x.reshape(v.shape) - v, -MAX_DISTANCE, MAX_DISTANCE), rounds)
    memory = evolve(memory, moment=moment)
    played = np.broadcast_to(rounds, len(x))
    due = np.flatnonzero(played >= np.maximum(memory.next_probe, FIRST_ROUND))
    due = due[[are_few(one) for one in memory.directions[due]]]
    if not due.size:
        return x, memory
    n, probes, next_probe = state.rounds_to_go, np.zeros_like(x), memory.next_probe.copy()
    for i in due.tolist():
        # Without a horizon, assume that as many rounds follow as have been played.
        save = max(float(played[i]), 100.0) if state.horizon is None else n - 1.0
        planned = np.clip(x[i] - v[i], -MAX_DISTANCE, MAX_DISTANCE)
        found = best_probe(
            memory.streams[i], planned, moment=moment[i], noise_cap=noise_cap, rounds_to_go=n, rounds_to_save=save
        )
        if found is not None:
            probes[i] = found
            next_probe[i] = played[i] + pause(int(played[i]), bool(found.any()))
    probed = probes.any(axis=1)
    last_probe = np.where(probed, float(state.round + 1), memory.last_probe)
    counts = memory.probes + probed
    return x + probes, evolve(memory, probes=counts, last_probe=last_probe, next_probe=next_probe)


def _explores(stream: Stream) -> bool:
    """Return whether to play for an A of at most the switching weight: readings are mostly noise, its scale is unknown.

    The information of a reading grows with the fourth power of |u| and its cost with the square, so a few readings far
    from v find the scale at a lower cost than many close to it.
    """
    levels = stream.levels
    if levels is None or stream.seen >= _EXPLORATION_READINGS:
        return False
    return levels.noise_dominates and levels.scale_spread > _UNKNOWN_SCALE


def observe(
    state: State[Any], y: Array, options: Options, *, y_max: float | None, switching: Array | float
) -> LargeMemory:
    """Return the memory after the readings of a round.

    Parameters
    ----------
    state : State
        The state after ``act``.
    y : Array, shape (*batch,)
        The readings; NaN for none.
    options : Options
        What the policy is told about the readings.
    y_max : float or None
        The limit of the meter; readings at the limit are not used.
    switching : Array, shape (runs,), or float
        The switching cost that the readings contain.
    """
    memory: LargeMemory = state.memory
    d = state.x.shape[-1]
    displacement, reading, faults = state.u.reshape(-1, d), y.reshape(-1), memory.faults
    unit = 1.0 if state.unit is None else state.unit.reshape(-1)
    if y_max is not None:
        reading = np.where(reading * unit >= y_max, np.nan, reading)
    if options.alarms:
        repeated, faults = faults.update(displacement, reading * unit)
        reading = np.where(repeated, np.nan, reading)
    u, reading = clip_inputs(displacement, reading - switching)
    factor = np.ones(len(u)) if state.factor is None else state.factor.reshape(-1)
    streams, last_alarm = list(memory.streams), memory.last_alarm.copy()
    for i, stream in enumerate(streams):
        if np.isnan(reading[i]):
            continue
        told = options._replace(few_directions=are_few(memory.directions[i]))
        streams[i] = learn(stream, make_row(u[i], reading[i], factor[i]), told, state.round)
        last_alarm[i] = max(last_alarm[i], streams[i].epoch)
    alarms = memory.alarms + (last_alarm > memory.last_alarm)
    return evolve(memory, streams=tuple(streams), faults=faults, alarms=alarms, last_alarm=last_alarm)
