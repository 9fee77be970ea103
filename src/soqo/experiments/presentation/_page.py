"""The page of a report: one self-contained HTML file for light and dark color schemes, wide and narrow screens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from soqo.experiments.judgment import explain_zero_estimates
from soqo.experiments.presentation._chart_html import chart_colors, embed_charts
from soqo.experiments.presentation._charts import Chart
from soqo.experiments.presentation._claim_details import render_chips
from soqo.experiments.presentation._claims_matrix import render_claims
from soqo.experiments.presentation._evidence_page import render_evidence, risk_chart
from soqo.experiments.presentation._first_screen import headline_outcome, render_first_screen
from soqo.experiments.presentation._html import (
    make_anchor,
    pluralize,
    read_resource,
    render_facts,
    render_fold,
    render_frame,
    render_glossary,
    render_title,
)
from soqo.experiments.presentation._outcome_charts import headline_chart
from soqo.experiments.presentation._page_sections import render_article, render_result
from soqo.experiments.presentation._report import ReportData, ReportFigure
from soqo.experiments.settings import catalogue


def render_page(data: ReportData) -> str:
    """Return the HTML of the page of a report.

    Parameters
    ----------
    data : ReportData
        The outcomes, claims and figures.

    Returns
    -------
    str
        The HTML, with charts, numbers and scripts inside; it needs no other file and no network.

    See Also
    --------
    report_figures : The figures of some outcomes.

    Examples
    --------
    >>> from soqo.experiments.judgment import Evidence
    >>> about = {"command": "", "quick": False, "versions": {}, "code": "", "settings": {"a": {"runs": 4, "seed": 0}}}
    >>> render_page(ReportData((), None, Evidence(), (), about)).splitlines()[0]
    '<!DOCTYPE html>'
    """
    charts = _make_charts(data)
    groups: dict[str, list[ReportFigure]] = {}
    for figure in data.figures:
        groups.setdefault(figure.group, []).append(figure)
    evidence = render_evidence(data.evidence, charts)
    paper = data.judgment is not None
    parts = (
        f'<header class="top"><h1>{"The SCaLE paper, reproduced" if paper else "Simulated regret"}</h1>'
        f"{_render_links(data, groups, evidence)}</header>",
        '<main id="main">',
        _QUICK if data.about["quick"] else "",
        render_first_screen(data, charts),
        _render_claims(data, groups),
        '<section id="figures">\n<div class="head"><h2>'
        f'{"The paper&rsquo;s figures" if paper else "Figures"}</h2><span id="folds"></span></div>',
        *(_render_group(group, data) for group in groups.values()),
        f"{_render_missing(data)}</section>",
        evidence,
        render_glossary() if paper else "",
        _render_about(data),
        "</main>",
    )
    return render_frame(
        "The SCaLE paper&rsquo;s experiments, reproduced" if paper else "Simulated regret",
        "\n".join(parts),
        colors=chart_colors(charts.values()),
        scripts=f"{embed_charts(charts.values())}\n<script>{_join_scripts()}</script>" if charts else "",
    )


_QUICK = (
    '<p class="notice">This is a quick first look with few runs and few horizons: its numbers are less accurate than '
    "those of a full run, and its verdicts are provisional.</p>"
)


def _join_scripts() -> str:
    """Return all scripts of the page in one scope of their own."""
    parts = "\n".join(read_resource(name) for name in ("charts.js", "page.js"))
    return f'"use strict";\n(() => {{\n{parts}}})();'


def _make_charts(data: ReportData) -> dict[str, Chart]:
    """Return the charts of the page by name."""
    charts = [chart for figure in data.figures for chart in (figure.chart, figure.beside) if chart is not None]
    headline = headline_outcome(data)
    if headline is not None and any(headline in figure.outcomes for figure in data.figures):
        charts.append(headline_chart(headline))
    if data.evidence.risk:
        charts.append(risk_chart(data.evidence.risk))
    return {chart.name: chart for chart in charts}


# ---- head and foot -------------------------------------------------------------------------------------------------


def _render_links(data: ReportData, groups: Mapping[str, Sequence[ReportFigure]], evidence: str) -> str:
    """Return links to the claims and to each figure of the paper."""
    links = [("#claims", "Claims")] if data.judgment else []
    for name, group in groups.items():
        links.append((f"#{make_anchor('group', name)}", _short_name(group)))
    if evidence:
        links.append(("#evidence", "Evidence"))
    if data.judgment:
        links.append(("#terms", "Terms"))
    links.append(("#about", "About"))
    items = "".join(f'<li><a href="{href}">{text}</a></li>' for href, text in links)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def _short_name(group: Sequence[ReportFigure]) -> str:
    """Return the number of a figure in the paper, or a short form of its title."""
    if group[0].group == "rub":
        return "RUB"
    numbers = list(dict.fromkeys(filter(None, map(figure_number, group))))
    if len(numbers) > 1:
        return f"Figures {numbers[0].partition(' ')[2]}\N{EN DASH}{numbers[-1].partition(' ')[2]}"
    return numbers[0] if numbers else render_title(group[0].group.replace("_", " "))


def figure_number(figure: ReportFigure) -> str:
    """Return the number of a figure in the paper, such as "Figure 3"; empty if it has none.

    Examples
    --------
    >>> from soqo.experiments.presentation._evidence_page import curvature_chart
    >>> figure_number(ReportFigure("mine", "mine", "Mine", "Appendix, Figure 7: a test", "", curvature_chart()))
    'Figure 7'
    """
    match = re.search(r"Figure \d+", figure.source)
    return match[0] if match else ""


def _render_about(data: ReportData) -> str:
    """Return what regret is, the origin of the numbers, and links to files."""
    about, settings = data.about, data.about["settings"].values()
    runs = format_range([setting["runs"] for setting in settings])
    each = " each" if len(settings) > 1 else ""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    names = ["about.json", *(["claims.json", "claims.csv"] if data.judgment else [])]
    facts = {
        "Command": f"<code>{escape(about['command'])}</code>" if about["command"] else "",
        "Seed": format_range([setting["seed"] for setting in settings]),
        "Versions": escape(versions),
        "Code": f"<code>{escape(about['code'])}</code>",
        "Files": ", ".join(f'<a href="{name}">{name}</a>' for name in names),
    }
    return (
        '<section id="about" class="card">\n<h2>About this report</h2>\n'
        f"<p>It simulates {pluralize(len(settings), 'setting')} with {runs} runs{each}. Regret is the cost of a policy "
        "minus the cost of LAI, which knows A, on the same sample paths with the same noise; it is negative where a "
        "policy pays less than LAI. Intervals have a level of 95 %, by a bootstrap over the runs; the button "
        "&ldquo;Intervals&rdquo; draws them. A policy has the same color in every "
        f"figure.</p>\n{render_facts(facts)}\n</section>"
    )


def format_range(numbers: Sequence[int]) -> str:
    """Return the smallest and the largest number, or one number if all are equal.

    Examples
    --------
    >>> format_range([20, 20]), format_range([4, 20])
    ('20', '4 to 20')
    """
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def _render_claims(data: ReportData, groups: Mapping[str, Sequence[ReportFigure]]) -> str:
    if data.judgment is None:
        return ""
    settings = {
        name: (make_anchor("figure", figure.name), figure_number(figure) or figure.name)
        for group in groups.values()
        for figure in group
        for name in [outcome.setting.name for outcome in figure.outcomes] or [figure.name]
    }
    readings = max((len(claim.verdicts) for claim in data.judgment.tested), default=0)
    heading = f"The paper&rsquo;s claims, under {readings} readings of its text"
    return (
        f'<section id="claims" class="card">\n<h2>{heading}</h2>\n{render_claims(data.judgment, settings)}\n</section>'
    )


# ---- figures -------------------------------------------------------------------------------------------------------


def _render_group(group: Sequence[ReportFigure], data: ReportData) -> str:
    """Return the fold of a figure of the paper: one article, or a fold for each of several."""
    title, rest = _split_group_titles(group)
    where = _short_name(group)
    number = f"<b>{where}</b> " if where.startswith(("Figure", "RUB")) else ""
    name = "Appendix, additional experiments" if title == "Appendix" else title
    results = [f"{render_result(figure)} {render_chips(data.judgment, figure)}" for figure in group]
    articles = [render_article(figure, explain_zero_estimates(data.evidence, figure.name)) for figure in group]
    if len(group) > 1:
        numbers = [f"<b>{figure_number(figure)}</b> " if where.startswith("Figures") else "" for figure in group]
        articles = [
            render_fold(f"{of}{render_title(text)} {result}", article)
            for of, text, result, article in zip(numbers, rest, results, articles, strict=True)
        ]
    summary = f"<h3>{number}{render_title(name)}</h3> {results[0] if len(group) == 1 else ''}"
    anchor = make_anchor("group", group[0].group)
    return render_fold(summary, "\n".join(articles), kind="card group", anchor=anchor)


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


def _render_missing(data: ReportData) -> str:
    """Return the figures of the paper that this report does not have, each with the command that makes it."""
    if data.judgment is None:
        return ""
    there = {figure.group for figure in data.figures}
    absent = {setting.figure: setting for setting in reversed(catalogue()) if setting.figure not in there}
    if not absent:
        return ""
    items = "".join(
        f'<li>{render_title(one.title.partition(":")[0])} <span class="source">{escape(one.source)}</span> '
        f"<code>soqo reproduce {escape(name)}</code></li>"
        for name, one in reversed(absent.items())
    )
    return f'<div class="card"><h3>Not in this report</h3><ul>{items}</ul></div>'
