"""Judgment: the paper's claims that simulation can test, judged by stated rules under every reading of the text.

A claim is a :class:`ClaimRule` in one of the modules ``_ranking_claims``, ``_growth_claims``, ``_tuning_claims`` and
``_evidence_claims``; :func:`judge` applies the rules.
"""

from soqo.experiments.judgment._evidence import (
    EstimationRisk,
    Evidence,
    RubExperiment,
    SpectralSplit,
    Tail,
    gather_evidence,
)
from soqo.experiments.judgment._judge import RULES, SECTIONS, judge
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples, tune_c1
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
    "gather_evidence",
    "judge",
    "tune_c1",
]
