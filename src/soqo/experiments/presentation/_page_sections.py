"""The part of the page about one figure: heading, chart, tables, the sources of its setting, and links to files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import quote

import numpy as np

from soqo._simulation.summary import PolicySummary
from soqo.experiments.execution import Outcome
from soqo.experiments.presentation._chart_elements import render_chart, render_swatch
from soqo.experiments.presentation._charts import Chart, Statistic
from soqo.experiments.presentation._cost_split import render_cost_split
from soqo.experiments.presentation._curvature_figure import SURFACE
from soqo.experiments.presentation._numbers import format_number, pluralize, render_text
from soqo.experiments.presentation._outcome_charts import (
    display_family,
    display_name,
    end_regret,
    find_best,
    first_statistic,
    main_policies,
    split_titles,
)
from soqo.experiments.presentation._report_figures import ReportFigure
from soqo.experiments.presentation._style import policy_styles, typeset


def render_article(figure: ReportFigure, charts: Mapping[str, Chart], svg: str, why: str = "") -> str:
    """Return the article about a figure.

    Parameters
    ----------
    figure : ReportFigure
        The figure.
    charts : mapping of str to Chart
        The charts by name.
    svg : str
        Its picture, for a figure that is not a chart.
    why : str
        An explanation of what it shows.
    """
    parts = [f'<p class="source">{escape(figure.source)}</p>' if figure.source else ""]
    parts.append(_render_picture(figure, charts, svg))
    note = figure.note
    if figure.is_sweep:
        note = f"{note} A ring marks the smallest value of each curve, by the statistic that is shown.".strip()
    if note:
        parts.append(f'<p class="note"><strong>Note.</strong> {render_text(note)}</p>')
    if why:
        parts.append(f'<p class="note"><strong>Why.</strong> {render_text(why)}</p>')
    parts.append(_render_split(figure))
    beside = charts.get(f"{figure.name}_beside")
    if beside is not None:
        parts.append(
            '<details class="fold"><summary>Beside the paper: policies that it does not have</summary>\n'
            f"{render_chart(beside, f'{figure.title}, policies that are not in the paper')}</details>"
        )
    parts += [_render_tables(figure), _render_origins(figure.outcomes), _render_links(figure)]
    inner = "\n".join(part for part in parts if part)
    return f'<article id="{make_anchor("figure", figure.name)}">\n{inner}\n</article>'


def make_anchor(kind: str, name: str) -> str:
    """Return an id that a link can refer to."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_.-]', '-', name)}"


def render_title(title: str) -> str:
    """Return a title as HTML, capitalized and without line breaks inside of equations.

    Examples
    --------
    >>> render_title("small steps, eta = 1")
    'Small steps, η&nbsp;=&nbsp;1'
    """
    # str.capitalize would change names such as SCaLE.
    text = escape(typeset(title[:1].upper() + title[1:]))
    return text.replace(" = ", "&nbsp;=&nbsp;")


def render_result(figure: ReportFigure) -> str:
    """Return the result of a figure in a few words: the policy with the least regret, and SCaLE as printed."""
    if figure.is_sweep or not figure.outcomes:
        return ""
    (outcome,) = figure.outcomes
    statistic, names = first_statistic(outcome), main_policies(outcome)
    shown = dict.fromkeys([find_best(outcome, names, statistic), *(n for n in names if n == "SCaLE as printed")])
    told = "; ".join(
        f"{escape(typeset(display_name(outcome, name)))}: {format_number(end_regret(outcome, name, statistic))}"
        for name in shown
    )
    return f'<small class="result">{statistic} regret of {told}</small>'


