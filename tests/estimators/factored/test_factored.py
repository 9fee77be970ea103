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
    return start.begun(terms, np.arange(count), np.full(count, 10.0), np.ones((count, terms.regressors)))


def error(posterior: Factored, A: Any, row: int = 0) -> float:
    Q, values = posterior.vectors[row], posterior.values[row]
    return float(np.linalg.norm((Q * values) @ Q.T - A) / np.linalg.norm(A))


def dense(prior: Any, readings: Any) -> tuple[Any, Any, Any]:
    """Return mean and covariance of (svec A, load, g, eta, steps of the load) by linear regression, and features.

    The features have a row for each reading, and one for a reading at u = 0 with the regressors of the last one.
    """
    d, n, extras = readings.Z.shape[1], len(readings.y), prior.extras
    basis = smat(np.eye(d * (d + 1) // 2))
    root = np.linalg.cholesky(prior.M)
    # A = M + c R G R', where G is symmetric with the variance 1 on the diagonal and 1/2 off it.
    T = prior.c * svec(root @ basis @ root.T).T
    parts = [T @ T.T, np.eye(1) * extras.load**2, extras.offset**2 * prior.M @ prior.M]
    parts += [np.diag(extras.regressors**2), (extras.step * prior.sigma) ** 2 * np.eye(n + 1)]
    S, first = np.zeros((sum(len(part) for part in parts),) * 2), 0
    for part in parts:
        S[first : first + len(part), first : first + len(part)] = part
        first += len(part)
    h, w = np.append(readings.h, 1.0)[:, None], np.append(readings.w, 0.0)[:, None]
    Z = np.vstack([readings.Z, np.zeros(d)])
    X = np.vstack([readings.X, readings.X[-1] / readings.h[-1]])
    F = np.concatenate([svec_rows(Z), h, w * Z, X, h * np.tri(n + 1)], axis=1)
    mean = np.zeros(len(S))
    mean[: len(T)] = svec(prior.M)
    own = F[:n]
    gain = S @ own.T @ np.linalg.inv(own @ S @ own.T + prior.sigma**2 * np.eye(n))
    return mean + gain @ (readings.y - own @ mean), S - gain @ own @ S, F


PLANTS = {"nothing": {}, "load": {"load": 2000.0}, "walk": {"load": 2000.0, "walk": 200.0}}
PLANTS |= {"offset": {"offset": 8.0}, "regressors": {"slope": 300.0}}
"""What disturbs the readings of a plant."""


@pytest.mark.parametrize("plant", PLANTS)
def test_the_soft_estimate_is_the_bayesian_regression_with_the_same_prior(plant: str) -> None:
    rng = np.random.default_rng(1)
    d, n, parts = 4, 40, PLANTS[plant]
    terms, A = Terms(d, regressors=2), low_rank(rng, d, d)
    found = begin(1, terms)
    z, load = rng.standard_normal((1, 2)), parts.get("load", 0.0)
    for _ in range(n):
        u, r = 10.0 * rng.standard_normal((1, d)), rng.uniform(0.5, 2.0, 1)
        z, load = z + rng.standard_normal((1, 2)), load + parts.get("walk", 0.0) * rng.standard_normal()
        y = measure(u + parts.get("offset", 0.0), A) + load + parts.get("slope", 0.0) * z[0, 0]
        y = y + 10.0 * rng.standard_normal(1)
        found = found.learn(terms, Reading(u, y, None, None, r, z=z))[0].settled(terms)
    row: Any = found.rows[0]
    prior, readings = row.dual.prior, row.readings
    assert row.factor is None
    assert (prior.extras.load > 0.0) == (plant != "nothing")
    assert (prior.extras.step > 0.0) == (plant == "walk")
    assert (prior.extras.offset > 0.0) == (plant == "offset")
    assert prior.extras.regressors.any() == (plant == "regressors")
    mean, S, F = dense(prior, readings)
    w, Q = np.linalg.eigh(smat(mean[:10]))
    estimate = (found.vectors[0] * found.values[0]) @ found.vectors[0].T
    np.testing.assert_allclose(estimate, (Q * np.maximum(w, 0.0)) @ Q.T, rtol=1e-6, atol=1e-6)
    last = np.append(F[-1, :-1], 0.0)  # at the last reading
    np.testing.assert_allclose(found.load()[0], last @ mean, rtol=1e-6, atol=1e-6)
    # The next reading
    W = rng.standard_normal((1, d))
    _, outcome = found.learn(terms, Reading(W, np.zeros(1), None, None, np.ones(1), z=z))
    f = F[-1].copy()
    f[:10], f[11 : 11 + d] = svec_rows(W)[0], W[0]
    expected = measure(W, estimate)[0] + f[10:] @ mean[10:]
    assert outcome.error[0] == pytest.approx(-expected, rel=1e-6, abs=1e-6)
    assert outcome.variance[0] == pytest.approx(
        max(row.surplus, 1.0) * (f @ S @ f + row.sigma**2), rel=1e-3
    )  # round-off
    # The offset: the ridge regression of g = A b on the estimate, with the prior of b
    if plant == "offset":
        covariance = np.diag(found.vectors[0].T @ S[11:15, 11:15] @ found.vectors[0]) / prior.extras.offset**2
        along = found.vectors[0].T @ mean[11:15]
        b = found.vectors[0] @ (found.values[0] * along / (found.values[0] ** 2 + covariance))
        np.testing.assert_allclose(found.shift[0, :, 0], b, rtol=1e-5)
        np.testing.assert_allclose(b, 8.0, rtol=0.2)
    # What is not known of A, with a spread that is not small
    _, S, _ = dense(replace(row.levels.prior(row.soft), c=max(row.levels.c, 0.3)), readings)
    variance, X = found.covariances(terms, np.eye(d)[None])
    cross = svec_rows(np.eye(d)) @ S[:10, :10]
    np.testing.assert_allclose(svec(X[0]), cross, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(variance[0], np.vecdot(cross, svec_rows(np.eye(d))), rtol=1e-5)
    np.testing.assert_allclose(found.deviations(terms, np.eye(d)[None]), 2.0 * np.sqrt(variance), rtol=1e-12)
    B = np.array([column @ W[0] for column in smat(np.eye(10))])
    np.testing.assert_allclose(found.image(terms, W)[0], B.T @ S[:10, :10] @ B, rtol=1e-5, atol=1e-5)


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
