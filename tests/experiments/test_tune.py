"""The line search: the argmin of the median, its interval, and the rule for a U shape."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soqo import POL, ROBD, Environment, RandomProblem, SCaLE, simulate
from soqo.errors import ArgumentError
from soqo.experiments import Setting, SweepPoint, Tuning, TuningCurve, tune
from soqo.noise import Uniform
from soqo.processes import Gaussian

ENVIRONMENT = Environment(RandomProblem(2, 2, min_eigenvalue=0.5, max_eigenvalue=1.0), Gaussian(20.0), Uniform(5.0))
POLICIES = {"ROBD": ROBD.for_problem, "SCaLE": SCaLE(5.0, 2, min_eigenvalue=0.5), "POL": POL(1e-6)}
SETTING = Setting("mine", "mine", "", "", "", ENVIRONMENT, POLICIES, 60, (), 6, 3)
VALUES = np.array([1.0, 2.0, 3.0, 4.0])


def curve(medians: list[float], spread: float, runs: int = 40) -> TuningCurve:
    """Runs around given medians, the same deviation for every value."""
    common = np.random.default_rng(0).uniform(-spread, spread, runs)
    own = np.random.default_rng(1).uniform(-0.1 * spread, 0.1 * spread, (len(medians), runs))
    return TuningCurve(VALUES[: len(medians)], np.array(medians)[:, None] + common + own)


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    return tune(SETTING, values=[1.0, 2.0, 10.0])


def test_every_value_meets_the_paths_of_the_setting(tuning: Tuning) -> None:
    assert list(tuning.curves) == ["SCaLE"]
    found = tuning.curves["SCaLE"]
    assert found.regret.shape == (3, 6)
    for row, c1 in zip(found.regret, (1.0, 2.0, 10.0), strict=True):
        alone = simulate(ENVIRONMENT, {"x": SCaLE(5.0, 2, min_eigenvalue=0.5, c1=c1)}, horizon=60, runs=6, seed=3)
        np.testing.assert_allclose(row, alone.regret("x")[:, -1], rtol=1e-9)
    assert found.best == found.values[np.median(found.regret, axis=1).argmin()]


def test_horizon_runs_and_parameter_can_be_others() -> None:
    found = tune(SETTING, "learning_rate", values=[1e-8, 1e-7], horizon=20, runs=2)
    assert list(found.curves) == ["POL"]
    assert found.horizon == 20
    assert found.curves["POL"].regret.shape == (2, 2)


def test_a_sweep_counts_as_one_policy() -> None:
    swept = {f"SCaLE, c1 {v}": SCaLE(5.0, 2, min_eigenvalue=0.5, c1=v) for v in (1.0, 2.0)}
    names = {name: SweepPoint("SCaLE", "c1", policy.c1) for name, policy in swept.items()}
    found = tune(replace(SETTING, policies=swept, swept=names), values=[3.0], runs=1, horizon=20)
    assert list(found.curves) == ["SCaLE"]
    assert np.isnan(found.curves["SCaLE"].interval).all()


def test_wrong_values_and_parameters_are_refused() -> None:
    for values in ([], [2.0, 1.0], [1.0, 1.0]):
        with pytest.raises(ArgumentError, match="values must be increasing numbers"):
            tune(SETTING, values=values)
    with pytest.raises(ArgumentError, match=r"values must be valid for SCaLE: c1 must be .*, got -1"):
        tune(SETTING, values=[-1.0, 1.0])
    with pytest.raises(ArgumentError, match="parameter must be an argument of a policy of 'mine'"):
        tune(SETTING, "speed")


def test_the_interval_holds_the_values_that_resampling_prefers() -> None:
    clear = curve([9.0, 5.0, 7.0, 9.0], spread=3.0)
    assert (clear.best, clear.interval) == (2.0, (2.0, 2.0))
    close = curve([9.0, 5.0, 5.0, 9.0], spread=3.0)
    assert close.interval == (2.0, 3.0)
    # An independent count over the same number of resamples.
    rng = np.random.default_rng(7)
    best = []
    for _ in range(500):
        runs = rng.integers(40, size=40)
        best.append(close.values[np.median(close.regret[:, runs], axis=1).argmin()])
    assert 0.025 < np.mean(np.array(best) == 2.0) < 0.975


@pytest.mark.parametrize(
    ("medians", "spread", "expected"),
    [
        ([9.0, 5.0, 7.0, 9.0], 3.0, True),
        ([5.0, 7.0, 8.0, 9.0], 3.0, False),  # rises all the way
        ([9.0, 8.0, 7.0, 5.0], 3.0, False),  # falls all the way
        ([9.0, 5.0, 7.0, 5.2], 3.0, False),  # the last is worse in 60 % of resamples only
    ],
)
def test_a_curve_is_u_shaped_only_if_both_ends_are_larger(medians: list[float], spread: float, expected: bool) -> None:
    assert curve(medians, spread).u_shaped is expected
    assert not curve(medians, spread, runs=1).u_shaped


def test_diverged_runs_count_as_the_worst() -> None:
    regret = np.array([[np.inf, np.inf, np.inf], [1.0, 2.0, np.inf], [4.0, 5.0, 6.0]])
    found = TuningCurve(VALUES[:3], regret)
    assert found.best == 2.0
    assert [len(bar) for bar in found.bars()] == [30, 1, 30]
    table = str(Tuning("mine", "c1", 9, {"SCaLE": found}))
    assert "best c1 = 2" in table


def test_the_table_shows_each_value_with_a_bar() -> None:
    lines = str(Tuning("mine", "c1", 9, {"SCaLE": curve([90.0, 10.0, 20.0], 0.1)})).split("\n")
    assert lines[0] == "SCaLE: regret after 9 rounds, 40 runs"
    assert lines[1].split() == ["c1", "median", "quartiles"]
    assert [line.split()[0] for line in lines[2:5]] == ["1", "2", "3"]
    assert [line.count("#") for line in lines[2:5]] == [30, 1, 10]  # on a log scale
    assert lines[5] == "best c1 = 2, 95% interval 2 .. 2, U-shaped"


def test_files_hold_the_numbers_and_a_picture(tuning: Tuning, tmp_path: Path) -> None:
    table, png, svg = tuning.save(tmp_path / "new")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 18
    regret = tuning.curves["SCaLE"].regret
    got = [float(row["regret"]) for row in rows if row["c1"] == "2.0"]
    np.testing.assert_array_equal(got, regret[1])
    assert png.read_bytes().startswith(b"\x89PNG")
    first = svg.read_bytes()
    tuning.save(tmp_path / "new")
    assert svg.read_bytes() == first
