"""The rounds of a journal, in plant units, with what was told about each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soqo import POL, Controller, Log
from soqo.errors import ArgumentError

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


def test_read_returns_what_plants_tell(tmp_path: Path) -> None:
    journal = tmp_path / "plant.journal"
    controller = Controller(POL(0.1), [350.0, 0.25], period=[360.0, np.inf], journal=journal)
    x = [controller.act([10.0, 1.0], factor=0.5)]
    controller.observe(1.0, at=[5.0, 0.5], unit=2.0, covariates=[7.0, 8.0])
    x.append(controller.act([20.0, 9.0], active=[True, False]))
    controller.observe(2.0, applied=[12.0, 0.75])
    x.append(controller.act([1.0, 1.0]))
    log = Log.read(journal)
    assert x[1][1] == x[0][1]  # it stays
    np.testing.assert_array_equal(log.x, [x[0], [372.0, 0.75], x[2]])
    np.testing.assert_array_equal(log.v, [[370.0, 1.0], [380.0, 0.75], [361.0, 1.0]])
    assert log.at is not None
    np.testing.assert_array_equal(log.at, [[365.0, 0.5], [372.0, 0.75], x[2]])
    np.testing.assert_array_equal(log.factor, [0.5, 1.0, 1.0])
    np.testing.assert_array_equal(log.unit, [2.0, 1.0, 1.0])
    np.testing.assert_array_equal(log.active, [[True, True], [True, False], [True, True]])
    np.testing.assert_array_equal(log.covariates, [[7.0, 8.0], [np.nan, np.nan], [np.nan, np.nan]])
    np.testing.assert_array_equal(log.period, [360.0, np.inf])
    part = log[1:]
    np.testing.assert_array_equal(part.x0, x[0])
    for name in ("v", "x", "at", "factor", "unit", "active", "covariates"):
        np.testing.assert_array_equal(getattr(part, name), getattr(log, name)[1:])


def test_a_log_refuses_covariates_whose_number_changes(tmp_path: Path) -> None:
    controller = Controller(POL(0.1), [0.0], journal=tmp_path / "plant.journal")
    for covariates in ([1.0, 2.0], [3.0]):
        controller.act([1.0])
        controller.observe(1.0, covariates=covariates)
    with pytest.raises(ArgumentError, match=r"covariates must have the same number of entries .* got \[1, 2\]"):
        Log.read(tmp_path / "plant.journal")
