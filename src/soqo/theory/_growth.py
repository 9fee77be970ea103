"""How regret grows with the horizon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._arguments import finite_array, integer
from soqo.errors import ArgumentError
from soqo.typing import Array

__all__ = ["Growth", "growth_exponent"]


@dataclass(frozen=True)
class Growth:
    """The exponent p of regret ~ T^p, with a bootstrap interval of 95 %; all NaN where regret is not positive."""

    exponent: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.exponent:.2f} ({self.low:.2f} .. {self.high:.2f})"


def growth_exponent(horizons: Any, regret: Any, resamples: int = 1000) -> Growth:
    """The slope of log median regret against log T, by least squares.

    Parameters
    ----------
    horizons : array_like, shape (k,)
        At least two.
    regret : array_like, shape (k,) or (k, runs)
        Regret at the end, for each horizon; exact regret is one number for each.
    resamples : int
        Of the runs, for the interval; runs are resampled together over the horizons. A single run has none: its
        interval is the exponent itself.

    Examples
    --------
    >>> T = np.array([100.0, 200.0, 400.0])
    >>> print(growth_exponent(T, np.sqrt(T)[:, None] * np.array([1.0, 2.0, 3.0])))
    0.50 (0.50 .. 0.50)
    """
    lengths, values = finite_array("horizons", horizons), finite_array("regret", regret)
    if lengths.ndim != 1 or np.unique(lengths).size < 2 or not (lengths > 0.0).all():
        raise ArgumentError(f"horizons must be at least two positive numbers, got {lengths}")
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[0] != lengths.size or not values.shape[1]:
        raise ArgumentError(f"regret must have shape {(lengths.size,)} or ({lengths.size}, runs), got {values.shape}")
    integer("resamples", resamples, least=1)
    medians = np.median(values, axis=1)
    if (medians <= 0.0).any():
        return Growth(np.nan, np.nan, np.nan)
    log_T = np.log(lengths) - np.log(lengths).mean()

    def slope(log_regret: Array) -> Array:
        return np.asarray(log_regret @ log_T / (log_T @ log_T))

    rng = np.random.default_rng(0)
    runs = values.shape[1]
    picks = rng.integers(runs, size=(resamples, runs))
    drawn = np.median(values[:, picks], axis=2).T
    slopes = slope(np.log(drawn[(drawn > 0.0).all(axis=1)]))
    low, high = np.quantile(slopes, [0.025, 0.975]) if slopes.size else (np.nan, np.nan)
    return Growth(float(slope(np.log(medians))), float(low), float(high))
