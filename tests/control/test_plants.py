"""Batches of plants: what is joined, what is moved, what is left behind, and when a call takes effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, OAL, POL, RLS, ROBD, Guarded, HySCaLE, Policy, SCaLE
from soqo._control.calls import ALONE, Call
from soqo._control.plants import Plants
from soqo.typing import Array

SCALE: dict[str, Any] = {"noise_cap": 0.5, "rank": 2, "min_eigenvalue": 0.5}
A = np.array([[2.0, 0.5], [0.5, 1.0]])
POLICIES: dict[str, Policy[Any]] = {
    "FTM": FTM(),
    "LAI": LAI(A),
    "ROBD": ROBD(A, lambda1=2.0, lambda2=0.5),
    "POL": POL(1e-3),
    "OAL": OAL(1e-3),
    "RLS": RLS(),
    "SCaLE": SCaLE(**SCALE, gamma2=1.0),
    "HySCaLE": HySCaLE(**SCALE, learning_rate=1e-4),
    "GLIDE": GLIDE(),
    "Guarded": Guarded(GLIDE()),
}


def plants_of(count: int, policy: Policy[Any] | None = None, **options: Any) -> Plants:
    """One batch of POL, whose plants are at 0, 1, 2, ..."""
    player, plants = POL(0.1) if policy is None else policy, Plants()
    plants.put(player, player.start(np.arange(float(count))[:, None], **options), np.arange(count))
    return plants


def act(plants: Plants, numbers: Any, v: Any) -> Array:
    """Let some plants act, and return their actions."""
    change = plants.act(Call("act", {"v": np.asarray(v, dtype=float)}, np.asarray(numbers)))
    plants.store(change)
    assert change.x is not None
    return change.x


def observe(plants: Plants, numbers: Any, y: Any, **told: Any) -> None:
    """Let some plants have readings."""
    plants.store(plants.observe(Call("observe", {"y": np.asarray(y), **told}, np.asarray(numbers))))


def test_the_same_plants_in_the_same_order_are_not_copied() -> None:
    plants, order = plants_of(3), np.arange(3)
    (first,), (again,) = plants.select(order), plants.select(order)
    assert first.state is again.state
    (turned,) = plants.select(np.array([2, 0, 1]))
    np.testing.assert_array_equal(turned.state.x[:, 0], [2.0, 0.0, 1.0])


def test_plants_that_act_together_are_left_together() -> None:
    plants, both = plants_of(4), np.array([3, 1])
    act(plants, both, [[5.0], [6.0]])
    (one,), (same,) = plants.select(both), plants.select(both)
    assert one.state is same.state
    np.testing.assert_array_equal(plants.part_of(np.array([2])).state.x, [[2.0]])
    assert sorted(batch.state.batch_shape for batch in plants.all()) == [(2,), (2,)]


def test_pending_plants_are_apart_until_their_readings_count_as_missed() -> None:
    plants, one = plants_of(3), np.array([1])
    act(plants, one, [[5.0]])
    assert [part.places.tolist() for part in plants.select(np.arange(3))] == [[0, 2], [1]]
    (joined,) = plants.select(np.array([2, 1, 0]), settle=True)
    np.testing.assert_array_equal(joined.state.own_round, [0, 1, 0])
    assert not joined.state.pending
    assert plants.part_of(one).state.pending


def test_plants_in_other_rounds_stay_apart_if_there_is_a_horizon() -> None:
    plants = plants_of(2, horizon=9)
    act(plants, [1], [[5.0]])
    observe(plants, [1], [0.1])
    assert [part.places.tolist() for part in plants.select(np.arange(2))] == [[0], [1]]


def test_plants_of_several_policies_act_in_one_call() -> None:
    plants = Plants()
    plants.put(FTM(), FTM().start(np.zeros((2, 1))), np.array([0, 2]))
    plants.put(POL(0.1), POL(0.1).start(np.zeros((2, 1))), np.array([3, 1]))
    order = np.array([3, 2, 1, 0])
    x = act(plants, order, [[1.0], [2.0], [3.0], [4.0]])
    expected, _ = POL(0.1).act(POL(0.1).start(np.zeros((2, 1))), [[1.0], [3.0]])
    np.testing.assert_array_equal(x, [expected[0], [2.0], expected[1], [4.0]])
    observe(plants, [0, 1, 2, 3], np.ones(4))
    assert not plants.status(order, 1).pending.any()


def test_plants_that_have_left_do_not_fill_the_memory() -> None:
    plants = plants_of(8)
    plants.drop(np.array([0, 1, 2]))
    plants.drop(np.array([3]))
    plants.drop(np.array([5]))
    (batch,) = plants.all()
    np.testing.assert_array_equal(batch.state.x[:, 0], [4.0, 6.0, 7.0])
    np.testing.assert_array_equal(batch.plants, [4, 6, 7])


def test_policies_that_draw_keep_the_draws_of_each_plant() -> None:
    policy, plants = SCaLE(0.1, 1, min_eigenvalue=0.5, gamma2=1.0), Plants()
    start = policy.start(np.zeros((3, 2)), 30, [np.random.default_rng(k) for k in range(3)])
    plants.put(policy, start, np.array([10, 11, 12]))
    (part,) = plants.select(np.array([12, 10]))
    np.testing.assert_array_equal(part.state.memory.probes, start.memory.probes[[2, 0]])


def test_a_call_takes_effect_when_it_is_stored() -> None:
    plants, both = plants_of(2), np.arange(2)
    before = plants.status(both, 1)
    change = plants.act(Call("act", {"v": np.ones((2, 1))}, both))
    np.testing.assert_equal(plants.status(both, 1), before)
    plants.store(change)
    np.testing.assert_array_equal(plants.status(both, 1).x, change.x)
    reading = plants.observe(Call("observe", {"y": np.array([0.5])}, np.array([1])))
    assert plants.status(both, 1).pending.all()
    plants.store(reading)
    assert plants.status(both, 1).pending.tolist() == [True, False]


@pytest.mark.parametrize("max_delay", [0, 1, 2])
def test_a_round_is_missed_when_it_can_have_no_reading_any_more(max_delay: int) -> None:
    plants, one, missed = plants_of(1, max_delay=max_delay), np.array([0]), []
    for t in range(5):
        act(plants, one, [[float(t)]])
        missed.append(int(plants.missed[0]))
    # Round k is closed by the action of round k + 1 + max_delay.
    assert missed == [max(0, t - max_delay) for t in range(5)]
    observe(plants, one, [np.nan])
    assert int(plants.missed[0]) == missed[-1] + (max_delay == 0)


def test_rounds_are_counted_by_each_plant() -> None:
    plants, both = plants_of(2, max_delay=1), np.arange(2)
    for numbers in ([0], [0], [0, 1]):
        act(plants, numbers, np.ones((len(numbers), 1)))
    assert plants.status(both, 1).rounds.tolist() == [3, 1]
    for rounds, expected in (([3, 1], [True, True]), ([2, 1], [True, True]), ([1, 2], [False, False])):
        assert plants.is_open(both, np.array(rounds)).tolist() == expected
    observe(plants, both, [0.5, np.nan], round=np.array([2, 1]))
    assert plants.is_open(both, np.array([2, 1])).tolist() == [False, True]


@pytest.mark.parametrize("name", POLICIES)
def test_a_plant_without_an_axis_acts_as_one_of_a_batch(name: str) -> None:
    """To the last digit but one: with an axis, BLAS may add in another order."""
    policy, rng = POLICIES[name], np.random.default_rng(0)
    plants, many = Plants(), np.arange(1, 4)
    plants.put(policy, policy.start(np.zeros(2), 40, np.random.default_rng(5)), ALONE)
    plants.put(policy, policy.start(np.zeros((3, 2)), 40, [np.random.default_rng(5) for _ in range(3)]), many)
    for t in range(40):
        v = 3.0 * rng.standard_normal(2)
        x = act(plants, ALONE, v)
        together = act(plants, many, np.tile(v, (3, 1)))
        np.testing.assert_allclose(together, np.tile(x, (3, 1)), rtol=1e-9, atol=1e-9)
        y = 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-0.1, 0.1) if t % 7 else np.nan
        told = {} if t % 3 else {"applied": x + 0.125}
        observe(plants, ALONE, y, **told)
        observe(plants, many, np.full(3, y), **{key: np.tile(value, (3, 1)) for key, value in told.items()})
    np.testing.assert_array_equal(plants.missed[:4], plants.missed[0])
