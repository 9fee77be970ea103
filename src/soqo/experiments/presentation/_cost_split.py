"""What each policy of a setting pays for hitting and for switching, as a table with bars."""

from __future__ import annotations

from html import escape

import numpy as np

from soqo.experiments.execution import Outcome
from soqo.experiments.presentation._chart_elements import render_swatch
from soqo.experiments.presentation._charts import Statistic
from soqo.experiments.presentation._numbers import common_unit, format_number
from soqo.experiments.presentation._outcome_charts import display_name, first_statistic, main_policies
from soqo.experiments.presentation._style import POLICY_COLORS, policy_styles, typeset
from soqo.typing import Array

_BENCHMARK = "LAI"


def render_cost_split(outcome: Outcome) -> str:
    """Return a table of the hitting and switching costs of the policies in a setting's main chart, and of LAI.

    Parameters
    ----------
    outcome : Outcome
        The outcome of the setting.
    """
    statistic = first_statistic(outcome)
    result = outcome.results[outcome.setting.horizon]
    costs = {_BENCHMARK: (result.benchmark_hitting, result.benchmark_switching)}
    costs |= {name: (result[name].hitting, result[name].switching) for name in main_policies(outcome)}
    paid = {name: tuple(_reduce(part, statistic) for part in parts) for name, parts in costs.items()}
    largest = max((sum(parts) for parts in paid.values() if np.isfinite(sum(parts))), default=1.0) or 1.0
    unit = common_unit(part for parts in paid.values() for part in parts)
    styles = {_BENCHMARK: (POLICY_COLORS[_BENCHMARK], "-")} | policy_styles(outcome.policies)
    rows = "\n".join(
        f'<tr><th scope="row">{render_swatch(*styles[name])}{escape(_name(outcome, name))}</th>'
        f'<td class="number">{format_number(hitting / 10.0**unit)}</td>'
        f'<td class="number">{format_number(switching / 10.0**unit)}</td>'
        f"<td>{_render_bar(hitting / largest, switching / largest)}</td></tr>"
        for name, (hitting, switching) in paid.items()
    )
    units = f", in units of 10<sup>{unit}</sup>" if unit else ""
    caption = f"What each policy pays in {outcome.setting.horizon:,} rounds, {statistic} of {outcome.runs} runs"
    key = '<i class="hitting"></i> hitting <i class="switching"></i> switching'
    heads = "".join(f'<th scope="col" class="number">{name}</th>' for name in ("Hitting", "Switching"))
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(caption)}"><table class="split"><caption>'
        f'<span>{escape(caption)}{units}; LAI knows A</span></caption><thead><tr><th scope="col">Policy</th>{heads}'
        f'<th scope="col">{key}</th></tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'
    )


def _reduce(costs: Array, statistic: Statistic) -> float:
    with np.errstate(over="ignore", invalid="ignore"):  # the costs of a diverged run may overflow
        totals = costs.sum(axis=1)
        return float(np.mean(totals) if statistic == "mean" else np.median(totals))


def _name(outcome: Outcome, name: str) -> str:
    return typeset(name if name == _BENCHMARK else display_name(outcome, name))


def _render_bar(hitting: float, switching: float) -> str:
    """Return two bars, one after the other; one that is not finite is full."""
    widths = [100.0 * min(part, 1.0) if np.isfinite(part) else 100.0 for part in (hitting, switching)]
    return (
        f'<span class="costs" aria-hidden="true"><i class="hitting" style="width:{widths[0]:.1f}%"></i>'
        f'<i class="switching" style="width:{widths[1]:.1f}%"></i></span>'
    )
