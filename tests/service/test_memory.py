"""Plants in memory: rebuilt from any snapshot and the calls behind it, and in step with other servers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from service_fixtures import Conditions, undisturbed
from soqo.errors import FileFormatError, UnknownNameError
from soqo.service._memory import Memory
from soqo.service._schemas import PlantSettings, Reading, RoundRequest
from soqo.service._steering import Step, compute, take_effect
from soqo.service._store import Record, Snapshot, Store

SETTINGS = PlantSettings(x0=[0.0, 0.0]).model_dump_json()


def play(memory: Memory, store: Store, request: RoundRequest | tuple[int, Reading], name: str = "roof") -> list[float]:
    """What the dispatcher does with one request."""
    assert memory.load([name]) == {}
    plant = memory.plants[name]
    step = plant.decide(request, memory.records_of)
    assert isinstance(step, Step)
    compute([step])
    assert step.error is None
    plant.complete(step)
    record = Record(plant.id, plant.progress.seq + 1, step.kind, step.round, json.dumps(step.body), 1)
    assert store.append([record]) == {plant.id}
    take_effect([step])
    plant.advance(record, step)
    return plant.progress.x


def test_rebuilt_plants_go_on_bit_for_bit_from_every_snapshot(store: Store) -> None:
    store.add_plant("roof", SETTINGS)
    conditions, memory, actions = Conditions(), Memory(store), []
    for number in range(1, 25):
        if number % 5 == 0:
            memory = Memory(store)  # another server: from the last snapshot, or from the beginning
        actions.append(play(memory, store, RoundRequest(v=conditions.draw().tolist())))
        if number % 7 == 0:
            store.append([], memory.snapshots(memory.plants.values(), behind=1))  # in the middle of a round
            memory = Memory(store)
        play(memory, store, (number, Reading(y=conditions.reading(actions[-1]))))
    assert actions == undisturbed(24)
    assert memory.plants["roof"].progress.readings == 24


def test_two_servers_take_turns(store: Store) -> None:
    store.add_plant("roof", SETTINGS)
    memories, conditions, actions = (Memory(store), Memory(store)), Conditions(), []
    for number in range(1, 9):
        here = memories[number % 2]
        here.load(["roof"])
        here.refresh(here.plants["roof"])
        actions.append(play(here, store, RoundRequest(v=conditions.draw().tolist(), round=number)))
        play(here, store, (number, Reading(y=conditions.reading(actions[-1]))))
    assert actions == undisturbed(8)
    assert not memories[0].refresh(memories[0].plants["roof"])
    assert memories[1].refresh(memories[1].plants["roof"])
    assert memories[1].plants["roof"].progress == memories[0].plants["roof"].progress


def test_plants_are_rebuilt_together_and_one_that_is_damaged_alone_fails(store: Store) -> None:
    for name in ("a", "b", "c"):
        store.add_plant(name, SETTINGS)
    memory = Memory(store)
    for name, rounds in (("a", 3), ("b", 1), ("c", 2)):
        for number in range(1, rounds + 1):
            play(memory, store, RoundRequest(v=[1.0 * number, 2.0]), name)
            play(memory, store, (number, Reading(y=0.5)), name)
    damaged = memory.plants["c"]
    store.append([Record(damaged.id, 5, "reading", 2, '{"y": 1.0}', 1)])  # a second reading of the round
    fresh = Memory(store)
    errors = fresh.load(["a", "b", "c", "nobody"])
    assert isinstance(errors["c"], FileFormatError)
    assert isinstance(errors["nobody"], UnknownNameError)
    assert errors.keys() == {"c", "nobody"}
    for name in ("a", "b"):
        assert fresh.plants[name].progress == memory.plants[name].progress
        states = [one.plants[name].kind.state_of(one.plants[name].id) for one in (fresh, memory)]
        assert states[0] == states[1]
    store.append([], [Snapshot(damaged.id, 1, b"nonsense")])
    assert "cannot be rebuilt" in str(Memory(store).load(["c"])["c"])


def test_a_snapshot_is_due_after_some_calls(store: Store) -> None:
    store.add_plant("roof", PlantSettings(policy="FTM", x0=[0.0, 0.0]).model_dump_json())
    memory, taken = Memory(store), []
    for _ in range(400):
        play(memory, store, RoundRequest(v=[1.0, 1.0]))
        taken += memory.snapshots([memory.plants["roof"]])
    gaps = np.diff([one.seq for one in taken])
    assert len(taken) == 3
    assert (gaps >= 128).all()
    memory.forget("roof")
    memory.forget("roof")
    assert memory.plants == {}
    with pytest.raises(KeyError):
        memory.plants["roof"]
