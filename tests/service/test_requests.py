"""What a request means to a plant, without a server: the routes are tested in test_api."""

from __future__ import annotations

from typing import Any

import pytest

from soqo.errors import ProtocolError
from soqo.service._memory import Memory
from soqo.service._plants import Retire
from soqo.service._schemas import EventNote, PlantSettings, Reading, RoundRequest
from soqo.service._steering import Step
from soqo.service._store import Store


def test_a_plant_before_its_first_round(store: Store) -> None:
    store.add_plant("roof", PlantSettings(policy="FTM", x0=[0.0], horizon=1).model_dump_json())
    memory = Memory(store)
    memory.load(["roof"])
    plant = memory.plants["roof"]

    def decided(request: RoundRequest | tuple[int, Reading] | Retire | EventNote) -> Any:
        return plant.decide(request, memory.records_of)

    step = decided(RoundRequest(v=[1.0]))
    assert isinstance(step, Step)
    assert (step.kind, step.round, step.body) == ("act", 1, {"v": [1.0]})
    with pytest.raises(ProtocolError, match="round must be 1, the next one"):
        decided(RoundRequest(v=[1.0], round=2))
    with pytest.raises(ProtocolError, match="round 1 has not been played: the plant is in round 0"):
        decided((1, Reading(y=0.5)))
    note = decided(EventNote(kind="note", message="cleaned"))
    assert isinstance(note, Step)
    assert note.events == [("note", 0, "cleaned")]
    plant.progress.round = 1
    with pytest.raises(ProtocolError, match="after the last round, horizon = 1"):
        decided(RoundRequest(v=[1.0]))
    plant.retired = True
    assert decided(Retire()).state == "retired"
    with pytest.raises(ProtocolError, match="is retired"):
        decided(RoundRequest(v=[1.0]))
