"""Largest steps, deadbands and lags: what the plant applies, and what policies hear of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, RLS, Actuation, Environment, Problem, play, simulate
from soqo.noise import Uniform
from soqo.processes import Gaussian

A = np.array([[2.0, 0.5], [0.5, 1.0]])


def environment(actuation: Actuation | None = None) -> Environment:
    return Environment(Problem(A), Gaussian(3.0), Uniform(0.5), actuation=actuation)


def test_steps_are_limited_and_small_ones_are_not_made() -> None:
    paths = environment(Actuation(rate=[1.0, np.inf], deadband=[0.0, 2.0])).draw(60, 3, seed=1)
    x = play(FTM(), paths).x
    before = np.concatenate([paths.x0[:, None], x[:, :-1]], axis=1)
    step, asked = x - before, paths.v - before
    np.testing.assert_allclose(step[..., 0], np.clip(asked[..., 0], -1.0, 1.0), atol=1e-12)
    small = np.abs(asked[..., 1]) < 2.0
    assert 0.2 < small.mean() < 0.8
    np.testing.assert_array_equal(step[..., 1][small], 0.0)
    np.testing.assert_array_equal(x[..., 1][~small], paths.v[..., 1][~small])


def test_a_policy_hears_what_was_applied() -> None:
    seen: list[Any] = []

    class Watch(FTM):
        def learn(self, state: Any, y: Any) -> None:
            seen.append(state.x)

    paths = environment(Actuation(rate=0.5)).draw(20, 3, seed=1)
    np.testing.assert_array_equal(play(Watch(), paths).x, np.stack(seen, axis=1))


@pytest.mark.parametrize("actuation", [Actuation(rate=2.0, deadband=0.5), Actuation(lag=2.0)], ids=["limits", "lag"])
def test_a_learner_is_not_misled(actuation: Actuation) -> None:
    result = simulate(environment(actuation), {"RLS": RLS(0.3)}, horizon=200, runs=4)
    np.testing.assert_allclose(result["RLS"].diagnostics["estimate"], np.broadcast_to(A, (4, 2, 2)), atol=0.15)
