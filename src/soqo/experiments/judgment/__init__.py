"""Judgment: the paper's claims that numbers can test, judged by stated rules under every reading of the text.

A claim is a :class:`ClaimRule` in one of the modules ``_introduction_claims``, ``_ranking_claims``, ``_growth_claims``,
``_tuning_claims``, ``_query_claims``, ``_estimate_claims`` and ``_theory_claims``; :func:`judge` applies the rules.
"""

from soqo.experiments.judgment._decisions import decide, measure
from soqo.experiments.judgment._estimate_evidence import EstimateErrors, measure_errors, nuclear_norm
from soqo.experiments.judgment._evidence import Evidence, gather_evidence
from soqo.experiments.judgment._judge import RULES, SECTIONS, judge
from soqo.experiments.judgment._judgment import KIND_NAMES, Judgment, Section
from soqo.experiments.judgment._movement_evidence import MovementCosts, measure_movement
from soqo.experiments.judgment._probed_estimates import ProbedEstimates, estimate_by_probes
from soqo.experiments.judgment._query_evidence import EstimationRisk, RubExperiment, measure_risk, measure_rub
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._spectral_evidence import SpectralSplit, measure_split
from soqo.experiments.judgment._tails import Tail, measure_tails
from soqo.experiments.judgment._theory_checks import check_theory
from soqo.experiments.judgment._trimmed_means import trimmed_mean
from soqo.experiments.judgment._tuned_c1 import tune_c1
from soqo.experiments.judgment._verdicts import Case, Claim, Kind, Number, Status, Verdict
from soqo.experiments.judgment._zero_estimates import explain_zero_estimates

__all__ = [
    "KIND_NAMES",
    "RULES",
    "SECTIONS",
    "Case",
    "Claim",
    "ClaimRule",
    "EstimateErrors",
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
    "SpectralSplit",
    "Status",
    "Tail",
    "Verdict",
    "check_theory",
    "decide",
    "estimate_by_probes",
    "explain_zero_estimates",
    "gather_evidence",
    "judge",
    "measure",
    "measure_errors",
    "measure_movement",
    "measure_risk",
    "measure_rub",
    "measure_split",
    "measure_tails",
    "nuclear_norm",
    "trimmed_mean",
    "tune_c1",
]
