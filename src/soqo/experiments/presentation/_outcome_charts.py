"""The charts of outcomes: regret by horizon, over rounds and per round, and regret over a swept parameter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from soqo._simulation.summary import format_short
from soqo.errors import ArgumentError
from soqo.experiments.execution import Band, Outcome
from soqo.experiments.presentation._charts import STATISTICS, Chart, Curve, Panel, Statistic, drawable
from soqo.experiments.presentation._style import policy_styles, sequential_colors
from soqo.policies import OAL, POL, Policy, SCaLE

UP_TO_ROUND = "Regret up to round t"
_MAX_SHOWN = 9
"""Curves that are drawn before the reader chooses; more are a tangle."""


def regret_chart(outcome: Outcome) -> Chart:
    """Return the chart of a setting: regret at the end by horizon, up to each round, and per round.

    Policies that are not in the paper are in :func:`beside_chart`, if the setting has policies of the paper.
    """
    return _chart_policies(outcome, outcome.setting.name, main_policies(outcome))


def headline_chart(outcome: Outcome) -> Chart:
    """Return the chart of the page's first picture: regret up to each round, with the paper's learners at our rate too.

    A calibrated HySCaLE has another learning rate than the paper's POL and OAL, so that both of these are there twice.
    """
    policies = [*main_policies(outcome), *slower_learners(outcome)]
    chart = _chart_policies(outcome, f"{outcome.setting.name}_headline", policies)
    return replace(chart, panels=tuple(panel for panel in chart.panels if panel.title == UP_TO_ROUND))


def slower_learners(outcome: Outcome) -> list[str]:
    """Return the learners that are not in the paper, and differ from its own in their learning rate."""
    main = main_policies(outcome)
    kinds = {type(outcome.setting.policies[name]) for name in main if outcome.setting.roles.get(name) == "paper"}
    return [n for n in outcome.policies if n not in main and type(outcome.setting.policies[n]) in kinds & {POL, OAL}]


def beside_chart(outcome: Outcome) -> Chart | None:
    """Return the chart of the policies that are not in the paper, with the paper's best for comparison, or None."""
    main = main_policies(outcome)
    others = [name for name in outcome.policies if name not in main]
    if not others:
        return None
    best = find_best(outcome, main, first_statistic(outcome))
    return _chart_policies(outcome, f"{outcome.setting.name}_beside", [best, *others])


def sweep_chart(outcomes: Sequence[Outcome]) -> Chart:
    """Return the chart of settings that sweep a parameter: a panel for each policy, a curve for each setting."""
    if not outcomes or not all(outcome.setting.swept for outcome in outcomes):
        got = [outcome.setting.name for outcome in outcomes]
        raise ArgumentError(f"outcomes must be at least one, each of a setting with a sweep, got {got}")
    families = dict.fromkeys(point.family for outcome in outcomes for point in outcome.setting.swept.values())
    title, labels = split_titles([outcome.setting.title for outcome in outcomes])
    colors = sequential_colors(len(outcomes))
    panels = []
    for family in families:
        drawn = [
            _sweep_curve(outcome, family, color, label)
            for outcome, color, label in zip(outcomes, colors, labels, strict=True)
        ]
        drawn += _levels(outcomes[0]) if len(outcomes) == 1 else []
        panels.append(_sweep_panel(family, outcomes, [curve for curve in drawn if curve.x.size]))
    runs = min(outcome.runs for outcome in outcomes)
    return Chart(outcomes[0].setting.figure, title, tuple(panels), first_statistic(outcomes[0]), runs)


def main_policies(outcome: Outcome) -> list[str]:
    """Return the policies of the main chart: those of the paper, or all if there are none."""
    roles = outcome.setting.roles
    return [n for n in outcome.policies if roles.get(n) in ("paper", "calibrated")] or list(outcome.policies)


def display_name(outcome: Outcome, name: str) -> str:
    """Return the name of a policy for readers, who should see which are not as printed, and each learning rate."""
    if not outcome.setting.roles:
        return name
    rate = getattr(outcome.setting.policies[name], "learning_rate", None)
    shown = f"{name}, calibrated" if outcome.setting.roles.get(name) == "calibrated" else name
    return shown if rate is None else f"{shown.partition(', rate')[0]}, xi = {format_short(rate)}"


def first_statistic(outcome: Outcome) -> Statistic:
    """Return the mean, as the paper defines regret, unless the steps of v have no variance: then the median."""
    environment = outcome.setting.environment
    with np.errstate(over="ignore", invalid="ignore"):  # a process may move too far for its squares to be numbers
        covariance = environment.process.covariance(environment.problem.dim)
    return "median" if covariance is None else "mean"


def find_best(outcome: Outcome, names: Sequence[str], statistic: Statistic) -> str:
    """Return the policy with the smallest regret at the end, of those that do not know A if there are any."""
    learners = [name for name in names if isinstance(outcome.setting.policies[name], Policy)]
    return min(learners or list(names), key=lambda name: end_regret(outcome, name, statistic))


