"""A client for plants on a server, with the methods of a controller.

Everything is written once, for asyncio. This client runs the same coroutines with requests and pauses that block, so
that a coroutine never waits: it ends when it is started.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from functools import update_wrapper
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from soqo.policies import Policy
from soqo.service._async_client import AsyncClient, AsyncRemotePlant
from soqo.typing import Array, ArrayLike

if TYPE_CHECKING:
    import httpx

_R = TypeVar("_R")
_P = ParamSpec("_P")


def _run(coroutine: Coroutine[Any, Any, _R]) -> _R:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: _R = end.value
        return result
    raise AssertionError("a coroutine over a link that blocks must not wait")


def _blocking(
    method: Callable[Concatenate[Any, _P], Coroutine[Any, Any, _R]],
) -> Callable[Concatenate[Any, _P], _R]:
    """Return the method without asyncio of an object with a ``_twin`` for asyncio, whose method is given."""

    def blocking(self: Any, /, *args: _P.args, **arguments: _P.kwargs) -> _R:
        result: _R = _run(getattr(self._twin, method.__name__)(*args, **arguments))
        return result

    update_wrapper(blocking, method)
    return blocking


class _BlockingClient(AsyncClient):
    """The twin of a client without asyncio: its requests and pauses block."""

    _http_kind = "Client"

    async def _request(self, method: str, url: str, body: Any) -> httpx.Response:
        answer: httpx.Response = self._http.request(method, url, json=body)
        return answer

    async def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    async def close(self) -> None:
        self._http.close()


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
        options: dict[str, Any] = {"timeout": timeout, "patience": patience, "transport": transport}
        self._twin = _BlockingClient(url, token, **options)

    def plant(self, name: str) -> RemotePlant:
        """Return a plant by its name; it is looked up with its first call.

        Parameters
        ----------
        name : str
            The name.
        """
        return RemotePlant(self, name)

    def create(self, name: str, policy: Policy[Any] | None = None, *, x0: ArrayLike, **settings: Any) -> RemotePlant:
        """Create a plant, or return it if it exists with these settings.

        Parameters
        ----------
        name, policy, x0, **settings
            As in :meth:`AsyncClient.create`.

        Returns
        -------
        RemotePlant
            The plant.
        """
        _run(self._twin.create(name, policy, x0=x0, **settings))
        return RemotePlant(self, name)

    retire = _blocking(AsyncClient.retire)
    plants = _blocking(AsyncClient.plants)
    send = _blocking(AsyncClient.send)
    close = _blocking(AsyncClient.close)

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
        self._twin, self.name = AsyncRemotePlant(client._twin, name), name

    act = _blocking(AsyncRemotePlant.act)
    observe = _blocking(AsyncRemotePlant.observe)

    @property
    def round(self) -> int:
        """The number of completed rounds: those begun whose reading was observed or missed."""
        return _run(self._twin.round())

    @property
    def open_rounds(self) -> tuple[int, ...]:
        """The numbers of the rounds that wait for their readings, oldest first; the current one is the last."""
        return _run(self._twin.open_rounds())

    @property
    def pending(self) -> Array | None:
        """The action of the current round if it awaits its reading, or None."""
        return _run(self._twin.pending())

    @property
    def x(self) -> Array:
        """The position of the plant: the last action, as applied if that was reported."""
        return _run(self._twin.x())

    status = _blocking(AsyncRemotePlant.status)
    diagnostics = _blocking(AsyncRemotePlant.diagnostics)
    explain = _blocking(AsyncRemotePlant.explain)
    history = _blocking(AsyncRemotePlant.history)
    note = _blocking(AsyncRemotePlant.note)
