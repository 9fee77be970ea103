"""How far GLIDE believes a forecast: the regression against a plain loop, and what forecasts save."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from soqo import GLIDE, LAI, Policy, random_curvature
from soqo.policies.glide._forecasts import MAX_LEADS, ForecastTrust


def walk(runs: int, rounds: int, dim: int, seed: int = 0, step: float = 5.0) -> Any:
    return np.cumsum(step * np.random.default_rng(seed).standard_normal((runs, rounds, dim)), axis=1)


def believe(v: Any, forecasts: list[Any]) -> ForecastTrust:
    """Return the state after all rounds."""
    state = ForecastTrust.start(v.shape[0], v.shape[-1])
    for t, forecast in enumerate(forecasts):
        state = state.update(v[:, t], forecast)
    return state


def test_trust_is_a_shrunk_regression_of_what_came_on_what_was_forecast() -> None:
    rng = np.random.default_rng(1)
    v = walk(2, 40, 3)
    forecasts = [
        v[:, t, None] + rng.standard_normal((2, 4, 3)) + 0.6 * (v[:, t + 1 : t + 5] - v[:, t, None]) for t in range(35)
    ]
    found = believe(v, forecasts).trust()
    for run in range(2):
        for j in range(4):
            pairs = [
                (v[run, t + j + 1] - v[run, t], forecasts[t][run, j] - v[run, t]) for t in range(35) if t + j + 1 < 35
            ]
            products = np.array([q @ p for q, p in pairs])
            slope = products.sum() / sum(p @ p for _, p in pairs)
            expected = min(slope, 1.0) * (1.0 - (products**2).sum() / products.sum() ** 2)
            assert found[run, j] == pytest.approx(expected, rel=1e-10)


def test_a_perfect_forecast_is_believed_and_noise_is_not() -> None:
    v, rng = walk(20, 130, 3), np.random.default_rng(2)
    perfect = [v[:, t + 1 : t + 4] for t in range(120)]
    useless = [v[:, t, None] + 5.0 * rng.standard_normal((20, 3, 3)) for t in range(120)]
    assert (believe(v, perfect).trust() > 0.9).all()
    assert np.median(believe(v, useless).trust()) == 0.0
    assert (believe(v, useless).trust() < 0.15).all()


def test_forecasts_may_come_and_go_and_have_any_length() -> None:
    v = walk(3, 60, 2)
    forecasts = [None if t % 3 else v[:, t + 1 : t + 2 + t % 5] for t in range(50)]
    state = believe(v, forecasts)
    assert state.leads == 5
    assert (state.trust()[:, 0] > 0.7).all()
    longer = state.expected(v[:, 50], np.zeros((3, 9, 2)))
    assert longer.shape == (3, 9, 2)
    np.testing.assert_array_equal(state.expected(v[:, 50], v[:, 51:53]).shape, (3, 2, 2))
    far = believe(v, [v[:, t + 1 : t + 31] for t in range(25)])
    assert far.leads == MAX_LEADS
    assert ForecastTrust.start(3, 2).update(v[:, 0], None).leads == 0


def cost_of(policy: Policy[Any], A: Any, v: Any, forecasts: Any) -> Any:
    """Return the cost of each run, with noisy readings."""
    runs, rounds, d = v.shape
    noise = np.random.default_rng(3).uniform(-2.0, 2.0, (rounds, runs))
    state, total = policy.start(np.zeros((runs, d)), rounds), np.zeros(runs)
    for t in range(rounds):
        before = state.x
        x, state = policy.act(state, v[:, t], forecast=None if forecasts is None else forecasts[t])
        u = x - v[:, t]
        hitting = 0.5 * np.einsum("ri,rij,rj->r", u, A, u)
        state = policy.observe(state, hitting + noise[t])
        total += hitting + 0.5 * np.square(x - before).sum(axis=-1)
    return total


RUNS, T, D, K = 16, 300, 3, 5
A = np.stack([random_curvature(D, D, min_eigenvalue=0.3, max_eigenvalue=2.0, rng=seed) for seed in range(RUNS)])
PATH = walk(RUNS, T + K, D, seed=4)
V = PATH[:, :T]
PERFECT = [PATH[:, t + 1 : t + 1 + K] for t in range(T)]


@cache
def cost_without_forecasts() -> float:
    return float(np.median(cost_of(GLIDE(), A, V, None)))


def test_a_perfect_forecast_gives_what_it_gives_to_the_player_who_knows_A() -> None:
    glide = float(np.median(cost_of(GLIDE(), A, V, PERFECT)))
    assert glide < 1.03 * float(np.median(cost_of(LAI(A), A, V, PERFECT)))
    assert glide < 0.8 * cost_without_forecasts()


def test_a_useless_forecast_costs_almost_nothing() -> None:
    rng = np.random.default_rng(5)
    useless = [V[:, t, None] + np.cumsum(5.0 * rng.standard_normal((RUNS, K, D)), axis=1) for t in range(T)]
    assert float(np.median(cost_of(GLIDE(), A, V, useless))) < 1.02 * cost_without_forecasts()
    assert float(np.median(cost_of(LAI(A), A, V, useless))) > 1.1 * cost_without_forecasts()  # who believes it pays


def test_a_forecast_that_is_believed_takes_the_place_of_the_autoregression() -> None:
    steps = np.zeros((RUNS, T + K, D))
    rng = np.random.default_rng(6)
    for t in range(1, T + K):
        steps[:, t] = 0.8 * steps[:, t - 1] + rng.standard_normal((RUNS, D))
    path = np.cumsum(steps, axis=1)
    v, perfect = path[:, :T], [path[:, t + 1 : t + 1 + K] for t in range(T)]
    glide = float(np.median(cost_of(GLIDE(), A, v, perfect)))
    assert glide < float(np.median(cost_of(GLIDE(), A, v, None)))
    # The readings, at short distances, are mostly noise.
    assert glide < 1.1 * float(np.median(cost_of(LAI(A), A, v, perfect)))
