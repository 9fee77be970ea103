"""Judgment: the paper's claims that simulation can test, judged by stated rules from the numbers of a run.

A claim is a function that ``claim`` adds in one of the modules ``_ranking_claims``, ``_rate_claims`` and
``_tuning_claims``; most are a row of a table, whose test is repeated for each variant of the paper's text.
"""

from soqo.experiments.judgment import _ranking_claims, _rate_claims, _tuning_claims  # noqa: F401  # each module adds its claims
from soqo.experiments.judgment._claims import UNTESTED, Claim, PaperOutcomes, claim, judge
from soqo.experiments.judgment._evidence import EstimationRisk, Evidence, RubExperiment, SpectralSplit, Tail
from soqo.experiments.judgment._variants import VARIANTS, Variant, decide_verdict
from soqo.experiments.judgment._verdicts import Case, Judgment, Number, Section, Status, Verdict

__all__ = [
    "UNTESTED",
    "VARIANTS",
    "Case",
    "Claim",
    "EstimationRisk",
    "Evidence",
    "Judgment",
    "Number",
    "PaperOutcomes",
    "RubExperiment",
    "Section",
    "SpectralSplit",
    "Status",
    "Tail",
    "Variant",
    "Verdict",
    "claim",
    "decide_verdict",
    "judge",
]
