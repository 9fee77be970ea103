"""When noise, scale and A are estimated again: after each of the first readings, and then ever more rarely."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

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

_MAX_FIRST_FITS, _MAX_FREQUENT_FITS = 12, 24
"""Every reading is followed by a fit up to twice the number of unknowns, and up to so many at most: from the start, and
after a suspected change, when the evidence decides what is played."""

MANY_PER_UNKNOWN = 4
"""With more readings than this for each unknown, A is estimated in every fourth round."""

VERY_MANY_PER_UNKNOWN = 16
"""With more readings than this for each unknown, A is estimated in every eighth round: a reading changes the estimate
less and less."""

STEADY_RATIO = 0.02
"""The estimate is inside the cone if its smallest eigenvalue is above this share of the largest."""


def first_fits(model: ReadingModel) -> int:
    """Return the number of first readings that are each followed by a fit.

    Parameters
    ----------
    model : ReadingModel
        The model.

    Examples
    --------
    >>> first_fits(ReadingModel(dim=4))
    12
    """
    return min(2 * model.unknowns, _MAX_FIRST_FITS)


def frequent_fits(model: ReadingModel) -> int:
    """Return the number of readings after a suspected change that are each followed by a fit.

    Parameters
    ----------
    model : ReadingModel
        The model.

    Examples
    --------
    >>> frequent_fits(ReadingModel(dim=4))
    20
    """
    return min(2 * model.unknowns, _MAX_FREQUENT_FITS)


def is_fitted_always(model: ReadingModel, readings: Array, restarted: bool | BoolArray = False) -> BoolArray:
    """Return whether there are so few readings that a fit follows each of them.

    Parameters
    ----------
    model : ReadingModel
        The model.
    readings : Array
        The numbers of readings.
    restarted : bool or BoolArray
        Whether they are those since a suspected change.

    Examples
    --------
    >>> is_fitted_always(ReadingModel(dim=4), np.array([12.0, 13.0])), is_fitted_always(ReadingModel(dim=4), 13.0, True)
    (array([ True, False]), array(True))
    """
    return np.asarray(readings <= np.where(restarted, frequent_fits(model), first_fits(model)))


def fit_ages(model: ReadingModel, *, restarted: bool) -> list[float]:
    """Return the numbers of readings after which a fit follows, without forgetting.

    Parameters
    ----------
    model : ReadingModel
        The model.
    restarted : bool
        Whether they are those since a suspected change.

    Examples
    --------
    >>> fit_ages(ReadingModel(dim=4), restarted=False)[10:15], fit_ages(ReadingModel(dim=4), restarted=True)[10:15]
    ([11.0, 12.0, 13.0, 15.0, 17.0], [11.0, 12.0, 13.0, 14.0, 15.0])
    """
    frequent = frequent_fits(model) if restarted else first_fits(model)
    return sorted({*map(float, range(1, frequent + 1)), *_FIT_READINGS.tolist()})


def fit_is_due(model: ReadingModel, readings: Array, restarted: bool | BoolArray = False) -> BoolArray:
    """Return whether a fit follows after these numbers of readings.

    Parameters
    ----------
    model : ReadingModel
        The model.
    readings : Array
        The numbers of readings.
    restarted : bool or BoolArray
        Whether they are those since a suspected change.

    Examples
    --------
    >>> fit_is_due(ReadingModel(dim=2), np.array([5.0, 84.0, 85.0, 101.0]))
    array([ True,  True, False,  True])
    """
    due = is_fitted_always(model, readings, restarted)
    due |= _FIT_READINGS[np.searchsorted(_FIT_READINGS, readings).clip(max=_FIT_READINGS.size - 1)] == readings
    if model.forgetting < 1.0:
        # The weights of the readings add up to no more than the window.
        step = max(1.0, np.floor(0.1 / (1.0 - model.forgetting)))
        due |= readings % step == 0.0
    return np.asarray(due)


def estimate_period(model: ReadingModel, readings: Array | float, steady: bool | BoolArray = True) -> Any:
    """Return every how many rounds A is estimated from the posterior.

    Parameters
    ----------
    model : ReadingModel
        The model.
    readings : Array or float
        The numbers of readings. With forgetting, the latest always matter, and no number is very large.
    steady : bool or BoolArray
        Whether the estimate is inside the cone, and no offset walks.

    Examples
    --------
    >>> model = ReadingModel(dim=4)
    >>> estimate_period(model, 40.0), estimate_period(model, 161.0), estimate_period(model, 161.0, False)
    (1, 8, 4)
    """
    many = readings > MANY_PER_UNKNOWN * model.unknowns
    very_many = (readings > VERY_MANY_PER_UNKNOWN * model.unknowns) & (model.forgetting == 1.0)
    return 1 + 3 * many + 4 * (very_many & steady)
