"""Judgment: the paper's claims that numbers can test, judged by stated rules under every reading of the text.

A claim is a :class:`ClaimRule` in one of the modules ``_ranking_claims``, ``_growth_claims``, ``_tuning_claims``,
``_query_claims`` and ``_theory_claims``; :func:`judge` applies the rules.
"""

from soqo.experiments.judgment._decisions import decide, measure
from soqo.experiments.judgment._evidence import Evidence, gather_evidence
from soqo.experiments.judgment._judge import RULES, SECTIONS, judge
from soqo.experiments.judgment._judgment import KIND_NAMES, Judgment, Section
from soqo.experiments.judgment._query_evidence import EstimationRisk, RubExperiment, measure_risk, measure_rub
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples, trimmed_mean, tune_c1
from soqo.experiments.judgment._spectral_evidence import SpectralSplit, measure_split
from soqo.experiments.judgment._tails import Tail, measure_tails
from soqo.experiments.judgment._theory_checks import check_theory
from soqo.experiments.judgment._verdicts import Case, Claim, Kind, Number, Status, Verdict

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
    "Number",
    "RubExperiment",
    "Samples",
    "Section",
    "SpectralSplit",
    "Status",
    "Tail",
    "Verdict",
    "check_theory",
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
