"""What a plant can be asked, and what it means: a new call, one that is repeated, or one that is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from soqo.errors import ProtocolError
from soqo.service._plant import Plant
from soqo.service._schemas import Action, EventNote, Reading, ReadingAccepted, RoundRequest
from soqo.service._steering import Call, Outcome
from soqo.service._store import Record

RecordsOf: TypeAlias = Callable[[Plant, int], Sequence[Record]]
"""A function that returns the records of a round of a plant."""


@dataclass(frozen=True)
class Retire:
    """A plant that takes no further calls."""


@dataclass(frozen=True)
class Look:
    """A function of a plant that changes nothing, and whether its answer may be a second old."""

    function: Callable[[Plant], Any]
    may_be_old: bool = False


Change: TypeAlias = RoundRequest | tuple[int, Reading] | Retire | EventNote
"""A round, a reading of a round, to retire, or something to note."""


@dataclass(eq=False)
class Step:
    """A request that changes a plant: the record that will be written, and the call that will be computed."""

    plant: Plant
    kind: str
    round: int
    body: dict[str, Any]
    call: Call | None = None
    outcome: Outcome | None = None
    events: list[tuple[str, int, str]] = field(default_factory=list)

    def result(self) -> Any:
        """Return what the request is answered."""
        if self.kind == "act":
            return Action.model_construct(round=self.round, x=self.body["x"])
        if self.kind == "reading":
            return ReadingAccepted.model_construct(round=self.round)
        return self.plant.status()


@dataclass(frozen=True)
class Known:
    """A request that was carried out before, and its result."""

    result: Any


def decide(request: Change, plant: Plant, records_of: RecordsOf) -> Step | Known:
    """Return what a request means to a plant.

    Parameters
    ----------
    request : RoundRequest, pair of a round and a Reading, Retire or EventNote
        The request.
    plant : Plant
        The plant.
    records_of : callable
        The function that finds the records of an earlier round.

    Raises
    ------
    ProtocolError
        If it contradicts an earlier call, or comes at the wrong time.
    ArgumentError
        If an argument does not fit the plant.
    """
    if isinstance(request, RoundRequest):
        return _decide_round(request, plant, records_of)
    if isinstance(request, tuple):
        return _decide_reading(*request, plant, records_of)
    now = plant.progress.round
    if isinstance(request, EventNote):
        return Step(plant, "note", now, request.model_dump(), events=[(request.kind, now, request.message)])
    if plant.retired:
        return Known(plant.status())
    return Step(plant, "retire", now, {}, events=[("retired", now, "the plant takes no further calls")])


def _decide_round(request: RoundRequest, plant: Plant, records_of: RecordsOf) -> Step | Known:
    following = plant.progress.round + 1
    number = following if request.round is None else request.round
    body = request.model_dump(exclude_none=True, exclude={"round"})
    if number < following:
        return Known(_repeated_action(plant, number, body, records_of))
    plant.check_not_retired()
    if number > following:
        raise ProtocolError(f"round must be {following}, the next one, or one that was played, got {number}")
    return Step(plant, "act", number, body, plant.make_act(request))


def _repeated_action(plant: Plant, number: int, body: dict[str, Any], records_of: RecordsOf) -> Action:
    """Return the action of a round that was played, if it is asked for with the same values."""
    played = next(json.loads(one.body) for one in records_of(plant, number) if one.kind == "act")
    x = played.pop("x")
    if played != body:
        raise ProtocolError(
            f"round {number} was played with other values, {played}, got {body}; the next round is "
            f"{plant.progress.round + 1}"
        )
    return Action.model_construct(round=number, x=x)


def _decide_reading(number: int, reading: Reading, plant: Plant, records_of: RecordsOf) -> Step | Known:
    now = plant.progress
    if number > now.round:
        raise ProtocolError(f"round {number} has not been played: the plant is in round {now.round}")
    body = {"y": reading.y, **reading.model_dump(exclude_none=True, exclude={"y"})}
    is_open = number in now.open_rounds
    # Where readings may be late, a round that is told "no reading yet" stays open.
    if not is_open or plant.kind.max_delay:
        known = [_without_expected(one.body) for one in records_of(plant, number) if one.kind == "reading"]
        if body in known:
            return Known(ReadingAccepted.model_construct(round=number))
        if not is_open and known:
            raise ProtocolError(f"round {number} has had the reading {known[-1]}, got {body}; it was not used")
        if not is_open:
            raise ProtocolError(
                f"the reading of round {number} is late: the round is closed, and the plant is in round {now.round}; "
                "it was not used"
            )
    plant.check_not_retired()
    return Step(plant, "reading", number, body, plant.make_observe(number, reading))


def _without_expected(body: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)
    found.pop("expected", None)
    return found
