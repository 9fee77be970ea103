"""Charts of evidence beside regret: the spread of queries (RUB), and what few probes leave unseen (Remark 1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from soqo._foundation.bootstrap_intervals import quantiles_over_runs
from soqo.experiments.execution import Band
from soqo.experiments.judgment import Evidence, RubExperiment
from soqo.experiments.presentation._charts import Chart, Curve, Panel, drawable
from soqo.experiments.presentation._style import policy_styles
from soqo.typing import Array


def rub_chart(evidence: Evidence, titles: Mapping[str, str]) -> Chart | None:
    """Return C2/C1 of each policy's first queries against their number, with a panel for each setting, or None.

    Parameters
    ----------
    evidence : Evidence
        The evidence.
    titles : mapping of str to str
        The titles of settings.
    """
    if not evidence.rub:
        return None
    panels = tuple(_rub_panel(found, titles.get(found.setting, found.setting)) for found in evidence.rub)
    return Chart("rub", panels, "median", next(iter(evidence.rub[0].ratios.values())).shape[1], band="quartiles")


def _rub_panel(found: RubExperiment, title: str) -> Panel:
    styles = policy_styles(found.ratios)
    queries = np.array(found.queries, float)
    curves = tuple(
        Curve(name, *styles[name], queries, {"median": _quartiles(ratios)}) for name, ratios in found.ratios.items()
    )
    ticks = tuple(queries.tolist())
    return Panel(title, "number of queries", "C2/C1", curves, ticks=ticks, log=True)


def risk_chart(evidence: Evidence) -> Chart | None:
    """Return the least response of probes to an error, against their number, with a panel for each rank, or None.

    Parameters
    ----------
    evidence : Evidence
        The evidence.
    """
    if not evidence.risk:
        return None
    panels = []
    for found in evidence.risk:
        x = np.array(found.probes, float)
        curve = Curve("least response to an error", "#0072B2", "-", x, {"median": _quartiles(found.unseen)})
        title = f"r = {found.rank}, d = {found.dim}: no error is unseen from m = {found.first_consistent} on"
        panels.append(Panel(title, "number of probes m", "least response", (curve,)))
    return Chart("risk", tuple(panels), "median", evidence.risk[0].unseen.shape[1], band="quartiles")


def _quartiles(samples: Array) -> Band:
    """Return the median and the quartiles over the last axis; a value may be infinite."""
    low, middle, high = quantiles_over_runs(samples, [0.25, 0.5, 0.75], axis=1)
    return drawable(Band(middle, low, high))
