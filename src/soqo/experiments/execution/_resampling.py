"""Bootstrap resamples of the runs: the same for curves, tables and verdicts, so that a number has one interval."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from soqo.typing import Array, IntArray

RESAMPLES = 2000
"""The number of resamples, with the seed of :func:`soqo._foundation.bootstrap_intervals.bootstrap_statistic`."""

_TAILS = (0.025, 0.975)

_MAX_NUMBERS = 10_000_000
"""The most numbers that are in memory at a time."""


@cache
def resampled_runs(runs: int) -> IntArray:
    """Return the runs of each resample, shape (RESAMPLES, runs).

    Parameters
    ----------
    runs : int
        The number of runs.

    Examples
    --------
    >>> resampled_runs(20).shape
    (2000, 20)
    """
    return np.random.default_rng(0).integers(runs, size=(RESAMPLES, runs))


@cache
def _multiplicities(runs: int) -> Array:
    """Return how often each run is in each resample, shape (runs, RESAMPLES)."""
    counts = np.zeros((RESAMPLES, runs), _smallest_type(runs))
    np.add.at(counts, (np.arange(RESAMPLES)[:, None], resampled_runs(runs)), 1)
    return np.ascontiguousarray(counts.T)


def _smallest_type(runs: int) -> type[np.signedinteger[Any]]:
    return np.int8 if runs < 128 else np.int16


def resampled_means(samples: Array) -> Array:
    """Return the mean of each resample.

    Parameters
    ----------
    samples : Array, shape (runs, points)
        The numbers of each run.

    Returns
    -------
    Array, shape (points, RESAMPLES)
    """
    runs = len(samples)
    return np.asarray(samples.T @ (_multiplicities(runs) / runs))


def resampled_medians(samples: Array) -> Array:
    """Return the median of each resample, from the ranks of the runs and how often each is drawn.

    Parameters
    ----------
    samples : Array, shape (runs, points)
        The numbers of each run.

    Returns
    -------
    Array, shape (points, RESAMPLES)
    """
    runs, points = samples.shape
    block = max(1, _MAX_NUMBERS // (runs * RESAMPLES))
    parts = [_medians_of_block(samples[:, first : first + block]) for first in range(0, points, block)]
    return np.concatenate(parts)


def _medians_of_block(samples: Array) -> Array:
    runs, points = samples.shape
    order = np.argsort(samples, axis=0)
    ordered = np.take_along_axis(samples, order, axis=0)
    # The number of drawn runs up to each rank; the median is at the ranks where it reaches half of them.
    below = np.cumsum(_multiplicities(runs)[order.T], axis=1, dtype=_smallest_type(runs))
    ranks = [(below < wanted).sum(axis=1) for wanted in ((runs + 1) // 2, runs // 2 + 1)]
    column = np.arange(points)[:, None]
    first, second = (ordered[rank, column] for rank in ranks)
    # Halves are added, since the sum of two large numbers may overflow.
    return np.asarray(0.5 * first + 0.5 * second)


def interval(values: Array) -> tuple[Array, Array]:
    """Return the ends of the 95 % interval over the last axis; between infinite values there is nothing to interpolate.

    Parameters
    ----------
    values : Array, shape (..., resamples)
        The statistic of each resample.

    Examples
    --------
    >>> [float(end) for end in interval(np.arange(1001.0))]
    [25.0, 975.0]
    """
    last = values.shape[-1] - 1
    places = [tail * last for tail in _TAILS]
    kept = sorted({int(f(place)) for place in places for f in (np.floor, np.ceil)})
    ordered = np.partition(values, kept, axis=-1)
    ends = []
    for place in places:
        below, above = (ordered[..., int(f(place))] for f in (np.floor, np.ceil))
        with np.errstate(invalid="ignore"):
            ends.append(np.where(np.isfinite(above), below + (place % 1.0) * (above - below), below))
    return ends[0], ends[1]
