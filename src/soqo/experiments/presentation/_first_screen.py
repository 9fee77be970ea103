"""The first screen of the page: the finding in plain words, one large picture and one small table."""

from __future__ import annotations

from collections.abc import Mapping

from soqo._simulation.summary import format_short
from soqo.experiments.execution import Band, Outcome
from soqo.experiments.judgment import Judgment, Kind
from soqo.experiments.presentation._chart_html import render_chart, render_swatch
from soqo.experiments.presentation._charts import STATISTICS, Chart
from soqo.experiments.presentation._html import (
    common_unit,
    format_interval,
    format_number,
    link_terms,
    plain,
    pluralize,
    render_term,
    render_text,
)
from soqo.experiments.presentation._outcome_charts import (
    display_name,
    end_regret,
    find_best,
    main_policies,
    slower_learners,
)
from soqo.experiments.presentation._report import ReportData
from soqo.experiments.presentation._style import policy_styles, typeset

_KINDS = {Kind.EXPERIMENT: "Experiments", Kind.THEORY: "Theory"}
"""The claims that the paper states; those that it only implies are counted with the matrix."""

_STYLES = {
    **dict.fromkeys(("holds", "hold"), "holds"),
    **dict.fromkeys(("is not contradicted", "are not contradicted"), "unrefuted"),
    **dict.fromkeys(("holds in part", "hold in part"), "partly"),
    **dict.fromkeys(("fails", "fail"), "fails"),
    "cannot be told": "unknown",
}
_LINKED = ("radius", "handover", "reading", "soqo", "spectrum")
"""Words that the paper does not have, which are links to their meaning."""

_HEADLINE = "primary"
"""The setting of the large picture, if it was simulated; otherwise the first that does not sweep a parameter."""


def headline_outcome(data: ReportData) -> Outcome | None:
    """Return the outcome of the large picture, or None if all settings sweep a parameter."""
    found = [outcome for outcome in data.outcomes if not outcome.setting.swept]
    return next((o for o in found if o.setting.name == _HEADLINE), found[0] if found else None)


def render_first_screen(data: ReportData, charts: Mapping[str, Chart]) -> str:
    """Return the finding, the large picture and the table.

    Parameters
    ----------
    data : ReportData
        The report.
    charts : mapping of str to Chart
        The charts by name.
    """
    outcome = headline_outcome(data)
    finding = _render_finding(data, outcome)
    if outcome is None:
        return finding
    title, picture = outcome.setting.title, ""
    chart = charts.get(f"{outcome.setting.name}_headline")
    if chart is not None:  # a figure that could not be drawn is not in the report
        picture = render_chart(chart, title, headline=True)
    source = f" <span>{plain(outcome.setting.source)}</span>" if outcome.setting.source else ""
    return (
        f'{finding}\n<section class="card" id="headline">\n<h2>{plain(title)}{source}</h2>\n'
        f"{picture}\n{_render_table(outcome)}\n</section>"
    )


# ---- the finding ---------------------------------------------------------------------------------------------------


def _render_finding(data: ReportData, outcome: Outcome | None) -> str:
    """Return the finding of the judgment with its counts, or which policy has the least regret."""
    judgment = data.judgment
    if judgment is None or not judgment.tested:
        return f'<p class="finding">{render_text(_compare(outcome))}</p>'
    first, _, more = judgment.headline.partition(". ")
    told = f'<p class="finding">{render_text(first.removesuffix("."))}.</p>\n' if first else ""
    told += f'<p class="more">{link_terms(render_text(more), _LINKED)}</p>\n' if more else ""
    return f"{told}{_render_counts(judgment)}"


