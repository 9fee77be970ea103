"""From a test on runs and resamples to a status with numbers, and from those to verdicts under every reading."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from soqo._simulation.summary import format_short
from soqo.experiments.execution import interval
from soqo.experiments.settings import Reading
from soqo.typing import Array, BoolArray


class Status(StrEnum):
    """What the numbers say about a claim."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    """It holds in some settings and fails in others."""
    FAILS = "fails"
    UNKNOWN = "cannot be told"
    """The bootstrap interval over the runs supports neither; more runs can settle it."""
    UNTESTED = "not tested"
    """The settings that the claim needs were not run, or no number can test it."""

    @classmethod
    def all(cls, statuses: Iterable[Status]) -> Status:
        """Return the status of the claim that several claims hold together: one failure decides.

        Parameters
        ----------
        statuses : iterable of Status
            The statuses of the claims, at least one.
        """
        found = set(statuses)
        for status in (cls.FAILS, cls.UNTESTED, cls.UNKNOWN):
            if status in found:
                return status
        return cls.HOLDS


@dataclass(frozen=True)
class Number:
    """A measured number.

    Attributes
    ----------
    label : str
        What it is.
    value : float
        Its value.
    low, high : float
        The ends of the 95 % bootstrap interval over the runs; NaN if there is none.
    """

    label: str
    value: float
    low: float = math.nan
    high: float = math.nan

    def __str__(self) -> str:
        text = f"{self.label} {format_short(self.value)}"
        return text if math.isnan(self.low) else f"{text} ({format_short(self.low)} .. {format_short(self.high)})"


@dataclass(frozen=True)
class Case:
    """The test of a claim in one setting, under one reading.

    Attributes
    ----------
    setting : str
        The name of the setting.
    status : Status
        What the numbers say.
    numbers : tuple of Number
        The numbers; the one that decides comes first.
    """

    setting: str
    status: Status
    numbers: tuple[Number, ...] = ()


# ---- decisions ------------------------------------------------------------------------------------------------------

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


def exact_case(setting: str, holds: bool, numbers: Mapping[str, float]) -> Case:
    """Return the case of a test without runs, whose numbers are exact."""
    return Case(setting, Status.HOLDS if holds else Status.FAILS, tuple(Number(*one) for one in numbers.items()))


# ---- claims ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """A claim under one reading.

    Attributes
    ----------
    reading : Reading
        The reading, with None on the axes that do not matter for the claim.
    cases : tuple of Case
        The test in each setting.
    universal : bool
        Whether one setting in which it fails refutes it, as for a theorem. Otherwise it may hold in part.
    """

    reading: Reading
    cases: tuple[Case, ...]
    universal: bool = False

    @property
    def status(self) -> Status:
        """The status of the claim in all settings together."""
        found = Status.all(case.status for case in self.cases)
        return Status.PARTLY if found is Status.FAILS and self.held and not self.universal else found

    @property
    def held(self) -> int:
        """The number of settings in which it holds."""
        return self.count(Status.HOLDS)

    def count(self, status: Status) -> int:
        """Return the number of settings with a status.

        Parameters
        ----------
        status : Status
            The status.
        """
        return sum(case.status is status for case in self.cases)

    @property
    def decisive(self) -> tuple[Case, ...]:
        """The cases with those first that decide the status: failures, then what cannot be told."""
        order = (Status.FAILS, Status.UNKNOWN, Status.UNTESTED)
        return tuple(sorted(self.cases, key=lambda case: order.index(case.status) if case.status in order else 3))

    @property
    def tally(self) -> str:
        """In how many settings it holds, fails and cannot be told, in words; empty for a single setting."""
        if len(self.cases) == 1:
            return ""
        counts = {status: self.count(status) for status in (Status.HOLDS, Status.FAILS, Status.UNKNOWN)}
        found = [f"{status.value} in {count}" for status, count in counts.items() if count]
        if len(found) == 1:
            return "in both settings" if len(self.cases) == 2 else f"in all {len(self.cases)} settings"
        return f"{', '.join(found)} of {len(self.cases)} settings"
