"""The page of a report: one self-contained HTML file for light and dark color schemes, wide and narrow screens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from soqo.experiments.judgment import UNTESTED, Claim
from soqo.experiments.presentation._page_sections import make_anchor, pluralize, render_article, render_title
from soqo.experiments.presentation._report_figures import ReportFigure
from soqo.experiments.presentation._style import typeset
from soqo.experiments.presentation._svg import inline_svg, render_color_rules

_VERDICTS = {
    "holds": ("holds", "✓"),
    "holds only if": ("partly", "◐"),
    "does not hold": ("fails", "✗"),
    UNTESTED: ("untested", "&ndash;"),
}
"""The beginnings of verdicts, each with a CSS class and a sign."""

_COLUMNS = ("Verdict", "Claim", "Measured", "Rule", "Variant")


def render_page(
    figures: Sequence[ReportFigure], claims: Sequence[Claim], about: Mapping[str, Any], svgs: Mapping[str, str]
) -> str:
    """Return the HTML of the page of a report.

    Parameters
    ----------
    figures : sequence of ReportFigure
        The figures, as returned by :func:`report_figures`.
    claims : sequence of Claim
        The paper's claims; empty for settings that are not the paper's.
    about : mapping
        The contents of ``about.json``: ``command``, ``quick``, ``versions``, ``code`` and ``settings``.
    svgs : mapping of str to str
        The SVG text of each figure, by its name.

    Returns
    -------
    str
        The HTML, with the figures inside.

    See Also
    --------
    report_figures : The figures of some outcomes.
    render_svg : The SVG text of a figure.

    Examples
    --------
    >>> about = {"command": "", "quick": False, "versions": {}, "code": "", "settings": {"a": {"runs": 4, "seed": 0}}}
    >>> render_page([], [], about, {}).splitlines()[0]
    '<!DOCTYPE html>'
    """
    groups: dict[str, list[ReportFigure]] = {}
    for figure in figures:
        groups.setdefault(figure.group, []).append(figure)
    inlined = {name: inline_svg(svg, name) for name, svg in svgs.items()}
    elements = {name: element for name, (element, _) in inlined.items()}
    template = Template(files("soqo.experiments.presentation").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title="The SCaLE paper&rsquo;s experiments, reproduced" if claims else "Simulated regret",
        colors=render_color_rules({color for _, colors in inlined.values() for color in colors}),
        lead=_render_lead(about),
        facts=_render_facts(about, ["about.json", *(["claims.csv"] if claims else [])]),
        contents=_render_contents(groups.values()),
        claims=_render_claims(claims),
        figures="\n".join(_render_group(group, elements) for group in groups.values()),
    )


# ---- head ----------------------------------------------------------------------------------------------------------


def _render_lead(about: Mapping[str, Any]) -> str:
    """Return the introduction of the page."""
    settings = about["settings"].values()
    runs = _format_range([setting["runs"] for setting in settings])
    each = " each" if len(settings) > 1 else ""
    text = (
        f"<p>This report simulates {pluralize(len(settings), 'setting')} with {runs} runs{each}. Regret is the cost of "
        "a policy minus the cost of LAI, which knows A, on the same sample paths with the same noise; it is negative "
        "where a policy pays less than LAI. Lines are medians over the runs, and bands extend from the lower to the "
        "upper quartile. A policy has the same color in every figure.</p>"
    )
    if about["quick"]:
        text += (
            '\n<p class="notice">This is a quick first look with few runs and few horizons: its numbers and verdicts '
            "are less accurate than those of a full run.</p>"
        )
    return text


def _render_facts(about: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the origin of the numbers, and links to files."""
    seeds = _format_range([setting["seed"] for setting in about["settings"].values()])
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    rows = [("Command", f"<code>{escape(about['command'])}</code>")] if about["command"] else []
    rows += [
        ("Seed", seeds),
        ("Versions", escape(versions)),
        ("Code", f"<code>{escape(about['code'])}</code>"),
        ("Files", ", ".join(f'<a href="{name}">{name}</a>' for name in names)),
    ]
    return "\n".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)


