"""A chart on a page: its legend, a place for each panel, and the numbers and the library that its script draws with."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from soqo._foundation.optional_imports import require_extra
from soqo.experiments.presentation._charts import STATISTICS, Chart, Curve, Panel, Statistic, beyond_axes
from soqo.experiments.presentation._html import format_number, plain
from soqo.experiments.presentation._style import color_variable, typeset
from soqo.typing import Array

_BORDERS = {"-": "solid", "--": "dashed", ":": "dotted", "-.": "dashed", ".": "dotted"}
"""The CSS border for each line style."""


def render_chart(chart: Chart, title: str, *, headline: bool = False) -> str:
    """Return a chart with all its panels, a legend and places for controls.

    Parameters
    ----------
    chart : Chart
        The chart.
    title : str
        What it shows, for screen readers.
    headline : bool
        Whether it is its first panel alone, by means and by medians, with labels at the curves.
    """
    places = (
        [(0, name) for name in STATISTICS] if headline else [(k, chart.statistic) for k in range(len(chart.panels))]
    )
    panels = "\n".join(_render_place(chart, index, title, name, headline) for index, name in places)
    return (
        f'<div class="chart{" headline" if headline else ""}" data-chart="{plain(chart.name)}">\n'
        f'<div class="bar">{_render_legend(chart)}<div class="controls"></div></div>\n'
        f'<div class="panels">\n{panels}\n</div>\n'
        "<noscript><p>Charts need scripts; the tables and the files below hold the same numbers.</p></noscript></div>"
    )


def render_swatch(color: str, dash: str) -> str:
    """Return a short line in the color and the style of a curve.

    Examples
    --------
    >>> render_swatch("#D55E00", "-")
    '<span class="swatch" style="border-top: 3px solid var(--c-d55e00)"></span>'
    """
    return f'<span class="swatch" style="border-top: 3px {_BORDERS[dash]} var({color_variable(color)})"></span>'


def chart_colors(charts: Iterable[Chart]) -> set[str]:
    """Return the colors of all curves, in lower case."""
    return {curve.color.lower() for chart in charts for panel in chart.panels for curve in panel.curves}


def _render_place(chart: Chart, index: int, title: str, statistic: Statistic, headline: bool) -> str:
    """Return the place of a panel with a description, and a note on the curves that leave its axes."""
    panel = chart.panels[index]
    told = plain(f"{title}. {panel.title}, {statistic} of {chart.runs} runs. {_describe_ends(panel, statistic)}")
    heading, fixed = f'{plain(panel.title)} <span class="statistic">{statistic}</span>', ""
    if headline:
        heading = f"{statistic.capitalize()} {panel.title[:1].lower()}{panel.title[1:]}"
        fixed = f' data-statistic="{statistic}" data-labels'
    outside = "; ".join(
        f"{plain(name)} ({f'up to {format_number(value)}' if np.isfinite(value) else 'not finite'})"
        for name, value in beyond_axes(panel, statistic).items()
    )
    note = f'<p class="beyond">Beyond the axis: {outside}</p>' if outside else ""
    return (
        f'<figure class="panel" data-panel="{index}"{fixed}>\n<figcaption>{heading}</figcaption>\n'
        f'<div class="plot" role="img" aria-label="{told}"></div>{note}\n</figure>'
    )


def _render_legend(chart: Chart) -> str:
    curves: dict[str, Curve] = {curve.label: curve for panel in chart.panels for curve in panel.curves}
    items = "".join(
        f'<li data-curve="{plain(label)}"{"" if curve.shown else " hidden"}>'
        f"{render_swatch(curve.color, curve.dash)}{plain(label)}</li>"
        for label, curve in curves.items()
    )
    return f'<ul class="legend" aria-label="Curves">{items}</ul>'


def _describe_ends(panel: Panel, statistic: Statistic) -> str:
    """Return the values at the right end of a panel's curves in words, from the largest to the smallest."""
    ends = {curve.label: float(curve.bands[statistic].value[-1]) for curve in panel.shown if curve.x.size}
    order = sorted(ends, key=lambda label: -ends[label] if np.isfinite(ends[label]) else -np.inf)
    values = ", ".join(f"{name} {ends[name]:.3g}" if np.isfinite(ends[name]) else f"{name} diverged" for name in order)
    return f"At the right end: {values}." if values else "No curve."


# ---- numbers for the script ----------------------------------------------------------------------------------------


def embed_charts(charts: Iterable[Chart]) -> str:
    """Return the elements of a page that hold Plotly and the numbers of charts (extra ``lab``).

    Both are compressed: Plotly's script has 4.8 MB and becomes 2 MB of text. ``page.js`` decompresses them.

    Examples
    --------
    >>> embed_charts([])
    ''
    """
    every = {
        chart.name: {
            "statistic": chart.statistic,
            "band": chart.band,
            "panels": [_describe_panel(panel) for panel in chart.panels],
        }
        for chart in charts
    }
    if not every:
        return ""
    numbers = _compress(json.dumps(every, separators=(",", ":"), ensure_ascii=False))
    return (
        f'<script type="text/plain" id="charts">{numbers}</script>\n'
        f'<script type="text/plain" id="plotly">{_compressed_plotly()}</script>'
    )


@cache
def _compressed_plotly() -> str:
    code: str = require_extra("plotly.offline", "lab").get_plotlyjs()
    return _compress(code)


def _compress(text: str) -> str:
    """Return a text as base64 of gzip, without a date, so that the same text gives the same file."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def _describe_panel(panel: Panel) -> dict[str, Any]:
    return {
        "xLabel": typeset(panel.x_label),
        "yLabel": typeset(panel.y_label),
        "ticks": list(panel.ticks),
        "explored": panel.explored,
        "marks": panel.marks,
        "log": panel.log,
        "curves": [
            {
                "label": typeset(curve.label),
                "color": color_variable(curve.color),
                "dash": curve.dash,
                "shown": curve.shown,
                "x": _round(curve.x),
                **{n: [_round(b.value), _round(b.low, 3), _round(b.high, 3)] for n, b in curve.bands.items()},
            }
            for curve in panel.curves
        ],
    }


def _round(values: Array, digits: int = 4) -> list[float | int | None]:
    """Return values with a few digits, and None for what is not finite.

    Examples
    --------
    >>> _round(np.array([12345.6, 0.25, np.nan]))
    [12350, 0.25, None]
    """
    return [_shorten(float(f"{value:.{digits}g}")) if np.isfinite(value) else None for value in values.tolist()]


def _shorten(value: float) -> float | int:
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
