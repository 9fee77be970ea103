"""Fits of few rows, and of their triangular factor."""

from __future__ import annotations

import numpy as np
import pytest
from dense_posterior import only_variant

from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.estimators.bayes._fits import fit_variants, forward_substitution, singular_coordinates
from soqo.estimators.bayes._mixture import triangular_factor
from soqo.typing import Array


def rows_of(model: ReadingModel, n: int) -> tuple[Posterior, Array]:
    """Return a posterior that has stored readings without a fit, and its rows; the last one is zero.

    The first reading defines the base load and is not stored.
    """
    rng = np.random.default_rng([51, n])
    U = 2.0 * rng.standard_normal((1, n, model.dim))
    y = 0.5 * np.vecdot(U, U) + rng.standard_normal((1, n))
    features = model.features(U[0])[None]
    posterior = Posterior.start(model, 1, base_load=0.2).update_rows(model, U, y, features)
    return posterior, posterior.buffer[:, :n]


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("n", [2, 7, 16])
def test_a_fit_to_the_rows_is_that_to_their_factor(n: int, biased: bool, offset: bool) -> None:
    model = ReadingModel(3, "direction", offset=True, kappa=1.7)
    posterior, rows = rows_of(model, n)
    assert posterior.buffer_rows[0] == n - 1
    factor = triangular_factor(np.concatenate([np.zeros_like(posterior.factor), rows], axis=1))
    of_rows = only_variant(model, posterior, rows, triangular=False, offset=offset, biased=biased)
    of_factor = only_variant(model, posterior, factor, triangular=True, offset=offset, biased=biased)
    for fit in (of_rows, of_factor):
        fit["covariance"] = fit["root"] @ fit["root"].mT
    for name in ("mean", "covariance", "noise", "scale", "log_evidence"):
        size = np.abs(of_factor[name]).max()
        # Squared singular values have nine digits in common.
        np.testing.assert_allclose(of_rows[name], of_factor[name], rtol=0.0, atol=2e-9 * size, err_msg=name)


def test_the_weights_of_the_variants_are_their_posterior_probabilities() -> None:
    model = ReadingModel(2, "direction", offset=True, optional_bias=True)
    posterior, rows = rows_of(model, 9)
    found = fit_variants(model, posterior.fit_input(), rows, triangular=False, review=True)
    # Fewer than 4p readings: with the bias only.
    evidence = [
        only_variant(model, posterior, rows, triangular=False, offset=offset, biased=True)["log_evidence"][0]
        for offset in (False, True)
    ]
    odds = 3.0 / 7.0 * np.exp(evidence[1] - evidence[0])
    assert found["variants"][0, 1] / found["variants"][0, 0] == pytest.approx(odds, rel=1e-9)
    np.testing.assert_array_equal(found["variants"][0, 2:], 0.0)
    assert found["log_marginal"][0] == pytest.approx(np.logaddexp(evidence[0] + np.log(0.7), evidence[1] + np.log(0.3)))


@pytest.mark.parametrize("cap", [None, 0.3])
@pytest.mark.parametrize("load", [None, 0.0, 2.0])
def test_the_least_noise_is_below_that_of_the_fit(load: float | None, cap: float | None) -> None:
    rng, runs, n = np.random.default_rng(7), 200, 18
    model = ReadingModel(3, "direction", offset=True, optional_bias=True, noise_cap=cap)
    size = 10.0 ** rng.uniform(-3.0, 1.0, (runs, 1))
    U = 2.0 * rng.standard_normal((runs, n, 3))
    y = 0.5 * np.vecdot(U, U) + size * rng.standard_normal((runs, n))
    features = model.features(U.reshape(-1, 3)).reshape(runs, n, -1)
    posterior = Posterior.start(model, runs, base_load=load).update_rows(model, U, y, features)
    least, noise = posterior.least_noise(model), posterior.summary_of_fit(model)[0]
    np.testing.assert_array_less(least, noise)
    if cap is None:
        assert np.median(least / noise) > 0.2  # a bound that is far too low would be of no use


@pytest.mark.parametrize("shape", [(3, 7), (7, 7), (8, 9)])
@pytest.mark.parametrize("ratio", [1.0, 1e-2, 1e-5, 1e-12, 0.0])
def test_singular_coordinates_are_those_of_the_decomposition(ratio: float, shape: tuple[int, int]) -> None:
    # The last ratios are below what eigenvalues of a product can show, and need the decomposition.
    rng, (r, n) = np.random.default_rng(11), shape
    U, V = (np.linalg.qr(rng.standard_normal((5, k, k)))[0][:, :, :r] for k in (r, n))
    D = np.geomspace(1.0, max(ratio, 1e-300), r)
    D[-1] = ratio
    X, y = 1e3 * (U * D) @ V.mT, rng.standard_normal((5, r))
    if r == 8:
        X[:, -1], y[:, -1] = 0.0, 0.0  # as for a buffer that is not full
        D = np.linalg.svd(X[0], compute_uv=False) / 1e3
    found, c, c0, right = singular_coordinates(X, y, 2.0 * y)
    order = np.argsort(-found, axis=1)
    expected = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(np.take_along_axis(found, order, axis=1), expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(c0, 2.0 * c, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.square(c).sum(axis=1), np.square(y).sum(axis=1), rtol=1e-8)
    # X'y = V diag(D) U'y, and X'X = V diag(D^2) V'
    np.testing.assert_allclose(np.matvec(right, found * c), np.vecmat(y, X), rtol=0.0, atol=1e-8 * 1e3)
    np.testing.assert_allclose((right * np.square(found)[:, None]) @ right.mT, X.mT @ X, rtol=0.0, atol=1e-9 * 1e6)


@pytest.mark.parametrize("b", [1, 8, 12, 13, 24, 30])
def test_forward_substitution_solves_triangular_systems(b: int) -> None:
    rng = np.random.default_rng([12, b])
    B = 30.0 * rng.standard_normal((4, b, 5))
    L = np.asarray(np.linalg.cholesky(np.eye(b) + B @ B.mT), dtype=np.float64)
    X = rng.standard_normal((4, b, 7))
    np.testing.assert_allclose(forward_substitution(L, L @ X), X, rtol=0.0, atol=1e-11)
