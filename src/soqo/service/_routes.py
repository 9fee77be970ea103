"""What a route is: where a request goes, what it needs and holds, and how the OpenAPI document describes it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from anyio.to_thread import run_sync
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from pydantic_core import to_json
from starlette.responses import Response

from soqo._version import __version__
from soqo.errors import UnknownNameError
from soqo.service._dispatcher import Dispatcher
from soqo.service._gate import Access, Headers, Scope, Tokens
from soqo.service._metrics import Metrics
from soqo.service._problems import RequestError
from soqo.service._schemas import NAME, PlantPage, Problem
from soqo.service._store import Store

_PATTERNS = {"name": "[^/]+", "number": "[1-9][0-9]{0,14}", "file": "[^/]+"}
_PARAMETERS = {
    "name": {"schema": {"type": "string", "maxLength": 64}, "description": "the name of the plant"},
    "number": {"schema": {"type": "integer", "minimum": 1}, "description": "the round"},
}


class Server:
    """What the requests of a server share: its store, tokens, plants and metrics, and the streams that are open.

    Parameters
    ----------
    store : Store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.tokens, self.metrics = store, Tokens(store), Metrics()
        self.plants = Dispatcher(store, self.metrics.count_work)
        self.streams, self.stopping = 0, asyncio.Event()


class Request(NamedTuple):
    """A request that may be answered.

    Attributes
    ----------
    server : Server
        What the requests of this server share.
    access : Access
        What it may do.
    scope, headers
        The request.
    name, number, file : str
        The parts of the path; empty if the route has none.
    query, body
        What the route says that they are; the body is a text of bytes otherwise.
    """

    server: Server
    access: Access
    scope: Scope
    headers: Headers
    name: str
    number: str
    file: str
    query: Any
    body: Any

    async def names(self, page: PlantPage) -> tuple[list[str], str | None]:
        """Return the names of plants on a page that the request may see, and the last one if more may follow."""
        among = self.access.plants
        stored = await run_sync(lambda: self.server.store.plants(after=page.after, limit=page.limit, among=among))
        return [one.name for one in stored], stored[-1].name if len(stored) == page.limit else None


