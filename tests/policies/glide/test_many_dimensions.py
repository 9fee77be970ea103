"""GLIDE with many dimensions, where readings contain more than the hitting cost."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from soqo import GLIDE, Controller, Delay, Environment, Offset, RandomProblem, simulate
from soqo.meters import BaseLoad, Burst, Dropout
from soqo.noise import Uniform
from soqo.processes import Gaussian

D, ROUNDS = 14, 240
PLAIN = GLIDE()
QUIET = Environment(RandomProblem(D, D, min_eigenvalue=0.1, max_eigenvalue=1.0), Gaussian(1.0), Uniform(0.3))
B = 0.5 * np.cos(np.arange(D))
WALK, SWING = BaseLoad(level=30.0, walk=0.15), BaseLoad(level=30.0, swing=0.4, period=96.0)


@cache
def regret(environment: Environment, policy: GLIDE = PLAIN) -> Any:
    """Return the mean regret, and the results."""
    result = simulate(environment, {"G": policy}, horizon=ROUNDS, runs=2, seed=3)["G"]
    return result.low_variance_regret.sum(axis=1).mean(), result


@pytest.mark.parametrize(
    "parts",
    [
        {"meters": (WALK,)},
        {"meters": (SWING,)},
        {"meters": (SWING, Burst(150, 2, factor=10.0))},
        {"meters": (WALK, Dropout(0.1)), "delay": Delay(2)},
    ],
    ids=["walk", "daily", "daily and spikes", "walk, missing and late"],
)
def test_a_field_meter_costs_little_more_than_a_quiet_one(parts: dict[str, Any]) -> None:
    quiet, _ = regret(QUIET)
    field, _ = regret(replace(QUIET, **parts))
    assert field < 2.5 * quiet


@pytest.mark.parametrize("meters", [(), (WALK,)], ids=["quiet", "walk"])
def test_a_constant_offset_of_v_is_learned(meters: Any) -> None:
    disturbed = replace(QUIET, meters=meters, offset=Offset(B))
    learned, result = regret(disturbed)
    ignorant, ignored = regret(disturbed, GLIDE(offset=False))
    assert learned < 0.6 * ignorant
    assert (np.linalg.norm(result.diagnostics["offset"] - B, axis=1) < 0.6 * np.linalg.norm(B)).all()
    np.testing.assert_array_equal(ignored.diagnostics["offset"], 0.0)


def test_an_offset_is_not_learned_where_there_is_none() -> None:
    _, result = regret(replace(QUIET, meters=(WALK,)))
    assert np.linalg.norm(result.diagnostics["offset"], axis=1).max() < 0.3


def test_a_base_load_that_follows_covariates_is_not_taken_for_hitting_cost() -> None:
    def cost(told: bool, slope: float) -> float:
        rng = np.random.default_rng(5)
        root = rng.standard_normal((D, D)) / D**0.5
        A, x, v, w, total = root @ root.T, np.zeros(D), np.zeros(D), 0.0, 0.0
        controller = Controller(GLIDE(), x0=x)
        for _ in range(ROUNDS):
            steps = rng.standard_normal(D)
            v, w, last = v + steps, w + steps[0] + 2.0 * rng.standard_normal(), x
            x = controller.act(v)
            hitting = float(0.5 * (x - v) @ A @ (x - v))
            total += hitting + 0.5 * float((x - last) @ (x - last))
            y = hitting + slope * w + rng.uniform(-0.3, 0.3)
            controller.observe(y, covariates=[w] if told else None)
        return total

    told = cost(told=True, slope=5.0)
    assert told < 1.3 * cost(told=False, slope=0.0)
    assert told < cost(told=False, slope=5.0)


def test_covariates_may_begin_after_the_first_reading() -> None:
    policy, rng, v = GLIDE(), np.random.default_rng(0), np.zeros(14)
    state = policy.start(np.zeros(14))
    for t in range(160):
        v = v + rng.standard_normal(14)
        x, state = policy.act(state, v)
        covariates = [rng.standard_normal()] if t >= 120 else None
        state = policy.observe(state, float((x - v) @ (x - v)) + 0.01 * rng.standard_normal(), covariates=covariates)
        if t == 119:
            before = policy.diagnostics(state)["estimate"]
    after = policy.diagnostics(state)["estimate"]
    assert np.abs(before - 2.0 * np.eye(14)).max() < 0.2
    assert np.abs(after - 2.0 * np.eye(14)).max() < 0.2
