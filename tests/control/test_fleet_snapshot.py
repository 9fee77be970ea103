"""The state of a fleet in files: small while nothing was played, and readable by later versions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soqo import FTM, GLIDE, Fleet
from soqo._control.snapshot import SavedBatch, decode_snapshot
from soqo._storage.codec import decode, encode
from soqo._storage.journal_format import read, read_latest
from soqo._storage.journal_records import MARK
from soqo.errors import FileFormatError


def test_plants_that_have_not_played_take_only_the_space_of_their_positions(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    x0 = np.random.default_rng(0).standard_normal((50, 6))
    Fleet(GLIDE(), x0, journal=path).close()
    assert path.stat().st_size < 2 * x0.nbytes + 2000
    with Fleet.resume(path) as fleet:
        np.testing.assert_array_equal(fleet.x, x0)


def test_a_snapshot_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Fleet(GLIDE(), np.zeros((3, 2)), names=["a", "b", 7], high=4.0, journal=path, durability="process") as fleet:
        fleet.act(np.ones((2, 2)), ["b", 7])
        fleet.observe([np.nan], [7])
    latest = read_latest(path)
    assert latest is not None
    assert latest[:2] == (path.stat().st_size, read(path.read_bytes(), path).checksum)
    snapshot = decode_snapshot(latest.state, path, alone=False)
    assert snapshot.names == ("a", "b", 7)
    np.testing.assert_array_equal(snapshot.missed, [0, 0, 1])
    assert snapshot.policy == GLIDE()
    assert decode(encode(snapshot)) == snapshot
    kinds = {tuple(batch.plants.tolist()): batch.state is None for batch in snapshot.batches}
    assert kinds == {(0,): True, (1,): False, (2,): False}


def test_a_journal_alone_has_few_snapshots(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Fleet(FTM(), np.zeros((40, 4)), journal=path, durability="process") as fleet:
        for t in range(100):
            fleet.act(np.full((40, 4), float(t)))
            fleet.observe(np.zeros(40))
    records = 100 * (9 + 15 + 40 * (4 + 64)) + 100 * (9 + 10 + 40 * 12)
    data = path.read_bytes()
    assert 1 < data.count(MARK) <= 1 + records // (1 << 16)
    assert len(data) < 1.5 * records


def test_a_large_state_waits_in_the_journal_until_the_records_take_as_much_space(tmp_path: Path) -> None:
    path, shortcut = tmp_path / "journal", tmp_path / "journal.snapshot"
    rng = np.random.default_rng(0)  # GLIDE learns nothing from a meter that repeats itself
    with Fleet(GLIDE(), np.zeros((20, 6)), journal=path, durability="process") as fleet:
        for t in range(40):
            fleet.act(np.full((20, 6), float(t)))
            fleet.observe(rng.standard_normal(20))
    assert path.stat().st_size > 1 << 16 < shortcut.stat().st_size
    assert path.read_bytes().count(MARK) == 1


def test_something_else_is_refused() -> None:
    with pytest.raises(FileFormatError, match="here must hold the state of a fleet, got a SavedBatch"):
        decode_snapshot(encode(SavedBatch(np.zeros(1, dtype=np.int64))), "here", alone=False)
    with pytest.raises(FileFormatError, match=r"^here: "):
        decode_snapshot(b"", "here", alone=False)
