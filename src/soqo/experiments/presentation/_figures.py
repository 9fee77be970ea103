"""Figures of outcomes: regret over the horizon and over the rounds of a setting, and regret over a swept parameter.

Lines are medians over the runs; bands extend from the lower to the upper quartile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.text import figure_text
from soqo.errors import ArgumentError
from soqo.experiments.execution import Outcome
from soqo.experiments.presentation._axes import (
    LineStyle,
    add_legend,
    add_title,
    draw_band,
    label_ticks,
    policy_lines,
    scale_regret_axes,
)
from soqo.experiments.presentation._rendering import new_figure
from soqo.experiments.presentation._style import house_style, sequential_colors, typeset
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEAN_ROUNDS = 50
"""Rounds over which regret per round is averaged, because a single round is mostly noise; at most an eighth of all."""

_MAX_POINTS = 240
"""Points of a curve that are drawn; more would not be visible and would make the file larger."""


# ---- one setting ---------------------------------------------------------------------------------------------------


def regret_figure(outcome: Outcome) -> Figure:
    """Draw the regret of every policy of a setting (extra ``lab``).

    The panels show regret at the end against the horizon T, if the setting has several horizons; regret up to round t;
    and regret per round.

    Parameters
    ----------
    outcome : Outcome
        The outcome of the setting.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    See Also
    --------
    sweep_figure : For settings that sweep a parameter.

    Examples
    --------
    >>> import tempfile
    >>> from soqo.experiments.execution import run
    >>> from soqo.experiments.settings import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (outcome,) = run(find("intro"), folder, runs=1, workers=1)
    >>> [axes.get_title(loc="left") for axes in regret_figure(outcome).axes]
    ['Regret up to round t', 'Regret per round, mean of 50 rounds']
    """
    setting, several = outcome.setting, len(outcome.horizons) > 1
    window = max(1, min(_MEAN_ROUNDS, setting.horizon // 8))
    lines = policy_lines(outcome.policies)
    with house_style():
        figure = new_figure(12.0 if several else 9.0, 4.5)
        *first, over_rounds, per_round = np.atleast_1d(figure.subplots(1, 3 if several else 2))
        for axes in first:
            _draw_horizons(axes, outcome, lines)
        for line in lines:
            curve = outcome.curve(line.label)
            draw_band(over_rounds, *_thin(curve, first=1), line)
            draw_band(per_round, *_thin(_moving_mean(curve, window), first=window), line)
        over_rounds.set(xlabel="round t", ylabel="regret", title="Regret up to round t")
        mean_of = f", mean of {window} rounds" if window > 1 else ""
        per_round.set(xlabel="round t", ylabel="regret per round", title=f"Regret per round{mean_of}")
        for axes in (over_rounds, per_round):
            axes.set_xlim(0, setting.horizon)
            scale_regret_axes(axes)
        horizon = f"T = {setting.horizon}" + (" where t runs" if several else "")
        _annotate(figure, over_rounds, setting.title, f"{_describe_band(outcome.runs)}; {horizon}")
        return figure


def _draw_horizons(axes: Axes, outcome: Outcome, lines: Sequence[LineStyle]) -> None:
    """Draw regret at the end against the horizon."""
    for line in lines:
        regret = np.stack([outcome.regret(line.label, h) for h in outcome.horizons], axis=1)
        draw_band(axes, np.array(outcome.horizons), regret, line, marker="o")
    axes.set(xlabel="horizon T", ylabel="regret", title="Regret at the end, by T")
    label_ticks(axes, outcome.horizons)
    scale_regret_axes(axes)


def _moving_mean(curve: Array, window: int) -> Array:
    """Return the increments of cumulative sums, averaged over the last ``window`` rounds.

    Examples
    --------
    >>> _moving_mean(np.array([[1.0, 4.0, 9.0]]), window=2)
    array([[2., 4.]])
    """
    before = np.concatenate([np.zeros_like(curve[:, :1]), curve[:, :-window]], axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray((curve[:, window - 1 :] - before) / window)


def _thin(samples: Array, first: int) -> tuple[Array, Array]:
    """Return evenly spaced rounds, among them the first and the last, and the samples of these rounds."""
    count = samples.shape[1]
    keep = np.unique(np.linspace(0, count - 1, min(_MAX_POINTS, count)).round().astype(int))
    return first + keep.astype(float), samples[:, keep]


# ---- a sweep -------------------------------------------------------------------------------------------------------


def sweep_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Draw regret at the end against a swept parameter (extra ``lab``).

    Each swept policy has a panel and each setting a line, with a circle at its smallest median. If there is one
    setting, its other policies are drawn as horizontal lines.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Outcomes of settings that sweep a parameter.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ArgumentError
        If ``outcomes`` is empty, or if one of the settings does not sweep a parameter.

    See Also
    --------
    regret_figure : For other settings.

    Examples
    --------
    >>> import tempfile
    >>> from dataclasses import replace
    >>> from soqo.experiments.execution import run
    >>> from soqo.experiments.settings import find
    >>> (setting,) = find("sensitivity_1")
    >>> policies = {name: setting.policies[name] for name in ("SCaLE, c1 1", "SCaLE, c1 3")}
    >>> small = replace(setting, policies=policies, swept={name: setting.swept[name] for name in policies}, horizon=50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcomes = run([small], folder, runs=1, workers=1)
    >>> [axes.get_title(loc="left") for axes in sweep_figure(outcomes).axes]
    ['SCaLE']
    """
    if not outcomes or not all(outcome.setting.swept for outcome in outcomes):
        got = [outcome.setting.name for outcome in outcomes]
        raise ArgumentError(f"outcomes must be at least one, each of a setting with a sweep, got {got}")
    families = list(dict.fromkeys(s.family for o in outcomes for s in o.setting.swept.values()))
    title, labels = split_titles([outcome.setting.title for outcome in outcomes])
    colors = sequential_colors(len(outcomes))
    with house_style():
        figure = new_figure(min(12.0, 2.4 + 3.3 * len(families)), 4.4)
        panels = list(np.atleast_1d(figure.subplots(1, len(families), sharey=True)))
        for family, axes in zip(families, panels, strict=True):
            for outcome, color, label in zip(outcomes, colors, labels, strict=True):
                _draw_sweep(axes, outcome, family, LineStyle(color, "-", 1.6, label))
            if len(outcomes) == 1:
                _draw_levels(axes, outcomes[0])
            axes.set_title(figure_text(family))
        scale_regret_axes(*panels)
        panels[0].set_ylabel(f"regret at the end, T = {outcomes[0].setting.horizon}")
        runs = min(outcome.runs for outcome in outcomes)
        _annotate(figure, panels[0], title, f"{_describe_band(runs)}; circles: smallest median")
        return figure


