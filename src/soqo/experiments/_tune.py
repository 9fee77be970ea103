"""Line search for a parameter of policies, as the paper tunes c1: the value with the least regret, on common paths."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from soqo._foundation.arguments import finite_array
from soqo._foundation.bootstrap_intervals import bootstrap_statistic, percentile_interval
from soqo._foundation.frozen_dataclasses import Value
from soqo._simulation.simulate import Progress, simulate
from soqo._simulation.summary import format_short
from soqo.errors import ArgumentError
from soqo.experiments.execution import Band
from soqo.experiments.presentation import Chart, Curve, Panel, draw_chart, policy_styles, save_figure, write_csv
from soqo.experiments.settings import Setting
from soqo.typing import Array

_VALUES = (0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)
"""The values of c1 that are searched by default."""

_RESAMPLES, _LEVEL = 2000, 0.95
"""The number of bootstrap resamples, and the coverage of intervals."""

_BAR_WIDTH = 30
"""The length of the longest bar in characters."""


@dataclass(frozen=True)
class TuningCurve(Value):
    """The regret of one policy at each value of its parameter.

    Attributes
    ----------
    values : Array, shape (values,)
        The values, increasing.
    regret : Array, shape (values, runs)
        The regret after the last round; infinite for runs that overflowed. All values in a column have the same path
        and the same noise.
    """

    values: Array
    regret: Array

    @cached_property
    def medians(self) -> Array:
        """The medians over the runs, shape (values,)."""
        return np.median(self.regret, axis=1)

    @property
    def best(self) -> float:
        """The value with the least median."""
        return float(self.values[self.medians.argmin()])

    @cached_property
    def _resampled(self) -> Array:
        """The medians of resampled runs, shape (resamples, values)."""
        return bootstrap_statistic(self.regret, resamples=_RESAMPLES)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the best value; NaN for a single run."""
        if self.regret.shape[1] < 2:
            return (float("nan"), float("nan"))
        best = self.values[self._resampled.argmin(axis=1)]
        return percentile_interval(best, (0.5 - _LEVEL / 2, 0.5 + _LEVEL / 2), method="inverted_cdf")

    @property
    def u_shaped(self) -> bool:
        """Whether regret is larger on both sides of the best value.

        The rule: the best value is neither the first nor the last, and at both of these the median is above that at the
        best value in at least 95 % of bootstrap resamples. A single run is never U-shaped.
        """
        at = int(self.medians.argmin())
        if at in (0, self.values.size - 1) or self.regret.shape[1] < 2:
            return False
        ends = self._resampled[:, [0, -1]] > self._resampled[:, [at]]
        return bool((ends.mean(axis=0) >= _LEVEL).all())

    def bars(self) -> list[str]:
        """Return a bar for each value, longer for a larger median, on a log scale if all medians are positive."""
        heights = np.log(self.medians) if (self.medians > 0.0).all() else self.medians
        finite = heights[np.isfinite(heights)]
        low, span = (finite.min(), float(np.ptp(finite))) if finite.size else (0.0, 0.0)
        shares = [(h - low) / span if span else 0.0 for h in heights]
        return ["#" * (1 + round((_BAR_WIDTH - 1) * min(1.0, share))) for share in shares]


@dataclass(frozen=True)
class Tuning(Value):
    """The result of a line search; printing it gives a table with bars.

    Attributes
    ----------
    setting, parameter : str
        The names of the setting and of the parameter.
    horizon : int
        The number of rounds.
    curves : mapping of str to TuningCurve
        The curves by policy.
    """

    setting: str
    parameter: str
    horizon: int
    curves: Mapping[str, TuningCurve] = field(repr=False)

    def __str__(self) -> str:
        return "\n\n".join(self.table(name) for name in self.curves)

    def table(self, policy: str) -> str:
        """Return one policy's curve as a table, with the best value below.

        Parameters
        ----------
        policy : str
            The policy's name.
        """
        curve = self.curves[policy]
        numbers = zip(curve.values, curve.medians, *_quartiles(curve), curve.bars(), strict=True)
        rows = [
            [f"{value:g}", format_short(median), f"{format_short(low)} .. {format_short(high)}", bar]
            for value, median, low, high, bar in numbers
        ]
        header = [self.parameter, "median", "quartiles", ""]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join([*(cell.rjust(w) for cell, w in zip(row, widths[:3], strict=False)), row[3]])
            for row in [header, *rows]
        ]
        low, high = curve.interval
        shape = "U-shaped" if curve.u_shaped else "not U-shaped"
        best = f"best {self.parameter} = {curve.best:g}, 95% interval {low:g} .. {high:g}, {shape}"
        title = f"{policy}: regret after {self.horizon} rounds, {curve.regret.shape[1]} runs"
        return "\n".join([title, *(line.rstrip() for line in lines), best])

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write ``SETTING_tune_PARAMETER.csv``, ``.png`` and ``.svg`` into a folder, which is created if necessary.

        Parameters
        ----------
        folder : path
            The folder.

        Returns
        -------
        list of Path
            The files.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        stem = f"{self.setting}_tune_{self.parameter}"
        rows: list[list[object]] = [["policy", self.parameter, "run", "regret"]]
        for name, curve in self.curves.items():
            for value, regret in zip(curve.values.tolist(), curve.regret.tolist(), strict=True):
                rows += [[name, value, run, r] for run, r in enumerate(regret)]
        figure = draw_chart(_tuning_chart(self))
        pictures = [save_figure(figure, place / f"{stem}.{suffix}") for suffix in ("png", "svg")]
        return [write_csv(place / f"{stem}.csv", rows), *pictures]


