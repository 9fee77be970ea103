"""Late readings in a simulation, against a simulation that delivers them by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, OAL, POL, RLS, Delay, Environment, Problem, play, simulate
from soqo.noise import Uniform
from soqo.processes import Gaussian

PROBLEM = Problem(np.diag([1.0, 3.0]))


def environment(delay: Delay | None) -> Environment:
    return Environment(PROBLEM, Gaussian(1.0), Uniform(0.5), delay=delay)


@pytest.mark.parametrize("delay", [Delay(3), Delay(0, jitter=2), Delay(1, jitter=2)], ids=repr)
def test_every_reading_is_delivered_after_its_delay_or_never(delay: Delay) -> None:
    paths = environment(delay).draw(30, 4, seed=1)
    assert paths.delays is not None
    policy, exact = POL(0.02), OAL(0.02)
    for run in range(4):
        for player in (policy, exact):
            state, actions = player.start(np.zeros(2), 30, max_delay=30), []
            for t in range(30):
                x, state = player.act(state, paths.v[run, t])
                actions.append(x)
                for k in range(t + 1):
                    if k + paths.delays[run, k] == t:
                        u = actions[k] - paths.v[run, k]
                        noise = 0.0 if player is exact else 0.5 * paths.variates[run, k]
                        state = player.observe(state, PROBLEM.hitting_cost(u, 0.0 * u) + noise, round=k + 1)
            np.testing.assert_allclose(play(player, paths).x[run], actions, rtol=1e-9, atol=1e-12)


def test_a_delay_of_no_rounds_changes_nothing() -> None:
    one, other = (simulate(environment(delay), {"RLS": RLS()}, horizon=30, runs=3) for delay in (None, Delay(0)))
    np.testing.assert_array_equal(one.regret("RLS"), other.regret("RLS"))


def test_a_delay_beyond_the_horizon_teaches_nothing() -> None:
    late = simulate(environment(Delay(50)), {"RLS": RLS()}, horizon=30, runs=3)
    np.testing.assert_array_equal(late["RLS"].diagnostics["estimate"], np.broadcast_to(np.eye(2), (3, 2, 2)))


def test_policies_that_learn_nothing_and_the_benchmark_do_not_notice() -> None:
    policies: dict[str, Any] = {"FTM": FTM(), "LAI": LAI.for_problem}
    one, other = (simulate(environment(delay), policies, horizon=30, runs=3) for delay in (None, Delay(2)))
    for name in policies:
        np.testing.assert_array_equal(one.regret(name), other.regret(name))


def test_delays_are_uniform() -> None:
    delays = environment(Delay(1, jitter=2)).draw(900, 4, seed=3).delays
    assert delays is not None
    values, counts = np.unique(delays, return_counts=True)
    assert values.tolist() == [1, 2, 3]
    np.testing.assert_allclose(counts / 3600, 1 / 3, atol=6.0 * np.sqrt(2.0 / 9.0 / 3600))
