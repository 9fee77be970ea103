"""Cells: keys that change with whatever changes the numbers, pieces that equal the whole, files whole or not at all."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, POL, ROBD, Environment, Problem, RandomProblem, SCaLE, simulate
from soqo._changes import Change
from soqo.errors import ArgumentError
from soqo.experiments.execution import _cells as module
from soqo.experiments.execution._cells import Cell, CellResult, Store, cells_of, collect, compute
from soqo.experiments.settings._spec import Setting
from soqo.noise import Uniform
from soqo.processes import Gaussian

PROBLEM = RandomProblem(dim=3, rank=2, min_eigenvalue=0.5, max_eigenvalue=2.0)
ENVIRONMENT = Environment(PROBLEM, Gaussian(5.0), Uniform(1.0))
POLICIES = {
    "FTM": FTM(),
    "LAI": LAI.for_problem,
    "POL": POL(1e-4),
    "SCaLE": SCaLE(1.0, 2, 0.5, c1=2.0),
    "GLIDE": GLIDE(),
}
CELL = Cell(ENVIRONMENT, POLICIES, 30, 0, 0, 4, curves=True)
SETTING = Setting("mine", "mine", "", "", "", ENVIRONMENT, POLICIES, 40, (20, 40), 23, 5)


def with_policies(**changes: Any) -> Cell:
    return replace(CELL, policies={**POLICIES, **changes})


CHANGED = {
    "the horizon": replace(CELL, horizon=31),
    "the seed": replace(CELL, seed=1),
    "the first run": replace(CELL, first_run=1),
    "the number of runs": replace(CELL, runs=5),
    "what is kept": replace(CELL, curves=False),
    "the noise": replace(CELL, environment=replace(ENVIRONMENT, noise=Uniform(1.5))),
    "the steps": replace(CELL, environment=replace(ENVIRONMENT, process=Gaussian(5.5))),
    "the problem": replace(CELL, environment=replace(ENVIRONMENT, problem=replace(PROBLEM, rank=3))),
    "the start": replace(CELL, environment=replace(ENVIRONMENT, x0=np.ones(3))),
    "a change of A": replace(CELL, environment=replace(ENVIRONMENT, changes=[Change(9)])),
    "an argument": with_policies(POL=POL(2e-4)),
    "a policy": with_policies(FTM=GLIDE()),
    "what a policy is made by": with_policies(LAI=ROBD.for_problem),
    "a name": replace(CELL, policies={"other": FTM(), **POLICIES}),
    "the order of the policies": replace(CELL, policies=dict(reversed(POLICIES.items()))),
}


@pytest.mark.parametrize("what", CHANGED)
def test_the_key_changes_with(what: str) -> None:
    keys = [CELL.key, *(cell.key for cell in CHANGED.values())]
    assert keys.count(CHANGED[what].key) == 1


def test_the_key_of_the_same_work_is_the_same() -> None:
    again = Environment(replace(PROBLEM), Gaussian(5.0), Uniform(1.0))
    assert replace(CELL, environment=again, policies=dict(POLICIES)).key == CELL.key


def test_the_key_changes_with_the_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = CELL.key
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.py").write_text("1")
    monkeypatch.setattr(module.soqo, "__file__", str(tmp_path / "__init__.py"))  # type: ignore[attr-defined]  # an import of the module, not a name of it
    versions = []
    for text in ("1", "2"):
        (tmp_path / "sub" / "a.py").write_text(text)
        versions.append(module.code_version.__wrapped__())
    (tmp_path / "sub" / "a.py").rename(tmp_path / "sub" / "b.py")
    versions.append(module.code_version.__wrapped__())
    assert len({module.code_version(), *versions}) == 4
    monkeypatch.setattr(module, "code_version", lambda: versions[0])
    assert CELL.key != before


def test_the_key_changes_with_the_code_of_an_own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    keys = []
    for share in ("0.5", "0.25"):
        monkeypatch.delitem(sys.modules, "own_cell_policy", raising=False)
        module.hash_of.cache_clear()
        (tmp_path / "own_cell_policy.py").write_text(
            "from dataclasses import dataclass\n"
            "import soqo\n"
            "@dataclass(frozen=True)\n"
            "class Own(soqo.Policy[None]):\n"
            "    def decide(self, state, v):\n"
            f"        return {share} * v, None\n"
        )
        importlib.invalidate_caches()
        own = importlib.import_module("own_cell_policy").Own()
        cell = with_policies(own=own)
        wrapped = with_policies(own=[own])
        keys += [cell.key, wrapped.key]
        assert module.own_modules(cell) == {str(tmp_path / "own_cell_policy.py")}
    assert len(set(keys)) == 4
    assert module.own_modules(CELL) == set()


def make_pol(problem: Problem) -> POL:
    return POL(1e-4 / float(np.trace(problem.A)))


@pytest.mark.parametrize("maker", [lambda problem: make_pol(problem), partial(make_pol)])
def test_what_a_key_cannot_know_is_refused(maker: Callable[..., Any]) -> None:
    with pytest.raises(ArgumentError, match=r"policies\['x'\] must be a policy, or a function"):
        _ = replace(CELL, policies={"x": maker}).key
    assert replace(CELL, policies={"x": make_pol}).key


# ---- pieces --------------------------------------------------------------------------------------------------------


def test_cells_cover_every_run_of_every_horizon_once_the_longest_first() -> None:
    cells = cells_of(SETTING)
    assert [(c.horizon, c.first_run, c.runs, c.curves) for c in cells] == [
        *((40, 0, 10, True), (40, 10, 10, True), (40, 20, 3, True)),
        *((20, 0, 10, False), (20, 10, 10, False), (20, 20, 3, False)),
    ]
    assert {c.seed for c in cells} == {5}
    assert [c.runs for c in cells_of(SETTING, 4)] == [4, 4]


def test_pieces_equal_the_whole() -> None:
    cells = cells_of(SETTING)
    results = {cell.key: compute(cell) for cell in reversed(cells)}
    outcome = collect(SETTING, cells, results)
    assert outcome.horizons == (20, 40)
    assert outcome.runs == 23
    for horizon in (20, 40):
        whole = simulate(ENVIRONMENT, POLICIES, horizon, 23, 5)
        for index, name in enumerate(POLICIES):
            regret = whole.regret(name)
            size = np.abs(regret).max() + 1.0
            np.testing.assert_allclose(outcome.regret(name, horizon), regret[:, -1], rtol=1e-9, atol=1e-9 * size)
            np.testing.assert_array_equal(outcome.diverged[horizon][index], whole.tracks[name].diverged)
            if horizon == 40:
                np.testing.assert_allclose(outcome.curve(name), regret, rtol=1e-9, atol=1e-9 * size)
                assert outcome.median(name) == np.median(outcome.regret(name))


def test_an_outcome_names_what_it_has() -> None:
    cells = cells_of(SETTING, 2)
    outcome = collect(SETTING, cells, {cell.key: compute(cell) for cell in cells})
    with pytest.raises(ArgumentError, match=r"policy must be one of \['FTM', .*, got 'X'"):
        outcome.regret("X")
    for horizon in (30, 0):
        with pytest.raises(ArgumentError, match=rf"horizon must be one of \[20, 40\], got {horizon}"):
            outcome.regret("FTM", horizon)


def test_an_outcome_is_saved_with_its_checksum(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    cells = cells_of(SETTING, 2)
    results = {cell.key: compute(cell) for cell in cells}
    outcome = collect(SETTING, cells, results)
    with xarray.open_dataset(outcome.save(tmp_path / "x.nc"), engine="scipy") as dataset:
        np.testing.assert_array_equal(dataset["regret"].sel(policy="POL"), outcome.curve("POL"))
        np.testing.assert_array_equal(dataset["final_regret"].sel(policy="POL", horizon=20), outcome.regret("POL", 20))
        assert dataset.attrs["checksum"] == outcome.to_xarray().attrs["checksum"]
    results[cells[0].key].regret[0, 0, 0] += 1e-12
    changed = collect(SETTING, cells, results)
    assert changed.to_xarray().attrs["checksum"] != outcome.to_xarray().attrs["checksum"]


# ---- files ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result() -> CellResult:
    return compute(CELL)


def test_a_kept_cell_comes_back_to_the_bit(result: CellResult, tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.load(CELL) is None
    store.save(CELL, result)
    found = store.load(CELL)
    assert found is not None
    np.testing.assert_array_equal(found.regret, result.regret)
    np.testing.assert_array_equal(found.diverged, result.diverged)
    assert [path.name for path in tmp_path.iterdir()] == [f"{CELL.key}.cell"]


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign", "other shape"])
def test_a_damaged_cell_is_set_aside(result: CellResult, tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path)
    store.save(CELL, result)
    path = store.path(CELL)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    store.save(CELL, CellResult(result.regret[:, :, :3], result.diverged))
    other = path.read_bytes()
    bad = {
        "cut": whole[:-9],
        "flip": bytes(flipped),
        "empty": b"",
        "foreign": b"PK",
        "other shape": other,
    }
    path.write_bytes(bad[damage])
    assert store.load(CELL) is None
    assert not path.exists()
    assert path.with_suffix(".damaged").read_bytes() == bad[damage]
    store.save(CELL, result)
    assert store.load(CELL) is not None


def test_a_write_that_fails_leaves_nothing(result: CellResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)

    def full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:100])
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space left"):
        store.save(CELL, result)
    assert list(tmp_path.iterdir()) == []