def _draw_sweep(axes: Axes, outcome: Outcome, family: str, line: LineStyle) -> None:
    """Draw the regret of one swept policy in one setting."""
    swept = {value.value: name for name, value in outcome.setting.swept.items() if value.family == family}
    if not swept:
        return
    names = [swept[value] for value in sorted(swept)]
    values = np.array(sorted(swept))
    median = draw_band(axes, values, np.stack([outcome.regret(n) for n in names], axis=1), line, marker=".")
    if np.isfinite(median).any():
        best = int(np.nanargmin(median))
        axes.plot(values[best], median[best], "o", color=line.color, markersize=8.5, mfc="none", mew=1.8)
    axes.set_xlabel(typeset(outcome.setting.swept[names[0]].parameter))
    if values[0] > 0 and values[-1] >= 5 * values[0]:
        label_ticks(axes, values.tolist())


def _draw_levels(axes: Axes, outcome: Outcome) -> None:
    """Draw the policies that are not swept as horizontal lines."""
    for color, style, _, name in policy_lines(n for n in outcome.policies if n not in outcome.setting.swept):
        axes.axhline(outcome.median(name), color=color, linestyle=style, linewidth=1.2, label=name)


def split_titles(titles: Sequence[str]) -> tuple[str, list[str]]:
    """Return the common beginning of several titles, up to a comma or colon, and the remainder of each.

    Examples
    --------
    >>> split_titles(["Sweep: r = 1, eta = 1", "Sweep: r = 1, eta = 10"])
    ('Sweep: r = 1', ['eta = 1', 'eta = 10'])
    >>> split_titles(["A single title, which is not split"])
    ('A single title, which is not split', [''])
    >>> split_titles(["One", "Two"])
    ('One / Two', ['One', 'Two'])
    """
    if len(titles) == 1:
        return titles[0], [""]
    same = [len(set(letters)) == 1 for letters in zip(*titles, strict=False)]
    common = titles[0][: [*same, False].index(False)]
    ends = [match.end() for match in re.finditer(r"[,:] ", common)]
    if not ends:
        return " / ".join(titles), list(titles)
    return titles[0][: ends[-1] - 2], [title[ends[-1] :] for title in titles]


# ---- both ----------------------------------------------------------------------------------------------------------


def _describe_band(runs: int) -> str:
    return "one run" if runs == 1 else f"median of {runs} runs, band from lower to upper quartile"


def _annotate(figure: Figure, labeled: Axes, title: str, caption: str) -> None:
    """Add the title, and a legend with the labels of one panel."""
    add_title(figure, title)
    handles, labels = labeled.get_legend_handles_labels()
    add_legend(figure, handles, labels, caption, ncols=max(1, min(6, len(labels))))
