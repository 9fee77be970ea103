"""Both solvers of the Newton system against a dense solve, for a single program and for a batch."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from soqo.estimators.sdp._arithmetic import BatchArithmetic, SingleArithmetic
from soqo.estimators.sdp._newton_system import dense_solver, woodbury_solver

SINGLE, BATCH = SingleArithmetic(), BatchArithmetic()
SOLVERS = ["dense", *(f"woodbury, {count} refinements" for count in range(3))]


def system(rng: Any, m: int, d: int) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return ZG, diagonal, border and right-hand sides of a program; the diagonal spans three orders of magnitude."""
    ZG, diagonal = rng.standard_normal((m, d)), 10.0 ** rng.uniform(-2, 1, m)
    return ZG, diagonal, rng.standard_normal(m), rng.uniform(0.5, 2.0), *rng.standard_normal((2, m))


def dense(ZG: Any, diagonal: Any, c: Any, f: float, b: Any, g: float, bordered: bool) -> tuple[Any, float]:
    """Solve K x + c t = b and c'x + corner t = g by NumPy."""
    K = np.square(ZG @ ZG.T) + np.diag(diagonal)
    if not bordered:
        return np.linalg.solve(K, b), 0.0
    corner = f + c @ (c / diagonal)
    whole = np.block([[K, c[:, None]], [c[None, :], np.array([[corner]])]])
    solution = np.linalg.solve(whole, np.append(b, g))
    return solution[:-1], float(solution[-1])


@pytest.mark.parametrize("bordered", [False, True])
@pytest.mark.parametrize(
    "solver", [dense_solver, *(partial(woodbury_solver, refinements=count) for count in (0, 1, 2))], ids=SOLVERS
)
def test_solutions_are_those_of_numpy(solver: Any, bordered: bool) -> None:
    rng = np.random.default_rng(5)
    programs = [system(rng, 30, 3) for _ in range(4)]
    sides = rng.standard_normal((4, 2))
    ZG, diagonal, c, f, *rhs = (np.stack(parts) for parts in zip(*programs, strict=True))
    first, solve = solver(BATCH, ZG, diagonal, (c, f[:, None]) if bordered else None, rhs[0], sides[:, :1])
    batch = [first, solve(rhs[1], sides[:, 1:])]
    for k, (rows, weights, column, corner, *right) in enumerate(programs):
        border = (column, corner) if bordered else None
        first, solve = solver(SINGLE, rows, weights, border, right[0], float(sides[k, 0]))
        single = [first, solve(right[1], float(sides[k, 1]))]
        for side in range(2):
            x, t = dense(rows, weights, column, float(corner), right[side], float(sides[k, side]), bordered)
            gram = rows.T @ (x[:, None] * rows)
            for found_x, found_gram in ((batch[side][0][k], batch[side][2][k]), single[side][::2]):
                np.testing.assert_allclose(found_x, x, atol=1e-10)
                np.testing.assert_allclose(found_gram, gram, atol=1e-10)
            if bordered:
                np.testing.assert_allclose([batch[side][1][k, 0], single[side][1]], t, atol=1e-10)


def test_refinement_is_accurate_for_an_uneven_diagonal() -> None:
    """Late in the method x is large, and the equations hold to its last digits only after refinement."""
    errors = []
    for refinements in (0, 1, 2):
        rng, worst = np.random.default_rng(6), 0.0
        for _ in range(20):
            ZG, diagonal = rng.standard_normal((30, 3)), 10.0 ** rng.uniform(-9, 1, 30)
            b = rng.standard_normal(30)
            solved = woodbury_solver(SINGLE, ZG, diagonal, None, b, 0.0, refinements=refinements)
            assert solved is not None
            x = solved[0][0]
            defect = np.square(ZG @ ZG.T) @ x + diagonal * x - b
            worst = max(worst, float(np.abs(defect).max() / np.abs(x).max()))
        errors.append(worst)
    assert max(errors[1:]) < 1e-13
    assert max(errors[1:]) < 1e-2 * errors[0]


def test_without_a_factor_there_is_no_solution() -> None:
    system = np.ones((9, 2)), np.full(9, -1e-3), None, np.ones(9), 0.0
    assert woodbury_solver(SINGLE, *system, refinements=0) is None
    assert dense_solver(SINGLE, *system) is None
