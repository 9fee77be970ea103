r"""A constant part of the readings, which is no cost of x.

A reading is y = 1/2 z'A z + base load + noise. With q = 1/2 z'B z for a rough shape B of A, it is about t q plus the
base load, and least squares gives both. The base load is believed if it is many of its deviations from zero. The latest
readings decide, so that it may vary slowly.
"""

from __future__ import annotations

import numpy as np

from soqo.typing import Array

LATEST = 256
"""The number of latest readings that decide."""

_SPREAD = 0.3
"""The variance of a reading relative to the square of the expected one, as in the fit of the scale."""

_SIGNIFICANT_DEVIATIONS = 5.0
"""A base load of fewer of its deviations is taken as zero."""

_FEW = 6
"""With fewer readings, there is no base load."""


def fit_base_load(q: Array, y: Array, noise: float, scale: float) -> float:
    """Return the base load, or zero if it is not significant.

    Parameters
    ----------
    q, y : Array, shape (n,)
        What a reading is about proportional to without a base load, and the readings.
    noise : float
        The deviation of the noise.
    scale : float
        The scale t.

    Examples
    --------
    >>> q = np.arange(1.0, 9.0)
    >>> round(fit_base_load(q, 2.0 * q + 30.0, noise=1.0, scale=2.0), 6)
    30.0
    >>> fit_base_load(q, 2.0 * q, noise=1.0, scale=2.0)
    0.0
    """
    if len(y) < _FEW:
        return 0.0
    weights = 1.0 / (noise**2 + _SPREAD * (scale * q) ** 2 + 1e-300)
    columns = np.stack([np.ones_like(q), q], axis=1)
    normal = (columns.T * weights) @ columns
    determinant = normal[0, 0] * normal[1, 1] - normal[0, 1] ** 2
    if not determinant > 1e-12 * normal[0, 0] * normal[1, 1]:
        return 0.0
    inverse = np.array([[normal[1, 1], -normal[0, 1]], [-normal[0, 1], normal[0, 0]]]) / determinant
    solution = inverse @ (columns.T @ (weights * y))
    residual = y - columns @ solution
    # The deviation follows from the residuals and not from the weights, since the noise is not known well.
    influence = (inverse[0] @ columns.T) * weights * residual
    variance = float(influence @ influence) * len(y) / (len(y) - 2)
    load = float(solution[0])
    return load if load * load > _SIGNIFICANT_DEVIATIONS**2 * variance else 0.0
