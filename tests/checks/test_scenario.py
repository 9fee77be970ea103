"""The scenario that checks play, and the error for an exception in a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soqo import FTM, POL, Policy
from soqo.checks import POLICY_CHECKS, Scenario, check_policy
from soqo.errors import ArgumentError, CheckError


def test_a_run_of_a_batch_has_the_walk_and_the_readings_that_it_has_in_any_other_batch() -> None:
    scenario = Scenario(dim=2, rounds=7)
    walk = scenario.walk((2, 3))
    assert walk.shape == (7, 2, 3, 2)
    np.testing.assert_array_equal(walk.reshape(7, 6, 2), scenario.walk((6,)))
    np.testing.assert_array_equal(walk[:, 0, 0], scenario.walk(()))
    u = np.ones((6, 2))
    np.testing.assert_array_equal(scenario.reading(4, (6,), u)[:2], scenario.reading(4, (2,), u[:2]))
    draws = [generator.random() for generator in scenario.generators((2, 3))]
    assert draws[:2] == [generator.random() for generator in scenario.generators((2,))]
    assert len(set(draws)) == 6


def test_the_walk_has_independent_standard_normal_steps() -> None:
    steps = np.diff(Scenario(dim=2, rounds=1000).walk((20,)), axis=0).reshape(-1, 2)
    error = 1.0 / np.sqrt(len(steps))
    assert np.abs(steps.mean(axis=0)).max() < 5.0 * error
    # The variance of a squared normal number is 2, that of a product of two is 1.
    assert np.abs(steps.T @ steps / len(steps) - np.eye(2)).max() < 5.0 * np.sqrt(2.0) * error


def test_a_reading_is_a_quadratic_form_of_the_displacement_plus_bounded_noise_of_its_round() -> None:
    scenario = Scenario(dim=3)
    rng = np.random.default_rng(0)
    u, w = rng.standard_normal((2, 50, 3))
    noise = scenario.reading(5, (50,), np.zeros((50, 3)))

    def cost(displacement: Any) -> Any:
        return scenario.reading(5, (50,), displacement) - noise

    np.testing.assert_allclose(cost(u + w) + cost(u - w), 2.0 * (cost(u) + cost(w)), atol=1e-12)  # parallelogram law
    ratios = cost(u) / np.square(u).sum(axis=-1)
    assert (ratios >= 0.25 - 1e-12).all()  # half of the eigenvalues, which are in [0.5, 2]
    assert (ratios <= 1.0 + 1e-12).all()
    assert ratios.max() > 1.2 * ratios.min()
    assert np.abs(noise).max() <= 0.1
    assert not np.isin(noise, scenario.reading(6, (50,), np.zeros((50, 3)))).any()


def test_the_seed_determines_everything_random() -> None:
    one, same, other = Scenario(seed=1), Scenario(seed=1), Scenario(seed=2)
    draws: list[Callable[[Scenario], Any]] = [
        lambda scenario: scenario.walk((2,)),
        lambda scenario: scenario.reading(0, (2,), np.ones((2, 3))),
        lambda scenario: scenario.play(POL(0.02), (2,))[0],
    ]
    for draw in draws:
        np.testing.assert_array_equal(draw(one), draw(same))
        assert not np.isin(draw(one), draw(other)).any()


def test_play_gives_the_policy_the_walk_and_the_readings_round_by_round() -> None:
    scenario, policy = Scenario(dim=2, rounds=8), POL(0.05)
    walk = scenario.walk((3,))
    state, expected = policy.start(np.zeros((3, 2)), 8), []
    for t in range(8):
        x, state = policy.act(state, walk[t])
        state = policy.observe(state, scenario.reading(t, (3,), x - walk[t]))
        expected.append(x)
    actions, last = scenario.play(policy, (3,))
    np.testing.assert_array_equal(actions, expected)
    assert last.round == 8
    np.testing.assert_array_equal(policy.diagnostics(last)["estimate"], policy.diagnostics(state)["estimate"])


def test_more_rounds_reach_later_phases() -> None:
    class FailsLate(FTM):
        def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
            return v * (np.nan if state.round >= 30 else 1.0), state.memory

    check_shapes, *_ = POLICY_CHECKS
    check_shapes(FailsLate(), Scenario(rounds=24))
    with pytest.raises(CheckError, match="not finite"):
        check_shapes(FailsLate(), Scenario(rounds=40))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"dim": 0}, "dim must be a positive integer, got 0"), ({"rounds": 5}, "rounds must be .*6.*, got 5")],
)
def test_a_scenario_that_is_too_small_is_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Scenario(**options)  # type: ignore[arg-type]  # on purpose


def test_the_error_for_an_exception_names_its_line() -> None:
    class Typo(FTM):
        def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
            return v + state.momentum, state.memory

    policy: Policy[Any] = Typo()
    with pytest.raises(CheckError, match=r"^shapes: decide \(line \d+ of test_scenario.py\) raised ") as caught:
        check_policy(policy)
    assert isinstance(caught.value.__cause__, AttributeError)
    assert f"line {Typo.decide.__code__.co_firstlineno + 1} of" in str(caught.value)
