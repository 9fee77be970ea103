"""Figures of outcomes for files: regret by horizon, over rounds and per round, and regret over a swept parameter.

Thick lines are means with their 95 % intervals, thin lines medians; where the steps of v have no variance it is the
other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.figure_style import house_style
from soqo.experiments.execution import Outcome, make_curves
from soqo.experiments.presentation._axes import add_legend, add_title, label_ticks
from soqo.experiments.presentation._charts import Chart, Curve, Panel, Statistic, beyond_axes, vertical_range
from soqo.experiments.presentation._outcome_charts import beside_chart, regret_chart, split_titles, sweep_chart
from soqo.experiments.presentation._rendering import new_figure
from soqo.experiments.presentation._static_panel import format_ticks, linear_ticks
from soqo.experiments.presentation._style import CAPTION_COLOR, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def regret_figure(outcome: Outcome) -> Figure:
    """Draw the regret of the policies of a setting (extra ``lab``).

    The panels show regret at the end against the horizon T, if the setting has several horizons; regret up to round t;
    and regret per round. Policies that are not in the paper have a panel of their own, if the setting has policies of
    the paper.

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
    >>> from dataclasses import replace
    >>> from soqo import FTM
    >>> from soqo.experiments.execution import run
    >>> from soqo.experiments.settings import find
    >>> setting = replace(find("intro")[0], policies={"FTM": FTM()}, roles={}, horizons=())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (outcome,) = run([setting], folder, runs=1, workers=1)
    >>> [axes.get_title(loc="left") for axes in regret_figure(outcome).axes]
    ['Regret up to round t', 'Regret per round, over 10 rounds']
    """
    curves = make_curves(outcome)
    chart, beside = regret_chart(outcome, curves), beside_chart(outcome, curves)
    panels = list(chart.panels)
    if beside is not None:
        (over_rounds,) = (panel for panel in beside.panels if panel.title == "Regret up to round t")
        panels.append(replace(over_rounds, title="Not in the paper: regret up to round t"))
    return _draw(replace(chart, panels=tuple(panels)), outcome.setting.title, f"T = {outcome.setting.horizon}")


def sweep_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Draw regret at the end against a swept parameter (extra ``lab``).

    Each swept policy has a panel and each setting a line, with a circle at its smallest value. If there is one
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
    chart = sweep_chart(outcomes, {outcome.setting.name: make_curves(outcome) for outcome in outcomes})
    title, _ = split_titles([outcome.setting.title for outcome in outcomes])
    return _draw(chart, title, "circles: the smallest")


def _draw(chart: Chart, title: str, caption: str) -> Figure:
    """Draw a chart on a grid of panels, with one legend."""
    count = len(chart.panels)
    rows, columns = (1, count) if count <= 3 else (2, (count + 1) // 2)
    with house_style():
        figure = new_figure(max(4.6, min(12.0, (4.8 if rows > 1 else 4.0) * columns)), 3.3 * rows + 1.1)
        places = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        for axes, panel in zip(places, chart.panels, strict=False):
            _draw_panel(axes, panel, chart.statistic)
        for axes in places[count:]:
            axes.remove()
        add_title(figure, title)
        handles: dict[str, object] = {}
        for axes in figure.axes:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        told = f"{_describe(chart)}; {caption}"
        add_legend(figure, list(handles.values()), list(handles), told, ncols=max(1, min(2 * columns, len(handles))))  # type: ignore[arg-type]  # handles are artists
        return figure


def _draw_panel(axes: Axes, panel: Panel, statistic: Statistic) -> None:
    """Draw the curves of a panel on a linear vertical axis."""
    other: Statistic = "median" if statistic == "mean" else "mean"
    if panel.explored:
        axes.axvspan(0, panel.explored, color="#888888", alpha=0.12, linewidth=0)
    for curve in panel.shown:
        _draw_curve(axes, curve, statistic, other, panel)
    axes.axhline(0.0, color="black", linewidth=0.8, zorder=1)
    axes.set(xlabel=typeset(panel.x_label), ylabel=panel.y_label, title=panel.title)
    low, high = vertical_range(panel, statistic)
    axes.set_ylim(low, high)
    # Plain text: Matplotlib's own labels are formulas, and setting them takes a third of the time of a figure.
    ticks = linear_ticks(low, high)
    axes.set_yticks(ticks, format_ticks(ticks))
    if panel.ticks:
        label_ticks(axes, panel.ticks)
    else:
        end = max((float(curve.x[-1]) for curve in panel.shown), default=1.0)
        axes.set_xlim(0.0, end)
        axes.set_xticks(linear_ticks(0.0, end), [f"{tick:g}" for tick in linear_ticks(0.0, end)])
    if outside := beyond_axes(panel, statistic):
        note = f"above the axis: {', '.join(outside)}"
        axes.annotate(note, (0.02, 0.98), xycoords="axes fraction", va="top", size="x-small", color=CAPTION_COLOR)


def _draw_curve(axes: Axes, curve: Curve, statistic: Statistic, other: Statistic, panel: Panel) -> None:
    """Draw one statistic with its interval, and the other one as a thin line."""
    band = curve.bands[statistic]
    if panel.intervals:
        axes.fill_between(curve.x, band.low, band.high, color=curve.color, alpha=0.12, linewidth=0)
        # Without intervals there are too many lines for a second statistic, too.
        axes.plot(curve.x, curve.bands[other].value, curve.dash, color=curve.color, linewidth=0.7, alpha=0.7)
    axes.plot(curve.x, band.value, curve.dash, color=curve.color, linewidth=1.8, label=curve.label)
    if panel.marks and curve.x.size > 2 and np.isfinite(band.value).any():
        best = int(np.nanargmin(band.value))
        axes.plot(curve.x[best], band.value[best], "o", color=curve.color, markersize=8.5, mfc="none", mew=1.8)


def _describe(chart: Chart) -> str:
    if chart.runs == 1:
        return "one run"
    other = "median" if chart.statistic == "mean" else "mean"
    return f"{chart.statistic} of {chart.runs} runs with 95 % interval; thin: {other}"
