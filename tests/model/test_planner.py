"""The plan against the literal recursion and a Riccati equation, and the optimum in hindsight against a dense solve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from soqo import Plan, Problem, hindsight_optimum, random_curvature
from soqo.errors import ArgumentError


def curvature(d: int, rank: int, seed: int = 0) -> Any:
    return random_curvature(d, rank, min_eigenvalue=0.05, max_eigenvalue=3.0, rng=seed)


def literal_gains(A: Any, horizon: int) -> list[Any]:
    """RecurGen as the paper prints it: C_1..C_T with explicit inverses."""
    identity = np.eye(A.shape[0])
    gains, C = [], identity
    for _ in range(horizon):
        C = np.linalg.inv(2 * identity + A - C)
        gains.append(C)
    return gains[::-1]


@pytest.mark.parametrize("rank", [0, 2, 5])
def test_gain_is_the_literal_matrix_recursion(rank: int) -> None:
    A = curvature(5, rank)
    plan = Plan(A, horizon=60)
    for t, C in enumerate(literal_gains(A, 60), start=1):
        np.testing.assert_allclose(plan.gain(t), C, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_stationary_gain_solves_the_riccati_equation(scale: float) -> None:
    # State s = x_prev - v, move w: pay 1/2 (s+w)'A(s+w) + 1/2 w'w and continue from s + w.
    A, identity = scale * curvature(4, 4), np.eye(4)
    P = scipy.linalg.solve_discrete_are(identity, identity, A, identity + A, s=A)
    move = -np.linalg.solve(identity + A + P, A + P)
    expected = identity + move
    np.testing.assert_allclose(Plan(A).gain(), expected, rtol=1e-8, atol=1e-11)
    long = Plan(A, horizon=10**6).gain(1)
    np.testing.assert_allclose(long, expected, rtol=1e-8, atol=1e-11)


def test_step_interpolates_between_the_last_action_and_v() -> None:
    A = curvature(3, 3)
    C = literal_gains(A, 7)[2]
    x_prev, v = np.random.default_rng(0).standard_normal((2, 3))
    expected = C @ x_prev + (np.eye(3) - C) @ v
    np.testing.assert_allclose(Plan(A, 7).step(3, x_prev, v), expected, atol=1e-14)


def expected_optimum(A: Any, x_prev: Any, path: Any) -> Any:
    """Return the first action that minimizes the cost along an expected path, by one dense solve of all rounds."""
    rounds, d = path.shape
    moves = np.eye(rounds) - np.eye(rounds, k=-1)  # x_s - x_(s-1)
    system = np.kron(np.eye(rounds), A) + np.kron(moves.T @ moves, np.eye(d))
    rhs = (path @ A).ravel()
    rhs[:d] += x_prev
    return np.linalg.solve(system, rhs)[:d]


@pytest.mark.parametrize("rounds", [1, 2, 7])
@pytest.mark.parametrize("rank", [0, 2, 3])
def test_a_step_with_a_forecast_is_the_dense_optimum_of_the_expected_path(rank: int, rounds: int) -> None:
    A, T = curvature(3, rank), 12
    rng = np.random.default_rng(4)
    x_prev, v, forecast = rng.standard_normal(3), rng.standard_normal(3), 5.0 * rng.standard_normal((rounds, 3))
    for t in (1, 8, 12):
        ahead = np.concatenate([v[None], forecast, np.tile(forecast[-1], (T, 1))])[: T + 1 - t]
        found = Plan(A, T).step(t, x_prev, v, forecast=forecast)
        np.testing.assert_allclose(found, expected_optimum(A, x_prev, ahead), atol=1e-11)


def test_a_perfect_forecast_of_everything_gives_the_optimum_in_hindsight() -> None:
    A, T = curvature(4, 3), 20
    v = np.cumsum(np.random.default_rng(6).standard_normal((T, 4)), axis=0)
    x, path = np.ones(4), []
    for t in range(1, T + 1):
        x = Plan(A, T).step(t, x, v[t - 1], forecast=v[t:])
        path.append(x)
    np.testing.assert_allclose(path, hindsight_optimum(Problem(A), v, x0=np.ones(4)), atol=1e-11)


def test_without_an_end_the_aim_is_a_discounted_mean_of_the_forecast() -> None:
    a, forecast = 0.5, np.array([[4.0], [-2.0], [6.0]])
    c = float(Plan([[a]]).gain()[0, 0])
    ahead = np.array([1.0, *forecast.ravel(), *[6.0] * 400])
    aim = (1.0 - c) * np.sum(c ** np.arange(ahead.size) * ahead)
    found = Plan([[a]]).step(1, [3.0], [1.0], forecast=forecast)
    np.testing.assert_allclose(found, [c * 3.0 + (1.0 - c) * aim], rtol=1e-12)
    long = Plan([[a]], horizon=10**6).step(1, [3.0], [1.0], forecast=forecast)
    np.testing.assert_allclose(long, found, rtol=1e-12)


def test_forecasts_of_a_batch_belong_to_their_runs() -> None:
    A = np.stack([curvature(2, 2, seed) for seed in range(3)])
    rng = np.random.default_rng(7)
    x_prev, v, forecast = rng.standard_normal((3, 2)), rng.standard_normal((3, 2)), rng.standard_normal((3, 4, 2))
    together = Plan(A, 9).step(2, x_prev, v, forecast=forecast)
    for k in range(3):
        alone = Plan(A[k], 9).step(2, x_prev[k], v[k], forecast=forecast[k])
        np.testing.assert_allclose(together[k], alone, atol=1e-13)


@pytest.mark.parametrize("shape", [(2,), (3, 3), (1, 4, 2)])
def test_a_forecast_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match="forecast must have"):
        Plan(curvature(2, 2)).step(1, np.zeros(2), np.zeros(2), forecast=np.zeros(shape))


@pytest.mark.parametrize("horizon", [9, 15, None])
@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_path_is_the_steps_one_by_one(batch: tuple[int, ...], horizon: int | None) -> None:
    rng = np.random.default_rng(1)
    A = curvature(3, 2) if not batch else np.broadcast_to(curvature(3, 2), (*batch, 3, 3))
    plan = Plan(A, horizon)
    x = x0 = rng.standard_normal((*batch, 3))
    v = rng.standard_normal((*batch, 9, 3))
    path = plan.path(x0, v)
    for t in range(9):
        x = plan.step(t + 1, x, v[..., t, :])
        np.testing.assert_allclose(path[..., t, :], x, atol=1e-13)


def test_the_last_gains_of_a_million_rounds_are_those_of_the_recursion() -> None:
    plan = Plan(curvature(4, 4), horizon=10**6)
    last = np.linalg.inv(np.eye(4) + plan.A)
    np.testing.assert_allclose(plan.gain(10**6), last, atol=1e-13)
    before = np.linalg.inv(2 * np.eye(4) + plan.A - last)
    np.testing.assert_allclose(plan.gain(10**6 - 1), before, atol=1e-13)


@pytest.mark.parametrize("far", [1e6, 1e18, 1e300])
def test_without_curvature_a_player_stays_for_any_distance_to_v(far: float) -> None:
    A = np.diag([0.0, 1.0])
    x = Plan(A, 5).step(1, np.array([0.1, 0.0]), np.array([far, 0.0]))
    assert x[0] == 0.1
    path = Plan(A, 5).path(np.array([0.1, 0.0]), np.full((5, 2), [far, 0.0]))
    np.testing.assert_array_equal(path[:, 0], 0.1)


def test_a_path_may_have_no_rounds() -> None:
    assert hindsight_optimum(Problem(np.eye(2)), np.zeros((0, 2)), x0=np.zeros(2)).shape == (0, 2)
    assert Plan(np.eye(2)).path(np.zeros(2), np.zeros((0, 2))).shape == (0, 2)


def dense_optimum(A: Any, W: Any, v: Any, x0: Any) -> Any:
    """Solve the optimality conditions of the whole horizon as one linear system."""
    T, d = v.shape
    H, g = np.zeros((T * d, T * d)), np.zeros(T * d)
    for t in range(T):
        now = slice(t * d, (t + 1) * d)
        H[now, now] += A + W
        g[now] += A @ v[t]
        if t == 0:
            g[now] += W @ x0
        else:
            before = slice((t - 1) * d, t * d)
            H[before, before] += W
            H[now, before] -= W
            H[before, now] -= W
    return np.linalg.solve(H, g).reshape(T, d)


WEIGHTS: list[Any] = [None, 0.5, [1.0, 3.0, 0.2], np.diag([1.0, 2.0, 3.0]) + 0.3]


@pytest.mark.parametrize("weight", WEIGHTS, ids=["none", "scalar", "vector", "matrix"])
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("T", [1, 2, 25])
def test_hindsight_optimum_is_the_dense_solution(T: int, rank: int, weight: Any) -> None:
    A = curvature(3, rank)
    full = np.eye(3) if weight is None else np.asarray(weight)
    W = full if full.ndim == 2 else np.eye(3) * full
    rng = np.random.default_rng(3)
    v, x0 = rng.standard_normal((T, 3)), rng.standard_normal(3)
    got = hindsight_optimum(Problem(A, weight), v, x0=x0)
    np.testing.assert_allclose(got, dense_optimum(A, W, v, x0), atol=1e-11)


def test_hindsight_optimum_takes_a_batch_with_its_own_A() -> None:
    rng = np.random.default_rng(4)
    A = np.stack([curvature(3, 3, seed) for seed in range(4)])
    v, x0 = rng.standard_normal((4, 12, 3)), rng.standard_normal((4, 3))
    together = hindsight_optimum(Problem(A), v, x0=x0)
    for run in range(4):
        np.testing.assert_allclose(together[run], dense_optimum(A[run], np.eye(3), v[run], x0[run]), atol=1e-11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Plan(np.eye(2), horizon=0), "horizon must be a positive integer, got 0"),
        (lambda: Plan([[1.0, 2.0], [2.0, 1.0]]), "A must be positive semi-definite"),
        (lambda: Plan(np.eye(2), 5).gain(6), "t must be at most horizon = 5, got 6"),
        (lambda: Plan(np.eye(2), 5).gain(0), "t must be a positive integer, got 0"),
        (lambda: Plan(np.eye(2), 5).step(1, [0.0], [0.0, 0.0]), "x_prev must have last axis 2"),
        (lambda: Plan(np.eye(2), 5).step(1, [0.0, 0.0], [0.0, np.nan]), "v must be finite"),
        (
            lambda: Plan(np.eye(2), 5).path(np.zeros(2), np.zeros((6, 2))),
            "v must have at most horizon = 5 rounds, got 6",
        ),
        (
            lambda: hindsight_optimum(Problem(np.eye(2)), np.zeros((5, 3)), x0=np.zeros(2)),
            r"v must have shape \(\*batch, T, 2\), got \(5, 3\)",
        ),
        (
            lambda: hindsight_optimum(Problem(np.eye(2)), np.zeros((5, 2)), x0=np.zeros((4, 2))),
            r"x0 must have shape \(2,\), got \(4, 2\)",
        ),
        (
            lambda: Plan(np.eye(2), 5).path(np.zeros(2), np.zeros(2)),
            r"v must have shape \(\*batch, T, 2\), got \(2,\)",
        ),
        (
            lambda: Plan(np.eye(2), 5).path(np.zeros((3, 2)), np.zeros((4, 5, 2))),
            r"x0 must have shape \(2,\) or \(4, 2\), got \(3, 2\)",
        ),
        (
            lambda: hindsight_optimum(Problem(np.eye(2)), np.zeros((5, 2)), x0=np.zeros(3)),
            r"x0 must have shape \(2,\), got \(3,\)",
        ),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
