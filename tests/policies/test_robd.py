"""ROBD minimizes its objective, and its cost is within its competitive ratio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

from soqo import ROBD, Problem, hindsight_optimum, random_curvature
from soqo.errors import ArgumentError

A = random_curvature(3, 2, min_eigenvalue=0.1, max_eigenvalue=4.0, rng=np.random.default_rng(0))
FULL = random_curvature(3, 3, min_eigenvalue=0.1, max_eigenvalue=4.0, rng=np.random.default_rng(1))


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
    policy = ROBD(A, lambda1=lambda1, lambda2=lambda2)
    x, _ = policy.act(policy.start(x_prev), v)
    np.testing.assert_allclose(x, best.x, atol=1e-5)


@pytest.mark.parametrize("m", [1e-3, 0.5, 4.0])
def test_the_default_of_lambda2_balances_both_terms_of_the_competitive_ratio(m: float) -> None:
    # Goel et al.: the ratio is max{(m + l2) / (m l1), 1 + l1 / (l2 + m)}; the best l2 makes them equal.
    policy = ROBD(np.diag([m, 10.0 * m]))
    x, _ = policy.act(policy.start(np.array([1.0, 0.0])), np.zeros(2))
    m_plus_lambda2 = 1.0 / x[0] - 1.0
    ratio = (1.0 + np.sqrt(1.0 + 4.0 / m)) / 2.0
    assert m_plus_lambda2 / m == pytest.approx(ratio)
    assert 1.0 + 1.0 / m_plus_lambda2 == pytest.approx(ratio)


def test_the_cost_of_robd_is_within_its_competitive_ratio() -> None:
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
        paid = problem.total_cost(x, v, x0=x0)
        best = problem.total_cost(hindsight_optimum(problem, v, x0=x0), v, x0=x0)
        assert (paid <= (1 + np.sqrt(1 + 4 / m)) / 2 * best).all()


@pytest.mark.parametrize("lambda1", [0.01, 0.1, 0.5, 1.0, 3.0])
def test_lambda2_is_never_negative(lambda1: float) -> None:
    # C = lambda1 / (m + lambda2 + lambda1) is at most its value at lambda2 = 0.
    for m in (0.1, 4.0, 100.0):
        policy = ROBD([[m]], lambda1=lambda1)
        x, _ = policy.act(policy.start(np.ones(1)), np.zeros(1))
        # The tolerance is the round-off of a step of length one.
        assert x[0] <= lambda1 / (m + lambda1) + 1e-15


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ROBD(A, lambda1=0.0), "lambda1 must be a finite number above 0, got 0.0"),
        (lambda: ROBD(A, lambda2=-1.0), "lambda2 must be a finite number at least 0, got -1.0"),
    ],
)
def test_invalid_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_with_a_factor_it_plays_for_the_curvature_times_the_factor() -> None:
    A, v = np.diag([0.5, 2.0]), np.array([1.0, -3.0])
    one, other = ROBD(A), ROBD(1.5 * A)
    x, _ = one.act(one.start(np.zeros(2)), v, factor=1.5)
    expected, _ = other.act(other.start(np.zeros(2)), v)
    np.testing.assert_allclose(x, expected)
