"""Cells: keys that change with everything that changes the numbers, pieces that equal the whole, and atomic files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soqo
from soqo import (
    FTM,
    GLIDE,
    LAI,
    OAL,
    POL,
    ROBD,
    Change,
    Environment,
    Problem,
    RandomProblem,
    Result,
    SCaLE,
    simulate,
)
from soqo.errors import ArgumentError, UnknownNameError
from soqo.experiments import Outcome, Setting
from soqo.experiments.execution import (
    Cell,
    CellStore,
    Regrets,
    compute_cell,
    join_policies,
    merge_cells,
    policy_key,
    split_into_cells,
)
from soqo.noise import Uniform
from soqo.processes import Gaussian

PROBLEM = RandomProblem(dim=3, rank=2, min_eigenvalue=0.5, max_eigenvalue=2.0)
ENVIRONMENT = Environment(PROBLEM, Gaussian(5.0), Uniform(1.0))
POLICIES = {
    "FTM": FTM(),
    "LAI": LAI.for_problem,
    "POL": POL(1e-4),
    "SCaLE": SCaLE(1.0, 2, min_eigenvalue=0.5, c1=2.0),
    "GLIDE": GLIDE(),
}
CELL = Cell(ENVIRONMENT, POLICIES, 30, 0, 0, 4, "rounds")
SETTING = Setting("mine", "mine", "", "", "", ENVIRONMENT, POLICIES, 40, (20, 40), 43, 5)


CHANGED = {
    "the horizon": replace(CELL, horizon=31),
    "the seed": replace(CELL, seed=1),
    "the first run": replace(CELL, first_run=1),
    "the number of runs": replace(CELL, runs=5),
    "what is kept": replace(CELL, kept="totals"),
    "whether regret alone is kept": replace(CELL, kept="regrets"),
    "the noise": replace(CELL, environment=replace(ENVIRONMENT, noise=Uniform(1.5))),
    "the steps": replace(CELL, environment=replace(ENVIRONMENT, process=Gaussian(5.5))),
    "the problem": replace(CELL, environment=replace(ENVIRONMENT, problem=replace(PROBLEM, rank=3))),
    "the start": replace(CELL, environment=replace(ENVIRONMENT, x0=np.ones(3))),
    "a change of A": replace(CELL, environment=replace(ENVIRONMENT, changes=(Change(9),))),
}


@pytest.mark.parametrize("what", CHANGED)
def test_the_key_changes_with(what: str) -> None:
    keys = [CELL.key, *(cell.key for cell in CHANGED.values())]
    assert keys.count(CHANGED[what].key) == 1


def test_the_key_of_a_policy_changes_with_the_policy_and_not_with_its_name() -> None:
    policies = [FTM(), GLIDE(), POL(1e-4), POL(2e-4), OAL(1e-4), POL(1e-4, gradient="as_printed"), LAI.for_problem]
    keys = [policy_key(policy) for policy in [*policies, ROBD.for_problem]]
    assert len(set(keys)) == len(keys)
    assert policy_key(POL(1e-4)) == policy_key(POL(1e-4))
    assert replace(CELL, policies={"other": FTM()}).key == CELL.key


def test_the_key_of_the_same_work_is_the_same() -> None:
    again = Environment(replace(PROBLEM), Gaussian(5.0), Uniform(1.0))
    assert replace(CELL, environment=again, policies=dict(POLICIES)).key == CELL.key


KEY = """
import dataclasses, sys
import soqo
from soqo.experiments import find
from soqo.experiments.execution import code_version, split_into_cells

if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])
    import own_cell_policy
    policies = {"own": own_cell_policy.Own(), "wrapped": soqo.Limited(own_cell_policy.Own(), low=-1.0, high=1.0)}
else:
    policies = {"FTM": soqo.FTM()}
