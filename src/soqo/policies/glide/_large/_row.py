r"""A reading as a row of numbers: where it was taken, what it contains beside the hitting cost, and the reading.

With the factor s of the hitting cost, a reading is y = 1/2 z'A z + b c + noise with the base load b, z = sqrt(s) u and
c = 1. The row is (z, c, y).

A reading that deserves less weight is scaled down until its noise is that of the others: y and c by the share, z by its
root. All formulas stay the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from soqo.typing import Array

EXTRA_COLUMNS = 2
"""The columns after z: c and y."""

_RELATIVE_ERROR = 1e-6
"""The relative error of a reading, which bounds the weight of readings at a large u."""


def make_row(u: Array, y: float | Array, factor: float = 1.0) -> Array:
    """Return the row of a reading.

    Parameters
    ----------
    u : Array, shape (d,)
        The displacement x - v.
    y : float
        The reading.
    factor : float
        What multiplied the hitting cost.

    Examples
    --------
    >>> make_row(np.array([1.0, 2.0]), 5.0, factor=4.0)
    array([2., 4., 1., 5.])
    """
    return np.concatenate([math.sqrt(factor) * u, [1.0, y]])


def place(row: Array) -> Array:
    """Return z, the vector at which a reading measures A.

    Parameters
    ----------
    row : Array, shape (..., d + 2)
        One row or several.
    """
    return np.asarray(row[..., :-EXTRA_COLUMNS])


def hitting_cost(rows: Array, load: float) -> Array:
    """Return readings without the base load.

    Parameters
    ----------
    rows : Array, shape (..., d + 2)
        One row or several.
    load : float
        The base load b.

    Examples
    --------
    >>> float(hitting_cost(make_row(np.array([1.0, 2.0]), 5.0), 3.0))
    2.0
    """
    return np.asarray(rows[..., -1] - load * rows[..., -2])


def load_column(rows: Array) -> Array:
    """Return what multiplies the base load in readings, shape (n, 1).

    Parameters
    ----------
    rows : Array, shape (n, d + 2)
        The rows.
    """
    return np.asarray(rows[:, -2:-1])


def bound_weight(row: Array, noise: float, trusted_distance: float | None) -> Array:
    """Return a row scaled down such that its noise is that of the others.

    The reading has an error relative to it, and the hitting cost deviates from a quadratic function by as much as the
    noise at the trusted distance, and by more further away: the variance is sigma^2 (1 + (|z|^2 / distance^2)^2).

    Parameters
    ----------
    row : Array, shape (d + 2,)
        The row.
    noise : float
        The deviation of the noise.
    trusted_distance : float or None
        The distance; None for a quadratic function.
    """
    excess = 0.0
    if noise > 0.0:
        excess = _RELATIVE_ERROR * abs(float(row[-1])) / noise
        excess = excess if excess >= 1e-3 else 0.0
    if trusted_distance is not None:
        z = place(row)
        excess = math.hypot(excess, float(z @ z) / trusted_distance**2)
    if not excess:
        return row
    share = 1.0 / math.hypot(1.0, excess)
    scaled = row * math.sqrt(share)
    scaled[-2:] = share * row[-2:]
    return np.asarray(scaled)


def add_columns(rows: Array) -> Array:
    """Return rows (z, y) of files of earlier versions as rows (z, c, y).

    Parameters
    ----------
    rows : Array, shape (n, d + 1)
        The rows.
    """
    return np.hstack([rows[:, :-1], np.ones((len(rows), 1)), rows[:, -1:]])


def migrate_rows(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a stream whose rows were (z, y).

    Parameters
    ----------
    fields : dict
        The fields of the first version.
    """
    rows = fields["rows"]
    blocks = tuple(add_columns(block) for block in rows.blocks)
    return {
        **{name: value for name, value in fields.items() if name != "spread_chosen"},
        "rows": type(rows)(blocks, rows.count),
        "suspects": add_columns(fields["suspects"]),
        "moments": None,
        "swept": 0,
        "flat": None,
        "levels": None,
        "levels_fitted": 0,
    }
