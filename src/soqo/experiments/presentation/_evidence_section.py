"""The part of the page with evidence beside regret: few probes, parts of regret, heavy tails, and tuned c1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from soqo._foundation.bootstrap_intervals import quantiles_over_runs
from soqo.experiments.judgment import Evidence, ProbedEstimates, trimmed_mean
from soqo.experiments.presentation._chart_html import render_chart
from soqo.experiments.presentation._charts import Chart
from soqo.experiments.presentation._html import format_number, plain, render_fold, render_row, render_table
from soqo.typing import Array

_QUANTILES, _TRIMMED = (0.1, 0.25, 0.5, 0.75, 0.9), (0.1, 0.25)

_RISK_NOTE = (
    "An error that no probe responds to cannot be estimated, so that the risk is infinite. The least response of "
    "Gaussian probes to a difference of two matrices of rank r, relative to its norm, shows from which m on there is "
    "no such error."
)
_SPLIT_NOTE = (
    "The parts of SCaLE's exact regret of exploitation by Proposition 1, for its own estimates. Where they have "
    "opposite signs they cancel in the sum. At this horizon they are not yet of the order that Corollary 1 is about, "
    "which is why that claim is judged at longer ones."
)
_TAIL_NOTE = (
    "Cauchy steps have no mean, so that an average over runs does not settle with their number, and the largest run "
    "decides it; medians, quantiles and trimmed means do settle."
)
_C1_NOTE = "The c1 with the least regret of SCaLE to the letter, as the paper tunes it by a line search."


def render_evidence(evidence: Evidence, charts: Mapping[str, Chart]) -> str:
    """Return a section with a fold for each kind of evidence that there is.

    Parameters
    ----------
    evidence : Evidence
        The evidence.
    charts : mapping of str to Chart
        The charts by name.
    """
    risk = charts.get("risk")
    split_title, c1_title = "Section 5.1: eigenvalue against eigenbasis errors", "c1 tuned for each setting"
    parts = (
        ("risk", risk.title if risk else "", _RISK_NOTE, render_chart(risk, risk.title) if risk else ""),
        ("split", split_title, _SPLIT_NOTE, _split_table(evidence.split) if evidence.split else ""),
        ("tails", "Heavy tails by quantiles and trimmed means", _TAIL_NOTE, _tail_table(evidence.tails)),
        ("c1", c1_title, _C1_NOTE, _tuned_table(evidence.tuned_c1) if evidence.tuned_c1 else ""),
    )
    folds = "\n".join(
        render_fold(f"<h3>{plain(title)}</h3>", f"<p>{plain(note)}</p>\n{content}", kind="card group", anchor=anchor)
        for anchor, title, note, content in ((f"evidence-{name}", *rest) for name, *rest in parts)
        if content
    )
    return f'<section id="evidence">\n<h2>Evidence beside regret</h2>\n{folds}\n</section>' if folds else ""


def _split_table(splits: Sequence[ProbedEstimates]) -> str:
    rows = []
    for found in splits:
        value, basis = found.split()
        numbers = [format_number(float(np.median(part))) for part in (value, basis, value + basis)]
        rows.append(render_row(plain(found.setting.name), (found.gamma2, found.radius, str(found.horizon), *numbers)))
    heads = ("Setting", "γ²", "Radius", "T", "R_val", "R_basis", "Sum")
    return render_table("plain", "Medians over the runs", heads, rows)


def _tail_table(tails: Mapping[tuple[str, str], Array]) -> str:
    """Return the distribution of each policy's regret over the runs, where a mean says little."""
    if not tails:
        return ""
    rows = []
    for (setting, policy), regret in tails.items():
        with np.errstate(invalid="ignore", over="ignore"):
            trimmed = [trimmed_mean(regret, share) for share in _TRIMMED]
            numbers = (*quantiles_over_runs(regret, _QUANTILES), *trimmed, regret.mean())
            size = np.abs(regret).sum()
            largest = np.abs(regret).max() / size if size else 0.0
        cells = [format_number(float(number)) for number in numbers]
        rows.append(render_row(plain(setting), (plain(policy), *cells, f"{100 * largest:.0f} %")))
    shares = [f"{100 * q:g} %" for q in _QUANTILES] + [f"Trimmed by {100 * share:g} %" for share in _TRIMMED]
    heads = ("Setting", "Policy", *shares, "Mean", "Share of the largest run")
    return render_table("plain", "Quantiles, trimmed means and the mean of regret at the end", heads, rows)


def _tuned_table(tuned: Mapping[str, Mapping[str, float]]) -> str:
    rows = [render_row(plain(name), [f"{found[s]:g}" for s in ("mean", "median")]) for name, found in tuned.items()]
    return render_table("plain", f"Best {plain('c1')} by mean and by median", ("Setting", "By mean", "By median"), rows)
