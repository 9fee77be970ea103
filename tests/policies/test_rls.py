"""RLS against ridge regression on all readings, and the plant whose minimizer is off by a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, RLS, Environment, Plan, Problem, RandomProblem, simulate
from soqo.errors import ArgumentError
from soqo.noise import Uniform
from soqo.processes import Gaussian


def ridge(rows: Any, y: Any, prior: Any, ratios: Any) -> Any:
    """Return the minimizer of |y - rows m|^2 + |ratios (m - prior)|^2, by one dense least squares."""
    design = np.concatenate([rows, np.diag(ratios)])
    return np.linalg.lstsq(design, np.concatenate([y, ratios * prior]), rcond=None)[0]


@pytest.mark.parametrize("offset", [False, True])
def test_the_estimate_is_ridge_regression_on_all_readings(offset: bool) -> None:
    rng = np.random.default_rng(3)
    A, b, c = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0]), 7.0
    policy = RLS(0.3, 4.0, offset=offset)
    state = policy.start(np.zeros(2))
    rows, readings = [], []
    for _ in range(40):
        v = rng.standard_normal(2)
        x, state = policy.act(state, v)
        u = x - v
        w = u + b if offset else u
        y = 0.5 * w @ A @ w + (c if offset else 0.0) + 0.3 * rng.standard_normal()
        state = policy.observe(state, y)
        # A reading is 1/2 a_11 u_1^2 + a_12 u_1 u_2 + 1/2 a_22 u_2^2; a_12 counts twice in the Frobenius norm.
        rows.append([0.5 * u[0] ** 2, u[0] * u[1] / np.sqrt(2.0), 0.5 * u[1] ** 2, *([*u, 1.0] if offset else [])])
        readings.append(y)
    prior = np.array([1.0, 0.0, 1.0, *([0.0] * 3 if offset else [])])
    ratios = 0.3 / np.array([4.0] * 3 + ([4.0, 4.0, 4000.0] if offset else []))
    fit = ridge(np.array(rows), np.array(readings), prior, ratios)
    matrix = np.array([[fit[0], fit[1] / np.sqrt(2.0)], [fit[1] / np.sqrt(2.0), fit[2]]])
    assert np.linalg.eigvalsh(matrix)[0] > 0.0  # so that nothing is clipped
    found = policy.diagnostics(state)
    np.testing.assert_allclose(found["estimate"], matrix, rtol=1e-8)
    if offset:
        np.testing.assert_allclose(found["offset"], np.linalg.solve(matrix, fit[3:5]), rtol=1e-8)
        np.testing.assert_allclose(found["offset"], b, atol=0.5)


def test_an_action_is_that_of_the_plan_for_the_estimate() -> None:
    policy = RLS()
    state = policy.start(np.array([1.0, -1.0]), horizon=9)
    for t, v in enumerate([np.array([3.0, 1.0]), np.array([0.0, 2.0]), np.array([-4.0, 1.0])], start=1):
        before, estimate = state.x, policy.diagnostics(state)["estimate"]
        x, state = policy.act(state, v)
        np.testing.assert_allclose(x, Plan(estimate, horizon=9).step(t, before, v), rtol=1e-12)
        state = policy.observe(state, 1.0)


def test_negative_eigenvalues_are_not_played() -> None:
    policy = RLS(0.01)
    state = policy.start(np.zeros(1))
    _, state = policy.act(state, [2.0])
    state = policy.observe(state, -5.0)
    assert policy.diagnostics(state)["estimate"] == 0.0
    assert policy.act(state, [9.0])[0] == state.x  # with A = 0 the player stays


def test_it_is_far_better_than_following_v() -> None:
    environment = Environment(RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0), Gaussian(10.0), Uniform(5.0))
    result = simulate(environment, {"FTM": FTM(), "RLS": RLS(noise=5.0 / np.sqrt(3.0))}, horizon=300, runs=8)
    assert np.median(result.regret("RLS")[:, -1]) < 0.05 * np.median(result.regret("FTM")[:, -1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.0}, "noise must be"),
        ({"prior_deviation": -1.0}, "prior_deviation must be"),
        ({"offset": 1}, "offset must be True or False, got 1"),
    ],
)
def test_invalid_settings_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        RLS(**options)


def test_the_problem_s_curvature_is_found_under_a_switching_weight() -> None:
    problem = Problem(np.diag([1.0, 3.0]), switching_weight=[1.0, 4.0])
    environment = Environment(problem, Gaussian(5.0), Uniform(1.0))
    result = simulate(environment, {"RLS": RLS(noise=0.6)}, horizon=200, runs=4)
    np.testing.assert_allclose(result["RLS"].diagnostics["estimate"], np.tile(problem.A, (4, 1, 1)), atol=0.1)


def test_a_factor_scales_the_row_of_its_round() -> None:
    policy, rng = RLS(noise=0.5, prior_deviation=3.0), np.random.default_rng(4)
    state, rows, readings = policy.start(np.zeros(2)), [], []
    for _ in range(12):
        v, s = rng.standard_normal(2), rng.uniform(0.5, 2.0)
        x, state = policy.act(state, v, factor=s)
        u, y = x - v, rng.uniform(0.5, 2.0)
        state = policy.observe(state, y)
        rows.append(s * np.array([0.5 * u[0] ** 2, u[0] * u[1] / np.sqrt(2.0), 0.5 * u[1] ** 2]))
        readings.append(y)
    Z, prior = np.array(rows), np.array([1.0, 0.0, 1.0])
    precision = Z.T @ Z / 0.25 + np.eye(3) / 9.0
    expected = np.linalg.solve(precision, Z.T @ np.array(readings) / 0.25 + prior / 9.0)
    np.testing.assert_allclose(state.memory.mean, expected, rtol=1e-9)


def test_with_factors_an_offset_and_a_base_load_it_finds_the_curvature_and_the_offset() -> None:
    A, b = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -0.5])
    policy, rng = RLS(noise=0.01, offset=True), np.random.default_rng(4)
    state = policy.start(np.zeros(2))
    for _ in range(600):
        v, s = rng.standard_normal(2), rng.uniform(0.5, 1.5)
        x, state = policy.act(state, v, factor=s)
        applied = x + rng.standard_normal(2)
        u = applied - v + b
        state = policy.observe(state, s * 0.5 * u @ A @ u + 3.0, applied=applied)
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], A, atol=0.02)
    np.testing.assert_allclose(policy.diagnostics(state)["offset"], b, atol=0.02)


def test_it_plans_with_the_factor_as_lai_does() -> None:
    policy, known = RLS(), LAI(np.eye(2))
    x, _ = policy.act(policy.start(np.zeros(2), 5), [1.0, 2.0], factor=3.0)
    expected, _ = known.act(known.start(np.zeros(2), 5), [1.0, 2.0], factor=3.0)
    np.testing.assert_allclose(x, expected)
