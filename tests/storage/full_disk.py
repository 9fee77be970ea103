"""Make every call of a controller on a full disk: python tests/storage/full_disk.py FILE DURABILITY.

Every call is first made with too little space, which must change neither the controller nor the journal, and then with
enough space for the call but not for a snapshot, which must be postponed. A limit on the size of files simulates the
full disk. It applies to a whole process, so this is a separate one. Prints counts as a line of JSON.
"""

from __future__ import annotations

import errno
import json
import resource
import signal
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np

from soqo import POL, Controller
from soqo._storage import journal as journals
from soqo._storage.journal_records import MARK
from soqo._storage.plain_data import same

CALLS = 160
MAX_RECORD_BYTES = 51
"""The length of the longest record of a call with two actuators."""


def limit_file_size(size: int | None) -> None:
    """Limit the size of files; None removes the limit."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def make_call(controller: Controller, number: int) -> Any:
    """Make the call of this number."""
    t, is_reading = divmod(number, 2)
    if not is_reading:
        return controller.act([3.0 * np.sin(t), 2.0 * np.cos(t)])
    x = controller.pending
    assert x is not None
    return controller.observe(1.0 + t % 4, None if t % 2 else x + 0.5)


def main(path: Path, durability: Literal["disk", "process"]) -> None:
    """Compare a controller with a journal to one without, call by call."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that a write beyond the limit is an error
    journals.MIN_SNAPSHOT_BYTES = 1
    policy, start = POL(1e-2), [1.0, 2.0]
    controller = Controller(policy, start, journal=path, durability=durability)
    uninterrupted = Controller(policy, start)
    failed = postponed = 0
    for number in range(CALLS):
        before, written = uninterrupted._steering.snapshot(), path.read_bytes()
        for bytes_left in (0, 1, 9, 16):
            limit_file_size(len(written) + bytes_left)
            try:
                make_call(controller, number)
            except OSError as error:
                failed += error.errno == errno.EFBIG
            limit_file_size(None)
            assert same(controller._steering.snapshot(), before), f"call {number} changed the controller"
            assert path.read_bytes() == written, f"call {number} changed the journal"
        if number % 20 == 10:
            controller = Controller.resume(path, durability=durability)
            assert same(controller._steering.snapshot(), before), f"call {number} is resumed in another state"
        if number % 13:  # the other calls have space for a snapshot that is due
            limit_file_size(len(written) + MAX_RECORD_BYTES)
        returned = make_call(controller, number)
        limit_file_size(None)
        assert controller._steering.journal is not None
        postponed += controller._steering.journal.snapshot_is_due
        assert not (number % 13 == 0 and controller._steering.journal.snapshot_is_due)
        np.testing.assert_array_equal(returned, make_call(uninterrupted, number))
        assert same(controller._steering.snapshot(), uninterrupted._steering.snapshot())
    controller.close()
    assert same(Controller.resume(path)._steering.snapshot(), uninterrupted._steering.snapshot())
    counts = {
        "calls": CALLS,
        "calls that failed": failed,
        "snapshots postponed": postponed,
        "snapshots": path.read_bytes().count(MARK),
    }
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), "disk" if sys.argv[2] == "disk" else "process")
