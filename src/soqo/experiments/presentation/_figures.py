"""Figures for files: charts drawn by Matplotlib, and the figures of outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.figure_style import house_style
from soqo._foundation.optional_imports import require_extra
from soqo._foundation.text import figure_text
from soqo.experiments.execution import Outcome
from soqo.experiments.presentation._charts import Chart, Curve, Panel, Statistic, beyond_axes, vertical_range
from soqo.experiments.presentation._outcome_charts import UP_TO_ROUND, beside_chart, regret_chart, sweep_chart
from soqo.experiments.presentation._rendering import new_figure
from soqo.experiments.presentation._style import CAPTION_COLOR, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LETTER = 0.08
"""The width of a letter of the legend in inches."""


def regret_figure(outcome: Outcome) -> Figure:
    """Draw the regret of the policies of a setting (extra ``lab``).

    The panels show regret at the end against the horizon T, if the setting has several horizons; regret up to round t;
    and regret per round. Policies that are not in the paper have a panel of their own, if the setting has policies of
    the paper. Thick lines are means with their 95 % intervals at the right end, thin lines medians; where the steps of
    v have no variance it is the other way round.

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
    chart, beside = regret_chart(outcome), beside_chart(outcome)
    panels = list(chart.panels)
    if beside is not None:
        (over_rounds,) = (panel for panel in beside.panels if panel.title == UP_TO_ROUND)
        panels.append(replace(over_rounds, title="Not in the paper: regret up to round t"))
    # The paper's first figure is wide at the top, above two panels.
    wide = outcome.setting.figure == "intro" and len(chart.panels) == 3
    return draw_chart(replace(chart, panels=tuple(panels)), f"T = {outcome.setting.horizon}", wide_first=wide)


