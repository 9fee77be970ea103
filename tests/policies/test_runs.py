"""Batches that are split and joined: the same actions, to the bit, as each run alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, POL, RLS, Guarded, HySCaLE, Policy, SCaLE
from soqo.errors import ArgumentError
from soqo.policies import wrap_for_plant

DIM, PLANTS, ROUNDS = 3, 5, 70
CURVATURES = np.stack([np.diag([2.0, 1.0, 0.5]) * (1.0 + 0.3 * k) for k in range(PLANTS)])
WALK = np.cumsum(np.random.default_rng(0).standard_normal((ROUNDS, PLANTS, DIM)), axis=0)
NOISE = np.random.default_rng(1).uniform(-0.1, 0.1, (ROUNDS, PLANTS))

MIXING: dict[str, Policy[Any]] = {
    "FTM": FTM(),
    "LAI": LAI(CURVATURES[0]),
    "POL": POL(0.01),
    "RLS": RLS(),
    "GLIDE": GLIDE(),
    "GLIDE, guarded": Guarded(GLIDE()),
    "GLIDE, weighted and limited": wrap_for_plant(GLIDE(), switching_weight=[1.0, 4.0, 0.5], low=-4.0, high=4.0),
}
"""Policies for which runs of any clock are one batch."""


def reading(plant: int, t: int, x: Any) -> float:
    """The reading of a plant in its round t, with an outlier and, for every second plant, a change of A."""
    u = x - WALK[t, plant]
    factor = 4.0 if plant % 2 and t > 45 else 1.0
    return float(0.5 * factor * u @ CURVATURES[plant] @ u + NOISE[t, plant] + 30.0 * (t == 30))


def alone(policy: Policy[Any], plant: int) -> tuple[Any, Any]:
    """The actions of one plant by itself, as a batch (), and its last state."""
    state, actions = policy.start(np.zeros(DIM)), []
    for t in range(ROUNDS):
        x, state = policy.act(state, WALK[t, plant])
        state = policy.observe(state, reading(plant, t, x))
        actions.append(x)
    return np.array(actions), state


@pytest.mark.parametrize("name", MIXING)
def test_plants_on_their_own_clocks_act_as_each_would_alone_to_the_bit(name: str) -> None:
    policy, rng = MIXING[name], np.random.default_rng(2)
    expected = [alone(policy, plant) for plant in range(PLANTS)]
    states = [policy.start(np.zeros((1, DIM))) for _ in range(PLANTS)]
    clock = np.zeros(PLANTS, dtype=int)
    while (clock < ROUNDS).any():
        some = [plant for plant in rng.permutation(PLANTS).tolist() if clock[plant] < ROUNDS and rng.random() < 0.6]
        if not some:
            continue
        state = policy.join([states[plant] for plant in some])
        x, state = policy.act(state, np.stack([WALK[clock[plant], plant] for plant in some]))
        y = [reading(plant, clock[plant], x[row]) for row, plant in enumerate(some)]
        state = policy.observe(state, y)
        for row, plant in enumerate(some):
            np.testing.assert_array_equal(x[row], expected[plant][0][clock[plant]])
            states[plant] = policy.take(state, [row])
        clock[some] += 1
    assert len(set(clock)) == 1
    whole = policy.diagnostics(policy.join(states))
    for plant, (_, last) in enumerate(expected):
        assert policy.explain(states[plant]) == policy.explain(last)
        for key, value in policy.diagnostics(last).items():
            np.testing.assert_array_equal(whole[key][plant], value)


def test_a_joined_batch_counts_the_rounds_of_each_run() -> None:
    policy = POL(0.1)
    old = policy.start(np.zeros((2, 1)))
    for _ in range(3):
        _, old = policy.act(old, np.ones((2, 1)))
        old = policy.observe(old, [0.1, 0.2])
    both = policy.join([policy.start(np.ones((1, 1))), old])
    np.testing.assert_array_equal(both.own_round, [0, 3, 3])
    np.testing.assert_array_equal(both.x[0], [1.0])
    assert policy.take(both, [0]).own_round == 0
    assert policy.take(both, [2, 1]).own_round == 3
    assert old.began is None


def test_states_with_a_horizon_are_joined_in_the_same_round_only() -> None:
    policy = POL(0.1)
    first = policy.start(np.zeros((1, 1)), horizon=5)
    _, later = policy.act(first, [[1.0]])
    later = policy.observe(later, [0.1])
    assert policy.join([first, first]).batch_shape == (2,)
    with pytest.raises(ArgumentError, match="same batch_key"):
        policy.join([first, later])


@pytest.mark.parametrize("kind", [SCaLE, HySCaLE])
def test_a_policy_that_indexes_its_memory_by_the_round_does_not_mix_rounds(kind: type[SCaLE]) -> None:
    policy = kind(noise_cap=0.1, rank=1, min_eigenvalue=0.5, gamma2=1.0)
    rngs = [np.random.default_rng(k) for k in range(2)]
    first, other = (policy.start(np.zeros((1, DIM)), None, [rng]) for rng in rngs)
    _, later = policy.act(other, np.ones((1, DIM)))
    later = policy.observe(later, [0.1])
    assert policy.batch_key(first) == policy.batch_key(other)
    assert policy.batch_key(first) != policy.batch_key(later)


def test_a_pending_state_is_not_joined_with_one_that_is_not() -> None:
    state = FTM().start(np.zeros((1, 1)))
    _, acted = FTM().act(state, [[1.0]])
    with pytest.raises(ArgumentError, match="same batch_key"):
        FTM().join([state, acted])
    with pytest.raises(ArgumentError, match="got different ones or none"):
        FTM().join([])


def test_a_context_in_one_state_only_keeps_them_apart() -> None:
    state = GLIDE().start(np.zeros((1, 2)))
    _, with_context = GLIDE().act(state, [[1.0, 2.0]], context=[[0.5]])
    _, without = GLIDE().act(state, [[1.0, 2.0]])
    assert GLIDE().batch_key(with_context) != GLIDE().batch_key(without)


def test_runs_with_other_open_rounds_keep_them() -> None:
    policy = POL(0.1)
    first = policy.start(np.zeros((1, 1)), max_delay=2)
    second = first
    for t in range(3):
        _, first = policy.act(first, [[1.0 + t]])
        first = policy.observe(first, [0.5])
        _, second = policy.act(second, [[2.0 + t]])
    both = policy.join([first, second])
    assert [(one.round, one.awaiting.tolist()) for one in both.open_rounds] == [(1, [False, True]), (2, [False, True])]
    assert both.awaiting is not None
    np.testing.assert_array_equal(both.awaiting, [False, True])
    back = policy.take(both, [1])
    np.testing.assert_array_equal(back.open_rounds[0].v, second.open_rounds[0].v)
    assert not policy.take(both, [0]).pending
    assert policy.take(both, [0]).open_rounds == ()
    later = policy.observe(both, [np.nan, 0.3], round=2)
    alone_later = policy.observe(second, [0.3], round=2)
    np.testing.assert_array_equal(
        policy.diagnostics(later)["estimate"][1], policy.diagnostics(alone_later)["estimate"][0]
    )


@pytest.mark.parametrize("index", [[3], [-1], [], [0.5], 1, [[0]], "a"])
def test_a_wrong_index_is_refused(index: Any) -> None:
    state = FTM().start(np.zeros((3, 1)))
    with pytest.raises(ArgumentError, match="index must be"):
        FTM().take(state, index)


def test_only_a_sequence_of_runs_can_be_split() -> None:
    with pytest.raises(ArgumentError, match=r"state must have a batch of shape \(n,\), got \(\)"):
        FTM().take(FTM().start(np.zeros(2)), [0])
    with pytest.raises(ArgumentError, match=r"got \(2, 2\)"):
        FTM().join([FTM().start(np.zeros((2, 2, 1)))])
