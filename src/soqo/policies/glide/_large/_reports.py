"""What GLIDE says about itself with many dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from soqo._model.gains import advance
from soqo.policies._base import State
from soqo.policies.glide._large._estimates import soft_deviations
from soqo.policies.glide._large._memory import LargeMemory
from soqo.policies.glide._large._stream import Stream
from soqo.typing import Array

_CONFIDENT_DEVIATION = 0.05
"""GLIDE reports itself as confident if the deviation of the gain is at most this."""

_SIGNIFICANT = 1e-3
"""Eigenvalues below this share of the largest do not count for the rank."""


def diagnostics(state: State[LargeMemory], noise_cap: float | None) -> dict[str, Any]:
    """Return what is known about the streams, with the same names as for a dense A and two more.

    Parameters
    ----------
    state : State
        The state.
    noise_cap : float or None
        A bound on the noise, if one is known.
    """
    memory, batch, d = state.memory, state.batch_shape, state.x.shape[-1]
    streams = memory.streams
    last_alarm = memory.last_alarm
    if state.began is not None:
        last_alarm = np.where(last_alarm > 0.0, last_alarm - np.reshape(state.began, -1), 0.0)
    uncertainty = [deviations(stream, noise_cap, _eigenvectors(stream).T) for stream in streams]
    ones = np.ones(batch)

    def each(values: Any, *shape: int) -> Array:
        return np.asarray(values, dtype=np.float64).reshape((*batch, *shape))

    return {
        "estimate": each([stream.estimate for stream in streams], d, d),
        "uncertainty": each(uncertainty, d),
        "noise": each([stream.noise(noise_cap) for stream in streams]),
        "offset": np.zeros(state.x.shape),
        "base_load": each([stream.load for stream in streams]),
        "probes": each(memory.probes),
        "outliers": each([stream.rejected for stream in streams]),
        "alarms": each(memory.alarms),
        "last_alarm": each(last_alarm),
        "drift": each(memory.drift.correlation()),
        "stuck": memory.faults.is_stuck().reshape(batch),
        "saturated": memory.faults.is_saturated().reshape(batch),
        "beliefs": ones,
        "weight": ones,
        "rank": each([rank(stream) for stream in streams]),
        "representation": np.array([stream.representation for stream in streams], dtype="<U8").reshape(batch),
    }


def rank(stream: Stream) -> int:
    """Return the number of eigenvalues of the estimate that are not negligible.

    Parameters
    ----------
    stream : Stream
        The stream.
    """
    values = stream.spectrum.values
    return int((values > _SIGNIFICANT * values.max(initial=0.0)).sum())


def _eigenvectors(stream: Stream) -> Array:
    """Return the eigenvectors of the estimate as columns, all d of them, in ascending order of the eigenvalues."""
    if stream.spectrum.vectors.shape[1] == stream.dim and stream.factored is None:
        return stream.spectrum.vectors
    return np.linalg.eigh(stream.estimate)[1]


def deviations(stream: Stream, noise_cap: float | None, directions: Array) -> Array:
    """Return the posterior deviation of w'A w for some directions, shape (k,); infinite before the first readings.

    Parameters
    ----------
    stream : Stream
        The stream.
    noise_cap : float or None
        A bound on the noise, if one is known.
    directions : Array, shape (k, d)
        The directions w.
    """
    if stream.factored is not None:
        return np.array([stream.factored.deviation(w) for w in directions])
    unknown = np.full(len(directions), np.inf)
    if stream.soft is None:
        return unknown
    with np.errstate(all="ignore"):
        try:
            return soft_deviations(stream, stream.noise(noise_cap), directions)
        except LinAlgError:
            return unknown


def explain(state: State[LargeMemory], noise_cap: float | None) -> str:
    """Describe what the policy is doing and why, for one plant.

    Parameters
    ----------
    state : State
        The state.
    noise_cap : float or None
        A bound on the noise, if one is known.
    """
    memory, (stream,) = state.memory, state.memory.streams
    found = f" Outliers so far: {stream.rejected}." if stream.rejected else ""
    if memory.faults.is_stuck().item():
        times = int(memory.faults.stuck.item())
        return f"GLIDE ignores the meter, which has repeated its last reading {times} times.{found}"
    if not stream.spectrum.values.size and not stream.seen:
        return "GLIDE follows v until the first reading: at x = v a reading shows the noise alone."
    if len(stream.suspects):
        return (
            f"GLIDE is testing a reading: that of round {state.round} does not fit the earlier ones (the last "
            f"{len(stream.suspects)} did not). Others will show whether A has changed or the reading was wrong.{found}"
        )
    if int(memory.last_probe.item()) == state.round > 0:
        return "GLIDE is probing: the reading of this deviation will save more than the deviation costs."
    alarm = int(memory.last_alarm.item())
    since = f" since the change it suspected in round {alarm}" if stream.epoch else ""
    counts = f"readings{since}: {stream.seen}, unknowns: {unknowns(stream)}"
    if stream.factored is None and stream.seen < stream.unknowns:
        return (
            f"GLIDE is learning ({counts}): there are fewer readings than unknowns, and it plays for an estimate that "
            f"favors a low rank.{found}"
        )
    deviation = _gain_deviation(state, stream, noise_cap)
    status = "learning" if deviation > _CONFIDENT_DEVIATION else "confident"
    form = f"A has rank {rank(stream)} " if stream.factored is not None else "A has no low rank "
    return (
        f"GLIDE is {status} ({counts}): {form}as far as it knows, and the share of the distance to v that a step "
        f"should cover is known within {100.0 * deviation:.2g} %.{found}"
    )


def unknowns(stream: Stream) -> int:
    """Return the number of unknowns of the representation.

    Parameters
    ----------
    stream : Stream
        The stream.
    """
    return stream.unknowns if stream.factored is None else stream.factored.unknowns


def _gain_deviation(state: State[LargeMemory], stream: Stream, noise_cap: float | None) -> float:
    """Return the largest deviation of an eigenvalue of the gain that is not negligible."""
    values, n = stream.spectrum.values, max(1.0, state.rounds_to_go)
    spread = deviations(stream, noise_cap, stream.spectrum.vectors.T)
    lower, upper = advance(np.maximum(values - spread, 0.0), n), advance(values + spread, n)
    return float(0.5 * (upper - lower).max(initial=0.0))
