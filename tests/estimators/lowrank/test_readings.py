"""Posterior means from rows and from sums, against a dense posterior of all entries of A."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._storage.registry import build
from soqo.estimators import smat, svec, svec_rows
from soqo.estimators.lowrank import Moments, Readings
from soqo.estimators.lowrank._readings import congruence
from soqo.typing import Array

D, NOISE2, MEAN = 5, 0.3, 0.6


def problem(n: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(n)
    root = rng.standard_normal((D, D))
    return rng.standard_normal((n, D)), rng.standard_normal(n), root @ root.T + 0.5 * np.eye(D)


def dense_posterior(Z: Array, y: Array, S: Array) -> tuple[Array, Array]:
    """Mean and covariance of svec(A), whose prior covariance is that of S^(1/2) G S^(1/2), from a Monte Carlo-free sum.

    The columns of the map X -> S X S are computed entry by entry, not with the formula under test.
    """
    p = D * (D + 1) // 2
    covariance = np.column_stack([svec(S @ smat(e) @ S) for e in np.eye(p)])
    F = svec_rows(Z)
    gain = covariance @ F.T @ np.linalg.inv(F @ covariance @ F.T + NOISE2 * np.eye(len(y)))
    mean = MEAN * svec(S) + gain @ (y - MEAN * F @ svec(S))
    return mean, covariance - gain @ F @ covariance


@pytest.mark.parametrize("n", [4, 40])
def test_rows_and_sums_give_the_dense_posterior(n: int) -> None:
    Z, y, S = problem(n)
    mean, covariance = dense_posterior(Z, y, S)
    W = np.random.default_rng(1).standard_normal((3, D))
    rows = 2.0 * svec_rows(W)
    expected = np.sqrt(np.einsum("ip,pq,iq->i", rows, covariance, rows))
    for data in (Readings(Z, y), Moments.of(Z[:3], y[:3]).add(Z[3:], y[3:])):
        np.testing.assert_allclose(data.posterior_mean(S, MEAN, NOISE2), smat(mean), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(data.deviations(S, NOISE2, W), expected, rtol=1e-5)


def test_the_prior_covariance_is_that_of_a_random_matrix() -> None:
    Z, _, S = problem(2)
    rng = np.random.default_rng(3)
    G = rng.standard_normal((200_000, D, D))
    G = (G + G.swapaxes(1, 2)) / 2.0
    root = np.linalg.cholesky(S)
    V = Z @ root
    draws = 0.5 * np.einsum("id,ndk,ik->ni", V, G, V)
    expected = 0.25 * (V @ V.T) ** 2
    error = 5.0 * np.sqrt(2.0 / len(G)) * np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (np.abs(np.cov(draws.T) - expected) < error).all()


def test_sums_without_other_parts_are_those_of_the_readings_minus_them() -> None:
    Z, y, S = problem(30)
    X, parts = np.stack([np.ones(30), Z[:, 0]], axis=1), np.array([2.5, -0.7])
    shifted, expected = Moments.of(Z, y, X).without(parts), Moments.of(Z, y - X @ parts, X)
    np.testing.assert_allclose(shifted.sums, expected.sums)
    np.testing.assert_allclose(shifted.linear, expected.linear)
    np.testing.assert_allclose(shifted.square, expected.square)
    residual = y - X @ parts - 0.5 * np.einsum("ij,jk,ik->i", Z, S, Z)
    np.testing.assert_allclose(shifted.residual_square(S), residual @ residual)


def test_congruence_is_the_matrix_of_the_map() -> None:
    _, _, S = problem(1)
    X = smat(np.arange(1.0, 16.0))
    np.testing.assert_allclose(congruence(S) @ svec(X), svec(S @ X @ S))


def test_sums_of_files_of_the_first_version_are_read() -> None:
    Z, y, _ = problem(30)
    now = Moments.of(Z, y, np.ones((30, 1)))
    old = {"products": now.products, "sums": now.sums, "features": now.cross[:, 0], "square": now.square}
    assert build("lowrank.moments", 1, {**old, "total": float(y.sum()), "count": 30}) == now


def test_the_base_load_is_that_of_least_squares_together_with_a() -> None:
    Z, y, S = problem(40)
    X = np.random.default_rng(2).uniform(0.5, 1.0, (40, 1))
    covariance = np.column_stack([svec(S @ smat(e) @ S) for e in np.eye(D * (D + 1) // 2)])
    F = svec_rows(Z)
    # Given b, the readings have this covariance and the mean of the prior plus b x.
    weight = np.linalg.inv(F @ covariance @ F.T + NOISE2 * np.eye(40))
    information = float(X[:, 0] @ weight @ X[:, 0])
    expected = float(X[:, 0] @ weight @ (y - MEAN * F @ svec(S))) / information
    load, deviation, square = Moments.of(Z, y, X).first_part(S, MEAN, NOISE2)
    assert load == pytest.approx(expected, rel=1e-7)
    assert deviation == pytest.approx(information**-0.5, rel=1e-7)
    mean, _ = dense_posterior(Z, y - load * X[:, 0], S)
    assert square == pytest.approx(np.square(y - load * X[:, 0] - F @ mean).sum(), rel=1e-6)
