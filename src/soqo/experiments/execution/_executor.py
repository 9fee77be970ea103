"""Computation of cells on this machine's processors or on a Dask cluster, which resumes after an interruption."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from time import perf_counter
from typing import NoReturn

from soqo._foundation.arguments import integer
from soqo._foundation.optional_imports import require_extra
from soqo.errors import ArgumentError, ComputationError, InterruptedRunError, SoqoError
from soqo.experiments.execution._cell_keys import policy_key
from soqo.experiments.execution._cell_store import CellStore
from soqo.experiments.execution._cells import (
    Cell,
    CellResult,
    compute_cell,
    join_policies,
    make_cells,
    merge_cells,
    split_into_cells,
)
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.execution._pools import open_executor
from soqo.experiments.execution._regrets import Regrets
from soqo.experiments.settings import MAX_RUNS, ReadingPlan, Setting

RegretTable = dict[tuple[str, str, int], Regrets]
"""The regret of the policies of plans, by setting, spectrum and horizon."""

_SECONDS_BETWEEN_NOTICES = 3.0
"""The least time between two pages of a run in progress."""

_SHARE_OF_NOTICES = 20.0
"""Pages of a run in progress take at most one of this many seconds."""


@dataclass(frozen=True)
class CellProgress:
    """The report that a task is done: some policies of a cell.

    Attributes
    ----------
    done, total : int
        The number of tasks that are done, and of all tasks.
    setting : str
        The name of the cell's setting.
    horizon, first_run, runs : int
        The cell's horizon, first run and number of runs.
    policies : int
        The number of policies.
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
    policies: int
    kept: bool
    seconds: float


@dataclass(frozen=True, eq=False)
class Landed:
    """The state of a run in progress.

    Attributes
    ----------
    done, total : int
        The number of tasks that are done, and of all tasks.
    by_setting : mapping of str to (int, int)
        The same for each setting.
    seconds : float
        The time since the run began.
    outcomes : callable
        Returns the outcomes of the settings whose own horizon is done for at least some runs and policies, with these
        runs and policies.
    """

    done: int
    total: int
    by_setting: Mapping[str, tuple[int, int]]
    seconds: float
    outcomes: Callable[[], list[Outcome]] = field(repr=False)


def run(
    settings: Sequence[Setting],
    folder: str | os.PathLike[str],
    *,
    runs: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[CellProgress], None] | None = None,
    landed: Callable[[Landed], None] | None = None,
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
        Called with a :class:`CellProgress` for each finished task.
    landed : callable, optional
        Called every few seconds with a :class:`Landed`, from which a page of the run in progress can be made.

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
    chosen, count = check_work(settings, runs, workers, scheduler)
    require_extra("xarray", "lab")
    outcomes, _ = run_with_plans(
        chosen, [], folder, workers=count, scheduler=scheduler, progress=progress, landed=landed
    )
    return outcomes


def check_work(
    settings: Sequence[Setting], runs: int | None, workers: int | None, scheduler: str | None
) -> tuple[list[Setting], int]:
    """Return settings with another number of runs, and the number of processes on this machine.

    Parameters
    ----------
    settings, runs, workers, scheduler
        As in :func:`run`.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> (setting,), processes = check_work(find("intro"), 3, workers=2, scheduler=None)
    >>> setting.runs, processes
    (3, 2)
    """
    if runs is not None:
        runs = integer("runs", runs, least=1, most=MAX_RUNS)
    if workers is not None and scheduler is not None:
        raise ArgumentError(f"workers must be None if a scheduler is given, got {workers}")
    count = integer("workers", (os.cpu_count() or 1) if workers is None else workers, least=1)
    return [setting if runs is None else replace(setting, runs=runs) for setting in settings], count


