"""The first screen of the page: the finding in a sentence, one large picture and one small table."""

from __future__ import annotations

from html import escape

from soqo._simulation.summary import format_short
from soqo.experiments.execution import Band, Outcome
from soqo.experiments.presentation._chart_elements import render_headline_chart, render_swatch
from soqo.experiments.presentation._charts import Chart, Statistic
from soqo.experiments.presentation._numbers import format_interval, format_number
from soqo.experiments.presentation._outcome_charts import display_name, end_regret, find_best, main_policies
from soqo.experiments.presentation._report_data import ReportData
from soqo.experiments.presentation._style import policy_styles, typeset

_STATISTICS: tuple[Statistic, ...] = ("mean", "median")
_HEADLINE = "primary"
"""The setting of the large picture, if it was simulated; otherwise the first that does not sweep a parameter."""


def headline_outcome(data: ReportData) -> Outcome | None:
    """Return the outcome of the large picture, or None if all settings sweep a parameter."""
    plain = [outcome for outcome in data.outcomes if not outcome.setting.swept]
    return next((o for o in plain if o.setting.name == _HEADLINE), plain[0] if plain else None)


def render_first_screen(data: ReportData, charts: dict[str, Chart]) -> str:
    """Return the finding, the large picture and the table.

    Parameters
    ----------
    data : ReportData
        The report.
    charts : dict of str to Chart
        The charts by name.
    """
    outcome = headline_outcome(data)
    finding = f'<p class="finding">{escape(typeset(_find(data, outcome)))}</p>'
    if outcome is None:
        return finding
    title, picture = outcome.setting.title, ""
    chart = charts.get(outcome.setting.name)
    if chart is not None:  # a figure that could not be drawn is not in the report
        index = next(k for k, panel in enumerate(chart.panels) if panel.x_label == "round t")
        picture = render_headline_chart(chart, index, title)
    source = f" <span>{escape(outcome.setting.source)}</span>" if outcome.setting.source else ""
    return (
        f'{finding}\n<section class="card" id="headline">\n<h2>{escape(typeset(title))}{source}</h2>\n'
        f"{picture}\n{_render_table(data, outcome)}\n</section>"
    )


def _find(data: ReportData, outcome: Outcome | None) -> str:
    """Return the finding: that of the judgment, or which policy has the least regret."""
    if data.judgment is not None and data.judgment.tested:
        return data.judgment.finding
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


def _render_table(data: ReportData, outcome: Outcome) -> str:
    """Return the mean and the median of the regret at the end, with 95 % intervals."""
    names = main_policies(outcome)
    styles = policy_styles(outcome.policies)
    curves = data.curves[outcome.setting.name].policies
    best = {s: find_best(outcome, names, s) for s in _STATISTICS}
    body = []
    for name in names:
        cells = "".join(
            f'<td role="cell" data-label="{s.capitalize()}"{_mark(best[s] == name)}>'
            f"{_render_cell(getattr(curves[name], s))}</td>"
            for s in _STATISTICS
        )
        shown = escape(typeset(display_name(outcome, name)))
        head = f'<th role="rowheader" scope="row">{render_swatch(*styles[name])}{shown}</th>'
        body.append(f'<tr role="row">{head}{cells}</tr>')
    heads = "".join(f'<th role="columnheader" scope="col">{text}</th>' for text in ("Policy", "Mean", "Median"))
    caption = (
        f"Regret after {outcome.setting.horizon:,} rounds, {outcome.runs} runs, with 95 % intervals; marked: the least"
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
        '<p class="source">As printed: the paper&rsquo;s text to the letter. Calibrated: soqo&rsquo;s defaults, with a '
        "radius from the residual of the readings and a direct handover. FTM, POL and OAL are the paper&rsquo;s "
        "baselines; policies that it does not have are beside its figures.</p>"
    )


def _mark(best: bool) -> str:
    return ' class="best"' if best else ""


def _render_cell(band: Band) -> str:
    value, low, high = (float(end[-1]) for end in (band.value, band.low, band.high))
    return f"<b>{format_number(value)}</b> <small>{format_interval(low, high)}</small>"
