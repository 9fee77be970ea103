"""The log of one plant, from the journal of a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soqo
from soqo import POL, Controller, Fleet, Log
from soqo.errors import ArgumentError, FileFormatError, UnknownNameError


def test_the_log_of_a_plant_is_that_of_its_controller(tmp_path: Path) -> None:
    options: dict[str, Any] = {"high": 6.0, "switching_weight": [1.0, 2.0]}
    fleet = Fleet(POL(0.1), [[0.0, 0.0], [1.0, 1.0]], journal=tmp_path / "fleet", durability="process", **options)
    controller = Controller(POL(0.1), [1.0, 1.0], journal=tmp_path / "one", durability="process", **options)
    rng = np.random.default_rng(0)
    for t in range(6):
        v = rng.standard_normal((2, 2))
        fleet.act(v[::-1], [1, 0])
        controller.act(v[1])
        if t == 2:
            continue
        applied = np.full((1, 2), np.nan) if t % 2 else rng.standard_normal((1, 2))
        fleet.observe([0.5 + t], [1], applied=applied)
        controller.observe(0.5 + t, None if t % 2 else applied[0])
    assert Fleet.read_log(tmp_path / "fleet", 1) == Log.read(tmp_path / "one")
    assert np.isnan(Fleet.read_log(tmp_path / "fleet", 0).y).all()


def test_a_log_begins_with_the_last_restart(tmp_path: Path) -> None:
    path = tmp_path / "fleet"
    fleet = Fleet(POL(0.1), [[0.0], [1.0]], names=["a", "b"], max_delay=1, journal=path, durability="process")
    fleet.act([[5.0], [5.0]])
    fleet.restart(["b", "a"], [[3.0], [4.0]])
    fleet.join([7.0], "c")
    fleet.leave("a")
    fleet.join([[8.0]], ["a"])
    for v in (1.0, 2.0):
        fleet.act([[v], [v + 1.0]], ["a", "b"])
    fleet.observe([0.25], ["b"], round=1)
    log = Fleet.read_log(path, "b")
    np.testing.assert_array_equal(log.x0, [3.0])
    np.testing.assert_array_equal(log.v, [[2.0], [3.0]])
    np.testing.assert_array_equal(log.y, [0.25, np.nan])
    np.testing.assert_array_equal(Fleet.read_log(path, "a").x0, [8.0])
    with pytest.raises(ArgumentError, match="plant must have played a round, got 'c'"):
        Fleet.read_log(path, "c")
    fleet.leave("c")
    with pytest.raises(UnknownNameError, match="plant must be in the fleet at the end of"):
        Fleet.read_log(path, "c")


def test_a_log_can_be_replayed_with_another_policy(tmp_path: Path) -> None:
    path, rng, v = tmp_path / "fleet", np.random.default_rng(0), np.zeros((2, 2))
    with Fleet(soqo.POL(1e-9, initial=np.eye(2)), v, journal=path, durability="process") as fleet:
        for _ in range(120):
            v = v + 5.0 * rng.standard_normal((2, 2))
            x = fleet.act(v)
            fleet.observe(0.5 * 0.3 * ((x - v) ** 2).sum(axis=1) + rng.uniform(-1.0, 1.0, 2))
    found = soqo.replay(soqo.GLIDE(), Fleet.read_log(path, 1))
    np.testing.assert_allclose(found.estimate, 0.3 * np.eye(2), atol=0.03)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no journal"):
        Fleet.read_log(tmp_path / "none", 0)
    with Controller(POL(0.1), [0.0], journal=tmp_path / "one"), pytest.raises(FileFormatError, match="of a fleet"):
        Fleet.read_log(tmp_path / "one", 0)