def end_regret(outcome: Outcome, name: str, statistic: Statistic) -> float:
    """Return the mean or the median of a policy's regret after the last round; infinite if it is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        regret = outcome.regret(name)
        value = float(np.mean(regret) if statistic == "mean" else np.median(regret))
    return value if np.isfinite(value) else np.inf


# ---- one setting ---------------------------------------------------------------------------------------------------

_Over = Literal["rounds", "windows", "horizons"]


def _chart_policies(outcome: Outcome, name: str, policies: Sequence[str]) -> Chart:
    """Return a chart of some policies of an outcome."""
    explored = _exploration_rounds(outcome, policies)
    panels = []
    by_horizon = [policy for policy in policies if len(outcome.horizons_of(policy)) > 1]
    if by_horizon and (len(by_horizon) > 1 or len(policies) == 1):  # one curve of many compares nothing
        lines = _curves(outcome, by_horizon, "horizons")
        panels.append(Panel("Regret at the end, by horizon T", "horizon T", "regret", lines))
    panels.append(Panel(UP_TO_ROUND, "round t", "regret", _curves(outcome, policies, "rounds"), explored=explored))
    width = int(outcome.windows.max())
    title = f"Regret per round{f', over {width} rounds' if width > 1 else ''}"
    panels.append(Panel(title, "round t", "regret per round", _curves(outcome, policies, "windows"), explored=explored))
    return Chart(name, outcome.setting.title, tuple(panels), first_statistic(outcome), outcome.runs)


def _curves(outcome: Outcome, policies: Sequence[str], over: _Over) -> tuple[Curve, ...]:
    """Return a curve for each policy, in its color."""
    styles = policy_styles(outcome.policies)
    found = []
    for index, name in enumerate(policies):
        x = np.array(outcome.horizons_of(name) if over == "horizons" else outcome.rounds, float)
        bands = {statistic: drawable(outcome.band(name, statistic, over)) for statistic in STATISTICS}
        found.append(Curve(display_name(outcome, name), *styles[name], x, bands, shown=index < _MAX_SHOWN))
    return tuple(found)


def _exploration_rounds(outcome: Outcome, names: Sequence[str]) -> int:
    """Return the largest number of rounds in which one of some policies explores; 0 if none does."""
    policies = [outcome.setting.policies[name] for name in names]
    dim = outcome.setting.environment.problem.dim
    every = [policy.exploration_rounds(dim) for policy in policies if isinstance(policy, SCaLE)]
    return min(max(every, default=0), outcome.setting.horizon)


# ---- a sweep -------------------------------------------------------------------------------------------------------


def _sweep_panel(family: str, outcomes: Sequence[Outcome], drawn: Sequence[Curve]) -> Panel:
    points = [point for outcome in outcomes for point in outcome.setting.swept.values() if point.family == family]
    values = sorted({point.value for point in points})
    wide = values[0] > 0.0 and values[-1] >= 5.0 * values[0]
    ticks = tuple(values) if wide else ()
    label = f"regret after {outcomes[0].setting.horizon} rounds"
    shown = display_family(outcomes[0], family)
    # Settings of a sweep may differ by orders of magnitude, and so do the ends of one curve.
    positive = all((curve.bands[s].value > 0.0).all() for curve in drawn for s in STATISTICS)
    return Panel(shown, points[0].parameter, label, tuple(drawn), ticks=ticks, marks=True, log=positive)


def display_family(outcome: Outcome, family: str) -> str:
    """Return the name of a swept policy for readers, as :func:`display_name` does."""
    member = next((name for name, point in outcome.setting.swept.items() if point.family == family), None)
    if member is None:
        return family
    return display_name(outcome, member).replace(member, family)


def _sweep_curve(outcome: Outcome, family: str, color: str, label: str) -> Curve:
    """Return the regret at the end of a swept policy against its parameter."""
    members = sorted((p.value, name) for name, p in outcome.setting.swept.items() if p.family == family)
    bands = _end_bands(outcome, [name for _, name in members])
    return Curve(label or family, color, "-", np.array([value for value, _ in members]), bands)


def _levels(outcome: Outcome) -> list[Curve]:
    """Return the policies that are not swept as horizontal lines."""
    swept = outcome.setting.swept
    ends = np.array([f(point.value for point in swept.values()) for f in (min, max)])
    styles = policy_styles(name for name in outcome.policies if name not in swept)
    return [Curve(name, *style, ends, _end_bands(outcome, [name] * 2)) for name, style in styles.items()]


def _end_bands(outcome: Outcome, names: Sequence[str]) -> dict[Statistic, Band]:
    """Return the statistics of the regret of policies at the end of the setting's own horizon."""
    found: dict[Statistic, Band] = {}
    for statistic in STATISTICS if names else ():
        bands = [drawable(outcome.band(name, statistic, "horizons")) for name in names]
        places = [outcome.horizons_of(name).index(outcome.setting.horizon) for name in names]
        ends = [[getattr(b, end)[k] for b, k in zip(bands, places, strict=True)] for end in ("value", "low", "high")]
        found[statistic] = Band(*map(np.array, ends))
    return found


def split_titles(titles: Sequence[str]) -> tuple[str, list[str]]:
    """Return the common beginning of several titles, up to a comma or colon, and the remainder of each.

    Examples
    --------
    >>> split_titles(["Sweep: r = 1, eta = 1", "Sweep: r = 1, eta = 10"])
    ('Sweep: r = 1', ['eta = 1', 'eta = 10'])
    >>> split_titles(["A single title, which is not split"])
    ('A single title, which is not split', [''])
    >>> split_titles(["One", "Two"])
    ('One / Two', ['One', 'Two'])
    """
    if len(titles) == 1:
        return titles[0], [""]
    same = [len(set(letters)) == 1 for letters in zip(*titles, strict=False)]
    common = titles[0][: [*same, False].index(False)]
    ends = [match.end() for match in re.finditer(r"[,:] ", common)]
    if not ends:
        return " / ".join(titles), list(titles)
    return titles[0][: ends[-1] - 2], [title[ends[-1] :] for title in titles]
