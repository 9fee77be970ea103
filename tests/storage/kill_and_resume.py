"""Kill a process that steers a plant, and resume from its journal: python tests/storage/kill_and_resume.py FOLDER.

A child makes calls and reports each one that returned. The parent kills it at a random moment and reads the journal,
which must hold every call that returned and at most one more. In the end, the actions of all children must be
bit-identical to those of a controller that was never interrupted. Prints counts as a line of JSON.

This is a separate, single-threaded process, because it forks.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np

from soqo import GLIDE, Controller
from soqo._control.calls import decode_call
from soqo._storage import journal as journals
from soqo._storage.journal_format import is_at_end, read, read_all, read_latest

DIM = 3
KILLS = 200
EARLY = 10
"""Every tenth kill does not wait for the first call of the child, which may still read the journal or create it."""
CLOSE_AFTER = 5
"""A child closes its journal after so many calls, and resumes it, so that some kills hit its last state."""
ON_DISK = 5
"""Every fifth child writes each call to the disk."""
A = np.diag([2.0, 0.5, 0.1])


def begin(**options: Any) -> Controller:
    """Return a new controller."""
    return Controller(GLIDE(), np.zeros(DIM), low=-20.0, switching_weight=[1.0, 4.0, 0.25], **options)


def make_call(controller: Controller) -> None:
    """Make the next call, which depends only on the round and on the pending action."""
    t = controller.round
    rng = np.random.default_rng(t)
    v, noise = 5.0 * rng.standard_normal(DIM), rng.uniform(-1.0, 1.0)
    x = controller.pending
    if x is None:
        extras: dict[str, Any] = {} if t % 3 else {"forecast": [v + 1.0], "factor": 1.5, "time": "2026-01-01T00:00:00Z"}
        extras |= {"active": [True, False, True]} if t % 4 == 1 else {}
        controller.act(v, **extras)
    elif t % 11 == 7:
        controller.observe(np.nan)
    else:
        applied = x + 0.25 if t % 5 == 3 else None
        u = (x if applied is None else applied) - v
        felt: dict[str, Any] = {"at": x - 0.125, "unit": 2.0} if t % 4 == 2 else {}
        controller.observe(float(0.5 * u @ A @ u + noise), applied, **felt)


def child(path: Path, durability: Literal["disk", "process"], pipe: int) -> NoReturn:
    """Make calls without end, closing the journal at times, and write a byte for each one that returned."""
    exists = path.exists()
    controller = (
        Controller.resume(path, durability=durability) if exists else begin(journal=path, durability=durability)
    )
    while True:
        for _ in range(CLOSE_AFTER):
            make_call(controller)
            os.write(pipe, b".")
        controller.close()
        controller = Controller.resume(path, durability=durability)


def run_and_kill_child(path: Path, durability: Literal["disk", "process"], delay: float, early: bool) -> int:
    """Start a child, kill it after a delay, and return the number of its calls that returned."""
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
    if not early:
        select.select([receive], [], [], 60.0)
    # Read all the time, so that the child never waits for the parent.
    end = time.perf_counter() + delay
    while (left := end - time.perf_counter()) > 0.0:
        if left > 1e-3 and select.select([receive], [], [], left - 1e-3)[0]:
            returned += len(os.read(receive, 65536))
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
    journals.MIN_SNAPSHOT_BYTES = 1
    rng = np.random.default_rng(0)
    path = folder / "journal"
    calls = mid_round = torn = closed = 0
    for kill in range(KILLS):
        durability: Literal["disk", "process"] = "disk" if kill % ON_DISK == 0 else "process"
        returned = run_and_kill_child(path, durability, rng.uniform(0.0, 0.02), kill % EARLY == 0)
        if not path.exists():
            if returned:
                raise SystemExit(f"kill {kill}: {returned} calls returned, and there is no journal")
            continue
        data = path.read_bytes()
        contents = read(data, path)
        torn += contents.cut > 0
        kinds = [record.kind for record in read_all(data, path)[1]]
        if not calls + returned <= len(kinds) <= calls + returned + 1:
            raise SystemExit(
                f"kill {kill}: {calls} calls before and {returned} that returned, but {len(kinds)} in the journal"
            )
        calls = len(kinds)
        mid_round += kinds[-1:] == [b"P"]
        with path.open("rb") as file:
            latest = read_latest(path)
            closed += latest is not None and is_at_end(latest, file)
    with Controller.resume(path) as last:
        if last.pending is not None:
            make_call(last)
        rounds = last.round
    data = path.read_bytes()
    uninterrupted = begin()
    for record in read_all(data, path)[1]:
        make_call(uninterrupted)
        call = decode_call(record, DIM, path)
        if call.x is not None and not np.array_equal(call.x, uninterrupted.x):
            raise SystemExit(f"round {uninterrupted.round + 1} has another action")
    if uninterrupted.round != rounds:
        raise SystemExit(f"{rounds} rounds were played, {uninterrupted.round} are in the journal")
    counts = {
        "kills": KILLS,
        "rounds": rounds,
        "in mid-round": mid_round,
        "torn records": torn,
        "closed": closed,
    }
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
