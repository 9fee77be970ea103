"""Elements that all figures share: lines with quartile bands, scales, ticks, title and legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soqo._foundation.text import figure_text
from soqo.experiments.presentation._style import CAPTION_COLOR, policy_styles, typeset
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DIVERGED = 1e100
"""Regret above this value comes from a run that diverged, and is not drawn."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class LineStyle(NamedTuple):
    """The appearance of a line and its label."""

    color: str
    style: str
    width: float
    label: str


def policy_lines(policies: Iterable[str]) -> list[LineStyle]:
    """Return a line style for each policy, each line thinner than the one before so that it does not hide it."""
    return [
        LineStyle(color, style, max(1.1, 2.3 - 0.12 * index), name)
        for index, (name, (color, style)) in enumerate(policy_styles(policies).items())
    ]


def draw_band(axes: Axes, x: Array, samples: Array, line: LineStyle, marker: str = "") -> Array:
    """Draw and return the median of ``samples``, shape (runs, len(x)), with a band between the quartiles."""
    lower, median, upper = quartiles(samples)
    axes.fill_between(x, lower, upper, color=line.color, alpha=0.1, linewidth=0)
    (drawn,) = axes.plot(x, median, line.style, color=line.color, linewidth=line.width, label=line.label or None)
    drawn.set(marker=marker, markersize=7 if marker == "." else 3)
    return median


def quartiles(samples: Array) -> tuple[Array, Array, Array]:
    """Return the lower quartile, the median and the upper quartile over the runs; NaN where the run diverged."""
    limited = np.nan_to_num(samples, nan=_DIVERGED, posinf=_DIVERGED, neginf=-_DIVERGED).clip(-_DIVERGED, _DIVERGED)
    found = np.quantile(limited, [0.25, 0.5, 0.75], axis=0)
    lower, median, upper = np.where(np.abs(found) < 0.1 * _DIVERGED, found, np.nan)
    return lower, median, upper


def scale_regret_axes(*panels: Axes) -> None:
    """Choose one vertical scale for panels that show regret.

    The scale is logarithmic if all lines are positive. Otherwise it is linear around zero and logarithmic above and
    below. Call this function after all lines are drawn.

    Parameters
    ----------
    *panels : matplotlib.axes.Axes
        The panels.

    Examples
    --------
    >>> from soqo.experiments.presentation import new_figure
    >>> axes = new_figure(6.0, 4.0).subplots()
    >>> lines = axes.plot([1.0, 1e4])
    >>> scale_regret_axes(axes)
    >>> axes.get_yscale()
    'log'
    """
    drawn = [np.asarray(line.get_ydata(), float) for axes in panels for line in axes.get_lines()]
    values = np.concatenate([*drawn, np.zeros(0)])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.1, 1.0)
    for axes in panels:
        if low > 0.0:
            axes.set_yscale("log")
            axes.set_ylim(*_widen_to_decades(0.6 * low, 1.8 * high))
        else:
            _scale_signed(axes, values, low, high)
        axes.yaxis.set_major_formatter(lambda value, _: _format_tick(value))


def _widen_to_decades(low: float, high: float) -> tuple[float, float]:
    """Widen limits until they contain two powers of ten, so that the axis has two labels.

    Examples
    --------
    >>> _widen_to_decades(30.0, 80.0)
    (10.0, 100.0)
    """
    if np.floor(np.log10(high)) > np.ceil(np.log10(low)):
        return low, high
    return float(10.0 ** np.floor(np.log10(low))), float(10.0 ** np.ceil(np.log10(high)))


def _scale_signed(axes: Axes, values: Array, low: float, high: float) -> None:
    """Set a scale that is linear for the smallest tenth of the values and logarithmic beyond."""
    largest = max(-low, high, 1e-12)
    typical = float(np.quantile(np.abs(values), 0.1))
    start = int(np.floor(np.log10(np.clip(typical, 1e-4 * largest, 0.1 * largest))))
    linear = 10.0**start
    low, high = min(1.8 * low, -0.3 * linear), max(1.8 * high, linear)
    axes.set_yscale("symlog", linthresh=linear)
    axes.set_ylim(low, high)
    # Matplotlib's default ticks continue inside the linear part, where their labels would overlap.
    decades = [10.0**k for k in range(start, int(np.log10(largest)) + 2)]
    every = 1 + sum(d <= -low or d <= high for d in decades) // 6
    ticks = [sign * d for d in decades[::every] for sign in (-1, 1) if low <= sign * d <= high]
    axes.set_yticks([0.0, *ticks])
    axes.set_yticks([], minor=True)
    axes.axhline(0.0, color="black", linewidth=0.8, zorder=1)


def _format_tick(value: float) -> str:
    """Format a number as it is if it is short, and otherwise with a power of ten.

    Examples
    --------
    >>> [_format_tick(value) for value in (0.0, 0.1, 100.0, -1e4, 2e6)]
    ['0', '0.1', '100', '-10⁴', '2·10⁶']
    """
    if value == 0.0 or 1e-2 <= abs(value) < 999.0:
        return f"{value:g}"
    exponent = int(np.floor(np.log10(abs(value)) + 1e-9))
    digits = f"{value / 10.0**exponent:g}·".replace("-1·", "-").removeprefix("1·")
    return f"{digits}10{str(exponent).translate(_SUPERSCRIPTS)}"


def label_ticks(axes: Axes, values: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic with ticks at the increasing ``values``, labeled where there is space."""
    axes.set_xscale("log")
    axes.set_xticks(list(values))
    gap = np.log(values[-1] / values[0]) / 8.0
    labels, last = [], -np.inf
    for value in values:
        fits = np.log(value) - last >= gap
        last = np.log(value) if fits else last
        labels.append(f"{value:g}" if fits else "")
    axes.set_xticklabels(labels)
    axes.minorticks_off()


def add_title(figure: Figure, title: str) -> None:
    """Add the title of a figure; its id lets the page remove it, where a heading takes its place."""
    figure.suptitle(figure_text(typeset(title)), x=0.008, ha="left", weight="bold", size="large", gid="title")


def add_legend(figure: Figure, handles: Sequence[Artist], labels: Sequence[str], caption: str, **options: Any) -> None:
    """Add a legend below the panels, with a caption above its entries."""
    names = [figure_text(typeset(label)) for label in labels]
    legend = figure.legend(handles, names, loc="outside lower left", title=caption, alignment="left", **options)
    legend.get_title().set(color=CAPTION_COLOR, fontsize="small")
