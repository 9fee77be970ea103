"""The routes of the API. Paths without a plant need a token for all plants."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response

from soqo.errors import ArgumentError, ProtocolError
from soqo.service._history import read_history
from soqo.service._json import plain_numbers
from soqo.service._plant import Plant, make_arguments
from soqo.service._problems import problem
from soqo.service._requests import Retire
from soqo.service._schemas import (
    Action,
    EventNote,
    History,
    NewPlant,
    PlantList,
    PlantSettings,
    PlantStatus,
    Problem,
    Reading,
    ReadingAccepted,
    RoundRequest,
    iso_time,
)
from soqo.service._security import Access
from soqo.service._server_state import ServerState
from soqo.service._store import Event

_M = TypeVar("_M", bound=BaseModel)
_PlantName = Annotated[str, Path(description="the name of the plant", max_length=64)]
_MAX_ROUND = 2**53


def _body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a body that the route parses itself, which is quicker."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    content = {"application/problem+json": {"schema": Problem.model_json_schema()}}
    return {status: {"description": "a problem document", "content": content} for status in (401, 403, 429, *statuses)}


async def parse(request: Request, model: type[_M]) -> _M:
    """Return the body of a request."""
    return model.model_validate_json(await request.body())


def respond(answer: Any, status: int = 200) -> Response:
    """Return an answer as JSON."""
    return Response(to_json(answer), status, media_type="application/json")


def state_of(request: Request) -> ServerState:
    """Return the state of the server."""
    found: ServerState = request.app.state.server
    return found


def access_of(request: Request) -> Access:
    """Return what a request may do."""
    found: Access = request.scope["state"]["access"]
    return found


def make_router() -> APIRouter:
    """Return the routes of the API."""
    router = APIRouter()
    add: Callable[..., Callable[[Callable[..., Awaitable[Response]]], Any]] = router.api_route
    add(
        "/plants",
        methods=["POST"],
        summary="Create a plant",
        status_code=201,
        response_model=PlantStatus,
        responses={200: {"description": "the plant exists, with these settings"}, **_problems(409, 413, 415, 422)},
        openapi_extra=_body(NewPlant),
    )(create_plant)
    add("/plants", methods=["GET"], summary="List plants", response_model=PlantList, responses=_problems(422))(
        list_plants
    )
    add(
        "/plants/{name}", methods=["GET"], summary="Show a plant", response_model=PlantStatus, responses=_problems(404)
    )(show_plant)
    add(
        "/plants/{name}",
        methods=["DELETE"],
        summary="Retire a plant",
        response_model=PlantStatus,
        responses=_problems(404),
    )(retire_plant)
    add(
        "/plants/{name}/rounds",
        methods=["POST"],
        summary="Play a round",
        response_model=Action,
        responses=_problems(404, 409, 413, 415, 422, 503),
        openapi_extra=_body(RoundRequest),
    )(play_round)
    add(
        "/plants/{name}/rounds",
        methods=["GET"],
        summary="Read the history",
        response_model=History,
        responses=_problems(404, 422),
    )(read_rounds)
    add(
        "/plants/{name}/rounds/{number}/reading",
        methods=["POST"],
        summary="Report the reading of a round",
        response_model=ReadingAccepted,
        responses=_problems(404, 409, 413, 415, 422, 503),
        openapi_extra=_body(Reading),
    )(report_reading)
    add("/plants/{name}/diagnostics", methods=["GET"], summary="What the policy has learned", responses=_problems(404))(
        show_diagnostics
    )
    add(
        "/plants/{name}/explain",
        methods=["GET"],
        summary="What the plant does and why, in words",
        responses=_problems(404),
    )(explain)
    add("/plants/{name}/events", methods=["GET"], summary="The last events", responses=_problems(404, 422))(list_events)
    add(
        "/plants/{name}/events",
        methods=["POST"],
        summary="Note an event",
        response_model=PlantStatus,
        responses=_problems(404, 413, 415, 422, 503),
        openapi_extra=_body(EventNote),
    )(note_event)
    add("/metrics", methods=["GET"], summary="Metrics for Prometheus", response_class=Response, responses=_problems())(
        metrics
    )
    add("/healthz", methods=["GET"], summary="Whether the server runs")(healthz)
    add(
        "/readyz", methods=["GET"], summary="Whether the store answers", responses={503: {"description": "it does not"}}
    )(readyz)
    return router


# ---- plants ----------------------------------------------------------------------------------------------------------


async def create_plant(request: Request) -> Response:
    """Create a plant. The same request again changes nothing."""
    access_of(request).require("admin")
    given = await parse(request, NewPlant)
    settings = PlantSettings(**given.model_dump(exclude={"name"}))
    await run_sync(make_arguments, settings)  # refuses what a controller would refuse
    state = state_of(request)
    text = json.dumps(settings.model_dump(), sort_keys=True, allow_nan=False)
    stored = await run_sync(state.store.add_plant, given.name, text)
    if stored is None and PlantSettings.model_validate_json((await state.find(given.name)).settings) != settings:
        raise ProtocolError(f"there is a plant {given.name!r} with other settings")
    return respond(await state.look(given.name, Plant.status), 200 if stored is None else 201)


async def list_plants(
    request: Request,
    after: Annotated[str, Query(max_length=64, description="list plants behind this name")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List plants in the order of their names."""
    access = access_of(request)
    access.require("read", access.plants[0] if access.plants else None)
    state = state_of(request)
    stored = await run_sync(lambda: state.store.plants(after=after, limit=limit))
    names = [one.name for one in stored if access.allows(one.name)]
    plants = await asyncio.gather(*(state.look(name, Plant.status, may_be_old=True) for name in names))
    return respond({"plants": plants, "next": stored[-1].name if len(stored) == limit else None})


