"""Errors as problem documents (RFC 9457), with the library's own messages."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import ValidationError
from starlette.responses import Response

from soqo.errors import AccessError, ArgumentError, ProtocolError, SoqoError, UnavailableError, UnknownNameError
from soqo.service._schemas import describe_validation


class RequestError(Exception):
    """A request that is refused: its status, its kind, what is wrong, and headers of the answer."""

    def __init__(self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.kind, self.headers = status, kind, headers


_STATUS: tuple[tuple[type[Exception], int, str], ...] = (
    (UnknownNameError, 404, "not-found"),
    (ProtocolError, 409, "conflict"),
    (UnavailableError, 503, "unavailable"),
    (ArgumentError, 422, "argument"),
    (AccessError, 403, "access"),
    (SoqoError, 500, "failure"),
)

_TITLES = {
    400: "The request is not HTTP or not JSON",
    401: "A valid token is needed",
    403: "The token does not allow this",
    404: "There is no such thing",
    405: "There is no such method here",
    408: "The request came too slowly",
    409: "The call contradicts an earlier one, or comes at the wrong time",
    413: "The request is too large",
    415: "The content type must be application/json",
    422: "An argument is wrong",
    429: "Too many requests",
    500: "The server failed",
    503: "The server is not available now",
}


def problem_of(error: Exception) -> Response:
    """Return the problem document of an error as a response.

    Examples
    --------
    >>> json.loads(problem_of(UnknownNameError("there is no plant 'roof'")).body)["title"]
    'There is no such thing'
    """
    if isinstance(error, RequestError):
        return _problem(error.status, error.kind, str(error), error.headers)
    if isinstance(error, ValidationError):
        return _problem(422, "argument", describe_validation(error))
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return _problem(status, name, str(error), {"Retry-After": "1"} if status == 503 else None)
    return _problem(500, "failure", f"the server failed with {type(error).__name__}; its log has the reason")


def _problem(status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    document = {
        "type": f"urn:soqo:problem:{kind}",
        "title": _TITLES.get(status, "The request failed"),
        "status": status,
        "detail": detail,
    }
    return Response(json.dumps(document), status, headers, media_type="application/problem+json")
