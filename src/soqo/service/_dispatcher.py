"""The thread that steers all plants of a server.

Calls arrive from many connections. The dispatcher takes those that wait, at most one of each plant, computes them in
batches, writes all of them to the store in one transaction, lets them take effect, and answers them. While it works,
the next calls arrive, so that batches grow with the load.

Nothing takes effect before it is in the store. If another server has written a call of the same plant in the meantime,
the store refuses ours; then the other's calls are repeated here, and ours is decided anew. A call is refused only after
such a look at the store.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy.exc import SQLAlchemyError

from soqo._control.timestamps import now
from soqo.errors import SoqoError, UnavailableError
from soqo.service._memory import Memory
from soqo.service._plant import Plant
from soqo.service._requests import Change, Known, Look, Step, decide
from soqo.service._steering import Kind, Outcome, compute
from soqo.service._store import Event, Record, Snapshot, Store

LOGGER = logging.getLogger("soqo.service")

_MAX_CALLS = 256
"""The number of calls that are computed and written together."""

_MAX_TRIES = 100
"""How often a call is decided anew because another server was faster."""

_OLD_SECONDS = 1.0
"""The age of an answer that may be old, where another server steers the plant."""

Answer: TypeAlias = Callable[[Any, BaseException | None], None]
"""A function that is called with the result of a request, or with its error."""


class Work(NamedTuple):
    """What the dispatcher did at once: requests, calls written, events by kind, and the time in seconds."""

    requests: int
    written: int
    events: Sequence[Event]
    plants: Sequence[str]
    seconds: float


@dataclass(eq=False)
class _Job:
    """A request for a plant, who is answered, and how often another server was faster."""

    plant: str
    request: Change | Look
    answer: Answer
    tries: int = 0
    answered: bool = False


class Dispatcher:
    """Steers the plants of a store in a thread of its own.

    Parameters
    ----------
    store : Store
        The store.
    deliver : callable
        Called with functions without arguments, which give the answers, and with what was done. It is to call the
        functions in the thread of the connections.
    """

    def __init__(self, store: Store, deliver: Callable[[list[Callable[[], None]], Work], None]) -> None:
        self._store, self._deliver = store, deliver
        self._memory = Memory(store)
        self._waiting: deque[_Job] = deque()
        self._answers: list[Callable[[], None]] = []
        self._snapshots: list[Snapshot] = []
        self._wake, self._stopping = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="soqo-dispatcher", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def submit(self, plant: str, request: Change | Look, answer: Answer) -> None:
        """Ask something of a plant."""
        self._waiting.append(_Job(plant, request, answer))
        self._wake.set()

    @property
    def loaded(self) -> list[str]:
        """The names of the plants in memory."""
        return list(self._memory.plants)

    @property
    def queue_length(self) -> int:
        """The number of requests that wait."""
        return len(self._waiting)

    def stop(self) -> None:
        """Finish what waits, write snapshots, and end the thread."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    # ---- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while self._waiting or not self._stopping:
            if not self._waiting:
                self._wake.wait()
            self._wake.clear()
            if jobs := self._next_jobs():
                self._work(jobs)
        try:
            self._store.write_snapshots([*self._snapshots, *self._memory.closing_snapshots()])
        except SQLAlchemyError as error:  # the calls are in the store: a restart repeats more of them
            LOGGER.warning("no snapshots could be written: %s", type(error).__name__)

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

    def _work(self, jobs: Sequence[_Job]) -> None:
        begun = perf_counter()
        written: list[Plant] = []
        events: list[Event] = []
        try:
            errors = self._memory.load(job.plant for job in jobs)
            steps = [(job, step) for job in jobs if (step := self._decide(job, errors)) is not None]
            written, events = self._commit(self._compute(steps))
        except SQLAlchemyError as error:
            LOGGER.error("the store failed: %s", type(error).__name__)  # noqa: TRY400  # its text may hold secrets
            self._fail(jobs, UnavailableError("the store does not answer; the same call can be repeated"))
        except Exception as error:
            LOGGER.exception("a batch of calls failed")
            self._fail(jobs, error)
        answers, self._answers = self._answers, []
        names = [plant.name for plant in written]
        self._deliver(answers, Work(len(jobs), len(written), events, names, perf_counter() - begun))

    def _fail(self, jobs: Sequence[_Job], error: Exception) -> None:
        """Answer requests of which it is not known whether they were written; their plants are rebuilt."""
        self._snapshots.clear()
        for job in jobs:
            self._memory.forget(job.plant)
            self._answer(job, None, error)

    def _answer(self, job: _Job, result: Any, error: BaseException | None = None) -> None:
        if not job.answered:
            job.answered = True
            self._answers.append(lambda: job.answer(result, error))

    # ---- what a request means ----------------------------------------------------------------------------------------

    def _decide(self, job: _Job, errors: dict[str, SoqoError]) -> Step | None:
        """Return the step of a request that changes its plant; others are answered."""
        if job.plant in errors:
            self._answer(job, None, errors[job.plant])
            return None
        plant = self._memory.plants[job.plant]
        try:
            if isinstance(job.request, Look):
                if not job.request.may_be_old or self._memory.age(plant) > _OLD_SECONDS:
                    self._memory.refresh(plant)
                self._answer(job, job.request.function(plant))
                return None
            found = self._decide_change(job.request, plant)
        except SoqoError as error:
            self._answer(job, None, error)
            return None
        if isinstance(found, Step):
            return found
        self._answer(job, found.result)
        return None

    def _decide_change(self, request: Change, plant: Plant) -> Step | Known:
        try:
            return decide(request, plant, self._records_of)
        except SoqoError:
            if not self._memory.refresh(plant):
                raise
            return decide(request, plant, self._records_of)

    def _records_of(self, plant: Plant, number: int) -> Sequence[Record]:
        act, reading = plant.latest.get("act"), plant.latest.get("reading")
        if plant.kind.max_delay or act is None or act.round != number:
            return self._store.rounds(plant.id, number, number)
        return [act, reading] if reading is not None and reading.round == number else [act]

    # ---- compute and write -------------------------------------------------------------------------------------------

    def _compute(self, steps: Sequence[tuple[_Job, Step]]) -> list[tuple[_Job, Step]]:
        """Return the steps that their policies accepted, with what they lead to."""
        accepted = [(job, step) for job, step in steps if step.call is None]
        calling = [(job, step, step.call) for job, step in steps if step.call is not None]
        for (job, step, _), found in zip(calling, compute([call for _, _, call in calling]), strict=True):
            if isinstance(found, Outcome):
                _complete(step, found)
                accepted.append((job, step))
            else:
                self._answer(job, None, found)
        return accepted

    def _commit(self, steps: Sequence[tuple[_Job, Step]]) -> tuple[list[Plant], list[Event]]:
        """Write steps, let those that the store accepted take effect, and decide the others anew."""
        if not steps:
            return [], []
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
        accepted = self._store.append(records, snapshots=self._snapshots, events=events)
        done = [(job, step, one) for (job, step), one in zip(steps, records, strict=True) if one.plant in accepted]
        of_kind: dict[Kind, list[Outcome]] = {}
        for _, step, _ in done:
            if step.outcome is not None:
                of_kind.setdefault(step.plant.kind, []).append(step.outcome)
        for kind, outcomes in of_kind.items():
            kind.store(outcomes)
        for job, step, record in done:
            step.plant.advance(record, step.outcome)
            self._memory.note_fresh(step.plant)
            self._answer(job, step.result())
        written = [step.plant for _, step, _ in done]
        self._snapshots = self._memory.due_snapshots(written)
        for job, step in steps:
            if step.plant.id not in accepted:
                self._try_again(job, step.plant)
        return written, [event for event in events if event.plant in accepted]

    def _try_again(self, job: _Job, plant: Plant) -> None:
        job.tries += 1
        if job.tries > _MAX_TRIES:
            self._answer(job, None, UnavailableError("other servers write this plant all the time: repeat the call"))
        else:
            self._memory.refresh(plant)
            self._waiting.appendleft(job)


def _complete(step: Step, outcome: Outcome) -> None:
    """Add to a step what its call leads to."""
    step.outcome = outcome
    if outcome.x is not None:
        step.body["x"] = outcome.x.tolist()
    elif outcome.expected is not None:
        step.body["expected"] = outcome.expected
    plant = step.plant
    for kind, count in outcome.counts.items():
        if count > plant.progress.counts.get(kind, 0.0):
            state = plant.kind.player.take(outcome.after, [outcome.row])
            step.events.append((kind, step.round, plant.kind.player.explain(state)))
    if step.kind == "act" and not plant.kind.max_delay and plant.progress.open_rounds:
        step.events.append(("missed", plant.progress.round, "the reading was missed"))


def _to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
