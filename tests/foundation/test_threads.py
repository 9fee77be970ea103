"""Threads: their number, the order of results, errors, and processes that fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from soqo._foundation import threads
from soqo._foundation.threads import map_in_threads, thread_count
from soqo.errors import ArgumentError


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be two threads, whatever the machine has."""
    monkeypatch.setattr(threads, "thread_count", lambda: 2)


@pytest.mark.usefixtures("two_threads")
def test_items_are_computed_at_the_same_time_and_returned_in_their_order() -> None:
    together = threading.Barrier(2, timeout=20.0)

    def meet(item: int) -> int:
        together.wait()
        return 10 * item

    assert map_in_threads(meet, [3, 1]) == [30, 10]


@pytest.mark.usefixtures("two_threads")
def test_an_error_of_an_item_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda item: 1 / item, [1, 0])


def test_one_item_needs_no_thread() -> None:
    assert map_in_threads(lambda _: threading.current_thread(), [None]) == [threading.current_thread()]


@pytest.mark.parametrize(("given", "expected"), [("3", 3), (None, None)])
def test_the_environment_sets_the_number(
    given: str | None, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOQO_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("SOQO_THREADS", given)
    assert thread_count.__wrapped__() == (expected or len(os.sched_getaffinity(0)))


@pytest.mark.parametrize("given", ["0", "-1", "many", "1.5", ""])
def test_a_number_that_is_not_one_is_an_error(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOQO_THREADS", given)
    with pytest.raises(ArgumentError, match="SOQO_THREADS must be a positive integer, got"):
        thread_count.__wrapped__()


def test_a_process_that_forks_has_threads_of_its_own() -> None:
    code = (
        "import os; from soqo._foundation.threads import map_in_threads; map_in_threads(abs, [1, 2]); pid = os.fork();"
        "\nif pid: raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
        "\nassert map_in_threads(abs, [-1, -2]) == [1, 2]; os._exit(0)"
    )
    environment = {**os.environ, "SOQO_THREADS": "2"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60, env=environment)
