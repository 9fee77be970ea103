"""A panel as a small SVG for the page: what a reader sees before scripts run, or without them.

Matplotlib's SVG of the same panel has twenty times the size, and its text does not follow the width of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from soqo.experiments.presentation._charts import Curve, Panel, Statistic, vertical_range
from soqo.experiments.presentation._style import typeset
from soqo.typing import Array

_SIZE, _SIZE_WITH_LABELS = (440.0, 290.0), (600.0, 318.0)
_LEFT, _TOP, _BOTTOM = 70.0, 12.0, 42.0
_RIGHT, _RIGHT_OF_LABELS = 24.0, 178.0
_LABEL_GAP = 14.0
"""The distance of direct labels, which are 12 units high."""

_MAX_POINTS = 50
"""Points of a curve, which are enough for a small picture and keep the page small."""

_DASHES = {"-": "", "--": "7 4", ":": "2 3", "-.": "7 3 2 3"}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class _Frame(NamedTuple):
    """The map from values to units of the SVG."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    width: float
    height: float
    right: float
    log_x: bool
    log_y: bool

    @property
    def bottom(self) -> float:
        return self.height - _BOTTOM

    @property
    def end(self) -> float:
        return self.width - self.right

    def x(self, values: Array) -> Array:
        low, high = self.x_low, self.x_high
        if self.log_x:
            low, high, values = np.log(low), np.log(high), np.log(values)
        return _LEFT + (values - low) / (high - low) * (self.end - _LEFT)

    def y(self, values: Array) -> Array:
        low, high = self.y_low, self.y_high
        if self.log_y:
            with np.errstate(divide="ignore", invalid="ignore"):  # zero is below the axis
                low, high, values = np.log(low), np.log(high), np.log(values)
        share = (values - low) / (high - low)
        return self.bottom - share * (self.bottom - _TOP)


def render_panel(panel: Panel, statistic: Statistic, description: str, *, direct_labels: bool = False) -> str:
    """Return a panel as an ``<svg>`` element.

    Parameters
    ----------
    panel : Panel
        The panel; only curves with ``shown`` are drawn.
    statistic : {"mean", "median"}
        The statistic.
    description : str
        A sentence for screen readers.
    direct_labels : bool
        Whether each curve has its label at its end; otherwise the page has a legend.

    Examples
    --------
    >>> render_panel(Panel("", "t", "regret", ()), "mean", "Nothing")[:32]
    '<svg viewBox="0 0 440 290" role='
    """
    curves = panel.shown
    positions = np.concatenate([curve.x for curve in curves] or [np.array([1.0, 2.0])])
    low, high = vertical_range(panel, statistic)
    x_low, x_high = float(positions.min()), float(positions.max())
    if panel.ticks:
        x_low, x_high = 0.92 * x_low, x_high / 0.92
    width, height = _SIZE_WITH_LABELS if direct_labels else _SIZE
    right = _RIGHT_OF_LABELS if direct_labels else _RIGHT
    x_high = x_high if x_high > x_low else x_low + 1.0
    frame = _Frame(x_low, x_high, low, high, width, height, right, bool(panel.ticks), panel.log)
    inner = "".join(_render_curve(curve, statistic, frame, panel) for curve in curves)
    place = f'width="{frame.end - _LEFT:g}" height="{frame.bottom - _TOP:g}"'
    view = f'viewBox="{_LEFT:g} {_TOP:g} {frame.end - _LEFT:g} {frame.bottom - _TOP:g}"'
    parts = [
        _render_axes(panel, frame),
        _render_exploration(panel.explored, frame) if panel.explored else "",
        f'<svg x="{_LEFT:g}" y="{_TOP:g}" {place} {view} overflow="hidden">{inner}</svg>',
        _render_direct_labels(curves, statistic, frame) if direct_labels else "",
    ]
    label = escape(typeset(description), quote=True)
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


# ---- axes ----------------------------------------------------------------------------------------------------------


