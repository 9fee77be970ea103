"""The rounds of a plant, put together from the records of its calls."""

from __future__ import annotations

import json
from collections.abc import Iterable

from soqo.service._schemas import History, PlayedRound, iso_time
from soqo.service._store import Record, Store


def played_rounds(records: Iterable[Record]) -> list[PlayedRound]:
    """Return the rounds of some records, in their order; readings of rounds that are not among them are left out."""
    found: dict[int, PlayedRound] = {}
    for record in records:
        if record.kind == "act":
            body = json.loads(record.body)
            found[record.round] = PlayedRound(round=record.round, time=iso_time(record.time), v=body["v"], x=body["x"])
        elif record.kind == "reading" and record.round in found:
            new = {name: value for name, value in json.loads(record.body).items() if value is not None}
            kept = {name: new[name] for name in ("y", "applied", "expected") if name in new}
            found[record.round] = found[record.round].model_copy(update=kept)
    return [found[number] for number in sorted(found)]


def read_history(store: Store, plant: int, *, after: int, limit: int) -> History:
    """Return up to ``limit`` rounds of a plant behind a round."""
    rounds = played_rounds(store.rounds(plant, after + 1, after + limit))
    return History(rounds=rounds, next=rounds[-1].round if len(rounds) == limit else None)
