"""The thread that steers all plants of a server.

Calls arrive from many connections. The dispatcher takes those that wait, at most one of each plant, computes them in
batches, writes all of them to the store in one transaction, lets them take effect, and answers them. While it works,
the next calls arrive, so that batches grow with the load.

Nothing takes effect before it is in the store. If another server has written a call of the same plant in the meantime,
the store refuses ours; then the other's calls are repeated here, and ours is decided anew. A call is refused only after
such a look at the store.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any, NamedTuple, TypeVar

from anyio.to_thread import run_sync

from soqo._control.timestamps import now
from soqo.errors import FileFormatError, SoqoError, UnavailableError, UnknownNameError
from soqo.service._memory import Memory
from soqo.service._plants import Change, Plant
from soqo.service._steering import Step, compute, take_effect
from soqo.service._store import Event, Record, Snapshot, Store, StoredPlant

LOGGER = logging.getLogger("soqo.service")

_R = TypeVar("_R")

_ANSWER_SECONDS = 60.0
"""A call that is not answered by then is reported as such; it may still take effect, and can be repeated."""

_MAX_WAITING = 20_000
"""The number of requests that may wait."""

_MAX_CALLS = 256
"""The number of calls that are computed and written together."""

_MAX_TRIES = 100
"""How often a call is decided anew because another server was faster."""

_OLD_SECONDS = 1.0
"""The age of an answer that may be old, where another server steers the plant."""

_to_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True)
class Look:
    """A function of a plant that changes nothing, and whether its answer may be a second old."""

    function: Callable[[Plant], Any]
    may_be_old: bool = False


class Work(NamedTuple):
    """What the dispatcher did at once: the number of requests, the calls written, events, and the time in seconds."""

    requests: int
    written: int
    events: Sequence[Event]
    seconds: float


@dataclass(eq=False)
class _Job:
    """A request for a plant, what it was answered, and how often another server was faster."""

    plant: str
    request: Change | Look
    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None
    answered: bool = False
    tries: int = 0

    def answer(self, result: Any, error: Exception | None = None) -> None:
        if not self.answered:
            self.result, self.error, self.answered = result, error, True

    def give_up(self) -> None:
        if not self.future.done():
            self.future.set_exception(UnavailableError("no answer in time: repeat the call"))

    def deliver(self) -> None:
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Dispatcher:
    """Steers the plants of a store in a thread of its own.

    Parameters
    ----------
    store : Store
        The store.
    count : callable
        Called with what was done.
    """

    def __init__(self, store: Store, count: Callable[[Work], None]) -> None:
        self._store, self._count = store, count
        self._memory = Memory(store)
        self._waiting: deque[_Job] = deque()
        self._snapshots: list[Snapshot] = []
        self._wake, self._stopping = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="soqo-dispatcher", daemon=True)

    def start(self) -> None:
        """Begin to work for the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Finish what waits, write snapshots, and end the thread."""
        self._stopping = True
        self._wake.set()
        await run_sync(self._thread.join)

    # ---- requests ----------------------------------------------------------------------------------------------------

    async def ask(self, plant: str, request: Change | Look) -> Any:
        """Ask something of a plant, and wait for the answer."""
        if len(self._waiting) > _MAX_WAITING:
            raise UnavailableError("too many requests wait; the same call can be repeated")
        job = _Job(plant, request, self._loop.create_future())
        self._waiting.append(job)
        if not self._wake.is_set():
            self._wake.set()
        timer = self._loop.call_later(_ANSWER_SECONDS, job.give_up)
        try:
            return await job.future
        finally:
            timer.cancel()

    async def look(self, plant: str, function: Callable[[Plant], _R], *, may_be_old: bool = False) -> _R:
        """Return a function of a plant."""
        found: _R = await self.ask(plant, Look(function, may_be_old))
        return found

    async def look_at_all(self, plants: Iterable[str], function: Callable[[Plant], _R]) -> list[_R]:
        """Return a function of some plants, which may be old, without those that are damaged."""
        looks = (self.look(name, function, may_be_old=True) for name in plants)
        found = await asyncio.gather(*looks, return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException) and not isinstance(one, FileFormatError):
                raise one
        return [one for one in found if not isinstance(one, BaseException)]

    async def health(self) -> dict[str, float]:
        """Return how the plants in memory are, as :meth:`Plant.order` does; without those that do not know it."""
        found = await self.look_at_all(list(self._memory.plants), lambda plant: (plant.name, plant.order()))
        return {name: order for name, order in found if order is not None}

    async def find(self, plant: str) -> StoredPlant:
        """Return a plant as it was created."""
        stored = await run_sync(self._store.find_plant, plant)
        if stored is None:
            raise UnknownNameError(f"there is no plant {plant!r}")
        return stored

    @property
    def waiting(self) -> int:
        """The number of requests that wait."""
        return len(self._waiting)

    def _deliver(self, jobs: Sequence[_Job], work: Work) -> None:
        for job in jobs:
            if job.answered:
                job.deliver()
        self._count(work)

    # ---- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while self._waiting or not self._stopping:
            if not self._waiting:
                self._wake.wait()
            self._wake.clear()
            if jobs := self._next_jobs():
                work = self._work(jobs)
                self._loop.call_soon_threadsafe(self._deliver, jobs, work)
        try:
            self._store.append([], [*self._snapshots, *self._memory.snapshots(self._memory.plants.values(), behind=1)])
        except UnavailableError:  # the calls are in the store: a restart repeats more of them
            LOGGER.warning("no snapshots could be written: the store does not answer")

    def _next_jobs(self) -> list[_Job]:
        """Return requests that wait, at most one of each plant, in the order in which they came."""
        jobs: dict[str, _Job] = {}
        later: list[_Job] = []
        while self._waiting and len(jobs) < _MAX_CALLS:
            job = self._waiting.popleft()
            if job.plant in jobs:
                later.append(job)
            else:
                jobs[job.plant] = job
        self._waiting.extendleft(reversed(later))
        return list(jobs.values())

    def _work(self, jobs: Sequence[_Job]) -> Work:
        begun = perf_counter()
        written = 0
        events: list[Event] = []
        try:
            errors = self._memory.load(job.plant for job in jobs)
            steps = [(job, step) for job in jobs if (step := self._decide(job, errors)) is not None]
            written, events = self._commit(steps)
        except UnavailableError as error:
            LOGGER.warning("the store does not answer")  # what the database says may hold secrets
            self._fail(jobs, error)
        except Exception as error:
            LOGGER.exception("calls failed")
            self._fail(jobs, error)
        return Work(len(jobs), written, events, perf_counter() - begun)

    def _fail(self, jobs: Sequence[_Job], error: Exception) -> None:
        """Answer requests of which it is not known whether they were written; their plants are rebuilt."""
        self._snapshots.clear()
        for job in jobs:
            self._memory.forget(job.plant)
            job.answer(None, error)

    def _decide(self, job: _Job, errors: dict[str, SoqoError]) -> Step | None:
        """Return the step of a request that changes its plant; others are answered."""
        if job.plant in errors:
            job.answer(None, errors[job.plant])
            return None
        plant, memory, request = self._memory.plants[job.plant], self._memory, job.request
        try:
            if isinstance(request, Look):
                if not request.may_be_old or monotonic() - plant.checked > _OLD_SECONDS:
                    memory.refresh(plant)
                found = request.function(plant)
            else:
                try:
                    found = plant.decide(request, memory.records_of)
                except SoqoError:
                    if not memory.refresh(plant):
                        raise
                    found = plant.decide(request, memory.records_of)
        except Exception as error:  # nothing has changed yet, and no other plant is concerned
            job.answer(None, error)
            return None
        if isinstance(found, Step):
            return found
        job.answer(found)
        return None

    def _commit(self, decided: Sequence[tuple[_Job, Step]]) -> tuple[int, list[Event]]:
        """Compute and write steps, let those that the store accepted take effect, and decide the others anew."""
        compute(step for _, step in decided)
        for job, step in decided:
            if step.error is not None:
                job.answer(None, step.error)
            else:
                step.plant.complete(step)
        steps = [(job, step) for job, step in decided if step.error is None]
        if not steps:
            return 0, []
        time = now()
        records = [
            Record(step.plant.id, step.plant.progress.seq + 1, step.kind, step.round, _to_json(step.body), time)
            for _, step in steps
        ]
        events = [
            Event(step.plant.id, number, kind, message, time)
            for _, step in steps
            for kind, number, message in step.events
        ]
        accepted = self._store.append(records, self._snapshots, events)
        take_effect(step for _, step in steps if step.plant.id in accepted)
        for (job, step), record in zip(steps, records, strict=True):
            if record.plant in accepted:
                step.plant.advance(record, step)
                step.plant.checked = monotonic()
                job.answer(step.plant.answer(step))
            else:
                self._try_again(job, step.plant)
        self._snapshots = self._memory.snapshots(step.plant for _, step in steps if step.plant.id in accepted)
        return len(accepted), [event for event in events if event.plant in accepted]

    def _try_again(self, job: _Job, plant: Plant) -> None:
        job.tries += 1
        if job.tries > _MAX_TRIES:
            job.answer(None, UnavailableError("other servers write this plant all the time: repeat the call"))
        else:
            self._memory.refresh(plant)
            self._waiting.appendleft(job)