@dataclass(frozen=True)
class Route:
    """A method and a path, with the function that answers.

    Attributes
    ----------
    method, path : str
        The method, and the path with the names of its parts in braces.
    answer : callable
        Returns a response, or what is sent as JSON.
    summary : str
        What it does, for the OpenAPI document; a route without is not in it.
    scope : {"read", "operate", "admin"}, or None
        What a token must allow; None if none is needed.
    any_plant : bool
        Whether a token that is limited to plants is enough although the path names none.
    is_page : bool
        Whether it is for people only: another route answers programs at this address.
    body, query, result : type of BaseModel, optional
        What the request and the answer hold.
    more : sequence of int
        Statuses of the answer that do not follow from the above.
    content_type : bytes
        What a body must be.
    """

    method: str
    path: str
    answer: Callable[[Request], Awaitable[Any]]
    summary: str = ""
    scope: str | None = "read"
    any_plant: bool = False
    is_page: bool = False
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    result: type[BaseModel] | None = None
    more: Sequence[int] = ()
    content_type: bytes = b"application/json"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What paths of this route are."""
        return re.compile(re.sub(r"{(\w+)}", lambda part: f"(?P<{part[1]}>{_PATTERNS[part[1]]})", self.path))

    @cached_property
    def kind(self) -> str:
        """The name by which metrics tell routes apart."""
        words = [part for part in self.path.split("/") if part and "{" not in part]
        return words[-1] if words else "pages"

    def request(self, server: Server, access: Access, scope: Scope, headers: Headers, body: bytes) -> Request:
        """Return what a request asks, if it may be asked."""
        found = self.pattern.fullmatch(scope["path"])
        parts = {} if found is None else found.groupdict()
        name = parts.get("name", "")
        if self.scope is not None and not self.any_plant:
            access.require(self.scope, name or None)
        if name and not NAME.fullmatch(name):
            raise UnknownNameError(f"there is no plant {name[:80]!r}")
        query = self.query and self.query.model_validate(dict(parse_qsl(scope["query_string"].decode("latin-1"))))
        told = self.body.model_validate_json(body) if self.body else body
        number, file = parts.get("number", ""), parts.get("file", "")
        return Request(server, access, scope, headers, name, number, file, query, told)


def respond(answer: Any, status: int = 200) -> Response:
    """Return an answer as JSON."""
    return answer if isinstance(answer, Response) else Response(to_json(answer), status, media_type="application/json")


def find_route(routes: Sequence[Route], method: str, path: str, *, wants_page: bool) -> Route | RequestError:
    """Return the first route that answers a request, or why there is none."""
    for route in routes:
        if route.method == method and wants_page >= route.is_page and route.pattern.fullmatch(path):
            return route
    methods = [route.method for route in routes if not route.is_page and route.pattern.fullmatch(path)]
    if not methods:
        return RequestError(404, "not-found", "there is nothing at this address")
    return RequestError(405, "method", "Method Not Allowed", {"Allow": ", ".join(methods)})


# ---- the OpenAPI document --------------------------------------------------------------------------------------------


def openapi_document(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes with a summary."""
    shown = [route for route in routes if route.summary]
    results = {route.result for route in shown if route.result} | {Problem}
    _, schemas = models_json_schema([(one, "serialization") for one in results], ref_template=_reference("{model}"))
    paths: dict[str, Any] = {}
    for route in shown:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "soqo",
            "summary": "Steer plants whose best operating point moves, when moving is expensive.",
            "version": __version__,
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "soqo token create NAME"}},
        },
        "security": [{"token": []}, {}],
    }


def _reference(model: str) -> str:
    return f"#/components/schemas/{model}"


def _operation(route: Route) -> dict[str, Any]:
    path: list[dict[str, Any]] = [
        {"name": one, "in": "path", "required": True, **_PARAMETERS[one]} for one in route.pattern.groupindex
    ]
    operation: dict[str, Any] = {
        "summary": route.summary,
        "description": (route.answer.__doc__ or "").strip(),
        "parameters": [*path, *_query_parameters(route.query)],
        "responses": {str(status): _response(route, status) for status in _statuses(route)},
    }
    if route.body:
        operation["requestBody"] = {"required": True, **_content(route.body.model_json_schema())}
    return operation


def _query_parameters(query: type[BaseModel] | None) -> list[dict[str, Any]]:
    fields = query.model_json_schema()["properties"] if query else {}
    return [
        {"name": name, "in": "query", "required": False, "description": schema.get("description", ""), "schema": schema}
        for name, schema in fields.items()
    ]


def _statuses(route: Route) -> list[int]:
    found = {200, *route.more}
    found |= {401, 403, 429} if route.scope else set()
    found |= {404} if "{name}" in route.path else set()
    found |= {409, 413, 415, 422, 503} if route.body else {422} if route.query else set()
    return sorted(found)


def _response(route: Route, status: int) -> dict[str, Any]:
    if status >= 400:
        return {"description": "a problem document", **_content(_ref(Problem), "application/problem+json")}
    return {"description": "the answer", **(_content(_ref(route.result)) if route.result else {})}


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _reference(model.__name__)}


def _content(schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"content": {kind: {"schema": schema}}}


def field_type(field: dict[str, Any]) -> str:
    """Return the type of a field in words."""
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(field_type(one) for one in field["anyOf"] if one.get("type") != "null"))
    if "enum" in field:
        return " or ".join(map(repr, field["enum"]))
    kind = field.get("type", "value")
    if kind == "array" and "prefixItems" in field:
        return f"pair of {field_type(field['prefixItems'][0])}"
    if kind == "array":
        return f"list of {field_type(field['items'])}"
    return str(kind)
