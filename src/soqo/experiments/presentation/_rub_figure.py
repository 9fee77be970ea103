"""The figure of the question whether restricted uniform boundedness is necessary: how well queries spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.figure_style import house_style
from soqo.experiments.judgment import RubExperiment
from soqo.experiments.presentation._axes import add_title
from soqo.experiments.presentation._rendering import new_figure
from soqo.experiments.presentation._style import POLICY_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Is restricted uniform boundedness necessary? How well queries spread"
SOURCE = "Section 4.2, robustness to heavy tails, and Remark 1"
NOTE = (
    "C2/C1 of the first queries x - v, for matrices of rank 1, found by local search: near 1, the queries see every "
    "such matrix equally well. Lines are medians over the runs. SCaLE as printed probes with Gaussian offsets; POL and "
    "OAL query wherever their play takes them; HySCaLE's queries are those after its probes, which are SCaLE's. The "
    "paper asks the question and shows no figure."
)
_TITLES = {
    "heavy_tails_0.01": "Cauchy, sigma_r = 0.01",
    "heavy_tails_1": "Cauchy, sigma_r = 1",
    "rank_deficient_0.01": "Gaussian, sigma_r = 0.01",
    "rank_deficient_1": "Gaussian, sigma_r = 1",
}


def rub_figure(experiments: Sequence[RubExperiment]) -> Figure:
    """Draw C2/C1 of the queries of POL, OAL, SCaLE and HySCaLE against the number of queries (extra ``lab``).

    Parameters
    ----------
    experiments : sequence of RubExperiment
        One for each panel.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, with a common logarithmic axis.
    """
    with house_style():
        figure = new_figure(3.0 * len(experiments), 4.0)
        panels = figure.subplots(1, len(experiments), sharey=True, squeeze=False)[0]
        for axes, experiment in zip(panels, experiments, strict=True):
            _draw_panel(axes, experiment)
        panels[0].set_ylabel("C2/C1")
        add_title(figure, TITLE)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=len(labels))
        return figure


def _draw_panel(axes: Axes, experiment: RubExperiment) -> None:
    """Draw one setting: the runs as dots beside each other, and the median of each policy as a line."""
    count = len(experiment.ratios)
    positions = np.arange(len(experiment.queries), dtype=float)
    for index, (name, ratios) in enumerate(experiment.ratios.items()):
        shift = 0.22 * (index - 0.5 * (count - 1))
        color = POLICY_COLORS[name]
        axes.plot(positions + shift, np.median(ratios, axis=1), "-", color=color, linewidth=1.6, label=name)
        for position, row in zip(positions, ratios, strict=True):
            axes.plot(np.full(row.size, position + shift), row, "o", color=color, markersize=3.5, alpha=0.6)
    axes.set_yscale("log")
    axes.set_xticks(positions, [str(query) for query in experiment.queries])
    axes.set(xlabel="number of queries", title=_TITLES.get(experiment.setting, experiment.setting))
