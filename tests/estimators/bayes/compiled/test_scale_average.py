"""The compiled average over noise and scale against NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from soqo.estimators.bayes._marginal_likelihood import MarginalLikelihood
from soqo.estimators.bayes.compiled._scale_average import average


@pytest.mark.parametrize("guess", [math.nan, 1.0, 1e-6])
@pytest.mark.parametrize("known_noise", [math.nan, 0.7])
@pytest.mark.parametrize("count", [1, 3, 12])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e8])
def test_the_compiled_average_is_that_of_numpy(size: float, count: int, known_noise: float, guess: float) -> None:
    rng = np.random.default_rng(count)
    D = np.sort(size * rng.uniform(0.01, 1.0, count))[::-1].copy()
    c, c0 = D * rng.standard_normal(count) + rng.standard_normal(count), D * rng.standard_normal(count)
    rest, readings, largest = 2.0, count + 3.0, float(np.abs(c).max() + 1.0)
    one = np.ones(1)
    expected = MarginalLikelihood(
        D[None],
        c[None],
        c0[None],
        rest * one,
        readings * one,
        largest * one,
        np.inf * one,
        known_noise * one,
        2.3 * one,
    ).average(guess * one)
    mean, variance = np.empty(count), np.empty(count)
    scale, square, noise, evidence = average(
        D, c, c0, rest, readings, largest, np.inf, known_noise, 2.3, guess, mean, variance
    )
    np.testing.assert_allclose(mean, expected.mean[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(variance, expected.variance[0], rtol=1e-9)
    found = (scale, square, noise, evidence)
    wanted = (expected.scale, expected.mean_square_scale, expected.noise, expected.log_evidence)
    np.testing.assert_allclose(found, np.concatenate(wanted), rtol=1e-9)
