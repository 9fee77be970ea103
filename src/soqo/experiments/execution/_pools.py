"""Where cells are computed: processes of this machine, or the workers of a Dask scheduler."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from soqo._foundation.optional_imports import require_extra
from soqo.errors import ArgumentError
from soqo.experiments.execution._cell_keys import find_user_modules
from soqo.experiments.execution._cells import Cell

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The environment variables that set the number of BLAS threads: one, since there is a process per processor."""

_SCHEDULER_TIMEOUT = 10.0
"""Seconds to wait for an answer of a Dask scheduler."""

_WORKER_TIMEOUT = 60.0
"""Seconds to wait for its first worker: a cluster that grows on demand takes a while."""


@contextmanager
def open_executor(workers: int, scheduler: str | None, cells: list[Cell]) -> Iterator[Executor]:
    """Open a pool of processes on this machine, or the workers of a Dask scheduler.

    Parameters
    ----------
    workers : int
        The number of processes on this machine.
    scheduler : str or None
        The address of a Dask scheduler, whose workers are used instead.
    cells : list of Cell
        The cells to be computed, for the modules of the user's that workers of a cluster need.

    Yields
    ------
    concurrent.futures.Executor
        The executor, which is closed at the end.

    Examples
    --------
    >>> with open_executor(1, None, []) as executor:
    ...     executor.submit(abs, -3).result()
    3
    """
    if scheduler is None:
        with _single_threaded(), _open_pool(workers) as pool:
            yield pool
        return
    with _connect(scheduler) as client:
        for path in sorted({path for cell in cells for path in find_user_modules(cell.environment, cell.policies)}):
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
