"""What GLIDE says of itself: numbers for programs, and a sentence for an operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo._model.gains import advance
from soqo._model.spectrum import Spectrum
from soqo.policies._base import State
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._health import CONFIDENT, FINDINGS, findings, numbers, verdict
from soqo.policies.glide._memory import Memory
from soqo.policies.glide._observation import MAX_BELIEFS
from soqo.typing import Array


def model(state: State[Memory]) -> dict[str, Array]:
    """Return the estimates of A, of the offset and of the base load."""
    posterior = state.memory.beliefs.posterior.take(state.memory.beliefs.best)
    estimate, offset = Spectrum(posterior.values, posterior.vectors).matrix(), posterior.shift[:, :, 0]
    # The constant of the model is the reading at x = v, which contains the hitting cost of the offset.
    load = posterior.load() - 0.5 * np.vecdot(offset, np.matvec(estimate, offset))
    return {
        "estimate": estimate.reshape(*state.x.shape, -1),
        "offset": offset.reshape(state.x.shape),
        "base_load": load.reshape(state.batch_shape),
    }


def diagnostics(state: State[Memory], y_max: float | None) -> dict[str, Any]:
    """Return the numbers of :meth:`soqo.GLIDE.diagnostics`."""
    memory, batch = state.memory, state.batch_shape
    beliefs, best = memory.beliefs, memory.beliefs.best
    posterior, known = beliefs.posterior.take(best), model(state)
    began: Array = np.zeros(1) if state.began is None else np.reshape(state.began, -1).astype(np.float64)
    estimate = known["estimate"].reshape(best.size, *known["estimate"].shape[-2:])
    hypotheses = _hypotheses(beliefs, began)
    return {
        **known,
        "uncertainty": deviations(memory, Spectrum.of(estimate).vectors.mT).reshape(state.x.shape),
        "noise": posterior.noise().reshape(batch),
        "probes": memory.motion.probes.reshape(batch),
        "outliers": beliefs.rejected[best].reshape(batch),
        "alarms": memory.alarms.reshape(batch),
        "last_alarm": np.where(memory.last_alarm > 0.0, memory.last_alarm - began, 0.0).reshape(batch),
        "drift": memory.drift.correlation().reshape(batch),
        "stuck": memory.faults.is_stuck().reshape(batch),
        "saturated": _is_saturated(memory, y_max).reshape(batch),
        "beliefs": np.bincount(beliefs.run, minlength=best.size).astype(np.float64).reshape(batch),
        "weight": beliefs.probability()[best].reshape(batch),
        "hypotheses": hypotheses.reshape(*batch, *hypotheses.shape[1:]),
    }


def _hypotheses(beliefs: Beliefs, began: Array) -> Array:
    """Return probability, first round, rejected readings and base load of each belief, shape (runs, beliefs, 4)."""
    epoch = np.where(beliefs.epoch > 0.0, beliefs.epoch - np.broadcast_to(began, beliefs.best.size)[beliefs.run], 0.0)
    columns = [beliefs.probability(), epoch, beliefs.rejected, beliefs.posterior.load()]
    found = np.full((beliefs.best.size, MAX_BELIEFS + 1, len(columns)), np.nan)
    found[beliefs.run, np.arange(len(beliefs.run)) - beliefs.best[beliefs.run]] = np.stack(columns, axis=1)
    return found


def deviations(memory: Memory, directions: Array) -> Array:
    """Return the standard deviations of w'Aw for directions w of shape (runs, k, d)."""
    posterior = memory.beliefs.posterior.take(memory.beliefs.best)
    return np.asarray(posterior.deviations(memory.terms, directions))


def _is_saturated(memory: Memory, y_max: float | None) -> Any:
    """Return the runs whose meter has a limit that the policy was not told."""
    return memory.faults.is_saturated() & (y_max is None)


def explain(state: State[Memory], y_max: float | None) -> str:
    """Return the sentence for one plant."""
    memory, d = state.memory, state.x.shape[-1]
    beliefs, p, known = memory.beliefs, d * (d + 1) // 2, health(state, y_max)
    readings, alarm = int(beliefs.posterior.readings[0]), int(memory.last_alarm.item())
    outliers, in_a_row = int(beliefs.rejected[0]), int(beliefs.wrong[0])
    found = f" Outliers so far: {outliers}." if outliers else ""
    if known["wrong"].item():
        return f"GLIDE is in doubt. {known['verdict'].item()}{found}"
    if in_a_row:
        return (
            f"GLIDE is testing a reading: that of round {state.round} does not fit the earlier ones (the last "
            f"{in_a_row} did not). Others will show whether A has changed or the reading was wrong.{found}"
        )
    if alarm and readings < 2 * p + 4 and beliefs.epoch[0] > 0.0:
        return (
            f"GLIDE suspects a change: the reading of round {alarm} does not fit the earlier ones. It has "
            f"adapted its estimate; readings since: {readings}, unknowns: {p}.{found}"
        )
    if memory.motion.probed.item():
        return "GLIDE is probing: the reading of this deviation will save more than the deviation costs."
    heard = f"readings: {memory.health.readings.item():.0f} of {np.max(state.own_round) - state.pending} rounds"
    since = f"readings since the change it suspected in round {alarm}: {readings}" if alarm else heard
    settled = known["deviation"].item() <= CONFIDENT
    status = "is confident" if known["confident"].item() else "has settled" if settled else "is learning"
    unknowns = "" if settled else f", unknowns: {p}"
    check = f" {known['verdict'].item()}" if known["since"].item() else ""
    return (
        f"GLIDE {status} ({since}{unknowns}): the share of the distance to v that a step should cover, "
        f"{_range(known)}, is known within {100.0 * known['deviation'].item():.2g} %.{check}{found}"
    )


def _range(known: dict[str, Array]) -> str:
    """Return the shares of the distance to v that a step covers, in the directions of the least and the most."""
    low, high = (f"{100.0 * known[name].item():.0f}" for name in ("shortest", "longest"))
    return f"{low} %" if low == high else f"{low} to {high} %"


def health(state: State[Memory], y_max: float | None) -> dict[str, Array]:
    """Return the numbers of :meth:`soqo.GLIDE.health`."""
    memory, batch = state.memory, state.batch_shape
    began = np.zeros(1) if state.began is None else np.reshape(state.began, -1)
    known, values = numbers(memory, state.rounds_to_go, y_max), memory.beliefs.posterior.values[memory.beliefs.best]
    for name, value in (("shortest", values.min(axis=1)), ("longest", values.max(axis=1))):
        known[name] = advance(np.maximum(value, 0.0), np.inf)
    since = memory.health.judged(findings(known), state.round)
    since = np.where(since > 0.0, since - began[:, None], 0.0)
    wrong = since[:, [one.wrong for one in FINDINGS]].any(axis=1)
    verdicts = np.empty(len(since), dtype=object)
    for run, rounds in enumerate(since):
        verdicts[run] = verdict({name: value[run] for name, value in known.items()}, rounds)
    confident = (known["deviation"] <= CONFIDENT) & ~since.any(axis=1)
    first = np.take_along_axis(since, (since > 0.0).argmax(axis=1)[:, None], axis=1)[:, 0]
    found = {**known, "wrong": wrong, "confident": confident, "since": first, "verdict": verdicts}
    covariance = memory.beliefs.take(memory.beliefs.best).posterior.offset_covariance(memory.terms)
    return {
        **{name: value.reshape(batch) for name, value in found.items()},
        "offset_covariance": covariance.reshape(*state.x.shape, -1),
    }
