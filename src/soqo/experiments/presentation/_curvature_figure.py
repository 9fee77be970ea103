"""The figure of Section 1: readings along a direction in which A has curvature, and along one in which it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soqo.experiments.presentation._axes import add_title
from soqo.experiments.presentation._rendering import new_figure
from soqo.experiments.presentation._style import CAPTION_COLOR, POLICY_COLORS, house_style
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Rank deficiency hinders estimating curvature"
SOURCE = "Section 1, Figure 2"
_EIGENVALUE, _NOISE_CAP, _COUNT = 0.02, 10.0, 121
_ANGLE = 30.0  # of the eigenvector, in degrees
_MAX_DISTANCE = 60.0  # from the minimizer
NOTE = (
    f"A of rank 1 in two dimensions, with eigenvalue {_EIGENVALUE:g} at {_ANGLE:g} degrees; noise uniform in "
    f"[-{_NOISE_CAP:g}, {_NOISE_CAP:g}], the same in both panels."
)
_COST_COLOR, _READING_COLOR = POLICY_COLORS["FTM"], POLICY_COLORS["POL"]


def curvature_figure() -> Figure:
    """Draw readings along the eigenvector of a matrix A of rank 1 and along its null direction (extra ``lab``).

    Returns
    -------
    matplotlib.figure.Figure
        Two panels with a common vertical axis. In the first, the cost exceeds the noise; the second shows noise only.

    Examples
    --------
    >>> [axes.get_title(loc="left") for axes in curvature_figure().axes][1]
    'Along a null direction: every reading is noise'
    """
    noise = np.random.default_rng(0).uniform(-_NOISE_CAP, _NOISE_CAP, _COUNT)
    angle = np.deg2rad(_ANGLE)
    eigenvector = np.array([np.cos(angle), np.sin(angle)])
    null = np.array([-np.sin(angle), np.cos(angle)])
    A = _EIGENVALUE * np.outer(eigenvector, eigenvector)
    with house_style():
        figure = new_figure(9.0, 4.4)
        left, right = figure.subplots(1, 2, sharey=True)
        _draw_panel(left, A, eigenvector, noise, "Along the eigenvector: the cost rises above the noise")
        _draw_panel(right, A, null, noise, "Along a null direction: every reading is noise")
        left.set_ylabel("reading y = ½ u'Au + noise")
        visible_from = float(np.sqrt(2.0 * _NOISE_CAP / _EIGENVALUE))
        for side in (-visible_from, visible_from):
            left.axvline(side, color=CAPTION_COLOR, linewidth=0.8, linestyle=":")
        note = left.annotate("signal\nabove noise", (visible_from, -3.0), (5, 0), textcoords="offset points")
        note.set(color=CAPTION_COLOR, size="small", va="top")
        add_title(figure, TITLE)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=3)
        return figure


def _draw_panel(axes: Axes, A: Array, direction: Array, noise: Array, title: str) -> None:
    """Draw the cost, the range of the noise and the readings along a direction, with a map of the direction."""
    distance = np.linspace(-_MAX_DISTANCE, _MAX_DISTANCE, noise.size)
    u = distance[:, None] * direction
    cost = 0.5 * np.einsum("ij,jk,ik->i", u, A, u)
    low, high = cost - _NOISE_CAP, cost + _NOISE_CAP
    axes.fill_between(distance, low, high, color="#888888", alpha=0.2, linewidth=0, label="range of noise")
    axes.plot(distance, cost, color=_COST_COLOR, linewidth=2.0, label="hitting cost ½ u'Au")
    axes.plot(distance, cost + noise, ".", color=_READING_COLOR, markersize=5, label="readings")
    axes.set(xlabel="distance along u", title=title, xlim=(-_MAX_DISTANCE, _MAX_DISTANCE))
    axes.axhline(0.0, color="black", linewidth=0.8, zorder=1)
    _draw_map(axes, A, direction)


def _draw_map(axes: Axes, A: Array, direction: Array) -> None:
    """Draw an inset with the level lines of the cost and an arrow along the direction."""
    inset = axes.inset_axes((0.37, 0.58, 0.26, 0.34))
    grid = np.linspace(-1.0, 1.0, 41)
    at = np.stack(np.meshgrid(grid, grid), axis=-1)
    cost = np.einsum("...i,ij,...j->...", at, A, at)
    levels = np.linspace(0.0, 1.2, 7)[1:] ** 2 * _EIGENVALUE
    inset.contour(grid, grid, cost, levels=levels, colors="#999999", linewidths=0.7)
    arrow = {"arrowstyle": "<->", "color": _READING_COLOR, "linewidth": 1.6}
    x, y = 0.85 * direction
    inset.annotate("", (x, y), (-x, -y), arrowprops=arrow)
    inset.set(xticks=[], yticks=[], aspect="equal")
    inset.set_title("level lines of the cost", loc="center", size="x-small", color=CAPTION_COLOR)
    for spine in inset.spines.values():
        spine.set(visible=True, color="#bbbbbb")
    inset.grid(False)
