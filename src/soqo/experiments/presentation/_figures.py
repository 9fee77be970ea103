"""Pictures of outcomes in one style: regret over T and over t for a setting, regret over a parameter for a sweep.

Lines are medians over the runs, bands run from the lower to the upper quartile. A policy has the same color everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soqo._storage.files import replacing
from soqo.errors import ArgumentError, require_extra
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.presentation._style import RC, SMALL, look, ordered, symbols
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["regret_figure", "save_figure", "shared_title", "sweep_figure"]

WINDOW = 50
"""Rounds that regret per round is averaged over, an eighth of all at most: one round's is mostly noise."""

POINTS = 240
"""Points of a curve that are drawn: more cannot be seen, and would only make the file larger."""

HUGE = 1e100
"""Regret above this is that of a run which diverged, and off every scale."""


# ---- one setting ---------------------------------------------------------------------------------------------------


def regret_figure(outcome: Outcome) -> Figure:
    """Regret_T against T, if the setting has several horizons; regret up to round t; and regret per round.

    Examples
    --------
    >>> from soqo.experiments.execution._engine import run
    >>> from soqo.experiments.settings._catalogue import find
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (outcome,) = run(find("intro"), folder, runs=1, workers=1)
    >>> [axes.get_title(loc="left") for axes in regret_figure(outcome).axes]
    ['Regret up to round t', 'Regret per round, mean of 50 rounds']
    """
    setting, several = outcome.setting, len(outcome.horizons) > 1
    window = max(1, min(WINDOW, setting.horizon // 8))
    with context():
        figure = new_figure(12.0 if several else 9.0, 4.5)
        panels = list(np.atleast_1d(figure.subplots(1, 3 if several else 2)))
        over_horizons = panels.pop(0) if several else None
        over_rounds, per_round = panels
        for line in lines_of(outcome.policies):
            curve = outcome.curve(line.label)
            if over_horizons is not None:
                ends = np.stack([outcome.regret(line.label, h) for h in outcome.horizons], axis=1)
                band(over_horizons, np.array(outcome.horizons), ends, line, marker="o")
            band(over_rounds, *thinned(curve, first=1), line)
            band(per_round, *thinned(moving_mean(curve, window), first=window), line)
        if over_horizons is not None:
            over_horizons.set(xlabel="horizon T", ylabel="regret", title="Regret at the end, by T")
            named_ticks(over_horizons, outcome.horizons)
            regret_scale(over_horizons)
        over_rounds.set(xlabel="round t", ylabel="regret", title="Regret up to round t")
        mean_of = f", mean of {window} rounds" if window > 1 else ""
        per_round.set(xlabel="round t", ylabel="regret per round", title=f"Regret per round{mean_of}")
        for axes in (over_rounds, per_round):
            axes.set_xlim(0, setting.horizon)
            regret_scale(axes)
        horizon = f"T = {setting.horizon}" + (" where t runs" if several else "")
        finish(figure, over_rounds, setting.title, f"{caption(outcome.runs)}; {horizon}")
        return figure


def moving_mean(curve: Array, window: int) -> Array:
    """What a curve of running sums grows by in each round, averaged over the last ``window`` rounds.

    Examples
    --------
    >>> moving_mean(np.array([[1.0, 4.0, 9.0]]), window=2)
    array([[2., 4.]])
    """
    before = np.concatenate([np.zeros_like(curve[:, :1]), curve[:, :-window]], axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray((curve[:, window - 1 :] - before) / window)


def thinned(samples: Array, first: int) -> tuple[Array, Array]:
    """Rounds, and what was measured in them: as many as can be seen, the last among them."""
    count = samples.shape[1]
    keep = np.unique(np.linspace(0, count - 1, min(POINTS, count)).round().astype(int))
    return first + keep.astype(float), samples[:, keep]


# ---- a sweep -------------------------------------------------------------------------------------------------------


def sweep_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Regret at the end against the swept parameter: a panel for each family, a line for each setting.

    The smallest median of a line is marked. Policies that are in the setting and not in the sweep are level lines,
    if there is one setting.
    """
    if not outcomes or not all(outcome.setting.swept for outcome in outcomes):
        raise ArgumentError("outcomes must be at least one, each of a setting with a sweep")
    families = list(dict.fromkeys(s.family for o in outcomes for s in o.setting.swept.values()))
    title, labels = shared_title([outcome.setting.title for outcome in outcomes])
    colors = ordered(len(outcomes))
    with context():
        figure = new_figure(min(12.0, 2.4 + 3.3 * len(families)), 4.4)
        panels = list(np.atleast_1d(figure.subplots(1, len(families), sharey=True)))
        for family, axes in zip(families, panels, strict=True):
            for outcome, color, label in zip(outcomes, colors, labels, strict=True):
                sweep_line(axes, outcome, family, Line(color, "-", 1.6, label))
            if len(outcomes) == 1:
                level_lines(axes, outcomes[0])
            axes.set_title(family)
        regret_scale(*panels)
        horizon = outcomes[0].setting.horizon
        panels[0].set_ylabel(f"regret at the end, T = {horizon}")
        runs = min(outcome.runs for outcome in outcomes)
        finish(figure, panels[0], title, f"{caption(runs)}; circles: smallest median")
        return figure


def sweep_line(axes: Axes, outcome: Outcome, family: str, line: Line) -> None:
    """One family in one setting."""
    names = [n for n, swept in outcome.setting.swept.items() if swept.family == family]
    if not names:
        return
    found = outcome.setting.swept
    names.sort(key=lambda name: found[name].value)
    values = np.array([found[name].value for name in names])
    median = band(axes, values, np.stack([outcome.regret(n) for n in names], axis=1), line, marker=".")
    if np.isfinite(median).any():
        best = int(np.nanargmin(median))
        axes.plot(values[best], median[best], "o", color=line.color, markersize=8.5, mfc="none", mew=1.8)
    axes.set_xlabel(symbols(found[names[0]].parameter))
    if values[0] > 0 and values[-1] >= 5 * values[0]:
        named_ticks(axes, values.tolist())


def level_lines(axes: Axes, outcome: Outcome) -> None:
    """The policies that are not in the sweep."""
    others = tuple(name for name in outcome.policies if name not in outcome.setting.swept)
    for line in lines_of(others):
        axes.axhline(
            outcome.median(line.label),
            color=line.color,
            linestyle=line.style,
            linewidth=1.2,
            label=line.label,
        )


def shared_title(titles: Sequence[str]) -> tuple[str, list[str]]:
    """What several titles begin with, up to a comma or colon; and what is left of each.

    Examples
    --------
    >>> shared_title(["Sweep: r = 1, eta = 1", "Sweep: r = 1, eta = 10"])
    ('Sweep: r = 1', ['eta = 1', 'eta = 10'])
    >>> shared_title(["Alone, it keeps its title"])
    ('Alone, it keeps its title', [''])
    """
    if len(titles) == 1:
        return titles[0], [""]
    same = [len(set(letters)) == 1 for letters in zip(*titles, strict=False)]
    common = titles[0][: [*same, False].index(False)]
    ends = [found.end() for found in re.finditer(r"[,:] ", common)]
    if not ends:
        return " / ".join(titles), list(titles)
    return titles[0][: ends[-1] - 2], [title[ends[-1] :] for title in titles]


# ---- what all pictures share ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """How a policy is drawn."""

    color: str
    style: str
    width: float
    label: str


def lines_of(policies: tuple[str, ...]) -> list[Line]:
    """Each line a little thinner than the one before, so that one which hides another lets it show."""
    return [
        Line(color, style, max(1.1, 2.3 - 0.12 * index), name)
        for index, (name, (color, style)) in enumerate(look(policies).items())
    ]


def context() -> AbstractContextManager[None]:
    """The house style, for as long as a picture is made."""
    matplotlib = require_extra("matplotlib", "lab")
    return matplotlib.rc_context(RC)  # type: ignore[no-any-return]  # found at run time, so untyped


def new_figure(width: float, height: float) -> Figure:
    """An empty one, in inches; without pyplot, which keeps every figure until it is told to forget it."""
    module = require_extra("matplotlib.figure", "lab")
    figure: Figure = module.Figure(figsize=(width, height), layout="constrained")
    return figure


def band(axes: Axes, x: Array, samples: Array, line: Line, marker: str = "") -> Array:
    """Draw and return a median line with its quartile band; samples have shape (runs, len(x))."""
    lower, median, upper = quartiles(samples)
    axes.fill_between(x, lower, upper, color=line.color, alpha=0.1, linewidth=0)
    axes.plot(
        x,
        median,
        line.style,
        color=line.color,
        linewidth=line.width,
        label=line.label or None,
        marker=marker,
        markersize=7 if marker == "." else 3,
    )
    return median


def quartiles(samples: Array) -> tuple[Array, Array, Array]:
    """The lower quartile, the median and the upper one over the runs; NaN where they are those of a diverged run."""
    capped = np.nan_to_num(samples, nan=HUGE, posinf=HUGE, neginf=-HUGE).clip(-HUGE, HUGE)
    found = np.quantile(capped, [0.25, 0.5, 0.75], axis=0)
    lower, median, upper = np.where(np.abs(found) < 0.1 * HUGE, found, np.nan)
    return lower, median, upper


def regret_scale(*panels: Axes) -> None:
    """A log axis if all that is drawn is positive, and else one with room for zero and below; one for all panels."""
    drawn = [np.asarray(line.get_ydata(), float) for axes in panels for line in axes.get_lines()]
    values = np.concatenate([*drawn, np.zeros(0)])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.1, 1.0)
    for axes in panels:
        if low > 0.0:
            axes.set_yscale("log")
            axes.set_ylim(*enough_decades(0.6 * low, 1.8 * high))
        else:
            signed_scale(axes, values, low, high)
        axes.yaxis.set_major_formatter(lambda value, _: power(value))


def enough_decades(low: float, high: float) -> tuple[float, float]:
    """Limits with at least two powers of ten between them, for the axis to have two labels.

    Examples
    --------
    >>> enough_decades(30.0, 80.0)
    (10.0, 100.0)
    """
    if np.floor(np.log10(high)) > np.ceil(np.log10(low)):
        return low, high
    return float(10.0 ** np.floor(np.log10(low))), float(10.0 ** np.ceil(np.log10(high)))


def signed_scale(axes: Axes, values: Array, low: float, high: float) -> None:
    """Logarithmic above and below, linear where the smallest tenth of the values is."""
    largest = max(-low, high, 1e-12)
    typical = float(np.quantile(np.abs(values), 0.1))
    start = int(np.floor(np.log10(np.clip(typical, 1e-4 * largest, 0.1 * largest))))
    linear = 10.0**start
    low, high = min(1.8 * low, -0.3 * linear), max(1.8 * high, linear)
    axes.set_yscale("symlog", linthresh=linear)
    axes.set_ylim(low, high)
    # The axis's own ticks go on inside the linear part, where their labels would overlap.
    decades = [10.0**k for k in range(start, int(np.log10(largest)) + 2)]
    every = 1 + sum(d <= -low or d <= high for d in decades) // 6
    ticks = [sign * d for d in decades[::every] for sign in (-1, 1) if low <= sign * d <= high]
    axes.set_yticks([0.0, *ticks])
    axes.set_yticks([], minor=True)
    axes.axhline(0.0, color="black", linewidth=0.8, zorder=1)


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value: float) -> str:
    """A number for a tick: as it is if it is short, and else as a power of ten.

    Examples
    --------
    >>> [power(value) for value in (0.0, 0.1, 100.0, -1e4, 2e6)]
    ['0', '0.1', '100', '-10⁴', '2·10⁶']
    """
    if value == 0.0 or 1e-2 <= abs(value) < 999.0:
        return f"{value:g}"
    exponent = int(np.floor(np.log10(abs(value)) + 1e-9))
    digits = f"{value / 10.0**exponent:g}·".replace("-1·", "-").removeprefix("1·")
    return f"{digits}10{str(exponent).translate(SUPERSCRIPTS)}"


def named_ticks(axes: Axes, values: Sequence[float]) -> None:
    """A log axis with ticks at these values, labeled where there is room."""
    axes.set_xscale("log")
    axes.set_xticks(list(values))
    gap = np.log(values[-1] / values[0]) / 8.0
    labels, last = [], -np.inf
    for value in values:
        room = np.log(value) - last >= gap
        last = np.log(value) if room else last
        labels.append(f"{value:g}" if room else "")
    axes.set_xticklabels(labels)
    axes.minorticks_off()


def caption(runs: int) -> str:
    """What a line and a band are."""
    if runs == 1:
        return "one run"
    return f"median of {runs} runs, band from lower to upper quartile"


def finish(figure: Figure, labeled: Axes, title: str, note: str) -> None:
    """Title, note and legend."""
    figure.suptitle(symbols(title), x=0.008, ha="left", weight="bold", size="large", gid="title")
    handles, labels = labeled.get_legend_handles_labels()
    legend = figure.legend(
        handles,
        [symbols(label) for label in labels],
        loc="outside lower left",
        ncols=max(1, min(6, len(labels))),
        title=note,
        alignment="left",
    )
    legend.get_title().set(color=SMALL, fontsize="small")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure in the format that the path's suffix names, whole or not at all.

    The house settings and a missing date make an SVG of the same numbers the same file; its texts are text.
    """
    with context(), replacing(path) as temporary:
        kind = path.suffix.removeprefix(".")
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(temporary, format=kind, metadata=nothing if kind == "svg" else None)
        if kind == "svg":
            # A hundredth of a point is enough: the file becomes a third smaller.
            text = temporary.read_text(encoding="utf-8")
            temporary.write_text(shortened(text), encoding="utf-8")
    return path


def shortened(svg: str) -> str:
    """An SVG with the coordinates of its paths to two digits.

    Examples
    --------
    >>> shortened('<path d="M 10.123456 2.5 L 3.999 4"/> 1.2345')
    '<path d="M 10.12 2.5 L 3.99 4"/> 1.2345'
    """
    digits = re.compile(r"(\.\d\d)\d+")
    return re.sub(r'\sd="[^"]*"', lambda found: digits.sub(r"\1", found[0]), svg)
