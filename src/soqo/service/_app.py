"""The application (ASGI): from a request to its answer, and the programs beside the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import httpx
from starlette.responses import RedirectResponse, Response
from starlette.routing import Router

from soqo.service._api import ROUTES
from soqo.service._async_client import AsyncClient
from soqo.service._gate import Gate, Receive, Scope
from soqo.service._pages import PAGES
from soqo.service._problems import RequestError, problem_of
from soqo.service._routes import Request, Route, Server, find_route, openapi_document, respond
from soqo.service._store import Store

LOGGER = logging.getLogger("soqo.service")

_RESTART_SECONDS = 5.0

# No style sheet and no script inside of a page is allowed. Plotly makes an empty style element, whose hash this is, and
# adds its rules through the object model; and it sets styles of the elements that it makes.
_POLICY = (
    "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # without any, browsers send forms with the origin null
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

Companion: TypeAlias = Callable[[AsyncClient], Awaitable[None]]
"""A program beside the server, which uses it as a client does and ends when it is cancelled."""


class App:
    """A server, as an application.

    Parameters
    ----------
    store : str
        The file of an SQLite database, or the URL of a PostgreSQL database.
    require_token : bool
        Whether every request needs a token.
    max_bytes : int
        The largest size of a request.
    rate : float
        The calls per second of a client.
    companions : sequence of callable
        Programs that run beside the server.
    """

    def __init__(
        self, store: str, *, require_token: bool, max_bytes: int, rate: float, companions: Sequence[Companion] = ()
    ) -> None:
        self.server = Server(Store(store))
        self._gate = Gate(self.server.tokens, open_on_loopback=not require_token, max_bytes=max_bytes, rate=rate)
        self._companions = companions
        routes = (*ROUTES, Route("GET", "/openapi.json", _send_document, any_plant=True), *PAGES)
        self._routes = sorted(routes, key=lambda route: not route.is_page)
        self._others = Router(lifespan=self._lifespan)  # what is not HTTP

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._others(scope, receive, send)
            return
        wants_page = scope["method"] == "GET" and any(
            name == b"accept" and b"text/html" in value for name, value in scope["headers"]
        )
        route = find_route(self._routes, scope["method"], scope["path"], wants_page=wants_page)
        try:
            answer = await self._answer(route, scope, receive)
        except Exception as error:
            answer = problem_of(error)
            if answer.status_code == 500:
                LOGGER.exception("%s %s failed", scope["method"], scope["path"])
            if wants_page and answer.status_code == 401:
                answer = RedirectResponse("/login", 303)
        answer.raw_headers.extend(_HEADERS)
        self.server.metrics.count_request(route.kind if isinstance(route, Route) else "other", answer.status_code)
        await answer(scope, receive, send)

    async def _answer(self, route: Route | RequestError, scope: Scope, receive: Receive) -> Response:
        headers = dict(scope["headers"])
        if isinstance(route, RequestError):
            await self._gate.admit(scope, headers)
            raise route
        access = await self._gate.admit(scope, headers, is_open=route.scope is None, content_type=route.content_type)
        body = b"" if scope["method"] == "GET" else await self._gate.read(receive)
        return respond(await route.answer(route.request(self.server, access, scope, headers, body)))

    @asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        server = self.server
        server.plants.start()
        transport = httpx.ASGITransport(self)
        async with AsyncClient("http://localhost", server.tokens.internal, transport=transport) as client:
            tasks = [asyncio.create_task(_keep_running(companion, client)) for companion in self._companions]
            yield
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        server.stopping.set()
        await server.plants.stop()
        server.store.close()


async def _send_document(_: Request) -> Any:
    return openapi_document(ROUTES)


async def _keep_running(companion: Companion, client: AsyncClient) -> None:
    """Run a program beside the server; if it fails, start it anew after a while."""
    while True:
        try:
            await companion(client)
        except asyncio.CancelledError:
            raise
        except Exception:
            LOGGER.exception("a program beside the server failed; it is started again")
            await asyncio.sleep(_RESTART_SECONDS)
        else:
            return
