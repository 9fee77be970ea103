"""Compute cells on this machine's processors or on a Dask cluster, and go on where an earlier run was stopped."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn

from soqo._arguments import integer
from soqo.errors import ArgumentError, SoqoError, require_extra
from soqo.experiments.execution._cells import (
    Cell,
    CellResult,
    Store,
    cells_of,
    collect,
    compute,
    own_modules,
)
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.settings._spec import Setting

__all__ = ["Failed", "Stopped", "Tick", "run"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What tells the libraries of linear algebra how many threads to use: one, since the processes are many."""

ANSWERS_WITHIN = 10.0
"""Seconds in which a Dask scheduler must answer."""

WORKERS_WITHIN = 60.0
"""Seconds in which it must have a worker: a cluster that grows on demand takes a while."""


class Stopped(SoqoError):
    """The work was stopped; what is done is kept."""


class Failed(SoqoError):
    """A cell could not be computed; what is done is kept."""


@dataclass(frozen=True)
class Tick:
    """A cell is done.

    Attributes
    ----------
    done, total : int
        How many cells are, of how many.
    setting : str
    horizon, first_run, runs : int
        Which one.
    kept : bool
        Whether it had been kept from before.
    seconds : float
        What it took to compute, wherever that was; zero for one that had been kept.
    """

    done: int
    total: int
    setting: str
    horizon: int
    first_run: int
    runs: int
    kept: bool
    seconds: float


def run(
    settings: Sequence[Setting],
    folder: str | os.PathLike[str],
    *,
    runs: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[Tick], None] | None = None,
) -> list[Outcome]:
    """Simulate settings, and keep every cell that is done in a folder.

    Killed at any moment and called again, it goes on where it was, and the numbers are those of an undisturbed run.

    Parameters
    ----------
    settings : sequence of Setting
    folder : path
        For the cells; made if it is not there.
    runs : int, optional
        In place of each setting's own.
    workers : int, optional
        Processes on this machine; as many as it has processors if None. With 1, the work is done in this process.
    scheduler : str, optional
        The address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``, whose workers do the work instead.
    progress : callable, optional
        Called with a :class:`Tick` for each cell that is done.

    Raises
    ------
    Stopped
        On Ctrl-C.
    Failed
        Where a cell cannot be computed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from soqo.experiments.settings._spec import settings_in
    >>> text = 'problem.A = [[1.0]]\\nprocess.kind = "Gaussian"\\nnoise = { kind = "Uniform", cap = 1 }\\n'
    >>> text += 'policy = [{ kind = "FTM" }]'
    >>> with TemporaryDirectory() as folder:
    ...     (outcome,) = run(settings_in(text, "text", "mine"), folder, runs=3, workers=1)
    >>> outcome.regret("FTM").shape
    (3,)
    """
    if runs is not None:
        integer("runs", runs, least=1)
    if workers is not None and scheduler is not None:
        raise ArgumentError(f"workers must be None where a scheduler is given, got {workers}")
    count = integer("workers", (os.cpu_count() or 1) if workers is None else workers, least=1)
    store = Store(Path(folder))
    store.folder.mkdir(parents=True, exist_ok=True)
    plan = [(setting, cells_of(setting, runs)) for setting in settings]
    names = {cell.key: setting.name for setting, cells in plan for cell in cells}
    todo = {cell.key: cell for _, cells in plan for cell in cells}
    work = Work(store, names, todo, progress)
    try:
        work.look()
        missing = [cell for key, cell in todo.items() if key not in work.results]
        if scheduler is None and min(count, len(missing)) <= 1:
            work.here(missing)
        elif missing:
            with executor(min(count, len(missing)), scheduler, missing) as pool:
                work.elsewhere(missing, pool)
    except KeyboardInterrupt:
        work.stopped()
    return [collect(setting, cells, work.results) for setting, cells in plan]


