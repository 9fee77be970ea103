"""The streams of live pages: server-sent events with what is new about a plant, or about all of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
from anyio.to_thread import run_sync
from starlette.responses import StreamingResponse

from soqo.service._json import plain_numbers
from soqo.service._plants import Plant
from soqo.service._problems import RequestError
from soqo.service._routes import Request
from soqo.service._schemas import NotedEvent, PlantPage, PlayedRound
from soqo.service._steering import Kind
from soqo.service._store import played_rounds

WINDOW = 300
"""The number of rounds that a page shows."""

_MAX_STREAMS = 200
_PLANT_SECONDS, _FLEET_SECONDS = 0.5, 2.0
"""The time between two looks at a plant, and at all plants."""


async def follow_fleet(request: Request) -> StreamingResponse:
    """Stream how all plants are."""

    async def news() -> str:
        return _message(0, {"plants": await fleet_view(request)})

    return _stream(request, news, _FLEET_SECONDS)


async def follow_plant(request: Request) -> StreamingResponse:
    """Stream what is new about a plant, behind the last message that a page has received."""
    server, name = request.server, request.name
    plant = await server.plants.find(name)
    last = request.headers.get(b"last-event-id", b"")
    behind = int(last) if last.isdigit() and len(last) < 16 else 0
    seen: int | None = None  # the first message comes in any case

    async def news() -> str:
        nonlocal seen
        known = await server.plants.look(name, plant_view, may_be_old=seen is not None)
        if known["seq"] == seen:
            return ": still here\n\n"
        kind, at_v = known.pop("kind"), known.pop("at_v")
        rounds = await run_sync(_new_rounds, request, plant.id, known["status"]["round"], seen or behind)
        events = await run_sync(lambda: server.store.events(plant.id, limit=20))
        seen = known["seq"]
        told = {"rounds": _with_savings(rounds, kind, at_v), "events": [NotedEvent.of(one) for one in events]}
        return _message(seen, {**known, **told})

    return _stream(request, news, _PLANT_SECONDS)


def _stream(request: Request, news: Callable[[], Awaitable[str]], seconds: float) -> StreamingResponse:
    """Return news again and again, until the server stops or the token is revoked."""
    server, digest = request.server, request.access.digest
    if server.streams >= _MAX_STREAMS:
        raise RequestError(503, "unavailable", "too many live pages are open", {"Retry-After": "10"})

    async def messages() -> AsyncIterator[str]:
        server.streams += 1
        try:
            while not server.stopping.is_set() and (not digest or await server.tokens.with_digest(digest)):
                yield await news()
                with suppress(TimeoutError):
                    await asyncio.wait_for(server.stopping.wait(), seconds)
        finally:
            server.streams -= 1

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(messages(), media_type="text/event-stream", headers=headers)


async def fleet_view(request: Request, page: PlantPage | None = None) -> list[dict[str, Any]]:
    """Return a row for each plant that a request may see."""
    names, _ = await request.names(page or PlantPage())
    return await request.server.plants.look_at_all(names, plant_row)


def plant_row(plant: Plant) -> dict[str, Any]:
    """Return what the page of all plants shows of one."""
    shown = {"name", "state", "round", "missed", "alarms", "cost", "follow_cost", "last_call"}
    return plant.status().model_dump(include=shown)


def plant_view(plant: Plant) -> dict[str, Any]:
    """Return what the page of a plant shows, apart from its rounds and events."""
    known = plain_numbers(plant.diagnostics())
    shown = ("estimate", "uncertainty", "offset", "offset_deviation", "noise")
    return {
        "seq": plant.progress.seq,
        "status": plant.status().model_dump(exclude={"settings"}),
        "explain": plant.explain(),
        "health": known.get("health"),
        "known": {name: known[name] for name in shown if name in known},
        "base_load": known.get("base_load"),
        "kind": plant.kind,
        "at_v": plant.cost_at_v(),
    }


def _new_rounds(request: Request, plant: int, last: int, seen: int) -> list[PlayedRound | None]:
    """Return the rounds with records behind ``seen``, at most the last ones, after the round before them."""
    store, first = request.server.store, max(1, last - WINDOW + 1)
    if seen:
        changed = [one.round for one in store.records(plant, after=seen, limit=2 * WINDOW)]
        first = max(first, min(changed, default=last + 1))
    rounds = played_rounds(store.rounds(plant, max(1, first - 1), last))
    return [None, *rounds] if first == 1 else [*rounds]


def _with_savings(rounds: Sequence[PlayedRound | None], kind: Kind, at_v: float) -> list[dict[str, Any]]:
    """Return rounds but the first with what each has saved against following v; None without a reading."""
    found = []
    near = [one if one is None else _at_nearest_turn(one, kind) for one in rounds]
    for before, now in pairwise(near):
        assert now is not None
        saving = None
        if before is not None and now.y is not None:
            step = np.subtract(now.v, before.v)
            followed = kind.switching_cost(kind.nearest_turn(step, 0.0 * step))
            moved = kind.switching_cost(np.subtract(now.applied or now.x, before.applied or before.x))
            saving = plain_numbers(followed + at_v - now.y - (0.0 if kind.includes_switching else moved))
        found.append({**now.model_dump(), "saving": saving})
    return found


def _at_nearest_turn(one: PlayedRound, kind: Kind) -> PlayedRound:
    """Return a round with angles at the turn nearest to the action, which counts turns."""
    x = np.array(one.x)
    told = {name: value for name in ("v", "applied") if (value := getattr(one, name)) is not None}
    return one.model_copy(update={name: kind.nearest_turn(np.array(value), x).tolist() for name, value in told.items()})


def _message(number: int, data: Any) -> str:
    return f"id: {number}\ndata: {json.dumps(data, separators=(',', ':'), allow_nan=False, default=dict)}\n\n"
