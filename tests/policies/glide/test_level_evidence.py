"""The evidence of base loads in residuals, against dense normal densities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln

from soqo.policies.glide._level_evidence import level_evidence
from soqo.typing import Array

RNG = np.random.default_rng(3)
RESIDUALS, VARIANCES = 2.0 + RNG.standard_normal((1, 7)), 1.0 + RNG.random((1, 7))


def log_density_without_noise_scale(z: Array, covariance: Array) -> float:
    """Return the logarithm of 2 times the integral over sigma of N(z; 0, sigma^2 C) / sigma."""
    half = 0.5 * z.size
    quadratic = float(z @ np.linalg.solve(covariance, z))
    return float(gammaln(half) - half * math.log(math.pi * quadratic) - 0.5 * np.linalg.slogdet(covariance)[1])


def test_without_a_base_load_residuals_are_independent() -> None:
    expected = log_density_without_noise_scale(RESIDUALS[0], np.diag(VARIANCES[0]))
    assert level_evidence(RESIDUALS, VARIANCES, None)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rho", [0.0, 0.3, 2.0])
def test_the_filter_gives_the_density_of_differences_to_the_first_residual(rho: float) -> None:
    n = RESIDUALS.shape[1] - 1
    steps = np.arange(1, n + 1)
    covariance = np.diag(VARIANCES[0, 1:]) + VARIANCES[0, 0] + rho**2 * np.minimum.outer(steps, steps)
    z = RESIDUALS[0, 1:] - RESIDUALS[0, 0]
    noise = math.sqrt(z @ np.linalg.solve(covariance, z) / n)
    first = -math.log(40.0) - math.log(max(abs(RESIDUALS[0, 0]), noise))
    expected = log_density_without_noise_scale(z, covariance) + first
    assert level_evidence(RESIDUALS, VARIANCES, rho)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("rho", [None, 0.0, 0.3])
def test_missing_residuals_are_left_out(rho: float | None) -> None:
    with_gaps = np.insert(RESIDUALS, (0, 3), np.nan, axis=1)
    variances = np.insert(VARIANCES, (0, 3), 5.0, axis=1)
    np.testing.assert_allclose(level_evidence(with_gaps, variances, rho), level_evidence(RESIDUALS, VARIANCES, rho))
    assert np.isfinite(level_evidence(np.full((1, 3), np.nan), np.ones((1, 3)), rho)).all()


def test_the_true_speed_has_most_evidence() -> None:
    rng, speeds = np.random.default_rng(0), (None, 0.0, 0.3, 2.0)
    noise = rng.standard_normal((200, 60))
    for truth in speeds:
        walk = 0.0 if truth is None else 5.0 + truth * np.cumsum(rng.standard_normal(noise.shape), axis=1)
        evidence = [level_evidence(walk + noise, np.ones_like(noise), rho) for rho in speeds]
        assert np.mean(np.argmax(evidence, axis=0) == speeds.index(truth)) > 0.8
