"""Checks of orders: exponents of known powers, and the orders of Theorem 4 against sums over dense gains."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.experiments import Status
from soqo.experiments.judgment import _order_checks as checks


def test_orders_are_measured_by_exponents() -> None:
    T = np.array([1e6, 1e7, 1e8])
    same = checks.check_balance(1, 1.0, 3.0 * T ** (2 / 3), 100.0 * T ** (2 / 3))
    assert same.status is Status.HOLDS
    assert same.numbers[0].value == pytest.approx(2 / 3)
    assert checks.check_balance(1, 1.0, T ** (2 / 3), T**0.5).status is Status.FAILS
    assert checks.check_orders(1, 1.0, T ** (2 / 3), T**0.5).status is Status.HOLDS
    assert checks.check_orders(4, 1.0, T ** (2 / 3), T**0.5).status is Status.FAILS


def dense_regret(A: np.ndarray, A_hat: np.ndarray, T: int) -> float:
    """The regret of LAI(A_hat) for steps of covariance I, by the recursion of gains and of second moments."""

    def gains(curvature: np.ndarray) -> list[np.ndarray]:
        found = [np.eye(len(A))]
        for _ in range(T):
            found.append(np.linalg.inv(2.0 * np.eye(len(A)) + curvature - found[-1]))
        return found[:0:-1]

    def cost(curvature: np.ndarray) -> float:
        total, moment, identity = 0.0, np.zeros_like(A), np.eye(len(A))
        for C in gains(curvature):
            moment = moment + identity  # of x - v before the step
            step = identity - C
            total += 0.5 * np.trace(A @ C @ moment @ C) + 0.5 * np.trace(step @ moment @ step)
            moment = C @ moment @ C
        return float(total)

    return cost(A_hat) - cost(A)


def test_a_turned_estimate_costs_the_square_of_its_error_and_of_the_horizon() -> None:
    def turned(angle: float) -> np.ndarray:
        q = np.array([np.cos(angle), np.sin(angle)])
        return np.outer(q, q)

    regret = [[dense_regret(turned(0.0), turned(angle), T) for angle in (1e-3, 2e-3)] for T in (100, 200)]
    assert np.log2(regret[0][1] / regret[0][0]) == pytest.approx(2.0, abs=0.02)
    assert np.log2(regret[1][0] / regret[0][0]) == pytest.approx(2.0, abs=0.05)
    # The check measures the same number, in four dimensions: two more null directions change nothing.
    assert checks._rotated_regret(1.0, 2.0 * np.sin(1e-3), 100) == pytest.approx(regret[0][0], rel=1e-3)
