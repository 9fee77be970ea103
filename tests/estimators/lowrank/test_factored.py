"""The posterior of a factor against Gauss-Newton in closed form, finite differences and Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators.lowrank import Factored
from soqo.estimators.lowrank._factored import _with_leniency
from soqo.typing import Array

D, K, SIGMA = 6, 2, 0.5


def problem(n: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    L = rng.standard_normal((D, K))
    Z = 5.0 * rng.standard_normal((n, D))
    return L, Z, 0.5 * np.square(Z @ L).sum(axis=1) + SIGMA * rng.standard_normal(n)


def fitted(n: int) -> tuple[Array, Array, Array, Factored]:
    L, Z, y = problem(n)
    rng = np.random.default_rng(1)
    factored = Factored.start(L + 0.1 * rng.standard_normal(L.shape), Z, y, SIGMA**2)
    while factored.is_fitting:
        factored = factored.fit_step(Z, y)
    return L, Z, y, factored


def test_a_fit_ends_where_the_gradient_vanishes_and_finds_the_noise() -> None:
    L, Z, y, factored = fitted(200)

    def objective(entries: Array) -> float:
        M = entries.reshape(D, K)
        residual = y - 0.5 * np.square(Z @ M).sum(axis=1)
        return float(residual @ residual + factored.noise2 / factored.prior2 * np.square(M).sum())

    base = factored.L.ravel()
    step = 1e-5
    gradient = np.array(
        [(objective(base + step * e) - objective(base - step * e)) / (2.0 * step) for e in np.eye(D * K)]
    )
    curvature = np.diag(np.linalg.inv(factored.covariance))
    assert (np.abs(gradient) / curvature < 1e-3).all()
    np.testing.assert_allclose(factored.L @ factored.L.T, L @ L.T, atol=0.02)
    np.testing.assert_allclose(np.sqrt(factored.noise2), SIGMA, rtol=0.15)
    assert factored.unknowns - 0.01 < factored.determined <= factored.unknowns


def test_deviations_are_those_of_repeated_fits() -> None:
    L, Z, _, factored = fitted(60)
    rng, w = np.random.default_rng(2), np.ones(D)
    found = []
    for _ in range(200):
        y = 0.5 * np.square(Z @ L).sum(axis=1) + SIGMA * rng.standard_normal(len(Z))
        one = Factored.start(L, Z, y, SIGMA**2)
        while one.is_fitting:
            one = one.fit_step(Z, y)
        found.append(float(np.square(one.L.T @ w).sum()))
    # The standard error of a deviation from 200 draws is 5 %, and that of the fitted noise 9 %.
    np.testing.assert_allclose(factored.deviation(w), np.std(found), rtol=0.3)


def test_the_filter_follows_the_fit() -> None:
    L, Z, y, _ = fitted(100)
    factored = Factored.start(L, Z[:60], y[:60], SIGMA**2)
    while factored.is_fitting:
        factored = factored.fit_step(Z[:60], y[:60])
    for z, reading in zip(Z[60:], y[60:], strict=True):
        factored = factored.update(z, float(reading))
    refit = factored.begin_fit()
    while refit.is_fitting:
        refit = refit.fit_step(Z, y)
    np.testing.assert_allclose(factored.L @ factored.L.T, refit.L @ refit.L.T, atol=3e-3)
    expected, variance = refit.predict(Z[0])
    assert abs(y[0] - expected) < 5.0 * np.sqrt(variance)


def test_one_column_has_no_rotation() -> None:
    L, Z, y = problem(40)
    assert Factored.start(L[:, :1], Z, y, SIGMA**2).unknowns == D


def test_the_last_step_of_a_fit_computes_only_the_covariance_and_the_noise() -> None:
    n = 80
    L, Z, y = problem(n)
    factored, steps = Factored.start(1.1 * L, Z, y, 1.0), []
    while factored.is_fitting:
        steps.append(factored)
        factored = factored.fit_step(Z, y)
    last = steps[-1]
    np.testing.assert_array_equal(factored.L, last.L)
    assert not np.array_equal(steps[-2].L, last.L)
    assert last.noise2 == 1.0  # as at the beginning
    residual = y - 0.5 * np.square(Z @ factored.L).sum(axis=1)
    np.testing.assert_allclose(factored.noise2, residual @ residual / (n - D * K + 1), rtol=0.01)


@pytest.mark.parametrize("seed", range(8))
def test_a_fit_follows_readings_far_out_where_a_is_almost_zero(seed: int) -> None:
    """There a small error of the factor is one of many deviations, and more than one factor explains a reading."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((12, 3))
    Z = 5.0 * rng.standard_normal((150, 12))
    null = np.linalg.svd(L)[0][:, -1]
    far = 3e3 * (null + 2e-3 * rng.standard_normal((6, 12)))
    Z = np.concatenate([Z, far])
    y = 0.5 * np.square(Z @ L).sum(axis=1) + SIGMA * rng.standard_normal(len(Z))
    factored = Factored.start(L, Z[:150], y[:150], SIGMA**2)
    while factored.is_fitting:
        factored = factored.fit_step(Z[:150], y[:150])
    factored = factored.begin_fit()
    while factored.is_fitting:
        factored = factored.fit_step(Z, y)
    assert np.sqrt(factored.noise2) < 1.5 * SIGMA
    np.testing.assert_allclose(factored.L @ factored.L.T, L @ L.T, atol=0.1)


def test_a_factor_of_a_file_of_the_first_version_has_fits_with_one_stage() -> None:
    assert _with_leniency({"steps": 3}) == {"steps": 3, "leniency": 0.0}
