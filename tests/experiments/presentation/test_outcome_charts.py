"""Charts have the statistics of the outcomes that they were made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from soqo import SCaLE, processes
from soqo.errors import ArgumentError
from soqo.experiments.execution import Outcome, make_curves
from soqo.experiments.presentation._charts import Chart, Curve
from soqo.experiments.presentation._outcome_charts import (
    beside_chart,
    display_name,
    find_best,
    first_statistic,
    regret_chart,
    sweep_chart,
)
from soqo.typing import Array

WithRegret = Callable[[Outcome, Callable[[str, Array], Array]], Outcome]


def chart_of(outcome: Outcome) -> Chart:
    return regret_chart(outcome, make_curves(outcome))


def curve_of(chart: Chart, panel: int, label: str) -> Curve:
    (found,) = [curve for curve in chart.panels[panel].curves if curve.label == label]
    return found


def test_curves_are_statistics_of_regret_by_horizon_and_up_to_each_round(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["intro"]
    chart = chart_of(outcome)
    for name in outcome.policies:
        by_horizon, totals = curve_of(chart, 0, name), curve_of(chart, 1, name)
        np.testing.assert_array_equal(by_horizon.x, [20, 40, 60, 80])
        assert (totals.x[0], totals.x[-1]) == (1, 60)
        ends = np.stack([outcome.regret(name, h) for h in (20, 40, 60, 80)], axis=1)
        sums = outcome.curve(name)[:, totals.x.astype(int) - 1]
        for curve, samples in ((by_horizon, ends), (totals, sums)):
            np.testing.assert_allclose(curve.bands["mean"].value, samples.mean(axis=0))
            np.testing.assert_allclose(curve.bands["median"].value, np.median(samples, axis=0))


def test_regret_per_round_starts_at_round_1_and_shows_the_plateau_of_exploration(
    outcomes: dict[str, Outcome], with_regret: WithRegret
) -> None:
    outcome = outcomes["intro"]
    policy = SCaLE(1.0, 2, min_eigenvalue=0.1, c1=5.0)  # explores in 5 * 2 * 2 rounds
    setting = replace(outcome.setting, policies={**outcome.setting.policies, "FTM": policy})
    plateau = with_regret(
        replace(outcome, setting=setting),
        lambda _, shares: np.where(np.arange(shares.shape[1]) < 20, 7.0, 1.0) + 0.0 * shares,
    )
    panel = chart_of(plateau).panels[2]
    assert panel.explored == 20
    curve = next(curve for curve in panel.curves if curve.label == "FTM")
    value = curve.bands["mean"].value
    assert curve.x[0] == 1
    np.testing.assert_allclose(value[curve.x <= 20], 7.0)
    np.testing.assert_allclose(value[curve.x >= 30], 1.0)


def test_the_papers_policies_are_among_themselves_and_the_others_beside_their_best(of_the_paper: Outcome) -> None:
    curves = make_curves(of_the_paper)
    chart, beside = regret_chart(of_the_paper, curves), beside_chart(of_the_paper, curves)
    assert beside is not None
    for panel in chart.panels:
        assert [curve.label for curve in panel.curves] == ["FTM", "POL, xi = 0.0001"]
    best = display_name(of_the_paper, find_best(of_the_paper, ["FTM", "POL, rate 1e-4"], "mean"))
    assert [curve.label for curve in beside.panels[1].curves] == [best, "ROBD (knows A)", "GLIDE"]


def test_a_panel_over_horizons_needs_more_than_one_curve(of_the_paper: Outcome) -> None:
    curves = make_curves(of_the_paper)
    last = {
        name: replace(one, horizons=(80,))
        for name, one in curves.policies.items()
        if name in ("GLIDE", "ROBD (knows A)")
    }
    short = beside_chart(of_the_paper, replace(curves, policies={**curves.policies, **last}))
    assert short is not None
    assert short.panels[0].title == "Regret up to round t"


def test_a_setting_without_roles_has_all_policies_in_one_chart(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["intro"]
    assert [curve.label for curve in chart_of(outcome).panels[0].curves] == list(outcome.policies)
    assert beside_chart(outcome, make_curves(outcome)) is None


def test_one_horizon_has_no_panel_over_horizons(outcomes: dict[str, Outcome]) -> None:
    titles = [panel.title for panel in chart_of(outcomes["second"]).panels]
    assert titles == ["Regret up to round t", "Regret per round, over 10 rounds"]


def test_the_best_policy_does_not_know_the_answer_and_has_not_diverged(
    outcomes: dict[str, Outcome], with_regret: WithRegret
) -> None:
    outcome, knows = outcomes["intro"], "ROBD (knows A)"
    lowest = with_regret(outcome, lambda name, r: np.full_like(r, -1e9) if name == knows else r)
    assert find_best(lowest, lowest.policies, "median") != knows
    alone = with_regret(outcome, lambda name, r: np.full_like(r, 7.0 if name == "FTM" else np.inf))
    assert find_best(alone, alone.policies, "mean") == "FTM"


def test_medians_come_first_where_there_is_no_mean(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["second"]
    assert first_statistic(outcome) == "mean"
    environment = replace(outcome.setting.environment, process=processes.Cauchy(1.0))
    assert first_statistic(replace(outcome, setting=replace(outcome.setting, environment=environment))) == "median"


def test_a_sweep_has_a_panel_for_each_policy_and_a_curve_for_each_setting(outcomes: dict[str, Outcome]) -> None:
    parts = [outcomes["sweep_1"], outcomes["sweep_9"]]
    chart = sweep_chart(parts, {outcome.setting.name: make_curves(outcome) for outcome in parts})
    assert [panel.title for panel in chart.panels] == ["SCaLE", "SCaLE as printed"]
    assert chart.panels[0].ticks == (1.0, 2.0, 8.0)
    assert chart.panels[1].ticks == ()  # from 1 to 4, a linear axis is clear
    for outcome, label in zip(parts, ["eta = 1", "eta = 9"], strict=True):
        curve = curve_of(chart, 0, label)
        np.testing.assert_array_equal(curve.x, [1, 2, 8])
        means = [outcome.regret(f"SCaLE, c1 {value:g}").mean() for value in (1, 2, 8)]
        np.testing.assert_allclose(curve.bands["mean"].value, means)


def test_policies_beside_a_single_sweep_are_levels(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["sweep_1"]
    rest = {name: point for name, point in outcome.setting.swept.items() if point.family == "SCaLE"}
    single = replace(outcome, setting=replace(outcome.setting, swept=rest))
    (panel,) = sweep_chart([single], {"sweep_1": make_curves(single)}).panels
    levels = [curve for curve in panel.curves if curve.label.startswith("SCaLE as printed")]
    assert len(levels) == 2
    for level in levels:
        np.testing.assert_array_equal(level.x, [1, 8])
        np.testing.assert_allclose(level.bands["median"].value, outcome.median(level.label))


def test_a_sweep_needs_settings_that_sweep(outcomes: dict[str, Outcome]) -> None:
    for wrong in ([], [outcomes["second"]]):
        with pytest.raises(ArgumentError, match="each of a setting with a sweep"):
            sweep_chart(wrong, {})
