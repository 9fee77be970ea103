"""Threads for work that releases the interpreter's lock, such as compiled functions.

The environment variable ``SOQO_THREADS`` sets their number; by default it is that of the processors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from soqo.errors import ArgumentError

_T = TypeVar("_T")
_R = TypeVar("_R")


@cache
def thread_count() -> int:
    """Return the number of threads."""
    given = os.environ.get("SOQO_THREADS")
    if given is None:
        # The processors that this process may use, where the system tells.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or int(given) < 1:
        raise ArgumentError(f"the environment variable SOQO_THREADS must be a positive integer, got {given!r}")
    return int(given)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="soqo")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the threads of a pool do not exist in a child


def map_in_threads(function: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    """Return the values of a function, which are computed at the same time; one thread needs no pool.

    Parameters
    ----------
    function : callable
        The function.
    items : sequence
        Its arguments.

    Examples
    --------
    >>> map_in_threads(abs, [-1, 2])
    [1, 2]
    """
    if len(items) <= 1 or thread_count() == 1:
        return [function(item) for item in items]
    return list(_pool().map(function, items))
