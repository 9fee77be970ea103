r"""The size of the noise and the base load of a stream.

The marginal likelihood of the latest readings gives both, with the scale of A (:mod:`soqo.estimators.lowrank`). If A is
not near a multiple of the identity, the errors of predictions may show more noise: the estimates that are played know
the shape of A. With more readings than unknowns, both follow from least squares together with A.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import FLAT_LEAD, LevelFit, Moments, bases, fit_levels
from soqo.policies.glide._large._comparison import luck, weight
from soqo.policies.glide._large._noise import noise_size
from soqo.policies.glide._large._row import place
from soqo.policies.glide._large._stream import Stream
from soqo.typing import Array

_LATEST = 256
"""The number of latest readings that decide, so that a base load may vary slowly."""

_GROWTH, _MAX_PAUSE = 10, 32
"""The fit is repeated when there are more readings by a share of one to the first number, but at most by the second."""

_ENOUGH = 1.25
"""With this many times as many readings as unknowns, least squares shows whether there is a base load."""

_SHAPE_SHARE, _REPETITIONS = 0.3, 3
"""The share of the identity in the shape of the prior of A in this fit, and how often the noise is found anew."""

_SMALL_LOAD, _LARGE_LOAD = 3.0, 10.0
"""A base load of fewer deviations than the first number is taken as zero. One of more than the second is beyond doubt
and may vary: if A is near a multiple of the identity, the latest readings decide about it."""

_MODEL_ERROR = 0.25
"""The error of the quadratic model that each reading may have, in deviations of the noise. With n readings it explains
evidence of 1/2 error^2 n nats against an A near a multiple of the identity."""

_PREDICTION_NATS, _COMPARED = 2.0, 20
"""The lead of the soft estimate in its latest predictions, with which evidence that such an error could explain counts,
and their number."""

_LEAST_NATS = -3.0
"""A base load with less evidence is taken as zero."""


def with_levels(stream: Stream, y: float, error: float, *, base_load: bool, flat: bool = True) -> Stream:
    """Return the stream with the noise and the base load after one more reading.

    Parameters
    ----------
    stream : Stream
        The stream, whose rows include the reading.
    y : float
        The reading without the base load as known before.
    error : float
        The error of its prediction; NaN for none.
    base_load : bool
        Whether there may be a base load.
    flat : bool
        Whether A may be near a multiple of the identity; if not, the errors of predictions show the noise, and there
        is no base load.
    """
    predictions = np.concatenate([stream.predictions[1:], [[y + error, error]]])
    stream = evolve(stream, predictions=predictions)
    if not flat:
        return evolve(stream, sigma=noise_size(_pure_noise(stream), predictions, stream.readings(100).y))
    pause = min(max(1, stream.levels_fitted // _GROWTH), _MAX_PAUSE)
    if stream.seen < stream.levels_fitted + pause:
        return stream
    if stream.seen >= _ENOUGH * stream.unknowns and stream.moments is not None and stream.soft is not None:
        load, deviations, noise2 = 0.0, 0.0, stream.sigma**2
        if base_load:
            load, deviations, noise2 = _load_of_sums(stream, stream.moments, stream.soft)
        is_flat = stream.levels is not None and stream.levels.is_flat
        if not is_flat or deviations < _LARGE_LOAD:
            load = load if deviations > _SMALL_LOAD else 0.0
            return _with_load(stream, stream.moments, stream.soft, load, noise2)
    rows = stream.rows.latest(_LATEST)
    levels = _fit(stream, rows, base_load)
    load = levels.load if levels.load_nats > _LEAST_NATS else 0.0
    stream = evolve(stream, load=load, levels=levels, levels_fitted=stream.seen)
    if levels.is_flat:
        return evolve(stream, sigma=levels.noise)
    # Each underestimates the noise at times: predictions fail, or A takes the part of noise.
    shown = noise_size(_pure_noise(stream), predictions, stream.readings(100).y)
    return evolve(stream, sigma=max(shown, levels.noise))


def _load_of_sums(stream: Stream, moments: Moments, soft: Array) -> tuple[float, float, float]:
    """Return the base load by least squares together with A, its absolute value in deviations, and the noise squared.

    With more readings than unknowns there is no need for a simple A, which would leave a part of the readings to a base
    load.
    """
    shape = _shape_of_sums(stream, soft)
    # The noise that is known may contain a base load that is not, so the residuals show it anew.
    load, deviation, noise2 = 0.0, math.inf, stream.sigma**2
    for _ in range(_REPETITIONS):
        load, deviation, square = moments.first_part(shape, 1.0, noise2)
        noise2 = square / _degrees_of_freedom(stream, moments)
    return load, abs(load) / max(deviation, 1e-300), noise2


def _shape_of_sums(stream: Stream, soft: Array) -> Array:
    """Return the shape of the prior of A in a fit to sums."""
    return soft + _SHAPE_SHARE * float(np.trace(soft)) / stream.dim * np.eye(stream.dim)


def _degrees_of_freedom(stream: Stream, moments: Moments) -> float:
    return max(moments.count - stream.unknowns, 0.2 * moments.count)


def _with_load(stream: Stream, moments: Moments, soft: Array, load: float, noise2: float) -> Stream:
    """Return the stream with a base load, and with the noise that the residuals of all readings show.

    They are those of the posterior mean, which need not be in the cone. The soft estimate is in the cone, and to get
    there it has changed what the readings far from v say exactly, by more than the noise.
    """
    left = moments.without(np.array([load]))
    mean = left.posterior_mean(_shape_of_sums(stream, soft), 1.0, noise2)
    sigma = math.sqrt(left.residual_square(mean) / _degrees_of_freedom(stream, moments))
    # Otherwise the scale and the deviation of A are those of another model.
    levels = stream.levels if stream.levels is not None and stream.levels.is_flat else None
    return evolve(stream, load=load, sigma=sigma, levels=levels, levels_fitted=stream.seen)


def _fit(stream: Stream, rows: Array, base_load: bool) -> LevelFit:
    """Return the fit with the more evidence: that for an A near a multiple of the identity, or another shape.

    Where A is small, the player strays far from v. The cautious shape of A follows from that, so that readings which
    scatter because of A are not taken for noise.
    """
    Z, y, lead = place(rows), rows[:, -1], flat_lead(stream, len(rows))
    plain = fit_levels(Z, rows[:, -2], y, stream.zeros, base_load=base_load, lead=lead)
    shape = bases(Z, y, stream.sigma).cautious
    shaped = fit_levels(Z @ np.linalg.cholesky(shape), rows[:, -2], y, stream.zeros, base_load=base_load, lead=lead)
    needed = lead if plain.noise_dominates else 0.0
    if plain.is_flat and (shaped.is_flat or plain.nats + needed > shaped.nats):
        return plain
    return evolve(shaped, is_flat=False, scale=plain.scale, deviation=plain.deviation)


def flat_lead(stream: Stream, readings: int) -> float:
    """Return the lead in the logarithm of the evidence that an A near a multiple of the identity has under much noise.

    A cost that is not quite quadratic is evidence against it, and the more readings there are, the more. That is no
    reason to leave such an A unless the soft estimate predicts better, which otherwise follows the noise.

    Parameters
    ----------
    stream : Stream
        The stream.
    readings : int
        The number of readings of the fit.
    """
    was_flat = stream.levels is not None and stream.levels.is_flat
    if not was_flat:
        return FLAT_LEAD
    noise = luck(stream.errors, stream.sigma)
    if weight(stream.errors, "soft", "flat", _COMPARED, handicap=_PREDICTION_NATS, noise=noise) > 0.5:
        return FLAT_LEAD
    return max(FLAT_LEAD, 0.5 * _MODEL_ERROR**2 * readings)


def with_zero_reading(stream: Stream, y: float) -> Stream:
    """Return the stream after a reading at u = 0, which is nothing but noise and base load.

    Parameters
    ----------
    stream : Stream
        The stream.
    y : float
        The reading.
    """
    zeros = stream.zeros + np.array([1.0, y, min(y * y, 1e300)])
    stream = evolve(stream, zeros=zeros)
    return evolve(stream, sigma=noise_size(_pure_noise(stream), stream.predictions, np.zeros(0)))


def _pure_noise(stream: Stream) -> Array:
    """Return the number of readings at u = 0, and the sum of their squares without the base load."""
    count, total, square = stream.zeros
    return np.array([count, max(square - 2.0 * stream.load * total + count * stream.load**2, 0.0)])
