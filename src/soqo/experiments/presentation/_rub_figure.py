"""The figure of an experiment that the paper describes without one: how well the queries of each policy spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soqo.experiments.judgment import Evidence
from soqo.experiments.presentation._axes import add_legend, add_title, label_ticks
from soqo.experiments.presentation._evidence_charts import rub_chart
from soqo.experiments.presentation._rendering import new_figure
from soqo.experiments.presentation._style import house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Is restricted uniform boundedness (RUB) necessary?"
SOURCE = "Section 4.2, robustness to heavy tails: a question without a figure"
NOTE = (
    "C2/C1 of a policy's first queries, by local search over matrices of rank 1. A ratio near 1 means that the queries "
    "see every such matrix equally well; queries that miss one have an infinite ratio."
)


def rub_figure(evidence: Evidence) -> Figure:
    """Draw C2/C1 of the first queries of each policy, with a panel for each setting (extra ``lab``).

    Parameters
    ----------
    evidence : Evidence
        The evidence, with at least one experiment on RUB.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; lines are medians over the runs, and bands reach from the lower to the upper quartile.
    """
    chart = rub_chart(evidence, {})
    assert chart is not None
    with house_style():
        figure = new_figure(2.9 * max(2, len(chart.panels)), 3.9)
        places = figure.subplots(1, len(chart.panels), squeeze=False, sharey=True)[0]
        for axes, panel in zip(places, chart.panels, strict=True):
            for curve in panel.curves:
                band = curve.bands["median"]
                axes.fill_between(curve.x, band.low, band.high, color=curve.color, alpha=0.12, linewidth=0)
                axes.plot(curve.x, band.value, curve.dash, marker=".", color=curve.color, label=curve.label)
            axes.set(yscale="log", xlabel=panel.x_label, title=panel.title)
            label_ticks(axes, panel.ticks)
        places[0].set_ylabel(chart.panels[0].y_label)
        add_title(figure, TITLE)
        handles, labels = places[0].get_legend_handles_labels()
        add_legend(figure, handles, labels, f"median of {chart.runs} runs; band: quartiles", ncols=len(labels))
        return figure