def run_with_plans(
    settings: Sequence[Setting],
    plans: Sequence[ReadingPlan],
    folder: str | os.PathLike[str],
    *,
    workers: int,
    scheduler: str | None = None,
    progress: Callable[[CellProgress], None] | None = None,
    landed: Callable[[Landed], None] | None = None,
) -> tuple[list[Outcome], RegretTable]:
    """Simulate settings, and what readings of the paper need.

    Parameters
    ----------
    settings : sequence of Setting
        The settings.
    plans : sequence of ReadingPlan
        What readings need.
    folder, workers, scheduler, progress, landed
        As in :func:`run`.

    Returns
    -------
    outcomes : list of Outcome
        The outcome of each setting.
    table : RegretTable
        The regret of every policy of the plans.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from soqo.experiments.settings import LITERAL, find, plan_first_stage
    >>> plans = plan_first_stage([replace(find("heavy_tails_1")[0], runs=1)], [LITERAL])
    >>> with TemporaryDirectory() as folder:
    ...     _, table = run_with_plans([], plans, folder, workers=1)
    >>> table["heavy_tails_1", "linear_1", 400].policies[:2]
    ('SCaLE/algorithm/cap/10', 'HySCaLE/algorithm/cap/as_printed/10')
    """
    cells = [(setting, split_into_cells(setting)) for setting in settings]
    planned = [(plan, horizon, _plan_cells(plan, horizon)) for plan in plans for horizon in plan.policies]
    # Long horizons first, so that none of them is started last.
    planned.sort(key=lambda one: -one[1])
    named = [(setting.name, cell) for setting, own in cells for cell in own]
    named += [(plan.setting, cell) for plan, _, own in planned for cell in own]
    names = {policy_key(policy): name for setting in settings for name, policy in setting.policies.items()}

    def report(work: _Work) -> None:
        assert landed is not None
        landed(work.landed(lambda: _finished_outcomes(cells, work.results)))

    results = compute_cells(
        named,
        folder,
        names,
        workers=workers,
        scheduler=scheduler,
        progress=progress,
        landed=None if landed is None else report,
    )
    table: RegretTable = {}
    for plan, horizon, own in planned:
        keys = {name: policy_key(policy) for name, policy in plan.policies[horizon].items()}
        parts = [part.rename(keys) for cell in own if isinstance(part := results[cell.key], Regrets)]
        table[plan.setting, plan.spectrum, horizon] = Regrets.join_runs(parts)
    return [merge_cells(setting, own, results) for setting, own in cells], table


def _plan_cells(plan: ReadingPlan, horizon: int) -> list[Cell]:
    policies = plan.policies[horizon].values()
    return make_cells(plan.environment, policies, horizon=horizon, seed=plan.seed, runs=plan.runs, kept="regrets")


def _finished_outcomes(plan: Sequence[tuple[Setting, list[Cell]]], results: Mapping[str, CellResult]) -> list[Outcome]:
    """Return the outcomes of settings at their own horizon, with the first runs and the policies that are done."""
    found = []
    for setting, cells in plan:
        own = sorted((cell for cell in cells if cell.kept == "rounds"), key=lambda cell: cell.first_run)
        done = list(takewhile(lambda cell: cell.key in results, own))
        keys = {name: policy_key(policy) for name, policy in setting.policies.items()}
        ready = [name for name, key in keys.items() if all(_has(results[cell.key], key) for cell in done)]
        if done and ready:
            part = replace(setting, policies={name: setting.policies[name] for name in ready}, horizons=())
            kept = {keys[name] for name in ready}
            found.append(merge_cells(part, [cell.without({*cell.policies} - kept) for cell in done], results))
    return found


def _has(result: CellResult, policy: str) -> bool:
    return policy in result.policies


def compute_cells(
    named: Sequence[tuple[str, Cell]],
    folder: str | os.PathLike[str],
    policies: Mapping[str, str],
    *,
    workers: int,
    scheduler: str | None = None,
    progress: Callable[[CellProgress], None] | None = None,
    landed: Callable[[_Work], None] | None = None,
) -> dict[str, CellResult]:
    """Compute cells that are not stored yet, and store them.

    Parameters
    ----------
    named : sequence of (str, Cell)
        The cells, each with the name of its setting. Cells with the same key are one, with the policies of all.
    folder : path
        The folder for the cells; it is created if necessary.
    policies : mapping of str to str
        The names of policies by key, for error messages.
    workers, scheduler, progress
        As in :func:`run`.
    landed : callable, optional
        Called from time to time with the work done so far.

    Returns
    -------
    dict of str to Result or Regrets
        The results by the key of the cell.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from soqo.experiments.execution import split_into_cells
    >>> from soqo.experiments.settings import find
    >>> from soqo import FTM
    >>> cells = split_into_cells(replace(find("intro")[0], policies={"FTM": FTM()}, horizon=9, horizons=()))
    >>> with TemporaryDirectory() as folder:
    ...     results = compute_cells([("intro", cell) for cell in cells], folder, {}, workers=1)
    >>> len(results)
    1
    """
    store = CellStore(Path(folder))
    store.folder.mkdir(parents=True, exist_ok=True)
    cells: dict[str, Cell] = {}
    names: dict[str, str] = {}
    for name, cell in named:
        key = cell.key
        names.setdefault(key, name)
        cells[key] = replace(cell, policies={**cells[key].policies, **cell.policies}) if key in cells else cell
    work = _Work(store, names, cells, policies, progress, landed)
    try:
        tasks = work.load_stored()
        if scheduler is None and min(workers, len(tasks)) <= 1:
            work.compute_here(tasks)
        elif tasks:
            with open_executor(min(workers, len(tasks)), scheduler, [task.cell for task in tasks]) as executor:
                work.compute_in(executor, tasks)
    except KeyboardInterrupt:
        work.raise_interrupted()
    return work.results


