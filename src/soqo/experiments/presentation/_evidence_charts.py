"""Charts of evidence beside regret: the signal in readings (Figure 2), the spread of queries, and few probes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soqo._foundation.bootstrap_intervals import quantiles_over_runs
from soqo.experiments.execution import Band
from soqo.experiments.judgment import EstimationRisk, RubExperiment
from soqo.experiments.presentation._charts import Chart, Curve, Panel, drawable
from soqo.experiments.presentation._style import POLICY_COLORS, policy_styles
from soqo.experiments.settings import describe_setting
from soqo.typing import Array

CURVATURE_TEXTS = (
    "Rank deficiency hinders estimating curvature",
    "Section 1, Figure 2",
    "A of rank 1 in two dimensions, with eigenvalue 0.02; noise uniform in [-10, 10], the same in both directions.",
)
"""The title, the source and the note of the figure of Section 1."""

RUB_TEXTS = (
    "Is restricted uniform boundedness necessary? How well queries spread",
    "Section 4.2, robustness to heavy tails, and Remark 1",
    "C2/C1 of the first queries x - v, for matrices of rank 1, found by local search: near 1, the queries see every "
    "such matrix equally well. Lines are medians over the runs. SCaLE as printed probes with Gaussian offsets; POL and "
    "OAL query wherever their play takes them; HySCaLE's queries are those after its probes, which are SCaLE's. The "
    "paper asks the question and shows no figure.",
)
"""The same of the figure of the spread of queries."""

_EIGENVALUE, _NOISE_CAP, _COUNT, _MAX_DISTANCE = 0.02, 10.0, 121, 60.0


def curvature_chart() -> Chart:
    """Return readings along the eigenvector of a matrix A of rank 1, and along its null direction.

    Along the eigenvector the cost exceeds the noise; along the null direction there is noise only.
    """
    distance = np.linspace(-_MAX_DISTANCE, _MAX_DISTANCE, _COUNT)
    noise = np.random.default_rng(0).uniform(-_NOISE_CAP, _NOISE_CAP, _COUNT)
    nothing = np.full(_COUNT, np.nan)
    panels = []
    for title, eigenvalue, color in (
        ("Along the eigenvector: the cost rises above the noise", _EIGENVALUE, POLICY_COLORS["POL"]),
        ("Along a null direction: every reading is noise", 0.0, POLICY_COLORS["OAL"]),
    ):
        cost = 0.5 * eigenvalue * distance**2
        curves = (
            Curve(
                "hitting cost ½ u'Au, with the range of noise",
                POLICY_COLORS["FTM"],
                "-",
                distance,
                {"mean": Band(cost, cost - _NOISE_CAP, cost + _NOISE_CAP)},
            ),
            Curve(
                title.partition(":")[0].lower(), color, ".", distance, {"mean": Band(cost + noise, nothing, nothing)}
            ),
        )
        panels.append(Panel(title, "distance along u", "reading y = ½ u'Au + noise", curves))
    return Chart("curvature", CURVATURE_TEXTS[0], tuple(panels), "mean", 1, "the range of noise", areas=True)


def rub_chart(experiments: Sequence[RubExperiment]) -> Chart:
    """Return C2/C1 of each policy's first queries against their number, with a panel for each setting.

    Parameters
    ----------
    experiments : sequence of RubExperiment
        One for each panel.
    """
    panels = []
    for found in experiments:
        styles, queries = policy_styles(found.ratios), np.array(found.queries, float)
        curves = tuple(
            Curve(name, *styles[name], queries, {"median": _quartiles(ratios)}) for name, ratios in found.ratios.items()
        )
        title, ticks = describe_setting(found.setting), tuple(queries.tolist())
        panels.append(Panel(title, "number of queries", "C2/C1", curves, ticks=ticks, log=True))
    runs = next(iter(experiments[0].ratios.values())).shape[1]
    return Chart("rub", RUB_TEXTS[0], tuple(panels), "median", runs, "quartiles", areas=True)


def risk_chart(risks: Sequence[EstimationRisk]) -> Chart:
    """Return the least response of probes to an error, against their number, with a panel for each rank.

    Parameters
    ----------
    risks : sequence of EstimationRisk
        One for each panel.
    """
    panels = []
    for found in risks:
        x = np.array(found.probes, float)
        curve = Curve("least response to an error", "#0072B2", "-", x, {"median": _quartiles(found.unseen)})
        title = f"r = {found.rank}, d = {found.dim}: no error is unseen from m = {found.first_consistent} on"
        panels.append(Panel(title, "number of probes m", "least response", (curve,)))
    title = "Remark 1: how many probes see every error"
    return Chart("risk", title, tuple(panels), "median", risks[0].unseen.shape[1], "quartiles", areas=True)


def _quartiles(samples: Array) -> Band:
    """Return the median and the quartiles over the last axis; a value may be infinite."""
    low, middle, high = quantiles_over_runs(samples, [0.25, 0.5, 0.75], axis=1)
    return drawable(Band(middle, low, high))
