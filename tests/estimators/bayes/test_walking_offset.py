"""The filter of base load and walking offset against generalized least squares with dense covariances."""

from __future__ import annotations

import numpy as np
import pytest

from soqo import GLIDE, RLS, Environment, Offset, RandomProblem, simulate
from soqo.estimators._measurements import measure, smat
from soqo.estimators.bayes import Posterior, ReadingModel, with_released_offset, with_walking_offset
from soqo.estimators.bayes._walking_offset import displacements, filter_walk, predict_walk
from soqo.noise import Uniform
from soqo.processes import Gaussian
from soqo.typing import Array


def walk_covariance(U: Array, speed: float, step: float, first: float) -> Array:
    """Return the covariance of readings that comes from a base load and linear terms that walk, without the level."""
    times = np.arange(float(len(U)))
    both = np.minimum(times[:, None], times)
    return np.asarray(speed**2 * both + (U @ U.T) * (first**2 + step**2 * both))


def projection(V: Array) -> Array:
    """Return the precision of readings with covariance V after a constant with a flat prior is integrated out."""
    inverse, ones = np.linalg.inv(V), np.ones(len(V))
    return np.asarray(inverse - np.outer(inverse @ ones, ones @ inverse) / (ones @ inverse @ ones))


@pytest.mark.parametrize(("speed", "step", "first"), [(0.0, 0.3, 2.0), (0.5, 0.1, 3.0), (0.2, 0.0, 1.0)])
def test_whitened_rows_give_generalized_least_squares(speed: float, step: float, first: float) -> None:
    rng = np.random.default_rng(0)
    n, d, columns = 15, 2, 6
    U, X, R = rng.standard_normal((n, d)), rng.standard_normal((n, columns)), rng.uniform(0.5, 2.0, n)
    observed = rng.random(n) > 0.2
    mean, covariance = np.zeros((1, 1 + d, columns)), np.zeros((1, 1 + d, 1 + d))
    covariance[0, 1:, 1:] = first**2 * np.eye(d)
    white, log_determinant, diffuse = [], 0.0, True
    for k in range(n):
        found = filter_walk(
            mean,
            covariance,
            X[k : k + 1],
            U[k : k + 1],
            R[k : k + 1],
            diffuse=np.array([diffuse]),
            observed=observed[k : k + 1],
            steps2=np.array([[speed**2, step**2, step**2]]),
        )
        mean, covariance = found.mean, found.covariance
        white.append(found.weight[0] * found.difference[0])
        if found.weight[0] > 0.0:
            log_determinant -= 2.0 * np.log(found.weight[0])
        diffuse = diffuse and not observed[k]
    # The state takes a step with each reading.
    V = np.diag(R[observed]) + walk_covariance(U[observed], speed, step, first)
    W = np.array(white)
    np.testing.assert_allclose(W.T @ W, X[observed].T @ projection(V) @ X[observed], rtol=1e-9, atol=1e-9)
    # The density of all readings but for the one that defines the level.
    ones = np.ones(len(V))
    exact = np.linalg.slogdet(V)[1] + np.log(ones @ np.linalg.solve(V, ones))
    assert log_determinant == pytest.approx(exact, rel=1e-9)


def test_the_prediction_is_that_of_dense_algebra() -> None:
    rng = np.random.default_rng(1)
    n, d, speed, step, first = 12, 3, 0.3, 0.2, 1.5
    U, y, new = rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal(d)
    mean, covariance = np.zeros((1, 1 + d, 1)), np.zeros((1, 1 + d, 1 + d))
    covariance[0, 1:, 1:] = first**2 * np.eye(d)
    for k in range(n):
        found = filter_walk(
            mean,
            covariance,
            y[k : k + 1, None],
            U[k : k + 1],
            np.ones(1),
            diffuse=np.array([k == 0]),
            observed=np.array([True]),
            steps2=np.array([[speed**2, *[step**2] * d]]),
        )
        mean, covariance = found.mean, found.covariance
    predicted, variance = predict_walk(mean, covariance, new[None])
    # A flat prior of the level is one of a large variance.
    big = 1e7
    joint = walk_covariance(np.vstack([U, new]), speed, step, first) + big
    joint[:n, :n] += np.eye(n)
    weights = np.linalg.solve(joint[:n, :n], joint[:n, n])
    assert predicted[0, 0] == pytest.approx(weights @ y, rel=1e-6)
    assert variance[0] == pytest.approx(joint[n, n] - weights @ joint[:n, n], rel=1e-5)


def test_displacements_are_found_among_the_features() -> None:
    model = ReadingModel(3, "direction", offset=True)
    u = np.random.default_rng(2).standard_normal((4, 3))
    features = model.features(u)
    np.testing.assert_array_equal(displacements(features, 3), u)
    with_reading = np.concatenate([features, np.ones((4, 1))], axis=1)
    np.testing.assert_array_equal(displacements(with_reading, 3, with_reading=True), u)


