"""Logs hold the rounds of a journal, or those that are given as arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soqo import POL, Controller, Log
from soqo.errors import ArgumentError, FileFormatError

V = np.cumsum(np.random.default_rng(0).standard_normal((6, 2)), axis=0)


def test_read_refuses_other_files_and_a_journal_without_rounds(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no log"):
        Log.read(tmp_path / "none")
    Controller(POL(0.1), [0.0], journal=tmp_path / "journal")
    with pytest.raises(ArgumentError, match="must be a journal with at least one round"):
        Log.read(tmp_path / "journal")
    (tmp_path / "foreign").write_text("v,x,y")
    with pytest.raises(FileFormatError, match="there must be columns v_1, x_1 and y, got v, x, y"):
        Log.read(tmp_path / "foreign")


def test_read_refuses_a_damaged_journal(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with Controller(POL(0.1), [0.0, 0.0], journal=journal) as controller:
        for v in V:
            controller.act(v)
        crashed = journal.read_bytes()
    data = bytearray(journal.read_bytes())
    data[len(crashed) - 100] ^= 1
    journal.write_bytes(data)
    with pytest.raises(FileFormatError, match="is damaged at byte"):
        Log.read(journal)


def test_a_log_copies_its_arrays() -> None:
    v = V.copy()
    log = Log(v, V, np.zeros(6), x0=np.zeros(2))
    v += 1.0
    np.testing.assert_array_equal(log.v, V)


def test_a_slice_begins_where_the_rounds_before_it_ended() -> None:
    time = np.datetime64("2026-03-01", "us") + np.arange(6)
    log = Log(
        V, V / 2.0, np.arange(6.0), x0=np.array([9.0, 9.0]), horizon=10, time=time, actuators=["a", "b"], units="K"
    )
    part = log[-4:5]
    np.testing.assert_array_equal(part.v, V[2:5])
    np.testing.assert_array_equal(part.y, [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(part.x0, log.x[1])
    assert part.time is not None
    np.testing.assert_array_equal(part.time, time[2:5])
    assert (part.horizon, part.actuators, part.units) == (8, ("a", "b"), "K")
    assert log[:] == log
    for wrong, message in ((slice(None, None, 2), "without a step"), (3, "must be a slice"), (slice(4, 2), r"\[4:2\]")):
        with pytest.raises(ArgumentError, match=message):
            log[wrong]  # type: ignore[index]
