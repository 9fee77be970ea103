"""The estimate near a multiple of the identity, against the general posterior mean."""

from __future__ import annotations

import numpy as np

from soqo import random_curvature
from soqo.estimators import measure
from soqo.estimators.lowrank import Readings, fit_flat, update_flat
from soqo.estimators.lowrank._flat import _SPREADS
from soqo.typing import Array


def readings(A: Array, n: int) -> Readings:
    rng = np.random.default_rng(0)
    Z = 5.0 * rng.standard_normal((n, len(A)))
    return Readings(Z, measure(Z, A) + 0.1 * rng.standard_normal(n))


def test_it_is_the_posterior_mean_of_its_prior() -> None:
    data = readings(random_curvature(8, 8, min_eigenvalue=1.0, max_eigenvalue=2.0, rng=0), 25)
    flat = fit_flat(data, 0.01, None)
    tau = _SPREADS[flat.spread]
    # The scale of the covariance is that of the step before the last, which differs by less than 10 %.
    expected = data.posterior_mean(tau * flat.scale * np.eye(8), 1.0 / tau, 0.01)
    np.testing.assert_allclose(update_flat(data, 0.01, flat).matrix, expected)
    np.testing.assert_allclose(flat.matrix, expected, atol=0.02)


def test_it_applies_to_a_flat_spectrum_and_not_to_a_low_rank() -> None:
    flat = fit_flat(readings(random_curvature(20, 20, min_eigenvalue=1.0, max_eigenvalue=2.0, rng=0), 60), 0.01, None)
    assert flat.applies
    assert abs(flat.scale - 1.5) < 0.2
    assert not fit_flat(readings(random_curvature(20, 1, min_eigenvalue=4.0, rng=0), 60), 0.01, None).applies