async def show_plant(request: Request, name: _PlantName) -> Response:
    """Show where a plant is."""
    access_of(request).require("read", name)
    return respond(await state_of(request).look(name, Plant.status))


async def retire_plant(request: Request, name: _PlantName) -> Response:
    """Retire a plant: it takes no further calls, and its history stays."""
    access_of(request).require("admin")
    return respond(await state_of(request).ask(name, Retire()))


# ---- rounds ----------------------------------------------------------------------------------------------------------


async def play_round(request: Request, name: _PlantName) -> Response:
    """Give the minimizer of a round, and get the action."""
    access_of(request).require("operate", name)
    given = await parse(request, RoundRequest)
    return respond(await state_of(request).ask(name, given))


async def report_reading(
    request: Request, name: _PlantName, number: Annotated[int, Path(ge=1, le=_MAX_ROUND, description="the round")]
) -> Response:
    """Report the measured cost of a round. The same reading again changes nothing."""
    access_of(request).require("operate", name)
    given = await parse(request, Reading)
    return respond(await state_of(request).ask(name, (number, given)))


async def read_rounds(
    request: Request,
    name: _PlantName,
    after: Annotated[int | None, Query(ge=0, le=_MAX_ROUND, description="rounds behind this one")] = None,
    last: Annotated[int | None, Query(ge=1, le=1000, description="the last rounds, instead")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Read rounds of a plant, in their order."""
    access_of(request).require("read", name)
    if after is not None and last is not None:
        raise ArgumentError("only one of after and last can be given")
    state = state_of(request)
    if last is not None:
        played = await state.look(name, lambda plant: plant.progress.round)
        after, limit = max(0, played - last), last
    stored = await state.find(name)
    first = after or 0
    return respond(await run_sync(lambda: read_history(state.store, stored.id, after=first, limit=limit)))


# ---- reports ---------------------------------------------------------------------------------------------------------


async def show_diagnostics(request: Request, name: _PlantName) -> Response:
    """Show what the policy has learned; numbers that are not known are null."""
    access_of(request).require("read", name)
    found = await state_of(request).look(name, Plant.diagnostics)
    return respond(plain_numbers(found))


async def explain(request: Request, name: _PlantName) -> Response:
    """Say what the plant does and why."""
    access_of(request).require("read", name)
    return respond({"text": await state_of(request).look(name, Plant.explain)})


async def list_events(request: Request, name: _PlantName, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Response:
    """List the last events of a plant, the latest first."""
    access_of(request).require("read", name)
    state = state_of(request)
    stored = await state.find(name)
    found = await run_sync(lambda: state.store.events(stored.id, limit=limit))
    return respond({"events": [event_table(one) for one in found]})


def event_table(event: Event) -> dict[str, Any]:
    """Return an event as the API shows it."""
    return {"time": iso_time(event.time), "round": event.round, "kind": event.kind, "message": event.message}


async def note_event(request: Request, name: _PlantName) -> Response:
    """Note something for operators, or that a plant is silent and keeps its position."""
    access_of(request).require("operate", name)
    note = await parse(request, EventNote)
    return respond(await state_of(request).ask(name, note))


async def metrics(request: Request) -> Response:
    """Return the metrics of this server."""
    access_of(request).require("read")
    state = state_of(request)
    plants = await run_sync(state.store.count_plants)
    health = await state.health()
    text = state.metrics.render(waiting=state.waiting, streams=state.streams, plants=plants, health=health)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def healthz() -> Response:
    """Answer, if the server runs."""
    return respond({"status": "ok"})


async def readyz(request: Request) -> Response:
    """Answer whether the store does."""
    try:
        await run_sync(state_of(request).store.ping)
    except Exception:
        return problem(503, "the store does not answer", "unavailable", {"Retry-After": "1"})
    return respond({"status": "ready"})
