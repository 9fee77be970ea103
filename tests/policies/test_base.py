"""The contract of a policy, on small policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, POL, Policy, State
from soqo.errors import ArgumentError, ProtocolError


@dataclass(frozen=True)
class InfiniteAction(Policy[None]):
    """A policy that asks for an infinite action in the second round of its first run."""

    def decide(self, state: State[None], v: Any) -> tuple[Any, None]:
        x = v.copy()
        if state.round == 1:
            x[0] = np.inf
        return x, None


def test_a_non_finite_action_is_not_applied_and_is_reported() -> None:
    policy = InfiniteAction()
    state = policy.start(np.zeros((2, 3)), horizon=5)
    for t in range(3):
        x, state = policy.act(state, np.full((2, 3), float(t)))
        state = policy.observe(state, np.zeros(2))
        if t == 1:
            np.testing.assert_array_equal(x, [[0.0] * 3, [1.0] * 3])
    np.testing.assert_array_equal(policy.diverged(state), [True, False])
    np.testing.assert_array_equal(policy.diagnostics(state)["diverged"], [True, False])


def test_observe_before_act_is_refused() -> None:
    policy = FTM()
    state = policy.start(np.zeros(2), horizon=3)
    with pytest.raises(ProtocolError, match="observe was called before act"):
        policy.observe(state, 0.0)
    _, state = policy.act(state, np.ones(2))
    state = policy.observe(state, 0.0)
    with pytest.raises(ProtocolError, match="observe was called before act"):
        policy.observe(state, 0.0)


def test_acting_after_the_last_round_is_refused() -> None:
    policy = FTM()
    _, state = policy.act(policy.start(np.zeros(2), horizon=1), np.ones(2))
    with pytest.raises(ProtocolError, match="after the last round, horizon = 1"):
        policy.act(state, np.ones(2))


def test_the_next_round_starts_from_the_applied_action() -> None:
    policy = LAI(np.eye(1))
    _, state = policy.act(policy.start(np.zeros(1), 2), [4.0])
    state = policy.observe(state, 1.0, applied=[3.0])
    x, _ = policy.act(state, [1.0])  # the last round: halfway from 3 to 1
    np.testing.assert_allclose(x, [2.0])


def test_a_learner_learns_from_the_applied_action() -> None:
    policy = POL(learning_rate=0.1)
    _, state = policy.act(policy.start(np.zeros(1), 2), [5.0])
    state = policy.observe(state, 4.0, applied=[3.0])  # u = -2
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], [[1.4]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, s, _: p.act(s, np.zeros(3)), r"v must have shape \(4, 2\), got \(3,\)"),
        (
            lambda p, s, _: p.act(s, np.full((4, 2), np.nan)),
            r"v must be finite, got nan at \[0, 0\]",
        ),
        (lambda p, s, _: p.act((0, s), np.zeros((4, 2))), "state must be a State, got tuple"),
        (lambda p, s, _: p.act(s, "here"), "v must be an array of real numbers, got str"),
        (lambda p, _, a: p.observe(a, 1.0), r"y must have shape \(4,\), got \(\)"),
        (
            lambda p, _, a: p.observe(a, [0, 0, 0, -np.inf]),
            "y must be finite, or NaN for no reading",
        ),
        (lambda p, _, a: p.observe(a, "loud"), "y must be an array of real numbers, got str"),
        (
            lambda p, _, a: p.observe(a, np.zeros(4), applied=np.zeros(2)),
            r"applied must have shape \(4, 2\), got \(2,\)",
        ),
        (lambda p, *_: p.start(3.0), r"x0 must have shape \(\*batch, d\), got \(\)"),
        (lambda p, *_: p.start([np.inf]), "x0 must be finite, got inf"),
        (
            lambda p, *_: p.start([0.0], horizon=2.5),
            "horizon must be a positive integer, got 2.5",
        ),
    ],
)
def test_an_invalid_argument_is_named_and_changes_nothing(call: Any, message: str) -> None:
    policy = POL(learning_rate=0.1)
    state = policy.start(np.zeros((4, 2)), horizon=5)
    _, acted = policy.act(state, np.ones((4, 2)))
    _, twin = policy.act(policy.start(np.zeros((4, 2)), horizon=5), np.ones((4, 2)))
    with pytest.raises(ArgumentError, match=message):
        call(policy, state, acted)
    assert acted == twin