def sweep_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Draw regret at the end against a swept parameter (extra ``lab``).

    Each swept policy has a panel and each setting a line, with a ring around its smallest value. If there is one
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
    ['SCaLE, calibrated']
    """
    return draw_chart(sweep_chart(outcomes), "rings: the smallest of each curve")


def draw_chart(chart: Chart, caption: str = "", *, wide_first: bool = False) -> Figure:
    """Draw a chart on a grid of panels, with one legend (extra ``lab``).

    Parameters
    ----------
    chart : Chart
        The chart.
    caption : str
        What the legend says beside the statistic.
    wide_first : bool
        Whether the first panel takes a row of its own.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from soqo.experiments.execution import Band
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> curve = Curve("FTM", "#D55E00", "-", x, {"mean": Band(x, x - 0.5, x + 0.5)})
    >>> panel = Panel("Regret up to round t", "round t", "regret", (curve,))
    >>> draw_chart(Chart("mine", "My plant", (panel,), "mean", runs=20, areas=True)).get_suptitle()
    'My plant'
    """
    count = len(chart.panels)
    rows, columns = (1, count) if count <= 3 else (2, (count + 1) // 2)
    if wide_first:
        rows, columns = 2, count - 1
    with house_style():
        width = max(4.6, min(12.0, 4.8 * columns))
        labels = list(dict.fromkeys(curve.label for panel in chart.panels for curve in panel.shown))
        beside = max(1, min(2 * columns, int(width / (0.6 + _LETTER * max(map(len, labels), default=0)))))
        figure = new_figure(width, 3.3 * rows + 0.7 + 0.2 * -(-len(labels) // beside))
        grid = figure.add_gridspec(rows, columns)
        cells = [grid[k // columns, k % columns] for k in range(count)]
        if wide_first:
            cells = [grid[0, :], *(grid[1, k] for k in range(count - 1))]
        for cell, panel in zip(cells, chart.panels, strict=True):
            _draw_panel(figure.add_subplot(cell), panel, chart)
        figure.suptitle(figure_text(typeset(chart.title)), x=0.008, ha="left", weight="bold", size="large")
        _add_legend(figure, f"{_describe(chart)}{'; ' if caption else ''}{caption}", beside)
        return figure


def _add_legend(figure: Figure, caption: str, columns: int) -> None:
    """Add one legend for all panels below them, with a caption above its entries."""
    handles = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    names = [figure_text(typeset(label)) for label in handles]
    legend = figure.legend(
        list(handles.values()),
        names,
        loc="outside lower left",
        title=figure_text(caption),
        alignment="left",
        ncols=min(columns, len(names)) or 1,
    )
    legend.get_title().set(color=CAPTION_COLOR, fontsize="small")


def _draw_panel(axes: Axes, panel: Panel, chart: Chart) -> None:
    """Draw the curves of a panel, and the axes around them."""
    if panel.explored:
        axes.axvspan(0, panel.explored, color="#888888", alpha=0.12, linewidth=0)
    for index, curve in enumerate(panel.shown):
        _draw_curve(axes, curve, max(1.0, 2.2 - 0.1 * index), panel, chart)
    axes.set(xlabel=typeset(panel.x_label), ylabel=typeset(panel.y_label), title=typeset(panel.title))
    low, high = vertical_range(panel, chart.statistic)
    # Plain text: Matplotlib's own labels are formulas, and setting them takes a third of the time of a figure.
    ticker = require_extra("matplotlib.ticker", "lab")
    if panel.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _format_power(value)))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    else:
        axes.axhline(0.0, color="black", linewidth=0.8, zorder=1)
        axes.yaxis.set_major_formatter(ticker.ScalarFormatter(useMathText=False))
        axes.ticklabel_format(axis="y", scilimits=(-2, 4))
    axes.set_ylim(low, high)
    if panel.ticks:
        _label_ticks(axes, panel.ticks)
    elif panel.shown:
        starts, ends = zip(*((curve.x[0], curve.x[-1]) for curve in panel.shown), strict=True)
        axes.set_xlim(min(0.0, *starts), max(ends))
    if outside := beyond_axes(panel, chart.statistic):
        note = figure_text(f"above the axis: {', '.join(outside)}")
        told = axes.annotate(
            note, (0.02, 0.98), xycoords="axes fraction", va="top", size="x-small", color=CAPTION_COLOR
        )
        told.set_in_layout(False)  # a long note must not squeeze the panels


def _draw_curve(axes: Axes, curve: Curve, width: float, panel: Panel, chart: Chart) -> None:
    """Draw one statistic with its band, and the other one as a thin line.

    A curve is thinner than the one before, so that it does not hide it.
    """
    band, other = curve.bands[chart.statistic], curve.bands.get(_other(chart.statistic))
    if chart.areas:
        axes.fill_between(curve.x, band.low, band.high, color=curve.color, alpha=0.15, linewidth=0)
    elif np.isfinite(band.low).any() and other is not None:
        # Curves without intervals are ragged, and a second line for each is too many.
        axes.plot(curve.x, other.value, curve.dash, color=curve.color, linewidth=0.7, alpha=0.7)
        axes.plot([curve.x[-1]] * 2, [band.low[-1], band.high[-1]], color=curve.color, linewidth=4.5, alpha=0.3)
    drawn = axes.plot(curve.x, band.value, curve.dash, color=curve.color, linewidth=width, label=curve.label)
    if curve.x.size == 1:
        drawn[0].set_marker("_")  # a line of one point would be invisible
    if panel.marks and curve.x.size > 2 and np.isfinite(band.value).any():
        best = int(np.nanargmin(band.value))
        axes.plot(curve.x[best], band.value[best], "o", color=curve.color, markersize=8.5, mfc="none", mew=1.8)


def _label_ticks(axes: Axes, values: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic with ticks at the increasing ``values``, labeled where there is space."""
    axes.set_xscale("log")
    gap, last, labels = np.log(values[-1] / values[0]) / 8.0, -np.inf, []
    for value in values:
        fits = np.log(value) - last >= gap
        last = np.log(value) if fits else last
        labels.append(f"{value:g}" if fits else "")
    axes.set_xticks(list(values), labels)
    axes.minorticks_off()


def _format_power(value: float) -> str:
    """Format a tick of a logarithmic axis: as it is if it is short, and otherwise as a power of ten.

    Examples
    --------
    >>> [_format_power(value) for value in (0.5, 200.0, 2e6, 1e8)]
    ['0.5', '200', '2·10⁶', '10⁸']
    """
    if 1e-2 <= value < 1e4:
        return f"{value:g}"
    digits, _, exponent = f"{value:.0e}".partition("e")
    return typeset(f"1e{int(exponent)}" if digits == "1" else f"{digits}·1e{int(exponent)}")


def _describe(chart: Chart) -> str:
    if chart.runs == 1:
        return "one run"
    rest = (
        f"bands: {chart.band}"
        if chart.areas
        else f"with its 95 % interval at the right end; thin: {_other(chart.statistic)}"
    )
    return f"{chart.statistic} of {chart.runs} runs, {rest}"


def _other(statistic: Statistic) -> Statistic:
    return "median" if statistic == "mean" else "mean"
