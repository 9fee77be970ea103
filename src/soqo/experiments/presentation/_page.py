"""The page about a run: one HTML file with everything in it, for light and dark, wide and narrow screens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import quote

import numpy as np

from soqo._summary import PolicySummary, short
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.judgment import UNTESTED, Claim
from soqo.experiments.presentation._figures import shared_title
from soqo.experiments.presentation._pictures import Picture
from soqo.experiments.presentation._style import look, symbols
from soqo.experiments.presentation._svg import adapted, color_rules
from soqo.experiments.settings._catalogue import catalogue
from soqo.policies._base import Policy

__all__ = ["best_policy", "page"]

VERDICTS = {
    "holds only if": ("partly", "◐"),
    "does not hold": ("fails", "✗"),
    UNTESTED: ("untested", "&ndash;"),
    "holds": ("holds", "✓"),
}
"""How verdicts begin, the longer ones first; and how they look. The word is always there beside the color."""


def page(
    pictures: Sequence[Picture],
    claims: Sequence[Claim],
    about: Mapping[str, Any],
    svgs: Mapping[str, str],
) -> str:
    """The page.

    Parameters
    ----------
    pictures : sequence of Picture
    claims : sequence of Claim
    about : mapping
        What ``about.json`` holds.
    svgs : mapping of str to str
        The text of each picture's SVG file.
    """
    groups: dict[str, list[Picture]] = {}
    for picture in pictures:
        groups.setdefault(picture.figure, []).append(picture)
    ours = {setting.name for setting in catalogue()}
    paper = any(o.setting.name in ours for picture in pictures for o in picture.outcomes)
    inlined = {name: adapted(svg, name) for name, svg in svgs.items()}
    colors = {color for _, found in inlined.values() for color in found}
    template = Template(files("soqo.experiments.presentation").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title="The SCaLE paper&rsquo;s experiments, reproduced" if paper else "Simulated regret",
        colors=color_rules(colors),
        lead=lead(about),
        facts=facts(about, ["about.json", *(["claims.csv"] if claims else [])]),
        contents=contents(groups),
        claims=claims_section(claims),
        figures="\n".join(group_section(group, inlined) for group in groups.values()),
    )


# ---- the top -------------------------------------------------------------------------------------------------------


def lead(about: Mapping[str, Any]) -> str:
    """What this is, in a paragraph."""
    count = len(about["settings"])
    runs = spread([entry["runs"] for entry in about["settings"].values()])
    text = (
        f"<p>{plural(count, 'setting')} simulated with {runs} runs each. Regret is what a policy pays above LAI, the "
        "player who knows A, on the same paths and with the same noise; below zero, it pays less. Lines are medians "
        "over the runs, bands run from the lower to the upper quartile, and a policy has the same color everywhere.</p>"
    )
    if about["quick"]:
        text += (
            '\n<p class="notice">This is a first look, with few runs and few horizons: the numbers and the verdicts '
            "are coarser than those of a full run.</p>"
        )
    return text


def facts(about: Mapping[str, Any], files: Sequence[str]) -> str:
    """Where the numbers come from, and what they are in."""
    seeds = spread([entry["seed"] for entry in about["settings"].values()])
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    rows = [("Seed", escape(seeds)), ("Versions", escape(versions))]
    if about["command"]:
        rows.insert(0, ("Command", f"<code>{escape(about['command'])}</code>"))
    rows.append(("Code", f"<code>{escape(about['code'])}</code>"))
    rows.append(("Files", ", ".join(f'<a href="{name}">{name}</a>' for name in files)))
    return "\n".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)


def contents(groups: Mapping[str, Sequence[Picture]]) -> str:
    """The table of contents."""
    items = ['<li><a href="#claims">Claims</a></li>']
    for group in groups.values():
        title, rest = group_title(group)
        item = f'<a href="#{anchor(group[0].figure, "figure")}">{unbroken(title)}</a>'
        if len(group) > 1:
            inner = "".join(
                f'<li><a href="#{anchor(picture.name)}">{unbroken(text)}</a></li>'
                for picture, text in zip(group, rest, strict=True)
            )
            item += f"<ul>{inner}</ul>"
        items.append(f"<li>{item}</li>")
    return f"<ul>{''.join(items)}</ul>"


# ---- claims --------------------------------------------------------------------------------------------------------


def claims_section(claims: Sequence[Claim]) -> str:
    """The table of claims, and how many of each verdict there are."""
    if not claims:
        return "<p>These settings test none of the paper&rsquo;s claims.</p>"
    counts = [
        f'<li><span class="verdict {kind}"><span aria-hidden="true">{sign}</span> {words}</span> {number}</li>'
        for words, (kind, sign) in sorted(VERDICTS.items(), key=lambda item: ORDER.index(item[0]))
        if (number := sum(verdict_of(claim)[0] == words for claim in claims))
    ]
    heads = ("Verdict", "Claim", "Measured", "Rule", "Reading")
    head = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in heads)
    body = "\n".join(claim_row(claim, heads) for claim in claims)
    return (
        f'<ul class="counts">{"".join(counts)}</ul>\n'
        f'<table class="claims" role="table"><caption>The paper&rsquo;s claims, judged by stated rules from this '
        f'run&rsquo;s numbers</caption>\n<thead role="rowgroup"><tr role="row">{head}</tr></thead>\n'
        f'<tbody role="rowgroup">\n{body}\n</tbody></table>'
    )


ORDER = ("holds", "holds only if", "does not hold", UNTESTED)


def verdict_of(claim: Claim) -> tuple[str, str]:
    """The words that a verdict begins with, and what follows them."""
    for words in VERDICTS:
        if claim.verdict.startswith(words):
            return words, claim.verdict.removeprefix(words).strip()
    return UNTESTED, claim.verdict


def claim_row(claim: Claim, heads: Sequence[str]) -> str:
    """One claim; each cell says what it is, for where the table is shown as cards."""
    words, rest = verdict_of(claim)
    kind, sign = VERDICTS[words]
    badge = f'<span class="verdict {kind}"><span aria-hidden="true">{sign}</span> {words}</span>'
    cells = (
        f"{badge} {escape(symbols(rest))}".strip(),
        f'{escape(symbols(claim.text))} <span class="source">{escape(claim.source)}</span>',
        *(escape(symbols(text)) or "&ndash;" for text in (claim.number, claim.rule, claim.variant)),
    )
    inner = "".join(f'<td role="cell" data-label="{head}">{cell}</td>' for head, cell in zip(heads, cells, strict=True))
    return f'<tr role="row" class="{kind}">{inner}</tr>'


# ---- figures -------------------------------------------------------------------------------------------------------


def group_title(group: Sequence[Picture]) -> tuple[str, list[str]]:
    """A title for all pictures of a figure, and what is left of each one's own.

    A title of its own stays whole; several share what stands before the colon, if that is the same.
    """
    titles = [picture.title for picture in group]
    if len(group) == 1:
        return titles[0], titles
    heads = {title.partition(": ")[0] for title in titles}
    if len(heads) == 1 and all(": " in title for title in titles):
        return heads.pop(), [title.partition(": ")[2] for title in titles]
    return group[0].figure.replace("_", " ").capitalize(), titles


def group_section(group: Sequence[Picture], inlined: Mapping[str, tuple[str, Any]]) -> str:
    """A figure of the paper: its picture, or all its panels under one heading."""
    title, rest = group_title(group)
    level = 2 if len(group) == 1 else 3
    parts = [
        picture_article(picture, text, inlined[picture.name][0], level)
        for picture, text in zip(group, rest, strict=True)
    ]
    if level == 3:
        parts.insert(0, f"<h2>{escape(symbols(title))}</h2>")
    inner = "\n".join(parts)
    return f'<section id="{anchor(group[0].figure, "figure")}">\n{inner}\n</section>'


def picture_article(picture: Picture, title: str, svg: str, level: int) -> str:
    """A picture with all that belongs to it."""
    heading = unbroken(title)
    alt = escape(symbols(alternative(picture)), quote=True)
    source = f'<p class="source">{escape(picture.source)}</p>\n' if picture.source else ""
    note = f"<figcaption><strong>Note.</strong> {escape(symbols(picture.note))}</figcaption>" if picture.note else ""
    drawn = svg.replace("<svg ", f'<svg style="{size_of(svg)}" role="img" aria-label="{alt}" ', 1)
    return (
        f'<article id="{anchor(picture.name)}">\n<h{level}>{heading}</h{level}>\n{source}'
        f'<figure>\n<div class="picture" tabindex="0" role="group" aria-label="Picture: {heading}">{drawn}</div>\n'
        f"{note}\n</figure>\n{summary(picture)}\n{links(picture)}\n</article>"
    )


def size_of(svg: str) -> str:
    """How narrow a picture may become before it is scrolled, and how wide: its labels must be read."""
    found = re.search(r'viewBox="\S+ \S+ (\S+) ', svg)
    width = float(found[1]) if found else 800.0
    return f"min-width: {0.95 * width:.0f}px; max-width: {1.5 * width:.0f}px"


def alternative(picture: Picture) -> str:
    """What a picture shows, for who cannot see it."""
    if not picture.outcomes:
        return (
            "Two panels of noisy readings against the distance from the minimizer. Along the eigenvector the cost is "
            "a parabola that rises above the noise; along the null direction it is zero, and every reading is noise."
        )
    first = picture.outcomes[0]
    if picture.sweep:
        parameters = {swept.parameter for swept in first.setting.swept.values()}
        families = dict.fromkeys(swept.family for swept in first.setting.swept.values())
        return (
            f"{picture.title}: regret at the end against {' and '.join(sorted(parameters))}, a panel each for "
            f"{', '.join(families)}, a line for each of {plural(len(picture.outcomes), 'setting')}. The table below "
            "has the smallest medians."
        )
    best = best_policy(first)
    return (
        f"{picture.title}: regret of {len(first.policies)} policies, medians and quartiles of {first.runs} runs. "
        f"After {first.setting.horizon} rounds {best} has the lowest median of those that are not told A, "
        f"{short(summaries(first)[best].median)}. The table below has every policy's."
    )


def summary(picture: Picture) -> str:
    """The table below a picture."""
    if not picture.outcomes:
        return ""
    if picture.sweep:
        return sweep_table(picture.outcomes)
    (outcome,) = picture.outcomes
    best, rows = best_policy(outcome), summaries(outcome)
    body = "\n".join(
        summary_row([name], row, name == best, *looks)
        for (name, row), looks in zip(rows.items(), look(outcome.policies).values(), strict=True)
    )
    note = f"Regret after {outcome.setting.horizon} rounds; bold: the lowest median of those that are not told A"
    return table(note, ["Policy"], body)


def sweep_table(outcomes: Sequence[Outcome]) -> str:
    """For each family and setting the value with the smallest median, and how it did."""
    swept = next(iter(outcomes[0].setting.swept.values()))
    families = dict.fromkeys(s.family for o in outcomes for s in o.setting.swept.values())
    _, labels = shared_title([outcome.setting.title for outcome in outcomes])
    body = []
    for outcome, label in zip(outcomes, labels, strict=True):
        rows = summaries(outcome)
        found = {}
        for family in families:
            names = [n for n, s in outcome.setting.swept.items() if s.family == family]
            if names:
                found[family] = min(names, key=lambda name: sort_key(rows[name]))
        lowest = min(found.values(), key=lambda name: sort_key(rows[name]))
        for family, name in found.items():
            value = f"{outcome.setting.swept[name].value:g}"
            body.append(summary_row([family, label, value], rows[name], name == lowest))
    note = (
        f"The {symbols(swept.parameter)} with the smallest median regret after {outcomes[0].setting.horizon} rounds; "
        "bold: the lowest of its setting"
    )
    return table(note, ["Policy", "Setting", f"Best {symbols(swept.parameter)}"], "\n".join(body))


def table(note: str, heads: Sequence[str], body: str) -> str:
    """A summary table."""
    names = [*heads, "Median", "Lower quartile", "Upper quartile", "Diverged"]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(note)}"><table class="summary">'
        f"<caption><span>{escape(note)}</span></caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def summary_row(names: Sequence[str], row: PolicySummary, best: bool, color: str = "", style: str = "") -> str:
    """One policy; with a dash in its color and style, as in the picture."""
    dashes = {"-": "solid", "--": "dashed", ":": "dotted", "-.": "dashed"}
    swatch = (
        f'<span class="swatch" style="border-top: 3px {dashes[style]} var(--c-{color[1:].lower()}, {color})"></span>'
        if color
        else ""
    )
    first = f'<th scope="row">{swatch}{escape(symbols(names[0]))}</th>'
    texts = "".join(f"<td>{escape(symbols(text))}</td>" for text in names[1:])
    numbers = (row.median, row.lower_quartile, row.upper_quartile)
    cells = "".join(f'<td class="number">{amount(value)}</td>' for value in numbers)
    marked = ' class="best"' if best else ""
    return f'<tr{marked}>{first}{texts}{cells}<td class="number">{row.diverged} of {row.runs}</td></tr>'


def links(picture: Picture) -> str:
    """The files of a picture, and of the settings in it."""
    name = quote(picture.name)
    found = [f'<a href="figures/{name}.{suffix}">{suffix.upper()}</a>' for suffix in ("png", "svg")]
    for outcome in picture.outcomes:
        setting = outcome.setting.name
        which = "" if len(picture.outcomes) == 1 else f" {escape(setting)}"
        found.append(f'<a href="tables/{quote(setting)}.csv">CSV{which}</a>')
        found.append(f'<a href="data/{quote(setting)}.nc">NetCDF{which}</a>')
    return f'<p class="files">Files: {", ".join(found)}</p>'


# ---- small things --------------------------------------------------------------------------------------------------


def summaries(outcome: Outcome) -> Mapping[str, PolicySummary]:
    """A few numbers for each policy; a mean of what diverged may be no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        return outcome.summary()


