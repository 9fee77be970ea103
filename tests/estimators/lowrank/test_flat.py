"""The estimate near a multiple of the identity, against the general posterior mean."""

from __future__ import annotations

import numpy as np
import pytest

from soqo import random_curvature
from soqo._storage.plain_data import pack, same, unpack
from soqo._storage.registry import build
from soqo.estimators import measure
from soqo.estimators.lowrank import Flat, Readings, fit_flat, fit_levels
from soqo.typing import Array


def readings(A: Array, n: int) -> Readings:
    rng = np.random.default_rng(0)
    Z = 5.0 * rng.standard_normal((n, len(A)))
    return Readings(Z, measure(Z, A) + 0.1 * rng.standard_normal(n))


@pytest.mark.parametrize("n", [12, 60])
def test_it_is_the_posterior_mean_of_its_prior(n: int) -> None:
    data = readings(random_curvature(8, 8, min_eigenvalue=1.0, max_eigenvalue=1.2, rng=0), n)
    levels = fit_levels(data.Z, np.ones(n), data.y, np.zeros(3))
    flat = fit_flat(data, 0.01, levels)
    assert flat is not None
    a = max(levels.deviation, 1e-3 * levels.scale)
    expected = data.posterior_mean(a * np.eye(8), levels.scale / a, 0.01)
    np.testing.assert_allclose(flat.matrix, expected, rtol=1e-9)


def test_for_a_low_rank_the_deviation_is_large() -> None:
    A = random_curvature(20, 1, min_eigenvalue=4.0, rng=0)
    data = readings(A, 60)
    levels = fit_levels(data.Z, np.ones(60), data.y, np.zeros(3))
    assert not levels.is_flat
    assert levels.deviation > levels.scale
    # It still fits the readings.
    residual = measure(data.Z, fit_flat(data, 0.01, levels).matrix) - data.y
    assert np.abs(residual).max() < 0.5


def test_it_is_stored_and_files_of_the_first_version_are_read() -> None:
    flat = Flat(np.eye(2), 1.0)
    assert same(unpack(*pack(flat)), flat)
    assert build("lowrank.flat", 1, {"matrix": np.eye(2), "scale": 1.0, "spread": 3}) == flat