class Work:
    """What is done so far."""

    def __init__(
        self,
        store: Store,
        names: dict[str, str],
        cells: dict[str, Cell],
        progress: Callable[[Tick], None] | None,
    ) -> None:
        self.store, self.names, self.cells, self.progress = store, names, cells, progress
        self.total = len(cells)
        self.results: dict[str, CellResult] = {}

    def look(self) -> None:
        """Take what was kept from before."""
        for key, cell in self.cells.items():
            if (found := self.store.load(cell)) is not None:
                self.results[key] = found
                self.tick(cell, kept=True, seconds=0.0)

    def here(self, cells: list[Cell]) -> None:
        """Compute in this process."""
        for cell in cells:
            try:
                result, seconds = timed(cell, cell.key)
            except Exception as error:
                self.failed(cell, error)
            self.keep(cell, result, seconds)

    def elsewhere(self, cells: list[Cell], pool: Executor) -> None:
        """Compute in other processes; whatever is done when this is stopped is kept."""
        futures = {pool.submit(timed, cell, cell.key): cell for cell in cells}
        try:
            for future in as_completed(futures):
                try:
                    result, seconds = future.result()
                except Exception as error:
                    self.failed(futures[future], error)
                self.keep(futures[future], result, seconds)
        except BaseException:
            self.rescue(futures)
            raise

    def rescue(self, futures: dict[Future[tuple[CellResult, float]], Cell]) -> None:
        """Keep what had come in and not been looked at yet."""
        for future, cell in futures.items():
            if cell.key in self.results or not future.done() or future.cancelled():
                continue
            if future.exception() is None:
                self.keep(cell, *future.result())

    def keep(self, cell: Cell, result: CellResult, seconds: float) -> None:
        """Write a finished cell, and say so."""
        self.store.save(cell, result)
        self.results[cell.key] = result
        self.tick(cell, kept=False, seconds=seconds)

    def tick(self, cell: Cell, *, kept: bool, seconds: float) -> None:
        """Tell whoever wants to know."""
        if self.progress is not None:
            place = (self.names[cell.key], cell.horizon, cell.first_run, cell.runs)
            self.progress(Tick(len(self.results), self.total, *place, kept, seconds))

    def stopped(self) -> NoReturn:
        """Say how to go on."""
        # What is in the folder counts: the stop may have come right after a cell was written.
        done = sum(self.store.path(cell).exists() for cell in self.cells.values())
        raise Stopped(
            f"stopped with {done} of {self.total} cells done, which are kept in {self.store.folder}; the "
            "same command goes on from there"
        ) from None

    def failed(self, cell: Cell, error: Exception) -> NoReturn:
        """Say which cell it was and why."""
        reason = str(error) if isinstance(error, SoqoError) else f"{type(error).__name__}: {error}"
        if isinstance(error, BrokenProcessPool):
            reason = "a worker process died, perhaps for want of memory; fewer workers need less"
        elif isinstance(error, CancelledError):
            reason = "the scheduler gave it up, or was lost"
        raise Failed(
            f"setting {self.names[cell.key]!r}, {cell.runs} runs of {cell.horizon} rounds from run {cell.first_run}: "
            f"{reason} ({len(self.results)} of {self.total} cells are done, and kept in {self.store.folder})"
        ) from error


def timed(cell: Cell, key: str) -> tuple[CellResult, float]:
    """Do the work of a cell where it is to be done, and say how long it took.

    The key is that of the process which keeps the result; another one here means another version of the code.
    """
    if cell.key != key:
        raise ArgumentError(
            "the worker must run the same versions of soqo, numpy, scipy and of policies of your own; it has others"
        )
    begun = perf_counter()
    result = compute(cell)
    return result, perf_counter() - begun


# ---- where the work is done ----------------------------------------------------------------------------------------


@contextmanager
def executor(workers: int, scheduler: str | None, cells: list[Cell]) -> Iterator[Executor]:
    """Processes of this machine, or the workers of a Dask scheduler."""
    if scheduler is None:
        with single_threaded(), processes(workers) as pool:
            yield pool
        return
    with connected(scheduler) as client:
        for path in sorted({path for cell in cells for path in own_modules(cell)}):
            client.upload_file(path)
        pool = client.get_executor()
        try:
            yield pool
        finally:
            pool.shutdown(wait=False)


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Worker processes that leave when this process does, however it does."""
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, initializer=stay_while, initargs=(reader,))
    try:
        yield pool
    except BaseException:
        writer.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        writer.close()
        reader.close()


def stay_while(lifeline: Connection) -> None:
    """In a worker: leave as soon as the other end of the pipe is closed, which a killed parent's is too.

    A terminal sends Ctrl-C to all its processes; only the parent is to act on it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            lifeline.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Tell the libraries of linear algebra in processes started from here to use one thread."""
    # They read these when they are loaded, so they must be there before a worker starts.
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A client of a Dask scheduler that has workers."""
    distributed = require_extra("distributed", "lab")
    try:
        client = distributed.Client(scheduler, timeout=ANSWERS_WITHIN, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ArgumentError(
            f"scheduler must be the address of a Dask scheduler that answers, got {scheduler!r}: {reason}"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS_WITHIN)
        except (OSError, distributed.TimeoutError) as error:
            raise ArgumentError(
                f"scheduler must have a worker within {WORKERS_WITHIN:g} seconds, and {scheduler!r} has none"
            ) from error
        yield client
