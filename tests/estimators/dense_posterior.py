"""Readings, and the posterior of A from dense Gaussian algebra on them."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Literal

import numpy as np
import pytest
from scipy import stats

from soqo.estimators._measurements import measure, smat, svec
from soqo.estimators.bayes import RELATIVE_ERROR, Posterior, ReadingModel
from soqo.estimators.bayes._fits import VARIANTS, FitInput, VariantRows, without_bias
from soqo.estimators.bayes._marginal_likelihood import (
    KNOWN_NOISE_DEVIATION,
    KNOWN_NOISE_RANGE,
    LOG_SCALE_DEVIATION,
    LOG_SCALES,
    NOISE_PRIOR_EXPONENT,
)
from soqo.estimators.bayes._mixture import WhiteRows, mixture
from soqo.typing import Array

Bias = Literal["direction", "constant", "none"]
BIASES: tuple[Bias, ...] = ("direction", "constant", "none")


def fit_variant(
    model: ReadingModel, part: FitInput, rows: Array, *, offset: bool, white: WhiteRows | None = None
) -> dict[str, Array]:
    """Return the fit of one variant without its bias."""
    variant = VariantRows.of(model, part, rows, offset=offset, white=white)
    return variant.fit(variant.likelihood.average(variant.guess), evidence_only=False)


def only_variant(
    model: ReadingModel, posterior: Posterior, rows: Array, *, triangular: bool, offset: bool, biased: bool
) -> dict[str, Array]:
    """Return the fit of one variant, with the bias N among its unknowns."""
    white = without_bias(model, rows, triangular) if biased else None
    found = fit_variant(model, posterior.fit_input(), rows, offset=offset, white=white)
    alone = np.array([[variant == (offset, biased) for variant in VARIANTS]])
    fits = [found if own else {} for own in alone[0]]
    return {**found, **mixture(model, fits, alone, alone.astype(np.float64), white)}


# ---- readings ------------------------------------------------------------------------------------------------------


def readings(seed: int, d: int, n: int, noise: float = 0.3, size: float = 2.0) -> tuple[Array, Array, Array]:
    """Return a matrix, n points of different lengths and directions, and noisy readings there."""
    rng = np.random.default_rng([31, seed, d, n])
    F = rng.standard_normal((d, d))
    A = F @ F.T / d
    U = size * rng.standard_normal((n, d))
    return A, U, measure(U, A) + noise * rng.standard_normal(n)


NO_FIT = np.array([False])
"""For an update of one run without a fit of the noise and the scale."""


def learn(
    model: ReadingModel,
    U: Array,
    y: Array,
    posterior: Posterior | None = None,
    W: Array | None = None,
    *,
    fits: bool = True,
) -> tuple[Posterior, Array]:
    """Return the posterior of one run after the readings, and the weight that each should have."""
    posterior = Posterior.start(model, 1) if posterior is None else posterior
    weights = np.ones(len(y))
    for k in range(len(y)):
        square = float(U[k] @ U[k])
        relative = RELATIVE_ERROR * square / float(posterior.noise[0]) if posterior.max_abs_reading[0] else 0.0
        weights[k] = 1.0 / math.hypot(1.0, relative, square / (model.trusted_distance or math.inf) ** 2)
        w = None if W is None else W[k : k + 1]
        posterior = posterior.update(model, U[k : k + 1], y[k : k + 1], w=w, fit=True if fits else NO_FIT)
    return posterior, weights


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


# ---- dense algebra --------------------------------------------------------------------------------------------------


def design(model: ReadingModel, U: Array) -> tuple[Array, Array]:
    """Return the rows by which N and svec(A) are multiplied, from the definition of a reading."""
    basis = smat(np.eye(model.unknowns))
    forms = np.einsum("ni,kij,nj->nk", U, basis, U)
    bias = {
        "direction": forms / np.einsum("ni,ni->n", U, U)[:, None],
        "constant": np.ones((len(U), 1)),
        "none": np.zeros((len(U), 0)),
    }[model.bias]
    return bias, 0.5 * forms


def prior_covariance(d: int) -> Array:
    """Return a covariance with deviation 1 in each direction of svec(A), and 3 along the identity."""
    along = svec(np.eye(d)) / math.sqrt(d)
    return np.asarray(np.eye(along.size) + (9.0 - 1.0) * np.outer(along, along))


def contrasts(n: int) -> Array:
    """Return the differences of n readings from the first one, which do not depend on a constant base load."""
    return np.column_stack([-np.ones(n - 1), np.eye(n - 1)])


def walk_covariance(times: Array, rho: float) -> Array:
    """Return the covariance of a random walk with steps of deviation rho that is zero at time zero."""
    return np.asarray(rho**2 * np.minimum(times[:, None], times))


@dataclass
class Dense:
    """The posterior of the offset and of svec(A) averaged over (sigma, s), from the covariances of the raw readings.

    It uses the grid of the code; `test_marginal_likelihood` tests that this grid is fine enough.
    """

    model: ReadingModel
    U: Array
    y: Array
    weights: Array
    log_noise: Array
    _: KW_ONLY
    center: Array | None = None
    unit: float = 1.0
    count: float | None = None
    offset: bool = False
    rho: float | None = None
    known_noise: float | None = None
    scale_deviation: float = LOG_SCALE_DEVIATION
    max_abs_reading: float = math.nan

    def __post_init__(self) -> None:
        d, n = self.model.dim, len(self.y)
        H, B = design(self.model, self.U)
        V = np.diag(1.0 / np.square(self.weights))
        P = prior_covariance(d)
        theta = svec(np.eye(d) if self.center is None else self.center)
        C = np.eye(n)
        if self.rho is not None:
            V = V + walk_covariance(np.arange(n, dtype=np.float64), self.rho)
            C = contrasts(n)
        if self.offset:
            # The first reading determines the level only.
            lengths = np.sqrt(np.vecdot(self.U, self.U) / d)[n - len(C) :]
            deviation = 3.0 * float(stats.gmean(lengths))
            B = np.column_stack([self.U, B])
            P = np.block([[deviation**2 * np.eye(d), np.zeros((d, len(P)))], [np.zeros((len(P), d)), P]])
            theta = np.concatenate([np.zeros(d), theta])
        self.B, self.z = C @ B, C @ self.y
        self.W = C @ (V + self.model.kappa**2 * H @ H.T) @ C.T
        self.P, self.theta = self.unit**2 * P, theta
        self._average()

    def _log_noise_prior(self, x: Array) -> Array:
        if self.known_noise is None:
            return NOISE_PRIOR_EXPONENT * x
        below = np.minimum(x - math.log(self.known_noise), 0.0)
        return np.asarray(-0.5 * np.square(below / KNOWN_NOISE_DEVIATION))

    def _average(self) -> None:
        x, scales = self.log_noise, np.exp(LOG_SCALES)
        s = scales[None, :, None, None]
        total = s**2 * (self.B @ self.P @ self.B.T) + np.exp(2.0 * x)[:, None, None, None] * self.W
        error = (self.z - scales[:, None] * (self.B @ self.theta))[None, :, :, None]
        L = np.linalg.cholesky(total)
        white = np.linalg.solve(L, np.broadcast_to(error, (len(x), *error.shape[1:])))[..., 0]
        log_det = 2.0 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(axis=-1)
        n = len(self.z)
        log_density = -0.5 * (np.square(white).sum(axis=-1) + log_det + n * math.log(2.0 * math.pi))
        if self.count is not None:
            # The readings have a smaller total weight than there are rows.
            log_density += (n - self.count) * x[:, None]
        gain = np.linalg.solve(total, s**2 * (self.B @ self.P)).mT
        means = scales[:, None] * self.theta + np.matvec(gain, error[..., 0])
        covariances = s**2 * self.P - s**2 * gain @ (self.B @ self.P)
        log_scale_prior = stats.norm.logpdf(LOG_SCALES, scale=self.scale_deviation)
        prior = self._log_noise_prior(x)[:, None] + log_scale_prior
        logs = log_density + prior
        logs[[0, -1]] -= math.log(2.0)  # the trapezoidal rule
        w = np.exp(logs - logs.max())
        self.mean = np.einsum("ij,ijk->k", w, means) / w.sum()
        self.covariance = np.einsum("ij,ijkl->kl", w, covariances) / w.sum()
        self.noise = math.exp(float(w.sum(axis=1) @ x / w.sum()))
        self.scale = self.unit * float(w.sum(axis=0) @ scales / w.sum())
        # The density of the readings is an average with respect to the prior, which is normalized by quadrature.
        cap = math.inf if self.model.noise_cap is None else self.model.noise_cap
        largest = 2.0 * self.max_abs_reading if self.known_noise is None else KNOWN_NOISE_RANGE * self.known_noise
        if not math.isnan(largest):
            fine = math.log(min(largest, cap)) + np.linspace(-200.0, 0.0, 200_001)
            mass = np.trapezoid(np.exp(self._log_noise_prior(fine)), fine)
            step = x[1] - x[0]
            integral = math.log(w.sum() * step) + logs.max()
            self.log_evidence = float(integral - math.log(mass) - math.log(np.exp(log_scale_prior).sum()))

    def assert_agrees_with(self, posterior: Posterior) -> None:
        """Assert agreement; a solve with a covariance of condition 1e9 loses up to nine of sixteen digits."""
        m = len(self.mean)
        assert_close(posterior.mean[0, -m:], self.mean, 1e-6)
        assert_close(covariance(posterior)[0, -m:, -m:], self.covariance, 1e-6)
        assert posterior.noise[0] == pytest.approx(self.noise, rel=1e-6)
        assert posterior.scale[0] == pytest.approx(self.scale, rel=1e-6)


def gram(posterior: Posterior) -> Array:
    """Return the Gram matrix of all stored rows of the first run."""
    factor, buffer = posterior.factor[0], posterior.buffer[0]
    return np.asarray(factor.T @ factor + buffer.T @ buffer)


def arbitrary_posterior(model: ReadingModel, seed: int) -> Posterior:
    """Return a posterior with an arbitrary mean and root, as if after many readings."""
    rng = np.random.default_rng([9, seed])
    size = model.size
    posterior = Posterior.start(model, 1)
    return replace(
        posterior,
        mean=rng.standard_normal((1, size)),
        root=np.eye(size) + 0.2 * rng.standard_normal((1, size, size)),
        noise=np.array([0.3]),
        readings=np.array([50.0]),
    )


def bayes(mean: Array, P: Array, rows: Array, y: Array, sigma: float) -> tuple[Array, Array]:
    """Return the mean and covariance given y = rows x + sigma e, in one step."""
    gain = P @ rows.T @ np.linalg.inv(rows @ P @ rows.T + sigma**2 * np.eye(len(y)))
    return mean + gain @ (y - rows @ mean), P - gain @ rows @ P


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
