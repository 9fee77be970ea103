"""Kill a process that steers a plant, and go on from its journal: python tests/kill_and_resume.py FOLDER.

A child plays and says so after each call that returned. The parent kills it at a random moment and looks at the
journal: every call that returned is in it, and at most one more. In the end the actions of all children, put together,
are those of a controller that nobody disturbed, to the bit. Prints what happened as a line of JSON.

Single-threaded, and a process of its own, because it forks.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from soqo import GLIDE, Controller
from soqo._storage import journal as journals
from soqo._storage.journal import SNAPSHOT, read_all

DIM = 3
KILLS = 200
EARLY = 10
"""Kills that do not wait for the child's first call: they may come while it reads the journal, or has none yet."""
ON_DISK = 5
"""One child in so many puts each call on the disk."""
A = np.diag([2.0, 0.5, 0.1])


def begin(**options: Any) -> Controller:
    """A new controller."""
    return Controller(GLIDE(), np.zeros(DIM), low=-20.0, switching_weight=[1.0, 4.0, 0.25], **options)


def make_call(controller: Controller) -> None:
    """The next call: what it says depends on the round and on the action under way, and on nothing else."""
    t = controller.round
    rng = np.random.default_rng(t)
    v, noise = 5.0 * rng.standard_normal(DIM), rng.uniform(-1.0, 1.0)
    x = controller.pending
    if x is None:
        controller.act(v)
    elif t % 11 == 7:
        controller.observe(np.nan)
    else:
        applied = x + 0.25 if t % 5 == 3 else None
        u = (x if applied is None else applied) - v
        controller.observe(0.5 * u @ A @ u + noise, applied)


def child(path: Path, durability: str, pipe: int) -> NoReturn:
    """Go on for ever; a byte for each call that returned."""
    exists = path.exists()
    controller = (
        Controller.resume(path, durability=durability) if exists else begin(journal=path, durability=durability)
    )
    while True:
        make_call(controller)
        os.write(pipe, b".")


def killed_child(path: Path, durability: str, delay: float, early: bool) -> int:
    """Start a child, kill it after a while, and count the calls that returned in it."""
    hear, say = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(hear)
            child(path, durability, say)
        finally:
            os._exit(3)
    os.close(say)
    heard = 0
    if not early:
        select.select([hear], [], [], 60.0)
    # Hearing all the while, so that the child never waits for us.
    end = time.perf_counter() + delay
    while (left := end - time.perf_counter()) > 0.0:
        if left > 1e-3 and select.select([hear], [], [], left - 1e-3)[0]:
            heard += len(os.read(hear, 65536))
    os.kill(process, signal.SIGKILL)
    status = os.waitpid(process, 0)[1]
    if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise SystemExit(f"the child ended by itself, with status {status}")
    while said := os.read(hear, 65536):
        heard += len(said)
    os.close(hear)
    return heard


def main(folder: Path) -> None:
    """Kill, look, go on."""
    journals.SPARSE = 1
    rng = np.random.default_rng(0)
    path = folder / "journal"
    calls = mid_round = torn = 0
    for kill in range(KILLS):
        durability = "disk" if kill % ON_DISK == 0 else "process"
        returned = killed_child(path, durability, rng.uniform(0.0, 0.02), kill % EARLY == 0)
        if not path.exists():
            if returned:
                raise SystemExit(f"kill {kill}: {returned} calls returned, and there is no journal")
            continue
        data = path.read_bytes()
        contents = journals.read(data, path)
        torn += contents.cut > 0
        kinds = [record.kind for record in read_all(data, path)[1]]
        if not calls + returned <= len(kinds) <= calls + returned + 1:
            raise SystemExit(
                f"kill {kill}: {calls} calls before and {returned} that returned, {len(kinds)} in the journal"
            )
        calls = len(kinds)
        mid_round += kinds[-1:] == [b"A"]
    with Controller.resume(path) as last:
        if last.pending is not None:
            make_call(last)
        rounds = last.round
    data = path.read_bytes()
    undisturbed = begin()
    for record in read_all(data, path)[1]:
        make_call(undisturbed)
        if record.kind == b"A" and record.payload[8 * DIM :] != undisturbed.x.tobytes():
            raise SystemExit(f"round {undisturbed.round + 1} has another action")
    if undisturbed.round != rounds:
        raise SystemExit(f"{rounds} rounds were played, {undisturbed.round} are in the journal")
    snapshots = sum(
        record.kind == SNAPSHOT for record in journals.records_from(data, len(journals.MAGIC), journals.FIRST)
    )
    counts = {
        "kills": KILLS,
        "rounds": rounds,
        "in mid-round": mid_round,
        "torn records": torn,
        "snapshots": snapshots,
    }
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
