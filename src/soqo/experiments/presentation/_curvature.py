"""The picture of Section 1: readings along a direction in which A curves, and along one in which it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soqo.experiments.presentation._figures import context, new_figure
from soqo.experiments.presentation._style import COLORS, SMALL
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CAP", "EIGENVALUE", "READING", "SOURCE", "TITLE", "curvature_figure", "readings_along"]

TITLE = "Rank deficiency hinders estimating curvature"
SOURCE = "Section 1, Figure 2"
EIGENVALUE, ANGLE, CAP, REACH, COUNT = 0.02, 30.0, 10.0, 60.0, 121
READING = (
    f"A of rank 1 in two dimensions, with eigenvalue {EIGENVALUE:g} at {ANGLE:g} degrees; noise uniform in "
    f"[-{CAP:g}, {CAP:g}], the same in both panels."
)


def problem() -> tuple[Array, Array, Array]:
    """A, its eigenvector, and a null direction."""
    turn = np.deg2rad(ANGLE)
    eigenvector = np.array([np.cos(turn), np.sin(turn)])
    null = np.array([-np.sin(turn), np.cos(turn)])
    return EIGENVALUE * np.outer(eigenvector, eigenvector), eigenvector, null


def readings_along(direction: Array, noise: Array) -> tuple[Array, Array, Array]:
    """How far to go along a direction, what it costs there, and what is read.

    Examples
    --------
    >>> A, eigenvector, null = problem()
    >>> far, cost, readings = readings_along(eigenvector, np.zeros(3))
    >>> far, cost.round(6)
    (array([-60.,   0.,  60.]), array([36.,  0., 36.]))
    >>> readings_along(null, np.zeros(3))[1].round(6)
    array([0., 0., 0.])
    """
    A, _, _ = problem()
    far = np.linspace(-REACH, REACH, noise.size)
    u = far[:, None] * direction
    cost = 0.5 * np.einsum("ij,jk,ik->i", u, A, u)
    return far, cost, cost + noise


def curvature_figure() -> Figure:
    """Two panels: the signal rises above the noise, and there is only noise."""
    noise = np.random.default_rng(0).uniform(-CAP, CAP, COUNT)
    _, eigenvector, null = problem()
    with context():
        figure = new_figure(9.0, 4.4)
        left, right = figure.subplots(1, 2, sharey=True)
        panel(left, eigenvector, noise, "Along the eigenvector: the cost rises above the noise")
        panel(right, null, noise, "Along a null direction: every reading is noise")
        left.set_ylabel("reading y = ½ u'Au + noise")
        reach = float(np.sqrt(2.0 * CAP / EIGENVALUE))
        for side in (-reach, reach):
            left.axvline(side, color=SMALL, linewidth=0.8, linestyle=":")
        left.annotate(
            "signal\nabove noise",
            (reach, -3.0),
            (5, 0),
            textcoords="offset points",
            color=SMALL,
            size="small",
            va="top",
        )
        figure.suptitle(TITLE, x=0.008, ha="left", weight="bold", size="large", gid="title")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=3)
        return figure


def panel(axes: Axes, direction: Array, noise: Array, title: str) -> None:
    """Cost, noise band and readings along a direction, with a map of where it leads."""
    far, cost, readings = readings_along(direction, noise)
    axes.fill_between(far, cost - CAP, cost + CAP, color="#888888", alpha=0.2, linewidth=0, label="range of noise")
    axes.plot(far, cost, color=COLORS["FTM"], linewidth=2.0, label="hitting cost ½ u'Au")
    axes.plot(far, readings, ".", color=COLORS["POL"], markersize=5, label="readings")
    axes.set(xlabel="distance along u", title=title, xlim=(-REACH, REACH))
    axes.axhline(0.0, color="black", linewidth=0.8, zorder=1)
    place_map(axes, direction)


def place_map(axes: Axes, direction: Array) -> None:
    """Level lines of the cost, and the direction among them."""
    A, _, _ = problem()
    inset = axes.inset_axes((0.37, 0.58, 0.26, 0.34))
    grid = np.linspace(-1.0, 1.0, 41)
    at = np.stack(np.meshgrid(grid, grid), axis=-1)
    cost = np.einsum("...i,ij,...j->...", at, A, at)
    inset.contour(
        grid,
        grid,
        cost,
        levels=np.linspace(0.0, 1.2, 7)[1:] ** 2 * EIGENVALUE,
        colors="#999999",
        linewidths=0.7,
    )
    ends = np.stack([-0.85 * direction, 0.85 * direction])
    inset.annotate(
        "",
        ends[1],
        ends[0],
        arrowprops={"arrowstyle": "<->", "color": COLORS["POL"], "linewidth": 1.6},
    )
    inset.set(xticks=[], yticks=[], aspect="equal")
    inset.set_title("level lines of the cost", loc="center", size="x-small", color=SMALL)
    for spine in inset.spines.values():
        spine.set(visible=True, color="#bbbbbb")
    inset.grid(False)
