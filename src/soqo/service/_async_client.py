"""A client for plants on a server for asyncio, with the methods of a controller."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import quote

import numpy as np

from soqo._foundation.optional_imports import require_extra
from soqo.errors import AccessError, ArgumentError, ProtocolError, SoqoError, UnavailableError, UnknownNameError
from soqo.policies import GLIDE, Policy
from soqo.service._json import from_numbers, policy_to_table, to_limits, to_numbers
from soqo.typing import Array, ArrayLike

if TYPE_CHECKING:
    import httpx

_ERRORS: Mapping[int, type[SoqoError]] = {
    401: AccessError,
    403: AccessError,
    404: UnknownNameError,
    409: ProtocolError,
    413: ArgumentError,
    415: ArgumentError,
    422: ArgumentError,
}

_RETRIED = frozenset({408, 429, 502, 503, 504})
"""The statuses after which the same call is repeated."""

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 1.0


class Request(NamedTuple):
    """A request: method, path, and the contents of its body."""

    method: str
    path: str
    body: dict[str, Any] | None = None


class AsyncClient:
    """A connection to ``soqo serve`` for asyncio (extra ``service``).

    Calls that get no answer are repeated with the same round number, which the server recognizes: nothing is played or
    counted twice.

    Parameters
    ----------
    url : str or sequence of str
        The address of the server; of several servers of one store, the next one is used if one does not answer.
    token : str, optional
        The token.
    timeout : float
        How many seconds to wait for an answer.
    patience : float
        For how many seconds a call is repeated before it fails.
    transport : httpx.AsyncBaseTransport, optional
        Another way to send requests.

    See Also
    --------
    soqo.Client : The same without asyncio.

    Examples
    --------
    >>> import soqo
    >>> async with soqo.AsyncClient("http://127.0.0.1:8000", token="soqo_...") as client:      # doctest: +SKIP
    ...     plant = await client.create("roof", x0=[20.0, 20.0], low=16.0, high=27.0)
    ...     x = await plant.act(v=[22.0, 19.0])
    ...     await plant.observe(0.8)
    """

    _http_kind = "AsyncClient"  # of httpx

    def __init__(
        self,
        url: str | Sequence[str],
        token: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 60.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._urls, self._patience = _base_urls(url), patience
        library = require_extra("httpx", "service")
        self._failed: type[Exception] = library.TransportError
        self._http: Any = getattr(library, self._http_kind)(headers=headers, timeout=timeout, transport=transport)

    def plant(self, name: str) -> AsyncRemotePlant:
        """Return a plant by its name; it is looked up with its first call.

        Parameters
        ----------
        name : str
            The name.
        """
        return AsyncRemotePlant(self, name)

    async def create(
        self, name: str, policy: Policy[Any] | None = None, *, x0: ArrayLike, **settings: Any
    ) -> AsyncRemotePlant:
        """Create a plant, or return it if it exists with these settings.

        Parameters
        ----------
        name : str
            Its name: letters, digits, dots, dashes and underscores.
        policy : Policy, optional
            One of soqo's policies; :class:`soqo.GLIDE` by default.
        x0 : array_like, shape (d,)
            The position of the plant.
        **settings
            As in :class:`soqo.Controller`: horizon, seed, low, high, rate, period, switching_weight, max_delay,
            v_limits, actuators, units.

        Returns
        -------
        AsyncRemotePlant
            The plant.
        """
        body = {
            "name": name,
            "policy": policy_to_table(GLIDE() if policy is None else policy),
            "x0": to_numbers("x0", x0),
        }
        for key, value in settings.items():
            if value is not None:
                body[key] = [to_limits(one) for one in value] if key == "v_limits" else to_limits(value)
        await self.send(Request("POST", "/plants", body))
        return self.plant(name)

    async def retire(self, name: str) -> None:
        """Retire a plant: it takes no further calls, and its history stays.

        Parameters
        ----------
        name : str
            The name.
        """
        await self.send(Request("DELETE", _plant_path(name)))

    async def plants(self) -> list[str]:
        """Return the names of all plants."""
        names: list[str] = []
        after: str | None = ""
        while after is not None:
            page = await self.send(Request("GET", f"/plants?limit=1000&after={after}"))
            names += [one["name"] for one in page["plants"]]
            after = page["next"]
        return names

    async def send(self, request: Request) -> Any:
        """Send a request, again and again until there is an answer, and return its contents.

        Parameters
        ----------
        request : Request
            A method, a path and a body.

        Returns
        -------
        object
            The contents of the answer.
        """
        end, tries = time.monotonic() + self._patience, 0
        while True:
            url, retry_after = self._urls[tries % len(self._urls)], None
            try:
                answer = await self._request(request.method, url + request.path, request.body)
            except self._failed as error:
                failure: SoqoError = UnavailableError(f"{url} does not answer: {error}")
            else:
                if answer.is_success:
                    return answer.json()
                failure = _error_of(answer)
                if answer.status_code not in _RETRIED:
                    raise failure
                retry_after = answer.headers.get("Retry-After")
            wait = _waiting_time(tries, retry_after)
            if time.monotonic() + wait > end:
                raise failure
            await self._pause(wait)
            tries += 1

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _request(self, method: str, url: str, body: Any) -> httpx.Response:
        answer: httpx.Response = await self._http.request(method, url, json=body)
        return answer

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


class AsyncRemotePlant:
    """A plant on a server, with the methods of :class:`soqo.Controller` for asyncio.

    Parameters
    ----------
    client : AsyncClient
        The connection.
    name : str
        The name of the plant.

    Examples
    --------
    >>> import soqo
    >>> plant = soqo.AsyncClient("http://127.0.0.1:8000").plant("roof")                     # doctest: +SKIP
    >>> x = await plant.act(v=[22.0, 19.0])                                            # doctest: +SKIP
    >>> await plant.observe(0.8)                                                       # doctest: +SKIP
    """

    def __init__(self, client: AsyncClient, name: str) -> None:
        self._client, self.name, self._path = client, name, _plant_path(name)
        self._current: int | None = None

    async def act(
        self,
        v: ArrayLike,
        forecast: ArrayLike | None = None,
        context: ArrayLike | None = None,
        factor: float | None = None,
        *,
        active: ArrayLike | None = None,
    ) -> Array:
        """Return the action for this minimizer, shape (d,).

        Parameters
        ----------
        v, forecast, context, factor, active
            As in :meth:`soqo.Controller.act` and :meth:`soqo.Policy.act`.
        """
        number = await self._round() + 1
        body = _told(v=v, forecast=forecast, context=context, factor=factor, active=active)
        answer = await self._send("POST", "/rounds", {**body, "round": number})
        self._current = number
        return _action(answer)

    async def observe(
        self,
        y: float,
        applied: ArrayLike | None = None,
        *,
        round: int | None = None,  # noqa: A002  # as in Controller
        at: ArrayLike | None = None,
        unit: float | None = None,
        covariates: ArrayLike | None = None,
    ) -> None:
        """Learn from the measured cost of the pending action, or of that of an earlier round that is still open.

        Parameters
        ----------
        y, applied, round, at, unit, covariates
            As in :meth:`soqo.Controller.observe` and :meth:`soqo.Policy.observe`.
        """
        number = await self._round() if round is None else round
        if not number:
            raise ProtocolError("observe was called before act")
        reading = to_numbers("y", y)
        if isinstance(reading, list):
            raise ArgumentError(f"y must be one number, got {y!r}")
        body = _told(applied=applied, at=at, unit=unit, covariates=covariates)
        body["y"] = None if math.isnan(reading) else reading
        await self._send("POST", f"/rounds/{number}/reading", body)

    async def round(self) -> int:
        """Return the number of completed rounds: those begun whose reading was observed or missed."""
        return int((await self.status())["completed"])

    async def open_rounds(self) -> tuple[int, ...]:
        """Return the numbers of the rounds that wait for their readings, oldest first; the current one is the last."""
        return tuple((await self.status())["open_rounds"])

    async def pending(self) -> Array | None:
        """Return the action of the current round if it awaits its reading, or None."""
        status = await self.status()
        return _action(status) if status["round"] in status["open_rounds"] else None

    async def x(self) -> Array:
        """Return the position of the plant: the last action, as applied if that was reported."""
        return _action(await self.status())

    async def status(self) -> dict[str, Any]:
        """Return where the plant is, as the server tells it."""
        found: dict[str, Any] = await self._send("GET")
        self._current = found["round"]
        return found

    async def diagnostics(self) -> dict[str, Any]:
        """Return the policy's diagnostics, with ``round`` and the number of ``missed`` readings."""
        return {name: from_numbers(value) for name, value in (await self._send("GET", "/diagnostics")).items()}

    async def explain(self) -> str:
        """Describe what the plant is doing and why, in a sentence or two."""
        return str((await self._send("GET", "/explain"))["text"])

    async def history(self, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Return rounds behind a round, in their order, each with v, x, y and more.

        Parameters
        ----------
        after : int
            The round.
        limit : int
            The number of rounds, at most 1000.
        """
        return list((await self._send("GET", f"/rounds?after={after}&limit={limit}"))["rounds"])

    async def note(self, message: str, kind: str = "note") -> None:
        """Note something for operators.

        Parameters
        ----------
        message : str
            A sentence.
        kind : {"note", "held", "resumed"}
            Whether the plant is silent and keeps its position, or goes on.
        """
        await self._send("POST", "/events", {"kind": kind, "message": message})

    async def _round(self) -> int:
        """Return the number of rounds begun."""
        return int((await self.status())["round"]) if self._current is None else self._current

    async def _send(self, method: str, rest: str = "", body: dict[str, Any] | None = None) -> Any:
        try:
            return await self._client.send(Request(method, self._path + rest, body))
        except ProtocolError:
            self._current = None  # another program has played: ask anew
            raise


# ---- requests and answers --------------------------------------------------------------------------------------------


def _base_urls(url: str | Sequence[str]) -> tuple[str, ...]:
    """Return the addresses of the servers, without a slash at the end."""
    urls = (url,) if isinstance(url, str) else tuple(url)
    for one in urls:
        if not one.startswith(("http://", "https://")):
            raise ArgumentError(f"url must begin with http:// or https://, got {one!r}")
    if not urls:
        raise ArgumentError("url must be an address, or some, got none")
    return tuple(one.rstrip("/") for one in urls)


def _plant_path(name: str) -> str:
    if not name:
        raise ArgumentError(f"the name of a plant must be a text, got {name!r}")
    return f"/plants/{quote(name, safe='')}"


def _told(**given: Any) -> dict[str, Any]:
    """Return the arguments of a call that were given, as JSON has them."""
    return {name: to_numbers(name, value) for name, value in given.items() if value is not None}


def _error_of(answer: httpx.Response) -> SoqoError:
    """Return the error of a problem document, which is that of the library where the call was refused."""
    try:
        detail = answer.json()["detail"]
    except (ValueError, LookupError, TypeError):
        detail = f"the server answered with status {answer.status_code}"
    return _ERRORS.get(answer.status_code, UnavailableError)(str(detail))


def _waiting_time(tries: int, retry_after: str | None) -> float:
    """Return how many seconds to wait before a call is repeated."""
    if retry_after is not None and retry_after.isdigit():
        return min(float(retry_after), 60.0)
    return float(min(_FIRST_WAIT * 2.0 ** min(tries, 10), _LONGEST_WAIT))


def _action(answer: Mapping[str, Any]) -> Array:
    return np.array(answer["x"], dtype=np.float64)
