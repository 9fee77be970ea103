"""The journal of a controller: when it has snapshots, and what an interrupted call leaves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soqo import FTM, Controller
from soqo._storage.codec import decode
from soqo._storage.journal import Journal
from soqo._storage.journal_records import INITIAL_CHECKSUM, MAGIC, MARK, SNAPSHOT, records_from
from soqo.errors import ArgumentError, ProtocolError


def test_snapshot_every_writes_a_snapshot_after_so_many_rounds(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    controller = Controller(FTM(), [0.0], journal=path, snapshot_every=3, durability="process")
    for number in range(10):
        controller.act([float(number)])
    controller.close()
    with Controller.resume(path, snapshot_every=4, durability="process") as resumed:
        for number in range(10, 17):
            resumed.act([float(number)])
    rounds = [
        decode(record.payload[len(MARK) + 16 :]).state.round
        for record in records_from(path.read_bytes(), len(MAGIC), INITIAL_CHECKSUM)
        if record.kind == SNAPSHOT
    ]
    assert rounds == [0, 3, 6, 9, 12, 16]
    with pytest.raises(ArgumentError, match="snapshot_every must be a positive integer, got 0"):
        Controller(FTM(), [0.0], snapshot_every=0)
    with pytest.raises(ArgumentError, match=r"snapshot_every must be a positive integer, got 1\.5"):
        Controller.resume(path, snapshot_every=1.5)  # type: ignore[arg-type]


def test_after_an_interrupted_call_the_controller_must_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = Controller(FTM(), [0.0], journal=tmp_path / "journal", durability="process")
    controller.act([1.0])
    controller.observe(0.5)
    append = Journal.append

    def append_and_interrupt(self: Journal, kind: bytes, payload: bytes, seconds: float = 0.0) -> None:
        append(self, kind, payload, seconds)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", append_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            controller.act([2.0])
    with pytest.raises(ProtocolError, match="the previous call was interrupted"):
        controller.act([3.0])
    resumed = Controller.resume(tmp_path / "journal")
    np.testing.assert_array_equal(resumed.pending, [2.0])
    resumed.act([3.0])