def tune(
    setting: Setting,
    parameter: str = "c1",
    *,
    values: Iterable[float] = _VALUES,
    horizon: int | None = None,
    runs: int | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Find the value of a parameter with the least median regret, for every policy of a setting that has it.

    All values have the same paths and the same noise, so that differences between values are not due to chance.

    Parameters
    ----------
    setting : Setting
        The setting.
    parameter : str
        A numeric argument of policies, such as the ``c1`` of SCaLE and HySCaLE.
    values : iterable of float
        The values, increasing.
    horizon, runs : int, optional
        The number of rounds and of runs, instead of the setting's own.
    progress : callable, optional
        As in :func:`soqo.simulate`.

    Returns
    -------
    Tuning
        The regret for each value, by policy.

    Examples
    --------
    >>> from soqo.experiments import find
    >>> tuning = tune(find("primary")[0], values=[1.0, 3.0, 30.0], horizon=200, runs=4)
    >>> list(tuning.curves)[0], tuning.curves["SCaLE"].regret.shape
    ('SCaLE as printed', (3, 4))
    """
    grid = finite_array("values", list(values))
    if grid.size == 0 or (np.diff(grid) <= 0.0).any():
        raise ArgumentError(f"values must be increasing numbers, got {grid.tolist()}")
    policies = _policies_with(setting, parameter)
    variants = {
        f"{name}, {parameter} {value!r}": _replace_value(name, policy, parameter, value)
        for name, policy in policies.items()
        for value in grid.tolist()
    }
    T, count = setting.horizon if horizon is None else horizon, setting.runs if runs is None else runs
    result = simulate(setting.environment, variants, horizon=T, runs=count, seed=setting.seed, progress=progress)
    regret = np.array([result.regret(label)[:, -1] for label in variants]).reshape(len(policies), grid.size, -1)
    regret[np.isnan(regret)] = np.inf
    curves = {name: TuningCurve(grid, of_values) for name, of_values in zip(policies, regret, strict=True)}
    return Tuning(setting.name, parameter, result.horizon, curves)


def _policies_with(setting: Setting, parameter: str) -> dict[str, Any]:
    """Return the policies that have the parameter; a sweep of it counts once, under the name of its family."""
    found: dict[str, Any] = {}
    for name, policy in setting.policies.items():
        point = setting.swept.get(name)
        family = point.family if point is not None and point.parameter == parameter else name
        if dataclasses.is_dataclass(policy) and not isinstance(policy, type):
            fields = {field.name for field in dataclasses.fields(policy) if field.init}
            if parameter in fields:
                found.setdefault(family, policy)
    if not found:
        names = ", ".join(setting.policies)
        raise ArgumentError(
            f"parameter must be an argument of a policy of {setting.name!r}, which has {names}; got {parameter!r}"
        )
    return found


def _replace_value(name: str, policy: Any, parameter: str, value: float) -> Any:
    try:
        return dataclasses.replace(policy, **{parameter: value})
    except ArgumentError as error:
        raise ArgumentError(f"values must be valid for {name}: {error}") from error


def _quartiles(curve: TuningCurve) -> tuple[Array, Array]:
    lower, upper = np.quantile(curve.regret, [0.25, 0.75], axis=1, method="inverted_cdf")
    return lower, upper


def _tuning_chart(tuning: Tuning) -> Chart:
    """Return the median regret over the parameter with quartile bands, and a ring at each policy's best value."""
    curves = []
    for name, style in policy_styles(tuple(tuning.curves)).items():
        found = tuning.curves[name]
        label = f"{name}: best {tuning.parameter} = {found.best:g}"
        curves.append(Curve(label, *style, found.values, {"median": Band(found.medians, *_quartiles(found))}))
    positive = all((curve.bands["median"].low > 0.0).all() for curve in curves)
    y_label, runs = f"regret after {tuning.horizon} rounds", next(iter(tuning.curves.values())).regret.shape[1]
    panel = Panel("", tuning.parameter, y_label, tuple(curves), marks=True, log=positive)
    return Chart(tuning.setting, tuning.setting, (panel,), "median", runs, "quartiles", areas=True)
