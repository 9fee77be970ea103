"""Weights of estimates by their latest prediction errors.

Where A is near a multiple of the identity, weights are those of errors in units of what is usual for the reading. If
the steps of v have heavy tails, one reading may be a thousand times as large as the others, and its errors as they are
would decide alone, by chance. A low rank is another matter: it shows in the largest readings.
"""

from __future__ import annotations

import math

import numpy as np

from soqo.policies.glide._large._stream import ESTIMATES
from soqo.typing import Array

_COLUMN = {name: i for i, name in enumerate(ESTIMATES)}

_LUCK = 0.5
"""An error below this many deviations of the noise is luck and counts as this: no estimate predicts the noise."""

_REFUTED = 16.0
"""If the median of the squared errors of the flat estimate is this many times that of the soft one, A is not flat."""


def push(errors: Array, new: dict[str, float], *, unit: float = 1.0) -> Array:
    """Return the latest squared errors with those of one more reading.

    Parameters
    ----------
    errors : Array, shape (k, estimates + 1)
        The squared errors, and what was usual.
    new : dict
        The error of each estimate that predicted the reading.
    unit : float
        The error that is usual for such a reading.
    """
    row = np.full(errors.shape[1], np.nan)
    row[-1] = min(max(unit * unit, 1e-300), 1e300)
    for name, error in new.items():
        row[_COLUMN[name]] = min(error * error, 1e300)
    return np.concatenate([errors[1:], row[None]])


def forget(errors: Array, name: str) -> Array:
    """Return the latest errors without those of one estimate, which is replaced.

    Parameters
    ----------
    errors : Array, shape (k, estimates + 1)
        The squared errors, and what was usual.
    name : str
        The estimate.
    """
    left = errors.copy()
    left[:, _COLUMN[name]] = np.nan
    return left


def predictions(errors: Array, name: str) -> int:
    """Return how many of the latest readings an estimate has predicted.

    Parameters
    ----------
    errors : Array, shape (k, estimates + 1)
        The squared errors, and what was usual.
    name : str
        The estimate.
    """
    return int((~np.isnan(errors[:, _COLUMN[name]])).sum())


def mean_square(errors: Array, name: str, latest: int) -> float:
    """Return the mean of an estimate's latest squared errors; NaN for none.

    Parameters
    ----------
    errors : Array, shape (k, estimates + 1)
        The squared errors, and what was usual.
    name : str
        The estimate.
    latest : int
        The largest number of errors.
    """
    found = _known(errors, name, latest)
    return float(found.mean()) if found.size else math.nan


def median_square(errors: Array, name: str, latest: int) -> float:
    """Return the median of an estimate's latest squared errors; NaN for none.

    Parameters
    ----------
    errors : Array, shape (k, estimates + 1)
        The squared errors, and what was usual.
    name : str
        The estimate.
    latest : int
        The largest number of errors.
    """
    found = _known(errors, name, latest)
    return float(np.median(found)) if found.size else math.nan


def _known(errors: Array, name: str, latest: int) -> Array:
    """Return an estimate's latest squared errors without those that are not known."""
    found = errors[-latest:, _COLUMN[name]]
    return np.asarray(found[~np.isnan(found)])


def luck(errors: Array, noise: float) -> float | None:
    """Return the noise with which errors are to be compared if A seems to be near a multiple of the identity, or None.

    While v stays where A is almost zero, all readings may seem to be noise around such an A. If the flat estimate
    predicts most of them far worse than the soft one, they are not.

    Parameters
    ----------
    errors : Array, shape (k, estimates + 1)
        The squared errors, and what was usual.
    noise : float
        The deviation of the noise.
    """
    flat, soft = (median_square(errors, name, len(errors)) for name in ("flat", "soft"))
    return None if flat > _REFUTED * soft else noise


def weight(
    errors: Array, name: str, other: str, latest: int, *, handicap: float = 0.0, noise: float | None = None
) -> float:
    """Return the weight of one estimate against another, from the readings that it has predicted.

    With k readings it is the ratio of the mean square errors to the power k/2, as for normal errors of unknown size.

    Parameters
    ----------
    errors : Array, shape (k, estimates + 1)
        The squared errors, and what was usual.
    name, other : str
        The estimates.
    latest : int
        The largest number of errors.
    handicap : float
        What is subtracted from the logarithm of the odds.
    noise : float, optional
        The deviation of the noise, if errors are to be compared in units of what is usual; otherwise the largest
        decide.
    """
    both = errors[:, [_COLUMN[name], _COLUMN[other]]]
    if noise is not None:
        both = np.maximum(both, (_LUCK * noise) ** 2) / errors[:, -1:]
    both = both[~np.isnan(both).any(axis=1)][-latest:]  # an estimate may have paused
    odds = -handicap
    if len(both):
        own, others = (both.mean(axis=0) + 1e-300).tolist()
        odds += 0.5 * len(both) * math.log(others / own)
    return 1.0 / (1.0 + math.exp(-min(max(odds, -50.0), 50.0)))
