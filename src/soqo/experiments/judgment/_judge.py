"""The function that judges all claims, and what they say together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from soqo._model.problem import RandomProblem
from soqo._simulation.summary import format_short
from soqo.experiments.execution import RegretTable
from soqo.experiments.judgment._claims import Claim, Kind
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._judgment import (
    KIND_NAMES,
    Judgment,
    choose_best,
    count_held,
    count_words,
    make_section,
)
from soqo.experiments.judgment._rules import RULES, SECTIONS
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._tests_of_regret import (
    largest_where_small,
    lead_grows,
    outperform,
    slower_medians,
    slower_wins,
)
from soqo.experiments.judgment._verdicts import Status
from soqo.experiments.settings import AXES, LITERAL, Reading, Setting, TunedC1

_COMPARISONS = {rule.id for rule in RULES if rule.test in (outperform, lead_grows, largest_where_small)}
"""The claims that SCaLE or HySCaLE beats another policy, by id."""


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
    samples = Samples(settings, table, tuned, evidence)
    found = [rule.judge(samples, readings) for rule in RULES]
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
    total, won, lost, open_ = len(alone.verdicts), *_count_statuses(alone)
    held, _, unsettled = _count_statuses(both)
    return (
        "The main claim of the paper's primary evaluation, that SCaLE and HySCaLE both outperform all baselines, holds "
        f"in {held or 'none'} of {len(both.verdicts)} ways to read what the text leaves open; {unsettled} cannot be "
        f"told with {alone.runs} runs. SCaLE alone beats all baselines in {won} of {total}, and loses in {lost}; "
        f"{open_} cannot be told. {_tell_shares(alone)} The learning rate is the text's, about 1e-6, in every reading"
        f"{_tell_own_rate(samples)}.{_tell_sigma(found.get('appendix-outperform'), samples)}"
    )


def _count_statuses(claim: Claim) -> tuple[int, int, int]:
    return claim.counts[Status.HOLDS], claim.counts[Status.FAILS], claim.counts[Status.UNKNOWN]


def _tell_shares(alone: Claim) -> str:
    """Return SCaLE's regret to the letter as a multiple of the best baseline's, by means and by medians."""
    parts = []
    for statistic in ("mean", "median"):
        verdict = alone.verdict(replace(LITERAL, statistic=statistic))
        if verdict is not None:
            share = verdict.cases[0].numbers[0]
            value, low, high = map(format_short, (share.value, share.low, share.high))
            told = f", which {alone.word(Status.UNKNOWN)}" if verdict.status is Status.UNKNOWN else ""
            whose = "mean regret of the best baseline" if statistic == "mean" else "median"
            parts.append(f"{value} times ({low} to {high}) the {whose}{told}")
    return f"Exactly as printed, it has {', and '.join(parts)}."


def _tell_sigma(appendix: Claim | None, samples: Samples) -> str:
    """Return in how many of the appendix's settings SCaLE outperforms all to the letter, by sigma_r."""
    if appendix is None or appendix.literal is None:
        return ""
    won: dict[float, list[bool]] = {}
    for case in appendix.literal.cases:
        problem = samples.settings[case.setting].environment.problem
        assert isinstance(problem, RandomProblem)
        won.setdefault(problem.min_eigenvalue, []).append(case.status is Status.HOLDS)
    parts = [f"in {sum(cases)} of {len(cases)} with sigma_r = {sigma:g}" for sigma, cases in sorted(won.items())[::-1]]
    return f" Of the appendix's settings, to the letter, SCaLE outperforms all baselines {' and '.join(parts)}."


def _tell_own_rate(samples: Samples) -> str:
    """Return in how many spectra both policies win by medians, with soqo's defaults and its learning rate."""
    found = slower_medians(samples, "primary")
    if not found:
        return ""
    text_rate = sum(max(scale, hyscale) < best for scale, hyscale, best, _ in found.values())
    own_rate = sum(max(scale, hyscale) < best for scale, hyscale, _, best in found.values())
    wins = slower_wins(samples, "primary", "mean")
    return (
        f"; with soqo's defaults and the rate 1e-8, both win by medians for {text_rate} of {len(found)} spectra of A, "
        f"and for {own_rate} if the baselines have that rate too, while by means SCaLE, so calibrated, wins for "
        f"{wins or 'none'}"
    )


def _tell_comparisons(claims: Sequence[Claim]) -> str:
    """Return how many of the claims that SCaLE or HySCaLE beats another policy hold in full, to the letter."""
    found = [claim for claim in claims if claim.id in _COMPARISONS and claim.kind is not Kind.PART]
    if not found:
        return ""
    held = sum(claim.status is Status.HOLDS for claim in found)
    told = "none holds" if not held else "1 holds" if held == 1 else f"{held} hold"
    which = "claim" if len(found) == 1 else "claims"
    return f" Of the {len(found)} {which} that SCaLE or HySCaLE beats another policy, {told} in full."


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
            parts.append(f"of {total} {'claim' if total == 1 else 'claims'} {name}, {told}")
    stated = [claim for claim in claims if claim.kind is Kind.EXPERIMENT]
    sentence = f"Read to the letter, by means of {runs} runs: {'; '.join(parts)}.{_tell_comparisons(claims)}"
    if not stated:
        return sentence
    held = count_held(stated, readings)
    best = choose_best(held)
    return (
        f"{sentence} The best single reading for experiments ({best.describe()}) makes {held[best]} of {len(stated)} "
        "hold."
    )
