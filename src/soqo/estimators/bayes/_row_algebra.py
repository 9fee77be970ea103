"""What one row of features and a reading does to a mean, a square root of a covariance, an evidence and a factor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from soqo.estimators.bayes._mixture import triangular_factor
from soqo.typing import Array, IntArray

LOG_BASE_LOAD_RANGE = math.log(40.0)
"""The prior of a base load: the logarithm of its size is uniform on a range of this many natural units, both signs."""

_MANY_ENTRIES = 2000
"""A product of two vectors for each run has many entries if there are more than this."""

_ROWS_STEPS = np.array([1, 8, 16, 1 << 40])
"""The rows of a buffer are merged into the factor in such numbers; the last one stands for all."""


def potter(
    mean: Array, root: Array, spread: Array, innovation: Array, total: Array, weight: Array, noise: Array
) -> tuple[Array, Array]:
    """Return mean and root after a row with this weight, whose spread is the row, not weighted, times the root.

    The total is the :func:`weighted_variance` of the reading.
    """
    spread = weight[:, None] * spread
    gain = np.matvec(root, spread)
    shrink = gain / (total + noise * np.sqrt(total))[:, None]
    # The same products, which ``einsum`` computes faster if there are many.
    change = (
        np.einsum("ri,rj->rij", shrink, spread) if root.size > _MANY_ENTRIES else shrink[:, :, None] * spread[:, None]
    )
    return mean + gain * (weight * innovation / total)[:, None], np.subtract(root, change, out=change)


def weighted_variance(variance: Any, weight: Any, noise: Any) -> Any:
    """Return the variance of a weighted reading, from that of its mean without the weight and the noise."""
    return np.square(weight) * variance + np.square(noise)


def log_innovation_density(innovation: Any, total: Any, weight: Any) -> Any:
    """Return the log density of readings from their innovations and the :func:`weighted_variance`."""
    weight2 = np.square(weight)
    return -0.5 * (weight2 * np.square(innovation) / total + np.log((2.0 * math.pi) * total / weight2))


def log_weight(weight: Array) -> Array:
    """Return the logarithms of weights, and zero for a weight of zero."""
    return np.log(np.where(weight > 0.0, weight, 1.0))


def log_first_density(reading: Array, noise: Array | float) -> Array:
    """Return the log density of the reading that defined the level; zero for none.

    The logarithm of a base load is uniform. A base load below the noise is as good as none, so the density is bounded.
    """
    size = np.maximum(reading, noise)
    return np.where(np.isnan(size), 0.0, -LOG_BASE_LOAD_RANGE - np.log(np.where(np.isnan(size), 1.0, size)))


def merge_rows(factor: Array, buffer: Array, buffer_rows: IntArray) -> Array:
    """Return the triangular factor of the rows of both.

    Rows of zeros are added in steps, which depend on the run only, so that many runs are decomposed together.
    """
    steps = np.searchsorted(_ROWS_STEPS, np.minimum(buffer_rows, _ROWS_STEPS[-1]))
    found = np.unique(steps).tolist()
    if len(found) == 1:
        return triangular_factor(np.concatenate([factor, buffer[:, : _ROWS_STEPS[found[0]]]], axis=1))
    merged = np.empty(factor.shape)
    for step in found:
        runs = np.flatnonzero(steps == step)
        merged[runs] = triangular_factor(np.concatenate([factor[runs], buffer[runs, : _ROWS_STEPS[step]]], axis=1))
    return merged


def overwrite(values: Array, runs: IntArray, new: Array, *, shared: Array | None = None) -> Array:
    """Return the values with new ones in some of the runs: a copy, unless they are known not to be used elsewhere.

    Parameters
    ----------
    values, runs, new
        The values, the runs, and their new values.
    shared : Array, optional
        The only other array that may have the same memory as the values.
    """
    if runs.size == values.shape[0]:
        return new
    if shared is None or not values.flags.writeable or np.may_share_memory(values, shared):
        values = values.copy()
    values[runs] = new
    return values
