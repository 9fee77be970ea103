"""The streams of live pages: server-sent events with what is new about a plant, or about all of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import numpy as np
from anyio.to_thread import run_sync

from soqo._control.log_angles import unroll_near
from soqo.service._api import event_table
from soqo.service._history import played_rounds
from soqo.service._json import plain_numbers
from soqo.service._plant import Plant
from soqo.service._schemas import PlayedRound
from soqo.service._security import Access
from soqo.service._server_state import ServerState
from soqo.service._steering import hitting_cost
from soqo.typing import Array

WINDOW = 300
"""The number of rounds that a page shows."""

MAX_LISTED = 200
"""The number of plants on a page."""

_MAX_STREAMS = 200
_PAUSE_SECONDS = 0.4
"""The least time between two messages of a stream."""

_LOOK_SECONDS = 2.0
"""A stream looks for calls of other servers after this time."""


def has_room(state: ServerState) -> bool:
    """Return whether another stream can be opened."""
    return state.streams < _MAX_STREAMS


async def stream_plant(state: ServerState, name: str, plant: int, after: int) -> AsyncIterator[str]:
    """Yield what is new about a plant, behind a number of its records."""
    news = state.subscribe(name)
    state.streams += 1
    seen, first = after, True
    try:
        while not state.stopping.is_set():
            news.clear()
            view = await state.look(name, plant_view)
            if first or view["seq"] != seen:
                rounds = await run_sync(_new_rounds, state, plant, view, seen)
                seen, first = view["seq"], False
                yield _message(seen, {**view, "rounds": rounds, "events": await run_sync(_events, state, plant)})
            else:
                yield ": still here\n\n"
            await _next_news(state, news)
    finally:
        state.streams -= 1
        state.unsubscribe(name, news)


async def stream_fleet(state: ServerState, access: Access) -> AsyncIterator[str]:
    """Yield how all plants are, again and again."""
    state.streams += 1
    try:
        while not state.stopping.is_set():
            yield _message(0, {"plants": await fleet_view(state, access)})
            await _sleep(state, _LOOK_SECONDS)
    finally:
        state.streams -= 1


async def fleet_view(state: ServerState, access: Access, after: str = "") -> list[dict[str, Any]]:
    """Return a row for each plant."""
    stored = await run_sync(lambda: state.store.plants(after=after, limit=MAX_LISTED))
    names = [one.name for one in stored if access.allows(one.name)]
    return await asyncio.gather(*(state.look(name, plant_row, may_be_old=True) for name in names))


def plant_row(plant: Plant) -> dict[str, Any]:
    """Return what the page of all plants shows of one."""
    status = plant.status()
    names = ("name", "state", "round", "missed", "alarms", "cost", "follow_cost", "last_call")
    return {name: getattr(status, name) for name in names}


def plant_view(plant: Plant) -> dict[str, Any]:
    """Return what the page of a plant shows, apart from its rounds and events."""
    known = plant.diagnostics()
    shown = ("estimate", "uncertainty", "offset", "offset_deviation", "noise")
    at_v = hitting_cost(known, np.zeros(plant.actuators.dim))
    status = plant.status().model_dump(exclude={"settings"})
    return {
        "seq": plant.progress.seq,
        "status": status,
        "explain": plant.explain(),
        "health": plain_numbers(known.get("health")),
        "known": {name: plain_numbers(known[name]) for name in shown if name in known},
        "base_load": plain_numbers(known["base_load"]) if "base_load" in known else None,
        "at_v": 0.0 if at_v is None else plain_numbers(at_v + known.get("base_load", 0.0)),
        "W": plain_numbers(plant.kind.coordinates.root),
        "period": plain_numbers(plant.kind.period),
        "includes_switching": plant.kind.includes_switching,
    }


def _new_rounds(state: ServerState, plant: int, view: dict[str, Any], seen: int) -> list[dict[str, Any]]:
    """Return the rounds with records behind ``seen``, at most the last ones, with what each has saved."""
    last = view["status"]["round"]
    first = max(1, last - WINDOW + 1)
    if seen:
        changed = [one.round for one in state.store.records(plant, after=seen, limit=2 * WINDOW)]
        first = max(first, min(changed, default=last + 1))
    rounds = played_rounds(state.store.rounds(plant, max(1, first - 1), last))
    if view["period"] is not None:
        rounds = [_at_nearest_turns(one, _period(view)) for one in rounds]
    savings = _savings(rounds, view)
    rows = [{**one.model_dump(), "saving": saving} for one, saving in zip(rounds, savings, strict=True)]
    return [row for row in rows if row["round"] >= first]


def _savings(rounds: Sequence[PlayedRound], view: dict[str, Any]) -> list[float | None]:
    """Return what each round has saved against following v; None without a reading or the round before."""
    root = np.asarray(view["W"])
    found: list[float | None] = [None] * len(rounds)
    for k in range(1, len(rounds)):
        before, now = rounds[k - 1], rounds[k]
        if now.y is None or view["at_v"] is None:
            continue
        moved = _half_square(root, np.subtract(now.applied or now.x, before.applied or before.x))
        step = np.subtract(now.v, before.v)
        followed = _half_square(root, step if view["period"] is None else unroll_near(step, 0.0 * step, _period(view)))
        found[k] = plain_numbers(followed + view["at_v"] - now.y - (0.0 if view["includes_switching"] else moved))
    return found


def _period(view: dict[str, Any]) -> Array:
    """Return the periods of the positions of a plant, infinite where they are no angles."""
    found = np.asarray(view["period"], dtype=np.float64)  # None becomes NaN
    return np.where(np.isnan(found), np.inf, found)


def _at_nearest_turns(one: PlayedRound, period: Array) -> PlayedRound:
    """Return a round with angles at the turn nearest to the action, which counts turns."""
    x = np.array(one.x)
    near = {name: getattr(one, name) for name in ("v", "applied")}
    new = {name: unroll_near(np.array(told), x, period).tolist() for name, told in near.items() if told is not None}
    return one.model_copy(update=new)


def _half_square(root: Any, step: Any) -> float:
    plain = root @ step if root.ndim == 2 else root * step
    return 0.5 * float(plain @ plain)


def _events(state: ServerState, plant: int) -> list[dict[str, Any]]:
    return [event_table(one) for one in state.store.events(plant, limit=20)]


def _message(number: int, data: Any) -> str:
    return f"id: {number}\ndata: {json.dumps(data, separators=(',', ':'), allow_nan=False)}\n\n"


async def _next_news(state: ServerState, news: asyncio.Event) -> None:
    """Wait for news, but no less than a pause."""
    await _sleep(state, _PAUSE_SECONDS)
    try:
        async with asyncio.timeout(_LOOK_SECONDS):
            await news.wait()
    except TimeoutError:
        pass


async def _sleep(state: ServerState, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await state.stopping.wait()
    except TimeoutError:
        pass
