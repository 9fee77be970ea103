"""Factors of small matrices against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators.bayes.compiled._small_matrices import (
    cholesky,
    fold_rows,
    solve_lower,
    solve_symmetric,
    triangular_factor,
)
from soqo.typing import Array


def positive_definite(n: int) -> Array:
    root = np.random.default_rng(n).standard_normal((n, n))
    return root @ root.T + np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_cholesky_factor_is_that_of_numpy(n: int) -> None:
    A = positive_definite(n)
    factor = A.copy()
    assert cholesky(factor)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(A), rtol=1e-12)


def test_cholesky_refuses_a_matrix_that_is_not_positive_definite() -> None:
    assert not cholesky(np.diag([1.0, -1.0]))
    assert not cholesky(np.array([[np.nan]]))


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_lower_triangular_systems_are_solved(shift: float) -> None:
    L: Array = np.asarray(np.linalg.cholesky(positive_definite(6)), dtype=np.float64)
    B = np.random.default_rng(0).standard_normal((6, 3))
    X = B.copy()
    solve_lower(L, shift, X)
    np.testing.assert_allclose((L + shift * np.eye(6)) @ X, B, rtol=1e-12)


def test_symmetric_systems_are_solved() -> None:
    A, b = positive_definite(9), np.arange(9.0)
    x = b.copy()
    assert solve_symmetric(A.copy(), x)
    np.testing.assert_allclose(A @ x, b, atol=1e-11)
    assert not solve_symmetric(-A, x)


@pytest.mark.parametrize(("rows", "columns", "first"), [(1, 1, 0), (3, 8, 2), (8, 5, 0), (30, 12, 5), (90, 40, 1)])
def test_triangular_factor_is_that_of_numpy_up_to_signs(rows: int, columns: int, first: int) -> None:
    A = np.random.default_rng(rows).standard_normal((rows, columns))
    R = np.linalg.qr(A[:, first:], mode="r")
    found = np.triu(triangular_factor(A, first).T[: len(R)])
    np.testing.assert_allclose(np.abs(found), np.abs(R), rtol=1e-10, atol=1e-12)


def test_folded_rows_have_the_same_gram_matrix() -> None:
    rng = np.random.default_rng(0)
    R, X = np.triu(rng.standard_normal((6, 6))), rng.standard_normal((9, 6))
    expected = R.T @ R + X[:4].T @ X[:4]
    fold_rows(R, X, 4, np.empty(6))
    np.testing.assert_allclose(R.T @ R, expected, rtol=1e-12)
    np.testing.assert_array_equal(np.tril(R, -1), 0.0)
