"""The function that judges all claims, and what they say together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from soqo.experiments.execution import RegretTable
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._evidence_claims import EVIDENCE_CLAIMS
from soqo.experiments.judgment._growth_claims import GROWTH_CLAIMS
from soqo.experiments.judgment._ranking_claims import RANKING_CLAIMS
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._tuning_claims import TUNING_CLAIMS
from soqo.experiments.judgment._verdicts import Claim, Judgment, Section, Status, make_section
from soqo.experiments.settings import AXES, LITERAL, Reading, Setting, TunedC1

SECTIONS = {
    "primary": "Section 4.2, primary evaluation",
    "heavy_tails": "Section 4.2, robustness to heavy tails",
    "rank_deficient": "Section 4.2, rank-deficient settings",
    "tuning": "Section 4.2, hyperparameter tuning",
    "appendix": "Appendix, additional experiments",
    "theory": "Theorems, corollary and remarks",
}
"""The parts of the paper, by id."""

RULES = (*RANKING_CLAIMS, *GROWTH_CLAIMS, *TUNING_CLAIMS, *EVIDENCE_CLAIMS)
"""The claims that simulation can test."""


def judge(
    settings: Iterable[Setting],
    table: RegretTable,
    tuned: TunedC1,
    readings: Sequence[Reading],
    evidence: Evidence | None = None,
) -> Judgment:
    """Judge every claim of the paper under every reading.

    Parameters
    ----------
    settings : iterable of Setting
        The paper's settings that were simulated.
    table : RegretTable
        The regret of the policies that readings need, from :func:`soqo.experiments.execution.run_with_plans`.
    tuned : TunedC1
        The c1 of the reading "tuned".
    readings : sequence of Reading
        The readings, the most literal first.
    evidence : Evidence, optional
        Numbers beside regret; claims that need them are not tested without.

    Returns
    -------
    Judgment
        The claims, and what they say together.

    Examples
    --------
    >>> {claim.summary for claim in judge([], {}, {}, [LITERAL]).claims}
    {'not tested'}
    """
    samples = Samples(settings, table, tuned)
    found = [rule.judge(samples, evidence or Evidence(), readings) for rule in RULES]
    order = list(SECTIONS)
    claims = tuple(sorted(found, key=lambda claim: order.index(claim.section)))
    sections = tuple(make_section(name, title, claims, readings) for name, title in SECTIONS.items())
    columns = _choose_columns(sections, readings)
    return Judgment(claims, sections, columns, _summarize([claim for claim in claims if claim.verdicts], readings))


def _choose_columns(sections: Sequence[Section], readings: Sequence[Reading]) -> dict[str, Reading]:
    """Return the literal reading, those that differ from it on one axis, and the best of each section, by title."""
    columns = {"to the letter": LITERAL}
    for axis, choices in AXES.items():
        if axis != "statistic":
            columns |= {_SHORT[axis, one.key]: Reading(**{axis: one.key}) for one in choices[1:]}
    for section in sections:
        if section.best is not None:
            best = replace(section.best, statistic="mean")
            if best not in columns.values():
                columns[f"best for {section.id.replace('_', ' ')}"] = best
    known = set(readings)
    return {title: reading for title, reading in columns.items() if reading in known}


_SHORT = {
    ("gamma2", "appendix"): "appendix's gamma^2",
    ("gamma2", "guarantee"): "guarantee's gamma^2",
    ("radius", "exact"): "exact radius",
    ("radius", "residual"): "residual radius",
    ("gradient", "exact"): "exact gradient",
    ("spectrum", "linear_10"): "spectrum up to 10",
    ("spectrum", "geometric"): "geometric spectrum",
    ("c1", "elsewhere"): "m = 80, file names",
    ("c1", "tuned"): "tuned c1",
}
"""Titles of the readings that differ from the literal one on one axis."""


def _summarize(claims: Sequence[Claim], readings: Sequence[Reading]) -> str:
    """Return the result in one sentence."""
    if not claims:
        return "No claim of the paper was tested."
    literal = [claim.status for claim in claims]
    held = {
        reading: sum(v.status is Status.HOLDS for c in claims if (v := c.verdict(reading)) is not None)
        for reading in readings
    }
    best = max(held, key=lambda reading: (held[reading], -len(reading.changes())))
    never = sum(not claim.counts[Status.HOLDS] for claim in claims)
    runs = min(claim.runs for claim in claims)
    total = len(claims)
    return (
        f"Read to the letter, {literal.count(Status.HOLDS)} of {total} claims hold, {literal.count(Status.FAILS)} fail "
        f"and {literal.count(Status.UNKNOWN)} cannot be told with {runs} runs; the best single reading "
        f"({best.describe()}) makes {held[best]} hold, and {never} hold in no reading."
    )
