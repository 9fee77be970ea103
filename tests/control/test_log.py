"""Logs hold the rounds of a journal, or those that are given as arrays, which are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


# ---- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x": np.where(np.eye(6, 2), np.nan, V)}, r"x\[0, 0\] must be a finite number, and is NaN"),
        ({"v": [1.0, 2.0]}, r"v must have shape \(T, d\), got \(2,\)"),
        ({"v": np.full((6, 2), np.inf)}, r"v\[0, 0\] must be a finite number, got inf"),
        ({"x": V[:5]}, r"x must have shape \(6, 2\), got \(5, 2\)"),
        ({"y": np.zeros(5)}, r"y must have shape \(6,\), got \(5,\)"),
        ({"y": np.full(6, np.inf)}, r"y\[0\] must be finite, or NaN for no reading, got inf"),
        ({"x0": 0.0}, r"x0 must have shape \(2,\), got \(\)"),
        ({"horizon": 5}, "horizon must be at least the 6 rounds of the log, got 5"),
        ({"switching_weight": [1.0, 2.0, 3.0]}, "switching_weight must be for 2 actuators"),
        ({"switching_weight": -1.0}, "switching_weight must be positive"),
        ({"actuators": ["a"]}, "actuators must have one entry for each of the 2 actuators"),
        ({"units": ["a", 3]}, "units must be a list of texts"),
        ({"factor": np.ones(5)}, r"factor must have shape \(6,\), got \(5,\)"),
        ({"factor": -np.ones(6)}, r"factor\[0\] must be at least 0, or NaN for 1, got -1.0"),
        ({"unit": [1, 2, 3, 0, 1, 1]}, r"unit\[3\] must be above 0, or NaN for 1, got 0.0"),
        ({"unit": np.full(6, np.inf)}, r"unit\[0\] must be above 0, or NaN for 1, got inf"),
        ({"active": np.full((6, 2), 0.5)}, r"active\[0, 0\] must be 0 or 1, or NaN for 1, got 0.5"),
        ({"active": np.ones(6, dtype=bool)}, r"active must have shape \(6, 2\), got \(6,\)"),
        ({"covariates": np.ones(6)}, r"covariates must have shape \(6, k\), got \(6,\)"),
        ({"covariates": np.ones((6, 0))}, r"covariates must have shape \(6, k\), got \(6, 0\)"),
        (
            {"covariates": [[1.0, np.nan]] * 6},
            r"covariates\[0, 1\] must be finite, or NaN in the whole row, and is NaN",
        ),
        (
            {"covariates": np.full((6, 1), np.inf)},
            r"covariates\[0, 0\] must be finite, or NaN in the whole row, got inf",
        ),
        ({"at": V[:5]}, r"at must have shape \(6, 2\), got \(5, 2\)"),
        ({"at": np.full((6, 2), np.inf)}, r"at\[0, 0\] must be finite, or NaN for the position, got inf"),
    ],
)
def test_invalid_input_is_named(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"v": V, "x": V, "y": np.zeros(6), "x0": np.zeros(2), **changed}
    with pytest.raises(ArgumentError, match=message):
        Log(**given)


def test_nan_says_that_nothing_was_told() -> None:
    told = {"factor": [2.0, np.nan], "unit": [np.nan, 3.0], "active": [[np.nan, 0.0], [1.0, 1.0]]}
    log = Log(V[:2], V[2:4], [np.nan, 1.0], x0=V[0], at=[[np.nan, 7.0], [8.0, np.nan]], **told)  # type: ignore[arg-type]  # values of several types
    np.testing.assert_array_equal(log.factor, [2.0, 1.0])
    np.testing.assert_array_equal(log.unit, [1.0, 3.0])
    np.testing.assert_array_equal(log.active, [[True, False], [True, True]])
    np.testing.assert_array_equal(log.at, [[V[2, 0], V[2, 1]], [8.0, V[3, 1]]])  # an actuator that was out is at x


# ---- angles ----------------------------------------------------------------------------------------------------------

ANGLES = 350.0 + np.cumsum(40.0 * np.random.default_rng(0).standard_normal((30, 2)), axis=0)
POSITIONS = ANGLES + 20.0 * np.random.default_rng(1).uniform(-1.0, 1.0, (30, 2))
FELT = POSITIONS + 30.0 * np.random.default_rng(2).uniform(-1.0, 1.0, (30, 2))


def test_a_log_given_modulo_the_period_is_counted_on() -> None:
    assert np.abs(np.diff(POSITIONS, axis=0)).max() < 180.0
    period = np.array([360.0, np.inf])
    turned = [np.stack([np.mod(one[:, 0], 360.0), one[:, 1]], axis=1) for one in (ANGLES, POSITIONS, FELT)]
    counted = Log(ANGLES, POSITIONS, np.zeros(30), x0=POSITIONS[0], at=FELT)
    log = Log(turned[0], turned[1], np.zeros(30), x0=POSITIONS[0], at=turned[2], period=period)
    for name in ("v", "x", "at"):
        np.testing.assert_allclose(getattr(log, name), getattr(counted, name), atol=1e-9)
    again = Log(log.v, log.x, log.y, x0=log.x0, at=log.at, period=period)
    np.testing.assert_allclose(again.x, log.x, atol=1e-9)


@pytest.mark.parametrize("period", [0.0, -1.0, [1.0], np.nan, [[1.0, 2.0]]])
def test_a_wrong_period_is_refused(period: object) -> None:
    with pytest.raises(ArgumentError, match="period must be above 0, a number or one for each of 2 actuators, got"):
        Log(ANGLES, POSITIONS, np.zeros(30), x0=POSITIONS[0], period=period)  # type: ignore[arg-type]
