"""The evidence of a base load in residuals, without a fit of the other unknowns."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from soqo.estimators.bayes import LOG_BASE_LOAD_RANGE
from soqo.typing import Array


def level_evidence(residuals: Array, variances: Array, rho: float | None) -> Array:
    """Return the log evidence of a base load in residuals, up to a constant; shape (runs,).

    The noise is unknown, with a flat prior of its logarithm. For a base load that is a random walk, the Kalman filter
    gives independent innovations, and the first residual, which defines the level, has the prior of a base load.

    Parameters
    ----------
    residuals, variances : Array, shape (runs, n)
        Readings without their expected hitting costs, NaN for none, and their variances in units of that of the noise.
    rho : float or None
        The deviation of a step in units of that of the noise, zero for a constant base load; None for no base load.

    Examples
    --------
    >>> residuals = np.array([[5.1, 4.9, 5.0, 5.1, 4.9]])
    >>> constant, none = (level_evidence(residuals, np.ones((1, 5)), rho) for rho in (0.0, None))
    >>> bool(constant > none)
    True
    """
    runs, n = residuals.shape
    seen = ~np.isnan(residuals)
    values = np.where(seen, residuals, 0.0)
    if rho is None:
        squares, log_weights = (
            (np.square(values) / variances).sum(axis=1),
            -0.5 * (np.log(variances) * seen).sum(axis=1),
        )
        count, first = seen.sum(axis=1), np.zeros(runs)
    else:
        level, P, known, first = np.zeros(runs), np.zeros(runs), np.zeros(runs, dtype=np.bool_), np.zeros(runs)
        squares, log_weights, count = np.zeros(runs), np.zeros(runs), np.zeros(runs)
        for t in range(n):
            begins, goes_on = seen[:, t] & ~known, seen[:, t] & known
            F = P + variances[:, t]
            innovation = np.where(goes_on, values[:, t] - level, 0.0)
            squares += np.square(innovation) / F
            log_weights -= 0.5 * np.where(goes_on, np.log(F), 0.0)
            count += goes_on
            first = np.where(begins, np.abs(values[:, t]), first)
            level = np.where(begins, values[:, t], level + P / F * innovation)
            P = np.where(begins, variances[:, t], np.where(goes_on, P * variances[:, t] / F, P))
            P += np.where(seen[:, t], rho**2, 0.0)
            known |= begins
        noise = np.sqrt(squares / np.maximum(count, 1.0))
        first = np.where(known, -LOG_BASE_LOAD_RANGE - np.log(np.maximum(np.maximum(first, noise), 1e-150)), 0.0)
    half = 0.5 * np.maximum(count, 1.0)
    return np.asarray(gammaln(half) - half * np.log(math.pi * np.maximum(squares, 1e-300)) + log_weights + first)
