"""The curves of a setting's figure as numbers: means and medians over the runs, with intervals, at a few rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.bootstrap_intervals import quantiles_over_runs
from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.execution._resampling import interval, resampled_means, resampled_medians
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
    """

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class PolicyCurves(Value):
    """The curves of one policy.

    Attributes
    ----------
    mean, median : Band
        Of regret up to each of the rounds.
    mean_per_round, median_per_round : Band
        Of regret per round, averaged over the last few rounds; without intervals, which are too ragged to be seen.
    horizons : tuple of int
        The horizons T at which the policy was played.
    mean_by_horizon, median_by_horizon : Band
        Of regret at the end, one entry for each horizon.
    quartiles : tuple of Array
        The lower and the upper quartile of regret up to each of the rounds.
    diverged : int
        The number of diverged runs.
    """

    mean: Band = field(repr=False)
    median: Band = field(repr=False)
    mean_per_round: Band = field(repr=False)
    median_per_round: Band = field(repr=False)
    horizons: tuple[int, ...]
    mean_by_horizon: Band = field(repr=False)
    median_by_horizon: Band = field(repr=False)
    quartiles: tuple[Array, Array] = field(repr=False)
    diverged: int


@dataclass(frozen=True)
class Curves(Value):
    """The curves of a setting.

    Attributes
    ----------
    rounds : tuple of int
        The rounds of the curves, denser at first; the first is 1 and the last the horizon.
    windows : tuple of int
        For each of the rounds, the number of rounds up to it that regret per round is averaged over; 1 in round 1.
    policies : mapping of str to PolicyCurves
        The curves by policy.
    """

    rounds: tuple[int, ...]
    windows: tuple[int, ...]
    policies: Mapping[str, PolicyCurves] = field(repr=False)


def make_curves(outcome: Outcome, *, intervals: bool = True) -> Curves:
    """Return the curves of a setting's figure.

    Parameters
    ----------
    outcome : Outcome
        The outcome of the setting.
    intervals : bool
        Whether to compute intervals, which takes most of the time; otherwise their ends are NaN. The curves of a swept
        policy over the rounds have none, since figures show the ends of its curves only.

    Returns
    -------
    Curves
        The curves of every policy.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from tempfile import TemporaryDirectory
    >>> from soqo import FTM
    >>> from soqo.experiments import find, run
    >>> with TemporaryDirectory() as folder:
    ...     (outcome,) = run([replace(find("primary")[0], policies={"FTM": FTM()})], folder, runs=2, workers=1)
    >>> curves = make_curves(outcome)
    >>> curves.rounds[0], curves.rounds[-1], curves.policies["FTM"].horizons
    (1, 1000, (200, 400, 700, 1000, 1400, 2000))
    """
    rounds = _thin_rounds(outcome.setting.horizon)
    windows = np.minimum(rounds, _WINDOW)
    policies = {name: _policy_curves(outcome, name, rounds, windows, intervals) for name in outcome.policies}
    return Curves(tuple(rounds.tolist()), tuple(windows.tolist()), policies)


def _thin_rounds(horizon: int) -> IntArray:
    """Return at most ``_POINTS`` rounds from 1 to the horizon, the first third of them in the first tenth."""
    early = np.linspace(1, max(1, horizon // 10), _POINTS // 3)
    late = np.linspace(max(1, horizon // 10), horizon, _POINTS - _POINTS // 3)
    return np.unique(np.concatenate([early, late]).round().astype(np.int64))


def _policy_curves(outcome: Outcome, name: str, rounds: IntArray, windows: IntArray, intervals: bool) -> PolicyCurves:
    over_rounds = intervals and not outcome.setting.swept
    curve = outcome.curve(name)
    summed = np.concatenate([np.zeros_like(curve[:, :1]), curve], axis=1)
    with np.errstate(invalid="ignore", over="ignore"):  # the regret of a diverged run may be infinite
        per_round = (summed[:, rounds] - summed[:, rounds - windows]) / windows
        horizons = tuple(h for h in outcome.horizons if name in outcome.results[h].policies)
        ends = np.stack([outcome.regret(name, h) for h in horizons], axis=1)
        lower, upper = quantiles_over_runs(summed[:, rounds], [0.25, 0.75], axis=0)
        return PolicyCurves(
            mean=_band(summed[:, rounds], "mean", over_rounds),
            median=_band(summed[:, rounds], "median", over_rounds),
            mean_per_round=_band(per_round, "mean", False),
            median_per_round=_band(per_round, "median", False),
            horizons=horizons,
            mean_by_horizon=_band(ends, "mean", intervals),
            median_by_horizon=_band(ends, "median", intervals),
            quartiles=(lower, upper),
            diverged=int(outcome.results[outcome.setting.horizon][name].diverged.sum()),
        )


def _band(samples: Array, statistic: str, intervals: bool) -> Band:
    """Return a statistic over the runs of samples (runs, points), with its bootstrap interval."""
    reduce, resample = (np.median, resampled_medians) if statistic == "median" else (np.mean, resampled_means)
    with np.errstate(invalid="ignore", over="ignore"):
        value = np.asarray(reduce(samples, axis=0))
        if not intervals:
            return Band(value, np.full_like(value, np.nan), np.full_like(value, np.nan))
        return Band(value, *interval(resample(samples)))
