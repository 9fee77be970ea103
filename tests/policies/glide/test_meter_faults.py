"""Faults of meters: stuck and saturated ones, and readings that are late, incomplete or contain more than the cost."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from soqo import GLIDE, Controller, Delay, Environment, Factor, RandomProblem, Result, simulate
from soqo.meters import Dropout, Quantization, Saturation, Stuck, SwitchingIncluded
from soqo.noise import Uniform
from soqo.policies.glide._meter_faults import MeterFaults
from soqo.processes import Gaussian
from soqo.typing import Array

PLAIN = GLIDE()
PLANT = Environment(RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0), Gaussian(1.0), Uniform(0.1))


# ---- repetitions ---------------------------------------------------------------------------------------------------


def withheld(readings: Any, u: Any = None) -> tuple[list[bool], MeterFaults]:
    """Return which of the readings of one run are withheld, and the state after them."""
    rng, faults, found = np.random.default_rng(0), MeterFaults.start(1, 2), []
    for k, y in enumerate(readings):
        place = rng.standard_normal(2) if u is None else u[k]
        repeated, faults = faults.update(place[None], np.array([y]))
        found.append(bool(repeated[0]))
    return found, faults


def test_a_reading_that_repeats_the_one_before_is_withheld() -> None:
    found, faults = withheld([1.0, 2.0, 2.0, 2.0, 3.0])
    assert found == [False, False, True, True, False]
    assert not faults.is_stuck()[0]


def test_a_meter_is_stuck_after_two_repetitions() -> None:
    assert not withheld([1.0, 1.0])[1].is_stuck()[0]
    assert withheld([1.0, 1.0, 1.0])[1].is_stuck()[0]


def test_the_same_reading_at_the_same_place_is_no_repetition() -> None:
    assert not any(withheld([1.0, 1.0, 1.0], u=np.ones((3, 2)))[0])


def test_a_meter_with_coarse_steps_is_believed_after_a_few_repetitions() -> None:
    readings = np.round(np.random.default_rng(1).exponential(2.0, 300))
    repeats = np.concatenate([[False], readings[1:] == readings[:-1]])
    found = np.array(withheld(readings)[0])
    assert repeats.mean() > 0.1
    assert 1 <= found.sum() <= 5
    assert not found[50:].any()


def test_a_meter_that_is_stuck_once_is_not_taken_for_a_coarse_one() -> None:
    readings = np.random.default_rng(1).exponential(2.0, 300)
    readings[100:200] = readings[99]
    np.testing.assert_array_equal(np.flatnonzero(withheld(readings)[0]), np.arange(100, 200))


def test_a_largest_reading_that_returns_is_the_limit_of_the_meter() -> None:
    readings = np.random.default_rng(1).exponential(2.0, 100)
    assert not withheld(readings)[1].is_saturated()[0]
    _, faults = withheld(np.minimum(readings, 4.0))
    assert faults.is_saturated()[0]
    np.testing.assert_array_equal(faults.max_reading, [4.0])
    np.testing.assert_array_equal(faults.max_count, [(readings >= 4.0).sum()])


def test_a_constant_low_reading_is_not_saturation() -> None:
    assert not withheld([5.0, *[1.0] * 10])[1].is_saturated()[0]


# ---- the cost of faults --------------------------------------------------------------------------------------------


@cache
def play(policy: GLIDE = PLAIN, **parts: Any) -> Result:
    """Return 600 rounds of ten runs of the plant with some other parts."""
    return simulate(replace(PLANT, **parts), {"G": policy}, horizon=600, runs=10, seed=0)


def cost(result: Result) -> Array:
    return np.asarray(result.cost("G").sum(axis=1))


def cost_of_lai(result: Result) -> Array:
    return np.asarray((result.benchmark_hitting + result.benchmark_switching).sum(axis=1))


@pytest.mark.parametrize("value", [0.0, None, 50.0], ids=["zero", "last", "high"])
def test_a_stuck_meter_costs_almost_nothing(value: float | None) -> None:
    stuck = play(meters=(Stuck(300, 30, value=value),))
    assert (cost(stuck) < 1.01 * cost(play())).all()
    assert not stuck["G"].diagnostics["alarms"].any()


def test_a_known_limit_of_the_meter_costs_little() -> None:
    limited = play(GLIDE(y_max=0.4), meters=(Saturation(0.4),))
    assert np.median(cost(limited) / cost_of_lai(limited)) < 1.02
    assert (cost(limited) < 1.25 * cost_of_lai(limited)).all()
    assert not limited["G"].diagnostics["saturated"].any()  # it is known


def test_an_unknown_limit_of_the_meter_is_reported() -> None:
    limited = play(meters=(Saturation(0.4),))
    assert limited["G"].diagnostics["saturated"].all()
    assert not play()["G"].diagnostics["saturated"].any()


def test_a_known_limit_does_not_make_the_meter_stuck() -> None:
    controller = steer(30, GLIDE(y_max=0.4), limit=0.4)
    for _ in range(5):
        controller.act(controller.state.v + 10.0)
        controller.observe(0.4)
    assert not controller.diagnostics()["stuck"]
    assert "ignores the meter" not in controller.explain()


def test_the_switching_cost_in_a_reading_is_subtracted() -> None:
    included = play(GLIDE(switching_included=True), meters=(SwitchingIncluded(),))
    np.testing.assert_allclose(cost(included), cost(play()), rtol=0.001)
    assert (cost(play(meters=(SwitchingIncluded(),))) > 1.1 * cost(play())).all()


@pytest.mark.parametrize("delay", [Delay(rounds=3), Delay(rounds=0, jitter=3)], ids=["fixed", "random"])
def test_late_readings_cost_little(delay: Delay) -> None:
    assert (cost(play(delay=delay)) < 1.02 * cost(play())).all()


def test_missing_readings_cost_little() -> None:
    assert (cost(play(meters=(Dropout(0.3),))) < 1.02 * cost(play())).all()


def test_a_coarse_meter_costs_little() -> None:
    coarse = play(meters=(Quantization(0.25),))
    assert (cost(coarse) < 1.02 * cost(play())).all()
    assert not coarse["G"].diagnostics["saturated"].any()


def test_a_known_factor_of_the_cost_is_used() -> None:
    priced = play(factor=Factor(0.8, deviation=0.3))
    # LAI, the benchmark, knows all factors in advance.
    assert (cost(priced) < 1.02 * cost_of_lai(priced)).all()
    A = replace(PLANT, factor=Factor(0.8, deviation=0.3)).draw(1, 10, seed=0).problem.A
    np.testing.assert_allclose(priced["G"].diagnostics["estimate"], A, atol=0.1)
    assert not priced["G"].diagnostics["alarms"].any()


# ---- explanations --------------------------------------------------------------------------------------------------


def steer(rounds: int, policy: GLIDE, *, limit: float = np.inf, stuck: int = 0) -> Controller:
    """Return the controller of a plant after some rounds, the last of them with a stuck meter."""
    rng = np.random.default_rng(0)
    A, v, y = np.diag([2.0, 0.5]), np.zeros(2), 0.0
    controller = Controller(policy, x0=v)
    for t in range(rounds):
        v = v + rng.standard_normal(2)
        u = controller.act(v) - v
        if t < rounds - stuck:
            y = min(float(0.5 * u @ A @ u + rng.uniform(-0.1, 0.1)), limit)
        controller.observe(y)
    return controller


def test_explain_describes_a_stuck_meter() -> None:
    assert "has repeated its last reading 3 times" in steer(40, GLIDE(), stuck=3).explain()
    assert steer(40, GLIDE(), stuck=3).diagnostics()["stuck"]
    assert "meter" not in steer(40, GLIDE()).explain()


def test_explain_asks_for_the_limit_of_the_meter() -> None:
    text = steer(40, GLIDE(), limit=0.4).explain()
    assert "the largest reading, 0.4, came" in text
    assert "give it as y_max" in text
    assert "y_max" not in steer(40, GLIDE(y_max=0.4), limit=0.4).explain()
