"""Outages: their statistics, and what they do to costs, benchmark and policies."""

from __future__ import annotations

import numpy as np
import pytest

from soqo import FTM, RLS, Environment, Outages, Problem, play, simulate
from soqo.noise import Uniform
from soqo.processes import Gaussian

A = np.array([[2.0, 0.5], [0.5, 1.0]])


def environment(outages: Outages | None = None) -> Environment:
    return Environment(Problem(A), Gaussian(3.0), Uniform(0.5), outages=outages)


def test_share_and_duration_are_those_of_the_settings() -> None:
    active = Outages(0.2, duration=5.0).draw([np.random.default_rng(k) for k in range(400)], 500, dim=2)
    out = ~active
    # The correlation of the chain from one round to the next is 1 - 1 / duration - p, with p = 0.05 for a failure.
    correlation = 1.0 - 1.0 / 5.0 - 0.05
    deviation = np.sqrt(0.16 * (1.0 + correlation) / (1.0 - correlation) / out.size)
    assert out.mean() == pytest.approx(0.2, abs=5.0 * deviation)
    np.testing.assert_allclose(out[:, 0].mean(), 0.2, atol=5.0 * np.sqrt(0.16 / 800))  # stationary from the first round
    ends = (out[:, :-1] & active[:, 1:]).sum()
    assert ends / out[:, :-1].sum() == pytest.approx(1.0 / 5.0, abs=5.0 * np.sqrt(0.16 / out.sum()))


def test_an_actuator_that_is_out_stays_and_does_not_count() -> None:
    paths = environment(Outages(0.4)).draw(50, 4, seed=1)
    assert paths.active is not None
    x = play(FTM(), paths).x
    before = np.concatenate([paths.x0[:, None], x[:, :-1]], axis=1)
    np.testing.assert_array_equal(x, np.where(paths.active, paths.v, before))
    np.testing.assert_array_equal(paths.costs(x)[0], 0.0)  # the others are at v
    shifted = x + np.where(paths.active, [1.0, -2.0], 7.0)
    u = np.where(paths.active, [1.0, -2.0], 0.0)
    np.testing.assert_allclose(paths.costs(shifted)[0], 0.5 * np.einsum("rti,ij,rtj->rt", u, A, u))


def test_a_learner_is_not_misled() -> None:
    result = simulate(environment(Outages(0.3)), {"RLS": RLS(0.3)}, horizon=200, runs=4)
    np.testing.assert_allclose(result["RLS"].diagnostics["estimate"], np.broadcast_to(A, (4, 2, 2)), atol=0.15)