def _render_axes(panel: Panel, frame: _Frame) -> str:
    """Return grid lines, ticks and the labels of both axes."""
    left, right, bottom = _LEFT, frame.end, frame.bottom
    parts = []
    ticks = (log_ticks if frame.log_y else linear_ticks)(frame.y_low, frame.y_high)
    texts = [format_power(tick) for tick in ticks] if frame.log_y else format_ticks(ticks)
    for value, text in zip(ticks, texts, strict=True):
        y = float(frame.y(np.array(value)))
        kind = "zero" if value == 0.0 else "grid"
        parts.append(f'<path class="{kind}" d="M{left:g} {y:.1f}H{right:g}"/>')
        parts.append(f'<text x="{left - 6:g}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    values = list(panel.ticks) or linear_ticks(frame.x_low, frame.x_high)
    last = -np.inf
    for value in values:
        x = float(frame.x(np.array(value)))
        if x - last >= 34.0 and x <= right + 1.0:  # the width of a label of five digits
            parts.append(f'<text x="{x:.1f}" y="{bottom + 16:g}" text-anchor="middle">{value:g}</text>')
            last = x
    parts.append(
        f'<text class="axis" x="{0.5 * (left + right):g}" y="{bottom + 34:g}" text-anchor="middle">'
        f"{escape(typeset(panel.x_label))}</text>"
    )
    middle = 0.5 * (_TOP + bottom)
    parts.append(
        f'<text class="axis" x="12" y="{middle:g}" text-anchor="middle" transform="rotate(-90 12 {middle:g})">'
        f"{escape(typeset(panel.y_label))}</text>"
    )
    return "".join(parts)


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten between two ends, with twice and five times them where there are few.

    Examples
    --------
    >>> log_ticks(8.0, 60.0), log_ticks(8.0, 1e4)
    ([10.0, 20.0, 50.0], [10.0, 100.0, 1000.0, 10000.0])
    """
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.log10(high) + 1.0)
    values = np.sort(np.outer(powers, [1.0, 2.0, 5.0] if high < 300.0 * low else [1.0]).ravel())
    return [float(f"{value:.3g}") for value in values if low <= value <= high]


def linear_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about ``count`` round numbers between two ends.

    Examples
    --------
    >>> linear_ticks(1.0, 1000.0), linear_ticks(-0.2, 1.3)
    ([200.0, 400.0, 600.0, 800.0, 1000.0], [0.0, 0.5, 1.0])
    """
    rough = (high - low) / count
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(factor for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= 0.999 * rough)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def format_ticks(values: Sequence[float]) -> list[str]:
    """Format ticks with one power of ten, which the last one names.

    Examples
    --------
    >>> format_ticks([0.0, 5e5, 1e6]), format_ticks([0.0, 20.0])
    (['0', '0.5', '1·10⁶'], ['0', '20'])
    """
    largest = max((abs(value) for value in values), default=0.0)
    if 1e-2 <= largest < 1e4 or largest == 0.0:
        return [f"{value:g}" for value in values]
    exponent = int(np.floor(np.log10(largest) + 1e-9))
    texts = [f"{value / 10.0**exponent:g}" for value in values]
    return [*texts[:-1], f"{texts[-1]}·10{str(exponent).translate(_SUPERSCRIPTS)}"]


def format_power(value: float) -> str:
    """Format a tick of a logarithmic axis: as it is if it is short, and otherwise with a power of ten.

    Examples
    --------
    >>> [format_power(value) for value in (0.5, 200.0, 2e6, 1e8)]
    ['0.5', '200', '2·10⁶', '10⁸']
    """
    if 1e-2 <= value < 1e4:
        return f"{value:g}"
    exponent = int(np.floor(np.log10(value) + 1e-9))
    digits = f"{value / 10.0**exponent:g}"
    return f"{'' if digits == '1' else f'{digits}·'}10{str(exponent).translate(_SUPERSCRIPTS)}"


def _render_exploration(rounds: int, frame: _Frame) -> str:
    """Return a shade over the rounds in which SCaLE explores."""
    start, end = frame.x(np.array([frame.x_low, float(rounds)])).tolist()
    height = frame.bottom - _TOP
    return (
        f'<rect class="explored" x="{start:.1f}" y="{_TOP:g}" width="{end - start:.1f}" height="{height:g}"/>'
        f'<text class="axis" x="{end + 4:.1f}" y="{_TOP + 10:g}">← SCaLE explores, t ≤ {rounds}</text>'
    )


# ---- curves --------------------------------------------------------------------------------------------------------


def _render_curve(curve: Curve, statistic: Statistic, frame: _Frame, panel: Panel) -> str:
    """Return the line of a curve, and a ring around its smallest value."""
    keep = np.unique(np.linspace(0, curve.x.size - 1, min(_MAX_POINTS, curve.x.size)).round().astype(int))
    values = curve.bands[statistic].value[keep]
    x = frame.x(curve.x[keep])
    color = f"var(--c-{curve.color[1:].lower()})"
    dash = f";stroke-dasharray:{_DASHES[curve.dash]}" if _DASHES[curve.dash] else ""
    line = f'<path class="line" style="stroke:{color}{dash}" d="{_path(x, frame.y(values))}"/>'
    if panel.marks and values.size > 2 and np.isfinite(values).any():
        best = int(np.nanargmin(values))
        place = f'cx="{x[best]:.1f}" cy="{float(frame.y(values[best])):.1f}"'
        line += f'<circle class="line" style="stroke:{color}" {place} r="5"/>'
    return line


def _path(x: Array, y: Array) -> str:
    """Return the commands of a path, which is interrupted where y is not finite."""
    commands, pen_up = [], True
    for a, b in zip(x.tolist(), np.clip(y, -1e4, 1e4).tolist(), strict=True):
        if np.isfinite(b):
            commands.append(f"{'M' if pen_up else 'L'}{a:.1f} {b:.1f}")
        pen_up = not np.isfinite(b)
    return "".join(commands)


def _render_direct_labels(curves: Sequence[Curve], statistic: Statistic, frame: _Frame) -> str:
    """Return the labels of curves at their right ends, moved apart where they would overlap."""
    ends = [(curve, curve.bands[statistic].value[-1]) for curve in curves]
    top = float(frame.y(np.array(frame.y_high)))
    wanted = [max(float(frame.y(np.array(end))), top) if np.isfinite(end) else top for _, end in ends]
    placed = spread(wanted, _LABEL_GAP, top, frame.bottom)
    x = frame.end + 6.0
    return "".join(
        f'<text x="{x:g}" y="{y + 4:.1f}" style="--own:var(--c-{curve.color[1:].lower()})" class="direct">'
        f"{escape(typeset(curve.label.replace('xi = ', '')))}</text>"
        for (curve, _), y in zip(ends, placed, strict=True)
    )


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions near the wanted ones that are at least ``gap`` apart and in [low, high] if there is space.

    Examples
    --------
    >>> spread([10.0, 11.0, 50.0], gap=10.0, low=0.0, high=100.0)
    [5.5, 15.5, 50.0]
    """
    order = np.argsort(wanted, kind="stable")
    groups: list[list[float]] = []  # each is the mean of the wanted positions, and the number of labels
    for index in order:
        groups.append([wanted[index], 1.0])
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < 0.5 * gap * (groups[-1][1] + groups[-2][1]):
            mean, count = groups.pop()
            before = groups[-1]
            groups[-1] = [(before[0] * before[1] + mean * count) / (before[1] + count), before[1] + count]
    placed = [mean + gap * (k - 0.5 * (count - 1)) for mean, count in groups for k in range(int(count))]
    for k in range(len(placed)):
        placed[k] = max(placed[k], low + gap * k)
    for k in reversed(range(len(placed))):
        placed[k] = min(placed[k], high - gap * (len(placed) - 1 - k))
    result = [0.0] * len(placed)
    for place, index in zip(placed, order, strict=True):
        result[int(index)] = place
    return result
