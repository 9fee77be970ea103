"""The application: the API, the pages and their streams, behind one gate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import httpx
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from soqo._version import __version__
from soqo.errors import SoqoError
from soqo.service._api import make_router
from soqo.service._async_client import AsyncClient
from soqo.service._gate import Gate, Limits
from soqo.service._hot_path import HotPath
from soqo.service._pages import make_page_router
from soqo.service._problems import RequestError, problem, problem_of
from soqo.service._server_state import ServerState
from soqo.service._store import Store

LOGGER = logging.getLogger("soqo.service")

_RESTART_SECONDS = 5.0


Companion: TypeAlias = Callable[[AsyncClient], Awaitable[None]]
"""A program beside the server, which uses it as a client does and ends when it is cancelled."""


def make_app(store: str, *, require_token: bool, limits: Limits, companions: Sequence[Companion] = ()) -> Gate:
    """Return the application of a server (ASGI).

    Parameters
    ----------
    store : str
        The file of an SQLite database, or the URL of a PostgreSQL database.
    require_token : bool
        Whether every request needs a token.
    limits : Limits
        The limits of requests.
    companions : sequence of callable
        Programs that run beside the server.
    """
    state = ServerState(Store(store))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        state.start()
        transport = httpx.ASGITransport(gate)
        async with AsyncClient("http://localhost", state.tokens.internal, transport=transport) as client:
            tasks = [asyncio.create_task(_keep_running(companion, client)) for companion in companions]
            yield
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await state.stop()

    app = FastAPI(
        title="soqo",
        version=__version__,
        summary="Steer plants whose best operating point moves, when moving is expensive.",
        lifespan=lifespan,
        docs_url=None,  # loads its script from elsewhere; `_api_page` needs none
        redoc_url=None,
    )
    app.state.server = state
    app.include_router(make_router())
    app.include_router(make_page_router())
    _handle_errors(app)
    _describe_security(app)
    gate = Gate(
        HotPath(app, state),
        state.tokens,
        open_on_loopback=not require_token,
        limits=limits,
        count=state.metrics.count_request,
    )
    return gate


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


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def wrong_parameter(_: Request, error: RequestValidationError) -> Response:
        found = [f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg'].lower()}" for one in error.errors()]
        return problem(422, "; ".join(found), "argument")

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return problem(error.status_code, str(error.detail), headers=dict(error.headers or {}))

    async def expected(_: Request, error: Exception) -> Response:
        return problem_of(error)

    for kind in (SoqoError, ValidationError, RequestError):
        app.add_exception_handler(kind, expected)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        LOGGER.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
        return problem_of(error)


def _describe_security(app: FastAPI) -> None:
    """Say in the OpenAPI document that the API takes bearer tokens."""
    plain: Callable[[], dict[str, Any]] = app.openapi

    def described() -> dict[str, Any]:
        document = plain()
        scheme = {"type": "http", "scheme": "bearer", "description": "soqo token create NAME"}
        document.setdefault("components", {})["securitySchemes"] = {"token": scheme}
        document["security"] = [{"token": []}, {}]
        return document

    app.openapi = described  # type: ignore[method-assign]  # FastAPI documents this way to change its document
