"""The function that judges all claims, and what they say together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from soqo._simulation.summary import format_short
from soqo.experiments.execution import RegretTable
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._growth_claims import GROWTH_CLAIMS
from soqo.experiments.judgment._introduction_claims import INTRODUCTION_CLAIMS
from soqo.experiments.judgment._judgment import (
    KIND_NAMES,
    Judgment,
    choose_best,
    count_held,
    count_words,
    make_section,
)
from soqo.experiments.judgment._query_claims import QUERY_CLAIMS
from soqo.experiments.judgment._ranking_claims import RANKING_CLAIMS
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._slower_rate import slower_medians
from soqo.experiments.judgment._theory_claims import THEORY_CLAIMS
from soqo.experiments.judgment._tuning_claims import TUNING_CLAIMS
from soqo.experiments.judgment._verdicts import Claim, Kind, Status
from soqo.experiments.settings import AXES, LITERAL, PRIMARY, Reading, Setting, TunedC1

SECTIONS = {
    "introduction": "Abstract and Section 1",
    "hybrid": "Section 3.3, HySCaLE",
    "primary": "Section 4.2, primary evaluation",
    "heavy_tails": "Section 4.2, robustness to heavy tails",
    "rank_deficient": "Section 4.2, rank-deficient settings",
    "tuning": "Section 4.2, hyperparameter tuning",
    "appendix": "Appendix, additional experiments",
    "theory": "Sections 3 and 5: theorems, proposition, corollary and remarks",
    "tradeoff": "Last appendix, the fundamental trade-off",
}
"""The parts of the paper, by id."""

RULES = (
    *INTRODUCTION_CLAIMS,
    *RANKING_CLAIMS,
    *GROWTH_CLAIMS,
    *QUERY_CLAIMS,
    *TUNING_CLAIMS,
    *THEORY_CLAIMS,
)
"""The paper's claims: those that numbers can test, and those that they cannot."""


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
    >>> {claim.summary.partition(":")[0] for claim in judge([], {}, {}, [LITERAL]).claims}
    {'not tested'}
    """
    samples = Samples(settings, table, tuned)
    found = [rule.judge(samples, evidence or Evidence(), readings) for rule in RULES]
    order = list(SECTIONS)
    # Within a section, what the paper only implies comes last.
    claims = tuple(sorted(found, key=lambda claim: (order.index(claim.section), claim.kind is Kind.IMPLIED)))
    sections = tuple(make_section(name, title, claims, readings) for name, title in SECTIONS.items())
    columns = _choose_columns(claims, readings)
    tested = [claim for claim in claims if claim.verdicts]
    return Judgment(claims, sections, columns, _tell_primary(tested, samples), _count(tested, readings))


def _choose_columns(claims: Sequence[Claim], readings: Sequence[Reading]) -> dict[str, Reading]:
    """Return the literal reading, those that differ from it on one axis, and the best for experiments, by title."""
    columns = {"to the letter": LITERAL}
    for axis, choices in AXES.items():
        if axis != "statistic":
            columns |= {_SHORT[axis, one.key]: Reading(**{axis: one.key}) for one in choices[1:]}
    stated = [claim for claim in claims if claim.kind is Kind.EXPERIMENT and claim.verdicts]
    if stated:
        best = replace(choose_best(count_held(stated, readings)), statistic="mean")
        if best not in columns.values():
            columns["best for experiments"] = best
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


def _tell_primary(claims: Sequence[Claim], samples: Samples) -> str:
    """Return in plain words what the primary evaluation shows."""
    found = {claim.id: claim for claim in claims}
    if "primary-scale-outperforms" not in found or found["primary-scale-outperforms"].literal is None:
        return ""
    alone, both = found["primary-scale-outperforms"], found["primary-outperform"]
    assert alone.literal is not None
    share = alone.literal.cases[0].numbers[0]
    won, lost, open_ = (alone.counts[status] for status in (Status.HOLDS, Status.FAILS, Status.UNKNOWN))
    total = len(alone.verdicts)
    together = both.counts[Status.HOLDS] or "none"
    return (
        f"In the paper's primary evaluation, SCaLE beats all baselines in {won} of {total} ways to read what the text "
        f"leaves open, and loses in {lost}; {open_} cannot be told with {alone.runs} runs. Exactly as printed, it has "
        f"{format_short(share.value)} times the mean regret of the best baseline. SCaLE and HySCaLE both win in "
        f"{together}, at the text's learning rate of about 1e-6, which no reading changes{_tell_own_rate(samples)}."
    )


def _tell_own_rate(samples: Samples) -> str:
    """Return in how many spectra both policies win by medians, with soqo's defaults and its learning rate."""
    found = slower_medians(samples, PRIMARY)
    if not found:
        return ""
    text_rate = sum(max(scale, hyscale) < best for scale, hyscale, best, _ in found.values())
    own_rate = sum(max(scale, hyscale) < best for scale, hyscale, _, best in found.values())
    return (
        f"; with soqo's defaults and the rate 1e-8, both win by medians for {text_rate} of {len(found)} spectra of A, "
        f"and for {own_rate} if the baselines have that rate too"
    )


def _count(claims: Sequence[Claim], readings: Sequence[Reading]) -> str:
    """Return how many claims hold, by kind, to the letter and in the best single reading."""
    if not claims:
        return "No claim of the paper was tested."
    runs = max(claim.runs for claim in claims)
    parts = []
    for kind, name in KIND_NAMES.items():
        counts = count_words(claims, kind)
        if total := sum(counts.values()):
            listed = [f"{count} {word}" for word, count in counts.items()]
            told = " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
            parts.append(f"of {total} claims {name}, {told}")
    stated = [claim for claim in claims if claim.kind is Kind.EXPERIMENT]
    sentence = f"Read to the letter, by means of {runs} runs: {'; '.join(parts)}."
    if not stated:
        return sentence
    held = count_held(stated, readings)
    best = choose_best(held)
    return (
        f"{sentence} The best single reading for experiments ({best.describe()}) makes {held[best]} of {len(stated)} "
        "hold."
    )
