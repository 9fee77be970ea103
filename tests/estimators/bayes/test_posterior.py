"""The posterior of A against dense Gaussian algebra on the raw readings, and the independence of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
import pytest
from scipy import stats

from soqo.estimators._measurements import measure, smat, svec
from soqo.estimators.bayes import RELATIVE_ERROR, Posterior, ReadingModel, clip_inputs
from soqo.estimators.bayes._marginal_likelihood import (
    _LOG_SCALES,
    _MIN_NOISE,
    _NOISE_PRIOR_EXPONENT,
    LOG_SCALE_DEVIATION,
)
from soqo.estimators.bayes._posterior import _fit_factor, triangular_factor
from soqo.typing import Array

Bias = Literal["direction", "constant", "none"]
BIASES: tuple[Bias, ...] = ("direction", "constant", "none")


# ---- readings ------------------------------------------------------------------------------------------------------


def readings(seed: int, d: int, n: int, noise: float = 0.3, size: float = 2.0) -> tuple[Array, Array, Array]:
    """Return a matrix, n points of different lengths and directions, and noisy readings there."""
    rng = np.random.default_rng([31, seed, d, n])
    F = rng.standard_normal((d, d))
    A = F @ F.T / d
    U = size * rng.standard_normal((n, d))
    return A, U, measure(U, A) + noise * rng.standard_normal(n)


def learn(model: ReadingModel, U: Array, y: Array, posterior: Posterior | None = None) -> tuple[Posterior, Array]:
    """Return the posterior of one run after the readings, and the weight that each should have."""
    posterior = Posterior.start(model, 1) if posterior is None else posterior
    weights = np.ones(len(y))
    for k in range(len(y)):
        if posterior.readings[0]:
            relative = RELATIVE_ERROR * float(U[k] @ U[k]) / float(posterior.noise[0])
            weights[k] = 1.0 / math.hypot(1.0, relative)
        posterior = posterior.update(model, U[k : k + 1], y[k : k + 1])
    return posterior, weights


def without_fits(posterior: Posterior) -> Posterior:
    """Return a posterior without further fits of the noise and the scale."""
    return replace(posterior, next_fit=np.full(posterior.next_fit.shape, np.inf))


def fit(model: ReadingModel, posterior: Posterior) -> Posterior:
    """Return the posterior with a fit in every run."""
    return posterior.fit(model, np.ones(posterior.readings.shape, dtype=np.bool_))


def covariance(posterior: Posterior) -> Array:
    return np.asarray(posterior.root @ posterior.root.mT)


def arrays(posterior: Posterior, run: int) -> dict[str, bytes]:
    """Return the bytes of all arrays of a run."""
    return {field.name: getattr(posterior, field.name)[run].tobytes() for field in fields(posterior)}


def assert_close(ours: Array, dense: Array, share: float) -> None:
    """Assert that entries agree up to a share of the largest."""
    np.testing.assert_allclose(ours, dense, rtol=0.0, atol=share * np.abs(dense).max())


# ---- dense algebra --------------------------------------------------------------------------------------


def design(model: ReadingModel, U: Array) -> tuple[Array, Array]:
    """Return the rows by which svec(A) and N are multiplied, from the definition of a reading."""
    basis = smat(np.eye(model.unknowns))
    forms = np.einsum("ni,kij,nj->nk", U, basis, U)
    bias = {
        "direction": forms / np.einsum("ni,ni->n", U, U)[:, None],
        "constant": np.ones((len(U), 1)),
        "none": np.zeros((len(U), 0)),
    }[model.bias]
    return 0.5 * forms, bias


def prior_covariance(d: int) -> Array:
    """Return a covariance with deviation 1 in each direction of svec(A), and 3 along the identity."""
    along = svec(np.eye(d)) / math.sqrt(d)
    return np.asarray(np.eye(along.size) + (9.0 - 1.0) * np.outer(along, along))


def log_density(y: Array, mean: Array, covariance: Array) -> float:
    factor = stats.Covariance.from_cholesky(np.linalg.cholesky(covariance))
    return float(stats.multivariate_normal.logpdf(y, mean, factor))


@dataclass
class Dense:
    """The posterior of svec(A) averaged over every (sigma, s), from the n x n covariances of the readings."""

    model: ReadingModel
    U: Array
    y: Array
    weights: Array
    center: Array
    unit: float = 1.0
    count: float | None = None

    def __post_init__(self) -> None:
        B, H = design(self.model, self.U)
        self.B, self.H = self.weights[:, None] * B, self.weights[:, None] * H
        self.y = self.weights * self.y
        self.prior = self.unit**2 * prior_covariance(self.model.dim)
        self._average()

    def noises(self) -> Array:
        """Return sigma in octaves from twice to 1e-12 times the largest reading, not above the cap."""
        largest = np.abs(self.y).max()
        sigma = largest * 2.0 ** np.arange(1, -39, -1)
        sigma = np.minimum(sigma, np.inf if self.model.noise_cap is None else self.model.noise_cap)
        # With more readings than unknowns, covariances of smaller noise are numerically singular.
        floor = 1e-5 * largest if len(self.y) > self.model.unknowns else 0.0
        return np.asarray(sigma[sigma > floor])

    def given(self, sigma: float, s: float) -> tuple[float, Array, Array]:
        """Return the log-density of the readings, and the mean and covariance of svec(A), for one pair."""
        B, theta, P = self.B, s * svec(self.center), s * s * self.prior
        n = len(self.y)
        noise = sigma**2 * (np.eye(n) + self.model.kappa**2 * self.H @ self.H.T)
        total = B @ P @ B.T + noise
        gain = np.linalg.solve(total, B @ P).T
        density = log_density(self.y, B @ theta, total)
        if self.count is not None:
            # The readings have a smaller total weight than there are rows.
            density += (n - self.count) * math.log(sigma)
        return density, theta + gain @ (self.y - B @ theta), P - gain @ B @ P

    def _average(self) -> None:
        sigmas, scales = self.noises(), np.exp(_LOG_SCALES)
        logs = np.zeros((sigmas.size, scales.size))
        means = np.zeros((*logs.shape, self.model.unknowns))
        covariances = np.zeros((*means.shape, self.model.unknowns))
        for i, sigma in enumerate(sigmas):
            for j, s in enumerate(scales):
                logs[i, j], means[i, j], covariances[i, j] = self.given(sigma, s)
                logs[i, j] += _NOISE_PRIOR_EXPONENT * math.log(sigma)
                logs[i, j] -= 0.5 * (math.log(s) / LOG_SCALE_DEVIATION) ** 2
        if sigmas.size < 40:
            # The noise that is left out is less likely: the misfit is inversely proportional to its square.
            assert logs[-1].max() < logs.max() - 50.0
        w = np.exp(logs - logs.max())
        w /= w.sum()
        self.mean = np.einsum("ij,ijk->k", w, means)
        self.covariance = np.einsum("ij,ijkl->kl", w, covariances)
        self.noise = math.exp(float(w.sum(axis=1) @ np.log(sigmas)))
        self.scale = self.unit * float(w.sum(axis=0) @ scales)

    def assert_agrees_with(self, posterior: Posterior) -> None:
        """Assert agreement; a solve with a covariance of condition 1e9 loses up to nine of sixteen digits."""
        p = self.model.unknowns
        assert_close(posterior.mean[0, :p], self.mean, 1e-6)
        assert_close(covariance(posterior)[0, :p, :p], self.covariance, 1e-6)
        assert posterior.noise[0] == pytest.approx(self.noise, rel=1e-6)
        assert posterior.scale[0] == pytest.approx(self.scale, rel=1e-6)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize(("d", "n"), [(2, 2), (2, 3), (2, 8), (3, 3), (3, 6), (3, 12)])
def test_the_average_over_noise_and_scale_is_that_of_dense_algebra(d: int, n: int, bias: Bias) -> None:
    model = ReadingModel(d, bias, kappa=0.7)
    _, U, y = readings(1, d, n)
    posterior, weights = learn(model, U, y)
    assert posterior.buffer_rows[0] == 0  # the last reading was followed by a fit
    Dense(model, U, y, weights, np.eye(d)).assert_agrees_with(posterior)


def test_a_cap_on_the_noise_replaces_all_larger_values() -> None:
    capped = ReadingModel(2, "constant", noise_cap=0.2)
    _, U, y = readings(2, 2, 8, noise=0.6)
    posterior, weights = learn(capped, U, y)
    Dense(capped, U, y, weights, np.eye(2)).assert_agrees_with(posterior)


@pytest.mark.parametrize("bias", ["direction", "constant"])
@pytest.mark.parametrize(("n", "kappa"), [(2, 1.0), (8, 1.0), (8, 3.0)])
def test_the_bias_given_A_is_conditioned_on_the_readings(n: int, kappa: float, bias: Bias) -> None:
    model = ReadingModel(2, bias, kappa=kappa)
    _, U, y = readings(4, 2, n)
    posterior, weights = learn(model, U, y)
    p, q, sigma = model.unknowns, model.biases, float(posterior.noise[0])
    B, H = (weights[:, None] * rows for rows in design(model, U))
    # y - B svec(A) = H N + sigma e, with N of deviation kappa sigma.
    own = (kappa * sigma) ** 2
    gain = own * H.T @ np.linalg.inv(own * H @ H.T + sigma**2 * np.eye(n))
    mean, joint = posterior.mean[0], covariance(posterior)[0]
    assert_close(mean[p:], gain @ (weights * y - B @ mean[:p]), 1e-9)
    assert_close(joint[p:, :p], -gain @ B @ joint[:p, :p], 1e-9)
    conditional = own * (np.eye(q) - gain @ H)
    assert_close(joint[p:, p:], conditional + gain @ B @ joint[:p, :p] @ B.T @ gain.T, 1e-9)


def test_a_fit_to_the_factor_gives_the_posterior() -> None:
    model = ReadingModel(3, "direction")
    _, U, y = readings(5, 3, 9)
    posterior, weights = learn(model, U, y)
    B, H = design(model, U)
    # The fit depends on the Gram matrix of the rows only, not on their order and signs.
    rows = (weights[:, None] * np.column_stack([H, B, y]))[::-1] * (-1.0) ** np.arange(9)[:, None]
    factor = triangular_factor(np.concatenate([np.zeros_like(posterior.factor), rows[None]], axis=1))
    found = _fit_factor(model, posterior, factor, np.zeros(1, dtype=np.int64))
    assert_close(found["mean"], posterior.mean, 1e-9)
    assert_close(found["root"] @ found["root"].mT, covariance(posterior), 1e-9)
    assert found["noise"] == pytest.approx(posterior.noise, rel=1e-9)
    assert found["scale"] == pytest.approx(posterior.scale, rel=1e-9)


# ---- predictions -----------------------------------------------------------------------------------------------------


def test_the_posterior_starts_from_the_prior() -> None:
    posterior = Posterior.start(ReadingModel(3, "none"), 2)
    weights = stats.norm.pdf(_LOG_SCALES, scale=LOG_SCALE_DEVIATION)
    s, square = (np.average(np.exp(k * _LOG_SCALES), weights=weights) for k in (1.0, 2.0))
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
    expected, variance = posterior.predict(model.features(u))
    # An inner product and a square differ by round-off only.
    assert expected[0] == pytest.approx(row @ posterior.mean[0], rel=1e-12)
    assert variance[0] == pytest.approx(row @ covariance(posterior)[0] @ row, rel=1e-12)
    same, cross = posterior.cross_covariance(model, model.features(u))
    assert same == variance
    assert_close(svec(cross[0]), (covariance(posterior)[0] @ row)[: model.unknowns], 1e-12)


def test_deviations_are_those_of_quadratic_forms_of_draws() -> None:
    _, U, y = readings(28, 3, 12)
    posterior, _ = learn(ReadingModel(3), U, y)
    rng = np.random.default_rng(29)
    directions = rng.standard_normal((1, 4, 3))
    draws = smat(rng.standard_normal((40_000, 12)) @ posterior.root[0, :6].T)
    forms = np.einsum("ki,nij,kj->nk", directions[0], draws, directions[0])
    # The relative error of a deviation of n normal draws is 1 / sqrt(2 n), here 0.0035.
    np.testing.assert_allclose(posterior.deviations(directions)[0], forms.std(axis=0), rtol=0.016)
    identity = np.trace(draws, axis1=1, axis2=2) / math.sqrt(3.0)
    assert posterior.identity_deviation(ReadingModel(3))[0] == pytest.approx(identity.std(), rel=0.016)


# ---- Potter's steps ------------------------------------------------------------------------------------------------


def arbitrary_posterior(model: ReadingModel, seed: int) -> Posterior:
    """Return a posterior with an arbitrary mean and root, as if after many readings."""
    rng = np.random.default_rng([9, seed])
    size = model.unknowns + model.biases
    posterior = Posterior.start(model, 1)
    return without_fits(
        replace(
            posterior,
            mean=rng.standard_normal((1, size)),
            root=np.eye(size) + 0.2 * rng.standard_normal((1, size, size)),
            noise=np.array([0.3]),
            readings=np.array([50.0]),
        )
    )


def bayes(mean: Array, P: Array, rows: Array, y: Array, sigma: float) -> tuple[Array, Array]:
    """Return the mean and covariance given y = rows x + sigma e, in one step."""
    gain = P @ rows.T @ np.linalg.inv(rows @ P @ rows.T + sigma**2 * np.eye(len(y)))
    return mean + gain @ (y - rows @ mean), P - gain @ rows @ P


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weight", [1.0, 0.2])
def test_a_potter_step_is_the_dense_update(bias: Bias, weight: float) -> None:
    model = ReadingModel(2, bias)
    posterior = arbitrary_posterior(model, 0)
    u, y = np.array([[0.4, -1.2]]), np.array([2.5])
    row = weight * np.concatenate(design(model, u), axis=1)
    after = posterior._potter_step(model, weight * model.features(u), weight * y, np.array([weight]))
    mean, P = bayes(posterior.mean[0], covariance(posterior)[0], row, weight * y, 0.3)
    # One division by the variance: round-off only.
    assert_close(after.mean[0], mean, 1e-12)
    assert_close(covariance(after)[0], P, 1e-12)


def test_many_potter_steps_are_one_update_with_all_rows() -> None:
    model = ReadingModel(3, "direction")
    posterior = arbitrary_posterior(model, 1)
    _, U, y = readings(10, 3, 60)
    after, weights = learn(model, U, y, posterior)
    rows = weights[:, None] * np.concatenate(design(model, U), axis=1)
    mean, P = bayes(posterior.mean[0], covariance(posterior)[0], rows, weights * y, 0.3)
    # The dense covariance shrinks by 1e4 and loses four digits; the steps lose none.
    assert_close(after.mean[0], mean, 1e-9)
    assert_close(covariance(after)[0], P, 1e-9)
    assert after.readings[0] == 110.0


PINNED = 1e-13
"""A cap far below 1e-12 of any reading: it leaves one value of sigma, and the relative error 1e-6 |u|^2 dominates."""


def precise(seed: int, d: int, n: int) -> tuple[Array, Array]:
    """Return readings with an error of a millionth of |u|^2."""
    A, U, _ = readings(seed, d, n)
    errors = np.random.default_rng([11, seed]).standard_normal(n)
    return U, measure(U, A) + 1e-6 * np.vecdot(U, U) * errors


@pytest.mark.parametrize("bias", BIASES)
def test_a_hundred_potter_steps_agree_with_a_fit_to_all_readings(bias: Bias) -> None:
    # With kappa = 1e7, the bias is as large as the error of a reading.
    model = ReadingModel(2, bias, kappa=1e7, noise_cap=PINNED)
    U, y = precise(12, 2, 120)
    early, _ = learn(model, U[:20], y[:20])
    late, _ = learn(model, U[20:], y[20:], without_fits(early))
    fitted = fit(model, late)
    assert late.noise[0] == pytest.approx(PINNED)
    assert fitted.noise[0] == pytest.approx(PINNED)
    # Only the weights of the scales s differ. A prior a million times as wide as the posterior moves the mean by a
    # millionth of the posterior deviation for each prior deviation of A; the prior for s = 0.1, by a thousandth.
    deviations = np.sqrt(np.diagonal(covariance(fitted)[0]))
    np.testing.assert_array_less(np.abs(late.mean[0] - fitted.mean[0]), 2e-3 * deviations)
    # The first row has weight one, the others 1e-7: with this kappa, the decomposed matrix has condition 1e14.
    assert_close(covariance(late)[0], covariance(fitted)[0], 1e-3)


def test_fits_follow_each_early_reading_and_then_each_tenth_more() -> None:
    model = ReadingModel(3, "none")
    _, U, y = readings(13, 3, 120)
    posterior, fits = Posterior.start(model, 1), []
    for k in range(120):
        posterior = posterior.update(model, U[k : k + 1], y[k : k + 1])
        if posterior.buffer_rows[0] == 0:
            fits.append(k + 1)
    expected = [*range(1, 13)]  # twice the number of unknowns
    while (later := math.ceil(round(1.1 * expected[-1], 9))) <= 120:
        expected.append(later)
    assert fits == expected


# ---- stored rows and independent runs ------------------------------------------------------------------------------


def mixed_runs(seed: int, runs: int, n: int) -> tuple[Array, Array]:
    """Return readings of runs with different matrices, sizes and noise, some of them missing."""
    rng = np.random.default_rng([14, seed])
    size = 10.0 ** rng.uniform(-1.0, 1.0, (runs, 1, 1))
    U = size * rng.standard_normal((n, runs, 2)).swapaxes(0, 1)
    y = np.stack([measure(U[k], readings(k, 2, 1)[0]) for k in range(runs)])
    y = y + rng.uniform(0.01, 1.0, (runs, 1)) * rng.standard_normal((runs, n))
    y[rng.random((runs, n)) < 0.2] = np.nan
    return U, y


def learn_batch(model: ReadingModel, U: Array, y: Array) -> Posterior:
    """Return the posterior of a batch of runs after all readings."""
    posterior = Posterior.start(model, len(U))
    for k in range(U.shape[1]):
        posterior = posterior.update(model, U[:, k], y[:, k])
    return posterior


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("bias", BIASES)
def test_runs_of_a_batch_are_independent(bias: Bias, forgetting: float) -> None:
    model = ReadingModel(2, bias, forgetting=forgetting)
    U, y = mixed_runs(0, 5, 60)
    together = learn_batch(model, U, y)
    for k in range(5):
        alone = learn_batch(model, U[k : k + 1], y[k : k + 1])
        for field in ("mean", "noise", "scale", "readings", "second_moment", "next_fit", "max_abs_reading"):
            ours, single = getattr(together, field)[k], getattr(alone, field)[0]
            # Products over a batch may be summed in another order than those of one run.
            np.testing.assert_allclose(ours, single, rtol=1e-9, atol=1e-12, err_msg=field)
        assert_close(covariance(together)[k], covariance(alone)[0], 1e-9)
        assert together.buffer_rows[k] == alone.buffer_rows[0]


def test_a_missing_reading_changes_no_bit_while_other_runs_learn() -> None:
    model = ReadingModel(2, "direction", forgetting=0.99)
    rng = np.random.default_rng(15)
    _, U, y = readings(16, 2, 120)
    posterior = Posterior.start(model, 3)
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


def test_an_update_does_not_modify_the_previous_posterior() -> None:
    model = ReadingModel(2, "none")
    U, y = mixed_runs(2, 3, 80)
    posterior = Posterior.start(model, 3)
    for k in range(80):
        before = [arrays(posterior, run) for run in range(3)]
        after = posterior.update(model, U[:, k], y[:, k])
        posterior.fit(model, np.array([True, False, True]))
        posterior.restart(np.array([False, True, True]), np.zeros((3, 2, 2)))
        assert [arrays(posterior, run) for run in range(3)] == before
        posterior = after


@pytest.mark.parametrize("bias", BIASES)
def test_rows_keep_their_gram_matrix_when_they_become_part_of_the_factor(bias: Bias) -> None:
    model = ReadingModel(2, bias)
    _, U, y = readings(18, 2, 60)
    posterior = without_fits(Posterior.start(model, 1))
    capacity = posterior.buffer.shape[1]
    rows = np.column_stack([*design(model, U)[::-1], y])
    merges = 0
    for k in range(60):
        posterior = posterior.update(model, U[k : k + 1], y[k : k + 1])
        merges += int(posterior.buffer_rows[0] == 1)
        factor, buffer = posterior.factor[0], posterior.buffer[0]
        kept = factor.T @ factor + buffer.T @ buffer
        # The noise is that of the prior, one: weights differ from one by (1e-6 |u|^2)^2 / 2, at most 1e-9 here.
        assert_close(kept, rows[: k + 1].T @ rows[: k + 1], 1e-8)
    assert merges == math.ceil(60 / capacity) > 5
    assert_close(posterior.second_moment[0], U.T @ U, 1e-8)


def test_the_relative_error_limits_the_weight_of_readings_at_large_u() -> None:
    model = ReadingModel(2, "direction")
    _, U, y = readings(3, 2, 9)
    U[4:] *= 10.0 ** np.arange(1.0, 6.0)[:, None]
    y[4:] *= 100.0 ** np.arange(1.0, 6.0)
    posterior, weights = learn(model, U[:4], y[:4])
    posterior, weights = learn(model, U[4:], y[4:], without_fits(posterior))
    # With a relative error of 1e-6 and noise sigma, the weight of a row is sigma^2 / (sigma^2 + (1e-6 |u|^2)^2).
    assert weights[0] > 0.99
    assert weights[-1] < 1e-4
    rows = weights[:, None] * np.column_stack([*design(model, U[4:])[::-1], y[4:]])
    np.testing.assert_allclose(posterior.buffer[0, :5], rows, rtol=1e-12)
    assert posterior.max_abs_reading[0] == pytest.approx(max(np.abs(y[:4]).max(), np.abs(rows[:, -1]).max()))


# ---- forgetting and restarts ---------------------------------------------------------------------------------------


def test_with_forgetting_the_average_is_that_of_discounted_rows() -> None:
    model = ReadingModel(2, "constant", forgetting=0.8)
    _, U, y = readings(19, 2, 9)
    posterior, weights = learn(model, U, y)
    fading = 0.8 ** np.arange(8, -1, -1)
    dense = Dense(model, U, y, weights * np.sqrt(fading), np.eye(2), count=fading.sum())
    # The largest reading, which determines the octaves of sigma, is not discounted.
    posterior = replace(posterior, max_abs_reading=np.abs(dense.y).max(keepdims=True))
    dense.assert_agrees_with(fit(model, posterior))
    assert posterior.readings[0] == pytest.approx(fading.sum())


def test_with_forgetting_the_mean_is_that_of_weighted_least_squares() -> None:
    model = ReadingModel(2, "none", noise_cap=PINNED, forgetting=0.9)
    (U, old), (later, new) = precise(20, 2, 30), precise(21, 2, 30)
    U, y = np.concatenate([U, later]), np.concatenate([old, new])  # A changes after 30 readings
    posterior, weights = learn(model, U, y)
    roots = weights * np.sqrt(0.9 ** np.arange(59, -1, -1))
    B, _ = design(model, U)
    theirs, *_ = np.linalg.lstsq(roots[:, None] * B, roots * y, rcond=None)
    # The weight of the prior is 1e-12 of that of a reading.
    assert_close(fit(model, posterior).mean[0], theirs, 1e-9)
    outer = np.einsum("n,ni,nj->ij", weights * 0.9 ** np.arange(59, -1, -1), U, U)
    assert_close(posterior.second_moment[0], outer, 1e-9)


@pytest.mark.parametrize("n", [2, 6])
def test_a_restart_keeps_only_the_matrix_and_the_scale(n: int) -> None:
    model = ReadingModel(2, "direction")
    _, U, y = readings(22, 2, 25, size=5.0)
    old, _ = learn(model, U, y)
    matrix = np.array([[2.0, 0.3], [0.3, 0.1]])
    restarted = old.restart(np.array([True]), matrix[None])
    _, U, y = readings(23, 2, n)
    new, weights = learn(model, U, y, restarted)
    unit = float(old.scale[0])
    Dense(model, U, y, weights, matrix, unit).assert_agrees_with(new)
    # A posterior with the same prior that never had the old readings is bit-identical.
    prior_mean, prior_unit = matrix[None], np.array([unit])
    fresh = replace(Posterior.start(model, 1), prior_mean=prior_mean, prior_unit=prior_unit)
    assert arrays(learn(model, U, y, fresh)[0], 0) == arrays(new, 0)


def test_a_restart_does_not_change_other_runs() -> None:
    model = ReadingModel(2, "direction")
    U, y = mixed_runs(1, 3, 30)
    posterior = learn_batch(model, U, y)
    after = posterior.restart(np.array([False, True, False]), np.full((3, 2, 2), 7.0))
    assert arrays(after, 0) == arrays(posterior, 0)
    assert arrays(after, 2) == arrays(posterior, 2)
    np.testing.assert_array_equal(after.prior_mean[1], 7.0)
    for name in ("factor", "buffer", "buffer_rows", "readings", "max_abs_reading", "second_moment"):
        np.testing.assert_array_equal(getattr(after, name)[1], 0.0, err_msg=name)


# ---- numbers of every size -----------------------------------------------------------------------------------------


def test_readings_in_another_unit_give_the_estimate_in_that_unit() -> None:
    model = ReadingModel(2, "direction")
    _, U, y = readings(24, 2, 80, noise=0.002)
    plain, _ = learn(model, U, y)
    scaled, _ = learn(model, U, 1000.0 * y)
    plain, scaled = fit(model, plain), fit(model, scaled)
    # The largest s is 100, so A = 1000 is ten prior deviations away. With a noise of 2 the posterior deviation is about
    # 0.1, and the prior moves A by 10 (0.1 / 100)^2 of it.
    assert_close(scaled.mean[0, :3], 1000.0 * plain.mean[0, :3], 1e-5)
    assert scaled.noise[0] == pytest.approx(1000.0 * plain.noise[0], rel=1e-3)
    assert_close(covariance(scaled)[0], 1e6 * covariance(plain)[0], 1e-3)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("sizes", [(1e150,), (1e-150,), (0.0,), (1.0, 1e150), (1e-150, 1e150, 1.0)])
def test_points_of_any_size_give_finite_numbers(sizes: tuple[float, ...], bias: Bias) -> None:
    model = ReadingModel(2, bias)
    rng = np.random.default_rng(25)
    posterior = Posterior.start(model, 1)
    for k in range(24):
        u = sizes[k % len(sizes)] * rng.standard_normal((1, 2))
        posterior = posterior.update(model, *clip_inputs(u, np.vecdot(u, u) + rng.standard_normal(1)))
        expected, variance = posterior.predict(model.features(clip_inputs(u, np.zeros(1))[0]))
        for field in fields(posterior):
            if field.name != "next_fit":
                assert np.isfinite(getattr(posterior, field.name)).all(), field.name
        assert np.isfinite(expected).all()
        assert np.isfinite(variance).all()


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
    assert _MIN_NOISE * 1e-12 < posterior.noise[0] < 1e-90
    # The smallest scale on the grid is 0.01, and readings of zero bound the diagonal of A by it.
    assert np.abs(np.diagonal(smat(posterior.mean[0, :3]))).max() < 0.01


@pytest.mark.parametrize("cap", [0.0, 1e-3, 0.4])
def test_the_noise_stays_below_its_cap(cap: float) -> None:
    model = ReadingModel(2, "direction", noise_cap=cap)
    _, U, y = readings(27, 2, 40, noise=1.0)
    posterior = Posterior.start(model, 1)
    for k in range(40):
        posterior = posterior.update(model, U[k : k + 1], y[k : k + 1])
        # The exponential of a logarithm loses the last digits.
        assert 0.0 < posterior.noise[0] <= max(cap, _MIN_NOISE) * (1.0 + 1e-12)
    free, _ = learn(ReadingModel(2, "direction"), U, y)
    assert free.noise[0] > 0.5  # without the cap, the noise is estimated
