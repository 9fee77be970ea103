"""Pictures of a drive: costs as bars, positions and costs over time, and a map of the plant (extra ``lab``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from soqo._foundation.figure_style import Theme, ThemeName, find_theme, theme_context
from soqo._foundation.optional_imports import require_extra
from soqo.experiments.presentation import new_figure, policy_styles
from soqo.plants._plant import Conditions, Plant
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN_ROUNDS = 144
"""The rounds of the time series of positions: at the end of the drive, when learners have learned."""

_BEYOND = 1.25
"""Bars longer than this many times the cost of following v are cut."""

_TIMED = ("FTM", "deadband", "interpolation 0.5", "oracle A(context)", "GLIDE")
"""The policies in the pictures over time, if there are such; the others would hide them."""

_LEAST_COST = 1e-9
"""In kW, for an axis of costs that are all zero."""

_LABEL_HEIGHT = 0.065
"""The height of a label, as a share of the axis."""

_MIN_LUMINANCE = 0.18
"""The luminance of a line on a dark background."""


class DrawnDrive(Protocol):
    """The part of the result of a drive that is drawn."""

    @property
    def plant(self) -> Plant: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def conditions(self) -> Conditions: ...
    @property
    def positions(self) -> Array: ...
    @property
    def lost(self) -> Array: ...
    @property
    def wear(self) -> Array: ...
    @property
    def rounds(self) -> int: ...
    def index(self, name: str) -> int: ...


def draw_drive(result: DrawnDrive, *, theme: ThemeName = "light", focus: str = "GLIDE") -> Figure:
    """Draw a drive: the plant at a moment, costs, and positions and costs over time.

    Parameters
    ----------
    result : DrawnDrive
        The result.
    theme : {"light", "dark"}
        The colors.
    focus : str
        The policy whose positions are shown; the first policy if there is none of this name.
    """
    chosen = focus if focus in result.names else result.names[0]
    colors = find_theme(theme)
    with theme_context(colors):
        figure = new_figure(12.5, 8.6)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.15), height_ratios=(1.25, 1.0))
        _draw_moment(figure.add_subplot(grid[0, 0]), result, chosen, colors)
        _draw_costs(figure.add_subplot(grid[0, 1]), result, colors)
        _draw_positions(figure.add_subplot(grid[1, 0]), result, chosen, colors)
        _draw_cost_over_time(figure.add_subplot(grid[1, 1]), result, colors)
        return figure


def _draw_moment(axes: Axes, result: DrawnDrive, focus: str, theme: Theme) -> None:
    """Draw the map in the round of the last day in which v moved most."""
    best = result.conditions.best[-_SHOWN_ROUNDS:, 0]
    t = result.rounds - len(best) + int(np.abs(np.diff(best, axis=0)).sum(axis=1).argmax()) + 1 if len(best) > 1 else 0
    x = result.positions[result.index(focus), t, 0]
    result.plant.draw_map(axes, result.conditions[t, 0], x, theme)
    hours = (t + 1) * result.plant.round_minutes / 60.0
    axes.set_title(f"{axes.get_title(loc='left')}\n{focus} after {hours:,.1f} hours, when v had just moved")


def _draw_costs(axes: Axes, result: DrawnDrive, theme: Theme) -> None:
    """Draw the hitting cost and the switching cost of each policy as a bar."""
    means = (float(part.mean()) for rows in zip(result.lost, result.wear, strict=True) for part in rows)
    costs = {name: (next(means), next(means)) for name in result.names}
    totals = {name: lost + wear for name, (lost, wear) in costs.items()}
    end = _BEYOND * max(totals.get("FTM", float(np.median(list(totals.values())))), min(totals.values()), _LEAST_COST)
    styles = policy_colors(result.names, theme)
    for place, (name, (hitting, wear)) in enumerate(costs.items()):
        total = totals[name]
        lost = min(max(hitting, 0.0), end)
        axes.barh(place, lost, color=styles[name], height=0.7)
        axes.barh(place, min(wear, end - lost), left=lost, color=styles[name], height=0.7, alpha=0.45)
        text = f"{total:,.2f}" if total < 10.0 else f"{total:,.0f}"
        cut = total > end
        axes.annotate(
            f"… {text}" if cut else text,
            (end if cut else lost + wear, place),
            xytext=(4.0, 0.0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            fontweight="bold" if name.startswith("GLIDE") else "normal",
        )
    axes.set_yticks(range(len(costs)), list(costs))
    axes.invert_yaxis()
    axes.set_xlim(0.0, 1.18 * end)
    axes.grid(visible=False, axis="y")
    axes.set_title("Cost in kW: lost (solid) and wear (light)")


def _draw_positions(axes: Axes, result: DrawnDrive, focus: str, theme: Theme) -> None:
    """Draw v and the position of the first actuator at the end of a run."""
    part = slice(max(0, result.rounds - _SHOWN_ROUNDS), result.rounds)
    hours = np.arange(part.start, part.stop) * result.plant.round_minutes / 60.0
    best, period = result.conditions.best[part, 0, 0], result.plant.period
    turns = 0.0 if period is None else period * np.floor(best.min() / period)  # whole turns are not shown
    axes.plot(hours, best - turns, color=theme.minimizer, linewidth=3.0, alpha=0.6, label="v")
    if "deadband" in result.names and focus != "deadband":
        path = result.positions[result.index("deadband"), part, 0, 0]
        axes.plot(
            hours, path - turns, color=policy_colors(result.names, theme)["deadband"], linewidth=1.0, label="deadband"
        )
    path = result.positions[result.index(focus), part, 0, 0]
    axes.plot(hours, path - turns, color=theme.position, linewidth=1.8, label=focus)
    axes.set(xlabel="hours", ylabel=result.plant.position_unit)
    axes.set_title(f"Position of {result.plant.actuators[0]}")
    axes.legend(ncols=3, loc="best")


def _draw_cost_over_time(axes: Axes, result: DrawnDrive, theme: Theme) -> None:
    """Draw the running mean of the cost, over all runs."""
    styles = policy_colors(result.names, theme)
    names = [name for name in _TIMED if name in result.names] or list(result.names)
    rounds = np.arange(1, result.rounds + 1)
    hours = rounds * result.plant.round_minutes / 60.0
    means = {}
    for name in names:
        k = result.index(name)
        means[name] = np.cumsum((result.lost[k] + result.wear[k]).mean(axis=1)) / rounds
        axes.plot(hours, means[name], color=styles[name])
    top = 1.5 * max(float(mean[-1]) for mean in means.values())
    axes.set(xlabel="hours", ylabel="kW", ylim=(0.0, max(top, _LEAST_COST)))
    heights = _spread([float(means[name][-1]) for name in names], _LABEL_HEIGHT * top)
    for name, height in zip(names, heights, strict=True):
        axes.text(1.01 * hours[-1], height, name, color=styles[name], va="center", fontsize=9)
    axes.set_title("Mean cost so far")


def _spread(heights: list[float], apart: float) -> list[float]:
    """Return heights of labels, moved up where they would overlap.

    Examples
    --------
    >>> _spread([1.0, 5.0, 1.1], 0.5)
    [1.0, 5.0, 1.5]
    """
    result, floor = list(heights), -np.inf
    for k in sorted(range(len(heights)), key=heights.__getitem__):
        result[k] = float(max(heights[k], floor))
        floor = result[k] + apart
    return result


def policy_colors(names: Sequence[str], theme: Theme) -> dict[str, str]:
    """Return the color of each policy, light enough for a dark background.

    Parameters
    ----------
    names : sequence of str
        The names of the policies.
    theme : Theme
        The colors of the picture.
    """
    styles = policy_styles([name.replace("oracle", "LAI") for name in names])
    colors = dict(zip(names, (color for color, _ in styles.values()), strict=True))
    if theme.background == find_theme("light").background:
        return colors
    return {name: _lighten(color) for name, color in colors.items()}


def _lighten(color: str) -> str:
    """Return a color that is mixed with white as far as a dark background needs."""
    module = require_extra("matplotlib.colors", "lab")
    red_green_blue = np.array(module.to_rgb(color))
    weights = np.array([0.2126, 0.7152, 0.0722])
    for share in np.linspace(0.0, 1.0, 21):
        mixed = red_green_blue + share * (1.0 - red_green_blue)
        if float(mixed**2.2 @ weights) >= _MIN_LUMINANCE:
            break
    return str(module.to_hex(mixed))
