"""Limits that differ between plants: in every action, for new plants, and after a restart of the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, Fleet
from soqo.errors import ArgumentError

LOW, HIGH, RATE = np.array([[0.0, 0.0], [-9.0, -9.0]]), np.array([[1.0, 2.0], [9.0, 9.0]]), [[5.0, 5.0], [1.0, np.inf]]


def test_every_plant_has_its_own_limits_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    fleet = Fleet(FTM(), np.zeros((2, 2)), names=["a", "b"], low=LOW, high=HIGH, rate=RATE, journal=path)
    np.testing.assert_array_equal(fleet.act([[5.0, 5.0], [5.0, 5.0]]), [[1.0, 2.0], [1.0, 5.0]])
    np.testing.assert_array_equal(fleet.act([[-5.0, 7.0], [-5.0, -5.0]], ["b", "a"]), [[0.0, 7.0], [0.0, 0.0]])
    with pytest.raises(ArgumentError, match="low must be given, since each plant of the fleet has its own, got None"):
        fleet.join([[0.0, 0.0]], high=3.0)
    fleet.join([[2.0, 2.0]], ["c"], low=1.0, high=[3.0, 4.0], rate=1.5)
    fleet.restart("b")
    assert "At a limit: actuator 1 (low 0), actuator 2 (low 0)." in fleet.explain("a")
    fleet.close()
    saved = fleet.save(tmp_path / "saved")
    for each in (Fleet.resume(path), Fleet.load(saved)):
        x = each.act(np.full((3, 2), 50.0))
        np.testing.assert_array_equal(x, [[1.0, 2.0], [1.0, 9.0], [3.0, 3.5]])
        with pytest.raises(ArgumentError, match="x0 must be at most high, 1 for actuator 0, got 2 for plant 'a'"):
            each.restart("a", [2.0, 1.0])
        each.leave("c")
    log = Fleet.read_log(path, "b")
    np.testing.assert_array_equal(log.rate, [1.0, np.inf])
    np.testing.assert_array_equal(log.low, [-9.0, -9.0])


def test_a_fleet_with_common_limits_takes_plants_with_their_own() -> None:
    fleet = Fleet(FTM(), [[0.0]], high=2.0)
    fleet.join([[0.0], [0.0]], rate=[[1.0], [3.0]])
    np.testing.assert_array_equal(fleet.act(np.full((3, 1), 9.0)), [[2.0], [1.0], [2.0]])
    free = Fleet(FTM(), [[0.0]])
    with pytest.raises(ArgumentError, match="low, high and rate must be None in a fleet without limits"):
        free.join([[0.0]], high=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": np.zeros((3, 2))}, r"low must be a number or have shape \(2,\) or \(2, 2\), got \(3, 2\)"),
        ({"low": [[0.0, np.nan], [0.0, 0.0]]}, "low must be neither NaN nor inf, got nan"),
        ({"high": [[-np.inf, 1.0], [1.0, 1.0]]}, "high must be neither NaN nor -inf, got -inf"),
        ({"rate": [[0.0, 1.0], [1.0, 1.0]]}, "rate must be above 0, got 0.0"),
        ({"low": 3.0, "high": [[4.0, 4.0], [4.0, 2.0]]}, "low must not exceed high, got .* in row 1"),
        ({"low": [[0.0, 0.0], [0.0, 1.0]]}, "x0 must be at least low, 1 for actuator 1, got 0 for plant 1"),
    ],
)
def test_wrong_limits_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Fleet(FTM(), np.zeros((2, 2)), **options)
