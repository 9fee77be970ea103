"""Errors as problem documents (RFC 9457), with the library's own messages."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError
from starlette.responses import Response

from soqo.errors import AccessError, ArgumentError, ProtocolError, SoqoError, UnavailableError, UnknownNameError


class RequestError(Exception):
    """A request whose body cannot be received: its status, its kind, and what is wrong."""

    def __init__(self, status: int, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.kind = status, kind


_STATUS: tuple[tuple[type[Exception], int, str], ...] = (
    (UnknownNameError, 404, "not-found"),
    (ProtocolError, 409, "conflict"),
    (UnavailableError, 503, "unavailable"),
    (ArgumentError, 422, "argument"),
    (AccessError, 403, "access"),
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

_MAX_ERRORS = 5
"""A problem document lists this many wrong fields."""


def problem(status: int, detail: str, kind: str = "", headers: dict[str, str] | None = None) -> Response:
    """Return a problem document as a response.

    Examples
    --------
    >>> json.loads(problem(404, "there is no plant 'roof'", "not-found").body)["title"]
    'There is no such thing'
    """
    document = {
        "type": f"urn:soqo:problem:{kind}" if kind else "about:blank",
        "title": _TITLES.get(status, "The request failed"),
        "status": status,
        "detail": detail,
    }
    return Response(json.dumps(document), status, headers, media_type="application/problem+json")


def problem_of(error: BaseException) -> Response:
    """Return the problem document of an error."""
    if isinstance(error, ValidationError):
        return problem(422, describe_validation(error), "argument")
    if isinstance(error, RequestError):
        return problem(error.status, str(error), error.kind, {"Connection": "close"})
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            headers = {"Retry-After": "1"} if status == 503 else None
            return problem(status, str(error), name, headers)
    if isinstance(error, SoqoError):
        return problem(500, str(error), "failure")
    return problem(500, f"the server failed with {type(error).__name__}; its log has the reason", "failure")


def describe_validation(error: ValidationError) -> str:
    """Return which fields of a request are wrong, in a sentence."""
    found = []
    for one in error.errors(include_url=False)[:_MAX_ERRORS]:
        where = ".".join(str(part) for part in one["loc"]) or "the request"
        found.append(f"{where}: {one['msg'][0].lower()}{one['msg'][1:]}{_got(one['input'])}")
    more = error.error_count() - len(found)
    return "; ".join(found) + (f"; and {more} more" if more > 0 else "")


def _got(value: Any) -> str:
    """Return what was given, if it is short; never a part of a large request."""
    if isinstance(value, bool | int | float | str) and len(str(value)) <= 40:
        return f", got {value!r}"
    return ""
