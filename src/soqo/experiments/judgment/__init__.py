"""Judgment: the paper's claims that numbers can test, judged by stated rules under every reading of the text.

The claims are in ``claims.toml``, each with the name of a function that tests it; :func:`judge` applies them all.
"""

from soqo.experiments.judgment._claims import Claim, Kind, Sentence
from soqo.experiments.judgment._estimates import (
    EstimationRisk,
    ProbedEstimates,
    RubExperiment,
    estimate_by_probes,
    measure_risk,
    measure_rub,
    nuclear_norm,
)
from soqo.experiments.judgment._evidence import Evidence, MovementCosts, gather_evidence, measure_movement
from soqo.experiments.judgment._judge import judge
from soqo.experiments.judgment._judgment import KIND_NAMES, Judgment, Section
from soqo.experiments.judgment._rules import RULES, SECTIONS, ClaimRule
from soqo.experiments.judgment._samples import Samples, trimmed_mean, tune_c1
from soqo.experiments.judgment._tests_of_evidence import explain_zero_estimates
from soqo.experiments.judgment._theory_checks import check_bound, check_theory
from soqo.experiments.judgment._verdicts import Case, Number, Status, Verdict, decide, measure

__all__ = [
    "KIND_NAMES",
    "RULES",
    "SECTIONS",
    "Case",
    "Claim",
    "ClaimRule",
    "EstimationRisk",
    "Evidence",
    "Judgment",
    "Kind",
    "MovementCosts",
    "Number",
    "ProbedEstimates",
    "RubExperiment",
    "Samples",
    "Section",
    "Sentence",
    "Status",
    "Verdict",
    "check_bound",
    "check_theory",
    "decide",
    "estimate_by_probes",
    "explain_zero_estimates",
    "gather_evidence",
    "judge",
    "measure",
    "measure_movement",
    "measure_risk",
    "measure_rub",
    "nuclear_norm",
    "trimmed_mean",
    "tune_c1",
]
