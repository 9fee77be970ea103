"""The percentile bootstrap over runs, with a fixed seed, so that the same numbers always have the same interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from soqo._foundation.arguments import integer
from soqo.typing import Array

_MAX_NUMBERS = 10_000_000
"""The most resampled numbers that are in memory at a time."""


def bootstrap_statistic(
    samples: Array, *, statistic: Literal["median", "mean"] = "median", resamples: int = 2000
) -> Array:
    """Return a statistic of resampled runs, the same runs for every row of the samples.

    Parameters
    ----------
    samples : Array, shape (..., runs)
        At least one run.
    statistic : {"median", "mean"}
        The statistic over the runs.
    resamples : int
        The number of resamples.

    Returns
    -------
    Array, shape (resamples, ...)

    Examples
    --------
    >>> bootstrap_statistic(np.array([[1.0, 2.0], [10.0, 20.0]]), resamples=3)
    array([[ 2. , 20. ],
           [ 1.5, 15. ],
           [ 1. , 10. ]])
    """
    count = integer("resamples", resamples, least=1)
    rng = np.random.default_rng(0)
    reduce = np.median if statistic == "median" else np.mean
    runs = samples.shape[-1]
    block = max(1, _MAX_NUMBERS // samples.size)
    picks = (rng.integers(runs, size=(min(block, count - done), runs)) for done in range(0, count, block))
    return np.concatenate([np.moveaxis(reduce(samples[..., pick], axis=-1), -1, 0) for pick in picks])


def percentile_interval(
    values: Array,
    tails: tuple[float, float] = (0.025, 0.975),
    *,
    method: Literal["linear", "inverted_cdf"] = "linear",
) -> tuple[float, float]:
    """Return two quantiles of resampled statistics as an interval, or NaN if there are no values.

    Parameters
    ----------
    values : Array, shape (resamples,)
        The statistic of each resample.
    tails : tuple of float
        The probabilities of the lower and the upper end.
    method : {"linear", "inverted_cdf"}
        How to choose a quantile between two values, as in :func:`numpy.quantile`.

    Examples
    --------
    >>> percentile_interval(np.arange(101.0), (0.05, 0.95))
    (5.0, 95.0)
    """
    if not values.size:
        return (float("nan"), float("nan"))
    low, high = np.quantile(values, tails, method=method)
    return (float(low), float(high))


def quantiles_over_runs(samples: Array, levels: Sequence[float], *, axis: int = -1) -> Array:
    """Return quantiles over the runs, with the median as :func:`numpy.median` has it; a sample may be infinite.

    Parameters
    ----------
    samples : Array
        The samples.
    levels : sequence of float
        The levels of the quantiles, which are the first axis of the result.
    axis : int
        The axis of the runs.

    Examples
    --------
    >>> quantiles_over_runs(np.array([1.0, 2.0, 4.0, np.inf]), [0.25, 0.5, 0.75])
    array([1.75, 3.  , 4.  ])
    """
    with np.errstate(invalid="ignore", over="ignore"):
        between = np.quantile(samples, levels, axis=axis)
    # There is nothing between a number and an infinite one: the sample below is the quantile.
    return np.where(np.isfinite(between), between, np.quantile(samples, levels, axis=axis, method="inverted_cdf"))
