"""Computation of cells on this machine's processors or on a Dask cluster, which resumes after an interruption."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn

from soqo._foundation.arguments import integer
from soqo._foundation.optional_imports import require_extra
from soqo._simulation.result import Result
from soqo.errors import ArgumentError, ComputationError, InterruptedRunError, SoqoError
from soqo.experiments.execution._cells import (
    Cell,
    CellStore,
    compute_cell,
    find_user_modules,
    merge_cells,
    split_into_cells,
)
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.settings import MAX_RUNS, Setting

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The environment variables that set the number of BLAS threads: one, since there is a process per processor."""

_SCHEDULER_TIMEOUT = 10.0
"""Seconds to wait for an answer of a Dask scheduler."""

_WORKER_TIMEOUT = 60.0
"""Seconds to wait for its first worker: a cluster that grows on demand takes a while."""


@dataclass(frozen=True)
class CellProgress:
    """The report that a cell is done.

    Attributes
    ----------
    done, total : int
        The number of cells that are done, and of all cells.
    setting : str
        The name of the cell's setting.
    horizon, first_run, runs : int
        The cell's horizon, first run and number of runs.
    kept : bool
        Whether the result was stored by an earlier call.
    seconds : float
        The time to compute it, wherever that was; zero if it was stored.
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
    progress: Callable[[CellProgress], None] | None = None,
) -> list[Outcome]:
    """Simulate settings, and store every finished cell in a folder (extra ``lab``).

    If the call is interrupted at any moment, the same call resumes, and the numbers are bit-identical to those of an
    uninterrupted one.

    Parameters
    ----------
    settings : sequence of Setting
        The settings.
    folder : path
        The folder for the cells; it is created if necessary.
    runs : int, optional
        The number of runs, instead of each setting's own.
    workers : int, optional
        The number of processes on this machine, by default that of its processors. If it is 1, this process computes.
    scheduler : str, optional
        The address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``, whose workers compute instead.
    progress : callable, optional
        Called with a :class:`CellProgress` for each finished cell.

    Returns
    -------
    list of Outcome
        The outcome of each setting.

    Raises
    ------
    InterruptedRunError
        On Ctrl-C.
    ComputationError
        If a cell cannot be computed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from soqo.experiments import find, run
    >>> with TemporaryDirectory() as folder:
    ...     (outcome,) = run(find("intro"), folder, runs=3, workers=1)
    >>> outcome.regret("FTM").shape
    (3,)
    """
    if runs is not None:
        runs = integer("runs", runs, least=1, most=MAX_RUNS)
    if workers is not None and scheduler is not None:
        raise ArgumentError(f"workers must be None if a scheduler is given, got {workers}")
    count = integer("workers", (os.cpu_count() or 1) if workers is None else workers, least=1)
    require_extra("xarray", "lab")
    store = CellStore(Path(folder))
    store.folder.mkdir(parents=True, exist_ok=True)
    plan = [(setting, split_into_cells(setting, runs)) for setting in settings]
    names = {cell.key: setting.name for setting, cells in plan for cell in cells}
    work = _Work(store, names, {cell.key: cell for _, cells in plan for cell in cells}, progress)
    try:
        work.load_stored()
        missing = [cell for key, cell in work.cells.items() if key not in work.results]
        if scheduler is None and min(count, len(missing)) <= 1:
            work.compute_here(missing)
        elif missing:
            with _open_executor(min(count, len(missing)), scheduler, missing) as executor:
                work.compute_in(executor, missing)
    except KeyboardInterrupt:
        work.raise_interrupted()
    return [merge_cells(setting, cells, work.results) for setting, cells in plan]


@dataclass
class _Work:
    """The cells of a run and the results so far, both by key; ``names`` are those of the settings."""

    store: CellStore
    names: dict[str, str]
    cells: dict[str, Cell]
    progress: Callable[[CellProgress], None] | None
    results: dict[str, Result] = field(default_factory=dict)

    def load_stored(self) -> None:
        for key, cell in self.cells.items():
            if (found := self.store.load(cell)) is not None:
                self.results[key] = found
                self.report(cell, kept=True, seconds=0.0)

    def compute_here(self, cells: list[Cell]) -> None:
        for cell in cells:
            self.finish(cell, partial(_compute_timed, cell, cell.key))

    def compute_in(self, executor: Executor, cells: list[Cell]) -> None:
        futures = {executor.submit(_compute_timed, cell, cell.key): cell for cell in cells}
        try:
            for future in as_completed(futures):
                self.finish(futures[future], future.result)
        except BaseException:
            self.keep_finished(futures)
            raise

    def keep_finished(self, futures: dict[Future[tuple[Result, float]], Cell]) -> None:
        """Keep the results that arrived and were not yet handled when the run stopped."""
        for future, cell in futures.items():
            if cell.key not in self.results and future.done() and not future.cancelled() and not future.exception():
                self.keep(cell, *future.result())

    def finish(self, cell: Cell, compute: Callable[[], tuple[Result, float]]) -> None:
        """Compute a cell or get its result, and keep it."""
        try:
            result, seconds = compute()
        except Exception as error:
            self.raise_failed(cell, error)
        self.keep(cell, result, seconds)

    def keep(self, cell: Cell, result: Result, seconds: float) -> None:
        self.store.save(cell, result)
        self.results[cell.key] = result
        self.report(cell, kept=False, seconds=seconds)

    def report(self, cell: Cell, *, kept: bool, seconds: float) -> None:
        if self.progress is not None:
            place = (self.names[cell.key], cell.horizon, cell.first_run, cell.runs)
            self.progress(CellProgress(len(self.results), len(self.cells), *place, kept, seconds))

    def raise_interrupted(self) -> NoReturn:
        # Count the files: the interrupt may have come right after a cell was written.
        done = sum(self.store.path(cell).exists() for cell in self.cells.values())
        raise InterruptedRunError(
            f"interrupted with {done} of {len(self.cells)} cells done, which are stored in {self.store.folder}; the "
            "same command resumes from there"
        ) from None

    def raise_failed(self, cell: Cell, error: Exception) -> NoReturn:
        reason = str(error) if isinstance(error, SoqoError) else f"{type(error).__name__}: {error}"
        if isinstance(error, BrokenProcessPool):
            reason = "a worker process died, perhaps for lack of memory; fewer workers need less"
        elif isinstance(error, CancelledError):
            reason = "the scheduler gave the cell up, or the connection to it was lost"
        raise ComputationError(
            f"setting {self.names[cell.key]!r}, {cell.runs} runs of {cell.horizon} rounds from run {cell.first_run}: "
            f"{reason} ({len(self.results)} of {len(self.cells)} cells are done, and stored in {self.store.folder})"
        ) from error


def _compute_timed(cell: Cell, key: str) -> tuple[Result, float]:
    """Compute a cell in a worker, and measure the time.

    ``key`` is the cell's key in the process that stores the result; a different key here means different code.
    """
    if cell.key != key:
        raise ArgumentError(
            "the worker must have the same versions of soqo, numpy, scipy and of your own policies; it has other ones"
        )
    start = perf_counter()
    result = compute_cell(cell)
    return result, perf_counter() - start


# ---- executors -----------------------------------------------------------------------------------------------------


@contextmanager
def _open_executor(workers: int, scheduler: str | None, cells: list[Cell]) -> Iterator[Executor]:
    """Open a pool of processes on this machine, or the workers of a Dask scheduler."""
    if scheduler is None:
        with _single_threaded(), _open_pool(workers) as pool:
            yield pool
        return
    with _connect(scheduler) as client:
        for path in sorted({path for cell in cells for path in find_user_modules(cell)}):
            client.upload_file(path)
        pool = client.get_executor()
        try:
            yield pool
        finally:
            pool.shutdown(wait=False)


@contextmanager
def _open_pool(workers: int) -> Iterator[Executor]:
    """Open a pool of processes that exit when this process does, however it ends."""
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, initializer=_exit_with_parent, initargs=(reader,))
    try:
        yield pool
    except BaseException:
        writer.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        writer.close()
        reader.close()


def _exit_with_parent(lifeline: Connection) -> None:
    """In a worker, exit as soon as the parent's end of the pipe closes, which also happens if the parent is killed.

    A terminal sends Ctrl-C to all its processes; only the parent handles it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            lifeline.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Set the environment so that BLAS uses one thread in processes that are started meanwhile."""
    # The libraries read these variables when they are loaded, so they must be set before a worker starts.
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _connect(scheduler: str) -> Iterator[Any]:
    """Connect to a Dask scheduler that has workers."""
    distributed = require_extra("distributed", "lab")
    try:
        client = distributed.Client(scheduler, timeout=_SCHEDULER_TIMEOUT, set_as_default=False)
    except Exception as error:  # the library raises errors of many kinds for an address that it cannot use
        reason = " ".join(str(error).split())
        raise ArgumentError(
            f"scheduler must be the address of a Dask scheduler that answers, got {scheduler!r}: {reason}"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_WORKER_TIMEOUT)
        except (OSError, distributed.TimeoutError) as error:
            raise ArgumentError(
                f"scheduler must have a worker within {_WORKER_TIMEOUT:g} seconds, and {scheduler!r} has none"
            ) from error
        yield client
