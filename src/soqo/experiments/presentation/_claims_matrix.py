"""The paper's claims on the page: a matrix of claims and readings, each cell a link to its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby

from soqo.experiments.judgment import Claim, Judgment, Kind, Section, Status, Verdict
from soqo.experiments.presentation._charts import STATISTICS
from soqo.experiments.presentation._claim_details import (
    MARKS,
    UNREFUTED,
    describe_cell,
    link_source,
    render_badge,
    render_details,
    verdict_anchor,
)
from soqo.experiments.presentation._html import plain, pluralize, render_fold, render_table, render_term, render_text
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
        f"{render_fold('The readings', _render_axes(), anchor='readings')}\n"
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
    """Return how many claims hold in every reading, in some, in none, and what the cells show."""
    counted = [claim for claim in judgment.tested if claim.kind is not Kind.PART]
    held = [claim.counts[Status.HOLDS] for claim in counted]
    totals = [len(claim.verdicts) for claim in counted]
    every = [claim for claim, count, total in zip(counted, held, totals, strict=True) if count == total]
    some = sum(0 < count < total for count, total in zip(held, totals, strict=True))
    failed = sum(claim.counts[Status.FAILS] == len(claim.verdicts) for claim in counted)
    rest, unrefuted = len(counted) - len(every) - some - failed, sum(claim.unproved for claim in every)
    implied = judgment.counts(Kind.IMPLIED)
    stated, apart = pluralize(len(counted), "claim"), ""
    if count := sum(implied.values()):
        stated = f"{len(counted) - count} stated and {count} implied claims"
        told = ", ".join(f"{number} {word}" for word, number in implied.items())
        apart = (
            f" Of {pluralize(count, 'claim')} that the paper only {render_term('implied', 'implies')}, {told} to the "
            "letter."
        )
    also = f" ({unrefuted} of them {'is' if unrefuted == 1 else 'are'} not contradicted)" if unrefuted else ""
    return (
        f"Of {stated} that this report tests, {_count_verb(len(every), 'hold')} in every reading{also} and {some} in "
        f"some; {_count_verb(failed, 'fail')} in every reading, and {_count_verb(rest, 'hold')} in none but in part, "
        f"or cannot be told in some.{apart} Each cell is a link to its numbers; its left half is by means, as the "
        "paper defines regret, its right half by medians. The heads link to what each "
        f"{render_term('reading')} means. The learning rate is the text's in all."
    )


def _count_verb(count: int, verb: str) -> str:
    return f"{count} {verb}{'s' if count == 1 else ''}"


def _render_key() -> str:
    items = (
        f'<span class="half {MARKS[word][1]}" aria-hidden="true">{MARKS[word][0]}</span> {text}'
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
    return f'<a href="#{anchor}" title="{plain(reading.describe())}">{plain(title)}</a>'


def _render_axes() -> str:
    """Return a table of all axes with the sources of their values."""
    rows = "".join(
        f'<tr id="reading-{axis}-{one.key}">{_axis_head(axis, len(choices)) if k == 0 else ""}'
        f"<td>{escape(one.key.replace('_', ' '))}</td><td>{render_text(one.label)}</td>"
        f"<td>{render_text(one.source)}</td></tr>"
        for axis, choices in AXES.items()
        for k, one in enumerate(choices)
    )
    caption = (
        "What the text leaves open. A reading is one value on each axis; the first of each is the most literal. The "
        "learning rate is no axis, since the text names it; Figure 6 has one spectrum, linear up to 4, in all readings."
    )
    return render_table("axes", caption, ("Axis", "Value", "Meaning", "Source"), [rows], label="The readings")


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
        told = f"{render_badge(claim.word(claim.status))} <small>{why}</small>"
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
        f'<i class="{MARKS[claim.word(status)][1]}" style="width:{100 * counts[status] / total:.1f}%"></i>'
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
    sign, style = MARKS[claim.word(status)]
    kind = f"half {style}{same}{'' if statistic else ' whole'}"
    if verdict is None:
        return f'<span class="{kind}">{sign}</span>'
    which, name = describe_cell(claim, replace(reading, statistic=statistic or None))
    tally = f" ({verdict.tally})" if verdict.tally else ""
    told = plain(f"{', '.join(filter(None, (which or 'to the letter', name)))}: {claim.word(status)}{tally}")
    anchor = verdict_anchor(claim, verdict)
    return f'<a class="{kind}" href="#{anchor}" title="{told}" aria-label="{told}">{sign}</a>'


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
    summary = (
        f"{render_badge(Status.UNTESTED)} {pluralize(len(rest), 'claim')}, for which <code>soqo reproduce</code> runs "
        "all settings"
    )
    return render_fold(summary, f"<ul>{items}</ul>", anchor="untested")
