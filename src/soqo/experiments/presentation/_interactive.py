"""What a page needs for interactive charts: Plotly's script and the numbers, compressed into the page itself."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from soqo._foundation.optional_imports import require_extra
from soqo.experiments.presentation._charts import Chart, Curve, Panel, Surface
from soqo.experiments.presentation._style import typeset
from soqo.typing import Array


def embed_charts(charts: Iterable[Chart], surfaces: Iterable[Surface] = ()) -> str:
    """Return the elements of a page that hold Plotly and the numbers of charts and surfaces (extra ``lab``).

    Both are compressed: Plotly's script has 4.8 MB and becomes 2 MB of text. ``page.js`` decompresses them.

    Examples
    --------
    >>> embed_charts([])
    ''
    """
    every = {chart.name: _describe_chart(chart) for chart in charts}
    every |= {surface.name: _describe_surface(surface) for surface in surfaces}
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


def _describe_chart(chart: Chart) -> dict[str, Any]:
    panels = [_describe_panel(panel) for panel in chart.panels]
    return {"statistic": chart.statistic, "band": chart.band, "panels": panels}


def _describe_surface(surface: Surface) -> dict[str, Any]:
    return {
        "x": _round(surface.x),
        "y": _round(surface.y),
        "z": [_round(row) for row in surface.z],
        "color": _variable(surface.color),
        "axes": [typeset(name) for name in surface.axes],
        "points": [
            {"label": label, "color": _variable(color), "x": _round(x), "y": _round(y), "z": _round(z)}
            for label, (color, x, y, z) in surface.points.items()
        ],
    }


def _describe_panel(panel: Panel) -> dict[str, Any]:
    return {
        "xLabel": typeset(panel.x_label),
        "yLabel": typeset(panel.y_label),
        "ticks": list(panel.ticks),
        "explored": panel.explored,
        "marks": panel.marks,
        "log": panel.log,
        "curves": [_describe_curve(curve) for curve in panel.curves],
    }


def _describe_curve(curve: Curve) -> dict[str, Any]:
    return {
        "label": typeset(curve.label),
        "color": _variable(curve.color),
        "dash": curve.dash,
        "shown": curve.shown,
        "x": _round(curve.x),
        **{n: [_round(b.value), _round(b.low, 3), _round(b.high, 3)] for n, b in curve.bands.items()},
    }


def _variable(color: str) -> str:
    """Return the CSS variable of a color, which differs on light and dark pages."""
    return f"--c-{color[1:].lower()}"


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
