"""Averages of filters against direct sums, the estimate in the cone, and the offset of the minimizer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.spectrum import Spectrum
from soqo.estimators import smat, svec
from soqo.estimators.bayes import SHIFTED, STRUCTURES, Bank, Reading, Terms
from soqo.estimators.bayes._filters import Filters
from soqo.estimators.bayes._mixture import INSIDE, WISHART_WEIGHT, Mixture
from soqo.typing import Array

GROUP = np.array([0, 0, 0, 2, 2])


def some_filters(terms: Terms, seed: int = 0, away: float = 1.0) -> Filters:
    """Return three filters of row 0 and two of row 2 around A = I, of similar weights."""
    rng, n, m = np.random.default_rng(seed), 5, terms.size
    center = np.concatenate([np.zeros(terms.extras), svec(np.eye(terms.dim))])
    return Filters(
        group=GROUP,
        kind=np.arange(n),
        root=np.triu(rng.standard_normal((n, m, m))),
        mean=center + away * rng.standard_normal((n, m)),
        a=rng.uniform(1.0, 3.0, n),
        b=rng.uniform(0.5, 2.0, n),
        log_weight=rng.uniform(-2.0, 2.0, n) - 800.0,
        keep=np.ones((n, terms.extras)),
        steps=np.zeros((n, terms.extras)),
        growth=np.ones(n),
    )


def direct_moments(filters: Filters, row: int) -> tuple[Array, Array]:
    """Return the mean and the covariance of one row by sums over its filters."""
    own = [k for k, group in enumerate(filters.group) if group == row]
    log_weight = filters.log_weight[own]
    weights = np.exp(log_weight - logsumexp(log_weight))
    mean = sum(w * filters.mean[k] for w, k in zip(weights, own, strict=True))
    square = sum(
        w
        * (
            filters.b[k] / filters.a[k] * filters.root[k] @ filters.root[k].T
            + np.outer(filters.mean[k], filters.mean[k])
        )
        for w, k in zip(weights, own, strict=True)
    )
    return np.asarray(mean), np.asarray(square - np.outer(mean, mean))


# ---- moments -------------------------------------------------------------------------------------------------------


def test_moments_are_those_of_direct_sums() -> None:
    terms = Terms(2)
    filters = some_filters(terms)
    mixture, e = Mixture.of(filters), terms.extras
    along = np.random.default_rng(1).standard_normal((2, terms.size - e))
    for k, row in enumerate((0, 2)):
        mean, P = direct_moments(filters, row)
        np.testing.assert_allclose(mixture.theta[k], mean, atol=1e-12)
        np.testing.assert_allclose(mixture.covariance(0)[k], P, atol=1e-11)
        np.testing.assert_allclose(mixture.covariance(e)[k], P[e:, e:], atol=1e-11)
        assert mixture.variance(along, e)[k] == pytest.approx(along[k] @ P[e:, e:] @ along[k])
        assert mixture.log_total[k] == pytest.approx(logsumexp(filters.log_weight[filters.group == row]))
    np.testing.assert_array_equal(mixture.rows, [0, 2])
    heaviest = [int(np.argmax(np.where(filters.group == row, filters.log_weight, -np.inf))) for row in (0, 2)]
    np.testing.assert_array_equal(mixture.best, heaviest)


def test_a_filter_of_negligible_weight_does_not_matter() -> None:
    filters = some_filters(Terms(2))
    weight = filters.log_weight.copy()
    weight[1] = weight[0] - 30.0
    leading = Mixture.of(evolve(filters, log_weight=weight)).leading
    np.testing.assert_allclose(leading.theta, Mixture.of(filters.take(np.array([0, 2, 3, 4]))).theta, atol=1e-12)


# ---- estimates -----------------------------------------------------------------------------------------------------


def estimate(filters: Filters, terms: Terms, readings: float, repeat: int = 1) -> Spectrum:
    """Return the estimates, each repetition from the one before."""
    near = Spectrum(np.ones((2, terms.dim)), np.tile(np.eye(terms.dim), (2, 1, 1)))
    for _ in range(repeat):
        near = Mixture.of(filters).estimate(terms, near, np.full(2, readings))
    return near


def test_a_mean_far_inside_the_cone_is_the_estimate() -> None:
    terms = Terms(3)
    filters = some_filters(terms, away=0.01)
    filters = evolve(filters, root=1e-3 * filters.root)
    mean = Mixture.of(filters).theta[:, terms.extras :]
    np.testing.assert_allclose(estimate(filters, terms, 100.0).matrix(), smat(mean), atol=1e-12)


@pytest.mark.parametrize("readings", [2.0, 100.0])
def test_an_estimate_near_the_boundary_is_stationary(readings: float) -> None:
    terms = Terms(2)
    filters = evolve(some_filters(terms), b=np.full(5, 0.3))
    found = estimate(filters, terms, readings, repeat=8).matrix()
    for k, row in enumerate((0, 2)):
        mean, P = (part[..., terms.extras :] for part in direct_moments(filters, row))
        scale = np.abs(np.linalg.eigvalsh(smat(mean))).mean()
        pull = WISHART_WEIGHT * P[terms.extras :] @ svec(np.linalg.inv(found[k]) - np.eye(2) / scale)
        np.testing.assert_allclose(svec(found[k]), mean + pull, atol=1e-5 * np.abs(pull).max())
        assert np.linalg.eigvalsh(found[k])[0] > 0.0


def test_the_estimate_hardly_jumps_where_the_cone_begins_to_matter() -> None:
    terms, Q = Terms(3), np.linalg.qr(np.random.default_rng(4).standard_normal((3, 3)))[0]
    mean = np.concatenate([np.zeros(terms.extras), svec((Q * [1.0, 2.0, 3.0]) @ Q.T)])
    found = []
    for share in (0.999, 1.001):  # of the deviation from which on it matters
        some = some_filters(terms)
        root = np.tile(share / INSIDE * np.eye(terms.size), (5, 1, 1))
        filters = evolve(some, mean=np.tile(mean, (5, 1)), root=root, a=np.ones(5), b=np.ones(5))
        found.append(estimate(filters, terms, 100.0, repeat=4).matrix())
    np.testing.assert_allclose(found[0], np.tile(smat(mean[terms.extras :]), (2, 1, 1)), atol=1e-12)
    np.testing.assert_allclose(found[1], found[0], atol=0.02 / INSIDE)


def test_readings_of_exactly_zero_make_the_estimate_small() -> None:
    terms, rng = Terms(3), np.random.default_rng(0)
    bank = Bank.start(terms, 1).begun(terms, np.zeros(1, dtype=np.intp), np.ones(1), np.zeros((1, 0)))
    for _ in range(8):
        bank, _ = bank.learn(terms, Reading(rng.standard_normal((1, 3)), np.zeros(1), None, None, np.ones(1)))
        bank = bank.settled(terms)
        assert bank.values.max() < 1.0


# ---- the minimizer -------------------------------------------------------------------------------------------------

B, MOVES = np.array([1.0, -0.5, 2.0]), np.array([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]])


def learned(A: Array, b: Array, moves: Array, rounds: int, noise: float = 0.1) -> tuple[Bank, Terms]:
    """Return two rows after readings of plants with the minimizer v - b - M w."""
    rng, d, k = np.random.default_rng(2), len(b), moves.shape[1]
    terms = Terms(d, k)
    bank = Bank.start(terms, 2).begun(terms, np.arange(2), np.ones(2), np.ones((2, k)))
    for _ in range(rounds):
        u, w = rng.standard_normal((2, d)), 2.0 * rng.standard_normal((2, k))
        z = u + b + w @ moves.T
        y = 0.5 * np.vecdot(z, z @ A) + noise * rng.standard_normal(2)
        bank, _ = bank.learn(terms, Reading(u, y, w if k else None, None, np.ones(2)))
        bank = bank.settled(terms)
    return bank, terms


@pytest.mark.parametrize("context", [0, 2])
def test_the_offset_and_the_effect_of_the_context_are_near_the_truth(context: int) -> None:
    F = np.random.default_rng(3).standard_normal((3, 3))
    bank, _ = learned(F @ F.T + np.eye(3), B, MOVES[:, :context], rounds=100)
    assert bank.shift.shape == (2, 3, 1 + context)
    np.testing.assert_allclose(bank.shift, np.tile(np.column_stack([B, MOVES[:, :context]]), (2, 1, 1)), atol=0.1)


def test_along_a_direction_without_curvature_there_is_no_offset() -> None:
    A = np.diag([2.0, 0.0])
    bank, terms = learned(A, np.array([1.0, 5.0]), np.zeros((2, 0)), rounds=100)
    flat = Spectrum.of(np.tile(A, (2, 1, 1)))
    shift = Mixture.of(bank.filters).shift(terms, flat, np.ones(2), np.zeros((2, 0)))[:, :, 0]
    np.testing.assert_allclose(shift, np.tile([1.0, 0.0], (2, 1)), atol=0.1)
    # An estimate that is not quite flat is no reason for a shift beyond the prior's deviation, 1.
    assert (np.abs(bank.shift[:, 1, 0]) < 0.5).all()


def test_without_an_offset_none_is_played() -> None:
    bank, _ = learned(np.diag([2.0, 1.0]), np.zeros(2), np.zeros((2, 0)), rounds=60)
    np.testing.assert_array_equal(bank.shift, np.zeros((2, 2, 1)))


def test_the_offset_is_the_ridge_regression_given_the_estimate() -> None:
    bank, terms = learned(np.diag([2.0, 0.5]), np.array([1.0, -3.0]), np.zeros((2, 0)), rounds=12, noise=1.0)
    shifted = np.flatnonzero(bank.filters.kind == STRUCTURES.index(SHIFTED))
    mixture = Mixture.of(bank.filters.take(shifted)).leading
    found = Spectrum.of(np.tile([[2.1, 0.3], [0.3, 0.4]], (2, 1, 1)))
    shift = mixture.shift(terms, found, np.ones(2), np.zeros((2, 0)))[:, :, 0]
    e = terms.extras
    for row in range(2):
        # g given A is normal, and along an eigenvector q it is a reading of lambda q'b with its deviation.
        mean, P = direct_moments(mixture.filters, row)
        g, A = slice(e - 2, e), slice(e, None)
        expected_g = mean[g] + P[g, A] @ np.linalg.solve(P[A, A], svec(found.matrix()[row]) - mean[A])
        left = P[g, g] - P[g, A] @ np.linalg.solve(P[A, A], P[A, g])
        noise, prior = np.diag(found.vectors[row].T @ left @ found.vectors[row]), 1.0
        along = found.values[row] * (found.vectors[row].T @ expected_g)
        b = found.vectors[row] @ (along / (found.values[row] ** 2 + noise / prior**2))
        np.testing.assert_allclose(shift[row], b, rtol=1e-4, atol=1e-6)