def test_a_posterior_with_a_walking_offset_finds_the_matrix() -> None:
    rng = np.random.default_rng(3)
    model, A, n = ReadingModel(2, "none", offset=True), np.array([[2.0, 0.6], [0.6, 1.0]]), 400
    U = 3.0 * rng.standard_normal((n, 2))
    b = np.array([2.0, -1.0]) + np.cumsum(0.1 * rng.standard_normal((n, 2)), axis=0)
    y = measure(U + b, A) + 0.3 * rng.standard_normal(n)
    constant = Posterior.start(model, 1, base_load=0.0)
    walking = with_walking_offset(Posterior.start(model, 1, base_load=2.0), np.array([0.7]), np.array([30.0]))
    for k in range(n):
        constant, walking = (one.update(model, U[k : k + 1], y[k : k + 1]) for one in (constant, walking))
    errors = [np.abs(smat(one.mean[0, -3:]) - A).max() for one in (constant, walking)]
    assert errors[1] < 0.03 < errors[0]
    assert walking.noise[0] == pytest.approx(0.3, rel=0.2)
    g = walking.walk_mean[0, 1:, -1] - walking.walk_mean[0, 1:, :-1] @ walking.mean[0]
    np.testing.assert_allclose(np.linalg.solve(A, g), b[-1], atol=0.3)


@pytest.mark.parametrize("seed", range(4))
def test_an_offset_that_hardly_walks_has_the_evidence_of_a_constant_one(seed: int) -> None:
    rng = np.random.default_rng([5, seed])
    model, A, n = ReadingModel(3, "none", offset=True), np.diag([3.0, 2.0, 1.0]), 30
    U = 2.0 * rng.standard_normal((n, 3))
    y = measure(U + np.array([1.0, -0.5, 2.0]), A) + 0.1 * rng.standard_normal(n)
    everywhere = np.array([True])

    def fit(posterior: Posterior) -> Posterior:
        for k in range(n):
            posterior = posterior.update(model, U[k : k + 1], y[k : k + 1], fit=False)
        return posterior.fit(model, everywhere, review=True).with_marginal_evidence()

    constant = fit(Posterior.start(model, 1, base_load=0.0))
    # The same prior of g, for the noise and the scale that were found.
    size = constant.sizes[:, 0]
    start = Posterior.start(model, 1, base_load=0.0)
    walking = fit(with_walking_offset(start, 1e-6 / size, 3.0 * size * constant.scale / constant.noise))
    # The prior probability of an offset is 0.3 for one and 0.7 for the other.
    assert walking.log_evidence[0] - constant.log_evidence[0] == pytest.approx(np.log(0.7 / 0.3), abs=1.0)
    np.testing.assert_allclose(walking.mean[0, -6:], constant.mean[0, -6:], atol=0.02)


def test_a_released_offset_keeps_what_was_learned_about_the_matrix() -> None:
    rng = np.random.default_rng(4)
    model, A, b, n = ReadingModel(2, "none", offset=True), np.array([[2.0, 0.6], [0.6, 1.0]]), np.array([2.0, -1.0]), 60
    U = 3.0 * rng.standard_normal((n, 2))
    y = measure(U + b, A) + 0.3 * rng.standard_normal(n)
    constant = Posterior.start(model, 1, base_load=0.0)
    for k in range(n):
        constant = constant.update(model, U[k : k + 1], y[k : k + 1])
    released = with_released_offset(constant, model, 0.3)
    np.testing.assert_allclose(released.mean[0, -3:], constant.mean[0, -3:], atol=1e-3)
    features = model.features(U[:1])
    # The expected reading is the same, with more uncertainty.
    np.testing.assert_allclose(released.predict(features)[0], constant.predict(features)[0], atol=0.05)
    assert released.predict(features)[2] > constant.predict(features)[2]


def test_glide_follows_an_offset_that_walks() -> None:
    problem = RandomProblem(2, 2, min_eigenvalue=1.0, max_eigenvalue=3.0)
    environment = Environment(problem, Gaussian(5.0), Uniform(1.0), offset=Offset(scale=5.0, walk=0.3))
    policies = {"GLIDE": GLIDE(), "without offset": GLIDE(offset=False), "RLS": RLS(0.6, offset=True)}
    result = simulate(environment, policies, horizon=300, runs=8, seed=2)
    regret = {name: float(np.median(result.regret(name)[:, -1])) for name in policies}
    assert regret["GLIDE"] < 0.1 * regret["without offset"]
    assert regret["GLIDE"] < 0.7 * regret["RLS"]
