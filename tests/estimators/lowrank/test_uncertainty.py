"""The covariance of A in its three forms, against dense formulas and Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators._measurements import smat, svec, svec_rows
from soqo.estimators.lowrank import (
    Factored,
    FactorUncertainty,
    Moments,
    Readings,
    RowsUncertainty,
    SumsUncertainty,
    Uncertainty,
)
from soqo.typing import Array

D, SCALE, NOISE2 = 4, 0.7, 0.3


def places(count: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal((count, D))


def dense_covariance(Z: Array) -> Array:
    """Return the posterior covariance of svec(A), whose entries have the deviation SCALE."""
    F = svec_rows(Z)
    return np.asarray(np.linalg.inv(F.T @ F / NOISE2 + np.eye(F.shape[1]) / SCALE**2), dtype=np.float64)


@pytest.mark.parametrize("form", ["rows", "sums"])
@pytest.mark.parametrize("count", [3, 25])
def test_readings_leave_the_covariance_of_the_dense_posterior(form: str, count: int) -> None:
    Z, U, w = places(count, 0), places(5, 1), places(1, 2)[0]
    unknown: Uncertainty
    if form == "rows":
        unknown = RowsUncertainty.of(Readings(Z, np.zeros(count)), SCALE, NOISE2)
    else:
        unknown = SumsUncertainty.of(Moments.of(Z, np.zeros(count)), SCALE, NOISE2)
    covariance, F = dense_covariance(Z), svec_rows(U)
    np.testing.assert_allclose(unknown.variances(U), np.diag(F @ covariance @ F.T), rtol=1e-6)
    np.testing.assert_allclose(unknown.covariances(U), [smat(covariance @ f) for f in F], rtol=1e-6, atol=1e-8)
    image = np.array([svec(0.5 * (np.outer(e, w) + np.outer(w, e))) for e in np.eye(D)])  # (A w)_i = <A, e_i w'>
    np.testing.assert_allclose(unknown.image_covariance(w), image @ covariance @ image.T, rtol=1e-6, atol=1e-8)


def test_a_factor_has_the_covariance_of_its_samples() -> None:
    rng = np.random.default_rng(3)
    root = 0.2 * rng.standard_normal((2 * D, 2 * D))
    factored = Factored(rng.standard_normal((D, 2)), root @ root.T, NOISE2, 1.0, 0.0, 0, 0.0)
    unknown, U = FactorUncertainty(factored), places(3, 4)
    errors = np.sqrt(NOISE2) * rng.standard_normal((400_000, 2 * D)) @ root.T
    L = factored.L + errors.reshape(-1, D, 2)
    A = L @ L.swapaxes(1, 2)
    A -= A.mean(axis=0)
    readings = 0.5 * np.einsum("ki,nij,kj->nk", U, A, U, optimize=True)
    np.testing.assert_allclose(unknown.variances(U), readings.var(axis=0), rtol=0.02)
    found = np.einsum("nk,nij->kij", readings, A, optimize=True) / len(A)
    np.testing.assert_allclose(unknown.covariances(U), found, rtol=0, atol=0.02 * np.abs(found).max())


def test_the_image_of_a_vector_under_a_factor_is_linear_in_small_errors() -> None:
    rng = np.random.default_rng(5)
    root, w = 1e-4 * rng.standard_normal((2 * D, 2 * D)), rng.standard_normal(D)
    factored = Factored(rng.standard_normal((D, 2)), root @ root.T, NOISE2, 1.0, 0.0, 0, 0.0)
    images = []
    for direction in root.T:  # the sum over all columns of a root is the covariance
        L = factored.L + direction.reshape(D, 2)
        images.append((L @ L.T - factored.L @ factored.L.T) @ w)
    dense = NOISE2 * np.array(images).T @ np.array(images)
    found = FactorUncertainty(factored).image_covariance(w)
    np.testing.assert_allclose(found, dense, rtol=0, atol=1e-3 * np.abs(dense).max())
