"""The map of a wind farm: the wind with its wakes, the turbines, and where they face."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.figure_style import Theme, find_theme
from soqo.plants._wind_farm._gaussian_wake import GaussianWake
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARGIN, _ROTOR, _PIXELS = 3.0, 2.0, 160
"""In diameters: the margin of the map, and the length of a drawn rotor, which is enlarged; and the resolution."""


def draw_farm(
    axes: Axes,
    model: GaussianWake,
    places: Array,
    wind: tuple[float, float],
    headings: tuple[Array, Array],
    theme: Theme,
) -> None:
    """Draw the flow through a farm, its turbines with their headings, and the best headings.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    model : GaussianWake
        The wake model of the picture.
    places : Array, shape (d, 2)
        The positions of the turbines in m.
    wind : tuple of float
        The direction in degrees and the speed in m/s.
    headings : tuple of two Arrays of shape (d,)
        The headings of the turbines, and the best ones, in degrees.
    theme : Theme
        The colors.
    """
    diameter = model.turbine.diameter
    direction, speed = wind
    low = places.min(axis=0) - _MARGIN * diameter
    high = places.max(axis=0) + _MARGIN * diameter
    east, north = (np.linspace(low[k], high[k], _PIXELS) for k in (0, 1))
    points = np.stack(np.meshgrid(east, north), axis=-1).reshape(-1, 2)
    flow = model.flow(places, direction, speed, direction - headings[0], points).reshape(_PIXELS, _PIXELS)
    extent = (low[0] / diameter, high[0] / diameter, low[1] / diameter, high[1] / diameter)
    # On a dark page the undisturbed wind is a dark gray, and wakes are black.
    dark = theme.background != find_theme("light").background
    brightest = (2.4 if dark else 1.15) * speed
    image = axes.imshow(
        flow, extent=extent, origin="lower", cmap="bone" if dark else "Blues_r", vmin=0.3 * speed, vmax=brightest
    )
    image.set_rasterized(True)
    for facing, color, width in ((headings[1], theme.expected, 3.2), (headings[0], theme.position, 2.2)):
        turn = np.deg2rad(facing)
        across = np.stack([np.cos(turn), -np.sin(turn)], axis=1) * (_ROTOR / 2.0)
        for middle, half in zip(places / diameter, across, strict=True):
            ends = np.stack([middle - half, middle + half])
            axes.plot(ends[:, 0], ends[:, 1], color=color, linewidth=width, solid_capstyle="round")
    axes.set(xlabel="rotor diameters to the east", ylabel="to the north", xlim=extent[:2], ylim=extent[2:])
    axes.grid(False)
    axes.set_title(f"Wind from {direction % 360.0:.0f}°, {speed:.1f} m/s: rotors, best headings in orange")
