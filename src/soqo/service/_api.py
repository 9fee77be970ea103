"""The routes of the API."""

from __future__ import annotations

import json
from typing import Any

from anyio.to_thread import run_sync
from starlette.responses import Response

from soqo.errors import ArgumentError, ProtocolError
from soqo.service._json import plain_numbers
from soqo.service._plants import Plant, Retire, make_arguments
from soqo.service._routes import Request, Route, respond
from soqo.service._schemas import (
    Action,
    EventList,
    EventNote,
    EventPage,
    Explanation,
    History,
    NewPlant,
    NotedEvent,
    PlantList,
    PlantPage,
    PlantSettings,
    PlantStatus,
    Reading,
    ReadingAccepted,
    RoundPage,
    RoundRequest,
)

# ---- plants ----------------------------------------------------------------------------------------------------------


async def create_plant(request: Request) -> Any:
    """Create a plant. The same request again changes nothing."""
    given, server = request.body, request.server
    settings = PlantSettings(**given.model_dump(exclude={"name"}))
    await run_sync(make_arguments, settings)  # refuses what a controller would refuse
    text = json.dumps(settings.model_dump(), sort_keys=True, allow_nan=False)
    stored = await run_sync(server.store.add_plant, given.name, text)
    if stored is None:
        found = await server.plants.find(given.name)
        if PlantSettings.model_validate_json(found.settings) != settings:
            raise ProtocolError(f"there is a plant {given.name!r} with other settings")
    return respond(await server.plants.look(given.name, Plant.status), 200 if stored is None else 201)


async def list_plants(request: Request) -> Any:
    """List plants in the order of their names."""
    names, following = await request.names(request.query)
    plants = await request.server.plants.look_at_all(names, Plant.status)
    return PlantList.model_construct(plants=plants, next=following)


async def show_plant(request: Request) -> Any:
    """Show where a plant is."""
    return await request.server.plants.look(request.name, Plant.status)


async def retire_plant(request: Request) -> Any:
    """Retire a plant: it takes no further calls, and its history stays."""
    return await request.server.plants.ask(request.name, Retire())


# ---- rounds ----------------------------------------------------------------------------------------------------------


async def play_round(request: Request) -> Any:
    """Give the minimizer of a round, and get the action."""
    return await request.server.plants.ask(request.name, request.body)


async def report_reading(request: Request) -> Any:
    """Report the measured cost of a round. The same reading again changes nothing."""
    return await request.server.plants.ask(request.name, (int(request.number), request.body))


async def read_rounds(request: Request) -> Any:
    """Read rounds of a plant, in their order."""
    server, page = request.server, request.query
    if page.after is not None and page.last is not None:
        raise ArgumentError("only one of after and last can be given")
    after, limit = page.after or 0, page.limit
    if page.last is not None:
        played = await server.plants.look(request.name, lambda plant: plant.progress.round)
        after, limit = max(0, played - page.last), page.last
    plant = await server.plants.find(request.name)
    return await run_sync(lambda: server.store.history(plant.id, after=after, limit=limit))


# ---- reports ---------------------------------------------------------------------------------------------------------


async def show_diagnostics(request: Request) -> Any:
    """Show what the policy has learned; numbers that are not known are null."""
    return plain_numbers(await request.server.plants.look(request.name, Plant.diagnostics))


async def explain(request: Request) -> Any:
    """Say what the plant does and why."""
    return {"text": await request.server.plants.look(request.name, Plant.explain)}


async def list_events(request: Request) -> Any:
    """List the last events of a plant, the latest first."""
    server = request.server
    plant = await server.plants.find(request.name)
    found = await run_sync(lambda: server.store.events(plant.id, limit=request.query.limit))
    return EventList(events=[NotedEvent.of(one) for one in found])


async def note_event(request: Request) -> Any:
    """Note something for operators, or that a plant is silent and keeps its position."""
    return await request.server.plants.ask(request.name, request.body)


async def metrics(request: Request) -> Any:
    """Return the metrics of this server."""
    server = request.server
    count, health = await run_sync(server.store.count_plants), await server.plants.health()
    text = server.metrics.render(waiting=server.plants.waiting, streams=server.streams, plants=count, health=health)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def healthz(_: Request) -> Any:
    """Answer, if the server runs."""
    return {"status": "ok"}


async def readyz(request: Request) -> Any:
    """Answer whether the store does."""
    await run_sync(request.server.store.ping)
    return {"status": "ready"}


_PLANT, _ROUNDS = "/plants/{name}", "/plants/{name}/rounds"
_READING = "/plants/{name}/rounds/{number}/reading"

ROUTES = (
    Route("POST", "/plants", create_plant, "Create a plant", "admin", body=NewPlant, result=PlantStatus, more=(201,)),
    Route("GET", "/plants", list_plants, "List plants", any_plant=True, query=PlantPage, result=PlantList),
    Route("GET", _PLANT, show_plant, "Show a plant", result=PlantStatus),
    Route("DELETE", _PLANT, retire_plant, "Retire a plant", "admin", result=PlantStatus),
    Route("POST", _ROUNDS, play_round, "Play a round", "operate", body=RoundRequest, result=Action),
    Route("POST", _READING, report_reading, "Report a reading", "operate", body=Reading, result=ReadingAccepted),
    Route("GET", _ROUNDS, read_rounds, "Read the history", query=RoundPage, result=History),
    Route("GET", f"{_PLANT}/diagnostics", show_diagnostics, "What the policy has learned"),
    Route("GET", f"{_PLANT}/explain", explain, "What the plant does and why, in words", result=Explanation),
    Route("GET", f"{_PLANT}/events", list_events, "The last events", query=EventPage, result=EventList),
    Route("POST", f"{_PLANT}/events", note_event, "Note an event", "operate", body=EventNote, result=PlantStatus),
    Route("GET", "/metrics", metrics, "Metrics for Prometheus"),
    Route("GET", "/healthz", healthz, "Whether the server runs", None),
    Route("GET", "/readyz", readyz, "Whether the store answers", None, more=(503,)),
)
