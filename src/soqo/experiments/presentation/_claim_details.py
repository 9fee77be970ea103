"""A claim in full: the paper's words, the rule, the verdict in words, and the numbers behind every cell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

from soqo.experiments.judgment import Claim, Kind, Number, Status, Verdict
from soqo.experiments.presentation._glossary import render_term
from soqo.experiments.presentation._numbers import format_interval, format_number, pluralize, render_text
from soqo.experiments.presentation._verdict_marks import CLASSES, SIGNS, render_badge
from soqo.experiments.settings import Reading, describe_setting

STATISTICS = ("mean", "median")
"""The statistics of a cell's two halves."""

_IMPLIED = {
    Kind.IMPLIED: ". The paper does not state the claim: this is the nearest sentence.",
    Kind.PART: ". A part of the claim above.",
}


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
        "Remark": _render_remark(claim.remark),
    }
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items() if value)
    badge = render_badge(claim.status, claim.word(claim.status))
    tally = f" <small>{claim.literal.tally}</small>" if claim.literal and claim.literal.tally else ""
    return (
        f'<details class="fold" id="claim-{claim.id}"><summary>{badge} {render_text(claim.text)}{tally}</summary>\n'
        f"<dl>{listed}</dl>\n{_render_numbers(claim, columns)}</details>"
    )


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
    """Return the id of the row of a verdict.

    Parameters
    ----------
    claim : Claim
        The claim.
    verdict : Verdict
        One of its verdicts.
    """
    return f"{claim.id}-{verdict.reading.key.replace('/', '-').replace('*', 'any')}"


def _render_remark(remark: str) -> str:
    """Return a remark, in which a page of the documentation is a link to its meaning."""
    return render_text(remark).replace("docs/explanation/theory.md", render_term("docs/explanation/theory.md"))


def _render_numbers(claim: Claim, columns: Sequence[tuple[str, Reading]]) -> str:
    """Return a table with a row for each reading of the matrix, and for the most charitable one."""
    if not claim.verdicts:
        return ""
    shown = [claim.verdict(replace(reading, statistic=name)) for _, reading in columns for name in STATISTICS]
    verdicts = list({verdict.reading.key: verdict for verdict in shown if verdict is not None}.values())
    if claim.charitable is not None and claim.charitable not in verdicts:
        verdicts.append(claim.charitable)
    rows = "\n".join(_render_verdict(claim, verdict) for verdict in verdicts)
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Reading", "Verdict", "Numbers, with 95 % intervals"))
    caption = pluralize(len(verdicts), "reading")
    if len(verdicts) < len(claim.verdicts):
        caption += f" of {len(claim.verdicts)}; claims.json has all of them"
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="Numbers"><table class="numbers"><caption>{caption}'
        f"</caption><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def _render_verdict(claim: Claim, verdict: Verdict) -> str:
    statistic = claim.mean_name if verdict.reading.statistic == "mean" else verdict.reading.statistic
    words = [statistic, _describe_changes(verdict.reading)]
    told = ", ".join(filter(None, words)) if claim.axes else "every reading"
    cases = "".join(
        f'<li class="{CLASSES[word]}"><span aria-hidden="true">{SIGNS[word]}</span> '
        f"{render_text(describe_setting(case.setting))}: {'; '.join(map(_render_number, case.numbers))}</li>"
        for case in verdict.decisive
        for word in [claim.word(case.status)]
    )
    badge = render_badge(verdict.status, claim.word(verdict.status))
    return (
        f'<tr id="{verdict_anchor(claim, verdict)}"><th scope="row">{render_text(told)}</th>'
        f'<td>{badge}</td><td><ul class="cases">{cases}</ul></td></tr>'
    )


def _describe_changes(reading: Reading) -> str:
    """Return the difference to the literal reading in words, apart from the statistic."""
    return replace(reading, statistic=None).describe()


def _render_number(number: Number) -> str:
    text = f"{render_text(number.label)} {format_number(number.value)}"
    return text if number.low != number.low else f"{text} ({format_interval(number.low, number.high)})"


def _link(setting: str, settings: Mapping[str, tuple[str, str]]) -> str:
    if setting not in settings:
        return render_text(describe_setting(setting))
    anchor, number = settings[setting]
    label = describe_setting(setting)
    shown = label if label != setting else f"{number}: {setting}"
    return f'<a href="#{anchor}">{render_text(shown)}</a>'
