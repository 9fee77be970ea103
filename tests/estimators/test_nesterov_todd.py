"""Nesterov-Todd scaling against its definition, and step lengths against eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators._nesterov_todd import scaling_from_spectrum, step_length


@pytest.mark.parametrize("d", [1, 3, 5])
def test_the_scaling_makes_both_matrices_the_same_diagonal(d: int) -> None:
    A, B, last = np.random.default_rng(d).standard_normal((3, 4, d, d))
    X, S = A @ A.mT + 0.1 * np.eye(d), B @ B.mT + 0.1 * np.eye(d)
    R = np.linalg.cholesky(X)
    squares, V = np.linalg.eigh(R.mT @ S @ R)
    G, values = scaling_from_spectrum(last @ R @ V, squares)
    inverse = np.linalg.inv(last)
    in_plain_coordinates = last @ X @ last.mT, inverse.mT @ S @ inverse
    diagonal = values[:, :, None] * np.eye(d)
    np.testing.assert_allclose(np.linalg.inv(G) @ in_plain_coordinates[0] @ np.linalg.inv(G).mT, diagonal, atol=1e-9)
    np.testing.assert_allclose(G.mT @ in_plain_coordinates[1] @ G, diagonal, atol=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_step_covers_a_share_of_the_way_to_the_boundary(share: float) -> None:
    direction = np.random.default_rng(1).standard_normal((50, 3, 3))
    direction = direction + direction.mT
    lowest = np.linalg.eigvalsh(direction)[:, 0]
    lengths = step_length(lowest, share, np.maximum)
    distance = np.linalg.eigvalsh(np.eye(3) + lengths[:, None, None] * direction)[:, 0]
    np.testing.assert_allclose(distance, np.where(lowest < -share, 1.0 - share, 1.0 + lowest))
    assert step_length(float(lowest[0]), share, max) == lengths[0]
    assert np.isnan(step_length(np.array([np.nan]), share, np.maximum)).all()
