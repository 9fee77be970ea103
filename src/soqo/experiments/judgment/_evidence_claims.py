"""Claims about probes, estimates and spectral errors, judged from evidence beside regret."""

from __future__ import annotations

import numpy as np

from soqo.experiments.judgment._decisions import decide, lowest, measure
from soqo.experiments.judgment._evidence import QUERIES, Evidence
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Number, Status
from soqo.experiments.settings import HEAVY_TAILS, SPLIT, Reading
from soqo.typing import Array

_EQUAL = 2.0
"""Parts within this factor of each other contribute about equally."""


def _resampled(values: Array) -> Array:
    """Return the median of numbers of runs, for the runs and for resamples."""
    picks = np.random.default_rng(0).integers(values.size, size=(1000, values.size))
    return np.asarray(np.median(np.concatenate([values[None], values[picks]]), axis=1))


def _learners_violate_rub(_: Samples, evidence: Evidence, _reading: Reading) -> list[Case]:
    cases = []
    for found in evidence.rub:
        if found.setting not in HEAVY_TAILS:
            continue
        ratios = {name: _resampled(found.ratios[name][found.queries.index(QUERIES)]) for name in found.ratios}
        numbers = [measure(f"C2/C1 of {name}", values) for name, values in ratios.items()]
        runs = next(iter(found.ratios.values())).shape[1]
        passed = lowest(ratios["POL"], ratios["OAL"]) > ratios["SCaLE"]
        cases.append(decide(found.setting, passed, True, runs, *numbers))
    return cases


def _infinite_risk(_: Samples, evidence: Evidence, _reading: Reading) -> list[Case]:
    """Test whether few probes leave an error unseen, and a multiple of r d probes leave none."""
    cases = []
    for found in evidence.risk:
        enough = found.first_consistent
        few = [m for m in found.probes if m < enough]
        number = Number("the fewest probes that see every error", float(enough))
        multiple = Number("in multiples of r d", enough / (found.rank * found.dim))
        holds = bool(few) and 0.5 <= multiple.value <= 2.0
        cases.append(
            Case(f"r = {found.rank}, d = {found.dim}", Status.HOLDS if holds else Status.FAILS, (number, multiple))
        )
    return cases


def _equal_parts(samples: Samples, evidence: Evidence, reading: Reading) -> list[Case]:
    cases = []
    for found in evidence.split:
        if (found.gamma2, found.radius) != (reading.gamma2, reading.radius):
            continue
        value, basis = (samples.reduce(found.setting, reading, part[-1]) for part in (found.value, found.basis))
        ratio = np.abs(value) / np.abs(basis)
        numbers = [
            measure("|R_val| over |R_basis|", ratio),
            measure(f"R_val at T = {found.horizons[-1]}", value),
            measure("R_basis", basis),
        ]
        passed = (ratio < _EQUAL) & (ratio > 1.0 / _EQUAL)
        cases.append(decide(found.setting, passed, True, samples.runs, *numbers))
    return cases


EVIDENCE_CLAIMS = (
    ClaimRule(
        id="rub-learners",
        text="the queries of POL and OAL do not have restricted uniform boundedness (RUB), those of SCaLE do",
        source="Section 4.2, robustness to heavy tails: is RUB necessary?",
        section="heavy_tails",
        rule=f"C2/C1 of the first {QUERIES} queries is larger for POL and OAL than for SCaLE, by medians over runs",
        settings=HEAVY_TAILS,
        axes=(),
        cases=_learners_violate_rub,
        remark="C2/C1 is found by local search, for matrices of rank 1; infinite if one of them is not seen at all.",
    ),
    ClaimRule(
        id="remark1-risk",
        text="fewer than the order of r d probes leave the risk infinite, whatever the estimator",
        source="Remark 1",
        section="theory",
        rule="the fewest probes that see every difference of two matrices of rank r are between r d / 2 and 2 r d",
        settings=(),
        axes=(),
        cases=_infinite_risk,
        remark="The condition is exact for Gaussian probes; it does not depend on noise or on an estimator.",
    ),
    ClaimRule(
        id="equal-contribution",
        text="eigenvalue errors and eigenbasis errors contribute equally to the regret",
        source="Section 5.1 and Corollary 1",
        section="theory",
        rule="R_val and R_basis of Proposition 1, for SCaLE's own estimates, are within a factor of 2 in size",
        settings=SPLIT,
        axes=("gamma2", "radius", "statistic"),
        cases=_equal_parts,
        remark=(
            "In full rank the parts have opposite signs and nearly cancel: their sum is of second order in the error, "
            "which is why T^(1/2) can be improved on."
        ),
    ),
)
"""The claims about evidence."""
