"""A chart in HTML: a legend, places for controls, and a static picture of each panel that scripts replace."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from soqo.experiments.presentation._charts import Chart, Curve, Panel, Statistic, beyond_axes
from soqo.experiments.presentation._numbers import format_number
from soqo.experiments.presentation._static_panel import render_panel
from soqo.experiments.presentation._style import typeset

_BORDERS = {"-": "solid", "--": "dashed", ":": "dotted", "-.": "dashed"}
"""The CSS border for each line style."""


def render_chart(chart: Chart, title: str) -> str:
    """Return a chart with all its panels, a legend and places for controls.

    Parameters
    ----------
    chart : Chart
        The chart.
    title : str
        What it shows, for screen readers.
    """
    panels = "\n".join(
        _render_place(panel, index, chart, title, chart.statistic) for index, panel in enumerate(chart.panels)
    )
    return (
        f'<div class="chart" data-chart="{escape(chart.name, quote=True)}">\n'
        f'<div class="bar">{_render_legend(chart)}<div class="controls"></div></div>\n'
        f'<div class="panels">\n{panels}\n</div>\n</div>'
    )


def render_headline_chart(chart: Chart, index: int, title: str) -> str:
    """Return one panel of a chart twice, as means and as medians, with direct labels.

    Parameters
    ----------
    chart : Chart
        The chart.
    index : int
        The index of the panel.
    title : str
        What it shows, for screen readers.
    """
    panel = chart.panels[index]
    names: Sequence[Statistic] = ("mean", "median")
    panels = "\n".join(_render_place(panel, index, chart, title, name, headline=True) for name in names)
    return (
        f'<div class="chart headline" data-chart="{escape(chart.name, quote=True)}">\n'
        f'<div class="bar">{_render_legend(chart)}<div class="controls"></div></div>\n'
        f'<div class="panels">\n{panels}\n</div>\n</div>'
    )


def render_swatch(color: str, dash: str) -> str:
    """Return a short line in the color and the style of a curve.

    Examples
    --------
    >>> render_swatch("#D55E00", "-")
    '<span class="swatch" style="border-top: 3px solid var(--c-d55e00)"></span>'
    """
    return f'<span class="swatch" style="border-top: 3px {_BORDERS[dash]} var(--c-{color[1:].lower()})"></span>'


def chart_colors(charts: Sequence[Chart]) -> set[str]:
    """Return the colors of all curves, in lower case."""
    return {curve.color.lower() for chart in charts for panel in chart.panels for curve in panel.curves}


def _render_place(
    panel: Panel, index: int, chart: Chart, title: str, statistic: Statistic, headline: bool = False
) -> str:
    """Return a panel with its static picture, and a note on the curves that leave its axes."""
    told = f"{panel.title}, {statistic} of {chart.runs} runs"
    svg = render_panel(panel, statistic, f"{title}. {told}. {_describe(panel, statistic)}", direct_labels=headline)
    fixed = f' data-statistic="{statistic}" data-labels' if headline else ""
    heading = (
        f"{statistic.capitalize()} {panel.title[:1].lower()}{panel.title[1:]}"
        if headline
        else f'{escape(typeset(panel.title))} <span class="statistic">{statistic}</span>'
    )
    outside = "; ".join(
        f"{escape(typeset(name))} (up to {format_number(value)})"
        if np.isfinite(value)
        else f"{escape(typeset(name))} (not finite)"
        for name, value in beyond_axes(panel, statistic).items()
    )
    note = f'<p class="beyond">Beyond the axis: {outside}</p>' if outside else ""
    return (
        f'<figure class="panel" data-panel="{index}"{fixed}>\n<figcaption>{heading}</figcaption>\n'
        f'<div class="plot">{svg}</div>{note}\n</figure>'
    )


def _render_legend(chart: Chart) -> str:
    curves: dict[str, Curve] = {curve.label: curve for panel in chart.panels for curve in panel.curves}
    items = "".join(
        f'<li data-curve="{escape(typeset(label), quote=True)}"{"" if curve.shown else " hidden"}>'
        f"{render_swatch(curve.color, curve.dash)}{escape(typeset(label))}</li>"
        for label, curve in curves.items()
    )
    return f'<ul class="legend" aria-label="Curves">{items}</ul>'


def _describe(panel: Panel, statistic: Statistic) -> str:
    """Return the values at the right end of a panel's curves in words, from the largest to the smallest."""
    ends = {curve.label: float(curve.bands[statistic].value[-1]) for curve in panel.shown if curve.x.size}
    order = sorted(ends, key=lambda label: -ends[label] if np.isfinite(ends[label]) else -np.inf)
    values = ", ".join(f"{name} {ends[name]:.3g}" if np.isfinite(ends[name]) else f"{name} diverged" for name in order)
    return f"At the right end: {values}." if values else "No curve."
