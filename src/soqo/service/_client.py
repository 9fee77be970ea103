"""A client for plants on a server, with the methods of a controller."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from soqo._foundation.optional_imports import require_extra
from soqo.errors import ProtocolError, SoqoError, UnavailableError
from soqo.policies import Policy
from soqo.service._protocol import (
    RETRIED,
    Request,
    act_request,
    action,
    array_or_value,
    base_urls,
    create_request,
    error_of,
    observe_request,
    plant_path,
    waiting_time,
)
from soqo.typing import Array, ArrayLike

if TYPE_CHECKING:
    import httpx


class Client:
    """A connection to ``soqo serve`` (extra ``service``).

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
    transport : httpx.BaseTransport, optional
        Another way to send requests.

    See Also
    --------
    soqo.AsyncClient : The same for asyncio.

    Examples
    --------
    >>> import soqo
    >>> with soqo.Client("http://127.0.0.1:8000", token="soqo_...") as client:      # doctest: +SKIP
    ...     plant = client.create("roof", x0=[20.0, 20.0], low=16.0, high=27.0)
    ...     x = plant.act(v=[22.0, 19.0])
    ...     plant.observe(0.8)
    """

    def __init__(
        self,
        url: str | Sequence[str],
        token: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        library = require_extra("httpx", "service")
        self._urls, self._patience = base_urls(url), patience
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http: httpx.Client = library.Client(headers=headers, timeout=timeout, transport=transport)
        self._failed: type[Exception] = library.TransportError

    def plant(self, name: str) -> RemotePlant:
        """Return a plant by its name; it is looked up with its first call.

        Parameters
        ----------
        name : str
            The name.
        """
        plant_path(name)
        return RemotePlant(self, name)

    def create(self, name: str, policy: Policy[Any] | None = None, *, x0: ArrayLike, **settings: Any) -> RemotePlant:
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
        RemotePlant
            The plant.
        """
        self.send(create_request(name, x0, policy, settings))
        return RemotePlant(self, name)

    def retire(self, name: str) -> None:
        """Retire a plant: it takes no further calls, and its history stays.

        Parameters
        ----------
        name : str
            The name.
        """
        self.send(Request("DELETE", plant_path(name)))

    def plants(self) -> list[str]:
        """Return the names of all plants."""
        names: list[str] = []
        after: str | None = ""
        while after is not None:
            page = self.send(Request("GET", f"/plants?limit=1000&after={after}"))
            names += [one["name"] for one in page["plants"]]
            after = page["next"]
        return names

    def send(self, request: Request) -> Any:
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
        end = time.monotonic() + self._patience
        for tries in range(10**9):
            try:
                url = self._urls[tries % len(self._urls)]
                answer = self._http.request(request.method, url + request.path, json=request.body)
            except self._failed as error:
                failure: SoqoError = UnavailableError(f"{url} does not answer: {error}")
                wait = waiting_time(tries, None)
            else:
                if answer.is_success:
                    return answer.json()
                failure = error_of(answer.status_code, _document(answer))
                if answer.status_code not in RETRIED:
                    raise failure
                wait = waiting_time(tries, answer.headers.get("Retry-After"))
            if time.monotonic() + wait > end:
                raise failure
            time.sleep(wait)
        raise AssertionError

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class RemotePlant:
    """A plant on a server, with the methods of :class:`soqo.Controller`.

    Parameters
    ----------
    client : Client
        The connection.
    name : str
        The name of the plant.

    Examples
    --------
    >>> import soqo
    >>> plant = soqo.Client("http://127.0.0.1:8000").plant("roof")                     # doctest: +SKIP
    >>> x = plant.act(v=[22.0, 19.0])                                            # doctest: +SKIP
    >>> plant.observe(0.8)                                                       # doctest: +SKIP
    """

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name = client, name
        self._current: int | None = None

    def act(
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
        number = self._round() + 1
        given = {"forecast": forecast, "context": context, "factor": factor, "active": active}
        x = action(self._send(act_request(self.name, number, v, given)))
        self._current = number
        return x

    def observe(
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
        number = self._round() if round is None else round
        if not number:
            raise ProtocolError("observe was called before act")
        given = {"applied": applied, "at": at, "unit": unit, "covariates": covariates}
        self._send(observe_request(self.name, number, y, given))

    @property
    def round(self) -> int:
        """The number of completed rounds: those begun whose reading was observed or missed."""
        return int(self.status()["completed"])

    @property
    def open_rounds(self) -> tuple[int, ...]:
        """The numbers of the rounds that wait for their readings, oldest first; the current one is the last."""
        return tuple(self.status()["open_rounds"])

    @property
    def pending(self) -> Array | None:
        """The action of the current round if it awaits its reading, or None."""
        status = self.status()
        return action(status) if status["round"] in status["open_rounds"] else None

    @property
    def x(self) -> Array:
        """The position of the plant: the last action, as applied if that was reported."""
        return action(self.status())

    def status(self) -> dict[str, Any]:
        """Return where the plant is, as the server tells it."""
        found: dict[str, Any] = self._send(Request("GET", plant_path(self.name)))
        self._current = found["round"]
        return found

    def diagnostics(self) -> dict[str, Any]:
        """Return the policy's diagnostics, with ``round`` and the number of ``missed`` readings."""
        found = self._send(Request("GET", plant_path(self.name, "/diagnostics")))
        return {name: array_or_value(value) for name, value in found.items()}

    def explain(self) -> str:
        """Describe what the plant is doing and why, in a sentence or two."""
        return str(self._send(Request("GET", plant_path(self.name, "/explain")))["text"])

    def history(self, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Return rounds behind a round, in their order, each with v, x, y and more.

        Parameters
        ----------
        after : int
            The round.
        limit : int
            The number of rounds, at most 1000.
        """
        path = plant_path(self.name, f"/rounds?after={after}&limit={limit}")
        return list(self._send(Request("GET", path))["rounds"])

    def note(self, message: str, kind: str = "note") -> None:
        """Note something for operators.

        Parameters
        ----------
        message : str
            A sentence.
        kind : {"note", "held", "resumed"}
            Whether the plant is silent and keeps its position, or goes on.
        """
        self._send(Request("POST", plant_path(self.name, "/events"), {"kind": kind, "message": message}))

    def _round(self) -> int:
        """Return the number of rounds begun."""
        return int(self.status()["round"]) if self._current is None else self._current

    def _send(self, request: Request) -> Any:
        try:
            return self._client.send(request)
        except ProtocolError:
            self._current = None  # another program has played: ask anew
            raise


def _document(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None
