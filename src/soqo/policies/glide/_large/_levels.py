r"""The size of the noise and the base load of a stream.

The marginal likelihood of the latest readings gives both, with the scale of A (:mod:`soqo.estimators.lowrank`). If A is
not near a multiple of the identity, the errors of predictions say more about the noise: the estimates that are played
know the shape of A.
"""

from __future__ import annotations

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import LevelFit, bases, fit_levels
from soqo.policies.glide._large._noise import noise_size
from soqo.policies.glide._large._row import place
from soqo.policies.glide._large._stream import Stream
from soqo.typing import Array

_LATEST = 256
"""The number of latest readings that decide, so that a base load may vary slowly."""

_EVERY_ROUND, _GROWTH, _MAX_PAUSE = 30, 20, 16
"""Up to so many readings the fit is repeated with each, then when there are more by a share of one to the second
number, but at most by the third one."""

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
    if stream.seen >= _EVERY_ROUND and stream.seen < stream.levels_fitted + pause:
        return stream
    rows = stream.rows.latest(_LATEST)
    levels = _fit(stream, rows, base_load)
    load = levels.load if levels.load_nats > _LEAST_NATS else 0.0
    stream = evolve(stream, load=load, levels=levels, levels_fitted=stream.seen)
    if levels.is_flat:
        return evolve(stream, sigma=levels.noise)
    return evolve(stream, sigma=noise_size(_pure_noise(stream), predictions, stream.readings(100).y))


def _fit(stream: Stream, rows: Array, base_load: bool) -> LevelFit:
    """Return the fit with the more evidence: that for an A near a multiple of the identity, or another shape.

    Where A is small, the player strays far from v. The cautious shape of A follows from that, so that readings which
    scatter because of A are not taken for noise.
    """
    Z, y = place(rows), rows[:, -1]
    plain = fit_levels(Z, rows[:, -2], y, stream.zeros, base_load=base_load)
    shape = bases(Z, y, stream.sigma).cautious
    shaped = fit_levels(Z @ np.linalg.cholesky(shape), rows[:, -2], y, stream.zeros, base_load=base_load)
    if plain.is_flat and (shaped.is_flat or plain.nats + plain.flat_lead > shaped.nats):
        return plain
    return evolve(shaped, is_flat=False)


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
