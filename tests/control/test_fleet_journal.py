"""The journal of a fleet: killed processes, interrupted calls, full disks, and when snapshots are written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from soqo import POL, RLS, Fleet
from soqo._storage import journal as journals
from soqo._storage.journal import Journal
from soqo.errors import BusyError, ProtocolError

HERE = Path(__file__).parent


def test_a_fleet_whose_process_is_killed_at_any_moment_is_resumed_bit_for_bit(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(HERE / "kill_fleet.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(done.stdout)
    assert counts["kills"] == 80
    assert counts["calls"] > 300
    assert counts["snapshots"] > 1
    assert counts["beside"] > 10


def test_after_an_interrupted_call_the_fleet_must_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(POL(0.1), [[0.0], [0.0]], journal=tmp_path / "journal", durability="process")
    fleet.act([[1.0], [1.0]])
    append = Journal.append

    def append_and_interrupt(self: Journal, kind: bytes, payload: bytes, seconds: float = 0.0) -> None:
        append(self, kind, payload, seconds)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", append_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            fleet.observe([0.5], [1])
    with pytest.raises(ProtocolError, match=r"interrupted and may be in the journal: continue with Fleet\.resume"):
        fleet.observe([0.5], [1])
    fleet.close()
    assert not (tmp_path / "journal.snapshot").exists()
    with Fleet.resume(tmp_path / "journal") as resumed:
        assert resumed.pending == (0,)


def test_a_record_that_cannot_be_written_leaves_the_fleet_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(POL(0.1), [[0.0], [0.0]], journal=tmp_path / "journal", durability="process")
    fleet.act([[1.0], [1.0]])

    def fail(*_: object) -> None:
        raise OSError("no space left")

    calls: list[Callable[[], object]] = [
        lambda: fleet.observe([0.5, 0.5]),
        lambda: fleet.act([[1.0]], [0]),
        lambda: fleet.join([[1.0]]),
        lambda: fleet.leave(0),
        lambda: fleet.restart(0),
    ]
    before, positions = fleet.diagnostics(), fleet.x
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", fail)
        for call in calls:
            with pytest.raises(OSError, match="no space left"):
                call()
    np.testing.assert_equal(fleet.diagnostics(), before)
    np.testing.assert_array_equal(fleet.x, positions)
    fleet.observe([0.5, 0.5])
    expected = fleet.diagnostics()
    with Fleet.resume(tmp_path / "journal") as resumed:
        np.testing.assert_equal(resumed.diagnostics(), expected)


def test_a_snapshot_beside_the_journal_follows_when_a_replay_would_take_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shortcut = tmp_path / "journal.snapshot"
    fleet = Fleet(RLS(), [[0.0]], journal=tmp_path / "journal", durability="process")
    for _ in range(5):
        fleet.act([[1.0]])
        fleet.observe([0.5])
    assert not shortcut.exists()
    monkeypatch.setattr(journals, "MAX_REPLAY_SECONDS", 1e-9)
    fleet.act([[2.0]])
    assert shortcut.exists()


def test_a_folder_without_space_for_the_snapshot_does_not_stop_the_plants(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Fleet(POL(0.1), [[0.0]], journal=path, durability="process") as running:
        (tmp_path / "journal.snapshot").mkdir()  # no file can replace a folder
        running.act([[1.0]])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["journal", "journal.snapshot"]
    with Fleet.resume(path) as resumed:
        assert resumed.pending == (0,)


def test_a_new_journal_does_not_use_the_snapshot_of_an_old_one(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Fleet(POL(0.1), [[0.0]], journal=path) as fleet:
        fleet.act([[1.0]])
    path.unlink()
    with Fleet(POL(0.1), [[5.0]], journal=path) as fleet:
        assert not (tmp_path / "journal.snapshot").exists()
        np.testing.assert_array_equal(fleet.x, [[5.0]])


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    fleet = Fleet(POL(0.1), [[0.0]], journal=path)
    program = f"import soqo; soqo.Fleet.resume({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert BusyError.__name__ in done.stderr
    other = Fleet.resume(path)
    with pytest.raises(ProtocolError, match="was taken over"):
        fleet.act([[1.0]])
    other.act([[1.0]])
    other.close()
