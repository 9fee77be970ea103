"""Judgment: the paper's claims that simulation can test, judged by stated rules under every reading of the text.

A claim is a :class:`ClaimRule` in one of the modules ``_ranking_claims``, ``_growth_claims``, ``_tuning_claims`` and
``_evidence_claims``; :func:`judge` applies the rules.
"""

from soqo.experiments.judgment._decisions import decide, measure
from soqo.experiments.judgment._evidence import (
    EstimationRisk,
    Evidence,
    RubExperiment,
    SpectralSplit,
    Tail,
    gather_evidence,
    measure_risk,
    measure_rub,
    measure_split,
    measure_tails,
)
from soqo.experiments.judgment._judge import RULES, SECTIONS, judge
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples, trimmed_mean, tune_c1
from soqo.experiments.judgment._verdicts import Case, Claim, Judgment, Number, Section, Status, Verdict

__all__ = [
    "RULES",
    "SECTIONS",
    "Case",
    "Claim",
    "ClaimRule",
    "EstimationRisk",
    "Evidence",
    "Judgment",
    "Number",
    "RubExperiment",
    "Samples",
    "Section",
    "SpectralSplit",
    "Status",
    "Tail",
    "Verdict",
    "decide",
    "gather_evidence",
    "judge",
    "measure",
    "measure_risk",
    "measure_rub",
    "measure_split",
    "measure_tails",
    "trimmed_mean",
    "tune_c1",
]
