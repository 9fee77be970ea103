"""LAI plays the optimal plan, and has the least expected cost if v is a martingale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import LAI, ROBD, Environment, Plan, Policy, Problem, hindsight_optimum, random_curvature, simulate
from soqo.noise import Uniform
from soqo.processes import Gaussian

FULL = random_curvature(3, 3, min_eigenvalue=0.1, max_eigenvalue=4.0, rng=np.random.default_rng(1))


def test_lai_plays_the_plan() -> None:
    rng = np.random.default_rng(2)
    v, x0 = rng.standard_normal((12, 3)), rng.standard_normal(3)
    policy = LAI(FULL)
    state = policy.start(x0, horizon=12)
    path = Plan(FULL, 12).path(x0, v)
    for t in range(12):
        x, state = policy.act(state, v[t])
        np.testing.assert_allclose(x, path[t], atol=1e-13)


def test_lai_has_a_lower_cost_than_every_other_interpolation_on_a_martingale() -> None:
    environment = Environment(Problem(FULL), Gaussian(5.0), Uniform(1.0))
    others: dict[str, Policy[Any]] = {f"{k}": LAI(k * FULL) for k in (0.5, 0.8, 1.25, 2.0)}
    others["ROBD"] = ROBD(FULL)
    result = simulate(environment, others, horizon=100, runs=400, seed=0)
    for name in others:
        regret = result.regret(name)[:, -1]
        assert regret.mean() > 4 * regret.std() / np.sqrt(regret.size), name


def test_lai_with_a_forecast_plays_the_plan_with_it() -> None:
    rng = np.random.default_rng(2)
    A = random_curvature(3, 3, min_eigenvalue=0.2, max_eigenvalue=2.0, rng=rng)
    v = rng.standard_normal((8, 3))
    policy, plan, x = LAI(A), Plan(A, 8), np.zeros(3)
    state = policy.start(x, horizon=8)
    for t in range(8):
        expected = plan.step(t + 1, x, v[t], forecast=v[t + 1 : t + 4])
        x, state = policy.act(state, v[t], forecast=v[t + 1 : t + 4])
        np.testing.assert_allclose(x, expected, atol=1e-13)
        state = policy.observe(state, 0.0)


def test_a_forecast_lowers_the_cost_by_what_it_says() -> None:
    """On a ramp, LAI lags behind; with a forecast of the ramp it does not."""
    problem, T = Problem(np.eye(1)), 60
    v = np.arange(1.0, T + 6.0)[:, None]
    cost = {}
    for ahead in (0, 5):
        state, path = LAI(problem.A).start(np.zeros(1), T), []
        for t in range(T):
            x, state = LAI(problem.A).act(state, v[t], forecast=v[t + 1 : t + 1 + ahead])
            state = LAI(problem.A).observe(state, 0.0)
            path.append(x)
        cost[ahead] = float(problem.total_cost(np.array(path), v[:T], x0=np.zeros(1)))
    best = float(problem.total_cost(hindsight_optimum(problem, v[:T], x0=np.zeros(1)), v[:T], x0=np.zeros(1)))
    assert best < cost[5] < best + 0.05 * (cost[0] - best)


@pytest.mark.parametrize("horizon", [1, 2, 9, None])
@pytest.mark.parametrize("ahead", [0, 3])
def test_with_a_factor_lai_minimizes_the_expected_cost_to_go_with_the_factor_one_in_later_rounds(
    horizon: int | None, ahead: int
) -> None:
    """Against a dense solve for the whole path, with v where the forecast expects it."""
    rng = np.random.default_rng(7)
    x0, v, factor = rng.standard_normal(3), rng.standard_normal(3), 2.5
    forecast = rng.standard_normal((ahead, 3))
    rounds = horizon or 200  # after so many rounds a gain is stationary to round-off
    expected = np.concatenate([v[None], forecast])[:rounds]
    path = np.concatenate([expected, np.repeat(expected[-1:], rounds - len(expected), axis=0)])
    S = np.diag([factor, *[1.0] * (rounds - 1)])
    moves = np.eye(rounds) - np.eye(rounds, k=-1)
    hessian = np.kron(S, FULL) + np.kron(moves.T @ moves, np.eye(3))
    pull = np.kron(S, FULL) @ path.ravel() + np.kron(np.eye(rounds)[0], x0)
    optimum = np.linalg.solve(hessian, pull)[:3]
    policy = LAI(FULL)
    x, _ = policy.act(policy.start(x0, horizon), v, forecast=forecast if ahead else None, factor=factor)
    np.testing.assert_allclose(x, optimum, rtol=1e-9)
