"""The journal of a controller: when it has snapshots, and what an interrupted call leaves."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import numpy as np
import pytest

from soqo import FTM, Controller
from soqo._storage.journal import Journal
from soqo.errors import ArgumentError, ProtocolError


def test_snapshot_every_bounds_what_a_resume_repeats(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "journal"
    caplog.set_level(logging.INFO, "soqo")
    controller = Controller(FTM(), [0.0], journal=path, snapshot_every=3, durability="process")
    repeated = []
    for number in range(10):
        controller.act([float(number)])
        crashed = tmp_path / f"crashed {number}"
        for end in ("", ".snapshot"):
            if Path(f"{path}{end}").exists():
                Path(f"{crashed}{end}").write_bytes(Path(f"{path}{end}").read_bytes())
        caplog.clear()
        with Controller.resume(crashed) as resumed:
            assert resumed.state == controller.state
        repeated.append(int(re.findall(r"(\d+) calls were replayed", caplog.text)[0]))
    assert repeated == [1, 2, 0, 1, 2, 0, 1, 2, 0, 1]
    controller.close()
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
