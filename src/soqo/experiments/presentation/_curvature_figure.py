"""The figure of Section 1: readings along a direction in which A has curvature, and along one in which it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._foundation.figure_style import house_style
from soqo.experiments.presentation._axes import add_title
from soqo.experiments.presentation._charts import Surface
from soqo.experiments.presentation._rendering import new_figure
from soqo.experiments.presentation._style import CAPTION_COLOR, POLICY_COLORS
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Rank deficiency hinders estimating curvature"
SOURCE = "Section 1, Figure 2"
SURFACE = "curvature"
"""The name of the figure, and of the surface that the reader of a page can turn."""
_EIGENVALUE, _NOISE_CAP, _COUNT = 0.02, 10.0, 121
_ANGLE = np.deg2rad(30.0)  # of the eigenvector
_EIGENVECTOR = np.array([np.cos(_ANGLE), np.sin(_ANGLE)])
_NULL = np.array([-np.sin(_ANGLE), np.cos(_ANGLE)])
_A = _EIGENVALUE * np.outer(_EIGENVECTOR, _EIGENVECTOR)
_MAX_DISTANCE = 60.0  # from the minimizer
_GRID = 11  # lines of the surface in each direction; each cell is a polygon of the SVG
NOTE = (
    f"A of rank 1 in two dimensions, with eigenvalue {_EIGENVALUE:g} at 30 degrees; noise uniform in "
    f"[-{_NOISE_CAP:g}, {_NOISE_CAP:g}], the same in both directions."
)
_COST_COLOR, _READING_COLOR, _NULL_COLOR = POLICY_COLORS["FTM"], POLICY_COLORS["POL"], POLICY_COLORS["OAL"]
_PANELS = {
    "Along the eigenvector: the cost rises above the noise": (_EIGENVECTOR, _READING_COLOR),
    "Along a null direction: every reading is noise": (_NULL, _NULL_COLOR),
}


def curvature_figure() -> Figure:
    """Draw readings along the eigenvector of a matrix A of rank 1 and along its null direction (extra ``lab``).

    Returns
    -------
    matplotlib.figure.Figure
        The hitting cost over the plane with the readings, and below it the readings along each direction. Along the
        eigenvector the cost exceeds the noise; along the null direction there is noise only.

    Examples
    --------
    >>> [axes.get_title(loc="left") for axes in curvature_figure().axes][3]
    'Along a null direction: every reading is noise'
    """
    with house_style():
        figure = new_figure(9.0, 7.6)
        grid = figure.add_gridspec(2, 2, height_ratios=(1.25, 1.0))
        for column, (direction, color) in enumerate(_PANELS.values()):
            _draw_surface(figure.add_subplot(grid[0, column], projection="3d"), direction, color)
        left = figure.add_subplot(grid[1, 0])
        right = figure.add_subplot(grid[1, 1], sharey=left)
        for axes, (title, (direction, color)) in zip((left, right), _PANELS.items(), strict=True):
            _draw_slice(axes, direction, color, title)
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


def curvature_surface() -> Surface:
    """Return the hitting cost over the plane, and the readings along both directions, for a page."""
    x, y, cost = _grid()
    distance = np.linspace(-_MAX_DISTANCE, _MAX_DISTANCE, _COUNT)
    points = {
        name: (color, *(distance[:, None] * direction).T, _readings(direction))
        for name, (direction, color) in (
            ("readings along the eigenvector", (_EIGENVECTOR, _READING_COLOR)),
            ("readings along the null direction", (_NULL, _NULL_COLOR)),
        )
    }
    axes = ("first coordinate of u", "second coordinate of u", "reading")
    return Surface(SURFACE, x[0], y[:, 0], cost, _COST_COLOR, axes, points)


def _grid() -> tuple[Array, Array, Array]:
    """Return a grid of the plane, and the hitting cost at its points."""
    line = np.linspace(-_MAX_DISTANCE, _MAX_DISTANCE, _GRID)
    x, y = np.meshgrid(line, line)
    at = np.stack([x, y], axis=-1)
    return x, y, 0.5 * np.einsum("...i,ij,...j->...", at, _A, at)


def _cost(direction: Array) -> tuple[Array, Array]:
    """Return distances from the minimizer along a direction, and the hitting cost there."""
    distance = np.linspace(-_MAX_DISTANCE, _MAX_DISTANCE, _COUNT)
    u = distance[:, None] * direction
    return distance, 0.5 * np.einsum("ij,jk,ik->i", u, _A, u)


def _readings(direction: Array) -> Array:
    """Return the readings along a direction, with the same noise in every direction."""
    return _cost(direction)[1] + np.random.default_rng(0).uniform(-_NOISE_CAP, _NOISE_CAP, _COUNT)


def _draw_surface(axes: Any, direction: Array, color: str) -> None:
    """Draw the hitting cost over the plane, and the readings along a direction."""
    x, y, cost = _grid()
    axes.plot_surface(x, y, cost, rstride=1, cstride=1, color=_COST_COLOR, alpha=0.25, edgecolor=_COST_COLOR, lw=0.3)
    places = np.linspace(-_MAX_DISTANCE, _MAX_DISTANCE, _COUNT)[:, None] * direction
    axes.scatter(*places.T, _readings(direction), color=color, s=5, depthshade=False)
    axes.set(xlabel="u₁", ylabel="u₂", zlabel="reading")
    axes.view_init(elev=28, azim=-68)
    axes.tick_params(labelsize="x-small", pad=-2)


def _draw_slice(axes: Axes, direction: Array, color: str, title: str) -> None:
    """Draw the cost, the range of the noise and the readings along a direction."""
    distance, cost = _cost(direction)
    low, high = cost - _NOISE_CAP, cost + _NOISE_CAP
    axes.fill_between(distance, low, high, color="#888888", alpha=0.2, linewidth=0, label="range of noise")
    axes.plot(distance, cost, color=_COST_COLOR, linewidth=2.0, label="hitting cost ½ u'Au")
    axes.plot(distance, _readings(direction), ".", color=color, markersize=5, label="readings")
    axes.set(xlabel="distance along u", title=title, xlim=(-_MAX_DISTANCE, _MAX_DISTANCE))
    axes.axhline(0.0, color="black", linewidth=0.8, zorder=1)
