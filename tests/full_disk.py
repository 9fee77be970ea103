"""Fill the disk at every call of a play: python tests/full_disk.py FILE DURABILITY.

Every call is tried with too little room, which must change neither the controller nor the journal, and then with room
for itself but not for a snapshot, which must be put off. The disk is made full by a limit
on the size of files, which holds for a whole process: so this is one of its own.
"""

from __future__ import annotations

import errno
import json
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from soqo import POL, Controller
from soqo._storage import journal as journals
from soqo._storage.journal import MARK
from soqo._storage.records import same

CALLS = 160
LONGEST = 41
"""Bytes of the longest record of a call on two actuators."""


def room(size: int | None) -> None:
    """Let files grow to this size; None lets them grow as they like."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def make_call(controller: Controller, number: int) -> Any:
    """The call of this number."""
    t, hears = divmod(number, 2)
    if not hears:
        return controller.act([3.0 * np.sin(t), 2.0 * np.cos(t)])
    x = controller.pending
    assert x is not None
    return controller.observe(1.0 + t % 4, None if t % 2 else x + 0.5)


def main(path: Path, durability: str) -> None:
    """Play beside a controller that has no journal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that a write beyond the limit is an error
    journals.SPARSE = 1
    policy, start = POL(1e-2), [1.0, 2.0]
    controller = Controller(policy, start, journal=path, durability=durability)
    undisturbed = Controller(policy, start)
    failed = put_off = 0
    for number in range(CALLS):
        before, written = undisturbed._standing(), path.read_bytes()
        for bytes_left in (0, 1, 9, 16):
            room(len(written) + bytes_left)
            try:
                make_call(controller, number)
            except OSError as error:
                failed += error.errno == errno.EFBIG
            room(None)
            assert same(controller._standing(), before), f"call {number} changed the controller"
            assert path.read_bytes() == written, f"call {number} changed the journal"
        if number % 20 == 10:
            controller = Controller.resume(path, durability=durability)
            assert same(controller._standing(), before), f"call {number} is resumed elsewhere"
        if number % 13:  # in the other calls there is room for a snapshot that is due
            room(len(written) + LONGEST)
        returned = make_call(controller, number)
        room(None)
        assert controller._journal is not None
        put_off += controller._journal.snapshot_is_due
        assert not (number % 13 == 0 and controller._journal.snapshot_is_due)
        np.testing.assert_array_equal(returned, make_call(undisturbed, number))
        assert same(controller._standing(), undisturbed._standing())
    controller.close()
    assert same(Controller.resume(path)._standing(), undisturbed._standing())
    counts = {
        "calls": CALLS,
        "calls that failed": failed,
        "snapshots put off": put_off,
        "snapshots": path.read_bytes().count(MARK),
    }
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
