"""Compute cells on this machine's processors or on a Dask cluster, and go on where an earlier run was stopped."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from soqo.arguments import integer
from soqo.errors import ArgumentError, SoqoError, require_extra
from soqo.experiments.cells import Cell, CellResult, Store, cells_of, collect, compute
from soqo.experiments.outcome import Outcome
from soqo.experiments.spec import Setting

__all__ = ["Stopped", "Tick", "run"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What tells the libraries of linear algebra how many threads to use: one, since the processes are many."""


class Stopped(SoqoError):
    """The work was stopped; what is done is kept."""


@dataclass(frozen=True)
class Tick:
    """A cell is done: how many are, of how many, which one, and whether it had been kept from before."""

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
    """
    if runs is not None:
        integer("runs", runs, least=1)
    if workers is not None and scheduler is not None:
        raise ArgumentError(f"workers must be None where a scheduler is given, got {workers}")
    store = Store(Path(folder))
    store.folder.mkdir(parents=True, exist_ok=True)
    plan = [(setting, cells_of(setting, runs)) for setting in settings]
    names = {cell.key: setting.name for setting, cells in plan for cell in cells}
    todo = {cell.key: cell for _, cells in plan for cell in cells}
    work = Work(store, names, len(todo), progress)
    work.look(todo)
    missing = [cell for key, cell in todo.items() if key not in work.results]
    if missing:
        count = integer("workers", workers or os.cpu_count() or 1, least=1)
        if scheduler is None and min(count, len(missing)) == 1:
            work.here(missing)
        else:
            with executor(min(count, len(missing)), scheduler) as pool:
                work.elsewhere(missing, pool)
    return [collect(setting, cells, work.results) for setting, cells in plan]


class Work:
    """What is done so far."""

    def __init__(
        self,
        store: Store,
        names: dict[str, str],
        total: int,
        progress: Callable[[Tick], None] | None,
    ) -> None:
        self.store, self.names, self.total, self.progress = store, names, total, progress
        self.results: dict[str, CellResult] = {}

    def look(self, cells: dict[str, Cell]) -> None:
        """Take what was kept from before."""
        for key, cell in cells.items():
            if (found := self.store.load(cell)) is not None:
                self.results[key] = found
                self.tick(cell, kept=True, seconds=0.0)

    def here(self, cells: list[Cell]) -> None:
        """Compute in this process."""
        try:
            for cell in cells:
                begun = perf_counter()
                self.keep(cell, compute(cell), perf_counter() - begun)
        except KeyboardInterrupt:
            self.stopped()

    def elsewhere(self, cells: list[Cell], pool: Executor) -> None:
        """Compute in other processes; whatever is done when this is stopped is kept."""
        begun = perf_counter()
        futures = {pool.submit(compute, cell): cell for cell in cells}
        try:
            for future in as_completed(futures):
                self.keep(futures[future], future.result(), perf_counter() - begun)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            self.stopped()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise

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

    def stopped(self) -> None:
        """Say how to go on."""
        raise Stopped(
            f"stopped with {len(self.results)} of {self.total} cells done, which are kept in {self.store.folder}; the "
            "same command goes on from there"
        ) from None


@contextmanager
def executor(workers: int, scheduler: str | None) -> Iterator[Executor]:
    """Processes of this machine, or the workers of a Dask scheduler."""
    if scheduler is not None:
        distributed = require_extra("distributed", "lab")
        try:
            client = distributed.Client(scheduler, timeout=10)
        except (OSError, ValueError) as error:
            raise ArgumentError(
                f"scheduler must be the address of a Dask scheduler that answers, got {scheduler!r}: {error}"
            ) from error
        with client, client.get_executor() as pool:
            yield pool
        return
    # The libraries read these when they are loaded, so they must be there before a worker starts.
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            yield pool
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
