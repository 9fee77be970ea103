"""Charts as data: curves with means, medians and intervals, in panels; figures and pages draw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from soqo.experiments.execution import Band
from soqo.typing import Array

Statistic: TypeAlias = Literal["mean", "median"]
STATISTICS: tuple[Statistic, ...] = ("mean", "median")

_DIVERGED = 1e99
"""Regret above this value comes from a run that diverged, and is not drawn."""

_BEYOND = 5.0
"""A curve that rises above this multiple of the median peak leaves the axes, so that the others remain visible."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A line of a panel.

    Attributes
    ----------
    label, color, dash : str
        The label, a hexadecimal code, and the line style as Matplotlib writes it; "." for points without a line.
    x : Array
        The positions.
    bands : mapping of str to Band
        The mean and the median at each position, with intervals; NaN where a run diverged.
    shown : bool
        Whether the curve is drawn before the reader chooses.
    """

    label: str
    color: str
    dash: str
    x: Array = field(repr=False)
    bands: Mapping[Statistic, Band] = field(repr=False)
    shown: bool = True


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves with common axes.

    Attributes
    ----------
    title, x_label, y_label : str
    curves : tuple of Curve
    ticks : tuple of float
        Values for the ticks of a logarithmic horizontal axis; empty for a linear one with ticks of its own.
    explored : int
        The rounds at the beginning in which SCaLE explores; 0 for a horizontal axis that does not show rounds.
    marks : bool
        Whether each value has a mark, and the smallest of each curve a ring.
    log : bool
        Whether the vertical axis is logarithmic before the reader chooses.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...] = field(repr=False)
    ticks: tuple[float, ...] = ()
    explored: int = 0
    marks: bool = False
    log: bool = False

    @property
    def shown(self) -> list[Curve]:
        """The curves that are drawn before the reader chooses."""
        return [curve for curve in self.curves if curve.shown]


@dataclass(frozen=True, eq=False)
class Chart:
    """Panels with the same curves, and what the reader sees first.

    Attributes
    ----------
    name : str
        The name in files and on the page.
    title : str
        The title of a file.
    panels : tuple of Panel
    statistic : {"mean", "median"}
        The statistic that is drawn first: the mean, as the paper defines regret, where it exists.
    runs : int
        The number of runs.
    band : str
        What the bands around curves are.
    areas : bool
        Whether a file shows the bands as areas; otherwise it shows their right ends, since many would hide curves.
    """

    name: str
    title: str
    panels: tuple[Panel, ...] = field(repr=False)
    statistic: Statistic
    runs: int
    band: str = "95 % intervals"
    areas: bool = False


def drawable(band: Band) -> Band:
    """Return a band with NaN where a run diverged.

    Examples
    --------
    >>> drawable(Band(np.array([1.0, np.inf]), np.zeros(2), np.array([1e200, 2.0]))).value
    array([ 1., nan])
    """
    value, low, high = (np.where(np.abs(v) < _DIVERGED, v, np.nan) for v in (band.value, band.low, band.high))
    return Band(value, low, high)


def vertical_range(panel: Panel, statistic: Statistic) -> tuple[float, float]:
    """Return the ends of the vertical axis; those of a linear one leave out curves that are far above the others.

    Examples
    --------
    >>> vertical_range(Panel("", "", "", ()), "mean")
    (0.0, 1.0)
    """
    peaks, low = [], 0.0
    for curve in panel.shown:
        values = curve.bands[statistic].value
        values = values[np.isfinite(values)]
        if values.size:
            peaks.append(float(values.max()))
            low = min(low, float(values.min()))
    if panel.log:
        return _log_range(panel, statistic)
    if not peaks:
        return 0.0, 1.0
    limit = _BEYOND * float(np.median(np.abs(peaks)))
    top = max([peak for peak in peaks if peak <= limit], default=max(peaks))
    low = max(low, -limit)
    span = (top - low) or 1.0
    return low - (0.03 * span if low < 0.0 else 0.0), top + 0.05 * span


def _log_range(panel: Panel, statistic: Statistic) -> tuple[float, float]:
    """Return the ends of a logarithmic axis for the positive values."""
    values = np.concatenate([curve.bands[statistic].value for curve in panel.shown] or [np.ones(1)])
    values = values[np.isfinite(values) & (values > 0.0)]
    return (0.7 * float(values.min()), 1.4 * float(values.max())) if values.size else (0.1, 1.0)


def beyond_axes(panel: Panel, statistic: Statistic) -> dict[str, float]:
    """Return the labels of the shown curves that rise above the axis, each with its largest value; NaN if it diverged.

    Examples
    --------
    >>> beyond_axes(Panel("", "", "", ()), "mean")
    {}
    """
    _, top = vertical_range(panel, statistic)
    values = {curve.label: curve.bands[statistic].value for curve in panel.shown}
    return {label: float(one.max()) for label, one in values.items() if not (one <= top).all()}
