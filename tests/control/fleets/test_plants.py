"""The plants of a fleet: a call is computed before it takes effect, and a replay uses the recorded actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import POL, RLS
from soqo._control.fleets.plants import Plants
from soqo._control.fleets.records import ActCall, FleetCall, JoinCall, LeaveCall, ObserveCall, RestartCall
from soqo._control.fleets.snapshot import FleetSnapshot

NO_EXTRAS: dict[str, Any] = {"forecast": None, "context": None, "factor": None, "active": None}


def plants_of(count: int, **settings: Any) -> Plants:
    """Plants of POL with the names 0, 1, 2, ..."""
    nothing = np.zeros(0, dtype=np.int64)
    fields: dict[str, Any] = {"horizon": None, "seed": 0, "max_delay": 0, "low": None, "high": None} | settings
    plants = Plants(
        FleetSnapshot(
            policy=POL(0.1),
            dim=1,
            switching_weight=None,
            names=(),
            numbers=nothing,
            missed=nothing,
            begun=0,
            batches=(),
            **fields,
        )
    )
    plants.begin(range(count), np.zeros((count, 1)))
    return plants


def test_a_call_takes_effect_when_it_is_stored() -> None:
    plants = plants_of(2)
    before = plants.snapshot()
    x, change = plants.act(np.array([0, 1]), np.ones((2, 1)), NO_EXTRAS)
    assert plants.snapshot() == before
    plants.store(change)
    np.testing.assert_array_equal(plants.status([0, 1]).x, x)
    after = plants.snapshot()
    change = plants.observe(ObserveCall(np.array([1]), np.array([0.5])))
    assert plants.snapshot() == after
    plants.store(change)
    assert plants.status([0, 1]).pending.tolist() == [True, False]


def test_a_replay_ends_where_the_calls_did_with_the_actions_of_the_records() -> None:
    plants, replayed = plants_of(2), plants_of(2)
    v, y = np.array([[1.0], [2.0]]), np.array([0.5, np.nan])
    both = np.array([1, 0])
    x, change = plants.act(both, v, NO_EXTRAS)
    plants.store(change)
    plants.store(plants.observe(ObserveCall(both, y)))
    plants.begin(["new"], np.array([[5.0]]))
    plants.begin([0], np.array([[6.0]]))
    plants.leave([1])
    calls: list[FleetCall] = [
        ActCall(both, v, x),
        ObserveCall(both, y),
        JoinCall(("new",), np.array([[5.0]])),
        RestartCall((0,), np.array([[6.0]])),
        LeaveCall((1,)),
    ]
    for call in calls:
        replayed.replay(call)
    assert replayed.snapshot() == plants.snapshot()
    assert replayed.begun == 4
    # An action that another processor computed a little differently is where the plant is.
    replayed.replay(ActCall(np.array([2]), np.array([[1.0]]), np.array([[0.75]])))
    np.testing.assert_array_equal(replayed.status(["new"]).x, [[0.75]])


@pytest.mark.parametrize("max_delay", [0, 1, 2])
def test_a_round_is_missed_when_it_can_have_no_reading_any_more(max_delay: int) -> None:
    plants = plants_of(1, max_delay=max_delay)
    one = np.array([0])
    missed = []
    for t in range(5):
        _, change = plants.act(one, np.full((1, 1), float(t)), NO_EXTRAS)
        plants.store(change)
        missed.append(int(plants.status([0]).missed[0]))
    # Round k is closed by the action of round k + 1 + max_delay.
    assert missed == [max(0, t - max_delay) for t in range(5)]
    plants.store(plants.observe(ObserveCall(one, np.array([np.nan]))))
    assert int(plants.status([0]).missed[0]) == missed[-1] + (max_delay == 0)


def test_rounds_are_counted_by_each_plant() -> None:
    plants = plants_of(2, max_delay=1)
    for numbers in ([0], [0], [0, 1]):
        _, change = plants.act(np.array(numbers), np.ones((len(numbers), 1)), NO_EXTRAS)
        plants.store(change)
    assert plants.status([0, 1]).rounds.tolist() == [3, 1]
    for rounds, expected in (([3, 1], [True, True]), ([2, 1], [True, True]), ([1, 2], [False, False])):
        assert plants.is_open([0, 1], np.array(rounds)).tolist() == expected
    plants.store(plants.observe(ObserveCall(np.array([0, 1]), np.array([0.5, np.nan]), rounds=np.array([2, 1]))))
    assert plants.is_open([0, 1], np.array([2, 1])).tolist() == [False, True]


def test_a_snapshot_restores_the_plants() -> None:
    plants = plants_of(3)
    _, change = plants.act(np.array([2, 0]), np.ones((2, 1)), NO_EXTRAS)
    plants.store(change)
    again = Plants(plants.snapshot())
    assert again.snapshot() == plants.snapshot()
    assert again.player == POL(0.1) != RLS()
