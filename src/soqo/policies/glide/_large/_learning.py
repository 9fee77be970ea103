"""What a reading does to a stream."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.spectrum import Spectrum
from soqo.estimators.lowrank import bases, predict
from soqo.policies.glide._large._base_load import LATEST, fit_base_load
from soqo.policies.glide._large._comparison import push
from soqo.policies.glide._large._estimates import combine, update
from soqo.policies.glide._large._factor_phase import follow
from soqo.policies.glide._large._noise import noise_size
from soqo.policies.glide._large._stream import MAX_ROWS, Stream
from soqo.policies.glide._large._suspicion import (
    clear,
    has_changed,
    is_gross,
    is_negative,
    is_suspect,
    remember_previous,
    set_aside,
    surprise,
)
from soqo.policies.glide._large._trials import try_factor
from soqo.typing import Array

_FIRST_SCALE = 7.0
"""Before there is an estimate, A is taken as this times the switching weight: to move too far costs little."""

_SHOWN = 0.5
"""A base load differs by at most this share from the mean of the readings at u = 0."""

_RELATIVE_ERROR = 1e-6
"""The relative error of a reading, which bounds the weight of readings at a large u."""


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
    """

    noise_cap: float | None
    alarms: bool
    window: float | None
    base_load: bool


def learn(stream: Stream, row: Array, options: Options, round_number: int) -> Stream:
    """Return the stream after a reading.

    Parameters
    ----------
    stream : Stream
        The stream.
    row : Array, shape (d + 1,)
        The reading.
    options : Options
        What the policy is told.
    round_number : int
        The round of the reading.
    """
    with np.errstate(all="ignore"):
        if not row[:-1].any():
            stream = _learn_noise(stream, float(row[-1]))
            return stream if stream.seen else _first_estimate(stream)
        noise = stream.noise(options.noise_cap)
        row = _bound_weight(row, noise)
        try:
            after = _learn(stream, row, noise, options, round_number)
            if after.estimate is not stream.estimate:
                after = _with_spectrum(after)
        except LinAlgError:
            after = None
        if after is not None and np.isfinite(after.spectrum.values).all():
            return after
        return _without_update(stream, row, options)


def _learn(stream: Stream, row: Array, noise: float, options: Options, round_number: int) -> Stream:
    z, y = row[:-1], float(row[-1]) - stream.load
    known = stream.soft is not None or stream.factored is not None
    if known:
        surprised = surprise(stream, z, y, noise)
        suspect = options.alarms and (is_suspect(stream, surprised) or is_negative(stream, y, noise))
        if suspect and stream.factored is not None and not stream.is_established:
            suspect = is_gross(stream, z, y)
        stream = evolve(stream, surprises=np.append(stream.surprises[1:], min(surprised, 1e100)))
        if suspect:
            return set_aside(stream, row, round_number)
        stream = clear(stream)
    errors = _errors(stream, z, y)
    stream = evolve(
        stream,
        errors=push(stream.errors, errors),
        rows=stream.rows.append(row, limit=_limit(options)),
        seen=stream.seen + 1,
    )
    if stream.factored is None:
        stream, noise = _with_noise(stream, y, errors["played"] if known else math.nan, options)
    if stream.factored is not None:
        stream = follow(stream)
    else:
        stream = try_factor(update(stream, noise, keep_sums=options.window is None), noise)
        if stream.factored is None:
            stream = evolve(stream, estimate=combine(stream))
    if options.alarms:
        if has_changed(stream):
            rows = stream.rows.latest(10)
            stream = stream.restart(rows, round_number - len(rows) + 1)
        stream = remember_previous(stream, row, noise)
    return stream


def _with_noise(stream: Stream, y: float, error: float, options: Options) -> tuple[Stream, float]:
    """Return the stream with the size of the noise after one more prediction, and that size."""
    predictions = np.concatenate([stream.predictions[1:], [[y + error, error]]])
    sigma = stream.sigma
    # With more readings than unknowns, the residuals of a fit say more; the estimates then use them.
    if stream.seen < 30 or stream.seen % 10 == 0:
        if options.base_load:
            stream = _with_base_load(stream)
        sigma = noise_size(_pure_noise(stream), predictions, stream.readings(100).y)
    stream = evolve(stream, predictions=predictions, sigma=sigma)
    return stream, stream.noise(options.noise_cap)


def _with_base_load(stream: Stream) -> Stream:
    """Return the stream with the base load that its latest readings show.

    A rough shape of A makes a base load appear that is not there. A reading at u = 0 contains the true one.
    """
    count, total, _ = stream.zeros
    if not count:
        return stream
    rows = stream.rows.latest(LATEST)
    Z = rows[:, :-1]
    shapes = bases(Z, rows[:, -1] - stream.load, stream.sigma)
    q = 0.5 * np.vecdot(Z @ shapes.cautious, Z)
    load = fit_base_load(q, rows[:, -1], stream.sigma, shapes.cautious_scale)
    shown = total / count
    return evolve(stream, load=load if abs(load - shown) < _SHOWN * abs(shown) else 0.0)


def _limit(options: Options) -> int:
    return MAX_ROWS if options.window is None else min(int(options.window), MAX_ROWS)


def _bound_weight(row: Array, noise: float) -> Array:
    """Return a row scaled down such that its noise is that of the others, given an error relative to the reading."""
    if not noise > 0.0:
        return row
    excess = _RELATIVE_ERROR * abs(float(row[-1])) / noise
    if excess < 1e-3:
        return row
    share = 1.0 / np.hypot(1.0, excess)
    scaled = row * np.sqrt(share)
    scaled[-1] = row[-1] * share
    return np.asarray(scaled)


def _errors(stream: Stream, z: Array, y: float) -> dict[str, float]:
    """Return the prediction errors of all estimates."""
    if stream.factored is not None:
        return {}
    found = {"played": predict(stream.estimate, z) - y}
    if stream.soft is not None:
        found["soft"] = predict(stream.soft, z) - y
    if stream.flat is not None and stream.flat.applies:
        found["flat"] = predict(stream.flat.matrix, z) - y
    if stream.sharp is not None:
        found["sharp"] = predict(stream.sharp, z) - y
    if stream.trial is not None and not stream.trial.is_fitting:
        found["trial"] = stream.trial.predict(z)[0] - y
    return found


def _learn_noise(stream: Stream, y: float) -> Stream:
    """Return the stream after a reading at u = 0, which is nothing but noise."""
    zeros = stream.zeros + np.array([1.0, y, min(y * y, 1e300)])
    stream = evolve(stream, zeros=zeros)
    return evolve(stream, sigma=noise_size(_pure_noise(stream), stream.predictions, np.zeros(0)))


def _pure_noise(stream: Stream) -> Array:
    """Return the number of readings at u = 0, and the sum of their squares without the base load."""
    count, total, square = stream.zeros
    return np.array([count, max(square - 2.0 * stream.load * total + count * stream.load**2, 0.0)])


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
