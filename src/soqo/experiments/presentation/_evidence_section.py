"""The part of the page with evidence beside regret: few probes, parts of regret, heavy tails, and tuned c1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from soqo._foundation.bootstrap_intervals import quantiles_over_runs
from soqo.experiments.judgment import Evidence, ProbedEstimates, trimmed_mean
from soqo.experiments.presentation._chart_elements import render_chart
from soqo.experiments.presentation._charts import Chart
from soqo.experiments.presentation._numbers import format_number
from soqo.experiments.presentation._style import typeset
from soqo.typing import Array


def render_evidence(evidence: Evidence, charts: Mapping[str, Chart]) -> str:
    """Return a section with a fold for each kind of evidence that there is.

    Parameters
    ----------
    evidence : Evidence
        The evidence.
    charts : mapping of str to Chart
        The charts by name.
    """
    folds = []
    if evidence.risk:
        title = "Remark 1: how many probes see every error"
        note = (
            "An error that no probe responds to cannot be estimated, so that the risk is infinite. The least response "
            "of Gaussian probes to a difference of two matrices of rank r, relative to its norm, shows from which m on "
            "there is no such error."
        )
        folds.append(_fold("evidence-risk", title, note, render_chart(charts["risk"], title)))
    if evidence.split:
        note = (
            "The parts of SCaLE's exact regret of exploitation by Proposition 1, for its own estimates. Where they "
            "have opposite signs they cancel in the sum. At this horizon they are not yet of the order that Corollary "
            "1 is about, which is why that claim is judged at longer ones."
        )
        table = _split_table(evidence.split)
        folds.append(_fold("evidence-split", "Section 5.1: eigenvalue against eigenbasis errors", note, table))
    if evidence.tails:
        title = "Heavy tails by quantiles and trimmed means"
        folds.append(_fold("evidence-tails", title, _TAIL_NOTE, _tail_table(evidence.tails)))
    if evidence.tuned_c1:
        note = "The c1 with the least regret of SCaLE to the letter, as the paper tunes it by a line search."
        folds.append(_fold("evidence-c1", "c1 tuned for each setting", note, _tuned_table(evidence.tuned_c1)))
    if not folds:
        return ""
    inner = "\n".join(folds)
    return f'<section id="evidence">\n<h2>Evidence beside regret</h2>\n{inner}\n</section>'


def _fold(name: str, title: str, note: str, content: str) -> str:
    return (
        f'<details class="card group" id="{name}"><summary><h3>{escape(typeset(title))}</h3></summary>\n'
        f"<p>{escape(typeset(note))}</p>\n{content}\n</details>"
    )


def _split_table(splits: Sequence[ProbedEstimates]) -> str:
    rows = []
    for found in splits:
        value, basis = found.split()
        numbers = tuple(np.median(part) for part in (value, basis, value + basis))
        words = (found.setting.name, found.gamma2, found.radius, str(found.horizon))
        rows.append([*map(escape, words), *(format_number(float(number)) for number in numbers)])
    heads = ("Setting", "γ²", "Radius", "T", "R_val", "R_basis", "Sum")
    return _table("Medians over the runs", heads, rows)


_TAIL_NOTE = (
    "Cauchy steps have no mean, so that an average over runs does not settle with their number, and the largest run "
    "decides it; medians, quantiles and trimmed means do settle."
)
_QUANTILES, _TRIMMED = (0.1, 0.25, 0.5, 0.75, 0.9), (0.1, 0.25)


def _tail_table(tails: Mapping[tuple[str, str], Array]) -> str:
    """Return the distribution of each policy's regret over the runs, where a mean says little."""
    heads = ("Setting", "Policy", *(f"{100 * q:g} %" for q in _QUANTILES))
    heads += (*(f"Trimmed by {100 * share:g} %" for share in _TRIMMED), "Mean", "Share of the largest run")
    rows = []
    for place, regret in tails.items():
        with np.errstate(invalid="ignore", over="ignore"):
            trimmed = [trimmed_mean(regret, share) for share in _TRIMMED]
            numbers = (*quantiles_over_runs(regret, _QUANTILES), *trimmed, regret.mean())
            size = np.abs(regret).sum()
            largest = np.abs(regret).max() / size if size else 0.0
        cells = [format_number(float(number)) for number in numbers]
        rows.append([*map(escape, place), *cells, f"{100 * largest:.0f} %"])
    return _table("Quantiles, trimmed means and the mean of regret at the end", heads, rows)


def _tuned_table(tuned: Mapping[str, Mapping[str, float]]) -> str:
    rows = [[escape(name), *(f"{found[s]:g}" for s in ("mean", "median"))] for name, found in tuned.items()]
    return _table("Best c1 by mean and by median", ("Setting", "By mean", "By median"), rows)


def _table(caption: str, heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose cells are HTML already, and its caption and heads are not."""
    head = "".join(f'<th scope="col">{escape(typeset(name))}</th>' for name in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    told = escape(typeset(caption))
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{told}"><table class="plain"><caption>{told}'
        f"</caption><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )
