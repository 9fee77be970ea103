"""The reduced linear systems against a dense solve of the full ones, for one program and for a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.estimators.sdp._arithmetic import Many, One
from soqo.estimators.sdp._reduced import reduced_solver


def system(rng: Any, m: int, d: int) -> tuple[Any, Any, Any, Any, Any, Any]:
    """ZG, diagonal, border and right-hand sides of a program; the diagonal spans three orders of magnitude."""
    ZG, diagonal = rng.standard_normal((m, d)), 10.0 ** rng.uniform(-2, 1, m)
    return ZG, diagonal, rng.standard_normal(m), rng.uniform(0.5, 2.0), *rng.standard_normal((2, m))


def dense(ZG: Any, diagonal: Any, c: Any, f: float, b: Any, g: float, bordered: bool) -> tuple[Any, float]:
    """K x + c t = b and c'x + corner t = g, as they stand."""
    K = np.square(ZG @ ZG.T) + np.diag(diagonal)
    if not bordered:
        return np.linalg.solve(K, b), 0.0
    corner = f + c @ (c / diagonal)
    whole = np.block([[K, c[:, None]], [c[None, :], np.array([[corner]])]])
    solution = np.linalg.solve(whole, np.append(b, g))
    return solution[:-1], float(solution[-1])


@pytest.mark.parametrize("bordered", [False, True])
@pytest.mark.parametrize("refinements", [0, 1, 2])
def test_one_program_and_a_batch_against_a_dense_solve(bordered: bool, refinements: int) -> None:
    rng = np.random.default_rng(5)
    programs = [system(rng, 30, 3) for _ in range(4)]
    sides = rng.standard_normal((4, 2))
    ZG, diagonal, c, f, first, second = (np.stack(parts) for parts in zip(*programs, strict=True))
    f = f[:, None]
    border = (c, f) if bordered else None
    (x, t, less), solve = reduced_solver(Many(), ZG, diagonal, border, first, sides[:, :1], refinements=refinements)
    again, t_again, less_again = solve(second, sides[:, 1:])
    for k, (rows, weights, column, corner, b1, b2) in enumerate(programs):
        one = reduced_solver(
            One(),
            rows,
            weights,
            (column, corner) if bordered else None,
            b1,
            float(sides[k, 0]),
            refinements=refinements,
        )
        for b, g, found in (
            (b1, sides[k, 0], (x[k], t, less, one[0])),
            (b2, sides[k, 1], (again[k], t_again, less_again, one[1](b2, float(sides[k, 1])))),
        ):
            expected, expected_t = dense(rows, weights, column, float(corner), b, float(g), bordered)
            single = found[3]
            np.testing.assert_allclose(found[0], expected, atol=1e-10)
            np.testing.assert_allclose(single[0], expected, atol=1e-10)
            gram = rows.T @ (expected[:, None] * rows)
            np.testing.assert_allclose(found[2][k], gram, atol=1e-10)
            np.testing.assert_allclose(single[2], gram, atol=1e-10)
            if bordered:
                np.testing.assert_allclose([found[1][k, 0], single[1]], expected_t, atol=1e-10)


def test_refinement_keeps_digits_where_the_diagonal_is_uneven() -> None:
    """Late in the method, x is large, and the equations hold to its last digits only if it is refined."""
    off = []
    for refinements in (0, 1, 2):
        rng, worst = np.random.default_rng(6), 0.0
        for _ in range(20):
            ZG, diagonal = rng.standard_normal((30, 3)), 10.0 ** rng.uniform(-9, 1, 30)
            b = rng.standard_normal(30)
            (x, _, _), _ = reduced_solver(One(), ZG, diagonal, None, b, 0.0, refinements=refinements)
            missed = np.square(ZG @ ZG.T) @ x + diagonal * x - b
            worst = max(worst, float(np.abs(missed).max() / np.abs(x).max()))
        off.append(worst)
    assert max(off[1:]) < 1e-13
    assert max(off[1:]) < 1e-2 * off[0]


def test_without_a_factor_there_is_no_solution() -> None:
    negative = np.full(9, -1e-3)
    assert reduced_solver(One(), np.ones((9, 2)), negative, None, np.ones(9), 0.0, refinements=0) is None


def test_a_singular_run_leaves_the_others_of_its_batch_alone() -> None:
    matrices = np.stack([np.diag([2.0, 4.0]), np.zeros((2, 2)), np.eye(2)])
    inverse = Many().inverted(matrices)
    x = inverse(np.ones((3, 2)))
    np.testing.assert_allclose(x[[0, 2]], [[0.5, 0.25], [1.0, 1.0]])
    assert np.isnan(x[1]).all()
    assert One().inverted(np.zeros((2, 2))) is None
