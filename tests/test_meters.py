"""Meters change the readings of a simulation as they say, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, OAL, Environment, Policy, Problem, State, meters, simulate
from soqo.errors import ArgumentError
from soqo.meters import BaseLoad, Burst, Dropout, Meter, Quantization, Saturation, Stuck, SwitchingIncluded
from soqo.noise import Uniform
from soqo.processes import Gaussian


class Recorder(Policy[None]):
    """Plays half of the way to v, and records its readings."""

    def __init__(self) -> None:
        self.readings: list[Any] = []

    def decide(self, state: State[None], v: Any) -> Any:
        return 0.5 * (state.x + v), None

    def learn(self, state: State[None], y: Any) -> None:
        self.readings.append(y)


PROBLEM = Problem(np.diag([1.0, 3.0]), switching_weight=[1.0, 2.0])
HORIZON, RUNS = 30, 5
WRONG: Any = FTM()


def readings_of(*chain: Meter) -> tuple[Any, Any]:
    """Return the readings that a policy receives through some meters, shape (HORIZON, RUNS), and the result."""
    recorder = Recorder()
    environment = Environment(PROBLEM, Gaussian(3.0), Uniform(0.5), meters=chain)
    result = simulate(environment, {"recorder": recorder}, horizon=HORIZON, runs=RUNS, seed=1, record=True)
    return np.array(recorder.readings), result


PLAIN, RESULT = readings_of()
ROUND = np.arange(1, HORIZON + 1)[:, None]


@pytest.mark.parametrize(
    ("meter", "expected"),
    [
        (BaseLoad(5.0), PLAIN + 5.0),
        (BaseLoad(5.0, swing=0.4, period=12.0), PLAIN + 5.0 + 2.0 * np.sin(2.0 * np.pi * (ROUND - 1) / 12.0)),
        (Saturation(2.0), np.minimum(PLAIN, 2.0)),
        (Quantization(0.25), np.round(PLAIN * 4.0) / 4.0),
        (Dropout(0.0), PLAIN),
        (Stuck(4, 6, value=0.0), np.where((ROUND >= 4) & (ROUND < 10), 0.0, PLAIN)),
        (Stuck(4, 6), np.where((ROUND >= 4) & (ROUND < 10), PLAIN[2], PLAIN)),
        (Burst(4, 2, factor=100.0), np.where((ROUND == 4) | (ROUND == 5), 100.0 * PLAIN, PLAIN)),
        (SwitchingIncluded(), PLAIN + RESULT["recorder"].switching.T),
    ],
    ids=repr,
)
def test_readings_are_what_the_meter_says(meter: Meter, expected: Any) -> None:
    found, result = readings_of(meter)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(result.regret("recorder"), RESULT.regret("recorder"))


def test_lost_readings_are_missing_at_the_rate() -> None:
    drawn = Dropout(0.3).variates(np.random.default_rng(0), 10_000)
    lost = Dropout(0.3).read(np.ones(10_000), meters.Transmission(1, drawn, drawn, drawn))
    assert abs(np.isnan(lost).mean() - 0.3) < 6.0 * np.sqrt(0.3 * 0.7 / 10_000)


def test_a_base_load_can_walk() -> None:
    paths = np.stack([BaseLoad(2.0, walk=0.5).variates(np.random.default_rng(k), 400) for k in range(400)])
    steps = np.diff(paths, axis=1)
    assert steps.std() == pytest.approx(0.5, rel=6.0 / np.sqrt(2 * steps.size))
    assert paths[:, -1].mean() == pytest.approx(2.0, abs=6.0 * 0.5 * np.sqrt(400) / np.sqrt(400))


def test_meters_are_a_chain_in_the_given_order() -> None:
    first, _ = readings_of(BaseLoad(5.0), Saturation(6.0))
    second, _ = readings_of(Saturation(6.0), BaseLoad(5.0))
    np.testing.assert_allclose(first, np.minimum(PLAIN + 5.0, 6.0))
    np.testing.assert_allclose(second, np.minimum(PLAIN, 6.0) + 5.0)


def test_exact_feedback_and_the_benchmark_do_not_go_through_meters() -> None:
    policies = {"OAL": OAL(1e-3), "LAI": LAI.for_problem}
    plain, metered = (
        simulate(Environment(PROBLEM, Gaussian(3.0), Uniform(0.5), meters=chain), policies, horizon=20, runs=3)
        for chain in ([], [BaseLoad(100.0)])
    )
    for name in policies:
        np.testing.assert_array_equal(plain.regret(name), metered.regret(name))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BaseLoad(swing=-1.0), "swing must be"),
        (lambda: BaseLoad(period=0.0), "period must be"),
        (lambda: Saturation(np.nan), "y_max must be"),
        (lambda: Quantization(0.0), "step must be"),
        (lambda: Dropout(1.5), "rate must be"),
        (lambda: Stuck(0, 3), "start must be a positive integer, got 0"),
        (lambda: Burst(3, 0, factor=2.0), "rounds must be a positive integer, got 0"),
        (lambda: Environment(PROBLEM, Gaussian(3.0), Uniform(0.5), meters=[WRONG]), "meters must be a Meter, got FTM"),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
