"""The map of a data center: inlet temperatures of the racks, and set points of the units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.figure_style import Theme
from soqo._foundation.optional_imports import require_extra
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RACK_SIZE = 1.0
"""The side of a drawn rack in m."""


def draw_room(
    axes: Axes,
    places: tuple[Array, Array],
    temperatures: tuple[Array, Array, Array],
    scale: tuple[float, float],
    theme: Theme,
) -> None:
    """Draw racks with their inlet temperatures, and units with their set points.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    places : tuple of two Arrays of shape (n, 2)
        The positions of the racks and of the units in m.
    temperatures : tuple of three Arrays
        The inlet temperatures, the set points, and the best set points.
    scale : tuple of float
        The ends of the color scale, the upper one being the limit.
    theme : Theme
        The colors.
    """
    racks, units = places
    inlet, x, best = temperatures
    low, limit = scale
    half = _RACK_SIZE / 2.0
    colors = (inlet - low) / (limit - low)
    for (east, north), share, value in zip(racks, np.clip(colors, 0.0, 1.0), inlet, strict=True):
        square = [
            (east - half, north - half),
            (east + half, north - half),
            (east + half, north + half),
            (east - half, north + half),
        ]
        axes.fill(*zip(*square, strict=True), color=_heat_color(float(share)), linewidth=0)
        hot = value > limit
        axes.text(
            east,
            north,
            f"{value:.0f}",
            ha="center",
            va="center",
            fontsize=8,
            color="#111111",
            fontweight="bold" if hot else "normal",
        )
    for (east, north), value, aim in zip(units, x, best, strict=True):
        axes.plot([east], [north], marker="o", markersize=9, color=theme.position)
        left = east < racks[:, 0].mean()
        axes.text(
            east + (-0.5 if left else 0.5),
            north,
            f"{value:.1f} °C\nbest {aim:.1f}",
            ha="right" if left else "left",
            va="center",
            fontsize=8.5,
        )
    axes.set_aspect("equal")
    axes.set_xlim(units[:, 0].min() - 3.2, units[:, 0].max() + 3.2)
    axes.set_ylim(racks[:, 1].min() - 1.5, racks[:, 1].max() + 1.5)
    axes.axis("off")
    axes.set_title(f"Inlet temperatures in °C (limit {limit:g}) and set points of the units")


def _heat_color(share: float) -> str:
    """Return a color from cool to warm."""
    colors = require_extra("matplotlib.colors", "lab")
    warm = require_extra("matplotlib", "lab").colormaps["RdYlBu_r"]
    return str(colors.to_hex(warm(0.1 + 0.75 * share)))
