"""Line search for a parameter of policies, as the paper tunes c1: the value with the least regret, on common paths."""

from __future__ import annotations

import csv
import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._arguments import finite_array
from soqo._simulation import Progress, simulate
from soqo._storage.files import replacing
from soqo._summary import short
from soqo.errors import ArgumentError, require_extra
from soqo.experiments.presentation._style import RC, look
from soqo.experiments.settings._spec import Setting
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["VALUES", "Curve", "Tuning", "tune", "tuning_figure"]

VALUES = (0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)
"""The values of c1 that are tried if none are given."""

RESAMPLES, LEVEL = 2000, 0.95
"""Of the bootstrap over runs."""

WIDTH = 30
"""Characters of the longest bar."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The regret of one policy at each value of its parameter.

    Attributes
    ----------
    values : Array, shape (values,)
    regret : Array, shape (values, runs)
        At the end; infinite for runs that diverged beyond all numbers. Column k is the same path and the same noise
        for every value.
    """

    values: Array
    regret: Array

    @cached_property
    def medians(self) -> Array:
        """Over the runs, shape (values,)."""
        return np.median(self.regret, axis=1)

    @property
    def best(self) -> float:
        """The value with the least median."""
        return float(self.values[self.medians.argmin()])

    @cached_property
    def resampled(self) -> Array:
        """The medians of resampled runs, the same runs for every value, shape (resamples, values)."""
        runs = self.regret.shape[1]
        chosen = np.random.default_rng(0).integers(runs, size=(RESAMPLES, runs))
        return np.stack([np.median(row[chosen], axis=1) for row in self.regret], axis=1)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the best value; NaN for a single run."""
        if self.regret.shape[1] < 2:
            return (float("nan"), float("nan"))
        best = self.values[self.resampled.argmin(axis=1)]
        tails = [0.5 - LEVEL / 2, 0.5 + LEVEL / 2]
        low, high = np.quantile(best, tails, method="inverted_cdf")
        return (float(low), float(high))

    @property
    def u_shaped(self) -> bool:
        """Whether regret is larger on both sides.

        The rule: the best value is neither the first nor the last, and at both of these the median is above that at the
        best value in at least 95 % of bootstrap resamples. A single run proves nothing.
        """
        at = int(self.medians.argmin())
        if at in (0, self.values.size - 1) or self.regret.shape[1] < 2:
            return False
        ends = self.resampled[:, [0, -1]] > self.resampled[:, [at]]
        return bool((ends.mean(axis=0) >= LEVEL).all())

    def bars(self) -> list[str]:
        """A bar for each value, longer where the median is larger; on a log scale where all are positive."""
        heights = np.log(self.medians) if (self.medians > 0.0).all() else self.medians
        finite = heights[np.isfinite(heights)]
        low, span = (finite.min(), float(np.ptp(finite))) if finite.size else (0.0, 0.0)
        shares = [(h - low) / span if span else 0.0 for h in heights]
        return ["#" * (1 + round((WIDTH - 1) * min(1.0, share))) for share in shares]


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a line search found; printing it gives a table with bars.

    Attributes
    ----------
    setting, parameter : str
    horizon : int
    curves : mapping of str to Curve
        By policy.
    """

    setting: str
    parameter: str
    horizon: int
    curves: Mapping[str, Curve]

    def __str__(self) -> str:
        return "\n\n".join(self.table(name) for name in self.curves)

    def table(self, policy: str) -> str:
        """One policy's curve, with what follows from it."""
        curve = self.curves[policy]
        lower, upper = np.quantile(curve.regret, [0.25, 0.75], axis=1, method="inverted_cdf")
        rows = [
            [f"{value:g}", short(median), f"{short(low)} .. {short(high)}", bar]
            for value, median, low, high, bar in zip(
                curve.values, curve.medians, lower, upper, curve.bars(), strict=True
            )
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
        """Write ``SETTING_tune_PARAMETER.csv``, ``.png`` and ``.svg`` into a folder, made if need be."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        stem = f"{self.setting}_tune_{self.parameter}"
        table = place / f"{stem}.csv"
        with replacing(table) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["policy", self.parameter, "run", "regret"])
            for name, curve in self.curves.items():
                for value, row in zip(curve.values, curve.regret, strict=True):
                    writer.writerows([name, value, run, r] for run, r in enumerate(row.tolist()))
        pyplot = require_extra("matplotlib.pyplot", "lab")
        figure = tuning_figure(self)
        pictures = [place / f"{stem}.png", place / f"{stem}.svg"]
        with pyplot.rc_context(RC):
            for path in pictures:
                # Without a date, an SVG of the same numbers is the same file.
                figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)
        return [table, *pictures]


def tune(
    setting: Setting,
    parameter: str = "c1",
    values: Iterable[float] = VALUES,
    *,
    horizon: int | None = None,
    runs: int | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Find the value of a parameter with the least median regret, for every policy of a setting that has it.

    Every value meets the same paths and the same noise, so that differences between values are not differences in luck.

    Parameters
    ----------
    setting : Setting
    parameter : str
        A number among the arguments of policies, such as the ``c1`` of SCaLE and HySCaLE.
    values : iterable of float
        Increasing.
    horizon, runs : int, optional
        In place of the setting's own.
    progress : callable, optional
        As in :func:`soqo.simulate`.

    Examples
    --------
    >>> from soqo.experiments.settings._catalogue import find
    >>> tuning = tune(find("primary")[0], values=[1.0, 3.0, 30.0], horizon=200, runs=4)
    >>> list(tuning.curves)[0], tuning.curves["SCaLE"].regret.shape
    ('SCaLE', (3, 4))
    """
    tried = finite_array("values", list(values))
    if tried.size == 0 or (np.diff(tried) <= 0.0).any():
        raise ArgumentError(f"values must be increasing numbers, got {tried.tolist()}")
    policies = tunable(setting, parameter)
    named = {
        (name, float(value)): changed(name, policy, parameter, float(value))
        for name, policy in policies.items()
        for value in tried
    }
    result = simulate(
        setting.environment,
        {label(name, parameter, value): policy for (name, value), policy in named.items()},
        setting.horizon if horizon is None else horizon,
        setting.runs if runs is None else runs,
        setting.seed,
        progress=progress,
    )
    curves = {}
    for name in policies:
        regret = np.stack([result.regret(label(name, parameter, v))[:, -1] for v in tried])
        curves[name] = Curve(tried, np.where(np.isnan(regret), np.inf, regret))
    return Tuning(setting.name, parameter, result.horizon, curves)


def label(name: str, parameter: str, value: float) -> str:
    """What a policy is called at a value."""
    return f"{name}, {parameter} {float(value)!r}"


def tunable(setting: Setting, parameter: str) -> dict[str, Any]:
    """The policies that have the parameter; of a sweep of it, one stands for the family."""
    found: dict[str, Any] = {}
    for name, policy in setting.policies.items():
        swept = setting.swept.get(name)
        family = swept.family if swept is not None and swept.parameter == parameter else name
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


def changed(name: str, policy: Any, parameter: str, value: float) -> Any:
    """A policy with another value of the parameter."""
    try:
        return dataclasses.replace(policy, **{parameter: value})
    except ArgumentError as error:
        raise ArgumentError(f"values must suit {name}: {error}") from error


def tuning_figure(tuning: Tuning) -> Figure:
    """Median regret over the parameter with quartile bands, and a dot at each policy's best value."""
    pyplot = require_extra("matplotlib.pyplot", "lab")
    with pyplot.rc_context(RC):
        figure: Figure
        figure, axes = pyplot.subplots(figsize=(6.0, 4.0), layout="constrained")
        positive = True
        for name, (color, style) in look(tuple(tuning.curves)).items():
            curve = tuning.curves[name]
            lower, upper = np.quantile(curve.regret, [0.25, 0.75], axis=1, method="inverted_cdf")
            positive &= bool((lower > 0.0).all())
            text = f"{name}: best {tuning.parameter} = {curve.best:g}"
            axes.fill_between(curve.values, lower, upper, color=color, alpha=0.18, linewidth=0)
            axes.plot(curve.values, curve.medians, style, color=color, label=text)
            axes.plot([curve.best], [curve.medians.min()], "o", color=color)
        if positive:
            axes.set_yscale("log")
        axes.set(
            xlabel=tuning.parameter,
            ylabel=f"regret after {tuning.horizon} rounds",
            title=f"{tuning.setting}: medians and quartiles",
        )
        axes.legend()
        return figure