def _render_counts(judgment: Judgment) -> str:
    """Return how many claims that the paper states hold to the letter, as a row of figures, and the best reading."""
    items = []
    for kind, name in _KINDS.items():
        counts = judgment.counts(kind)
        if total := sum(counts.values()):
            parts = ", ".join(f'<b class="{_STYLES[word]}">{count} {word}</b>' for word, count in counts.items())
            items.append(f"<li>{name}, {pluralize(total, 'claim')}: {parts}</li>")
    _, _, best = judgment.finding.partition(". ")
    told = f" {link_terms(render_text(best), _LINKED)}" if best else ""
    return (
        f'<div class="counts"><ul>{"".join(items)}<li><a href="#claims">All claims</a></li></ul>\n'
        f"<p>Counted for the paper&rsquo;s text {render_term('to the letter')}, by means over the runs.{told}</p></div>"
    )


def _compare(outcome: Outcome | None) -> str:
    if outcome is None:
        return "The settings of this report sweep a parameter; the figures below show regret against it."
    names = main_policies(outcome)
    by_mean, by_median = find_best(outcome, names, "mean"), find_best(outcome, names, "median")
    mean = format_short(end_regret(outcome, by_mean, "mean"))
    median = format_short(end_regret(outcome, by_median, "median"))
    told = (
        f"{by_mean} has the least regret of {len(names)} policies, with mean {mean} and median {median}"
        if by_mean == by_median
        else f"{by_mean} has the least mean regret, {mean}, and {by_median} the least median, {median}"
    )
    return f"After {outcome.setting.horizon:,} rounds, {told}."


# ---- the table -----------------------------------------------------------------------------------------------------


def _render_table(outcome: Outcome) -> str:
    """Return the mean and the median of the regret at the end, with 95 % intervals."""
    main, extra = main_policies(outcome), slower_learners(outcome)
    names = [*main, *extra]
    styles = policy_styles(outcome.policies)
    bands = {(name, s): outcome.band(name, s, "rounds") for name in names for s in STATISTICS}
    unit, units = common_unit(float(band.value[-1]) for band in bands.values())
    best = {s: find_best(outcome, names, s) for s in STATISTICS}
    body = []
    mark = ' class="best"'
    for name in names:
        cells = "".join(
            f'<td role="cell" data-label="{s.capitalize()}"{mark if best[s] == name else ""}>'
            f"{_render_cell(bands[name, s], unit)}</td>"
            for s in STATISTICS
        )
        policy, comma, rate = display_name(outcome, name).partition(", xi")
        shown = plain(policy) + (f" <small>{plain(f'xi{rate}')}</small>" if comma else "")
        note = " <small>not in the paper</small>" if name in extra else ""
        head = f'<th role="rowheader" scope="row">{render_swatch(*styles[name])}{shown}{note}</th>'
        body.append(f'<tr role="row">{head}{cells}</tr>')
    heads = "".join(f'<th role="columnheader" scope="col">{text}</th>' for text in ("Policy", "Mean", "Median"))
    caption = (
        f"Regret after {outcome.setting.horizon:,} rounds{units}, {outcome.runs} runs, with 95 % intervals; marked: "
        "the least"
    )
    rows = "\n".join(body)
    return (
        f'<table class="ends" role="table" style="--policies: {len(names)}"><caption>{caption}</caption>\n'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n<tbody role="rowgroup">\n{rows}\n</tbody></table>'
        f"\n{_explain(outcome)}"
    )


def _explain(outcome: Outcome) -> str:
    """Return what the names of the paper's policies mean."""
    if "calibrated" not in outcome.setting.roles.values():
        return ""
    return (
        f'<p class="source">Solid lines: {render_term("as printed")}, with a learning rate of {typeset("xi")} = '
        f"{typeset('1e-6')} (the text says about {typeset('1e-6')}). Dashed lines: parameters of ours. "
        f"{render_term('calibrated', 'Calibrated')} policies have the defaults of {render_term('soqo')}, and "
        f"{typeset('xi')} = {typeset('1e-8')}; POL and OAL are there with both rates, so that policies of one rate can "
        "be compared. "
        f"{render_term('GLIDE')} and {render_term('ROBD')}, which the paper does not have, are beside its figures.</p>"
    )


def _render_cell(band: Band, unit: float) -> str:
    value, low, high = (float(end[-1]) / unit for end in (band.value, band.low, band.high))
    return f"<b>{format_number(value)}</b> <small>{format_interval(low, high)}</small>"