def best_policy(outcome: Outcome) -> str:
    """The policy with the lowest median regret at the end, of those that are not told A if there are any."""
    rows = summaries(outcome)
    learners = [n for n in outcome.policies if isinstance(outcome.setting.policies[n], Policy)]
    return min(learners or outcome.policies, key=lambda name: sort_key(rows[name]))


def sort_key(row: PolicySummary) -> float:
    """The median; what is no number comes last."""
    return row.median if np.isfinite(row.median) else np.inf


def amount(value: float) -> str:
    """A number for a table, as the axes have it.

    >>> [amount(value) for value in (0.25, -1.23e6, float("inf"))]
    ['0.25', '−1.23·10<sup>6</sup>', '∞']
    """
    if not np.isfinite(value):
        return "∞"
    digits, _, exponent = short(value).replace("-", "\N{MINUS SIGN}").partition("e")
    return f"{digits}·10<sup>{exponent}</sup>" if exponent else digits


def anchor(name: str, kind: str = "picture") -> str:
    """An id that a link can name."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_.-]', '-', name)}"


def unbroken(title: str) -> str:
    """A title as HTML, with a capital at its start, and no line break within an equation.

    >>> unbroken("small steps, eta = 1")
    'Small steps, η&nbsp;=&nbsp;1'
    """
    # The first letter only: names such as SCaLE keep their own.
    text = escape(symbols(title[:1].upper() + title[1:]))
    return text.replace(" = ", "&nbsp;=&nbsp;")


def plural(count: int, thing: str) -> str:
    """A count with its thing.

    >>> plural(1, "setting"), plural(5, "setting")
    ('1 setting', '5 settings')
    """
    return f"{count} {thing}{'' if count == 1 else 's'}"


def spread(numbers: Sequence[int]) -> str:
    """One number if all are the same, and else the smallest and the largest.

    >>> spread([20, 20]), spread([4, 20])
    ('20', '4 to 20')
    """
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"
