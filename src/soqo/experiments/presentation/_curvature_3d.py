"""Figure 2 in three dimensions: the cost as a surface over the plane, with readings along two directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soqo.experiments.presentation._axes import add_title
from soqo.experiments.presentation._rendering import new_figure
from soqo.experiments.presentation._style import POLICY_COLORS, house_style
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Rank deficiency hinders estimating curvature, in three dimensions"
SOURCE = "Section 1, Figure 2"
_EIGENVALUE, _NOISE_CAP, _COUNT = 0.02, 10.0, 41
_MAX_DISTANCE = 60.0
NOTE = (
    f"The cost of an A of rank 1 with eigenvalue {_EIGENVALUE:g}, as a surface over the plane, with readings along the "
    f"eigenvector (left) and along the null direction (right); noise uniform in [-{_NOISE_CAP:g}, {_NOISE_CAP:g}]."
)
_SURFACE, _READING = "#9db7d5", POLICY_COLORS["POL"]


def curvature_3d_figure() -> Figure:
    """Draw the cost of a matrix A of rank 1 as a surface, with readings along two directions (extra ``lab``).

    Returns
    -------
    matplotlib.figure.Figure
        Two panels. In the first, readings rise with the surface; in the second, they are noise around zero.

    Examples
    --------
    >>> [axes.get_title() for axes in curvature_3d_figure().axes][1]
    'Along a null direction: pure noise'
    """
    noise = np.random.default_rng(0).uniform(-_NOISE_CAP, _NOISE_CAP, _COUNT)
    with house_style():
        figure = new_figure(10.0, 4.9)
        titles = ("Along the eigenvector: a signal above the noise", "Along a null direction: pure noise")
        for index, (title, direction) in enumerate(zip(titles, np.eye(2), strict=True)):
            axes: Any = figure.add_subplot(1, 2, index + 1, projection="3d")
            _draw_surface(axes)
            _draw_readings(axes, direction, noise)
            axes.set_title(title, loc="center")
        add_title(figure, TITLE)
        return figure


def _cost(x: Array, y: Array) -> Array:
    return np.asarray(0.5 * _EIGENVALUE * np.square(x) + 0.0 * y)


def _draw_surface(axes: Any) -> None:
    """Draw the cost, a valley along the null direction."""
    grid = np.linspace(-_MAX_DISTANCE, _MAX_DISTANCE, 25)
    x, y = np.meshgrid(grid, grid)
    axes.plot_surface(
        x, y, _cost(x, y), color=_SURFACE, alpha=0.45, linewidth=0.2, edgecolor="#6f8fb3", rstride=2, cstride=2
    )
    axes.set(xlabel="along the eigenvector", ylabel="along the null direction", zlabel="cost", zlim=(-12.0, 48.0))
    axes.set_xticks([-50, 0, 50])
    axes.set_yticks([-50, 0, 50])
    axes.view_init(elev=24, azim=-58)
    axes.set_box_aspect((1.0, 1.0, 0.72), zoom=1.1)


def _draw_readings(axes: Any, direction: Array, noise: Array) -> None:
    """Draw readings at points along a direction, each connected with the surface."""
    distance = np.linspace(-_MAX_DISTANCE, _MAX_DISTANCE, noise.size)
    east, north = distance * direction[0], distance * direction[1]
    cost = _cost(east, north)
    axes.plot(east, north, cost, color="#1f3b63", linewidth=2.0, zorder=5)
    for a, b, bottom, top in zip(east, north, cost, cost + noise, strict=True):
        axes.plot([a, a], [b, b], [bottom, top], color=_READING, linewidth=0.7, alpha=0.7, zorder=6)
    axes.plot(east, north, cost + noise, ".", color=_READING, markersize=5, zorder=7)
