"""The arithmetic of a batch against that of a single program, and singular runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.estimators.sdp._arithmetic import BatchArithmetic, SingleArithmetic

SINGLE, BATCH = SingleArithmetic(), BatchArithmetic()
RNG = np.random.default_rng(3)
A = RNG.standard_normal((5, 4, 3))
M = A.mT @ A
V, W = RNG.standard_normal((2, 5, 3))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("dot", (V, W)),
        ("l1_norm", (V,)),
        ("matmul", (A, M)),
        ("matvec", (A, V)),
        ("min_entry", (V,)),
        ("max_entry", (V,)),
        ("inner", (M, A.mT @ A)),
        ("sum", (V,)),
        ("last", (V,)),
        ("outer", (V,)),
        ("pairwise_means", (V,)),
        ("weighted_gram", (A, RNG.standard_normal((5, 4)))),
        ("add_to_diagonal", (V, M)),
        ("extreme_eigenvalues", (M,)),
        ("square_root", (M,)),
        ("stack", (V, W)),
    ],
)
def test_a_batch_is_its_programs_one_by_one(name: str, arguments: tuple[Any, ...]) -> None:
    together = getattr(BATCH, name)(*(a.copy() for a in arguments))
    for k in range(5):
        alone = getattr(SINGLE, name)(*(a[k].copy() for a in arguments))
        in_batch = np.squeeze([part[k] for part in together] if isinstance(together, tuple) else together[k])
        np.testing.assert_allclose(in_batch, alone, atol=1e-13)


def test_eigenvectors_of_a_batch_diagonalize_each_matrix() -> None:
    values, vectors = BATCH.positive_eigh(M)
    np.testing.assert_allclose(vectors * values[:, None, :] @ vectors.mT, M, atol=1e-12)


def test_a_run_that_is_not_positive_definite_is_nan_and_does_not_affect_the_others() -> None:
    matrices = np.stack([np.diag([2.0, 4.0]), np.zeros((2, 2)), np.full((2, 2), np.nan), np.eye(2)])
    x = BATCH.inverse(matrices[[0, 1, 3]])(np.ones((3, 2)))
    np.testing.assert_allclose(x[[0, 2]], [[0.5, 0.25], [1.0, 1.0]])
    assert np.isnan(x[1]).all()
    with np.errstate(invalid="ignore"):
        R = BATCH.square_root(matrices)
    assert R is not None
    np.testing.assert_allclose((R @ R.mT)[[0, 3]], matrices[[0, 3]], atol=1e-14)
    assert np.isnan(R[1:3]).all()
    lowest, highest = BATCH.extreme_eigenvalues(matrices)
    np.testing.assert_array_equal(lowest[:, 0], [2.0, 0.0, -np.inf, 1.0])
    np.testing.assert_array_equal(highest[:, 0], [4.0, 0.0, np.inf, 1.0])


def test_a_single_matrix_that_is_not_positive_definite_has_no_factor() -> None:
    assert SINGLE.inverse(np.zeros((2, 2))) is None
    assert SINGLE.square_root(-np.eye(2)) is None
    assert SINGLE.positive_eigh(-np.eye(2)) is None
    assert SINGLE.extreme_eigenvalues(np.full((2, 2), np.inf)) == (-np.inf, np.inf)
