"""Low-rank estimates from fewer readings than unknowns."""

from __future__ import annotations

import numpy as np

from soqo import random_curvature
from soqo.estimators import measure
from soqo.estimators.lowrank import SWEEPS, Annealing, Readings, bases, positive_part


def test_rank_two_is_recovered_from_half_of_the_readings_that_least_squares_needs() -> None:
    d, n, rng = 14, 52, np.random.default_rng(0)
    A = random_curvature(d, 2, min_eigenvalue=1.0, max_eigenvalue=4.0, rng=1)
    Z = 50.0 * rng.standard_normal((n, d))
    data = Readings(Z, measure(Z, A) + rng.uniform(-10.0, 10.0, n))
    annealing = Annealing.start(bases(data.Z, data.y, 6.0))
    while not annealing.is_finished:
        annealing = annealing.advance(data, 36.0, 20)
    assert annealing.done == SWEEPS
    assert np.linalg.norm(annealing.estimate - A) < 0.02 * np.linalg.norm(A)
    least_squares = positive_part(data.posterior_mean(2.0 * np.eye(d), 0.3, 36.0))
    assert np.linalg.norm(least_squares - A) > 0.3 * np.linalg.norm(A)


def test_the_sweeps_can_be_spread() -> None:
    rng = np.random.default_rng(2)
    data = Readings(rng.standard_normal((10, 4)), rng.uniform(0.0, 1.0, 10))
    start = Annealing.start(bases(data.Z, data.y, 0.1))
    at_once, spread = start.advance(data, 0.01, 9), start.advance(data, 0.01, 4).advance(data, 0.01, 5)
    np.testing.assert_array_equal(at_once.estimate, spread.estimate)


def test_the_positive_part_is_the_nearest_matrix_in_the_cone() -> None:
    M = np.random.default_rng(3).standard_normal((4, 4))
    M = M + M.T
    P = positive_part(M)
    values = np.linalg.eigvalsh(M)
    np.testing.assert_allclose(np.linalg.norm(P - M), np.linalg.norm(np.minimum(values, 0.0)))
    assert np.linalg.eigvalsh(P)[0] > -1e-12
