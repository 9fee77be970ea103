"""The minimizer: the shift against a dense computation, and offsets and effects of a context that GLIDE learns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soqo import GLIDE, Context, Environment, Offset, RandomProblem, random_curvature, simulate
from soqo._model.spectrum import Spectrum
from soqo.errors import ArgumentError
from soqo.estimators import svec
from soqo.estimators.bayes import OFFSET_SIZE, Posterior, ReadingModel
from soqo.noise import Uniform
from soqo.policies.glide._minimizer import minimizer_shift
from soqo.processes import Gaussian

PLANT = Environment(RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0), Gaussian(1.0), Uniform(0.1))
B = np.array([1.0, -0.5, 2.0])
M = np.array([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]])


# ---- the shift -----------------------------------------------------------------------------------------------------


def learned(model: ReadingModel, A: Any, b: Any, M: Any, rounds: int) -> Posterior:
    """Return the posterior after readings with the minimizer v - b - M w, one run for each A."""
    rng = np.random.default_rng(2)
    posterior = Posterior.start(model, len(A), base_load=0.0)
    for _ in range(rounds):
        u, w = rng.standard_normal((len(A), model.dim)), 2.0 * rng.standard_normal((len(A), model.context))
        z = u + b + w @ M.T
        y = 0.5 * np.vecdot(z, np.matvec(A, z)) + 0.1 * rng.standard_normal(len(A))
        posterior = posterior.update(model, u, y, w=w if model.context else None)
    return posterior


def dense_shift(model: ReadingModel, posterior: Posterior, estimate: Any, run: int) -> Any:
    """Return b and M of one run by a dense normal conditional distribution and a ridge regression on A b = g."""
    d, q, k, p = model.dim, model.biases, model.context, model.unknowns
    covariance = posterior.root[run] @ posterior.root[run].T
    g, A = np.arange(q, q + d * (1 + k)), np.arange(model.size - p, model.size)
    gain = covariance[np.ix_(g, A)] @ np.linalg.inv(covariance[np.ix_(A, A)])
    mean = posterior.mean[run, g] + gain @ (svec(estimate) - posterior.mean[run, A])
    values, vectors = np.linalg.eigh(estimate)
    sizes = posterior.sizes[run]
    columns = []
    for j in range(1 + k):
        part = np.arange(d) if j == 0 else d + np.arange(d) * k + j - 1
        block = covariance[np.ix_(g[part], g[part])]
        deviation = OFFSET_SIZE * sizes[0] / (sizes[j] if j else 1.0)
        # The mean of b along an eigenvector, if g along it is a normal reading of a b with this prior deviation.
        noise = np.diag(vectors.T @ block @ vectors)
        along = values * (vectors.T @ mean[part]) / (np.square(values) + noise / deviation**2)
        columns.append(vectors @ along)
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("bias", ["none", "constant", "direction"])
@pytest.mark.parametrize("context", [0, 1, 2])
def test_the_shift_is_that_of_a_dense_computation(bias: Any, context: int) -> None:
    model = ReadingModel(3, bias, offset=True, context=context)
    A = random_curvature(3, 3, min_eigenvalue=0.3, max_eigenvalue=2.0, rng=[np.random.default_rng(i) for i in range(2)])
    posterior = learned(model, A, B, M[:, :context], rounds=60)
    # An estimate that is not the mean, as after a projection to the cone.
    estimate = A + 0.02 * np.eye(3)
    found = minimizer_shift(model, posterior, Spectrum.of(estimate))
    assert found.shape == (2, 3, 1 + context)
    for run in range(2):
        np.testing.assert_allclose(found[run], dense_shift(model, posterior, estimate[run], run), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("context", [0, 2])
def test_the_shift_is_near_the_truth(context: int) -> None:
    model = ReadingModel(3, "none", offset=True, context=context)
    A = random_curvature(3, 3, min_eigenvalue=0.3, max_eigenvalue=2.0, rng=[np.random.default_rng(i) for i in range(4)])
    posterior = learned(model, A, B, M[:, :context], rounds=200)
    found = minimizer_shift(model, posterior, Spectrum.of(A))
    np.testing.assert_allclose(found, np.tile(np.column_stack([B, M[:, :context]]), (4, 1, 1)), atol=0.1)


@pytest.mark.parametrize("context", [0, 2])
def test_without_linear_terms_there_is_no_shift(context: int) -> None:
    model = ReadingModel(3, offset=True, context=context)
    spectrum = Spectrum.of(np.tile(np.eye(3), (2, 1, 1)))
    shift = minimizer_shift(model, Posterior.start(model, 2), spectrum)
    np.testing.assert_array_equal(shift, np.zeros((2, 3, 1 + context)))


def test_along_a_direction_without_curvature_there_is_no_shift() -> None:
    model = ReadingModel(2, "none", offset=True)
    A = np.diag([2.0, 0.0])[None]
    posterior = learned(model, A, np.array([1.0, 5.0]), np.zeros((2, 0)), rounds=100)
    shift = minimizer_shift(model, posterior, Spectrum.of(A))[0, :, 0]
    np.testing.assert_allclose(shift, [1.0, 0.0], atol=0.1)


# ---- GLIDE ---------------------------------------------------------------------------------------------------------


def late_regret(environment: Environment, policy: GLIDE) -> Any:
    """Return the regret of the last 100 of 400 rounds, and the diagnostics, for ten runs."""
    result = simulate(environment, {"G": policy}, horizon=400, runs=10, seed=0)["G"]
    return result.low_variance_regret[:, -100:].sum(axis=1), result.diagnostics


def test_glide_learns_an_offset() -> None:
    offset = replace(PLANT, offset=Offset(B))
    regret, found = late_regret(offset, GLIDE())
    np.testing.assert_allclose(found["offset"], np.tile(B, (10, 1)), atol=0.05)
    undisturbed, _ = late_regret(PLANT, GLIDE())
    ignorant, _ = late_regret(offset, GLIDE(offset=False))
    assert np.median(regret) < 4.0 * np.median(undisturbed)
    assert np.median(regret) < 0.01 * np.median(ignorant)


def test_without_an_offset_none_is_found() -> None:
    _, found = late_regret(PLANT, GLIDE())
    np.testing.assert_allclose(found["offset"], 0.0, atol=0.02)


@pytest.mark.parametrize("policy", [GLIDE(offset=False), GLIDE(base_load=False)], ids=str)
def test_an_offset_is_not_looked_for_without_the_option(policy: GLIDE) -> None:
    _, found = late_regret(replace(PLANT, offset=Offset(B)), policy)
    np.testing.assert_array_equal(found["offset"], np.zeros((10, 3)))


def test_glide_learns_the_effect_of_a_context() -> None:
    shifted = replace(PLANT, context=Context(M))
    regret, _ = late_regret(shifted, GLIDE())
    undisturbed, _ = late_regret(PLANT, GLIDE())
    ignorant, _ = late_regret(shifted, GLIDE(offset=False))
    assert np.median(regret) < 4.0 * np.median(undisturbed)
    assert np.median(regret) < 0.01 * np.median(ignorant)


def test_the_target_moves_with_the_context() -> None:
    rng = np.random.default_rng(0)
    A, v = np.diag([2.0, 1.0, 0.5]), np.zeros(3)
    policy = GLIDE(drift=False, probing=False)
    state = policy.start(v)
    for _ in range(200):
        v, w = v + rng.standard_normal(3), rng.standard_normal(2)
        x, state = policy.act(state, v, context=w)
        z = x - v + B + M @ w
        state = policy.observe(state, 0.5 * z @ A @ z + rng.uniform(-0.1, 0.1))
    np.testing.assert_allclose(policy.diagnostics(state)["offset"], B, atol=0.05)
    # A plant at the minimizer stays there, whatever the context.
    for w in (np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, -2.0])):
        at_rest = replace(state, x=v - B - M @ w)
        np.testing.assert_allclose(policy.act(at_rest, v, context=w)[0], v - B - M @ w, atol=0.05)


def test_a_context_must_keep_its_number_of_entries() -> None:
    policy = GLIDE()
    _, state = policy.act(policy.start(np.zeros(2)), np.ones(2), context=np.ones(2))
    state = policy.observe(state, 1.0)
    with pytest.raises(ArgumentError, match="context"):
        policy.act(state, np.ones(2), context=np.ones(3))
