"""What a log says about A, against dense solves and known worlds."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._problem import random_curvature
from soqo.estimators._measurements import svec
from soqo.estimators.bayes._evidence import Evidence
from soqo.estimators.bayes._recursive import ENTRY, TRACE
from soqo.typing import Array


def readings(seed: int, n: int, rank: int, cap: float, d: int = 3) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    A = random_curvature(d, rank, 0.5, 2.0, rng=rng)
    u = 4.0 * rng.standard_normal((n, d))
    return A, u, 0.5 * np.einsum("ti,ij,tj->t", u, A, u) + rng.uniform(-cap, cap, n)


def test_posterior_is_the_dense_solution_of_the_normal_equations() -> None:
    _, u, y = readings(0, 50, 3, 3.0)
    evidence = Evidence.of(u, y)
    s, noise = 0.7, evidence.noise
    rows = np.array([[*svec(0.5 * np.outer(row, row)), 1.0] for row in u])
    along = svec(np.eye(3)) / np.sqrt(3.0)
    covariance = s**2 * (ENTRY**2 * np.eye(6) + (TRACE**2 - ENTRY**2) * np.outer(along, along))
    precision = np.zeros((7, 7))
    precision[:6, :6] = np.linalg.inv(covariance)
    precision[6, 6] = noise**-2
    total = precision + rows.T @ rows / noise**2
    center = np.append(s * svec(np.eye(3)), 0.0)
    mean, root = evidence.posterior(s)
    np.testing.assert_allclose(mean, np.linalg.solve(total, precision @ center + rows.T @ y / noise**2)[:6], rtol=1e-8)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(total)[:6, :6], rtol=1e-8, atol=1e-12)


def test_noise_is_the_deviation_of_the_readings() -> None:
    # Uniform noise up to 6 has deviation 6/sqrt(3); that of 2,000 readings is known within 1 % (kurtosis 1.8).
    _, u, y = readings(1, 2000, 3, 6.0)
    assert Evidence.of(u, y).noise == pytest.approx(6.0 / np.sqrt(3.0), rel=0.04)


def test_a_constant_bias_of_the_readings_hardly_moves_the_estimate() -> None:
    A, u, y = readings(2, 400, 3, 1.0)
    mean, root = Evidence.of(u, y + 0.5).posterior(1.0)
    error = np.linalg.solve(root, mean - svec(A))
    assert error @ error < 22.5  # chi-square of 6 beyond this: once in a thousand


def test_readings_that_are_missing_do_not_count() -> None:
    _, u, y = readings(3, 60, 3, 1.0)
    gaps = y.copy()
    gaps[::3] = np.nan
    some, others = Evidence.of(u, gaps), Evidence.of(u[~np.isnan(gaps)], gaps[~np.isnan(gaps)])
    np.testing.assert_array_equal(some.rows, others.rows)
    assert (some.noise, some.scale) == (others.noise, others.scale)


@pytest.mark.parametrize(("directions", "learned"), [(0, 0), (1, 1), (2, 3), (3, 6)])
def test_learned_counts_the_directions_that_readings_tell_of(directions: int, learned: int) -> None:
    A, u, _ = readings(4, 200, 3, 0.0)
    u[:, directions:] = 0.0
    y = 0.5 * np.einsum("ti,ij,tj->t", u, A, u) + np.random.default_rng(0).uniform(-1, 1, 200)
    assert Evidence.of(u, y).learned() == learned


def test_nothing_is_learned_where_the_signal_drowns() -> None:
    _, u, y = readings(5, 200, 3, 1.0)
    assert Evidence.of(1e-9 * u, y).learned() == 0
    assert Evidence.of(0.0 * u, 0.0 * y).learned() == 0


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_scale_follows_the_readings(unit: float) -> None:
    _, u, y = readings(6, 300, 3, 1e-3)
    # Within what the weights of giant u change, which are in units of the switching cost.
    assert Evidence.of(u, unit * y).scale == pytest.approx(unit * Evidence.of(u, y).scale, rel=0.05)


def test_worlds_are_positive_semidefinite_and_some_of_them_of_the_rank_that_can_be_told() -> None:
    A, u, y = readings(7, 500, 1, 1.0)
    worlds = Evidence.of(u, y).worlds(30, np.random.default_rng(0))
    values = np.linalg.eigvalsh(worlds.draws)
    assert (values > -1e-12).all()
    assert worlds.low_rank.sum() == 15
    assert (np.abs(values[worlds.low_rank, :2]) < 1e-12).all()
    assert (values[~worlds.low_rank, 0] > 0.0).all()
    assert np.abs(worlds.likely - A).max() < 0.05


def test_worlds_of_a_well_known_matrix_spread_like_its_errors() -> None:
    # Twenty logs of one A: the error of the most likely matrix is of the size that its draws are spread by.
    ratios = []
    for seed in range(20):
        A, u, y = readings(8, 300, 3, 5.0)
        rng = np.random.default_rng(seed)
        y = 0.5 * np.einsum("ti,ij,tj->t", u, A, u) + rng.uniform(-5.0, 5.0, 300)
        worlds = Evidence.of(u, y).worlds(30, rng)
        assert not worlds.low_rank.any()
        spread = np.square(worlds.draws - worlds.likely).sum(axis=(1, 2)).mean()
        ratios.append(np.square(worlds.likely - A).sum() / spread)
    assert 0.6 < np.mean(ratios) < 1.6


def test_a_log_of_two_readings_is_no_accident() -> None:
    evidence = Evidence.of(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, np.nan]))
    worlds = evidence.worlds(4, np.random.default_rng(0))
    assert np.isfinite(worlds.draws).all()