@dataclass(frozen=True, eq=False)
class _Task:
    """Some policies of a cell, with the cell's key, which takes a while to compute."""

    key: str
    cell: Cell


@dataclass
class _Work:
    """The cells of a run and the results so far, both by key; ``names`` are those of the settings."""

    store: CellStore
    names: dict[str, str]
    cells: dict[str, Cell]
    policies: Mapping[str, str]
    progress: Callable[[CellProgress], None] | None
    notify: Callable[[_Work], None] | None = None
    results: dict[str, CellResult] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)
    started: float = field(default_factory=perf_counter)
    notify_after: float = 0.0

    def load_stored(self) -> list[_Task]:
        """Load what is stored, and return the tasks that are left."""
        tasks: list[_Task] = []
        stored: list[_Task] = []
        for key, cell in self.cells.items():
            found = self.store.load(cell)
            missing = cell
            if found is not None:
                self.results[key] = found
                missing = cell.without(found.policies)
                kept = cell.without(missing.policies)
                stored += [_Task(key, part) for part in kept.split()]
            tasks += [_Task(key, part) for part in missing.split()]
        self.totals.update(self.names[task.key] for task in [*stored, *tasks])
        for task in stored:
            self.report(task, kept=True, seconds=0.0)
        return tasks

    def compute_here(self, tasks: list[_Task]) -> None:
        for task in tasks:
            self.finish(task, partial(_compute_timed, task.cell, task.key))

    def compute_in(self, executor: Executor, tasks: list[_Task]) -> None:
        futures = {executor.submit(_compute_timed, task.cell, task.key): task for task in tasks}
        try:
            for future in as_completed(futures):
                self.finish(futures[future], future.result)
        except BaseException:
            self.keep_finished(futures)
            raise

    def keep_finished(self, futures: dict[Future[tuple[CellResult, float]], _Task]) -> None:
        """Keep the results that arrived and were not yet handled when the run stopped."""
        for future, task in futures.items():
            found = self.results.get(task.key)
            handled = found is not None and set(task.cell.policies) <= set(found.policies)
            if not handled and future.done() and not future.cancelled() and not future.exception():
                self.keep(task, *future.result())

    def finish(self, task: _Task, compute: Callable[[], tuple[CellResult, float]]) -> None:
        """Compute a task or get its result, and keep it."""
        try:
            result, seconds = compute()
        except Exception as error:
            self.raise_failed(task, error)
        self.keep(task, result, seconds)

    def keep(self, task: _Task, result: CellResult, seconds: float) -> None:
        before = self.results.get(task.key)
        joined = result if before is None else join_policies([before, result])
        self.store.save(task.cell, joined)
        self.results[task.key] = joined
        self.report(task, kept=False, seconds=seconds)

    def report(self, task: _Task, *, kept: bool, seconds: float) -> None:
        name, cell = self.names[task.key], task.cell
        self.done[name] += 1
        if self.progress is not None:
            place = (name, cell.horizon, cell.first_run, cell.runs, len(cell.policies))
            self.progress(CellProgress(self.done.total(), self.totals.total(), *place, kept, seconds))
        now = perf_counter()
        if self.notify is not None and not kept and now >= self.notify_after:
            self.notify(self)
            took = perf_counter() - now
            self.notify_after = perf_counter() + max(_SECONDS_BETWEEN_NOTICES, _SHARE_OF_NOTICES * took)

    def landed(self, outcomes: Callable[[], list[Outcome]]) -> Landed:
        """Return the state of the work."""
        by_setting = {name: (self.done[name], total) for name, total in self.totals.items()}
        seconds = perf_counter() - self.started
        return Landed(self.done.total(), self.totals.total(), by_setting, seconds, outcomes)

    def raise_interrupted(self) -> NoReturn:
        raise InterruptedRunError(
            f"interrupted with {self._count()}, which are stored in {self.store.folder}; the same command resumes from "
            "there"
        ) from None

    def _count(self) -> str:
        return f"{self.done.total()} of {self.totals.total()} tasks done"

    def raise_failed(self, task: _Task, error: Exception) -> NoReturn:
        reason = str(error) if isinstance(error, SoqoError) else f"{type(error).__name__}: {error}"
        for key, name in self.policies.items():
            reason = reason.replace(repr(key), repr(name))
        if isinstance(error, BrokenProcessPool):
            reason = "a worker process died, perhaps for lack of memory; fewer workers need less"
        elif isinstance(error, CancelledError):
            reason = "the scheduler gave the cell up, or the connection to it was lost"
        cell = task.cell
        raise ComputationError(
            f"setting {self.names[task.key]!r}, {cell.runs} runs of {cell.horizon} rounds from run {cell.first_run}: "
            f"{reason} ({self._count()}, and stored in {self.store.folder})"
        ) from error


def _compute_timed(cell: Cell, key: str) -> tuple[CellResult, float]:
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
