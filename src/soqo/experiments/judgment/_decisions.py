"""Decisions: from a test on the runs and on resamples of them to a status with numbers."""

from __future__ import annotations

import numpy as np

from soqo.experiments.execution import interval
from soqo.experiments.judgment._verdicts import Case, Number, Status
from soqo.typing import Array, BoolArray

LEVEL = 0.95
"""The level of intervals."""

MIN_RUNS = 6
"""With fewer runs no order is significant: five runs agree by chance in one of 32 cases."""


def decide(setting: str, passed: BoolArray, known: BoolArray | bool, runs: int, *numbers: Number) -> Case:
    """Return the case of a test.

    It holds if it passes for the runs and for 97.5 % of the resamples, and fails if it passes neither for the runs nor
    for 97.5 % of the resamples; a resample without an answer counts for neither. Otherwise the runs do not tell. For
    the test that a number is below a threshold, this is whether the number's 95 % interval is.

    Parameters
    ----------
    setting : str
        The name of the setting.
    passed : BoolArray, shape (1 + resamples,)
        Whether the test passes for the runs and for each resample.
    known : BoolArray of shape (1 + resamples,), or bool
        Whether the test has an answer.
    runs : int
        The number of runs.
    *numbers : Number
        The numbers to report.

    Examples
    --------
    >>> decide("mine", np.array([True, True, True, False]), True, runs=20).status.value
    'cannot be told'
    """
    answered = np.broadcast_to(known, passed.shape)
    status = Status.UNKNOWN
    if answered[0] and runs >= MIN_RUNS:
        enough = 1.0 - 0.5 * (1.0 - LEVEL)
        if passed[0] and np.mean(passed[1:] & answered[1:]) >= enough:
            status = Status.HOLDS
        elif not passed[0] and np.mean(~passed[1:] & answered[1:]) >= enough:
            status = Status.FAILS
    return Case(setting, status, numbers)


def measure(label: str, values: Array) -> Number:
    """Return a number with its interval.

    Parameters
    ----------
    label : str
        What it is.
    values : Array, shape (1 + resamples,)
        The number for the runs and for each resample.

    Examples
    --------
    >>> str(measure("regret", np.array([2.0, 1.0, 2.0, 3.0])))
    'regret 2 (1.05 .. 2.95)'
    """
    resampled = values[1:][~np.isnan(values[1:])]
    if not resampled.size or np.isnan(values[0]):
        return Number(label, float(values[0]))
    low, high = interval(resampled)
    return Number(label, float(values[0]), float(low), float(high))


def compare(label: str, value: float, bound: float, case: str) -> Case:
    """Return the case of an exact number that should not exceed another one.

    Parameters
    ----------
    label : str
        What the number is, as a share of the bound.
    value, bound : float
        The number, and the bound.
    case : str
        What the case is about.

    Examples
    --------
    >>> compare("regret over bound", 3.0, 4.0, "r = 1").status.value
    'holds'
    """
    return Case(case, Status.HOLDS if value <= bound else Status.FAILS, (Number(label, value / bound),))


def lowest(*values: Array) -> Array:
    """Return the lowest of several statistics, for the runs and for each resample.

    Parameters
    ----------
    *values : Array, shape (1 + resamples,)
        The statistics.
    """
    return np.asarray(np.min(values, axis=0))


def highest(*values: Array) -> Array:
    """Return the highest of several statistics, for the runs and for each resample.

    Parameters
    ----------
    *values : Array, shape (1 + resamples,)
        The statistics.
    """
    return np.asarray(np.max(values, axis=0))
