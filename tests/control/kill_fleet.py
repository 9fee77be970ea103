"""Kill a process that steers a fleet, and resume from its journal: python tests/control/kill_fleet.py FOLDER.

A child makes calls and reports each one that returned. The parent kills it at a random moment and reads the journal,
which must hold every call that returned and at most one more. In the end, every plant must be where it is in a fleet
that was never interrupted, to the bit. Prints counts as a line of JSON.

This is a separate, single-threaded process, because it forks.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np

from soqo import RLS, Fleet
from soqo._storage import journal as journals
from soqo._storage.journal_format import read, read_all
from soqo._storage.journal_records import MARK

DIM = 2
KILLS = 80
EARLY = 10
"""Every tenth kill does not wait for the first call of the child, which may still read the journal or create it."""
ON_DISK = 5
"""Every fifth child writes each call to the disk."""
A = np.diag([2.0, 0.5])


def begin(**options: Any) -> Fleet:
    """Return a new fleet."""
    return Fleet(RLS(), np.zeros((4, DIM)), high=20.0, switching_weight=[1.0, 4.0], max_delay=1, **options)


def make_call(fleet: Fleet, call: int) -> None:
    """Make a call, which depends only on its number and on the state of the fleet."""
    rng = np.random.default_rng(call)
    names = list(fleet.names)
    some = [names[k] for k in rng.permutation(len(names)) if rng.random() < 0.7] or names[:1]
    kind = rng.random()
    waiting = [name for name in some if name in fleet.pending]
    if kind < 0.03:
        fleet.join(rng.standard_normal((1, DIM)))
    elif kind < 0.06 and len(names) > 2:
        fleet.leave(some[0])
    elif kind < 0.09:
        fleet.restart(some[:2])
    elif kind < 0.5 and waiting:
        x = fleet.x[[names.index(name) for name in waiting]]
        y = 0.5 * np.vecdot(x, x @ A) + rng.uniform(-0.1, 0.1, len(waiting))
        fleet.observe(y, waiting, np.where(rng.random((len(waiting), 1)) < 0.3, x + 0.25, np.nan))
    else:
        fleet.act(5.0 * rng.standard_normal((len(some), DIM)), some)


def calls_in(path: Path) -> int:
    """Return the number of calls in a journal."""
    return sum(1 for _ in read_all(path.read_bytes(), path)[1])


def child(path: Path, durability: Literal["disk", "process"], pipe: int) -> NoReturn:
    """Make calls without end, and write a byte for each one that returned."""
    fleet = Fleet.resume(path, durability=durability) if path.exists() else begin(journal=path, durability=durability)
    call = calls_in(path)
    while True:
        make_call(fleet, call)
        os.write(pipe, b".")
        call += 1


def run_and_kill_child(path: Path, durability: Literal["disk", "process"], calls: int, delay: float) -> int:
    """Start a child, kill it some time after a number of calls, and return how many of its calls returned."""
    receive, send = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(receive)
            child(path, durability, send)
        finally:
            os._exit(3)
    os.close(send)
    returned = 0
    while returned < calls and (reports := os.read(receive, 65536)):
        returned += len(reports)
    time.sleep(delay)
    os.kill(process, signal.SIGKILL)
    status = os.waitpid(process, 0)[1]
    if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise SystemExit(f"the child ended by itself, with status {status}")
    while reports := os.read(receive, 65536):
        returned += len(reports)
    os.close(receive)
    return returned


def main(folder: Path) -> None:
    """Kill, check the journal, and resume, many times."""
    # Snapshots in the journal and beside it after every few calls, so that kills hit them as well.
    journals.MIN_SNAPSHOT_BYTES = 1
    journals.MAX_REPLAY_SECONDS = 0.001
    rng = np.random.default_rng(0)
    path, shortcut = folder / "journal", folder / "journal.snapshot"
    calls = torn = beside = 0
    for kill in range(KILLS):
        durability: Literal["disk", "process"] = "disk" if kill % ON_DISK == 0 else "process"
        before = shortcut.stat().st_mtime_ns if shortcut.exists() else 0
        wait = 0 if kill % EARLY == 0 else int(rng.integers(1, 12))
        returned = run_and_kill_child(path, durability, wait, rng.uniform(0.0, 0.004))
        beside += shortcut.exists() and shortcut.stat().st_mtime_ns > before
        if not path.exists():
            if returned:
                raise SystemExit(f"kill {kill}: {returned} calls returned, and there is no journal")
            continue
        torn += read(path.read_bytes(), path).cut > 0
        recorded = calls_in(path)
        if not calls + returned <= recorded <= calls + returned + 1:
            raise SystemExit(
                f"kill {kill}: {calls} calls before and {returned} that returned, but {recorded} in the journal"
            )
        calls = recorded
    uninterrupted = begin()
    for call in range(calls):
        make_call(uninterrupted, call)
    with Fleet.resume(path) as last:
        np.testing.assert_array_equal(last.x, uninterrupted.x)
        np.testing.assert_equal(last.diagnostics(), uninterrupted.diagnostics())
        if (last.names, last.pending) != (uninterrupted.names, uninterrupted.pending):
            raise SystemExit(f"plants {last.names} became {uninterrupted.names}")
    data = path.read_bytes()
    counts = {"kills": KILLS, "calls": calls, "torn records": torn, "snapshots": data.count(MARK), "beside": beside}
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
