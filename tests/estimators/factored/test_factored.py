"""The posterior of A for many dimensions: what it predicts, what it finds, what it forgets, and what it survives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soqo.estimators import measure, smat, svec, svec_rows
from soqo.estimators.bayes import Reading, Terms
from soqo.estimators.factored import Factored

D = 14
TERMS = Terms(D)


def low_rank(rng: Any, rank: int, d: int = D) -> Any:
    Q = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    return (Q * np.linspace(1.0, 4.0, rank)) @ Q.T


def learn(posterior: Factored, A: Any, rounds: int, rng: Any, load: float = 0.0, **options: Any) -> Factored:
    """Learn readings of A with noise of deviation one at random displacements, in all rows."""
    n = len(posterior.rows)
    for _ in range(rounds):
        u = 10.0 * rng.standard_normal((n, D))
        y = measure(u, A) * options.get("factor", 1.0) + load + options.get("r", 1.0) ** 0.5 * rng.standard_normal(n)
        s = np.full(n, options["factor"]) if "factor" in options else None
        posterior, _ = posterior.learn(TERMS, Reading(u, y, None, s, np.full(n, options.get("r", 1.0))))
        posterior = posterior.settled(TERMS)
    return posterior


def begin(count: int = 1, terms: Terms = TERMS) -> Factored:
    start = Factored.start(terms, count)
    return start.begun(terms, np.arange(count), np.full(count, 10.0), np.zeros((count, 0)))


def error(posterior: Factored, A: Any, row: int = 0) -> float:
    Q, values = posterior.vectors[row], posterior.values[row]
    return float(np.linalg.norm((Q * values) @ Q.T - A) / np.linalg.norm(A))


def dense(prior: Any, row: Any) -> tuple[Any, Any]:
    """Return mean and covariance of (svec A, load) by linear regression on the readings of a row."""
    d = row.Z.shape[1]
    basis = smat(np.eye(d * (d + 1) // 2))
    root = np.linalg.cholesky(prior.M)
    # A = M + c R G R', where G is symmetric with the variance 1 on the diagonal and 1/2 off it.
    T = prior.c * svec(root @ basis @ root.T).T
    S = np.zeros((len(T) + 1,) * 2)
    S[:-1, :-1], S[-1, -1] = T @ T.T, prior.tau**2
    F = np.column_stack([svec_rows(row.Z), row.h])
    mean = np.append(svec(prior.M), 0.0)
    gain = S @ F.T @ np.linalg.inv(F @ S @ F.T + prior.sigma**2 * np.eye(len(row.y)))
    return mean + gain @ (row.y - F @ mean), S - gain @ F @ S


@pytest.mark.parametrize("load", [0.0, 2000.0])
def test_the_soft_estimate_is_the_bayesian_regression_with_the_same_prior(load: float) -> None:
    rng = np.random.default_rng(1)
    d, n = 4, 9
    terms, A = Terms(d), low_rank(rng, d, d)
    found = begin(1, terms)
    for _ in range(n):
        u, r = 10.0 * rng.standard_normal((1, d)), rng.uniform(0.5, 2.0, 1)
        found = found.learn(terms, Reading(u, measure(u, A) + load, None, None, r))[0].settled(terms)
    row: Any = found.rows[0]
    assert row.factor is None
    assert (row.dual.prior.tau > 0.0) == (load > 0.0)
    mean, S = dense(row.dual.prior, row)
    w, Q = np.linalg.eigh(smat(mean[:-1]))
    estimate = (found.vectors[0] * found.values[0]) @ found.vectors[0].T
    np.testing.assert_allclose(estimate, (Q * np.maximum(w, 0.0)) @ Q.T, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.load()[0], mean[-1], rtol=1e-6)
    # The next reading
    W = rng.standard_normal((1, d))
    _, outcome = found.learn(terms, Reading(W, np.zeros(1), None, None, np.ones(1)))
    assert outcome.error[0] == pytest.approx(-measure(W, estimate)[0] - mean[-1])
    f = np.append(svec_rows(W)[0], 1.0)
    assert outcome.variance[0] == pytest.approx(max(row.surplus, 1.0) * (f @ S @ f + row.sigma**2), rel=1e-5)
    # What is not known of A, with a spread that is not small
    prior = row.levels.prior(row.soft)
    _, S = dense(replace(prior, c=max(prior.c, 0.3)), row)
    variance, X = found.covariances(terms, np.eye(d)[None])
    cross = svec_rows(np.eye(d)) @ S[:-1, :-1]
    np.testing.assert_allclose(svec(X[0]), cross, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(variance[0], np.vecdot(cross, svec_rows(np.eye(d))), rtol=1e-5)
    np.testing.assert_allclose(found.deviations(terms, np.eye(d)[None]), 2.0 * np.sqrt(variance), rtol=1e-12)
    B = np.array([column @ W[0] for column in smat(np.eye(len(S) - 1))])
    np.testing.assert_allclose(found.image(terms, W)[0], B.T @ S[:-1, :-1] @ B, rtol=1e-5, atol=1e-5)


def test_a_reading_updates_a_factor_as_a_new_fit_would() -> None:
    rng = np.random.default_rng(3)
    A = low_rank(rng, 2)
    before: Any = learn(begin(), A, 100, rng).rows[0]
    start = before.factor.fit
    for _ in range(10):
        start = start.step(before.readings)
    row = replace(before, factor=type(before.factor).of(start, before.readings))
    u = 10.0 * rng.standard_normal((1, D))
    posterior, _ = Factored((row,), 0).learn(TERMS, Reading(u, measure(u, A) + 3.0, None, None, np.ones(1)))
    after: Any = posterior.rows[0]
    again, followed = start, after.factor.fit
    for _ in range(10):
        again = again.step(after.readings)
    moved = np.linalg.norm(again.L @ again.L.T - start.L @ start.L.T)
    assert np.linalg.norm(followed.L @ followed.L.T - again.L @ again.L.T) < 0.3 * moved


@pytest.mark.parametrize("rank", [2, D])
def test_the_estimate_approaches_a_matrix_of_any_rank(rank: int) -> None:
    rng = np.random.default_rng(4)
    A = low_rank(rng, rank)
    found = learn(begin(), A, 150, rng)
    assert error(found, A) < 0.05
    assert np.count_nonzero(found.values) == rank
    assert 0.5 < found.noise()[0] < 2.0
    assert found.load()[0] == pytest.approx(0.0, abs=5.0)


@pytest.mark.parametrize("options", [{"factor": 0.3}, {"r": 9.0}])
def test_factor_and_noise_of_readings_are_taken_into_account(options: dict[str, float]) -> None:
    rng = np.random.default_rng(5)
    A = low_rank(rng, 2)
    found = learn(begin(), A, 100, rng, **options)
    assert error(found, A) < 0.05
    assert 0.5 < found.noise()[0] < 2.0


@pytest.mark.parametrize("rank", [2, D])
def test_a_base_load_is_learned(rank: int) -> None:
    rng = np.random.default_rng(6)
    A = low_rank(rng, rank)
    found = learn(begin(), A, 200, rng, load=500.0)
    assert np.count_nonzero(found.values > 0.0) == rank
    assert found.load()[0] == pytest.approx(500.0, rel=0.1)
    assert error(found, A) < 0.1


def test_a_restart_forgets_a_and_keeps_the_noise() -> None:
    rng = np.random.default_rng(7)
    A, other = low_rank(rng, 2), low_rank(rng, 2)
    old = learn(begin(), A, 100, rng)
    new = old.restarted(TERMS)
    assert new.readings[0] == 0.0
    assert new.noise()[0] == pytest.approx(old.noise()[0])
    assert error(new, A) == pytest.approx(error(old, A), abs=1e-6)
    assert error(learn(new, other, 80, rng), other) < 0.05


def test_rows_are_independent_and_stay_the_same_if_they_are_taken_and_joined() -> None:
    rng = np.random.default_rng(8)
    found = learn(begin(3), low_rank(rng, 2), 70, rng)
    one, two = found.take(np.array([2])), found.take(np.array([0, 1]))
    assert Factored.join([two, one]) == found
    assert one.values.shape[1] <= found.values.shape[1]
    assert found.shift.shape == (3, D, 1)


def test_before_it_begins_a_row_has_not_started() -> None:
    start = Factored.start(TERMS, 2)
    assert start.started.tolist() == [False, False]
    assert start.begun(TERMS, np.array([1]), np.ones(1), np.zeros((1, 0))).started.tolist() == [False, True]


@pytest.mark.parametrize("u_scale", [0.0, 1e-150, 1.0, 1e30])
@pytest.mark.parametrize("y_scale", [0.0, 1e-200, 1e60, -1e60])
@pytest.mark.parametrize("before", [0, 60])
def test_extreme_readings_leave_all_numbers_finite(u_scale: float, y_scale: float, before: int) -> None:
    rng = np.random.default_rng(9)
    A = low_rank(rng, 2)
    posterior = learn(begin(), A, before, rng)
    for _ in range(4):
        u = u_scale * rng.standard_normal((1, D))
        posterior, outcome = posterior.learn(TERMS, Reading(u, np.full(1, y_scale), None, None, np.ones(1)), 10.0)
        posterior = posterior.settled(TERMS)
        assert np.isfinite(outcome).all()
    assert np.isfinite(posterior.values).all()
    assert np.isfinite(posterior.vectors).all()
    assert 0.0 <= posterior.noise()[0] <= 10.0
    posterior = learn(posterior.restarted(TERMS), A, 3, rng)
    assert np.isfinite(posterior.values).all()
