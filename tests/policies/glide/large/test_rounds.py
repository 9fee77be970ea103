"""Actions with many dimensions."""

from __future__ import annotations

import numpy as np
import pytest

import soqo
from soqo.meters import Saturation
from soqo.noise import Uniform
from soqo.processes import Correlated, Gaussian


def test_low_rank_costs_a_small_part_of_what_following_v_costs() -> None:
    problem = soqo.RandomProblem(20, 2, min_eigenvalue=1.0, max_eigenvalue=4.0)
    environment = soqo.Environment(problem, Gaussian(50.0), Uniform(10.0))
    result = soqo.simulate(environment, {"FTM": soqo.FTM(), "GLIDE": soqo.GLIDE()}, horizon=300, runs=2, seed=0)
    assert (result.regret("GLIDE")[:, -1] < 0.08 * result.regret("FTM")[:, -1]).all()
    late = result.regret("GLIDE")[:, -1] - result.regret("GLIDE")[:, 150]
    assert (late < 0.001 * result.regret("GLIDE")[:, -1]).all()


@pytest.mark.parametrize("rank", [2, 13])  # the last rounds know A as a factor, and by sums
def test_drift_is_used(rank: int) -> None:
    problem = soqo.RandomProblem(13, rank, min_eigenvalue=1.0, max_eigenvalue=4.0)
    environment = soqo.Environment(problem, Correlated(alpha=0.7, scale=50.0), Uniform(10.0))
    policies = {"with": soqo.GLIDE(), "without": soqo.GLIDE(drift=False)}
    result = soqo.simulate(environment, policies, horizon=150, runs=1, seed=0)
    assert result["with"].diagnostics["representation"] == ("factored" if rank == 2 else "sums")
    assert result.regret("with")[0, -1] < result.regret("without")[0, -1] - 1e4


def test_a_guard_leaves_it_alone() -> None:
    problem = soqo.RandomProblem(13, 13, min_eigenvalue=1.0, max_eigenvalue=4.0)
    environment = soqo.Environment(problem, Gaussian(50.0), Uniform(10.0))
    policies = {"GLIDE": soqo.GLIDE(), "guarded": soqo.Guarded(soqo.GLIDE())}
    result = soqo.simulate(environment, policies, horizon=100, runs=1, seed=0)
    np.testing.assert_array_equal(result.regret("guarded"), result.regret("GLIDE"))
    assert not result["guarded"].diagnostics["interventions"].any()


def test_a_guard_keeps_it_from_straying_behind_a_saturated_meter() -> None:
    problem = soqo.RandomProblem(13, 2, min_eigenvalue=1.0, max_eigenvalue=4.0)
    environment = soqo.Environment(problem, Gaussian(3.0), Uniform(0.1), meters=Saturation(0.5))
    policies = {"GLIDE": soqo.GLIDE(), "guarded": soqo.Guarded(soqo.GLIDE()), "FTM": soqo.FTM()}
    result = soqo.simulate(environment, policies, horizon=100, runs=1, seed=0)
    cost = {name: float(result.cost(name).sum()) for name in result}
    assert cost["GLIDE"] > 3.0 * cost["FTM"]
    assert cost["guarded"] < 1.2 * cost["FTM"]


def test_factors_late_readings_and_forecasts_are_used() -> None:
    A, rng = soqo.random_curvature(13, 2, min_eigenvalue=1.0, max_eigenvalue=4.0, rng=0), np.random.default_rng(0)
    policy, v = soqo.GLIDE(), np.zeros(13)
    state = policy.start(v, max_delay=2)
    readings: dict[int, float] = {}
    for t in range(1, 121):
        v, factor = v + 50.0 * rng.standard_normal(13), rng.uniform(0.5, 1.5)
        x, state = policy.act(state, v, factor=factor, forecast=v[None])
        readings[t] = float(factor * 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-10.0, 10.0))
        if t > 2:
            state = policy.observe(state, readings[t - 2], round=t - 2)
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], A, atol=1e-2)


def test_an_offset_is_not_learned_and_contexts_are_ignored() -> None:
    policy = soqo.GLIDE()
    state = policy.start(np.zeros(13))
    _, state = policy.act(state, np.ones(13), context=[1.0, 2.0])
    state = policy.observe(state, 1.0)
    _, plain = policy.act(state, np.ones(13))
    with_context, _ = policy.act(state, np.ones(13), context=[3.0])
    np.testing.assert_array_equal(with_context, policy.act(state, np.ones(13))[0])
    assert not policy.diagnostics(plain)["offset"].any()


def test_the_limit_of_a_meter_and_switching_costs_are_taken_out() -> None:
    policy = soqo.GLIDE(y_max=100.0, switching_included=True)
    _, state = policy.act(policy.start(np.zeros(13)), np.ones(13))
    assert policy.observe(state, 100.0).memory.streams[0].zeros[0] == 0.0
    noise = policy.observe(state, 0.5 * 13.0 + 2.0).memory.streams[0].zeros
    np.testing.assert_allclose(noise, [1.0, 2.0, 4.0])
