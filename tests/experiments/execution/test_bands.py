"""Bands of an outcome: rounds from 1 on, statistics over the runs, and intervals that hold them."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from soqo import FTM, POL
from soqo.experiments import Outcome, find, run
from soqo.experiments.execution import interval, resampled_runs


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    (setting,) = find("primary")
    small = replace(
        setting,
        policies={"FTM": FTM(), "POL": POL(1e-8)},
        horizon=300,
        horizons=(100, 300),
        single_horizon=frozenset({"POL"}),
    )
    (found,) = run([small], tmp_path_factory.mktemp("cells"), runs=9, workers=1)
    return found


def test_rounds_go_from_the_first_to_the_last_and_windows_never_reach_before_the_first(outcome: Outcome) -> None:
    rounds, windows = outcome.rounds, outcome.windows
    assert (rounds[0], rounds[-1]) == (1, 300)
    assert len(rounds) <= 120
    assert (np.diff(rounds) > 0).all()
    assert windows[0] == 1
    assert (windows <= rounds).all()
    assert windows.max() == 10


def test_statistics_are_those_of_the_runs_and_lie_in_their_intervals(outcome: Outcome) -> None:
    rounds, windows, regret = outcome.rounds, outcome.windows, outcome.curve("FTM")
    mean, median = outcome.band("FTM", "mean", "rounds"), outcome.band("FTM", "median", "rounds")
    np.testing.assert_allclose(mean.value, regret[:, rounds - 1].mean(axis=0))
    np.testing.assert_allclose(median.value, np.median(regret[:, rounds - 1], axis=0))
    before = np.where(rounds > windows, regret[:, rounds - windows - 1], 0.0)
    per_round = outcome.band("FTM", "mean", "windows")
    expected = ((regret[:, rounds - 1] - before) / windows).mean(axis=0)
    np.testing.assert_allclose(per_round.value, expected, atol=1e-9 * regret.max())
    assert np.isnan(per_round.low).all()
    own = outcome.horizons_of("FTM").index(outcome.setting.horizon)
    for over_rounds, by_horizon in (
        (mean, outcome.band("FTM", "mean", "horizons")),
        (median, outcome.band("FTM", "median", "horizons")),
    ):
        for band in (over_rounds, by_horizon):
            assert (band.low <= band.value + 1e-9).all()
            assert (band.value <= band.high + 1e-9).all()
        # The end of a curve and the entry of its horizon are one number with one interval.
        for end in ("value", "low", "high"):
            assert getattr(over_rounds, end)[-1] == pytest.approx(getattr(by_horizon, end)[own])


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_intervals_are_those_of_the_drawn_runs_and_of_a_summary_of_a_simulation(
    outcome: Outcome, statistic: Literal["mean", "median"]
) -> None:
    drawn = outcome.regret("POL")[resampled_runs(9)]
    values = drawn.mean(axis=1) if statistic == "mean" else np.median(drawn, axis=1)
    band = outcome.band("POL", statistic, "horizons")
    ends = [float(end) for end in interval(values)]
    assert [band.low[0], band.high[0]] == pytest.approx(ends)
    assert ends == pytest.approx(np.quantile(values, [0.025, 0.975]).tolist())


def test_an_interval_may_end_at_infinity() -> None:
    low, high = interval(np.array([1.0] * 90 + [np.inf] * 10))
    assert (float(low), float(high)) == (1.0, np.inf)


def test_a_policy_of_one_horizon_has_one_point_over_t(outcome: Outcome) -> None:
    assert outcome.horizons_of("FTM") == (100, 300)
    assert outcome.horizons_of("POL") == (300,)
    assert outcome.band("POL", "median", "horizons").value.tolist() == [np.median(outcome.regret("POL"))]
