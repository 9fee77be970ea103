"""What the requests of one server share: the store, the dispatcher, the metrics, and who waits for news of a plant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from anyio.to_thread import run_sync

from soqo.errors import UnavailableError, UnknownNameError
from soqo.service._dispatcher import Dispatcher, Work
from soqo.service._metrics import Metrics
from soqo.service._plant import Plant
from soqo.service._requests import Change, Look
from soqo.service._security import Tokens
from soqo.service._store import Store, StoredPlant

_R = TypeVar("_R")

_ANSWER_SECONDS = 60.0
"""A call that is not answered by then is reported as such; it may still take effect, and can be repeated."""

_MAX_WAITING = 20_000
"""The number of requests that may wait."""


class ServerState:
    """The state of one server.

    Parameters
    ----------
    store : Store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.tokens, self.metrics = store, Tokens(store), Metrics()
        self.streams = 0
        self.stopping = asyncio.Event()
        self._dispatcher = Dispatcher(store, self._deliver)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: dict[str, set[asyncio.Event]] = {}

    def start(self) -> None:
        """Begin to answer, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._dispatcher.start()

    async def stop(self) -> None:
        """Answer what waits, write snapshots, and close the store."""
        self.stopping.set()
        await run_sync(self._dispatcher.stop)
        self.store.close()

    # ---- requests ----------------------------------------------------------------------------------------------------

    async def ask(self, plant: str, request: Change | Look) -> Any:
        """Ask something of a plant, and wait for the answer."""
        assert self._loop is not None
        if self._dispatcher.queue_length > _MAX_WAITING:
            raise UnavailableError("too many requests wait; the same call can be repeated")
        future: asyncio.Future[Any] = self._loop.create_future()

        def answer(result: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self._dispatcher.submit(plant, request, answer)
        timer = self._loop.call_later(
            _ANSWER_SECONDS, answer, None, UnavailableError("no answer in time: repeat the call")
        )
        try:
            return await future
        finally:
            timer.cancel()

    async def look(self, plant: str, function: Callable[[Plant], _R], *, may_be_old: bool = False) -> _R:
        """Return a function of a plant."""
        found: _R = await self.ask(plant, Look(function, may_be_old))
        return found

    async def health(self) -> dict[str, float]:
        """Return how the plants in memory are, as :meth:`Plant.order` does; without those that do not know it."""
        names = self._dispatcher.loaded
        looks = (self.look(name, Plant.order, may_be_old=True) for name in names)
        found = await asyncio.gather(*looks, return_exceptions=True)
        return {name: value for name, value in zip(names, found, strict=True) if isinstance(value, float)}

    async def find(self, plant: str) -> StoredPlant:
        """Return a plant as it was created."""
        stored = await run_sync(self.store.find_plant, plant)
        if stored is None:
            raise UnknownNameError(f"there is no plant {plant!r}")
        return stored

    @property
    def waiting(self) -> int:
        """The number of requests that wait."""
        return self._dispatcher.queue_length

    def _deliver(self, answers: list[Callable[[], None]], work: Work) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._finish, answers, work)

    def _finish(self, answers: Iterable[Callable[[], None]], work: Work) -> None:
        for answer in answers:
            answer()
        self.metrics.count_work(work)
        if self._news:
            for plant in work.plants:
                for event in self._news.get(plant, ()):
                    event.set()

    # ---- news --------------------------------------------------------------------------------------------------------

    def subscribe(self, plant: str) -> asyncio.Event:
        """Return an event that is set when a plant changes here."""
        event = asyncio.Event()
        self._news.setdefault(plant, set()).add(event)
        return event

    def unsubscribe(self, plant: str, event: asyncio.Event) -> None:
        """Drop an event."""
        waiting = self._news.get(plant, set())
        waiting.discard(event)
        if not waiting:
            self._news.pop(plant, None)
