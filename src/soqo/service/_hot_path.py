"""The two calls of a round, answered without the layers of the web framework, which cost more than the calls.

The framework has the same routes, for the OpenAPI document and for what is not a plain call. The address of a plant
shows its page to a browser and its status to a program.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from pydantic import ValidationError
from pydantic_core import to_json

from soqo.errors import SoqoError
from soqo.service._problems import RequestError, problem_of
from soqo.service._schemas import Reading, RoundRequest
from soqo.service._security import Access
from soqo.service._server_state import ServerState

_Scope: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_PATH = re.compile(r"/plants/([A-Za-z0-9._-]{1,64})/rounds(?:/([1-9][0-9]{0,14})/reading)?")

_PLANT = re.compile(r"/plants/[A-Za-z0-9._-]{1,64}")


class HotPath:
    """An application (ASGI) that answers the calls of a round, and leaves everything else to another one.

    Parameters
    ----------
    app : callable
        The other application.
    state : ServerState
        The state of the server.
    """

    def __init__(self, app: Callable[[_Scope, _Receive, _Send], Awaitable[None]], state: ServerState) -> None:
        self._app, self._state = app, state

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Answer a request."""
        found = _PATH.fullmatch(scope["path"]) if scope.get("method") == "POST" else None
        if found is None:
            if scope.get("method") == "GET" and _PLANT.fullmatch(scope["path"]) and _wants_page(scope):
                scope = {**scope, "path": f"{scope['path']}/live", "raw_path": None}
            await self._app(scope, receive, send)
            return
        access: Access = scope["state"]["access"]
        name, number = found.groups()
        try:
            access.require("operate", name)
            body = await _read(receive)
            if number is None:
                answer = await self._state.ask(name, RoundRequest.model_validate_json(body))
            else:
                answer = await self._state.ask(name, (int(number), Reading.model_validate_json(body)))
        except (SoqoError, ValidationError, RequestError) as error:
            await problem_of(error)(scope, receive, send)
            return
        content = to_json(answer)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def _wants_page(scope: _Scope) -> bool:
    """Return whether a person looks at a plant, and not a program."""
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


async def _read(receive: _Receive) -> bytes:
    """Return the body of a request."""
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return body
