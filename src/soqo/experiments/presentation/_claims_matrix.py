"""The paper's claims on the page: a matrix of claims and readings, each cell a link to its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby

from soqo.experiments.judgment import Claim, Judgment, Kind, Section, Status, Verdict
from soqo.experiments.presentation._claim_details import STATISTICS, link_source, render_details, verdict_anchor
from soqo.experiments.presentation._glossary import render_term
from soqo.experiments.presentation._numbers import pluralize, render_text
from soqo.experiments.presentation._style import typeset
from soqo.experiments.presentation._verdict_marks import CLASSES, SIGNS, UNREFUTED, render_badge
from soqo.experiments.settings import AXES, Reading, describe_setting

_AXIS_NAMES = {
    "gamma2": "γ²",
    "radius": "radius",
    "gradient": "gradient",
    "spectrum": "spectrum",
    "c1": "c₁",
    "statistic": "statistic",
}


def render_claims(judgment: Judgment, settings: Mapping[str, tuple[str, str]]) -> str:
    """Return the matrix, what each section says together, and a fold with the numbers of each claim.

    Parameters
    ----------
    judgment : Judgment
        The claims.
    settings : mapping of str to (str, str)
        For each setting that has a figure on the page, the id of that figure and its number.
    """
    claims = {claim.id: claim for claim in judgment.claims if claim.verdicts or claim.untestable}
    columns = _distinct(judgment.columns)
    bodies, details = [], []
    for section in judgment.sections:
        own = [claim for claim in claims.values() if claim.section == section.id]
        if own:
            bodies.append(_render_section(section, own, columns, settings))
            details.append(f"<h4>{escape(section.title)}</h4>")
            details += [render_details(claim, columns, settings) for claim in own]
    one_by_one = "\n".join(details)
    return (
        f'<p>{_describe_matrix(judgment)}</p>\n<p class="key">{_render_key()}</p>\n'
        '<div class="scroll tall" tabindex="0" role="group" aria-label="Claims and readings"><table class="matrix">\n'
        '<caption class="unseen">Claims and readings</caption>\n'
        f"{_render_heads(columns)}\n{''.join(bodies)}</table></div>\n{_render_untested(judgment)}\n"
        f'<details class="fold" id="readings"><summary>The readings</summary>{_render_axes()}</details>\n'
        '<div id="numbers"><h3>One by one: the paper&rsquo;s words, the rule, and the numbers</h3>\n'
        f"{one_by_one}</div>"
    )


def _distinct(columns: Mapping[str, Reading]) -> list[tuple[str, Reading]]:
    """Return the columns without those whose reading has a column already, such as the best one of a section."""
    found: dict[Reading, str] = {}
    for title, reading in columns.items():
        found.setdefault(reading, title)
    return [(title, reading) for reading, title in found.items()]


def _describe_matrix(judgment: Judgment) -> str:
    shares = [(claim.counts, len(claim.verdicts)) for claim in judgment.tested if claim.kind is not Kind.PART]
    every = sum(counts[Status.HOLDS] == total for counts, total in shares)
    unrefuted = sum(
        claim.unproved and claim.kind is not Kind.PART and claim.counts[Status.HOLDS] == len(claim.verdicts)
        for claim in judgment.tested
    )
    failed = sum(counts[Status.FAILS] == total for counts, total in shares)
    some = sum(0 < counts[Status.HOLDS] < total for counts, total in shares)
    rest = len(shares) - every - some - failed
    implied = judgment.counts(Kind.IMPLIED)
    apart = (
        f" Of {pluralize(sum(implied.values()), 'claim')} that the paper only {render_term('implied', 'implies')}, "
        f"{', '.join(f'{count} {word}' for word, count in implied.items())} to the letter."
        if implied
        else ""
    )
    stated = len(shares) - sum(implied.values())
    counted = f"{stated} stated and {sum(implied.values())} implied claims" if implied else pluralize(stated, "claim")
    also = f" ({unrefuted} of them {'is' if unrefuted == 1 else 'are'} not contradicted)" if unrefuted else ""
    return (
        f"Of {counted} that this report tests, {every} {'holds' if every == 1 else 'hold'} in every reading{also} and "
        f"{some} in some; {failed} {'fails' if failed == 1 else 'fail'} in every reading, and {rest} "
        f"{'holds' if rest == 1 else 'hold'} in none but in part, or cannot be told in some.{apart} "
        "Each cell is a link to its numbers; its left half is by means, as the paper defines regret, its right half by "
        f"medians. The heads link to what each {render_term('reading')} means. The learning rate is the text's in all."
    )


def _render_key() -> str:
    items = (
        f'<span class="half {CLASSES[word]}" aria-hidden="true">{SIGNS[word]}</span> {text}'
        for word, text in (
            (Status.HOLDS, "holds"),
            (UNREFUTED, render_term(UNREFUTED)),
            (Status.PARTLY, render_term("holds in part")),
            (Status.FAILS, "fails"),
            (Status.UNKNOWN, render_term("cannot be told", "cannot be told with so few runs")),
        )
    )
    return " ".join(f"<span>{item}</span>" for item in items) + (
        ' <span><span class="half holds same" aria-hidden="true">✓</span> pale: the reading does not touch the claim'
        f'</span> <span><span class="tag">{Kind.IMPLIED}</span> {render_term("implied", "not stated")}: counted apart'
        f'</span> <span><span class="tag">{Kind.PART}</span> a part of the claim above: not counted again</span>'
    )


# ---- heads ---------------------------------------------------------------------------------------------------------


def _render_heads(columns: Sequence[tuple[str, Reading]]) -> str:
    """Return two rows of heads: the axis on which a reading differs from the literal one, and its value there."""
    groups = [(key, list(members)) for key, members in groupby(columns, key=lambda one: _axis(one[1]))]
    first = '<th scope="col" rowspan="2">Claim</th><th scope="col" rowspan="2">Readings in which it holds</th>'
    second = ""
    for axis, members in groups:
        if axis is None:
            for title, reading in members:
                first += f'<th scope="col" rowspan="2" class="up">{_render_head(title, reading, "readings")}</th>'
            continue
        first += f'<th scope="colgroup" colspan="{len(members)}">{_AXIS_NAMES[axis]}</th>'
        for _, reading in members:
            value = reading.changes()[axis]
            head = _render_head(value.replace("_", " "), reading, f"reading-{axis}-{value}")
            second += f'<th scope="col" class="up">{head}</th>'
    return f"<thead><tr>{first}</tr><tr>{second}</tr></thead>"


def _axis(reading: Reading) -> str | None:
    """Return the only axis on which a reading differs from the literal one, or None."""
    changed = list(reading.changes())
    return changed[0] if len(changed) == 1 else None


def _render_head(title: str, reading: Reading, anchor: str) -> str:
    """Return the head of a column, a link to the meaning of its reading, which is also a tooltip."""
    told = escape(typeset(reading.describe()), quote=True)
    return f'<a href="#{anchor}" title="{told}">{escape(typeset(title))}</a>'


def _render_axes() -> str:
    """Return a table of all axes with the sources of their values."""
    rows = "".join(
        f'<tr id="reading-{axis}-{one.key}">{_axis_head(axis, len(choices)) if k == 0 else ""}'
        f"<td>{escape(one.key.replace('_', ' '))}</td><td>{render_text(one.label)}</td>"
        f"<td>{render_text(one.source)}</td></tr>"
        for axis, choices in AXES.items()
        for k, one in enumerate(choices)
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Axis", "Value", "Meaning", "Source"))
    caption = (
        "What the text leaves open. A reading is one value on each axis; the first of each is the most literal. The "
        "learning rate is no axis, since the text names it; Figure 6 has one spectrum, linear up to 4, in all readings."
    )
    return (
        f'<div class="scroll"><table class="axes"><caption>{caption}</caption><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _axis_head(axis: str, count: int) -> str:
    return f'<th scope="rowgroup" rowspan="{count}">{_AXIS_NAMES[axis]}</th>'


# ---- rows ----------------------------------------------------------------------------------------------------------


def _render_section(
    section: Section,
    claims: Sequence[Claim],
    columns: Sequence[tuple[str, Reading]],
    settings: Mapping[str, tuple[str, str]],
) -> str:
    """Return the rows of a section of the paper, under what they say together."""
    told = render_text(section.summary)
    head = (
        f'<tr class="section"><th scope="rowgroup" colspan="{2 + len(columns)}"><div><b>{escape(section.title)}</b> '
        f"<small>{told}</small></div></th></tr>"
    )
    rows = "\n".join(_render_row(claim, columns, settings) for claim in claims)
    return f"<tbody>{head}\n{rows}</tbody>\n"


def _render_row(claim: Claim, columns: Sequence[tuple[str, Reading]], settings: Mapping[str, tuple[str, str]]) -> str:
    if claim.axes and claim.verdicts:
        cells = f"<td>{_render_share(claim)}</td>" + "".join(_render_cell(claim, reading) for _, reading in columns)
    else:
        why = render_text(claim.untestable) if claim.untestable else "it does not depend on the reading"
        told = f"{render_badge(claim.status, claim.word(claim.status))} <small>{why}</small>"
        cells = f'<td class="all" colspan="{1 + len(columns)}"><a href="#claim-{claim.id}">{told}</a></td>'
    text = f'<a href="#claim-{claim.id}">{render_text(claim.text)}</a>'
    if claim.literal is not None and claim.status is Status.PARTLY:
        text += f" <small>to the letter: {claim.literal.tally}</small>"
    if claim.note:
        text += f' <small class="limit">{render_text(claim.note)}</small>'
    kind = f' <span class="tag">{claim.kind}</span>' if claim.kind in (Kind.IMPLIED, Kind.PART) else ""
    part = ' class="part"' if claim.kind is Kind.PART else ""
    return f'<tr{part}><th scope="row">{text}{kind} <small>{link_source(claim, settings)}</small></th>{cells}</tr>'


def _render_share(claim: Claim) -> str:
    """Return a bar with the shares of the readings in which a claim holds, cannot be told and fails."""
    counts, total = claim.counts, len(claim.verdicts)
    parts = "".join(
        f'<i class="{CLASSES[claim.word(status)]}" style="width:{100 * counts[status] / total:.1f}%"></i>'
        for status in (Status.HOLDS, Status.PARTLY, Status.UNKNOWN, Status.FAILS)
        if counts[status]
    )
    told = ", ".join(f"{claim.word(status)} in {count}" for status, count in counts.items() if count)
    return (
        f'<span class="share" title="{told}" aria-hidden="true">{parts}</span> '
        f"<small>{counts[Status.HOLDS]} of {total}</small>"
    )


def _render_cell(claim: Claim, reading: Reading) -> str:
    """Return two links, for means and medians, or one where the statistic does not matter for the claim."""
    pair = [claim.verdict(replace(reading, statistic=name)) for name in STATISTICS]
    if pair[0] == pair[1]:
        return f'<td class="cell">{_render_half(claim, pair[0], "", reading)}</td>'
    halves = (_render_half(claim, v, name, reading) for v, name in zip(pair, STATISTICS, strict=True))
    return f'<td class="cell">{"".join(halves)}</td>'


def _render_half(claim: Claim, verdict: Verdict | None, statistic: str, reading: Reading) -> str:
    status = Status.UNTESTED if verdict is None else verdict.status
    # A reading that differs from the literal one only on axes that do not matter for the claim says nothing new.
    same = " same" if reading.changes() and not reading.on(claim.axes).changes() else ""
    word = claim.word(status)
    kind = f"half {CLASSES[word]}{same}{'' if statistic else ' whole'}"
    if verdict is None:
        return f'<span class="{kind}">{SIGNS[word]}</span>'
    name = claim.mean_name if statistic == "mean" else statistic
    tally = f" ({verdict.tally})" if verdict.tally else ""
    which = typeset(replace(reading, statistic=None).describe() or "to the letter")
    told = escape(f"{', '.join(filter(None, (which, name)))}: {word}{tally}", quote=True)
    anchor = verdict_anchor(claim, verdict)
    return f'<a class="{kind}" href="#{anchor}" title="{told}" aria-label="{told}">{SIGNS[word]}</a>'


def _render_untested(judgment: Judgment) -> str:
    """Return the claims whose settings were not run."""
    rest = [claim for claim in judgment.claims if not claim.verdicts and not claim.untestable]
    if not rest:
        return ""
    items = "".join(
        f'<li>{render_text(claim.text)} <span class="source">{escape(claim.source)}; needs '
        f"{render_text('; '.join(map(describe_setting, claim.settings)) or 'a setting of the paper')}</span></li>"
        for claim in rest
    )
    return (
        f'<details class="fold" id="untested"><summary>{render_badge(Status.UNTESTED)} '
        f"{pluralize(len(rest), 'claim')}, for which <code>soqo reproduce</code> runs all settings</summary>"
        f"<ul>{items}</ul></details>"
    )
