"""The part of the page about one figure: heading, figure, description, table and links to files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import quote

import numpy as np

from soqo._simulation.summary import PolicySummary, format_short
from soqo.experiments.execution import Outcome
from soqo.experiments.presentation._figures import split_titles
from soqo.experiments.presentation._report_figures import ReportFigure
from soqo.experiments.presentation._style import policy_styles, typeset
from soqo.policies import Policy

_BORDERS = {"-": "solid", "--": "dashed", ":": "dotted", "-.": "dashed"}
"""The CSS border for each line style."""


def render_article(figure: ReportFigure, title: str, svg: str, level: int) -> str:
    """Return the article about a figure, with a heading of the given level."""
    heading = render_title(title)
    alt = escape(typeset(_describe(figure)), quote=True)
    source = f'<p class="source">{escape(figure.source)}</p>\n' if figure.source else ""
    note = f"<figcaption><strong>Note.</strong> {escape(typeset(figure.note))}</figcaption>" if figure.note else ""
    drawn = svg.replace("<svg ", f'<svg style="{_limit_width(svg)}" role="img" aria-label="{alt}" ', 1)
    return (
        f'<article id="{make_anchor("figure", figure.name)}">\n<h{level}>{heading}</h{level}>\n{source}'
        f'<figure>\n<div class="plot" tabindex="0" role="group" aria-label="Figure: {heading}">{drawn}</div>\n'
        f"{note}\n</figure>\n{_render_summary(figure)}\n{_render_links(figure)}\n</article>"
    )


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


def pluralize(count: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> pluralize(1, "setting"), pluralize(5, "setting")
    ('1 setting', '5 settings')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _limit_width(svg: str) -> str:
    """Return CSS limits for the width of a figure that keep its labels legible; a narrow screen scrolls."""
    match = re.search(r'viewBox="\S+ \S+ (\S+) ', svg)
    width = float(match[1]) if match else 800.0
    return f"min-width: {0.95 * width:.0f}px; max-width: {1.5 * width:.0f}px"


def _describe(figure: ReportFigure) -> str:
    """Describe a figure for screen readers."""
    if not figure.outcomes:
        return (
            "Two panels of noisy readings against the distance from the minimizer. Along the eigenvector the cost is "
            "a parabola that rises above the noise; along the null direction it is zero, and every reading is noise."
        )
    first = figure.outcomes[0]
    if figure.is_sweep:
        parameters = {swept.parameter for swept in first.setting.swept.values()}
        families = dict.fromkeys(swept.family for swept in first.setting.swept.values())
        return (
            f"{figure.title}: regret at the end against {' and '.join(sorted(parameters))}, with a panel each for "
            f"{', '.join(families)} and a line for each of {pluralize(len(figure.outcomes), 'setting')}. The table "
            "below lists the smallest medians."
        )
    best = _find_best(first)
    return (
        f"{figure.title}: regret of {len(first.policies)} policies, medians and quartiles of {first.runs} runs. "
        f"After {first.setting.horizon} rounds {best} has the lowest median among the policies that do not know A, "
        f"{format_short(_summarize(first)[best].median)}. The table below lists every policy."
    )


# ---- tables --------------------------------------------------------------------------------------------------------


def _render_summary(figure: ReportFigure) -> str:
    """Return the table below a figure."""
    if not figure.outcomes:
        return ""
    if figure.is_sweep:
        return _render_sweep_table(figure.outcomes)
    (outcome,) = figure.outcomes
    best, rows = _find_best(outcome), _summarize(outcome)
    body = [
        _render_row([name], rows[name], name == best, color, style)
        for name, (color, style) in policy_styles(outcome.policies).items()
    ]
    caption = (
        f"Regret after {outcome.setting.horizon} rounds; bold: the lowest median of the policies that do not know A"
    )
    return _render_table(caption, ["Policy"], body)


def _render_sweep_table(outcomes: Sequence[Outcome]) -> str:
    """Return a table with the best value of the parameter for each swept policy in each setting."""
    parameter = typeset(next(iter(outcomes[0].setting.swept.values())).parameter)
    families = dict.fromkeys(swept.family for o in outcomes for swept in o.setting.swept.values())
    _, labels = split_titles([outcome.setting.title for outcome in outcomes])
    body = []
    for outcome, label in zip(outcomes, labels, strict=True):
        rows, swept = _summarize(outcome), outcome.setting.swept
        best: dict[str, str] = {}
        for family in families:
            names = [name for name in swept if swept[name].family == family]
            if names:
                best[family] = min(names, key=lambda name: _rank(rows[name]))
        lowest = min(best.values(), key=lambda name: _rank(rows[name]))
        for family, name in best.items():
            body.append(_render_row([family, label, f"{swept[name].value:g}"], rows[name], name == lowest))
    caption = (
        f"The {parameter} with the smallest median regret after {outcomes[0].setting.horizon} rounds; "
        "bold: the lowest of its setting"
    )
    return _render_table(caption, ["Policy", "Setting", f"Best {parameter}"], body)


def _render_table(caption: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    names = [*heads, "Median", "Lower quartile", "Upper quartile", "Diverged"]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "\n".join(rows)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(caption)}"><table class="summary">'
        f"<caption><span>{escape(caption)}</span></caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _render_row(names: Sequence[str], row: PolicySummary, best: bool, color: str = "", style: str = "-") -> str:
    """Return the row of a policy, with a line in the color and the style of the figure if a color is given."""
    border = f"border-top: 3px {_BORDERS[style]} var(--c-{color[1:].lower()}, {color})"
    swatch = f'<span class="swatch" style="{border}"></span>' if color else ""
    first = f'<th scope="row">{swatch}{escape(typeset(names[0]))}</th>'
    texts = "".join(f"<td>{escape(typeset(text))}</td>" for text in names[1:])
    numbers = (row.median, row.lower_quartile, row.upper_quartile)
    cells = "".join(f'<td class="number">{_format_number(value)}</td>' for value in numbers)
    marked = ' class="best"' if best else ""
    return f'<tr{marked}>{first}{texts}{cells}<td class="number">{row.diverged} of {row.runs}</td></tr>'


def _summarize(outcome: Outcome) -> Mapping[str, PolicySummary]:
    """Return the summary of an outcome; the mean of diverged runs may overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return outcome.summary()


def _find_best(outcome: Outcome) -> str:
    """Return the policy with the lowest median regret at the end, of those that do not know A if there are any."""
    rows = _summarize(outcome)
    learners = [n for n in outcome.policies if isinstance(outcome.setting.policies[n], Policy)]
    return min(learners or outcome.policies, key=lambda name: _rank(rows[name]))


def _rank(row: PolicySummary) -> float:
    """Return the median as a sort key, infinite if it is not finite."""
    return row.median if np.isfinite(row.median) else np.inf


def _format_number(value: float) -> str:
    """Format a number in the style of the axes.

    Examples
    --------
    >>> [_format_number(value) for value in (0.25, -1.23e6, float("inf"))]
    ['0.25', '−1.23·10<sup>6</sup>', '∞']
    """
    if not np.isfinite(value):
        return "∞"
    digits, _, exponent = format_short(value).replace("-", "\N{MINUS SIGN}").partition("e")
    return f"{digits}·10<sup>{exponent}</sup>" if exponent else digits


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