def _render_picture(figure: ReportFigure, charts: Mapping[str, Chart], svg: str) -> str:
    chart = charts.get(figure.name)
    if chart is not None:
        return render_chart(chart, figure.title)
    alt = escape(typeset(f"{figure.title}. {figure.note}"), quote=True)
    drawn = svg.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
    if figure.name != SURFACE:
        return f'<figure class="panel wide"><div class="plot">{drawn}</div></figure>'
    named = drawn.replace("<svg ", f'<svg id="picture-{SURFACE}" ', 1)
    return (
        f'<figure class="panel wide" data-surface="{SURFACE}"><div class="plot"><div class="whole">{named}</div>'
        f"{_render_halves(drawn)}</div></figure>"
    )


def _render_halves(svg: str) -> str:
    """Return the left and the right half of the picture of Figure 2, which narrow screens show one above the other."""
    size = re.search(r'viewBox="0 \S+ ([\d.]+) ([\d.]+)"', svg)
    if size is None:
        return ""
    width, height = float(size[1]), float(size[2])
    halves = (
        f'<svg viewBox="{start * width:.0f} 0 {(end - start) * width:.0f} {height:.0f}" aria-hidden="true">'
        f'<use href="#picture-{SURFACE}" width="{width:g}" height="{height:g}"/></svg>'
        for start, end in ((0.0, _MIDDLE), (_MIDDLE, 1.0))
    )
    return f'<div class="halves">{"".join(halves)}</div>'


_MIDDLE = 0.515
"""Where the picture is cut, as a share of its width: the legend is a little wider than one panel."""


def _render_split(figure: ReportFigure) -> str:
    """Return hitting and switching costs apart: in the open where a figure is about them, otherwise in a fold."""
    if figure.is_sweep or not figure.outcomes:
        return ""
    table = render_cost_split(figure.outcomes[0])
    if figure.name == _ABOUT_MOVEMENT:
        return table
    return f'<details class="fold"><summary>Hitting and switching costs</summary>{table}</details>'


_ABOUT_MOVEMENT = "intro"
"""The figure that the paper shows for movement costs."""


# ---- tables --------------------------------------------------------------------------------------------------------

_STATISTICS: tuple[Statistic, ...] = ("mean", "median")
_HEADS = ("Mean", "Median", "Lower quartile", "Upper quartile", "Diverged")


def _render_tables(figure: ReportFigure) -> str:
    """Return a fold with the table of a figure."""
    if not figure.outcomes:
        return ""
    if figure.is_sweep:
        caption, heads, rows = _sweep_table(figure.outcomes)
    else:
        caption, heads, rows = _policy_table(figure.outcomes[0])
    names = [*heads, *_HEADS]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "\n".join(rows)
    return (
        f'<details class="fold"><summary>Table</summary><div class="scroll" tabindex="0" role="group" '
        f'aria-label="{escape(caption)}"><table class="summary"><caption><span>{escape(caption)}</span></caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div></details>"
    )


def _policy_table(outcome: Outcome) -> tuple[str, list[str], list[str]]:
    """Return the caption, the first heads and the rows: one for each policy, those of the paper first."""
    main, rows = main_policies(outcome), _summarize(outcome)
    best, styles = find_best(outcome, main, "median"), policy_styles(outcome.policies)
    order = [*main, *(name for name in outcome.policies if name not in main)]
    shown = {name: display_name(outcome, name) for name in order}
    body = [_render_row([shown[name]], rows[name], name == best, render_swatch(*styles[name])) for name in order]
    of = " of the paper's policies" if len(main) < len(order) else ""
    return f"Regret after {outcome.setting.horizon:,} rounds; bold: the lowest median{of}", ["Policy"], body


