"""The picture of a log: positions, readings, cost and estimate, with alarms and interventions of the guard as marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._control.actuators import check_names
from soqo._control.predictions import Predictions, follow_minimizer, player_on, predict, switching_costs
from soqo._foundation.figure_style import Theme, ThemeName, find_theme, theme_context
from soqo._foundation.optional_imports import require_extra
from soqo._foundation.text import figure_text
from soqo.policies import GLIDE, Policy, State
from soqo.typing import Array, ArrayLike, BoolArray

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from soqo._control.log import Log

_WIDTH = 11.0
"""The width of a picture in inches."""

_MAX_ACTUATORS = 12
"""More panels than this would be too small to read."""

_MAX_ANNOTATED = 6
"""Up to this dimension, the entries of the estimate are written into its heat map."""

_MANY_ROUNDS = 600
"""With more rounds than this, readings would hide each other: their differences from what was expected are drawn."""

_COLUMNS = 12
"""The columns of the grid that panels span."""


def draw_with_predictions(log: Log, player: Policy[Any], state: State[Any], *, theme: ThemeName, title: str) -> Figure:
    """Draw a log with what a policy expected; GLIDE takes the place of one that does not estimate A."""
    found = predict(player, state, log)
    if found is None:
        glide = player_on(log, GLIDE())
        found = predict(glide, glide.start(log.x0, log.horizon, 0), log)
    return draw_log(log, found, theme=theme, title=title)


def count_rounds(count: int) -> str:
    """Return a number of rounds in words."""
    return f"{count} round{'' if count == 1 else 's'}"


def draw_log(log: Log, predictions: Predictions | None, *, theme: ThemeName, title: str) -> Figure:
    """Draw a log.

    Parameters
    ----------
    log : Log
        The log.
    predictions : Predictions, optional
        What a policy expected; without it, neither expected readings nor an estimate are drawn.
    theme : {"light", "dark"}
        The colors.
    title : str
        The title of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, independent of pyplot.
    """
    colors = find_theme(theme)
    shown = min(log.v.shape[1], _MAX_ACTUATORS)
    across = 1 if shown <= 3 else 2 if shown <= 8 else 3
    rows = -(-shown // across)
    heights = [1.75 if across == 1 else 1.45] * rows + [2.2, 2.8]
    with theme_context(colors):
        figure = new_figure(_WIDTH, sum(heights) + 0.7)
        grid = figure.add_gridspec(len(heights), _COLUMNS, height_ratios=heights)
        at = _horizontal(log)
        panels: list[Any] = []
        for k in range(shown):
            row, column = divmod(k, across)
            width = _COLUMNS // across
            place = grid[row, column * width : (column + 1) * width]
            panels.append(figure.add_subplot(place, sharex=panels[0] if panels else None))
            _draw_positions(panels[-1], log, k, at, colors)
        readings = figure.add_subplot(grid[rows, :], sharex=panels[0])
        _draw_readings(readings, log, predictions, at, colors)
        cost = figure.add_subplot(grid[rows + 1, : _COLUMNS if predictions is None else 7], sharex=panels[0])
        _draw_cost(cost, log, predictions, at, colors)
        panels += [readings, cost]
        for axes in panels:
            _label_rounds(axes, at, is_lowest=axes not in panels[: (rows - 1) * across])
        if predictions is not None:
            _draw_marks(panels, predictions, at, colors)
            estimate = figure.add_subplot(grid[rows + 1, 7:])
            draw_estimate(estimate, predictions.estimate, predictions.estimate_deviation, log.actuators, colors)
        hidden = log.v.shape[1] - shown
        add_title(figure, title + (f" (the first {shown} of {shown + hidden} actuators)" if hidden else ""))
        _add_legend(figure, panels)
        return figure


def new_figure(width: float, height: float) -> Figure:
    """Create an empty figure that is independent of pyplot."""
    module = require_extra("matplotlib.figure", "lab")
    figure: Figure = module.Figure(figsize=(width, height), layout="constrained")
    return figure


def add_title(figure: Figure, title: str) -> None:
    """Add the title of a figure."""
    figure.suptitle(figure_text(title), x=0.008, ha="left", weight="bold", size="large")


def _horizontal(log: Log) -> Any:
    """Return the place of each round on the horizontal axis: its time, or its number if a time is not known."""
    return np.arange(1, len(log) + 1) if log.time is None or np.isnat(log.time).any() else log.time


def _label_rounds(axes: Axes, at: Any, *, is_lowest: bool) -> None:
    """Label the horizontal axis, with numbers below the lowest panels only."""
    if at.dtype.kind != "M":
        locator: Any = axes.xaxis.get_major_locator()
        locator.set_params(integer=True)
        axes.set_xlabel("round" if is_lowest else "")
    axes.tick_params(axis="x", labelbottom=is_lowest)
    axes.margins(x=0.0)


def _marker(log: Log) -> str:
    """Return the marker of lines: a log of one round is shown as dots, since a line needs two."""
    return "o" if len(log) == 1 else ""


def _draw_positions(axes: Axes, log: Log, k: int, at: Any, colors: Theme) -> None:
    """Draw the position of one actuator, its minimizer and its limits."""
    style: dict[str, Any] = {"drawstyle": "steps-post", "marker": _marker(log)}
    axes.plot(at, log.v[:, k], color=colors.minimizer, label="minimizer v", linewidth=1.1, **style)
    axes.plot(at, log.x[:, k], color=colors.position, label="position x", linewidth=1.5, **style)
    lines = np.concatenate([log.v[:, k], log.x[:, k]])
    lowest, highest = float(lines.min()), float(lines.max())
    reach = highest - lowest + 1e-12  # a limit further away would compress the lines to less than half of the panel
    for limit in (log.low, log.high):
        value = np.nan if limit is None else float(np.broadcast_to(np.asarray(limit), log.v.shape[1:])[k])
        if lowest - reach <= value <= highest + reach:
            axes.axhline(value, color=colors.line, linestyle="--", linewidth=1.0, label="limit")
    axes.set_title(figure_text(f"Actuator {k + 1}" if log.actuators is None else log.actuators[k]))
    axes.set_ylabel(figure_text(check_names(None, log.units, log.dim).unit(k)))


def _draw_readings(axes: Axes, log: Log, predictions: Predictions | None, at: Any, colors: Theme) -> None:
    """Draw readings and, if a policy predicted them, what it expected with a band of 95 %."""
    many = len(log.y) > _MANY_ROUNDS
    y, outliers, title = log.y, np.zeros(len(log.y), dtype=np.bool_), "Readings"
    if predictions is not None:
        expected, spread = predictions.expected, 1.96 * predictions.deviation
        outliers, title = predictions.outliers, f"Readings, and what {predictions.policy} expected"
        if many:
            y, expected = y - expected, np.zeros(len(y))
            title = f"Difference of the readings from what {predictions.policy} expected"
        band: dict[str, Any] = {"color": colors.expected, "alpha": 0.28, "linewidth": 0, "zorder": 1}
        axes.fill_between(at, expected - spread, expected + spread, label="95 % band", **band)
        axes.plot(at, expected, color=colors.expected, linewidth=1.2, label="expected")
    dots: dict[str, Any] = {"markersize": 4.5}
    if many:  # thousands of dots would make a vector file large
        dots = {"markersize": 2.5, "alpha": 0.6, "rasterized": True}
    axes.plot(at, y, ".", color=colors.reading, label="reading", **dots)
    axes.set_title(title)
    low, high = _limits_of(y[~outliers & ~np.isnan(y)])
    axes.set_ylim(low, high)
    edge = 0.04 * (high - low)  # where outliers beyond the limits are shown
    shown = np.clip(y, low + edge, high - edge)
    _mark(axes, at, outliers, shown, "o", colors.alarm, label="outlier", markersize=6, markerfacecolor="none")
    bottom = axes.get_xaxis_transform()
    _mark(axes, at, np.isnan(log.y), 0.0, "|", colors.line, label="no reading", markersize=6, transform=bottom)


def _mark(axes: Axes, at: Any, where: BoolArray, height: ArrayLike, marker: str, color: str, **style: Any) -> None:
    """Mark some rounds, if there are any."""
    if where.any():
        heights = np.broadcast_to(height, where.shape)[where]
        axes.plot(at[where], heights, marker, color=color, clip_on=False, **style)


def _limits_of(values: Array) -> tuple[float, float]:
    """Return limits for almost all values: single ones would compress the others, and so would the first bands."""
    if not values.size:
        return 0.0, 1.0
    lowest, low, high, highest = (float(edge) for edge in np.quantile(values, [0.0, 0.01, 0.99, 1.0]))
    reach = 0.5 * (high - low)
    low, high = max(lowest, low - reach), min(highest, high + reach)
    margin = 0.1 * (high - low) or 1.0
    return low - margin, high + margin


def _draw_cost(axes: Axes, log: Log, predictions: Predictions | None, at: Any, colors: Theme) -> None:
    """Draw the total cost so far, and that of following v."""
    follow = follow_minimizer(log)
    own = switching_costs(log.x, log.x0, log.switching_weight)
    others = switching_costs(follow, log.x0, log.switching_weight)
    if predictions is None:
        own, source = own + np.nan_to_num(log.y), "as measured"
    else:
        own, others = own + predictions.hitting, others + predictions.follow_hitting
        source = f"by the estimate of {predictions.policy}"
    for k, (cost, color, label) in enumerate(
        ((others, colors.follow, "following v"), (own, colors.position, "this plant"))
    ):
        total = np.cumsum(cost)
        axes.plot(at, total, color=color, linewidth=1.8, marker=_marker(log))
        place: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "color": color}
        axes.text(0.015, 0.97 - 0.1 * k, f"{label}: {_rounded(total[-1], 4)}", **place)  # a sum is small on the left
    axes.set_title(f"Total cost so far, {source}")


def _rounded(value: float, digits: int) -> str:
    """Format a number with a few digits, without an exponent if it is not very large or small."""
    return f"{float(f'{value:.{digits}g}'):,g}"


def draw_estimate(
    axes: Axes, estimate: Array, deviation: Array, actuators: Sequence[str] | None, colors: Theme
) -> None:
    """Draw the estimate of A as a heat map, with its uncertainty.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The panel.
    estimate, deviation : Array, shape (d, d)
        The estimate, and the standard deviations of its entries (NaN if unknown).
    actuators : sequence of str, optional
        The names of the actuators.
    colors : Theme
        The colors.
    """
    module = require_extra("matplotlib.colors", "lab")
    d, is_known = len(estimate), bool(np.isfinite(deviation).any())
    uncertainty = " ± standard deviation" if d <= _MAX_ANNOTATED else " (dots: may be zero)"
    axes.set_title(f"Estimate of A{uncertainty if is_known else ''}")
    ends = [colors.follow, colors.background, colors.position]
    largest = float(np.abs(estimate).max()) or 1.0
    scale = module.LinearSegmentedColormap.from_list("estimate", ends)
    image = axes.imshow(estimate, cmap=scale, vmin=-largest, vmax=largest)
    names = [str(k + 1) for k in range(d)] if actuators is None else list(actuators)
    axes.set_xticks(range(d), names, rotation=0 if max(map(len, names)) * d <= 30 else 45)
    axes.set_yticks(range(d), names)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    if d > _MAX_ANNOTATED:
        axes.figure.colorbar(image, ax=axes, shrink=0.9).outline.set_visible(False)
        axes.tick_params(labelsize="small" if d <= 12 else "xx-small")
        row, column = np.nonzero(np.abs(estimate) < 2.0 * deviation)
        axes.plot(column, row, ".", color=colors.line, markersize=3)
        return
    for i in range(d):
        for j in range(d):
            text = _rounded(estimate[i, j], 2) + (f"\n± {_rounded(deviation[i, j], 1)}" if is_known else "")
            color = colors.background if abs(estimate[i, j]) > 0.6 * largest else colors.text
            axes.text(j, i, text, ha="center", va="center", color=color, fontsize=9 if d <= 4 else 7)


def _draw_marks(panels: Sequence[Axes], predictions: Predictions, at: Any, colors: Theme) -> None:
    """Mark alarms by lines, and interventions of the guard by triangles."""
    for axes in panels:
        for t in predictions.alarms:
            axes.axvline(at[t], color=colors.alarm, linewidth=1.1, linestyle=":", label="alarm")
        if axes is not panels[-1]:  # where the total cost is written
            place: dict[str, Any] = {"markersize": 4, "transform": axes.get_xaxis_transform()}
            _mark(axes, at, predictions.guarded, 0.96, "v", colors.guard, label="guard", **place)


def _add_legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """Add one legend for all panels."""
    entries: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower left", ncols=len(entries))