setting = dataclasses.replace(find("intro")[0], policies=policies)
cell = split_into_cells(setting)[0]
print(soqo.__file__, code_version(), cell.key + "".join(cell.policies))
"""


def key_in_a_new_process(*arguments: str, path: Path | None = None) -> tuple[str, str]:
    """Return the version of the code and the key of a cell in another process, with soqo from the path."""
    environment = {**os.environ, **({"PYTHONPATH": str(path)} if path is not None else {})}
    command = [sys.executable, "-c", KEY, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    file, version, key = done.stdout.split()
    assert path is None or file.startswith(str(path))
    return version, key


def test_the_key_changes_with_the_code_that_computes(tmp_path: Path) -> None:
    package = tmp_path / "soqo"
    shutil.copytree(Path(soqo.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    first = key_in_a_new_process(path=tmp_path)
    with (package / "experiments" / "_tune.py").open("a") as file:
        file.write("# It does not compute cells.\n")
    assert key_in_a_new_process(path=tmp_path) == first
    with (package / "_planner.py").open("a") as file:
        file.write("# A change.\n")
    second = key_in_a_new_process(path=tmp_path)
    (package / "added.py").touch()
    third = key_in_a_new_process(path=tmp_path)
    assert len({version for version, _ in (first, second, third)}) == 3
    assert len({key for _, key in (first, second, third)}) == 3


def test_the_key_changes_with_the_code_of_an_own_policy(tmp_path: Path) -> None:
    keys = set()
    for share in ("0.5", "0.25"):
        (tmp_path / "own_cell_policy.py").write_text(
            "from dataclasses import dataclass\n"
            "import soqo\n"
            "@dataclass(frozen=True)\n"
            "class Own(soqo.Policy[None]):\n"
            "    def decide(self, state, v):\n"
            f"        return {share} * v, None\n"
        )
        keys.add(key_in_a_new_process(str(tmp_path)))
    assert len(keys) == 2


def make_pol(problem: Problem) -> POL:
    return POL(1e-4 / float(np.trace(problem.A)))


@pytest.mark.parametrize("maker", [lambda problem: make_pol(problem), partial(make_pol)])
def test_functions_without_a_name_are_refused(maker: Callable[..., Any]) -> None:
    with pytest.raises(ArgumentError, match=r"policies must be a policy, or a function"):
        policy_key(maker)
    assert policy_key(make_pol)


# ---- pieces --------------------------------------------------------------------------------------------------------


def test_cells_cover_every_run_of_every_horizon_once_the_longest_first() -> None:
    cells = split_into_cells(SETTING)
    assert [(c.horizon, c.first_run, c.runs, c.kept) for c in cells] == [
        *((40, 0, 20, "rounds"), (40, 20, 20, "rounds"), (40, 40, 3, "rounds")),
        *((20, 0, 20, "totals"), (20, 20, 20, "totals"), (20, 40, 3, "totals")),
    ]
    assert {c.seed for c in cells} == {5}
    assert [c.runs for c in split_into_cells(SETTING, 4)] == [4, 4]


def test_a_policy_of_one_horizon_is_in_the_cells_of_that_horizon_only() -> None:
    setting = replace(SETTING, single_horizon=frozenset({"GLIDE", "POL"}))
    own, other = (next(c for c in split_into_cells(setting) if c.horizon == T) for T in (40, 20))
    keys = {name: policy_key(policy) for name, policy in POLICIES.items()}
    assert set(own.policies) == set(keys.values())
    assert set(own.policies) - set(other.policies) == {keys["GLIDE"], keys["POL"]}
    cells = split_into_cells(setting, 2)
    outcome = merge_cells(setting, cells, {cell.key: compute_cell(cell) for cell in cells})
    assert outcome.results[20].policies == ("FTM", "LAI", "SCaLE")
    assert outcome.results[40].policies == tuple(POLICIES)


def test_tasks_of_a_cell_join_to_the_cell() -> None:
    (cell,) = split_into_cells(replace(SETTING, horizons=()), 3)
    tasks = cell.split()
    # What can be played together is; the others are alone.
    assert sorted(len(task.policies) for task in tasks) == [1, 1, 3]
    joined, whole = join_policies([compute_cell(task) for task in tasks]), compute_cell(cell)
    assert isinstance(joined, Result)
    assert isinstance(whole, Result)
    for key in cell.policies:
        np.testing.assert_array_equal(joined.regret(key), whole.regret(key))


def merged(runs: int | None = None) -> Outcome:
    cells = split_into_cells(SETTING, runs)
    return merge_cells(SETTING, cells, {cell.key: compute_cell(cell) for cell in reversed(cells)})


def test_pieces_equal_the_whole() -> None:
    outcome = merged()
    assert outcome.horizons == (20, 40)
    assert outcome.runs == 43
    for horizon in (20, 40):
        whole = simulate(ENVIRONMENT, POLICIES, horizon=horizon, runs=43, seed=5)
        result = outcome.results[horizon]
        assert result.configuration == whole.configuration
        for name in POLICIES:
            regret = whole.regret(name)
            size = np.abs(regret).max() + 1.0
            np.testing.assert_allclose(outcome.regret(name, horizon), regret[:, -1], rtol=1e-9, atol=1e-9 * size)
            np.testing.assert_array_equal(result[name].diverged, whole[name].diverged)
            if horizon == 40:
                np.testing.assert_allclose(outcome.curve(name), regret, rtol=1e-9, atol=1e-9 * size)
                assert outcome.median(name) == np.median(outcome.regret(name))
    assert outcome.summary() == outcome.results[40].summary()


def test_unknown_policies_and_horizons_are_named() -> None:
    outcome = merged(2)
    with pytest.raises(UnknownNameError, match=r"policy must be one of 'FTM', .*, got 'X'"):
        outcome.regret("X")
    for horizon in (30, 0):
        with pytest.raises(ArgumentError, match=rf"horizon must be one of \[20, 40\], got {horizon}"):
            outcome.regret("FTM", horizon)


# ---- files ---------------------------------------------------------------------------------------------------------


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
