"""Readings that come late, against what the same pairs teach in the order in which they arrive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, POL, RLS, Guarded, Limited, Policy, SCaLE, Weighted
from soqo.errors import ArgumentError, ProtocolError

RATE = 0.05
A = np.diag([1.0, 2.0])


def gradient_steps(pairs: list[tuple[Any, float]]) -> Any:
    """The estimate of POL after these pairs of u and y, by the definition: no projection is needed here."""
    estimate = np.eye(2)
    for u, y in pairs:
        estimate = estimate + RATE * 0.5 * (y - 0.5 * u @ estimate @ u) * np.outer(u, u)
        assert np.linalg.eigvalsh(estimate)[0] > 0.0
    return estimate


def play_late(policy: Policy[Any], arrivals: dict[int, list[int]], *, max_delay: int) -> tuple[Any, Any, list[int]]:
    """Play len(arrivals) rounds; after round t, the readings of the rounds arrivals[t] arrive in that order."""
    rng = np.random.default_rng(3)
    state = policy.start(np.zeros(2), max_delay=max_delay)
    u, order = {}, []
    for t, rounds in arrivals.items():
        v = rng.standard_normal(2)
        x, state = policy.act(state, v)
        u[t] = x - v
        for k in rounds:
            state = policy.observe(state, 0.5 * u[k] @ A @ u[k], round=k)
            order.append(k)
    return state, u, order


ARRIVALS = {
    "one round late": {1: [], 2: [1], 3: [2], 4: [3], 5: [4]},
    "in any order": {1: [], 2: [], 3: [3, 1], 4: [], 5: [4, 5, 2]},
    "some lost": {1: [], 2: [], 3: [], 4: [2, 4], 5: []},
}


@pytest.mark.parametrize("arrivals", ARRIVALS.values(), ids=ARRIVALS)
def test_a_learner_takes_one_gradient_step_for_each_reading_with_the_action_of_its_own_round(arrivals: Any) -> None:
    policy = POL(RATE)
    state, u, order = play_late(policy, arrivals, max_delay=3)
    expected = gradient_steps([(u[k], 0.5 * u[k] @ A @ u[k]) for k in order])
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], expected, rtol=1e-12)


@pytest.mark.parametrize("arrivals", ARRIVALS.values(), ids=ARRIVALS)
def test_least_squares_does_not_depend_on_the_order(arrivals: Any) -> None:
    policy = RLS(noise=0.5, prior_deviation=2.0)
    state, u, order = play_late(policy, arrivals, max_delay=3)
    rows = np.array([[0.5 * u[k][0] ** 2, 0.5 * u[k][1] ** 2, u[k][0] * u[k][1] / np.sqrt(2.0)] for k in order])
    y = np.array([0.5 * u[k] @ A @ u[k] for k in order])
    prior = np.array([1.0, 1.0, 0.0])
    precision = rows.T @ rows / 0.25 + np.eye(3) / 4.0
    a, b, c = np.linalg.solve(precision, rows.T @ y / 0.25 + prior / 4.0)
    expected = np.array([[a, c / np.sqrt(2.0)], [c / np.sqrt(2.0), b]])
    assert np.linalg.eigvalsh(expected)[0] > 0.0
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], expected, rtol=1e-9)


W = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.mark.parametrize("arrivals", ARRIVALS.values(), ids=ARRIVALS)
@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: Limited(inner, low=-0.4, high=[0.3, 2.0]),
        lambda inner: Guarded(inner, 1e9),
        lambda inner: Limited(Guarded(inner, 1e9), low=-0.4, high=0.4),
    ],
    ids=["Limited", "Guarded", "Limited Guarded"],
)
def test_the_policy_inside_of_a_wrapper_learns_the_applied_action_of_the_round(wrap: Any, arrivals: Any) -> None:
    policy = wrap(POL(RATE))
    state, u, order = play_late(policy, arrivals, max_delay=3)
    expected = gradient_steps([(u[k], 0.5 * u[k] @ A @ u[k]) for k in order])
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], expected, rtol=1e-12)


def test_a_policy_in_other_coordinates_learns_the_plain_pair() -> None:
    policy = Limited(Weighted(POL(RATE), W), low=-0.5, high=0.5)
    state, u, order = play_late(policy, ARRIVALS["in any order"], max_delay=3)
    values, vectors = np.linalg.eigh(W)
    root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    plain = gradient_steps([(root @ u[k], 0.5 * u[k] @ A @ u[k]) for k in order])
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], root @ plain @ root, rtol=1e-9)


@pytest.mark.parametrize("outer", [Limited(LAI(np.eye(1)), high=1.0), Limited(Guarded(LAI(np.eye(1)), 1e9), high=1.0)])
def test_a_wrapped_policy_continues_from_the_clipped_action_while_its_reading_is_outstanding(outer: Any) -> None:
    state = outer.start(np.zeros(1), 2, max_delay=5)
    x, state = outer.act(state, [8.0])
    np.testing.assert_array_equal(x, [1.0])
    x, _ = outer.act(state, [0.0])  # the last round: halfway from 1 to 0
    np.testing.assert_allclose(x, [0.5])


def test_a_round_is_open_for_the_largest_delay_and_then_closed() -> None:
    policy = POL(RATE)
    state = policy.start(np.zeros((2, 2)), max_delay=2)
    for t in range(1, 6):
        _, state = policy.act(state, np.full((2, 2), float(t)))
        assert [one.round for one in state.open_rounds] == list(range(max(1, t - 2), t))
    with pytest.raises(ProtocolError, match=r"round 2 is closed: open are 3, 4, 5; the reading was not used"):
        policy.observe(state, [1.0, 1.0], round=2)
    with pytest.raises(ArgumentError, match=r"round must have been played, got 6 while open are 3, 4, 5"):
        policy.observe(state, [1.0, 1.0], round=6)
    with pytest.raises(ArgumentError, match=r"round must be a positive integer, got 0"):
        policy.observe(state, [1.0, 1.0], round=0)


def test_a_round_stays_open_for_the_runs_that_have_had_no_reading() -> None:
    policy = POL(RATE)
    state = policy.start(np.zeros((2, 2)), max_delay=2)
    _, state = policy.act(state, np.ones((2, 2)))
    state = policy.observe(state, [0.5, np.nan])
    assert state.pending
    with pytest.raises(ProtocolError, match=r"round 1 has had its reading in run \[0\]"):
        policy.observe(state, [0.5, 0.5])
    _, state = policy.act(state, np.full((2, 2), 2.0))
    np.testing.assert_array_equal(state.open_rounds[0].awaiting, [False, True])
    with pytest.raises(ProtocolError, match=r"round 1 has had its reading in run \[0\]"):
        policy.observe(state, [0.5, 0.5], round=1)
    state = policy.observe(state, [np.nan, 0.5], round=1)
    assert state.open_rounds == ()
    with pytest.raises(ProtocolError, match="round 1 has had its reading: open are 2; the reading was not used"):
        policy.observe(state, [np.nan, 0.5], round=1)
    state = policy.observe(state, [0.1, 0.1])
    with pytest.raises(ProtocolError, match="round 2, the current one, has had its reading: give round"):
        policy.observe(state, [0.1, 0.1])


def test_without_a_delay_only_the_current_round_is_open() -> None:
    policy = FTM()
    _, state = policy.act(policy.start([0.0]), [1.0])
    assert not policy.observe(state, 0.0, round=1).pending
    _, state = policy.act(state, [1.0])
    with pytest.raises(ProtocolError, match=r"round 1 is closed: open are 2"):
        policy.observe(state, 0.0, round=1)


def test_an_applied_action_of_an_earlier_round_belongs_to_its_reading_and_moves_nothing() -> None:
    policy = POL(RATE)
    state = policy.start(np.zeros(2), max_delay=2)
    v, applied = np.array([1.0, -2.0]), np.array([0.5, 0.25])
    _, state = policy.act(state, v)
    x, state = policy.act(state, -v)
    state = policy.observe(state, 3.0, round=1, applied=applied)
    np.testing.assert_array_equal(state.x, x)
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], gradient_steps([(applied - v, 3.0)]))
    state = policy.observe(state, 2.0)
    _, state = policy.act(state, v)
    _, state = policy.act(state, v)
    state = policy.observe(state, np.nan, round=3, applied=v + 1.0)  # told before the reading arrives
    state = policy.observe(state, 0.5, round=3)
    expected = gradient_steps([(applied - v, 3.0), (x + v, 2.0), (np.ones(2), 0.5)])
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], expected)


def test_an_applied_action_of_the_current_round_moves_the_plant_and_belongs_to_its_late_reading() -> None:
    policy = Weighted(POL(RATE))
    state = policy.start(np.zeros(2), max_delay=2)
    v, applied = np.array([1.0, -2.0]), np.array([0.5, 0.25])
    _, state = policy.act(state, v)
    state = policy.observe(state, np.nan, applied=applied)
    np.testing.assert_array_equal(state.x, applied)
    x, state = policy.act(state, applied)
    np.testing.assert_array_equal(x, applied)  # which is where the plant was
    state = policy.observe(state, 3.0, round=1)
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], gradient_steps([(applied - v, 3.0)]))


def test_the_context_and_the_factor_of_a_late_reading_are_those_of_its_round() -> None:
    seen = []

    class Watch(FTM):
        def learn(self, state: Any, y: Any) -> None:
            if not np.isnan(y).all():
                seen.append((state.round, state.context.tolist(), float(state.factor)))

    policy = Limited(Weighted(Guarded(Watch()), 2.0), high=9.0)
    state = policy.start(np.zeros(1), max_delay=3)
    for t in (1, 2, 3):
        _, state = policy.act(state, [1.0], context=[float(t), 0.0], factor=0.5 * t)
    for k in (2, 1, 3):
        state = policy.observe(state, 0.1, round=k)
    assert seen == [(2, [2.0, 0.0], 1.0), (1, [1.0, 0.0], 0.5), (3, [3.0, 0.0], 1.5)]


def test_the_probes_of_scale_keep_their_late_readings() -> None:
    policy = SCaLE(0.1, 1, min_eigenvalue=0.5, c1=2.0, gamma2=4.0)
    state, rng = policy.start(np.zeros((2, 2)), rng=0, max_delay=2), np.random.default_rng(1)
    for _ in range(2):
        _, state = policy.act(state, rng.standard_normal((2, 2)))
    state = policy.observe(state, [1.0, np.nan], round=1)
    state = policy.observe(state, [np.nan, 2.0], round=1)
    np.testing.assert_array_equal(state.memory.y[:, 0], [1.0, 2.0])
