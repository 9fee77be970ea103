r"""The estimates of a stream while A is not known as a factor: soft, flat and sharp.

A sweep of the soft estimate uses all readings and takes the last estimate as the shape of its prior, so it need not be
repeated for every reading: the estimates are computed again when there are 1 % more readings.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import (
    SWEEPS,
    Annealing,
    Bases,
    Flat,
    Moments,
    Readings,
    bases,
    fit_flat,
    positive_part,
)
from soqo.policies.glide._large._comparison import forget, luck, weight
from soqo.policies.glide._large._row import load_column, place
from soqo.policies.glide._large._stream import MAX_SWEPT_ROWS, MAX_UNKNOWNS, Stream
from soqo.typing import Array

_PRIOR_SHARE, _PRIOR_MEAN = 0.6, 0.6
"""The soft estimate's prior: the share of the cautious shape, and the mean in units of the shape."""

_FLAT_NATS = 2.0
"""The lead of the flat estimate if A is near a multiple of the identity, and its handicap if not. If noise dominates,
the others follow the noise and have no part."""

_CONTRADICTION_NATS = 4.0
"""The lead of the flat estimate if noise dominates: its squared errors have to be twice those of the soft one."""

_LEAST_SPREAD, _LEAST_SPREAD_OF_FEW = 1e-3, 0.3
"""The least deviation of an entry of A in units of its scale, for the flat estimate: in general, and if v moves in few
directions only, where nothing would contradict a smaller one."""

_ROUNDS_PER_ANNEALING = 12.0
"""An annealing with n readings is spread over n divided by this many rounds, and at least five."""

LONG_SWEEP, _LONG_FIT = 400, 128
"""With more rows than the first number, a round does not sweep for two estimates, and does not begin to fit a factor.
With more than the second, a round that finds the noise and the scale anew does not anneal."""

_CERTAIN = 0.98
"""Weights beyond this are taken as one."""