def _sweep_table(outcomes: Sequence[Outcome]) -> tuple[str, list[str], list[str]]:
    """Return the caption, the first heads and the rows: the best value for each swept policy in each setting."""
    parameter = typeset(next(iter(outcomes[0].setting.swept.values())).parameter)
    families = dict.fromkeys(swept.family for o in outcomes for swept in o.setting.swept.values())
    _, labels = split_titles([outcome.setting.title for outcome in outcomes])
    body = []
    for outcome, label in zip(outcomes, labels, strict=True):
        rows, swept = _summarize(outcome), outcome.setting.swept
        best = {
            (family, statistic): min(
                (name for name in swept if swept[name].family == family), key=lambda name: _rank(rows[name], statistic)
            )
            for statistic in _STATISTICS
            for family in dict.fromkeys(point.family for point in swept.values())
        }
        lowest = {
            s: min((n for (_, of), n in best.items() if of == s), key=lambda n: _rank(rows[n], s)) for s in _STATISTICS
        }
        for family in families:
            for statistic in _STATISTICS:
                name = best.get((family, statistic))
                if name is not None:
                    words = [display_family(outcome, family), label, statistic, f"{swept[name].value:g}"]
                    body.append(_render_row(words, rows[name], name == lowest[statistic]))
    caption = (
        f"The {parameter} with the smallest mean, and with the smallest median, of regret after "
        f"{outcomes[0].setting.horizon} rounds; bold: the lowest of its setting"
    )
    return caption, ["Policy", "Setting", "By", f"Best {parameter}"], body


def _render_row(names: Sequence[str], row: PolicySummary, best: bool, swatch: str = "") -> str:
    """Return the row of a policy, with a line in the color and the style of its curve."""
    first = f'<th scope="row">{swatch}{escape(typeset(names[0]))}</th>'
    texts = "".join(f"<td>{escape(typeset(text))}</td>" for text in names[1:])
    numbers = (row.mean, row.median, row.lower_quartile, row.upper_quartile)
    cells = "".join(f'<td class="number">{format_number(value)}</td>' for value in numbers)
    marked = ' class="best"' if best else ""
    return f'<tr{marked}>{first}{texts}{cells}<td class="number">{row.diverged} of {row.runs}</td></tr>'


def _summarize(outcome: Outcome) -> Mapping[str, PolicySummary]:
    """Return the summary of an outcome; the mean of diverged runs may overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return outcome.summary()


def _rank(row: PolicySummary, statistic: Statistic) -> float:
    """Return the mean or the median as a sort key, infinite if it is not finite."""
    value = getattr(row, statistic)
    return float(value) if np.isfinite(value) else np.inf


# ---- sources and files ---------------------------------------------------------------------------------------------


def _render_origins(outcomes: Sequence[Outcome]) -> str:
    """Return a fold with the source of each parameter, and with what the paper says otherwise."""
    sources = {name: text for outcome in outcomes for name, text in outcome.setting.sources.items()}
    contradictions = list(dict.fromkeys(text for outcome in outcomes for text in outcome.setting.contradictions))
    if not sources and not contradictions:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(typeset(name))}</th><td>{escape(typeset(text))}</td></tr>'
        for name, text in sources.items()
    )
    table = (
        '<div class="scroll"><table class="axes"><caption>Where each value comes from</caption><thead><tr>'
        f'<th scope="col">Parameter</th><th scope="col">Source</th></tr></thead><tbody>{rows}</tbody></table></div>'
        if rows
        else ""
    )
    items = "".join(f"<li>{escape(typeset(text))}</li>" for text in contradictions)
    told = f"<p>The paper contradicts itself here:</p><ul>{items}</ul>" if items else ""
    count = f", {pluralize(len(contradictions), 'contradiction')}" if contradictions else ""
    return f'<details class="fold"><summary>Settings and their sources{count}</summary>{table}{told}</details>'


def _render_links(figure: ReportFigure) -> str:
    """Return links to the files of a figure and of its settings."""
    name = quote(figure.name)
    links = [f'<a href="figures/{name}.{suffix}">{suffix.upper()}</a>' for suffix in ("png", "svg")]
    for outcome in figure.outcomes:
        setting = outcome.setting.name
        which = "" if len(figure.outcomes) == 1 else f" {escape(setting)}"
        links.append(f'<a href="tables/{quote(setting)}.csv">CSV{which}</a>')
        links.append(f'<a href="data/{quote(setting)}.nc">NetCDF{which}</a>')
    return f'<p class="files">Files: {", ".join(links)}</p>'
