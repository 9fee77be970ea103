r"""An offset of the told minimizer that walks: a Kalman filter of base load and linear terms together.

If the minimizer is v - b_t, a reading contains g_t'u with g_t = A b_t. With the state z_t = (base load, g_t), which
takes independent steps, and h = (1, u), a reading is h'z_t plus what A explains. The gain of the Kalman filter depends
on u and on the variances only, and not on the readings. The same filter is therefore applied to every column of the
rows (features and reading): with the state's mean S for each column, its covariance P in units of sigma^2 and
F = h'P h + R,

    row~ = (row - h'S) / sqrt(F),    K = P h / F,    S += K (row - h'S),    P <- P - F K K' + steps,

and least squares on the whitened rows is generalized least squares with the state integrated out (Durbin and Koopman,
"Time series analysis by state space methods", 2012, section 6.2). The first row defines the base load.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soqo.typing import Array, BoolArray


class FilteredRows(NamedTuple):
    """Rows without the state's part, their weights, and the mean and covariance of the state after them."""

    difference: Array
    weight: Array
    mean: Array
    covariance: Array


def no_walk(runs: int, dim: int, columns: int) -> dict[str, Array]:
    """Return the fields of a posterior whose offset does not walk."""
    return {
        "offset_step": np.zeros(runs),
        "walk_mean": np.broadcast_to(0.0, (runs, 1 + dim, columns)),  # without memory: few offsets walk
        "walk_covariance": np.zeros((runs, 1 + dim, 1 + dim)),
    }


def displacements(features: Array, dim: int, *, with_reading: bool = False) -> Array:
    """Return u, shape (..., d), which is a part of the features of a model with an offset and without a context."""
    end = features.shape[-1] - dim * (dim + 1) // 2 - with_reading
    return features[..., end - dim : end]


def predict_walk(mean: Array, covariance: Array, u: Array) -> tuple[Array, Array]:
    """Return h'S, shape (runs, m + 1), and h'P h, shape (runs,)."""
    h = _with_one(u)
    return np.vecmat(h, mean), np.vecdot(np.vecmat(h, covariance), h)


def filter_walk(
    mean: Array,
    covariance: Array,
    row: Array,
    u: Array,
    R: Array,
    *,
    diffuse: BoolArray,
    observed: BoolArray,
    steps2: Array,
) -> FilteredRows:
    """Return one row of each run without the state's part, its weight, and the state after it.

    Parameters
    ----------
    mean, covariance : Array, shape (runs, 1 + d, m + 1) and (runs, 1 + d, 1 + d)
        The state.
    row, u : Array, shape (runs, m + 1) and (runs, d)
        The row, not weighted, and where it was measured.
    R : Array, shape (runs,)
        The variance of its noise in units of sigma^2.
    diffuse, observed : BoolArray, shape (runs,)
        The runs whose base load is not known yet, and those that have a reading; the others do not change.
    steps2 : Array, shape (runs, 1 + d)
        The variances of the steps of the state, in units of sigma^2.
    """
    h = _with_one(u)
    Ph = np.vecmat(h, covariance)
    F = np.vecdot(Ph, h) + R
    difference = row - np.vecmat(h, mean)
    gain = Ph / F[:, None]
    # The first reading: base load = row - g'u - noise; its variance and covariance with g follow from those of g.
    first = observed & diffuse
    gain = np.where(first[:, None], np.arange(h.shape[1]) == 0, np.where(observed[:, None], gain, 0.0))
    new_mean = mean + gain[:, :, None] * difference[:, None, :]
    reduced = covariance - F[:, None, None] * gain[:, :, None] * gain[:, None, :]
    known = covariance.copy()
    known[:, 0, 1:] = known[:, 1:, 0] = -np.vecmat(u, covariance[:, 1:, 1:])
    known[:, 0, 0] = np.vecdot(np.vecmat(u, covariance[:, 1:, 1:]), u) + R
    new = np.where(first[:, None, None], known, np.where(observed[:, None, None], reduced, covariance))
    new = new + np.where(observed[:, None], steps2, 0.0)[:, :, None] * np.eye(h.shape[1])
    weight = np.where(observed & ~diffuse, 1.0 / np.sqrt(F), 0.0)
    return FilteredRows(difference, weight, new_mean, new)


def _with_one(u: Array) -> Array:
    """Return h = (1, u)."""
    return np.concatenate([np.ones((len(u), 1)), u], axis=1)
