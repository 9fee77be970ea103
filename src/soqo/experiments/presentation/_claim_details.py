"""Marks of verdicts, chips beside a figure, and a claim in full: its words, its rule, and the numbers of its cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape

from soqo.experiments.judgment import Claim, Judgment, Kind, Number, Status, Verdict
from soqo.experiments.presentation._charts import STATISTICS
from soqo.experiments.presentation._html import (
    format_interval,
    format_number,
    link_terms,
    plain,
    pluralize,
    render_facts,
    render_fold,
    render_row,
    render_table,
    render_text,
)
from soqo.experiments.presentation._report import ReportFigure
from soqo.experiments.settings import Reading, describe_setting

UNREFUTED = "not contradicted"
"""The word for a theorem that no check refutes, which has a mark of its own: it is less than that the theorem holds."""

MARKS: dict[str, tuple[str, str]] = {
    Status.HOLDS: ("✓", "holds"),
    UNREFUTED: ("◇", "unrefuted"),
    Status.PARTLY: ("◐", "partly"),
    Status.FAILS: ("✗", "fails"),
    Status.UNKNOWN: ("?", "unknown"),
    Status.UNTESTED: ("\N{EN DASH}", "untested"),
}
"""The sign and the style of each status, by its word."""

_WITHOUT_SETTINGS = {"curvature": ("figure2-noise",), "rub": ("rub-learners", "remark2-inconsistent")}
"""The claims of figures that show no outcome."""

_IMPLIED = {
    Kind.IMPLIED: ". The paper does not state the claim: this is the nearest sentence.",
    Kind.PART: ". A part of the claim above.",
}


def render_sign(word: str) -> str:
    """Return the sign of a status, which screen readers leave out."""
    return f'<span aria-hidden="true">{MARKS[word][0]}</span>'


def render_badge(word: str) -> str:
    """Return a status with its sign, so that it does not depend on color.

    Examples
    --------
    >>> render_badge(Status.HOLDS)
    '<span class="verdict holds"><span aria-hidden="true">✓</span> holds</span>'
    """
    return f'<span class="verdict {MARKS[word][1]}">{render_sign(word)} {escape(word)}</span>'


def render_chips(judgment: Judgment | None, figure: ReportFigure) -> str:
    """Return a chip for each claim that a figure tests, with the verdict to the letter and a link to its numbers.

    Parameters
    ----------
    judgment : Judgment or None
        The claims, if there are any.
    figure : ReportFigure
        The figure. That of the introduction names no setting, and has the claims of the primary evaluation.
    """
    if judgment is None:
        return ""
    chips = "".join(_render_chip(claim, status) for claim, status in _find_claims(judgment, figure))
    return f'<span class="chips">{chips}</span>' if chips else ""


def _find_claims(judgment: Judgment, figure: ReportFigure) -> Iterator[tuple[Claim, Status]]:
    """Yield the claims of a figure, each with its status there."""
    names = {outcome.setting.name for outcome in figure.outcomes}
    if "intro" in names:  # it has the setting of the primary evaluation, and thus the same verdicts
        names.add("primary")
    own = _WITHOUT_SETTINGS.get(figure.name, ())
    for claim in judgment.tested:
        if claim.kind is Kind.PART or not (claim.id in own or names & set(claim.settings)):
            continue
        cases = [case for name in names if (case := claim.case(name)) is not None]
        yield claim, cases[0].status if len(cases) == 1 else claim.status


def _render_chip(claim: Claim, status: Status) -> str:
    implied = "implied: " if claim.kind is Kind.IMPLIED else ""
    held, total, word = claim.counts[Status.HOLDS], len(claim.verdicts), claim.word(status)
    readings = f"; holds in {held} of {total} readings" if total > 1 else ""
    shown = f"{implied}{render_text(claim.label or claim.id.replace('-', ' '))}"
    return (
        f'<a class="chip {MARKS[word][1]}" href="#claim-{claim.id}" '
        f'title="{plain(f"{implied}{claim.text}: {word}, to the letter{readings}")}">'
        f'{render_sign(word)}<span class="unseen">{word}: </span> {shown}</a>'
    )


# ---- one claim -----------------------------------------------------------------------------------------------------


def render_details(
    claim: Claim, columns: Sequence[tuple[str, Reading]], settings: Mapping[str, tuple[str, str]]
) -> str:
    """Return a fold with the paper's words, the rule, the verdict in words, and a row for each cell of the matrix.

    Parameters
    ----------
    claim : Claim
        The claim.
    columns : sequence of (str, Reading)
        The columns of the matrix.
    settings : mapping of str to (str, str)
        For each setting that has a figure on the page, the id of that figure and its number.
    """
    facts = {
        "Verdict": render_text(claim.summary),
        "The paper": f"<q>{render_text(claim.quote)}</q> {link_source(claim, settings)}{_IMPLIED.get(claim.kind, '')}",
        "Rule": render_text(f"{claim.word(Status.HOLDS).capitalize()} if {claim.rule}.") if claim.rule else "",
        "Settings": ", ".join(_link(name, settings) for name in claim.settings),
        "Limits": render_text(claim.note),
        "Remark": link_terms(render_text(claim.remark), ["docs/explanation/theory.md"]),
    }
    tally = f" <small>{claim.literal.tally}</small>" if claim.literal and claim.literal.tally else ""
    summary = f"{render_badge(claim.word(claim.status))} {render_text(claim.text)}{tally}"
    content = f"{render_facts(facts)}\n{_render_numbers(claim, columns)}"
    return render_fold(summary, content, anchor=f"claim-{claim.id}")


def link_source(claim: Claim, settings: Mapping[str, tuple[str, str]]) -> str:
    """Return the place of a claim in the paper, with links to the figures of this page.

    Parameters
    ----------
    claim : Claim
        The claim.
    settings : mapping of str to (str, str)
        As in :func:`render_details`.
    """
    anchors = {number: anchor for anchor, number in reversed(list(settings.values()))}

    def link(match: re.Match[str]) -> str:
        anchor = anchors.get(f"Figure {match[1]}")
        return f'<a href="#{anchor}">{match[0]}</a>' if anchor else match[0]

    return re.sub(r"Figures? (\d+)", link, escape(claim.source))


def verdict_anchor(claim: Claim, verdict: Verdict) -> str:
    """Return the id of the row of a verdict."""
    return f"{claim.id}-{verdict.reading.key.replace('/', '-').replace('*', 'any')}"


def describe_cell(claim: Claim, reading: Reading) -> tuple[str, str]:
    """Return the difference to the literal reading apart from the statistic, and the statistic, in words."""
    statistic = claim.mean_name if reading.statistic == "mean" else reading.statistic
    return replace(reading, statistic=None).describe(), statistic or ""


def _render_numbers(claim: Claim, columns: Sequence[tuple[str, Reading]]) -> str:
    """Return a table with a row for each reading of the matrix, and for the most charitable one."""
    if not claim.verdicts:
        return ""
    shown = [claim.verdict(replace(reading, statistic=name)) for _, reading in columns for name in STATISTICS]
    shown.append(claim.charitable)
    verdicts = list({verdict.reading.key: verdict for verdict in shown if verdict is not None}.values())
    caption = pluralize(len(verdicts), "reading")
    if len(verdicts) < len(claim.verdicts):
        caption += f" of {len(claim.verdicts)}; claims.json has all of them"
    heads = ("Reading", "Verdict", "Numbers, with 95 % intervals")
    return render_table("numbers", caption, heads, [_render_verdict(claim, one) for one in verdicts], label="Numbers")


def _render_verdict(claim: Claim, verdict: Verdict) -> str:
    told = ", ".join(filter(None, reversed(describe_cell(claim, verdict.reading)))) if claim.axes else "every reading"
    cases = "".join(
        f'<li class="{MARKS[word][1]}">{render_sign(word)} '
        f"{render_text(describe_setting(case.setting))}: {'; '.join(map(_render_number, case.numbers))}</li>"
        for case in verdict.decisive
        for word in [claim.word(case.status)]
    )
    row = render_row(render_text(told), (render_badge(claim.word(verdict.status)), f'<ul class="cases">{cases}</ul>'))
    return row.replace("<tr>", f'<tr id="{verdict_anchor(claim, verdict)}">', 1)


def _render_number(number: Number) -> str:
    text = f"{render_text(number.label)} {format_number(number.value)}"
    return text if number.low != number.low else f"{text} ({format_interval(number.low, number.high)})"


def _link(setting: str, settings: Mapping[str, tuple[str, str]]) -> str:
    label = describe_setting(setting)
    if setting not in settings:
        return render_text(label)
    anchor, number = settings[setting]
    return f'<a href="#{anchor}">{render_text(label if label != setting else f"{number}: {setting}")}</a>'
