"""The outcome of a setting: its result for each horizon, and statistics over the runs with intervals, for figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._simulation.result import Result
from soqo._simulation.summary import Summary
from soqo.errors import ArgumentError
from soqo.experiments.execution._resampling import interval, resampled_means, resampled_medians
from soqo.experiments.settings import Setting
from soqo.typing import Array, IntArray

_POINTS = 120
"""The most rounds of a curve."""

_WINDOW = 10
"""The rounds over which regret per round is averaged, to see it through the noise of single rounds."""


@dataclass(frozen=True)
class Band(Value):
    """A statistic over the runs with its 95 % bootstrap interval, one entry for each point of a curve.

    Attributes
    ----------
    value, low, high : Array, shape (points,)
        The ends of intervals that were not computed are NaN.
    """

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Outcome(Value):
    """The results of a setting by horizon.

    Attributes
    ----------
    setting : Setting
        The setting.
    results : mapping of int to Result
        The result for each horizon. The setting's own ``horizon`` is recorded in every round, the others are totals
        (:meth:`soqo.Result.total`).
    """

    setting: Setting
    results: Mapping[int, Result] = field(repr=False)

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, in order."""
        return tuple(self.setting.policies)

    @property
    def runs(self) -> int:
        """The number of runs that were simulated, which may differ from the setting's."""
        return self._result(None).runs

    @property
    def horizons(self) -> tuple[int, ...]:
        """The horizons that were simulated, in increasing order."""
        return tuple(sorted(self.results))

    def regret(self, policy: str, horizon: int | None = None) -> Array:
        """Return the regret after the last round, shape (runs,).

        Parameters
        ----------
        policy : str
            The policy's name.
        horizon : int, optional
            The setting's own horizon by default.
        """
        return self._result(horizon).regret(policy)[:, -1]

    def curve(self, policy: str) -> Array:
        """Return the regret up to each round of the setting's own horizon, shape (runs, horizon).

        Parameters
        ----------
        policy : str
            The policy's name.
        """
        return self._result(None).regret(policy)

    def median(self, policy: str, horizon: int | None = None) -> float:
        """Return the median over the runs of the regret after the last round.

        Parameters
        ----------
        policy : str
            The policy's name.
        horizon : int, optional
            The setting's own horizon by default.
        """
        return float(np.median(self.regret(policy, horizon)))

    def summary(self, horizon: int | None = None) -> Summary:
        """Summarize the regret after the last round for each policy.

        Parameters
        ----------
        horizon : int, optional
            The setting's own horizon by default.

        Returns
        -------
        Summary
            The summary of every policy; printing it gives a table.
        """
        return self._result(horizon).summary()

    def costs(self, policy: str | None, rounds: int | None = None) -> tuple[Array, Array]:
        """Return what each run pays for hitting and for switching at the setting's own horizon, shape (runs,) each.

        Parameters
        ----------
        policy : str or None
            The policy's name; None for LAI, the benchmark.
        rounds : int, optional
            Only the first rounds; all of them by default.
        """
        result = self._result(None)
        parts = (result.benchmark_hitting, result.benchmark_switching)
        if policy is not None:
            parts = (result[policy].hitting, result[policy].switching)
        with np.errstate(over="ignore", invalid="ignore"):  # the costs of a diverged run may overflow
            hitting, switching = (part[:, :rounds].sum(axis=1) for part in parts)
        return hitting, switching

    def horizons_of(self, policy: str) -> tuple[int, ...]:
        """Return the horizons at which a policy was played, in increasing order.

        Parameters
        ----------
        policy : str
            The policy's name.
        """
        return tuple(horizon for horizon in self.horizons if policy in self.results[horizon].policies)

    @cached_property
    def rounds(self) -> IntArray:
        """The rounds of curves, denser at first: at most 120, the first third of them in the first tenth."""
        horizon = self.setting.horizon
        early = np.linspace(1, max(1, horizon // 10), _POINTS // 3)
        late = np.linspace(max(1, horizon // 10), horizon, _POINTS - _POINTS // 3)
        return np.unique(np.concatenate([early, late]).round().astype(np.int64))

    @cached_property
    def windows(self) -> IntArray:
        """For each of the rounds, the number of rounds up to it that regret per round is averaged over."""
        return np.minimum(self.rounds, _WINDOW)

    @cached_property
    def _bands(self) -> dict[tuple[str, str, str], Band]:
        """The bands so far, since intervals take a while."""
        return {}

    def band(
        self, policy: str, statistic: Literal["mean", "median"], over: Literal["rounds", "windows", "horizons"]
    ) -> Band:
        """Return a statistic over the runs of a policy's regret, with intervals.

        Parameters
        ----------
        policy : str
            The policy's name.
        statistic : {"mean", "median"}
            The statistic.
        over : {"rounds", "windows", "horizons"}
            Regret up to each of the ``rounds``; regret per round, averaged over the ``windows``, which is too ragged
            for intervals; or regret at the end, for each of the policy's horizons. A swept policy has intervals at the
            end only.

        Returns
        -------
        Band
            One entry for each round or horizon.
        """
        key = (policy, statistic, over)
        if key not in self._bands:
            intervals = over == "horizons" or (over == "rounds" and not self.setting.swept)
            with np.errstate(invalid="ignore", over="ignore"):  # the regret of a diverged run may be infinite
                self._bands[key] = _make_band(self._samples(policy, over), statistic, intervals)
        return self._bands[key]

    def _samples(self, policy: str, over: str) -> Array:
        """Return the numbers that a band is about, shape (runs, points)."""
        if over == "horizons":
            return np.stack([self.regret(policy, horizon) for horizon in self.horizons_of(policy)], axis=1)
        curve = self.curve(policy)
        summed = np.concatenate([np.zeros_like(curve[:, :1]), curve], axis=1)
        if over == "rounds":
            return np.asarray(summed[:, self.rounds])
        return np.asarray((summed[:, self.rounds] - summed[:, self.rounds - self.windows]) / self.windows)

    def _result(self, horizon: int | None) -> Result:
        wanted = self.setting.horizon if horizon is None else horizon
        if wanted not in self.results:
            raise ArgumentError(f"horizon must be one of {list(self.horizons)}, got {horizon!r}")
        return self.results[wanted]


def _make_band(samples: Array, statistic: str, intervals: bool) -> Band:
    """Return a statistic over the runs of samples (runs, points), with its bootstrap interval."""
    reduce, resample = (np.median, resampled_medians) if statistic == "median" else (np.mean, resampled_means)
    value = np.asarray(reduce(samples, axis=0))
    if not intervals:
        return Band(value, np.full_like(value, np.nan), np.full_like(value, np.nan))
    return Band(value, *interval(resample(samples)))
