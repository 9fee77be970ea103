"""What a reading does to a stream."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.spectrum import Spectrum
from soqo.estimators.lowrank import predict
from soqo.policies.glide._large._comparison import push
from soqo.policies.glide._large._estimates import combine, update
from soqo.policies.glide._large._factor_phase import follow
from soqo.policies.glide._large._levels import with_levels, with_zero_reading
from soqo.policies.glide._large._row import bound_weight, place
from soqo.policies.glide._large._stream import MAX_ROWS, Stream
from soqo.policies.glide._large._suspicion import (
    clear,
    has_changed,
    is_gross,
    is_negative,
    is_suspect,
    is_unknown,
    is_within_noise,
    remember_previous,
    set_aside,
    surprise,
    usual_error,
)
from soqo.policies.glide._large._trials import try_factor
from soqo.typing import Array

_FIRST_SCALE = 7.0
"""Before there is an estimate, A is taken as this times the switching weight: to move too far costs little."""


class Options(NamedTuple):
    """What a policy is told about the readings.

    Attributes
    ----------
    noise_cap : float or None
        A bound on the noise.
    alarms : bool
        Whether to look for outliers and changes.
    window : float or None
        The number of readings after which they are forgotten.
    base_load : bool
        Whether the readings may contain a base load.
    trusted_distance : float or None
        The distance from v at which the hitting cost deviates from a quadratic function by as much as the noise.
    flat : bool
        Whether A may be near a multiple of the identity, so that the noise and the scale follow from the marginal
        likelihood of such an A.
    few_directions : bool
        Whether v moves in few directions only, so that a short distance from v does not mean that A is large.
    """

    noise_cap: float | None
    alarms: bool
    window: float | None
    base_load: bool
    trusted_distance: float | None = None
    flat: bool = True
    few_directions: bool = False


def learn(stream: Stream, row: Array, options: Options, round_number: int) -> Stream:
    """Return the stream after a reading.

    Parameters
    ----------
    stream : Stream
        The stream.
    row : Array, shape (d + 2,)
        The reading.
    options : Options
        What the policy is told.
    round_number : int
        The round of the reading.
    """
    with np.errstate(all="ignore"):
        if not place(row).any():
            stream = with_zero_reading(stream, float(row[-1]))
            return stream if stream.seen else _first_estimate(stream)
        noise = stream.noise(options.noise_cap)
        row = bound_weight(row, noise, options.trusted_distance)
        try:
            after = _learn(stream, row, noise, options, round_number)
            if after.estimate is not stream.estimate:
                after = _with_spectrum(after)
        except LinAlgError:
            after = None
        if after is not None and np.isfinite(after.spectrum.values).all():
            return after
        return _without_update(stream, row, options)


def collect(stream: Stream, row: Array, options: Options) -> Stream:
    """Return the stream with a reading of which nothing is computed yet.

    Parameters
    ----------
    stream : Stream
        The stream.
    row : Array, shape (d + 2,)
        The reading.
    options : Options
        What the policy is told.
    """
    row = bound_weight(row, stream.noise(options.noise_cap), options.trusted_distance)
    return evolve(stream, rows=stream.rows.append(row, limit=_limit(options)), seen=stream.seen + 1)


def _learn(stream: Stream, row: Array, noise: float, options: Options, round_number: int) -> Stream:
    z, y = place(row), float(stream.hitting_cost(row))
    known = stream.soft is not None or stream.factored is not None
    if known:
        surprised = surprise(stream, z, y, noise)
        suspect = is_suspect(stream, surprised) and not is_unknown(stream, z, y, noise)
        suspect = options.alarms and (suspect or is_negative(stream, y, noise))
        suspect = suspect and not is_within_noise(stream, z, y, noise)
        if suspect and stream.factored is not None and not stream.is_established:
            suspect = is_gross(stream, z, y)
        if stream.factored is not None and stream.factored.is_fitting:
            surprised = math.nan  # what is expected follows from the result of the fit
        stream = evolve(stream, surprises=np.append(stream.surprises[1:], np.minimum(surprised, 1e100)))
        if suspect:
            return set_aside(stream, row, round_number)
        stream = clear(stream)
    errors = _errors(stream, z, y)
    stream = evolve(
        stream,
        errors=push(stream.errors, errors, unit=usual_error(stream, z, noise)),
        rows=stream.rows.append(row, limit=_limit(options)),
        seen=stream.seen + 1,
    )
    if stream.factored is None:
        error = errors["played"] if known else math.nan
        stream = with_levels(stream, y, error, base_load=options.base_load, flat=options.flat)
        noise = stream.noise(options.noise_cap)
    if stream.factored is not None:
        stream = follow(stream)
    else:
        keep_sums, few_directions = options.window is None, options.few_directions
        stream = update(stream, noise, keep_sums=keep_sums, few_directions=few_directions)
        stream = try_factor(stream, noise)
        if stream.factored is None:
            stream = evolve(stream, estimate=combine(stream))
    if options.alarms:
        if has_changed(stream, noise):
            rows = stream.rows.latest(10)
            stream = stream.restart(rows, round_number - len(rows) + 1)
        stream = remember_previous(stream, row, noise)
    return stream


def _limit(options: Options) -> int:
    return MAX_ROWS if options.window is None else min(int(options.window), MAX_ROWS)


def _errors(stream: Stream, z: Array, y: float) -> dict[str, float]:
    """Return the prediction errors of all estimates."""
    if stream.factored is not None:
        return {}
    found = {"played": predict(stream.estimate, z) - y}
    if stream.soft is not None:
        found["soft"] = predict(stream.soft, z) - y
    if stream.flat is not None:
        found["flat"] = predict(stream.flat.matrix, z) - y
    if stream.sharp is not None:
        found["sharp"] = predict(stream.sharp, z) - y
    if stream.trial is not None and not stream.trial.is_fitting:
        found["trial"] = stream.trial.predict(z)[0] - y
    return found


def _first_estimate(stream: Stream) -> Stream:
    """Return the stream with the estimate before the first reading that depends on A."""
    return _with_spectrum(evolve(stream, estimate=_FIRST_SCALE * np.eye(stream.dim)))


def _with_spectrum(stream: Stream) -> Stream:
    """Return the stream with the spectrum and the shift of its estimate."""
    if stream.factored is not None:
        vectors, roots, _ = np.linalg.svd(stream.factored.L, full_matrices=False)
        return evolve(stream, spectrum=Spectrum(np.square(roots), vectors))
    values, vectors = np.linalg.eigh(stream.estimate)
    return evolve(stream, spectrum=Spectrum(np.maximum(values, 0.0), vectors))


def _without_update(stream: Stream, row: Array, options: Options) -> Stream:
    """Return the stream with a reading that the arithmetic cannot use."""
    seen = stream.seen + 1
    kept = evolve(stream, rows=stream.rows.append(row, limit=_limit(options)), seen=seen, annealing=None, trial=None)
    return kept if kept.spectrum.values.size else _first_estimate(kept)
