"""Figures of outcomes for files: regret by horizon, over rounds and per round, and regret over a swept parameter.

Thick lines are means with their 95 % intervals at the right end, thin lines medians; where the steps of v have no
variance it is the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.figure_style import house_style
from soqo.experiments.execution import Curves, Outcome, make_curves
from soqo.experiments.presentation._axes import add_legend, add_title, label_ticks
from soqo.experiments.presentation._charts import Chart, Curve, Panel, Statistic, beyond_axes, vertical_range
from soqo.experiments.presentation._outcome_charts import beside_chart, regret_chart, split_titles, sweep_chart
from soqo.experiments.presentation._rendering import new_figure
from soqo.experiments.presentation._static_panel import format_power, format_ticks, linear_ticks, log_ticks
from soqo.experiments.presentation._style import CAPTION_COLOR, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def regret_figure(outcome: Outcome, curves: Curves | None = None) -> Figure:
    """Draw the regret of the policies of a setting (extra ``lab``).

    The panels show regret at the end against the horizon T, if the setting has several horizons; regret up to round t;
    and regret per round. Policies that are not in the paper have a panel of their own, if the setting has policies of
    the paper.

    Parameters
    ----------
    outcome : Outcome
        The outcome of the setting.
    curves : Curves, optional
        Its curves, if they are known already.

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
    curves = make_curves(outcome) if curves is None else curves
    chart, beside = regret_chart(outcome, curves), beside_chart(outcome, curves)
    panels = list(chart.panels)
    if beside is not None:
        (over_rounds,) = (panel for panel in beside.panels if panel.title == "Regret up to round t")
        panels.append(replace(over_rounds, title="Not in the paper: regret up to round t"))
    title, caption = outcome.setting.title, f"T = {outcome.setting.horizon}"
    # The paper's first figure is wide at the top, above two panels.
    wide = outcome.setting.figure == "intro" and len(chart.panels) == 3
    return _draw(replace(chart, panels=tuple(panels)), title, caption, wide_first=wide)


def sweep_figure(outcomes: Sequence[Outcome], curves: Mapping[str, Curves] | None = None) -> Figure:
    """Draw regret at the end against a swept parameter (extra ``lab``).

    Each swept policy has a panel and each setting a line, with a ring around its smallest value. If there is one
    setting, its other policies are drawn as horizontal lines.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Outcomes of settings that sweep a parameter.
    curves : mapping of str to Curves, optional
        Their curves by the name of the setting, if they are known already.

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
    ['SCaLE, calibrated']
    """
    known = curves or {outcome.setting.name: make_curves(outcome) for outcome in outcomes}
    chart = sweep_chart(outcomes, known)
    title, _ = split_titles([outcome.setting.title for outcome in outcomes])
    return _draw(chart, title, "rings: the smallest of each curve")


def _draw(chart: Chart, title: str, caption: str, *, wide_first: bool = False) -> Figure:
    """Draw a chart on a grid of panels, with one legend; the first panel may take a row of its own."""
    count = len(chart.panels)
    rows, columns = (1, count) if count <= 3 else (2, (count + 1) // 2)
    if wide_first:
        rows, columns = 2, count - 1
    with house_style():
        figure = new_figure(max(4.6, min(12.0, (4.8 if rows > 1 else 4.0) * columns)), 3.3 * rows + 1.1)
        grid = figure.add_gridspec(rows, columns)
        cells = [grid[k // columns, k % columns] for k in range(count)]
        if wide_first:
            cells = [grid[0, :], *(grid[1, k] for k in range(count - 1))]
        for cell, panel in zip(cells, chart.panels, strict=True):
            _draw_panel(figure.add_subplot(cell), panel, chart.statistic)
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
    axes.set(xlabel=typeset(panel.x_label), ylabel=panel.y_label, title=typeset(panel.title))
    low, high = vertical_range(panel, statistic)
    # Plain text: Matplotlib's own labels are formulas, and setting them takes a third of the time of a figure.
    if panel.log:
        axes.set_yscale("log")
        ticks = log_ticks(low, high)
        axes.set_yticks(ticks, [format_power(tick) for tick in ticks])
        axes.set_yticks([], minor=True)
    else:
        axes.axhline(0.0, color="black", linewidth=0.8, zorder=1)
        ticks = linear_ticks(low, high)
        axes.set_yticks(ticks, format_ticks(ticks))
    axes.set_ylim(low, high)
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
    """Draw one statistic, its interval at the right end, and the other one as a thin line.

    Bands along the curves would hide other curves.
    """
    band = curve.bands[statistic]
    if np.isfinite(band.low).any():  # curves without intervals are ragged, and a second line for each is too many
        axes.plot(curve.x, curve.bands[other].value, curve.dash, color=curve.color, linewidth=0.7, alpha=0.7)
        axes.plot([curve.x[-1]] * 2, [band.low[-1], band.high[-1]], color=curve.color, linewidth=4.5, alpha=0.3)
    axes.plot(curve.x, band.value, curve.dash, color=curve.color, linewidth=1.8, label=curve.label)
    if panel.marks and curve.x.size > 2 and np.isfinite(band.value).any():
        best = int(np.nanargmin(band.value))
        axes.plot(curve.x[best], band.value[best], "o", color=curve.color, markersize=8.5, mfc="none", mew=1.8)


def _describe(chart: Chart) -> str:
    if chart.runs == 1:
        return "one run"
    other = "median" if chart.statistic == "mean" else "mean"
    return f"{chart.statistic} of {chart.runs} runs, with its 95 % interval at the right end; thin: {other}"
