"""Gains for a plant with a lag and with outages, against the recursion without them and against one dense program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo._model.gains import recursive_gains
from soqo._model.lagging_gains import lagging_gains
from soqo.typing import Array, BoolArray

A = np.array([[2.0, 0.5], [0.5, 1.0]])
LATER = np.array([[0.5, -0.2], [-0.2, 3.0]])
W = np.array([[2.0, 0.3], [0.3, 0.5]])
T = 7
V = np.array([3.0, -2.0])
X0 = np.array([-1.0, 0.5])
FACTORS = np.array([1.0, 0.2, 3.0, 1.0, 0.0, 2.0, 0.5])
ACTIVE = np.random.default_rng(3).random((T, 2)) > 0.35


def total_cost(x: Array, keep: float, active: BoolArray, hits: list[Array]) -> float:
    """Return the cost of a path for a v that stays, by the definition."""
    cost, before, felt = 0.0, X0, X0
    for t in range(T):
        felt = (1.0 - keep) * x[t] + keep * felt
        u = np.where(active[t], felt - V, 0.0)
        cost += 0.5 * u @ hits[t] @ u + 0.5 * (x[t] - before) @ W @ (x[t] - before)
        before = x[t]
    return float(cost)


def dense_optimum(keep: float, active: BoolArray, hits: list[Array]) -> Array:
    """Return the path of least cost in which actuators that are not active stay, from one linear system.

    The cost is a quadratic function of the path: its gradient and Hessian are found by differences, which are exact.
    """
    n = 2 * T

    def cost(z: Array) -> float:
        return total_cost(z.reshape(T, 2), keep, active, hits)

    unit = np.eye(n)
    at_zero = cost(np.zeros(n))
    single = np.array([cost(e) for e in unit])
    double = np.array([[cost(e + f) for f in unit] for e in unit])
    hessian = double - single[:, None] - single[None, :] + at_zero
    gradient = single - at_zero - 0.5 * np.diag(hessian)
    rows, right = [], []
    for t, i in np.argwhere(~active):
        row = np.zeros(n)
        row[2 * t + i] = 1.0
        if t:
            row[2 * (t - 1) + i] = -1.0
        rows.append(row)
        right.append(X0[i] if not t else 0.0)
    E = np.array(rows).reshape(-1, n)
    k = len(E)
    system = np.block([[hessian, E.T], [E, np.zeros((k, k))]])
    return np.linalg.solve(system, np.concatenate([-gradient, right]))[:n].reshape(T, 2)


def play(gains: Array, keep: float, deviation: Any = None) -> Array:
    """Return the path of the gains for a v that stays, with a deviation (round, vector) from it."""
    x = felt = X0
    path = np.empty((T, 2))
    for t in range(T):
        e = np.concatenate([x - V, felt - V]) if keep else x - V
        x = V + gains[t, 0] @ e
        if deviation is not None and deviation[0] == t:
            x = x + deviation[1]
        path[t] = x
        felt = (1.0 - keep) * x + keep * felt
    return path


CASES = {
    "neither": (0.0, np.ones_like(ACTIVE)),
    "lag": (0.6, np.ones_like(ACTIVE)),
    "outages": (0.0, ACTIVE),
    "both": (0.4, ACTIVE),
}


@pytest.mark.parametrize(("keep", "active"), CASES.values(), ids=CASES)
def test_the_path_of_the_gains_is_the_optimum_if_v_stays(keep: float, active: BoolArray) -> None:
    hits = [s * (A if t < 3 else LATER) for t, s in enumerate(FACTORS)]
    gains, hessians = lagging_gains(
        [(0, 3, A), (3, T, LATER)], W, keep=keep, factors=FACTORS[:, None], active=active[:, None]
    )
    found = play(gains, keep)
    np.testing.assert_allclose(found, dense_optimum(keep, active, hits), rtol=1e-9, atol=1e-9)
    # Whoever deviates in one round and is optimal afterwards pays what the Hessian says.
    best = total_cost(found, keep, active, hits)
    for t in range(T):
        error = np.where(active[t], [0.7, -1.3], 0.0)
        extra = total_cost(play(gains, keep, (t, error)), keep, active, hits) - best
        assert extra == pytest.approx(0.5 * error @ hessians[t, 0] @ error, rel=1e-8, abs=1e-12)


def test_without_lag_and_outages_the_gains_are_those_of_the_recursion() -> None:
    many = np.stack([A, LATER, A + LATER])
    segments = [(0, 4, many), (4, T, many[::-1])]
    expected, inverses = recursive_gains(segments, np.tile(FACTORS[:, None], 3))
    gains, hessians = lagging_gains(segments, np.eye(2), factors=np.tile(FACTORS[:, None], 3))
    np.testing.assert_allclose(gains, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(hessians, inverses, rtol=1e-12, atol=1e-14)
