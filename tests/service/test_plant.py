"""A plant in memory: its settings as arguments of a controller, and its state in a word."""

from __future__ import annotations

import math

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.service._memory import Memory
from soqo.service._plants import make_arguments
from soqo.service._schemas import PlantSettings
from soqo.service._store import Record, Store


def test_entries_without_a_limit_are_infinite() -> None:
    settings = PlantSettings(x0=[0.0, 0.0], low=[-1.0, None], rate=[None, 2.0], v_limits=(-3.0, [3.0, None]))
    arguments = make_arguments(settings)
    np.testing.assert_array_equal(arguments["low"], [-1.0, -math.inf])
    np.testing.assert_array_equal(arguments["rate"], [math.inf, 2.0])
    np.testing.assert_array_equal(arguments["v_limits"][1], [3.0, math.inf])
    assert arguments["high"] is None


def test_what_does_not_fit_together_is_an_argument_error() -> None:
    with pytest.raises(ArgumentError, match="A"):
        make_arguments(PlantSettings(x0=[0.0], policy={"kind": "LAI", "A": [[1.0, 0.0], [0.0, 1.0]]}))


def test_the_state_in_a_word(store: Store) -> None:
    store.add_plant("roof", PlantSettings(policy="FTM", x0=[0.0]).model_dump_json())
    stored = store.find_plant("roof")
    assert stored is not None
    memory = Memory(store)
    memory.load(["roof"])
    plant = memory.plants["roof"]
    states = [plant.state]
    bodies = [
        ("act", '{"v":[1.0],"x":[1.0]}'),
        ("reading", '{"y":0.5}'),
        ("note", '{"kind":"note","message":"m"}'),
        ("note", '{"kind":"held","message":"m"}'),
        ("note", '{"kind":"resumed","message":"m"}'),
        ("retire", "{}"),
    ]
    for seq, (kind, body) in enumerate(bodies, 1):
        store.append([Record(stored.id, seq, kind, 1, body, seq)])
        memory.refresh(plant)
        states.append(plant.state)
    assert states == ["new", "waiting", "running", "running", "held", "running", "retired"]
    assert plant.status().last_call == "1970-01-01T00:00:00.000Z"
