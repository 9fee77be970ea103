"""The part of the page about one figure: heading, chart, tables, the sources of its setting, and links to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

import numpy as np

from soqo._simulation.summary import PolicySummary
from soqo.experiments.execution import Outcome
from soqo.experiments.presentation._chart_html import render_chart, render_swatch
from soqo.experiments.presentation._charts import STATISTICS
from soqo.experiments.presentation._html import (
    common_unit,
    format_number,
    make_anchor,
    plain,
    pluralize,
    render_fold,
    render_row,
    render_table,
    render_text,
)
from soqo.experiments.presentation._outcome_charts import (
    display_family,
    display_name,
    end_regret,
    find_best,
    first_statistic,
    main_policies,
    split_titles,
)
from soqo.experiments.presentation._report import ReportFigure
from soqo.experiments.presentation._style import POLICY_COLORS, policy_styles, typeset

_HEADS = ("Mean", "Median", "Lower quartile", "Upper quartile", "Diverged")
_BENCHMARK = "LAI"

_ABOUT_MOVEMENT = "intro"
"""The figure that the paper shows for movement costs."""


def render_article(figure: ReportFigure, why: str = "") -> str:
    """Return the article about a figure.

    Parameters
    ----------
    figure : ReportFigure
        The figure.
    why : str
        An explanation of what it shows.
    """
    note = figure.note
    if figure.is_sweep:
        note = f"{note} A ring marks the smallest value of each curve, by the statistic that is shown.".strip()
    beside, told = figure.beside, f"{figure.title}, policies that are not in the paper"
    inner = (
        f'<p class="source">{plain(figure.source)}</p>' if figure.source else "",
        render_chart(figure.chart, figure.title),
        f'<p class="note"><strong>Note.</strong> {render_text(note)}</p>' if note else "",
        f'<p class="note"><strong>Why.</strong> {render_text(why)}</p>' if why else "",
        _render_split(figure),
        render_fold("Beside the paper: policies that it does not have", render_chart(beside, told)) if beside else "",
        _render_tables(figure),
        _render_origins(figure.outcomes),
        _render_links(figure),
    )
    anchor, content = make_anchor("figure", figure.name), "\n".join(filter(None, inner))
    return f'<article id="{anchor}">\n{content}\n</article>'


def render_result(figure: ReportFigure) -> str:
    """Return the result of a figure in a few words: the policy with the least regret, and SCaLE as printed."""
    if figure.is_sweep or not figure.outcomes:
        return ""
    (outcome,) = figure.outcomes
    statistic, names = first_statistic(outcome), main_policies(outcome)
    shown = dict.fromkeys([find_best(outcome, names, statistic), *(n for n in names if n == "SCaLE as printed")])
    told = "; ".join(
        f"{plain(display_name(outcome, name))}: {format_number(end_regret(outcome, name, statistic))}" for name in shown
    )
    return f'<small class="result">{statistic} regret of {told}</small>'


# ---- costs ---------------------------------------------------------------------------------------------------------


def _render_split(figure: ReportFigure) -> str:
    """Return hitting and switching costs apart: in the open where a figure is about them, otherwise in a fold."""
    if figure.is_sweep or not figure.outcomes:
        return ""
    table = _cost_table(figure.outcomes[0])
    return table if figure.name == _ABOUT_MOVEMENT else render_fold("Hitting and switching costs", table)


def _cost_table(outcome: Outcome) -> str:
    """Return a table of the hitting and switching costs of the policies in a setting's main chart, and of LAI."""
    statistic = first_statistic(outcome)
    reduce = np.mean if statistic == "mean" else np.median
    costs = {_BENCHMARK: outcome.costs(None)} | {name: outcome.costs(name) for name in main_policies(outcome)}
    with np.errstate(over="ignore", invalid="ignore"):  # the costs of a diverged run may be infinite
        paid = {name: [float(reduce(part)) for part in parts] for name, parts in costs.items()}
    largest = max((sum(parts) for parts in paid.values() if np.isfinite(sum(parts))), default=1.0) or 1.0
    unit, units = common_unit(part for parts in paid.values() for part in parts)
    styles = {_BENCHMARK: (POLICY_COLORS[_BENCHMARK], "-")} | policy_styles(outcome.policies)
    rows = []
    for name, parts in paid.items():
        shown = name if name == _BENCHMARK else display_name(outcome, name)
        cells = [format_number(part / unit) for part in parts]
        bars = "".join(
            f'<i class="{kind}" style="width:{100.0 * min(part / largest, 1.0) if np.isfinite(part) else 100.0:.1f}%">'
            "</i>"
            for kind, part in zip(("hitting", "switching"), parts, strict=True)
        )
        cells.append(f'<span class="costs" aria-hidden="true">{bars}</span>')
        rows.append(render_row(f"{render_swatch(*styles[name])}{plain(shown)}", cells, numbers=True))
    caption = f"What each policy pays in {outcome.setting.horizon:,} rounds, {statistic} of {outcome.runs} runs"
    key = '<i class="hitting"></i> hitting <i class="switching"></i> switching'
    heads = ("Policy", "Hitting", "Switching", key)
    return render_table("split", f"<span>{caption}{units}; LAI knows A</span>", heads, rows, label=caption)


