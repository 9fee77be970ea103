"""When the noise and the scale are estimated again: at each of the first readings, and then ever more rarely."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from soqo.estimators.bayes._model import ReadingModel
from soqo.typing import Array, BoolArray

_MANY_READINGS = 64
"""Up to this number of readings, a tenth of it comes between two fits, and later a fifth."""


def _next_fit(n: int, _: object) -> int:
    return n + math.ceil(n / (10 if n < _MANY_READINGS else 5))


_FIT_READINGS = np.array(list(accumulate(range(120), _next_fit, initial=1)), dtype=np.float64)
"""The numbers of readings after which there is a fit, up to 1e9. They do not depend on the run, so that the runs of a
batch are fitted together."""

_MAX_FREQUENT_FITS = 24
"""Every reading is followed by a fit up to twice the number of unknowns, and up to this number at most."""


def frequent_fits(model: ReadingModel) -> int:
    """Return the number of first readings that are each followed by a fit.

    Parameters
    ----------
    model : ReadingModel
        The model.

    Examples
    --------
    >>> frequent_fits(ReadingModel(dim=2))
    6
    """
    return min(2 * model.unknowns, _MAX_FREQUENT_FITS)


def fit_ages(model: ReadingModel) -> list[float]:
    """Return the numbers of readings after which a fit follows, without forgetting.

    Parameters
    ----------
    model : ReadingModel
        The model.

    Examples
    --------
    >>> fit_ages(ReadingModel(dim=2))[4:9]
    [5.0, 6.0, 7.0, 8.0, 9.0]
    """
    return sorted({*map(float, range(1, frequent_fits(model) + 1)), *_FIT_READINGS.tolist()})


def fit_is_due(model: ReadingModel, readings: Array) -> BoolArray:
    """Return whether a fit follows after these numbers of readings.

    Parameters
    ----------
    model : ReadingModel
        The model.
    readings : Array
        The numbers of readings.

    Examples
    --------
    >>> fit_is_due(ReadingModel(dim=2), np.array([5.0, 84.0, 85.0, 101.0]))
    array([ True,  True, False,  True])
    """
    due = readings <= frequent_fits(model)
    due |= _FIT_READINGS[np.searchsorted(_FIT_READINGS, readings).clip(max=_FIT_READINGS.size - 1)] == readings
    if model.forgetting < 1.0:
        # The weights of the readings add up to no more than the window.
        step = max(1.0, np.floor(0.1 / (1.0 - model.forgetting)))
        due |= readings % step == 0.0
    return np.asarray(due)
