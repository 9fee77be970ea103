"""What a client sends and what it makes of the answers, without a connection: both clients share it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from soqo.errors import AccessError, ArgumentError, ProtocolError, SoqoError, UnavailableError, UnknownNameError
from soqo.policies import GLIDE, Policy
from soqo.service._policies import policy_to_table
from soqo.typing import Array, ArrayLike

_ERRORS: Mapping[int, type[SoqoError]] = {
    401: AccessError,
    403: AccessError,
    404: UnknownNameError,
    409: ProtocolError,
    413: ArgumentError,
    415: ArgumentError,
    422: ArgumentError,
}

RETRIED = frozenset({408, 429, 502, 503, 504})
"""The statuses after which the same call is repeated."""

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 1.0


class Request(NamedTuple):
    """A request: method, path, and the contents of its body."""

    method: str
    path: str
    body: dict[str, Any] | None = None


def plant_path(name: str, rest: str = "") -> str:
    """Return the path of a plant.

    Examples
    --------
    >>> plant_path("roof", "/explain")
    '/plants/roof/explain'
    """
    if not name:
        raise ArgumentError(f"the name of a plant must be a text, got {name!r}")
    return f"/plants/{quote(name, safe='')}{rest}"


def create_request(name: str, x0: ArrayLike, policy: Policy[Any] | None, settings: Mapping[str, Any]) -> Request:
    """Return the request that creates a plant."""
    table = policy_to_table(GLIDE() if policy is None else policy)
    body = {"name": name, "policy": table, "x0": plain("x0", x0)}
    for key, value in settings.items():
        if value is not None:
            body[key] = [_limits(one) for one in value] if key == "v_limits" else _limits(value)
    return Request("POST", "/plants", body)


def act_request(name: str, number: int, v: ArrayLike, given: Mapping[str, Any]) -> Request:
    """Return the request of a round."""
    body: dict[str, Any] = {"v": plain("v", v), "round": number}
    body |= {key: plain(key, value) for key, value in given.items() if value is not None}
    return Request("POST", plant_path(name, "/rounds"), body)


def observe_request(name: str, number: int, y: float, given: Mapping[str, Any]) -> Request:
    """Return the request of a reading."""
    reading = plain("y", y)
    if isinstance(reading, list):
        raise ArgumentError(f"y must be one number, got {y!r}")
    body: dict[str, Any] = {"y": None if math.isnan(reading) else reading}
    body |= {key: plain(key, value) for key, value in given.items() if value is not None}
    return Request("POST", plant_path(name, f"/rounds/{number}/reading"), body)


def plain(name: str, value: Any) -> Any:
    """Return numbers as JSON has them."""
    try:
        array = np.asarray(value)
        if array.dtype.kind != "b":
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be numbers, got {value!r}") from None
    return array.tolist()


def _limits(value: Any) -> Any:
    """Return a setting as JSON has it: None where there is no limit."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
        return list(value)
    array = np.asarray(value, dtype=np.float64)
    if np.isinf(array).all():
        return None
    return [None if math.isinf(one) else one for one in array.tolist()] if array.ndim == 1 else array.tolist()


def error_of(status: int, document: Any) -> SoqoError:
    """Return the error of a problem document, which is that of the library where the call was refused."""
    detail = document.get("detail") if isinstance(document, Mapping) else None
    message = detail if isinstance(detail, str) else f"the server answered with status {status}"
    return _ERRORS.get(status, UnavailableError)(message)


def waiting_time(tries: int, retry_after: str | None) -> float:
    """Return how many seconds to wait before a call is repeated."""
    if retry_after is not None and retry_after.isdigit():
        return min(float(retry_after), 60.0)
    return float(min(_FIRST_WAIT * 2.0**tries, _LONGEST_WAIT))


def array_or_value(value: Any) -> Any:
    """Return lists of numbers as arrays, with NaN for what is not known."""
    if isinstance(value, list):
        return np.array(value, dtype=np.float64)
    return math.nan if value is None else value


def action(answer: Mapping[str, Any]) -> Array:
    """Return the action of an answer."""
    return np.array(answer["x"], dtype=np.float64)


def base_urls(url: str | Sequence[str]) -> tuple[str, ...]:
    """Return the addresses of the servers, without a slash at the end."""
    urls = (url,) if isinstance(url, str) else tuple(url)
    for one in urls:
        if not one.startswith(("http://", "https://")):
            raise ArgumentError(f"url must begin with http:// or https://, got {one!r}")
    if not urls:
        raise ArgumentError("url must be an address, or some, got none")
    return tuple(one.rstrip("/") for one in urls)
