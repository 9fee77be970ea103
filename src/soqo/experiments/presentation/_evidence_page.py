"""Evidence beside regret on the page: charts of signal, queries and probes, and tables of parts, tails and tuned c1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from soqo._foundation.bootstrap_intervals import quantiles_over_runs
from soqo.experiments.execution import Band
from soqo.experiments.judgment import EstimationRisk, Evidence, ProbedEstimates, RubExperiment, trimmed_mean
from soqo.experiments.presentation._chart_html import render_chart
from soqo.experiments.presentation._charts import Chart, Curve, Panel, drawable
from soqo.experiments.presentation._html import format_number, plain, render_fold, render_row, render_table
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


# ---- the section of the page ----------------------------------------------------------------------------------------

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