def _render_contents(groups: Iterable[Sequence[ReportFigure]]) -> str:
    """Return the table of contents."""
    items = ['<li><a href="#claims">Claims</a></li>']
    for group in groups:
        title, rest = _split_group_titles(group)
        item = _render_entry("group", group[0].group, title)
        if len(group) > 1:
            inner = (_render_entry("figure", f.name, text) for f, text in zip(group, rest, strict=True))
            item += f"<ul>{''.join(f'<li>{entry}</li>' for entry in inner)}</ul>"
        items.append(f"<li>{item}</li>")
    return f"<ul>{''.join(items)}</ul>"


def _render_entry(kind: str, name: str, title: str) -> str:
    return f'<a href="#{make_anchor(kind, name)}">{render_title(title)}</a>'


def _format_range(numbers: Sequence[int]) -> str:
    """Return the smallest and the largest number, or one number if all are equal.

    Examples
    --------
    >>> _format_range([20, 20]), _format_range([4, 20])
    ('20', '4 to 20')
    """
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


# ---- claims --------------------------------------------------------------------------------------------------------


def _render_claims(claims: Sequence[Claim]) -> str:
    """Return the number of claims for each verdict, and a table of the claims."""
    if not claims:
        return "<p>These settings test none of the paper&rsquo;s claims.</p>"
    verdicts = [_split_verdict(claim)[0] for claim in claims]
    counts = "".join(f"<li>{_render_badge(v)} {verdicts.count(v)}</li>" for v in _VERDICTS if v in verdicts)
    head = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in _COLUMNS)
    body = "\n".join(map(_render_claim, claims))
    return (
        f'<ul class="counts">{counts}</ul>\n'
        f'<table class="claims" role="table"><caption>The paper&rsquo;s claims, judged by stated rules from this '
        f'run&rsquo;s numbers</caption>\n<thead role="rowgroup"><tr role="row">{head}</tr></thead>\n'
        f'<tbody role="rowgroup">\n{body}\n</tbody></table>'
    )


def _render_claim(claim: Claim) -> str:
    """Return the row of a claim; its cells have labels, because narrow screens show the table as a list."""
    verdict, condition = _split_verdict(claim)
    cells = (
        f"{_render_badge(verdict)} {escape(typeset(condition))}".strip(),
        f'{escape(typeset(claim.text))} <span class="source">{escape(claim.source)}</span>',
        *(escape(typeset(text)) or "&ndash;" for text in (claim.number, claim.rule, claim.variant)),
    )
    inner = "".join(f'<td role="cell" data-label="{n}">{cell}</td>' for n, cell in zip(_COLUMNS, cells, strict=True))
    return f'<tr role="row" class="{_VERDICTS[verdict][0]}">{inner}</tr>'


def _render_badge(verdict: str) -> str:
    """Return a verdict with its sign, so that it does not depend on color."""
    kind, sign = _VERDICTS[verdict]
    return f'<span class="verdict {kind}"><span aria-hidden="true">{sign}</span> {verdict}</span>'


def _split_verdict(claim: Claim) -> tuple[str, str]:
    """Return the key of a verdict in the table of verdicts, and the rest of its text."""
    for verdict in sorted(_VERDICTS, key=len, reverse=True):
        if claim.verdict.startswith(verdict):
            return verdict, claim.verdict.removeprefix(verdict).strip()
    return UNTESTED, claim.verdict


# ---- figures -------------------------------------------------------------------------------------------------------


def _render_group(group: Sequence[ReportFigure], svgs: Mapping[str, str]) -> str:
    """Return the section of a figure of the paper: one article, or several under a common heading."""
    title, rest = _split_group_titles(group)
    level = 2 if len(group) == 1 else 3
    parts = [f"<h2>{escape(typeset(title))}</h2>"] if level == 3 else []
    parts += [render_article(f, text, svgs[f.name], level) for f, text in zip(group, rest, strict=True)]
    inner = "\n".join(parts)
    return f'<section id="{make_anchor("group", group[0].group)}">\n{inner}\n</section>'


def _split_group_titles(group: Sequence[ReportFigure]) -> tuple[str, list[str]]:
    """Return a title for a group, and a title for each of its figures.

    Figures whose titles agree up to the colon share that part.
    """
    titles = [figure.title for figure in group]
    if len(group) == 1:
        return titles[0], titles
    heads = {title.partition(": ")[0] for title in titles}
    if len(heads) == 1 and all(": " in title for title in titles):
        return heads.pop(), [title.partition(": ")[2] for title in titles]
    return group[0].group.replace("_", " ").capitalize(), titles
