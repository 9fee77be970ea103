"""Logs hold the rounds of a journal, or those that are given as arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import POL, Controller, Log
from soqo.errors import ArgumentError, FileFormatError

V = np.cumsum(np.random.default_rng(0).standard_normal((6, 2)), axis=0)


def test_read_returns_the_rounds_of_a_journal_in_plant_units(tmp_path: Path) -> None:
    journal = tmp_path / "plant.journal"
    controller = Controller(
        POL(0.1), [1.0, 0.25], horizon=9, low=-0.5, high=[1.0, 0.5], switching_weight=[1.0, 4.0], journal=journal
    )
    x = [controller.act(v) for v in V[:1]]
    controller.observe(0.5)
    x.append(controller.act(V[1]))  # its reading is missed
    x.append(controller.act(V[2]))
    controller.observe(0.25, applied=[0.1, 0.2])
    x.append(controller.act(V[3]))
    controller.observe(np.nan)
    x.append(controller.act(V[4]))  # in the middle of a round
    log = Log.read(journal)
    x[2] = np.array([0.1, 0.2])
    np.testing.assert_array_equal(log.v, V[:5])
    np.testing.assert_array_equal(log.x, x)
    np.testing.assert_array_equal(log.y, [0.5, np.nan, 0.25, np.nan, np.nan])
    np.testing.assert_array_equal(log.x0, [1.0, 0.25])
    np.testing.assert_array_equal(log.high, [1.0, 0.5])
    np.testing.assert_array_equal(log.switching_weight, [1.0, 4.0])
    np.testing.assert_array_equal(log.low, -0.5)
    assert (log.horizon, log.dim, len(log)) == (9, 2, 5)


def test_read_of_a_journal_that_starts_in_the_middle_of_a_run(tmp_path: Path) -> None:
    first = Controller(POL(0.1), [0.0, 0.0], horizon=9)
    first.act(V[0])
    first.observe(1.0)
    first.act(V[1])
    first.save(tmp_path / "saved")
    second = Controller.load(tmp_path / "saved", journal=tmp_path / "journal")
    second.observe(2.0)  # belongs to an action that is not in this journal
    x = second.act(V[2])
    second.observe(3.0)
    log = Log.read(tmp_path / "journal")
    np.testing.assert_array_equal(log.x, [x])
    np.testing.assert_array_equal(log.y, [3.0])
    assert log.horizon == 7
    np.testing.assert_array_equal(log.x0, first.x)


def test_read_puts_late_readings_into_their_rounds(tmp_path: Path) -> None:
    first = Controller(POL(0.1), [0.0, 0.0], max_delay=3, rate=0.5)
    first.act(V[0])
    first.act(V[1])
    first.save(tmp_path / "saved")
    second = Controller.load(tmp_path / "saved", journal=tmp_path / "journal")
    x = [second.act(v, time=f"2026-01-01T00:00:0{k}Z") for k, v in enumerate(V[2:5])]
    second.observe(4.0, round=4)
    second.observe(2.0, round=2)  # belongs to an action that is not in this journal
    second.observe(3.0, [0.1, 0.2], round=3)
    log = Log.read(tmp_path / "journal")
    np.testing.assert_array_equal(log.x, [[0.1, 0.2], *x[1:]])
    np.testing.assert_array_equal(log.y, [3.0, 4.0, np.nan])
    np.testing.assert_array_equal(log.time, np.datetime64("2026-01-01", "ms") + np.arange(3) * np.timedelta64(1, "s"))
    np.testing.assert_array_equal(log.rate, 0.5)


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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"v": [1.0, 2.0]}, r"v must have shape \(T, d\), got \(2,\)"),
        ({"v": np.full((6, 2), np.inf)}, "v must be finite"),
        ({"x": V[:5]}, r"x must have shape \(6, 2\), got \(5, 2\)"),
        ({"y": np.zeros(5)}, r"y must have shape \(6,\), got \(5,\)"),
        ({"y": np.full(6, np.inf)}, "y must be finite, or NaN"),
        ({"x0": 0.0}, r"x0 must have shape \(2,\), got \(\)"),
        ({"horizon": 5}, "horizon must be at least the 6 rounds of the log, got 5"),
        ({"switching_weight": [1.0, 2.0, 3.0]}, "switching_weight must be for 2 actuators"),
        ({"switching_weight": -1.0}, "switching_weight must be positive"),
        ({"actuators": ["a"]}, "actuators must have one entry for each of the 2 actuators"),
        ({"units": ["a", 3]}, "units must be a list of texts"),
    ],
)
def test_invalid_input_is_named(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"v": V, "x": V, "y": np.zeros(6), "x0": np.zeros(2), **changed}
    with pytest.raises(ArgumentError, match=message):
        Log(**given)


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
