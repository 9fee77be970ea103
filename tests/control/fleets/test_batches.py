"""Batches of plants: what is joined, what is moved, and what is left behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo import POL, SCaLE
from soqo._control.fleets.batches import Batches


def batches_of(plants: int, **options: Any) -> Batches:
    """Batches with one batch of POL, whose plants are at 0, 1, 2, ..."""
    batches = Batches(POL(0.1))
    start = POL(0.1).start(np.arange(float(plants))[:, None], **options)
    batches.put(start, range(plants))
    return batches


def test_the_same_plants_in_the_same_order_are_not_copied() -> None:
    batches = batches_of(3)
    (first,), (again,) = batches.select([0, 1, 2]), batches.select([0, 1, 2])
    assert first.state is again.state
    (turned,) = batches.select([2, 0, 1])
    np.testing.assert_array_equal(turned.state.x[:, 0], [2.0, 0.0, 1.0])
    np.testing.assert_array_equal(turned.places, [0, 1, 2])


def test_plants_that_act_together_are_left_together() -> None:
    policy, batches = POL(0.1), batches_of(4)
    (part,) = batches.select([3, 1])
    _, after = policy.act(part.state, [[5.0], [6.0]])
    batches.put(after, [3, 1])
    (same,) = batches.select([3, 1])
    assert same.state is after
    np.testing.assert_array_equal(batches.state_of(2).x, [[2.0]])
    states = [state.batch_shape for state, _ in batches.all()]
    assert sorted(states) == [(2,), (2,)]


def test_pending_plants_are_apart_until_their_readings_count_as_missed() -> None:
    policy, batches = POL(0.1), batches_of(3)
    (part,) = batches.select([1])
    _, after = policy.act(part.state, [[5.0]])
    batches.put(after, [1])
    assert [part.places.tolist() for part in batches.select([0, 1, 2])] == [[0, 2], [1]]
    (joined,) = batches.select([2, 1, 0], settle=True)
    np.testing.assert_array_equal(joined.state.own_round, [0, 1, 0])
    assert not joined.state.pending
    assert batches.state_of(1).pending


def test_plants_in_other_rounds_stay_apart_if_there_is_a_horizon() -> None:
    policy, batches = POL(0.1), batches_of(2, horizon=9)
    (part,) = batches.select([1])
    _, after = policy.act(part.state, [[5.0]])
    batches.put(policy.observe(after, [0.1]), [1])
    assert [part.places.tolist() for part in batches.select([0, 1])] == [[0], [1]]


def test_plants_that_have_left_do_not_fill_the_memory() -> None:
    batches = batches_of(8)
    batches.drop([0, 1, 2])
    ((state, rows, _),) = batches.locate([7])
    assert (len(state.x), rows.tolist()) == (8, [7])
    batches.drop([3])
    ((state, rows, _),) = batches.locate([7])
    assert (len(state.x), rows.tolist()) == (4, [3])
    batches.drop([5])
    ((state, plants),) = batches.all()
    np.testing.assert_array_equal(state.x[:, 0], [4.0, 6.0, 7.0])
    np.testing.assert_array_equal(plants, [4, 6, 7])


def test_policies_that_draw_keep_the_draws_of_each_plant() -> None:
    policy = SCaLE(0.1, 1, min_eigenvalue=0.5, gamma2=1.0)
    rng = [np.random.default_rng(k) for k in range(3)]
    start = policy.start(np.zeros((3, 2)), 30, rng)
    batches = Batches(policy)
    batches.put(start, [10, 11, 12])
    (part,) = batches.select([12, 10])
    np.testing.assert_array_equal(part.state.memory.probes, start.memory.probes[[2, 0]])
