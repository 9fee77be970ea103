"""Norms, eigenvalues and invariant subspaces of an estimate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import random_cases, rotate

from soqo.errors import ArgumentError
from soqo.theory import perturbation


def test_norms_and_shifts_are_those_of_the_singular_values() -> None:
    for case in random_cases(100):
        found = perturbation(case.A, case.A_hat)
        singular = np.linalg.svd(case.A_hat - case.A, compute_uv=False)
        assert found.operator == pytest.approx(singular[0])
        assert found.nuclear == pytest.approx(singular.sum())
        assert found.frobenius == pytest.approx(np.linalg.norm(case.A_hat - case.A))
        assert found.weyl <= 1.0 + 1e-9


def test_clusters_are_separated_by_gaps_wider_than_twice_the_error() -> None:
    A = np.diag([0.0, 0.0, 1.0, 1.001, 3.0])
    A_hat = A.copy()
    A_hat[2, 3] = A_hat[3, 2] = 0.01
    found = perturbation(A, A_hat)
    assert [cluster.values.tolist() for cluster in found.clusters] == [[0.0, 0.0], [1.0, 1.001], [3.0]]
    assert found.eigengap == pytest.approx(1.0, abs=0.02)
    assert [cluster.sin_theta for cluster in found.clusters] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    assert found.eigenvector_error > 0.5  # although no subspace rotates


def test_sin_theta_is_the_sine_of_the_angle_of_rotation() -> None:
    angle = 0.05
    A = np.diag([1.0, 0.0])
    found = perturbation(A, rotate(A, angle))
    assert [cluster.sin_theta for cluster in found.clusters] == pytest.approx([math.sin(angle)] * 2)
    assert all(cluster.sin_theta <= cluster.bound for cluster in found.clusters)
    assert found.operator == pytest.approx(math.sin(angle))


def test_a_perfect_estimate_has_no_error() -> None:
    found = perturbation(np.eye(3), np.eye(3))
    assert (found.operator, found.weyl, found.eigenvector_error) == (0.0, 0.0, 0.0)
    assert found.eigengap == math.inf
    assert "eigenvalues 1, 1, 1" in str(found)


def test_a_batch_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"A and A_hat must have shape \(d, d\) here"):
        perturbation(np.eye(2), np.stack([np.eye(2)] * 3))
