"""Claims about queries and estimates under heavy tails: restricted uniform boundedness (RUB) and consistency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from soqo._simulation.summary import format_short
from soqo.experiments.execution import resampled_runs
from soqo.experiments.judgment._checked_claims import untestable_claim
from soqo.experiments.judgment._decisions import decide, lowest, measure
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._growth_claims import OVERSHOOT
from soqo.experiments.judgment._query_evidence import QUERIES
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Kind
from soqo.experiments.judgment._zero_estimates import tell_zero_estimates
from soqo.experiments.settings import HEAVY_TAILS, Reading, describe_setting
from soqo.typing import Array


def _median(values: Array) -> Array:
    """Return the median of numbers of runs, for the runs and for resamples."""
    return np.asarray(np.median(np.concatenate([values[None], values[resampled_runs(values.size)]]), axis=1))


def _no_rub(_: Samples, evidence: Evidence, _reading: Reading) -> list[Case]:
    cases = []
    for found in evidence.rub:
        if found.setting in HEAVY_TAILS:
            last = found.queries.index(QUERIES)
            ratios = {name: _median(values[last]) for name, values in found.ratios.items()}
            numbers = [measure(f"C2/C1 of {name}", values) for name, values in ratios.items()]
            passed = lowest(*(ratios[name] for name in ("POL", "OAL", "HySCaLE"))) > ratios["SCaLE"]
            cases.append(decide(found.setting, passed, True, found.ratios["SCaLE"].shape[1], *numbers))
    return cases


def _inconsistent(_: Samples, evidence: Evidence, _reading: Reading) -> list[Case]:
    cases = []
    for found in evidence.rub:
        if found.setting in HEAVY_TAILS:
            errors = {name: _median(found.errors[name]) for name in ("SCaLE", "HySCaLE")}
            numbers = [measure(f"|A_hat - A|_* of {name} at the end", values) for name, values in errors.items()]
            share = found.sizes["SCaLE"] / found.curvature
            numbers.append(measure("|A_hat|_* of SCaLE over |A|_*", _median(share)))
            passed = errors["HySCaLE"] > errors["SCaLE"]
            cases.append(decide(found.setting, passed, True, found.errors["SCaLE"].size, *numbers))
    return cases


def _tell_without_probes(_: Samples, evidence: Evidence, _readings: Sequence[Reading]) -> str:
    """Return what GLIDE, which has no probes with RUB, says about whether RUB is necessary; empty without it."""
    medians = {(tail.setting, tail.policy): tail.quantiles[0.5] for tail in evidence.tails}
    parts = [
        f"{format_short(medians[name, 'GLIDE'])} in {describe_setting(name)}, where that of the calibrated SCaLE is "
        f"{format_short(medians[name, 'SCaLE'])}"
        for name in HEAVY_TAILS
        if {(name, "GLIDE"), (name, "SCaLE")} <= medians.keys()
    ]
    if not parts:
        return ""
    return (
        "Is RUB necessary? GLIDE, which is not in the paper, learns from its own movement, without probes that have "
        f"RUB; its median regret is {', and '.join(parts)}."
    )


QUERY_CLAIMS = (
    ClaimRule(
        id="rub-learners",
        kind=Kind.EXPERIMENT,
        text="restricted uniform boundedness (RUB) cannot be guaranteed for POL, OAL and HySCaLE",
        source="Section 4.2, robustness to heavy tails: is RUB necessary?",
        quote=(
            "Consequently, the RUB property (and statistical consistency) cannot be guaranteed for these baselines. "
            "Likewise for HySCaLE due to noisy gradient updates."
        ),
        section="heavy_tails",
        rule=(
            f"C2/C1 of {QUERIES} queries is larger for each of them than for SCaLE, whose probes have RUB; HySCaLE's "
            "are those after its probes; by medians over the runs"
        ),
        settings=HEAVY_TAILS,
        axes=(),
        cases=_no_rub,
        remark=(
            "That a property cannot be guaranteed is no statement about single runs: what is tested is whether it is "
            "worse where the paper says so. C2/C1 is found by local search, for matrices of rank 1."
        ),
        numbers_for_remark=_tell_without_probes,
    ),
    ClaimRule(
        id="remark2-inconsistent",
        kind=Kind.EXPERIMENT,
        text="gradient steps push HySCaLE's estimate away from A under heavy tails",
        source="Remark 2, Figure 4",
        quote=(
            "Noisy gradient-based updates to SCaLE's estimate can potentially push HySCaLE into statistical "
            "inconsistency. We observe this in heavy-tailed processes in Figure 4."
        ),
        section="heavy_tails",
        rule="the last estimate of HySCaLE has a larger nuclear error than SCaLE's, by medians over the runs",
        settings=HEAVY_TAILS,
        axes=(),
        cases=_inconsistent,
        remark=(
            "HySCaLE and SCaLE as printed. Where SCaLE's estimate is zero, its error is the norm of A itself: the test "
            "then says that HySCaLE's estimate is worse than none. "
            f"{OVERSHOOT}"
        ),
        numbers_for_remark=tell_zero_estimates,
    ),
    replace(
        untestable_claim(
            "trace-norm",
            "Figure 4 illustrates the importance of trace-norm minimization",
            "Section 4.2, robustness to heavy tails, Figure 4",
            "This illustrates the importance of exploration phase (Lines 1-5) and trace-norm minimization (Line 6).",
            (
                "no policy of the paper explores and estimates otherwise, so that its figures do not separate the two "
                "lines. soqo's default SCaLE takes least squares where the trace-norm estimate is zero"
            ),
            section="heavy_tails",
        ),
        kind=Kind.EXPERIMENT,
    ),
)
"""The claims about queries and estimates."""
