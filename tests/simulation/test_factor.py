"""A factor of the hitting cost: what is paid and read, and the benchmark against a dense solve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, POL, RLS, Change, Environment, Factor, Offset, Problem, play, simulate
from soqo.noise import Uniform
from soqo.processes import Gaussian, Recorded

A = np.array([[2.0, 0.5], [0.5, 1.0]])
W = np.array([[2.0, 0.3], [0.3, 0.5]])
FACTOR = Factor(0.6, period=7.0, deviation=0.5, correlation=0.5)


def test_costs_and_readings_are_multiplied_by_the_factor_and_noise_is_not() -> None:
    b = np.array([1.0, -2.0])
    environment = Environment(Problem(A), Gaussian(3.0), Uniform(0.5), offset=Offset(b), factor=FACTOR)
    paths = environment.draw(20, 3, seed=2)
    assert paths.factor is not None
    x = play(FTM(), paths).x
    np.testing.assert_allclose(paths.costs(x)[0], paths.factor * (0.5 * b @ A @ b))
    seen: list[Any] = []

    class Watch(FTM):
        def learn(self, state: Any, y: Any) -> None:
            seen.append((y, state.factor))

    play(Watch(), paths)
    readings, factors = (np.stack(column, axis=1) for column in zip(*seen, strict=True))
    np.testing.assert_array_equal(factors, paths.factor)
    assert np.abs(readings - paths.factor * (0.5 * b @ A @ b)).max() <= 0.5


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("changes", [(), (Change(4, Problem(3.0 * A @ A)),)], ids=["constant", "changing"])
def test_the_benchmark_is_the_optimum_for_known_factors_if_v_stays(weight: Any, changes: Any) -> None:
    """A v that stays is a martingale without noise: the optimum is that of one linear system."""
    T, target = 9, np.array([3.0, -2.0])
    problem = Problem(A, weight)
    changes = [Change(one.round, Problem(one.problem.A, weight)) for one in changes]
    environment = Environment(problem, Recorded(np.tile(target, (T, 1))), Uniform(0.0), factor=FACTOR, changes=changes)
    policies: dict[str, Any] = {"LAI": LAI.for_problem, "FTM": FTM(), "POL": POL(0.01)}
    result = simulate(environment, policies, horizon=T, runs=3, seed=5, record=True)
    factor = environment.draw(T, 3, seed=5).factor
    assert factor is not None
    assert result.actions is not None
    full = np.eye(2) if weight is None else W
    moves = np.eye(T) - np.eye(T, k=-1)
    for run in range(3):
        curvatures = [s * (A if t < 3 or not changes else 3.0 * A @ A) for t, s in enumerate(factor[run])]
        blocks = np.zeros((2 * T, 2 * T))
        for t, curvature in enumerate(curvatures):
            blocks[2 * t : 2 * t + 2, 2 * t : 2 * t + 2] = curvature
        hessian = blocks + np.kron(moves.T @ moves, full)
        optimum = np.linalg.solve(hessian, blocks @ np.tile(target, T)).reshape(T, 2)
        np.testing.assert_allclose(result.actions[result.BENCHMARK][run], optimum, rtol=1e-9)
    for name in policies:
        exact = result.regret(name, form="difference")[:, -1]
        assert (exact > 0.0).all()
        np.testing.assert_allclose(result.regret(name, form="low_variance")[:, -1], exact, rtol=1e-9)


def test_a_player_who_knows_the_factor_of_the_round_does_better_than_one_who_does_not() -> None:
    class Blind(LAI):
        def act_unchecked(self, state: Any, v: Any, forecast: Any = None, **known: Any) -> Any:
            return super().act_unchecked(state, v, forecast)

    environment = Environment(Problem(A), Gaussian(1.0), Uniform(0.1), factor=Factor(0.9, period=9.0))
    result = simulate(environment, {"LAI": LAI(A), "blind": Blind(A)}, horizon=100, runs=200)
    difference = (result.cost("blind") - result.cost("LAI")).sum(axis=1)
    assert difference.mean() > 5.0 * difference.std() / np.sqrt(200)


def test_a_learner_of_the_curvature_is_not_misled() -> None:
    environment = Environment(Problem(A), Gaussian(3.0), Uniform(0.5), factor=FACTOR)
    result = simulate(environment, {"RLS": RLS(0.3)}, horizon=200, runs=4)
    np.testing.assert_allclose(result["RLS"].diagnostics["estimate"], np.broadcast_to(A, (4, 2, 2)), atol=0.15)


def test_the_mean_of_the_factors_is_one_and_they_are_positive() -> None:
    rngs = [np.random.default_rng(k) for k in range(3000)]
    found = Factor(0.8, period=8.0, deviation=0.5).draw(rngs, 16)
    assert (found > 0.0).all()
    means = found.mean(axis=1)
    assert means.mean() == pytest.approx(1.0, abs=6.0 * means.std() / np.sqrt(3000))
    spread = np.log(found).std(axis=0)
    np.testing.assert_allclose(spread, 0.5, rtol=6.0 / np.sqrt(6000))
