"""LAI, FTM and ROBD against what they are defined to minimize."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

from soqo import (
    FTM,
    LAI,
    ROBD,
    Environment,
    Plan,
    Policy,
    Problem,
    hindsight_optimum,
    random_curvature,
    simulate,
)
from soqo.checks import POLICY_CHECKS, Scenario
from soqo.errors import ArgumentError
from soqo.noise import Uniform
from soqo.processes import Gaussian

A = random_curvature(3, 2, 0.1, 4.0, rng=np.random.default_rng(0))
FULL = random_curvature(3, 3, 0.1, 4.0, rng=np.random.default_rng(1))


@pytest.mark.parametrize("policy", [FTM(), LAI(A), LAI(FULL), ROBD(A), ROBD(FULL), ROBD(A, 2.0, 0.3)], ids=repr)
@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_policy_keeps_the_contract(check: Any, policy: Policy[Any]) -> None:
    check(policy, Scenario())


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_one_A_per_run_keeps_the_contract(check: Any) -> None:
    check(LAI(np.stack([A, FULL])), Scenario(only_batch=(2,)))


def test_lai_plays_the_plan() -> None:
    rng = np.random.default_rng(2)
    v, x0 = rng.standard_normal((12, 3)), rng.standard_normal(3)
    policy = LAI(FULL)
    state = policy.start(x0, horizon=12)
    path = Plan(FULL, 12).path(x0, v)
    for t in range(12):
        x, state = policy.act(state, v[t])
        np.testing.assert_allclose(x, path[t], atol=1e-13)


def test_lai_beats_every_other_interpolation_on_a_martingale() -> None:
    environment = Environment(Problem(FULL), Gaussian(5.0), Uniform(1.0))
    others: dict[str, Policy[Any]] = {f"{k}": LAI(k * FULL) for k in (0.5, 0.8, 1.25, 2.0)}
    others["ROBD"] = ROBD(FULL)
    result = simulate(environment, others, horizon=100, runs=400, seed=0)
    for name in others:
        regret = result.regret(name)[:, -1]
        assert regret.mean() > 4 * regret.std() / np.sqrt(regret.size), name


def test_ftm_follows() -> None:
    policy = FTM()
    v = np.array([[1.0, 2.0], [3.0, 4.0]])
    x, _ = policy.act(policy.start(np.zeros((2, 2))), v)
    np.testing.assert_array_equal(x, v)


@pytest.mark.parametrize(("lambda1", "lambda2"), [(1.0, 0.0), (2.0, 0.5), (0.3, 3.0)])
def test_robd_minimizes_its_objective(lambda1: float, lambda2: float) -> None:
    rng = np.random.default_rng(3)
    v, x_prev = rng.standard_normal((2, 3))

    def objective(x: Any) -> float:
        return float(
            0.5 * (x - v) @ A @ (x - v)
            + 0.5 * lambda1 * np.square(x - x_prev).sum()
            + 0.5 * lambda2 * np.square(x - v).sum()
        )

    best = scipy.optimize.minimize(objective, x_prev, tol=1e-12)
    policy = ROBD(A, lambda1, lambda2)
    x, _ = policy.act(policy.start(x_prev), v)
    np.testing.assert_allclose(x, best.x, atol=1e-5)


@pytest.mark.parametrize("m", [1e-3, 0.5, 4.0])
def test_robd_default_balances_the_two_sides_of_its_competitive_ratio(m: float) -> None:
    # Goel et al.: the ratio is max{(m + l2) / (m l1), 1 + l1 / (l2 + m)}; the best l2 makes them equal.
    policy = ROBD(np.diag([m, 10.0 * m]))
    x, _ = policy.act(policy.start(np.array([1.0, 0.0])), np.zeros(2))
    m_plus_lambda2 = 1.0 / x[0] - 1.0
    ratio = (1.0 + np.sqrt(1.0 + 4.0 / m)) / 2.0
    assert m_plus_lambda2 / m == pytest.approx(ratio)
    assert 1.0 + 1.0 / m_plus_lambda2 == pytest.approx(ratio)


def test_robd_stays_within_its_competitive_ratio() -> None:
    rng = np.random.default_rng(4)
    for scale in (0.05, 0.5, 5.0):
        problem = Problem(scale * FULL)
        m = float(problem.spectrum.values[0])
        v = np.cumsum(rng.standard_cauchy((20, 60, 3)), axis=1)
        x0 = np.zeros((20, 3))
        policy = ROBD(problem.A)
        state = policy.start(x0, 60)
        x = np.empty_like(v)
        for t in range(60):
            x[:, t], state = policy.act(state, v[:, t])
        paid = problem.total_cost(x, v, x0)
        best = problem.total_cost(hindsight_optimum(problem, v, x0), v, x0)
        assert (paid <= (1 + np.sqrt(1 + 4 / m)) / 2 * best).all()


@pytest.mark.parametrize("lambda1", [0.01, 0.1, 0.5, 1.0, 3.0])
def test_robd_never_pulls_away_from_v(lambda1: float) -> None:
    # C = lambda1 / (m + lambda2 + lambda1), and lambda2 is not negative.
    for m in (0.1, 4.0, 100.0):
        policy = ROBD([[m]], lambda1)
        x, _ = policy.act(policy.start(np.ones(1)), np.zeros(1))
        # Round-off is that of a step of length one.
        assert x[0] <= lambda1 / (m + lambda1) + 1e-15


@pytest.mark.parametrize("policy", [LAI(np.zeros((1, 1))), ROBD(np.zeros((1, 1)))], ids=repr)
def test_without_curvature_a_player_stays_however_far_v_is(policy: Policy[Any]) -> None:
    x, _ = policy.act(policy.start([0.1]), [1e18])
    assert x[0] == 0.1


def test_robd_without_curvature_stays() -> None:
    policy = ROBD(np.zeros((2, 2)))
    x, _ = policy.act(policy.start(np.ones(2)), np.zeros(2))
    np.testing.assert_array_equal(x, [1.0, 1.0])


def test_knowing_takes_A_from_the_problem_in_plain_coordinates() -> None:
    problem = Problem(A, switching_weight=4.0)
    np.testing.assert_allclose(LAI.for_problem(problem).A, A / 4.0)
    np.testing.assert_allclose(ROBD.for_problem(problem).A, A / 4.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LAI(np.ones(3)), "A must be square"),
        (lambda: ROBD(A, lambda1=0.0), "lambda1 must be a finite number above 0, got 0.0"),
        (lambda: ROBD(A, lambda2=-1.0), "lambda2 must be a finite number at least 0, got -1.0"),
        (
            lambda: LAI(A).start(np.zeros(2)),
            r"A must be one matrix \(2, 2\) or one per run .* got shape \(3, 3\)",
        ),
        (
            lambda: LAI(np.stack([A, A])).start(np.zeros(3)),
            r"A must be one matrix \(3, 3\) or one per run .* got shape \(2, 3, 3\)",
        ),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
