"""Eigenvalues and eigenvectors of small symmetric matrices, against LAPACK's."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators.bayes.compiled._symmetric_eigen import sorted_eigen, symmetric_eigen
from soqo.typing import Array


def matrices() -> list[Array]:
    """Return matrices of all sizes up to 24: of any rank, with equal eigenvalues, zero rows, and several scales."""
    rng, found = np.random.default_rng(0), []
    for n in range(1, 25):
        X = rng.standard_normal((n, int(rng.integers(1, n + 1)))) * 10.0 ** rng.uniform(-6.0, 6.0)
        graded = X * 10.0 ** rng.uniform(-4.0, 0.0, X.shape[1])
        sparse = np.where(rng.random((n, 1)) < 0.3, 0.0, X)
        found += [X @ X.T, graded @ graded.T, sparse @ sparse.T, np.diag(rng.integers(-2, 3, n).astype(float))]
    return [*found, np.zeros((3, 3)), np.eye(4), np.ones((5, 5))]


@pytest.mark.parametrize("index", range(len(matrices())))
def test_the_eigenvectors_give_the_matrix_back(index: int) -> None:
    A = matrices()[index]
    n, size = len(A), max(float(np.abs(A).max()), 1e-300)
    rows, values = A.copy(), np.empty(n)
    assert symmetric_eigen(rows, values)
    round_off = 1e-15 * (n + 4)
    np.testing.assert_allclose(rows @ rows.T, np.eye(n), rtol=0.0, atol=4.0 * round_off)
    np.testing.assert_allclose((rows.T * values) @ rows, A, rtol=0.0, atol=4.0 * round_off * size)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A), rtol=0.0, atol=4.0 * round_off * size)


@pytest.mark.parametrize("n", [1, 2, 4, 12])
def test_sorted_eigenvectors_are_those_of_lapack_but_for_their_signs(n: int) -> None:
    X = np.random.default_rng(n).standard_normal((n, n))
    A = X + X.T
    values, vectors = sorted_eigen(A)
    expected, columns = np.linalg.eigh(A)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.abs(np.vecdot(vectors.T, columns.T)), 1.0, rtol=1e-10)
