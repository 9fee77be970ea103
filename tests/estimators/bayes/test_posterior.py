"""The posterior of A against dense Gaussian algebra on the raw readings, and the independence of runs."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from dense_posterior import (
    BIASES,
    NO_FIT,
    Bias,
    Dense,
    arbitrary_posterior,
    arrays,
    assert_close,
    bayes,
    covariance,
    design,
    fit,
    gram,
    learn,
    learn_batch,
    mixed_runs,
    only_variant,
    prior_covariance,
    readings,
)
from scipy import stats

from soqo.estimators._measurements import measure, smat, svec
from soqo.estimators.bayes import (
    Posterior,
    ReadingModel,
    clip_inputs,
    fit_ages,
    fit_is_due,
    with_walking_offset,
    without_readings,
)
from soqo.estimators.bayes._fits import LOG_VARIANT_PRIORS, fit_variants
from soqo.estimators.bayes._marginal_likelihood import LOG_SCALE_DEVIATION, LOG_SCALES, MIN_NOISE
from soqo.estimators.bayes._mixture import triangular_factor
from soqo.estimators.bayes._row_algebra import LOG_BASE_LOAD_RANGE
from soqo.typing import Array


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize(("d", "n"), [(2, 2), (2, 3), (2, 8), (3, 3), (3, 6), (3, 12)])
def test_the_average_over_noise_and_scale_is_that_of_dense_algebra(
    d: int, n: int, bias: Bias, grids: list[Array]
) -> None:
    model = ReadingModel(d, bias, kappa=0.7)
    _, U, y = readings(1, d, n)
    posterior, weights = learn(model, U, y)
    assert fit_is_due(model, posterior.total_readings)  # the last reading was followed by a fit
    Dense(model, U, y, weights, grids[-1]).assert_agrees_with(posterior)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("n", [1, 3, 6])
def test_the_evidence_is_the_dense_density_of_the_readings_averaged_over_the_prior(
    n: int, bias: Bias, grids: list[Array]
) -> None:
    model = ReadingModel(2, bias, kappa=0.7)
    _, U, y = readings(41, 2, n)
    posterior, weights = learn(model, U, y)
    largest = float(np.abs(weights * y).max())
    dense = Dense(model, U, y, weights, grids[-1], max_abs_reading=largest)
    plain = float(LOG_VARIANT_PRIORS[0])
    # Logarithms of densities: round-off, and that of a quadrature of the prior with steps of 0.001.
    assert posterior.log_evidence[0] - plain == pytest.approx(dense.log_evidence, abs=1e-5)
    assert posterior.with_marginal_evidence().log_evidence[0] - plain == pytest.approx(dense.log_evidence, abs=1e-5)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_with_a_base_load_posterior_and_evidence_are_those_of_correlated_readings(
    rho: float, bias: Bias, grids: list[Array]
) -> None:
    model = ReadingModel(2, bias, kappa=0.7)
    _, U, y = readings(42, 2, 7)
    y = y + 50.0 + 0.3 * np.cumsum(np.random.default_rng(43).standard_normal(7))
    posterior, weights = learn(model, U, y, Posterior.start(model, 1, base_load=rho))
    assert posterior.readings[0] == 6.0  # the first one determines the level
    largest = float(posterior.max_abs_reading[0])
    dense = Dense(model, U, y, weights, grids[-1], rho=rho, max_abs_reading=largest)
    dense.assert_agrees_with(posterior)
    # The first reading has the density of a base load: uniform in the logarithm of its size.
    first = -math.log(y[0]) - LOG_BASE_LOAD_RANGE
    total = float(LOG_VARIANT_PRIORS[0]) + first + dense.log_evidence
    assert posterior.log_evidence[0] == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("bias", BIASES)
def test_the_posterior_is_the_mixture_of_the_variants_with_and_without_an_offset(
    bias: Bias, grids: list[Array]
) -> None:
    model = ReadingModel(2, bias, kappa=0.5, offset=True)
    A, U, _ = readings(44, 2, 7)
    y = measure(U + 1.0, A) + 0.3 * np.random.default_rng(45).standard_normal(7)
    posterior, weights = learn(model, U, y, Posterior.start(model, 1, base_load=0.1))
    largest = float(posterior.max_abs_reading[0])
    variants = [
        Dense(model, U, y, weights, grid, rho=0.1, offset=offset, max_abs_reading=largest)
        for grid, offset in zip(grids[-2:], (False, True), strict=True)
    ]
    w = np.array([0.7, 0.3]) * np.exp([dense.log_evidence - variants[0].log_evidence for dense in variants])
    w /= w.sum()
    assert 0.05 < w[1] < 0.95  # both matter
    np.testing.assert_allclose(posterior.variants[0], [w[0], w[1], 0.0, 0.0], rtol=1e-5)
    means = np.stack([np.concatenate([np.zeros(2), variants[0].mean]), variants[1].mean])
    mean = w @ means
    P = sum(share * np.outer(error, error) for share, error in zip(w, means - mean, strict=True))
    P = P + w[1] * variants[1].covariance
    P[2:, 2:] += w[0] * variants[0].covariance
    assert_close(posterior.mean[0, -5:], mean, 1e-5)
    assert_close(covariance(posterior)[0, -5:, -5:], P, 1e-5)
    assert math.log(posterior.noise[0]) == pytest.approx(w @ np.log([dense.noise for dense in variants]), abs=1e-5)
    assert posterior.scale[0] == pytest.approx(w @ [dense.scale for dense in variants], rel=1e-5)


def test_without_the_bias_a_variant_is_the_model_without_bias(grids: list[Array]) -> None:
    model = ReadingModel(2, "direction", optional_bias=True)
    _, U, y = readings(46, 2, 10)
    posterior, weights = learn(model, U, y)
    factor = triangular_factor(np.concatenate([posterior.factor, posterior.buffer], axis=1))
    found = only_variant(model, posterior, factor, triangular=True, offset=False, biased=False)
    largest = float(posterior.max_abs_reading[0])
    dense = Dense(ReadingModel(2, "none"), U, y, weights, grids[-1], max_abs_reading=largest)
    np.testing.assert_array_equal(found["mean"][0, :3], 0.0)
    assert_close(found["mean"][0, 3:], dense.mean, 1e-6)
    assert_close((found["root"] @ found["root"].mT)[0, 3:, 3:], dense.covariance, 1e-6)
    jacobian = float(np.log(weights).sum())
    assert found["log_evidence"][0] + jacobian == pytest.approx(dense.log_evidence, abs=1e-5)


def test_the_evidence_decides_whether_there_is_a_bias() -> None:
    model = ReadingModel(2, "direction", kappa=5.0, optional_bias=True)
    A, U, y = readings(47, 2, 200, noise=0.1)
    plain, _ = learn(model, U, y)
    N = np.array([[0.5, 0.2], [0.2, -0.3]])
    biased, _ = learn(model, U, y + 2.0 * measure(U, N) / np.vecdot(U, U))
    # The prior deviation of N is 0.5, and its posterior deviation about 0.01: Occam's factor is 50 per entry.
    assert plain.variants[0, 2] > 0.99
    assert biased.variants[0, 0] > 0.99
    assert np.abs(smat(biased.mean[0, -3:]) - A).max() < 0.02


def test_a_cap_on_the_noise_removes_all_larger_values(grids: list[Array]) -> None:
    capped = ReadingModel(2, "constant", noise_cap=0.2)
    _, U, y = readings(2, 2, 6, noise=0.6)
    posterior, weights = learn(capped, U, y)
    largest = float(posterior.max_abs_reading[0])
    dense = Dense(capped, U, y, weights, grids[-1], max_abs_reading=largest)
    dense.assert_agrees_with(posterior)
    assert grids[-1][-1] == pytest.approx(math.log(0.2))
    assert posterior.log_evidence[0] - LOG_VARIANT_PRIORS[0] == pytest.approx(dense.log_evidence, abs=1e-5)


@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
def test_noise_that_is_known_from_before_is_a_prior_around_it(noise: float, grids: list[Array]) -> None:
    model = ReadingModel(2, "none")
    _, U, y = readings(48, 2, 6, noise=noise)
    start = replace(Posterior.start(model, 1), known_noise=np.array([0.1]), scale_deviation=np.array([0.5]))
    posterior, weights = learn(model, U, y, start)
    dense = Dense(model, U, y, weights, grids[-1], known_noise=0.1, scale_deviation=0.5)
    dense.assert_agrees_with(posterior)
    assert posterior.log_evidence[0] - LOG_VARIANT_PRIORS[0] == pytest.approx(dense.log_evidence, abs=1e-5)


@pytest.mark.parametrize("bias", ["direction", "constant"])
@pytest.mark.parametrize(("n", "kappa"), [(2, 1.0), (8, 1.0), (8, 3.0)])
def test_the_bias_given_A_is_conditioned_on_the_readings(n: int, kappa: float, bias: Bias) -> None:
    model = ReadingModel(2, bias, kappa=kappa)
    _, U, y = readings(4, 2, n)
    posterior, weights = learn(model, U, y)
    q, sigma = model.biases, float(posterior.noise[0])
    H, B = (weights[:, None] * rows for rows in design(model, U))
    # y - B svec(A) = H N + sigma e, with N of deviation kappa sigma.
    own = (kappa * sigma) ** 2
    gain = own * H.T @ np.linalg.inv(own * H @ H.T + sigma**2 * np.eye(n))
    mean, joint = posterior.mean[0], covariance(posterior)[0]
    assert_close(mean[:q], gain @ (weights * y - B @ mean[q:]), 1e-9)
    assert_close(joint[:q, q:], -gain @ B @ joint[q:, q:], 1e-9)
    conditional = own * (np.eye(q) - gain @ H)
    assert_close(joint[:q, :q], conditional + gain @ B @ joint[q:, q:] @ B.T @ gain.T, 1e-9)


@pytest.mark.parametrize("offset", [False, True])
def test_the_bias_given_A_and_the_offset_follows_from_the_normal_equations(offset: bool) -> None:
    model = ReadingModel(2, "direction", kappa=0.6, offset=True)
    _, U, y = readings(40, 2, 9)
    posterior, _ = learn(model, U, y, Posterior.start(model, 1, base_load=0.2), fits=False)
    q, k = model.biases, 2 if offset else 0
    G = gram(posterior)
    factor = triangular_factor(np.concatenate([posterior.factor, posterior.buffer], axis=1))
    found = only_variant(model, posterior, factor, triangular=True, offset=offset, biased=True)
    mean, joint = found["mean"][0], (found["root"] @ found["root"].mT)[0]
    used = np.arange(q + 2 - k, model.size)
    np.testing.assert_array_equal(mean[q : q + 2 - k], 0.0)
    inverse = np.linalg.inv(np.eye(q) / 0.6**2 + G[:q, :q])
    gain = -inverse @ G[:q, used]
    assert_close(mean[:q], inverse @ G[:q, -1] + gain @ mean[used], 1e-8)
    assert_close(joint[:q, used], gain @ joint[np.ix_(used, used)], 1e-8)
    own = found["noise"][0] ** 2 * inverse
    assert_close(joint[:q, :q], own + gain @ joint[np.ix_(used, used)] @ gain.T, 1e-8)


def test_a_fit_to_the_factor_gives_the_posterior() -> None:
    model = ReadingModel(3, "direction")
    _, U, y = readings(5, 3, 9)
    posterior, weights = learn(model, U, y)
    # The fit depends on the Gram matrix of the rows only, not on their order and signs.
    rows = (weights[:, None] * np.column_stack([*design(model, U), y]))[::-1] * (-1.0) ** np.arange(9)[:, None]
    factor = triangular_factor(np.concatenate([np.zeros_like(posterior.factor), rows[None]], axis=1))
    found = fit_variants(model, posterior.fit_input(), factor, triangular=True, review=False)
    assert_close(found["mean"], posterior.mean, 1e-9)
    assert_close(found["root"] @ found["root"].mT, covariance(posterior), 1e-9)
    assert found["noise"] == pytest.approx(posterior.noise, rel=1e-9)
    assert found["scale"] == pytest.approx(posterior.scale, rel=1e-9)


@pytest.mark.parametrize("base_load", [None, 0.0, 0.3])
def test_a_reading_is_assimilated_as_by_an_update(base_load: float | None) -> None:
    model = ReadingModel(3, "direction", offset=True)
    _, U, y = readings(52, 3, 12)
    posterior, _ = learn(model, U[:10], y[:10], Posterior.start(model, 1, base_load=base_load))
    for k in (10, 11):
        u, reading = U[k : k + 1], y[k : k + 1]
        assert posterior.can_assimilate()
        found = posterior.innovation(model, model.features(u), reading)
        updated = posterior.update(model, u, reading, fit=np.zeros(1, dtype=np.bool_))
        posterior = posterior.assimilate(model, u, found)
        # To the last bit, since runs of a batch may learn in either way.
        for name, value in updated.__dict__.items():
            np.testing.assert_array_equal(posterior.__dict__[name], value, err_msg=name)


@pytest.mark.parametrize("rows", [5, 30])
def test_the_summary_of_a_fit_is_that_of_the_fit(rows: int) -> None:
    model = ReadingModel(3, "direction", offset=True, optional_bias=True)
    rng = np.random.default_rng(7)
    u, y = rng.standard_normal((4, rows, 3)), rng.standard_normal((4, rows)) + 5.0
    y[1, 2:4], y[2] = np.nan, np.nan
    start = Posterior.concatenate([Posterior.start(model, 2), Posterior.start(model, 2, base_load=0.3)])
    features = np.stack([model.features(u[:, k]) for k in range(rows)], axis=1)
    stored = start.update_rows(model, u, y, features)
    fitted = stored.fit(model, stored.total_readings > 0.0, review=True).with_marginal_evidence()
    noise, evidence = stored.summary_of_fit(model)
    np.testing.assert_array_equal(noise, fitted.noise)
    np.testing.assert_array_equal(evidence, fitted.log_evidence)


def test_readings_stored_without_a_fit_count_in_the_next_one(grids: list[Array]) -> None:
    model = ReadingModel(2, "constant")
    _, U, y = readings(49, 2, 20)
    posterior = Posterior.start(model, 1, base_load=0.3)
    for k in range(20):
        posterior = posterior.update(model, U[k : k + 1], y[k : k + 1], fit=False)
    assert not grids
    posterior = fit(model, posterior).with_marginal_evidence()
    largest = float(posterior.max_abs_reading[0])
    # The noise is that of the prior, one, and relative errors of 1e-5 do not matter.
    dense = Dense(model, U, y, np.ones(20), grids[-1], rho=0.3, max_abs_reading=largest)
    dense.assert_agrees_with(posterior)
    first = -math.log(abs(y[0])) - LOG_BASE_LOAD_RANGE
    total = float(LOG_VARIANT_PRIORS[0]) + first + dense.log_evidence
    assert posterior.log_evidence[0] == pytest.approx(total, abs=1e-5)


# ---- the base load --------------------------------------------------------------------------------------------------


def test_a_constant_base_load_does_not_change_the_estimate_of_A() -> None:
    model = ReadingModel(2, "none")
    A, U, y = readings(54, 2, 40, noise=0.1)
    near, _ = learn(model, U, y + 1.0, Posterior.start(model, 1, base_load=0.0))
    far, _ = learn(model, U, y + 1e6, Posterior.start(model, 1, base_load=0.0))
    # Readings of 1e6 have lost six of sixteen digits.
    assert_close(far.mean, near.mean, 1e-8)
    assert np.abs(smat(near.mean[0]) - A).max() < 0.05
    assert near.base_load()[0] == pytest.approx(1.0, abs=0.1)
    assert far.base_load()[0] == pytest.approx(1e6, abs=0.1)


def test_after_the_frequent_fits_the_evidence_grows_by_predictive_densities() -> None:
    model = ReadingModel(2, "direction")
    _, U, y = readings(56, 2, 21)
    posterior, _ = learn(model, U[:20], y[:20], Posterior.start(model, 1, base_load=0.2))
    expected, variance, noise = posterior.predict(model.features(U[20:]))
    after = posterior.update(model, U[20:], y[20:])
    gained = after.log_evidence - posterior.log_evidence
    # The relative error of a reading, a millionth of |u|^2, is neglected here.
    assert gained == pytest.approx(stats.norm.logpdf(y[20:], expected, np.sqrt(variance + noise**2)), abs=1e-6)


# ---- offset and context ---------------------------------------------------------------------------------------------


def test_an_offset_of_the_minimizer_is_recovered() -> None:
    model = ReadingModel(2, "none", offset=True)
    A, U, y = readings(61, 2, 60, noise=0.1)
    noise, A, b = y - measure(U, A), A + np.eye(2), np.array([0.7, -0.4])
    moved = measure(U + b, A) + noise + 5.0
    posterior, _ = learn(model, U, moved, Posterior.start(model, 1, base_load=0.0))
    posterior = fit(model, posterior)
    assert posterior.variants[0, 1] > 0.999
    truth = np.concatenate([A @ b, svec(A)])
    deviations = np.sqrt(np.diagonal(covariance(posterior)[0]))
    np.testing.assert_array_less(np.abs(posterior.mean[0] - truth), 4.0 * deviations)
    np.testing.assert_allclose(np.linalg.solve(smat(posterior.mean[0, 2:]), posterior.mean[0, :2]), b, atol=0.05)


def test_without_an_offset_its_variant_becomes_improbable() -> None:
    model = ReadingModel(2, "none", offset=True)
    A, U, y = readings(62, 2, 60, noise=0.1)
    posterior, _ = learn(model, U, y + 5.0, Posterior.start(model, 1, base_load=0.0))
    # The prior deviation of an entry of g is 6, and its posterior deviation 0.01: Occam's factor is (6 / 0.01)^2.
    assert posterior.variants[0, 1] < 1e-3
    np.testing.assert_array_equal(posterior.mean[0, :2], 0.0)
    assert np.abs(smat(posterior.mean[0, 2:]) - A).max() < 0.05


def test_without_a_base_load_there_is_no_offset() -> None:
    model = ReadingModel(2, "none", offset=True)
    A, U, _ = readings(63, 2, 20)
    posterior, _ = learn(model, U, measure(U + 1.0, A))
    np.testing.assert_array_equal(posterior.variants, [[1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(posterior.mean[0, :2], 0.0)


def test_a_minimizer_that_depends_on_the_context_is_recovered() -> None:
    model = ReadingModel(2, "none", context=1)
    A, U, y = readings(64, 2, 120, noise=0.05)
    w = np.random.default_rng(65).standard_normal((120, 1))
    b, G = np.array([0.3, -0.6]), np.array([[0.8], [0.5]])
    y = measure(U + b + w @ G.T, A) + (y - measure(U, A)) - 2.0
    posterior, _ = learn(model, U, y, Posterior.start(model, 1, base_load=0.0), w)
    posterior = fit(model, posterior)
    assert posterior.variants[0, 1] > 0.999
    # 1/2 (u + b + G w)'A(u + b + G w) by powers of u and w.
    truth = np.concatenate([A @ b, (A @ G).ravel(), G.T @ A @ b, svec(G.T @ A @ G), svec(A)])
    deviations = np.sqrt(np.diagonal(covariance(posterior)[0]))
    np.testing.assert_array_less(np.abs(posterior.mean[0] - truth), 4.0 * deviations)
    np.testing.assert_array_less(deviations, 0.1)


def test_typical_sizes_are_geometric_means() -> None:
    model = ReadingModel(2, "none", context=1)
    _, U, y = readings(66, 2, 9)
    w = np.random.default_rng(67).standard_normal((9, 1))
    posterior, _ = learn(model, U, y, W=w)
    expected = [stats.gmean(np.linalg.norm(U, axis=1) / math.sqrt(2.0)), stats.gmean(np.abs(w[:, 0]))]
    np.testing.assert_allclose(posterior.sizes[0], expected, rtol=1e-12)


# ---- the precision of a reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("base_load", [None, 0.0])
@pytest.mark.parametrize("position", [0, 3])
def test_a_reading_of_precision_four_equals_four_readings(base_load: float | None, position: int) -> None:
    model = ReadingModel(2, "direction")
    _, U, y = readings(71, 2, 6)
    repeats = np.where(np.arange(6) == position, 4, 1)
    once = Posterior.start(model, 1, base_load=base_load)
    for k in range(6):
        precision = repeats[k : k + 1].astype(np.float64)
        once = once.update(model, U[k : k + 1], y[k : k + 1], precision=precision, fit=NO_FIT)
    often = Posterior.start(model, 1, base_load=base_load)
    often, _ = learn(model, np.repeat(U, repeats, axis=0), np.repeat(y, repeats), often, fits=False)
    # Relative errors, which are less than 1e-9 here, are not averaged by a higher precision of the noise.
    assert_close(gram(once), gram(often), 1e-8)
    assert_close(once.mean, often.mean, 1e-8)
    assert_close(covariance(once), covariance(often), 1e-8)
    np.testing.assert_allclose(once.level, often.level, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(once.level_variance, often.level_variance, rtol=1e-8)


@pytest.mark.parametrize("base_load", [None, 0.0])
def test_a_reading_of_precision_zero_has_no_effect(base_load: float | None) -> None:
    model = ReadingModel(2, "direction")
    _, U, y = readings(72, 2, 8)
    posterior, _ = learn(model, U, y, Posterior.start(model, 1, base_load=base_load))
    after = posterior.update(model, U[:1], y[:1] + 100.0, precision=np.zeros(1))
    assert arrays(after, 0) == arrays(posterior, 0)


def test_the_density_of_a_precise_reading_is_that_of_a_smaller_noise() -> None:
    model = ReadingModel(2, "none")
    posterior = arbitrary_posterior(model, 2)
    u, y = np.array([[0.4, -1.2]]), np.array([0.5])
    expected, variance, noise = posterior.predict(model.features(u))
    after = posterior.update(model, u, y, precision=np.array([4.0]))
    density = stats.norm.logpdf(y, expected, np.sqrt(variance + np.square(noise) / 4.0))
    assert after.log_evidence == pytest.approx(density, rel=1e-12)
    assert after.log_jacobian[0] == pytest.approx(math.log(2.0))


# ---- predictions -----------------------------------------------------------------------------------------------------


def test_the_posterior_starts_from_the_prior() -> None:
    posterior = Posterior.start(ReadingModel(3, "none"), 2)
    weights = stats.norm.pdf(LOG_SCALES, scale=LOG_SCALE_DEVIATION)
    s, square = (np.average(np.exp(k * LOG_SCALES), weights=weights) for k in (1.0, 2.0))
    np.testing.assert_allclose(smat(posterior.mean), np.tile(s * np.eye(3), (2, 1, 1)), rtol=1e-14)
    np.testing.assert_allclose(covariance(posterior)[1] / square, prior_covariance(3), atol=1e-14)
    np.testing.assert_allclose(posterior.scale, s, rtol=1e-14)


def test_a_reading_at_zero_leaves_the_prior() -> None:
    model = ReadingModel(3, "none")
    before = Posterior.start(model, 1)
    after = before.update(model, np.zeros((1, 3)), np.array([0.7]))
    np.testing.assert_allclose(after.mean, before.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(covariance(after), covariance(before), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(after.scale, before.scale, rtol=1e-12)


@pytest.mark.parametrize("bias", BIASES)
def test_a_prediction_is_the_row_times_the_mean_and_the_covariance(bias: Bias) -> None:
    model = ReadingModel(3, bias)
    _, U, y = readings(8, 3, 7)
    posterior, _ = learn(model, U, y)
    u = np.array([[1.0, -2.0, 0.5]])
    row = np.concatenate(design(model, u), axis=1)[0]
    expected, variance, noise = posterior.predict(model.features(u))
    # An inner product and a square differ by round-off only.
    assert expected[0] == pytest.approx(row @ posterior.mean[0], rel=1e-12)
    assert variance[0] == pytest.approx(row @ covariance(posterior)[0] @ row, rel=1e-12)
    np.testing.assert_array_equal(noise, posterior.noise)
    same, cross = posterior.cross_covariance(model, model.features(u)[:, None])
    assert same[0] == pytest.approx(variance, rel=1e-12)
    assert_close(svec(cross[0, 0]), (covariance(posterior)[0] @ row)[-model.unknowns :], 1e-12)


def test_deviations_are_those_of_quadratic_forms_of_draws() -> None:
    _, U, y = readings(28, 3, 12)
    posterior, _ = learn(ReadingModel(3), U, y)
    rng = np.random.default_rng(29)
    directions = rng.standard_normal((1, 4, 3))
    draws = smat(rng.standard_normal((40_000, 12)) @ posterior.root[0, -6:].T)
    forms = np.einsum("ki,nij,kj->nk", directions[0], draws, directions[0])
    # The relative error of a deviation of n normal draws is 1 / sqrt(2 n), here 0.0035.
    np.testing.assert_allclose(posterior.deviations(directions)[0], forms.std(axis=0), rtol=0.016)
    identity = np.trace(draws, axis1=1, axis2=2) / math.sqrt(3.0)
    assert posterior.identity_deviation(ReadingModel(3))[0] == pytest.approx(identity.std(), rel=0.016)


# ---- Potter's steps ------------------------------------------------------------------------------------------------


def test_many_potter_steps_are_one_update_with_all_rows() -> None:
    model = ReadingModel(3, "direction")
    posterior = arbitrary_posterior(model, 1)
    _, U, y = readings(10, 3, 60)
    after, weights = learn(model, U, y, posterior, fits=False)
    rows = weights[:, None] * np.concatenate(design(model, U), axis=1)
    mean, P = bayes(posterior.mean[0], covariance(posterior)[0], rows, weights * y, 0.3)
    # The dense covariance shrinks by 1e4 and loses four digits; the steps lose none.
    assert_close(after.mean[0], mean, 1e-9)
    assert_close(covariance(after)[0], P, 1e-9)
    assert after.readings[0] == 110.0


PINNED = 0.05
"""A cap far below the noise of `noisy` readings: much smaller noise has no density that matters."""


def noisy(seed: int, d: int, n: int) -> tuple[Array, Array]:
    """Return readings at large u with noise one."""
    _, U, y = readings(seed, d, n, noise=1.0, size=20.0)
    return U, y


@pytest.mark.parametrize("bias", BIASES)
def test_a_hundred_potter_steps_agree_with_a_fit_to_all_readings(bias: Bias) -> None:
    model = ReadingModel(2, bias, noise_cap=PINNED)
    U, y = noisy(12, 2, 120)
    early, _ = learn(model, U[:20], y[:20])
    late, _ = learn(model, U[20:], y[20:], early, fits=False)
    fitted = fit(model, late)
    # With 20 readings whose squares are 400 times that of the cap, the density of log sigma decays within 1 / 8000.
    assert late.noise[0] == pytest.approx(PINNED, rel=5e-4)
    assert fitted.noise[0] == pytest.approx(PINNED, rel=5e-4)
    # Only the weights of the scales s differ. The posterior deviation of A after 20 readings is about 1e-4, and the
    # prior for s = 0.1 moves A by (1e-4 / 0.1)^2 for each prior deviation.
    deviations = np.sqrt(np.diagonal(covariance(fitted)[0]))
    np.testing.assert_array_less(np.abs(late.mean[0] - fitted.mean[0]), 1e-3 * deviations)
    assert_close(covariance(late)[0], covariance(fitted)[0], 1e-3)


def test_fits_follow_each_early_reading_then_each_tenth_and_each_fifth_more(grids: list[Array]) -> None:
    model = ReadingModel(3, "none")
    _, U, y = readings(13, 3, 120)
    posterior, fits = Posterior.start(model, 1), []
    for k in range(120):
        before = len(grids)
        posterior = posterior.update(model, U[k : k + 1], y[k : k + 1])
        if len(grids) > before:
            fits.append(k + 1)
    assert fits == [n for n in fit_ages(model, restarted=False) if n <= 120]
    assert fits[:12] == [*range(1, 13)]  # twice the number of unknowns
    late = np.array(fits[12:])
    growth = np.diff(late) / late[:-1]
    # Growth by a tenth, and from 64 readings on by a fifth, in whole readings.
    share = np.where(late < 64, 0.1, 0.2)
    assert 120 - late[-1] < share[-1] * late[-1] + 1.0
    np.testing.assert_array_less(growth, share[:-1] + 1.0 / late[:-1])
    np.testing.assert_array_less(share[:-1] - 1e-12, growth)


# ---- several rows at once ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forgetting", [1.0, 0.95])
@pytest.mark.parametrize("base_load", [None, 0.0, 0.5])
def test_several_rows_are_the_same_as_one_after_the_other(forgetting: float, base_load: float | None) -> None:
    model = ReadingModel(3, "direction", offset=True, forgetting=forgetting)
    rng = np.random.default_rng(83)
    u, y = rng.standard_normal((4, 25, 3)), rng.standard_normal((4, 25)) + 5.0
    y[1, 3:7], y[:, 11], y[2] = np.nan, np.nan, np.nan
    start = Posterior.start(model, 4, base_load=base_load)
    if base_load == 0.5:  # the last run has an offset that walks as well
        start = with_walking_offset(start, np.array([0.0, 0.0, 0.0, 0.1]), np.ones(4))
    one_by_one = start
    for k in range(25):
        one_by_one = one_by_one.update(model, u[:, k], y[:, k], fit=False)
    features = np.stack([model.features(u[:, k]) for k in range(25)], axis=1)
    together = start.update_rows(model, u, y, features)
    seen = np.array([True, True, False, True])
    a, b = fit_some(model, one_by_one, seen), fit_some(model, together, seen)
    for name in (
        "readings",
        "total_readings",
        "second_moment",
        "log_sizes",
        "max_abs_reading",
        "level",
        "log_jacobian",
    ):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name), rtol=1e-12, atol=1e-12, err_msg=name)
    for name in ("mean", "noise", "scale", "log_marginal", "walk_mean", "walk_covariance"):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name), rtol=1e-6, atol=1e-6, err_msg=name)
    expected = b.expected(features)
    for k in (0, 24):
        np.testing.assert_array_equal(b.predicted_mean(features[:, k]), b.predict(features[:, k])[0])
        np.testing.assert_allclose(expected[:, k][seen], b.predict(features[:, k])[0][seen], rtol=1e-12)


def fit_some(model: ReadingModel, posterior: Posterior, which: Any) -> Posterior:
    return posterior.fit(model, which, review=True)


# ---- stored rows and independent runs ------------------------------------------------------------------------------


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("bias", BIASES)
def test_runs_of_a_batch_are_independent(bias: Bias, forgetting: float) -> None:
    model = ReadingModel(2, bias, forgetting=forgetting)
    U, y = mixed_runs(0, 5, 60)
    together = learn_batch(model, U, y)
    for k in range(5):
        alone = learn_batch(model, U[k : k + 1], y[k : k + 1])
        for field in ("mean", "noise", "scale", "readings", "second_moment", "max_abs_reading"):
            ours, single = getattr(together, field)[k], getattr(alone, field)[0]
            # Products over a batch may be summed in another order than those of one run.
            np.testing.assert_allclose(ours, single, rtol=1e-9, atol=1e-12, err_msg=field)
        assert_close(covariance(together)[k], covariance(alone)[0], 1e-9)
        assert together.buffer_rows[k] == alone.buffer_rows[0]


@pytest.mark.parametrize("base_load", [None, 0.5])
def test_a_missing_reading_changes_no_bit_while_other_runs_learn(base_load: float | None) -> None:
    model = ReadingModel(2, "direction", forgetting=0.99)
    rng = np.random.default_rng(15)
    _, U, y = readings(16, 2, 120)
    posterior = Posterior.start(model, 3, base_load=base_load)
    if base_load is not None:
        posterior = posterior.update(model, np.ones((3, 2)), np.ones(3))
    for k in range(40):
        observed = rng.random(3) < 0.6
        reading = np.where(observed, y[3 * k : 3 * k + 3], np.nan)
        # The point of a missing reading does not matter.
        u = np.where(observed[:, None], U[3 * k : 3 * k + 3], np.inf)
        after = posterior.update(model, u, reading)
        for run in range(3):
            before, now = arrays(posterior, run), arrays(after, run)
            if observed[run]:
                assert now["mean"] != before["mean"]
                assert now["root"] != before["root"]
                assert after.readings[run] == pytest.approx(0.99 * posterior.readings[run] + 1.0)
            else:
                assert now == before
        posterior = after


def test_a_subset_has_the_runs_of_its_index_and_learns_like_them() -> None:
    model = ReadingModel(2, "direction", offset=True)
    U, y = mixed_runs(3, 4, 20)
    posterior = Posterior.start(model, 4, base_load=0.1)
    for k in range(19):
        posterior = posterior.update(model, U[:, k], y[:, k])
    every = np.arange(4)
    indices: tuple[Any, ...] = (np.array([2, 0]), np.array([True, False, False, True]), slice(1, 3))
    for index in indices:
        part = posterior.take(index)
        assert [arrays(part, k) for k in range(2)] == [arrays(posterior, run) for run in every[index]]
        after = posterior.update(model, U[:, 19], y[:, 19])
        alone = part.update(model, U[index, 19], y[index, 19])
        np.testing.assert_allclose(alone.mean, after.mean[index], rtol=1e-9, atol=1e-12)


def test_concatenated_runs_are_those_of_the_parts_in_order() -> None:
    model = ReadingModel(2, "direction")
    U, y = mixed_runs(4, 4, 20)
    posterior = learn_batch(model, U, y)
    parts = [posterior.take(np.array([3])), posterior.take(slice(0, 2)), posterior.take(np.zeros(4, dtype=np.bool_))]
    together = Posterior.concatenate(parts)
    assert [arrays(together, k) for k in range(3)] == [arrays(posterior, run) for run in (3, 0, 1)]


def test_an_update_does_not_modify_the_previous_posterior() -> None:
    model = ReadingModel(2, "none")
    U, y = mixed_runs(2, 3, 80)
    posterior = Posterior.start(model, 3)
    for k in range(80):
        before = [arrays(posterior, run) for run in range(3)]
        after = posterior.update(model, U[:, k], y[:, k])
        posterior.fit(model, np.array([True, False, True]))
        without_readings(posterior, np.array([False, True, True]))
        assert [arrays(posterior, run) for run in range(3)] == before
        posterior = after


@pytest.mark.parametrize("bias", BIASES)
def test_rows_keep_their_gram_matrix_when_they_become_part_of_the_factor(bias: Bias) -> None:
    model = ReadingModel(2, bias)
    _, U, y = readings(18, 2, 60)
    posterior = Posterior.start(model, 1)
    capacity = posterior.buffer.shape[1]
    rows = np.column_stack([*design(model, U), y])
    merges = 0
    for k in range(60):
        posterior = posterior.update(model, U[k : k + 1], y[k : k + 1], fit=NO_FIT)
        merges += int(posterior.buffer_rows[0] == 1)
        # The noise is that of the prior, one: weights differ from one by (1e-6 |u|^2)^2 / 2, at most 1e-9 here.
        assert_close(gram(posterior), rows[: k + 1].T @ rows[: k + 1], 1e-8)
    assert merges == math.ceil(60 / capacity) > 5
    assert_close(posterior.second_moment[0], U.T @ U, 1e-8)


def test_readings_far_from_the_minimizer_have_less_weight_if_the_model_is_wrong(grids: list[Array]) -> None:
    model = ReadingModel(2, "none", trusted_distance=1.5)
    _, U, y = readings(53, 2, 6)
    posterior, weights = learn(model, U, y)
    assert weights.min() < 0.3
    assert weights.max() > 0.8
    Dense(model, U, y, weights, grids[-1], max_abs_reading=float(posterior.max_abs_reading[0])).assert_agrees_with(
        fit(model, posterior)
    )


def test_the_relative_error_limits_the_weight_of_readings_at_large_u() -> None:
    model = ReadingModel(2, "direction")
    _, U, y = readings(3, 2, 7)
    U[2:] *= 10.0 ** np.arange(1.0, 6.0)[:, None]
    y[2:] *= 100.0 ** np.arange(1.0, 6.0)
    posterior, weights = learn(model, U[:2], y[:2])
    posterior, weights = learn(model, U[2:], y[2:], posterior, fits=False)
    # With a relative error of 1e-6 and noise sigma, the weight of a row is sigma^2 / (sigma^2 + (1e-6 |u|^2)^2).
    assert weights[0] > 0.99
    assert weights[-1] < 1e-4
    rows = weights[:, None] * np.column_stack([*design(model, U[2:]), y[2:]])
    np.testing.assert_allclose(posterior.buffer[0, 2:], rows, rtol=1e-12)
    assert posterior.max_abs_reading[0] == pytest.approx(max(np.abs(y[:2]).max(), np.abs(rows[:, -1]).max()))


# ---- forgetting and restarts ---------------------------------------------------------------------------------------


def test_with_forgetting_the_average_is_that_of_discounted_rows(grids: list[Array]) -> None:
    model = ReadingModel(2, "constant", forgetting=0.8)
    _, U, y = readings(19, 2, 9)
    posterior, weights = learn(model, U, y)
    fading = 0.8 ** np.arange(8, -1, -1)
    posterior = fit(model, posterior)
    Dense(model, U, y, weights * np.sqrt(fading), grids[-1], count=fading.sum()).assert_agrees_with(posterior)
    assert posterior.readings[0] == pytest.approx(fading.sum())


def test_with_forgetting_the_mean_is_that_of_weighted_least_squares() -> None:
    model = ReadingModel(2, "none", noise_cap=PINNED, forgetting=0.9)
    (U, old), (later, new) = noisy(20, 2, 30), noisy(21, 2, 30)
    U, y = np.concatenate([U, later]), np.concatenate([old, new])  # A changes after 30 readings
    posterior, weights = learn(model, U, y)
    roots = weights * np.sqrt(0.9 ** np.arange(59, -1, -1))
    _, B = design(model, U)
    theirs, *_ = np.linalg.lstsq(roots[:, None] * B, roots * y, rcond=None)
    # The posterior deviation of A is about 1e-4, so the weight of the prior for s = 1 is 1e-8 of that of the readings.
    assert_close(fit(model, posterior).mean[0], theirs, 1e-6)
    outer = np.einsum("n,ni,nj->ij", weights * 0.9 ** np.arange(59, -1, -1), U, U)
    assert_close(posterior.second_moment[0], outer, 1e-9)


# ---- numbers of every size -----------------------------------------------------------------------------------------


def test_readings_in_another_unit_give_the_estimate_in_that_unit() -> None:
    model = ReadingModel(2, "direction")
    _, U, y = readings(24, 2, 80, noise=0.002)
    plain, _ = learn(model, U, y)
    scaled, _ = learn(model, U, 1000.0 * y)
    plain, scaled = fit(model, plain), fit(model, scaled)
    # The largest s is 100, so A = 1000 is ten prior deviations away. With a noise of 2 the posterior deviation is about
    # 0.1, and the prior moves A by 10 (0.1 / 100)^2 of it.
    assert_close(scaled.mean[0, -3:], 1000.0 * plain.mean[0, -3:], 1e-5)
    assert scaled.noise[0] == pytest.approx(1000.0 * plain.noise[0], rel=1e-3)
    assert_close(covariance(scaled)[0], 1e6 * covariance(plain)[0], 1e-3)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("base_load", [None, 0.1])
@pytest.mark.parametrize("sizes", [(1e150,), (1e-150,), (0.0,), (1.0, 1e150), (1e-150, 1e150, 1.0)])
def test_points_of_any_size_give_finite_numbers(sizes: tuple[float, ...], base_load: float | None, bias: Bias) -> None:
    model = ReadingModel(2, bias, offset=base_load is not None)
    rng = np.random.default_rng(25)
    posterior = Posterior.start(model, 1, base_load=base_load)
    for k in range(24):
        u = sizes[k % len(sizes)] * rng.standard_normal((1, 2))
        posterior = posterior.update(model, *clip_inputs(u, np.vecdot(u, u) + rng.standard_normal(1)))
        prediction = posterior.predict(model.features(clip_inputs(u, np.zeros(1))[0]))
        assert np.isfinite(prediction).all()
        for entry in fields(posterior):
            if entry.name not in ("noise_cap", "known_noise", "first_reading"):  # infinite and NaN for none
                assert np.isfinite(getattr(posterior, entry.name)).all(), entry.name


def test_a_reading_at_huge_u_does_not_spoil_the_estimate() -> None:
    model = ReadingModel(2, "none")
    A, U, y = readings(26, 2, 60, noise=0.1)
    posterior, _ = learn(model, U, y)
    error = np.abs(smat(posterior.mean[0]) - A).max()
    huge = np.array([[1e150, 2e150]])
    after = fit(model, posterior.update(model, *clip_inputs(huge, measure(huge, A))))
    # It determines A in its own direction and changes nothing else.
    assert np.abs(smat(after.mean[0]) - A).max() < 2.0 * error
    assert measure(huge[0] / 1e150, smat(after.mean[0]) - A) == pytest.approx(0.0, abs=1e-4)


def test_readings_of_zero_give_finite_numbers() -> None:
    model = ReadingModel(2, "direction")
    posterior, _ = learn(model, np.eye(2)[[0, 1, 0, 1, 0]], np.zeros(5))
    assert MIN_NOISE * 1e-12 < posterior.noise[0] < 1e-90
    # The smallest scale on the grid is 0.01, and readings of zero bound the diagonal of A by it.
    assert np.abs(np.diagonal(smat(posterior.mean[0, -3:]))).max() < 0.01


@pytest.mark.parametrize("cap", [0.0, 1e-3, 0.4])
def test_the_noise_stays_below_its_cap(cap: float) -> None:
    model = ReadingModel(2, "direction", noise_cap=cap)
    _, U, y = readings(27, 2, 40, noise=1.0)
    posterior = Posterior.start(model, 1)
    for k in range(40):
        posterior = posterior.update(model, U[k : k + 1], y[k : k + 1])
        # The exponential of a logarithm loses the last digits.
        assert 0.0 < posterior.noise[0] <= max(cap, MIN_NOISE) * (1.0 + 1e-12)
    free, _ = learn(ReadingModel(2, "direction"), U, y)
    assert free.noise[0] > 0.5  # without the cap, the noise is estimated


def test_the_noise_stays_near_the_noise_that_was_known() -> None:
    model = ReadingModel(2, "direction")
    for noise in (1e-4, 10.0):
        _, U, y = readings(57, 2, 40, noise=noise)
        posterior = replace(Posterior.start(model, 1), known_noise=np.array([0.1]))
        for k in range(40):
            posterior = posterior.update(model, U[k : k + 1], y[k : k + 1])
            assert posterior.noise[0] <= 0.2 * (1.0 + 1e-12)
        free, _ = learn(model, U, y)
        assert abs(math.log(posterior.noise[0] / 0.1)) < abs(math.log(free.noise[0] / 0.1))


def test_a_bound_on_the_noise_holds_in_its_own_run_only() -> None:
    model = ReadingModel(2, "none")
    _, U, y = readings(58, 2, 30, noise=1.0)
    posterior = replace(
        Posterior.start(model, 3),
        noise_cap=np.array([math.inf, 0.1, math.inf]),
        known_noise=np.array([math.nan, math.nan, 0.2]),
    )
    for k in range(30):
        posterior = posterior.update(model, np.tile(U[k], (3, 1)), np.tile(y[k], 3))
    alone, _ = learn(model, U, y)
    np.testing.assert_allclose(posterior.mean[0], alone.mean[0], rtol=1e-9)
    assert posterior.noise[0] == pytest.approx(alone.noise[0], rel=1e-9)
    np.testing.assert_allclose(posterior.noise[1:], [0.1, 0.4], rtol=0.05)  # noise of one pushes both to the bound


def test_readings_far_from_v_show_that_a_is_zero_there() -> None:
    rng, model = np.random.default_rng(0), ReadingModel(2, "none")
    U = rng.standard_normal((80, 2)) * [3.0, 1.0]
    U[40:, 1] *= 1e4  # the noise is known by then
    y = 0.5 * np.square(U[:, 0]) + rng.uniform(-1.0, 1.0, 80)
    posterior, _ = learn(model, U, y)
    deviation = posterior.deviations(np.array([[[0.0, 1.0]]]))[0, 0]
    # What the noise of 1/sqrt(3) leaves: the relative error of a reading adds little to it.
    expected = np.sqrt(1.0 / 3.0 / np.square(0.5 * U[:, 1] ** 2).sum())
    assert deviation < 3.0 * expected
    assert abs(posterior.mean[0, -1]) < 5.0 * expected
