"""The picture of simulated regret, exact regret and bounds over the horizon.

A statement has a color and a variant a line style, so that the readings of one statement are seen to belong together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soqo.errors import require_extra
from soqo.experiments.presentation._figures import (
    context,
    named_ticks,
    new_figure,
    quartiles,
    regret_scale,
)
from soqo.experiments.presentation._style import BOUNDS, COLORS, SMALL, VARIANTS, symbols
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from soqo.experiments.presentation._bounds_table import BoundName, BoundsTable

__all__ = ["bounds_figure"]

EXACT: dict[str, Any] = {"color": "black", "linestyle": "-", "linewidth": 1.8}
SIMULATED: dict[str, Any] = {
    "color": COLORS["SCaLE"],
    "linestyle": "",
    "marker": "o",
    "markersize": 5.5,
}
BARS = 2.0
"""How many standard errors a bar has on either side."""

WIDEST, NARROWER = 3.0, 0.85
"""The lines of a panel's first bound, and what those of each further one are thinner by."""


def bounds_figure(table: BoundsTable) -> Figure:
    """Regret of all rounds against T with the bounds on it, and beside it the same for exploitation.

    Points are means, since exact regret and bounds are about means. Where there are none of these, a mean need not
    exist: there the points are medians, and the second panel is left out.
    """
    whole, later = table.named(table.WHOLE), [*table.named(None), *table.named((table.LOWER,))]
    with context():
        figure = new_figure(9.6 if later else 5.8, 5.0)
        panels = list(figure.subplots(1, 2 if later else 1, squeeze=False)[0])
        draw_bounds(panels[0], table, whole)
        draw_exact(panels[0], table, table.exact)
        panels[0].set(title="Regret of all rounds", ylabel="regret")
        if later:
            draw_bounds(panels[1], table, later)
            draw_exact(panels[1], table, table.exploitation)
            panels[1].set(title="Regret of exploitation, from v on")
        draw_simulated(panels[0], table)
        for axes in panels:
            axes.set_xlabel("horizon T")
            named_ticks(axes, table.horizons)
            axes.set_xlim(0.85 * table.horizons[0], table.horizons[-1] / 0.85)
        if later:
            regret_scale(panels[1])
        finish(figure, table, [whole, later])
        return figure


def draw_simulated(axes: Axes, table: BoundsTable) -> None:
    """Points with bars. The scale is chosen for the points: a bar that reaches below zero may leave a log axis."""
    low, middle, high = simulated(table)
    axes.plot(table.horizons, middle, **SIMULATED, zorder=4)
    regret_scale(axes)
    axes.set_ylim(top=max(axes.get_ylim()[1], 1.2 * float(np.nanmax(high, initial=0.0))))
    bars = np.nan_to_num([middle - low, high - middle])
    axes.errorbar(table.horizons, middle, yerr=bars, **SIMULATED, capsize=3.0, zorder=4)


def simulated(table: BoundsTable) -> tuple[Array, Array, Array]:
    """Where bars begin, their points, and where they end."""
    if table.no_exact:
        return quartiles(table.simulated.T)
    reach = BARS * table.standard_error
    return table.mean - reach, table.mean, table.mean + reach


def draw_bounds(axes: Axes, table: BoundsTable, names: list[BoundName]) -> None:
    """A line for each bound; a dash for one that is known at a single horizon.

    Some coincide: so each statement's lines are thinner than those of the one before, which then show at its sides.
    """
    statements = list(dict.fromkeys(statement for statement, _ in names))
    for statement, variant in names:
        values = table.bounds[statement, variant]
        axes.plot(
            table.horizons,
            values,
            color=BOUNDS[statement],
            linestyle=VARIANTS[variant],
            linewidth=WIDEST - NARROWER * statements.index(statement),
            marker=dash(values),
        )


def draw_exact(axes: Axes, table: BoundsTable, regret: Array) -> None:
    """The mean of exact regret, if there is any."""
    values = regret.mean(axis=1)
    if np.isfinite(values).any():
        axes.plot(table.horizons, values, **EXACT, marker=dash(values), zorder=3)


def dash(values: Array) -> str:
    """The marker of a line, which a single point needs to be seen."""
    return "_" if np.isfinite(values).sum() == 1 else ""


def finish(figure: Figure, table: BoundsTable, columns: list[list[BoundName]]) -> None:
    """Title and legend: a column for what was measured, one for the colors of each panel, one for the styles."""
    middle, bars = ("median", "to the quartiles") if table.no_exact else ("mean", f"{BARS:g} standard errors")
    measured = {f"simulated, {middle} of {table.runs} runs": SIMULATED}
    if np.isfinite(table.exact).any():
        measured["exact"] = EXACT
    entries = [measured]
    for names in columns:
        found = dict.fromkeys(statement for statement, _ in names)
        entries.append({label(s, table): {"color": BOUNDS[s], "linewidth": 3.0} for s in found})
    readings = dict.fromkeys(variant for names in columns for _, variant in names)
    entries.append({f"bounds {r.replace('_', ' ')}": {"color": SMALL, "linestyle": VARIANTS[r]} for r in readings})
    title = f"{table.title}: SCaLE's regret" + (" and its bounds" if table.bounds else "")
    figure.suptitle(symbols(title), x=0.008, ha="left", weight="bold", size="large", gid="title")
    line = require_extra("matplotlib.lines", "lab").Line2D
    kept = [column for column in entries if column]
    rows = max(map(len, kept))
    handles, labels = [], []
    for column in kept:
        # Without fillers, columns of different lengths would be evened out.
        styles = [*column.values(), *[{"linestyle": ""}] * (rows - len(column))]
        handles += [line([], [], **style) for style in styles]
        labels += [*column, *[" "] * (rows - len(column))]
    legend = figure.legend(
        handles,
        labels,
        loc="outside lower left",
        ncols=len(kept),
        title=f"bars: {bars} on either side" if table.runs > 1 else "one run",
        alignment="left",
        handlelength=2.8,
    )
    legend.get_title().set(color=SMALL, fontsize="small")


def label(statement: str, table: BoundsTable) -> str:
    """What a color stands for."""
    return f"{statement} (lower bound, A = 0)" if statement == table.LOWER else statement