# ---- tables --------------------------------------------------------------------------------------------------------


def _render_tables(figure: ReportFigure) -> str:
    """Return a fold with the table of a figure."""
    if not figure.outcomes:
        return ""
    if figure.is_sweep:
        caption, heads, rows = _sweep_table(figure.outcomes)
    else:
        caption, heads, rows = _policy_table(figure.outcomes[0])
    table = render_table("summary", f"<span>{plain(caption)}</span>", [*map(plain, heads), *_HEADS], rows)
    return render_fold("Table", table)


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
        for family in families:
            members = [name for name, point in swept.items() if point.family == family]
            for statistic in STATISTICS if members else ():
                name = find_best(outcome, members, statistic)
                words = [display_family(outcome, family), label, statistic, f"{swept[name].value:g}"]
                body.append(_render_row(words, rows[name], name == find_best(outcome, list(swept), statistic)))
    caption = (
        f"The {parameter} with the smallest mean, and with the smallest median, of regret after "
        f"{outcomes[0].setting.horizon} rounds; bold: the lowest of its setting"
    )
    return caption, ["Policy", "Setting", "By", f"Best {parameter}"], body


def _render_row(names: Sequence[str], row: PolicySummary, best: bool, swatch: str = "") -> str:
    """Return the row of a policy, with a line in the color and the style of its curve."""
    numbers = (row.mean, row.median, row.lower_quartile, row.upper_quartile)
    cells = [*map(plain, names[1:]), *map(format_number, numbers), f"{row.diverged} of {row.runs}"]
    return render_row(f"{swatch}{plain(names[0])}", cells, kind="best" if best else "", numbers=True)


def _summarize(outcome: Outcome) -> Mapping[str, PolicySummary]:
    """Return the summary of an outcome; the mean of diverged runs may overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return outcome.summary()


# ---- sources and files ---------------------------------------------------------------------------------------------


def _render_origins(outcomes: Sequence[Outcome]) -> str:
    """Return a fold with the source of each parameter, and with what the paper says otherwise."""
    sources = {name: text for outcome in outcomes for name, text in outcome.setting.sources.items()}
    contradictions = list(dict.fromkeys(text for outcome in outcomes for text in outcome.setting.contradictions))
    if not sources and not contradictions:
        return ""
    rows = [render_row(plain(name), [plain(text)]) for name, text in sources.items()]
    table = render_table("axes", "Where each value comes from", ("Parameter", "Source"), rows) if rows else ""
    items = "".join(f"<li>{plain(text)}</li>" for text in contradictions)
    told = f"<p>The paper contradicts itself here:</p><ul>{items}</ul>" if items else ""
    count = f", {pluralize(len(contradictions), 'contradiction')}" if contradictions else ""
    return render_fold(f"Settings and their sources{count}", f"{table}{told}")


def _render_links(figure: ReportFigure) -> str:
    """Return links to the files of a figure and of its settings."""
    name = quote(figure.name)
    links = [f'<a href="figures/{name}.{suffix}">{suffix.upper()}</a>' for suffix in ("png", "svg")]
    for outcome in figure.outcomes:
        setting = outcome.setting.name
        which = "" if len(figure.outcomes) == 1 else f" {plain(setting)}"
        links.append(f'<a href="tables/{quote(setting)}.csv">CSV{which}</a>')
        links.append(f'<a href="data/{quote(setting)}.nc">NetCDF{which}</a>')
    return f'<p class="files">Files: {", ".join(links)}</p>'
