"""The curves of a figure: rounds from 1 on, statistics over the runs, and intervals that hold them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soqo import FTM, POL
from soqo.experiments import Outcome, find, run
from soqo.experiments.execution import make_curves


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
    curves = make_curves(outcome)
    rounds, windows = np.array(curves.rounds), np.array(curves.windows)
    assert (rounds[0], rounds[-1]) == (1, 300)
    assert len(rounds) <= 120
    assert (np.diff(rounds) > 0).all()
    assert windows[0] == 1
    assert (windows <= rounds).all()
    assert windows.max() == 10


def test_statistics_are_those_of_the_runs_and_lie_in_their_intervals(outcome: Outcome) -> None:
    curves = make_curves(outcome)
    rounds, windows = np.array(curves.rounds), np.array(curves.windows)
    regret = outcome.curve("FTM")
    found = curves.policies["FTM"]
    np.testing.assert_allclose(found.mean.value, regret[:, rounds - 1].mean(axis=0))
    np.testing.assert_allclose(found.median.value, np.median(regret[:, rounds - 1], axis=0))
    before = np.where(rounds > windows, regret[:, rounds - windows - 1], 0.0)
    per_round = (regret[:, rounds - 1] - before) / windows
    np.testing.assert_allclose(found.mean_per_round.value, per_round.mean(axis=0), atol=1e-9 * regret.max())
    for band in (found.mean, found.median, found.mean_by_horizon, found.median_by_horizon):
        assert (band.low <= band.value + 1e-9).all()
        assert (band.value <= band.high + 1e-9).all()
    # The end of a curve and the entry of its horizon are one number with one interval.
    own = found.horizons.index(outcome.setting.horizon)
    for over_rounds, by_horizon in ((found.mean, found.mean_by_horizon), (found.median, found.median_by_horizon)):
        for end in ("value", "low", "high"):
            assert getattr(over_rounds, end)[-1] == pytest.approx(getattr(by_horizon, end)[own])
    for band in (found.mean_per_round, make_curves(outcome, intervals=False).policies["FTM"].mean):
        assert np.isnan(band.low).all()


def test_a_policy_of_one_horizon_has_one_point_over_t(outcome: Outcome) -> None:
    curves = make_curves(outcome)
    assert curves.policies["FTM"].horizons == (100, 300)
    assert curves.policies["POL"].horizons == (300,)
    assert curves.policies["POL"].median_by_horizon.value[0] == np.median(outcome.regret("POL"))
