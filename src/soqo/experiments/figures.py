"""Figures of a result: cumulative regret and regret per round, medians with quartile bands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soqo.arguments import Array
from soqo.errors import require_extra
from soqo.experiments.style import RC, look
from soqo.result import Result
from soqo.summary import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["moving_average", "regret_figure", "save_figure"]


def regret_figure(result: Result, title: str, window: int = 50) -> Figure:
    """Cumulative regret, and regret per round averaged over a window, for every policy of a result.

    Lines are medians over the runs, bands run from the lower to the upper quartile.
    """
    pyplot = require_extra("matplotlib.pyplot", "lab")
    with pyplot.rc_context(RC):
        figure: Figure
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
        window = min(window, result.horizon)
        rounds = np.arange(1.0, result.horizon + 1)
        for index, (name, (color, style)) in enumerate(look(result.policies).items()):
            # Each line is a little thinner than the one before, so that one which hides another lets it show.
            line = Line(color, style, max(1.0, 2.8 - 0.35 * index), name)
            band(left, rounds, result.regret(name), line)
            shares = moving_average(result.regret(name, per_round=True), window)
            band(right, rounds[window - 1 :], shares, line)
        left.set(
            xlabel="round t", ylabel="regret against LAI up to t (log scale)", title="Cumulative"
        )
        right.set(
            xlabel="round t",
            ylabel="regret against LAI per round (log scale)",
            title=f"Per round, mean of the last {window} rounds",
        )
        symmetric_log(left)
        symmetric_log(right)
        for axes in (left, right):
            axes.set_xlim(0, result.horizon)
            axes.axhline(0.0, color="black", linewidth=0.8)
            axes.yaxis.set_major_formatter(lambda value, _: short(value))
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)))
        figure.suptitle(title, x=0.01, ha="left", weight="bold")
        caption = f"median of {result.runs} runs, band from lower to upper quartile"
        figure.text(0.99, 0.985, caption, ha="right", va="top", color="#555555")
        return figure


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure in the format that the path's suffix names,.

    The house settings and a missing date make an SVG of the same numbers the same file.
    """
    pyplot = require_extra("matplotlib.pyplot", "lab")
    with pyplot.rc_context(RC):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return path


@dataclass(frozen=True)
class Line:
    """How a policy is drawn."""

    color: str
    style: str
    width: float
    label: str


def band(axes: Axes, x: Array, samples: Array, line: Line) -> None:
    """A median line with its quartile band; samples have shape (runs, len(x))."""
    lower, median, upper = np.quantile(samples, [0.25, 0.5, 0.75], axis=0)
    axes.fill_between(x, lower, upper, color=line.color, alpha=0.18, linewidth=0)
    axes.plot(x, median, line.style, color=line.color, linewidth=line.width, label=line.label)


def symmetric_log(axes: Axes) -> None:
    """A log axis with room for zero and below, linear under about a thousandth of the largest value."""
    low, high = axes.dataLim.intervaly
    largest = max(abs(low), abs(high), 1e-12)
    linear = float(10.0 ** np.floor(np.log10(largest) - 2.0))
    axes.set_yscale("symlog", linthresh=linear)
    axes.set_ylim(min(1.5 * low, -0.2 * linear), max(1.5 * high, linear))


def moving_average(samples: Array, window: int) -> Array:
    """The mean over the last ``window`` rounds, for each round that has as many.

    Examples
    --------
    >>> moving_average(np.array([[1.0, 3.0, 5.0]]), window=2)
    array([[2., 4.]])
    """
    means = np.lib.stride_tricks.sliding_window_view(samples, window, axis=-1).mean(axis=-1)
    return np.asarray(means)
