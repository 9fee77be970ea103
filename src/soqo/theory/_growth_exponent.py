"""The growth of regret with the horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.arguments import finite_array
from soqo._foundation.bootstrap_intervals import bootstrap_statistic, percentile_interval
from soqo._foundation.frozen_dataclasses import Value
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike


@dataclass(frozen=True)
class Growth(Value):
    """The exponent p of regret ~ T^p with a 95 % bootstrap interval; all NaN if the regret is not positive.

    Attributes
    ----------
    exponent : float
    low, high : float
        The ends of the interval.
    """

    exponent: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.exponent:.2f} ({self.low:.2f} .. {self.high:.2f})"


def growth_exponent(horizons: ArrayLike, regret: ArrayLike, *, resamples: int = 1000) -> Growth:
    """Return the slope of log median regret against log T, by least squares.

    Parameters
    ----------
    horizons : array_like, shape (k,)
        At least two horizons T.
    regret : array_like, shape (k,) or (k, runs)
        The regret at the end of each horizon; exact regret is one number per horizon.
    resamples : int
        Bootstrap resamples of the runs, the same runs for every horizon. The interval of a single run is the exponent
        itself.

    Returns
    -------
    Growth
        The exponent and its interval.

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
    medians = np.median(values, axis=1)
    if (medians <= 0.0).any():
        return Growth(np.nan, np.nan, np.nan)
    log_T = np.log(lengths) - np.log(lengths).mean()

    def slope(log_regret: Array) -> Array:
        return np.asarray(log_regret @ log_T / (log_T @ log_T))

    resampled = bootstrap_statistic(values, resamples=resamples)
    slopes = slope(np.log(resampled[(resampled > 0.0).all(axis=1)]))
    return Growth(float(slope(np.log(medians))), *percentile_interval(slopes))