def update(stream: Stream, noise: float, *, keep_sums: bool, few_directions: bool = False) -> Stream:
    """Return the stream with estimates that include the last reading, if they are due.

    Parameters
    ----------
    stream : Stream
        The stream, whose rows include the last reading.
    noise : float
        The deviation of the noise.
    keep_sums : bool
        Whether sums over all readings may take the place of rows.
    few_directions : bool
        Whether v moves in few directions only.
    """
    if stream.seen >= stream.swept + max(1, stream.swept // 100):
        stream = sweep(stream, noise, keep_sums=keep_sums, few_directions=few_directions)
    elif _refreshes_flat(stream):
        readings, noise2 = stream.readings(MAX_SWEPT_ROWS), noise * noise
        stream = evolve(stream, flat=_flat(stream, readings, noise2, few_directions))
    return _anneal(stream, noise, few_directions)


def sweep(stream: Stream, noise: float, *, keep_sums: bool, few_directions: bool = False) -> Stream:
    """Return the stream with the soft and the flat estimate computed again.

    Parameters
    ----------
    stream : Stream
        The stream.
    noise : float
        The deviation of the noise.
    keep_sums : bool
        Whether sums over all readings may take the place of rows.
    few_directions : bool
        Whether v moves in few directions only.
    """
    stream, data = _data(stream, keep_sums)
    readings = stream.readings(MAX_SWEPT_ROWS)
    if stream.moments is not None and stream.seen >= 2 * stream.unknowns:
        noise = stream.sigma  # what the residuals show, also where there is a bound on the noise
    noise2 = noise * noise
    shapes = _shapes(stream, readings, noise, few_directions)
    scale, S = shapes.cautious_scale, _prior_shape(stream, shapes)
    soft = positive_part(data.posterior_mean(S, _PRIOR_MEAN, noise2))
    flat = stream.flat
    if flat is None or stream.moments is not None or stream.seen <= LONG_SWEEP:
        flat = _flat(stream, data, noise2, few_directions)
    return evolve(stream, soft=soft, flat=flat, scale=scale, swept=stream.seen)


def _refreshes_flat(stream: Stream) -> bool:
    """Return whether this round computes the flat estimate, which a long sweep in the round before has left out."""
    return stream.moments is None and stream.seen == stream.swept + 1 > LONG_SWEEP + 1


def _flat(stream: Stream, data: Moments | Readings, noise2: float, few_directions: bool) -> Flat | None:
    least = _LEAST_SPREAD_OF_FEW if few_directions else _LEAST_SPREAD
    return None if stream.levels is None else fit_flat(data, noise2, stream.levels, least_spread=least)


def _shapes(stream: Stream, readings: Readings, noise: float, few_directions: bool) -> Bases:
    """Return the shapes of A for its priors.

    If v moves in few directions only, a short distance from v in the others does not mean that A is large there.
    """
    if not few_directions:
        return bases(readings.Z, readings.y, noise)
    if stream.soft is None:
        scale = float(readings.y.sum()) / max(0.5 * float(np.square(readings.Z).sum()), 1e-300)
    else:
        scale = float(np.trace(stream.soft)) / stream.dim
    even, scale = np.eye(stream.dim), max(scale, 1e-150)
    return Bases(even, even, scale, scale)


def _prior_shape(stream: Stream, shapes: Bases) -> Array:
    """Return the shape S of the soft estimate's prior."""
    S = _PRIOR_SHARE * shapes.cautious_scale * shapes.cautious
    return S if stream.soft is None else S + stream.soft


def soft_deviations(stream: Stream, noise: float, directions: Array) -> Array:
    """Return the posterior deviation of w'A w for some directions, before A is known as a factor.

    Parameters
    ----------
    stream : Stream
        The stream, with a soft estimate.
    noise : float
        The deviation of the noise.
    directions : Array, shape (k, d)
        The directions w.
    """
    readings = stream.readings(MAX_SWEPT_ROWS)
    S = _prior_shape(stream, bases(readings.Z, readings.y, noise))
    data = readings if stream.moments is None else stream.moments
    return data.deviations(S, noise * noise, directions)


def _data(stream: Stream, keep_sums: bool) -> tuple[Stream, Moments | Readings]:
    """Return the readings in the cheaper form, and the stream with the sums up to date."""
    if not keep_sums or stream.seen <= stream.unknowns or stream.unknowns > MAX_UNKNOWNS:
        return stream, stream.readings(MAX_SWEPT_ROWS)
    if stream.moments is None:
        rows = stream.rows.latest()
        moments = evolve(Moments.of(place(rows), rows[:, -1], load_column(rows)), count=stream.seen)
    else:
        rows = stream.rows.latest(stream.seen - stream.moments.count)
        moments = stream.moments.add(place(rows), rows[:, -1], load_column(rows))
    # The sums are those of the readings as they came, since the base load may be known better later.
    return evolve(stream, moments=moments, annealing=None, sharp=None), moments.without(np.array([stream.load]))


def _anneal(stream: Stream, noise: float, few_directions: bool) -> Stream:
    """Return the stream after some sweeps of an annealing, which begins when there may be enough readings."""
    if stream.moments is not None or stream.soft is None:
        return stream
    n, annealing = stream.seen, stream.annealing
    if _is_busy(stream):
        return stream
    if annealing is None:
        trace = float(np.trace(stream.soft))
        rank = trace * trace / max(float(np.square(stream.soft).sum()), 1e-300)
        if n < max(0.5 * len(stream.soft) * rank, stream.next_annealing):
            return stream
        readings = stream.readings(MAX_SWEPT_ROWS)
        annealing = Annealing.start(_shapes(stream, readings, noise, few_directions))
    sweeps = math.ceil(SWEEPS / max(5.0, n / _ROUNDS_PER_ANNEALING))
    if _refreshes_flat(stream):
        sweeps = max(sweeps - 1, 1)
    annealing = annealing.advance(stream.readings(MAX_SWEPT_ROWS), noise * noise, sweeps)
    if not annealing.is_finished:
        return evolve(stream, annealing=annealing)
    return evolve(
        stream,
        annealing=None,
        sharp=annealing.estimate,
        next_annealing=n + max(4, n // 20),
        errors=forget(stream.errors, "sharp"),
    )


def _is_busy(stream: Stream) -> bool:
    """Return whether this round has had other work than annealing, which can wait for a round."""
    n = stream.seen
    return stream.swept == n > LONG_SWEEP or stream.levels_fitted == n > _LONG_FIT


def sharp_weight(stream: Stream) -> float:
    """Return the weight of the sharp estimate against the soft one.

    Parameters
    ----------
    stream : Stream
        The stream.
    """
    if stream.sharp is None:
        return 0.0
    return _round(_weight(stream, "sharp", "soft", 12, handicap=3.0))


def combine(stream: Stream) -> Array:
    """Return the mixture of the estimates by their weights.

    Parameters
    ----------
    stream : Stream
        The stream.
    """
    soft, flat, sharp = stream.soft, stream.flat, stream.sharp
    if soft is None:
        return stream.estimate
    estimate = soft
    if flat is not None:
        is_flat = stream.levels is not None and stream.levels.is_flat
        if stream.levels is not None and is_flat and stream.levels.noise_dominates and not _contradicts(stream):
            return positive_part(flat.matrix)
        handicap = -_FLAT_NATS if is_flat else _FLAT_NATS
        share = _round(_weight(stream, "flat", "soft", 20, handicap=handicap))
        if share:
            estimate = share * positive_part(flat.matrix) + (1.0 - share) * soft
    share = sharp_weight(stream)
    if sharp is not None and share and flat is not None:
        # A soft estimate that is worse than the flat one is easily surpassed.
        share = min(share, _round(_weight(stream, "sharp", "flat", 12, handicap=3.0)))
    if sharp is not None and share:
        estimate = share * sharp + (1.0 - share) * estimate
    return estimate


def _contradicts(stream: Stream) -> bool:
    """Return whether predictions contradict that A is near a multiple of the identity and all else is noise."""
    return _weight(stream, "flat", "soft", 20, handicap=-_CONTRADICTION_NATS) < 1.0 - _CERTAIN


def _weight(stream: Stream, name: str, other: str, latest: int, *, handicap: float) -> float:
    """Return the weight of one estimate against another; if A has no low rank, errors are in units of what is usual."""
    is_flat = stream.levels is not None and stream.levels.is_flat
    noise = luck(stream.errors, stream.sigma) if is_flat else None
    return weight(stream.errors, name, other, latest, handicap=handicap, noise=noise)


def _round(share: float) -> float:
    """Return a weight without negligible parts, which would cost an eigendecomposition each round."""
    if share > _CERTAIN:
        return 1.0
    return 0.0 if share < 1.0 - _CERTAIN else share
