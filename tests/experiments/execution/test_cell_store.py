"""The store of cells: atomic files that are read bit by bit, or set aside."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, POL, Environment, RandomProblem, Result, SCaLE
from soqo.experiments.execution import Cell, CellStore, Regrets, compute_cell
from soqo.noise import Uniform
from soqo.processes import Gaussian

PROBLEM = RandomProblem(dim=3, rank=2, min_eigenvalue=0.5, max_eigenvalue=2.0)
ENVIRONMENT = Environment(PROBLEM, Gaussian(5.0), Uniform(1.0))
POLICIES = {
    "FTM": FTM(),
    "LAI": LAI.for_problem,
    "POL": POL(1e-4),
    "SCaLE": SCaLE(1.0, 2, min_eigenvalue=0.5, c1=2.0),
}
CELL = Cell(ENVIRONMENT, POLICIES, 30, 0, 0, 4, "rounds")


@pytest.fixture(scope="module")
def result() -> Result:
    found = compute_cell(CELL)
    assert isinstance(found, Result)
    return found


@pytest.mark.parametrize("kept", ["rounds", "totals"])
def test_a_stored_cell_is_bit_identical(tmp_path: Path, kept: Any) -> None:
    cell, store = replace(CELL, kept=kept), CellStore(tmp_path)
    result = compute_cell(cell)
    assert isinstance(result, Result)
    assert store.load(cell) is None
    store.save(cell, result)
    found = store.load(cell)
    assert isinstance(found, Result)
    assert found.horizon == 30
    for name in POLICIES:
        np.testing.assert_array_equal(found.regret(name), result.regret(name))
        np.testing.assert_array_equal(found[name].diverged, result[name].diverged)
    assert [path.name for path in tmp_path.iterdir()] == [f"{cell.key}.nc"]


def test_regrets_of_a_cell_are_those_of_its_result_and_are_stored(result: Result, tmp_path: Path) -> None:
    cell, store = replace(CELL, kept="regrets"), CellStore(tmp_path)
    regrets = compute_cell(cell)
    assert isinstance(regrets, Regrets)
    for name in POLICIES:
        np.testing.assert_allclose(regrets[name], result.regret(name)[:, -1], rtol=1e-9)
    m = 12  # 2 * 2 * 3 probes
    np.testing.assert_allclose(
        regrets.exploration[regrets.policies.index("SCaLE")], result.regret("SCaLE")[:, m - 1], rtol=1e-9
    )
    assert np.isnan(regrets.exploration[regrets.policies.index("FTM")]).all()
    store.save(cell, regrets)
    assert store.load(cell) == regrets
    path = store.path(cell)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    assert store.load(cell) is None
    assert path.with_suffix(".damaged").exists()


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign", "other rounds"])
def test_a_damaged_cell_is_set_aside(result: Result, tmp_path: Path, damage: str) -> None:
    store = CellStore(tmp_path)
    store.save(CELL, result)
    path = store.path(CELL)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    other = {"other rounds": result.total()}
    if damage in other:
        store.save(CELL, other[damage])
    else:
        bad = {"cut": whole[:-900], "flip": bytes(flipped), "empty": b"", "foreign": b"PK"}
        path.write_bytes(bad[damage])
    damaged = path.read_bytes()
    assert store.load(CELL) is None
    assert not path.exists()
    assert path.with_suffix(".damaged").read_bytes() == damaged
    store.save(CELL, result)
    assert store.load(CELL) is not None


def test_a_cell_in_the_place_of_another_is_set_aside(result: Result, tmp_path: Path) -> None:
    store, other = CellStore(tmp_path), replace(CELL, seed=1)  # of the same shape
    store.save(other, result)
    os.replace(store.path(other), store.path(CELL))
    assert store.load(CELL) is None
    assert store.path(CELL).with_suffix(".damaged").exists()


def test_a_failed_write_leaves_nothing(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        CellStore(tmp_path).save(CELL, result)
    assert list(tmp_path.iterdir()) == []
