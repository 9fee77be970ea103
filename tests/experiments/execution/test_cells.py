"""Cells: keys that change with everything that changes the numbers, pieces that equal the whole, and atomic files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soqo import (
    FTM,
    GLIDE,
    LAI,
    POL,
    Change,
    Environment,
    RandomProblem,
    Result,
    SCaLE,
    simulate,
)
from soqo.errors import ArgumentError, UnknownNameError
from soqo.experiments import Outcome, Setting
from soqo.experiments.execution import (
    Cell,
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


def test_the_key_of_the_same_work_is_the_same_whatever_its_policies() -> None:
    assert replace(CELL, policies={"other": FTM()}).key == CELL.key
    again = Environment(replace(PROBLEM), Gaussian(5.0), Uniform(1.0))
    assert replace(CELL, environment=again, policies=dict(POLICIES)).key == CELL.key


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
