"""Regression on the readings of a log, against dense solves and known matrices."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._model.problem import random_curvature
from soqo.estimators._measurements import smat, svec
from soqo.estimators.bayes import BayesianRegression
from soqo.estimators.bayes._regression import _TRACE_DEVIATION, hit_and_run, whiten
from soqo.typing import Array


def readings(seed: int, n: int, rank: int, cap: float, d: int = 3) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    A = random_curvature(d, rank, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)
    u = 4.0 * rng.standard_normal((n, d))
    return A, u, 0.5 * np.einsum("ti,ij,tj->t", u, A, u) + rng.uniform(-cap, cap, n)


def test_the_posterior_is_the_dense_solution_of_the_normal_equations() -> None:
    _, u, y = readings(0, 50, 3, 3.0)
    regression = BayesianRegression.fit(u, y)
    s, noise = 0.7, regression.noise
    rows = np.array([[*svec(0.5 * np.outer(row, row)), 1.0] for row in u])
    along = svec(np.eye(3)) / np.sqrt(3.0)
    covariance = s**2 * (np.eye(6) + (_TRACE_DEVIATION**2 - 1.0) * np.outer(along, along))
    precision = np.zeros((7, 7))
    precision[:6, :6] = np.linalg.inv(covariance)
    # Nothing is known about the constant base load before.
    total = precision + rows.T @ rows / noise**2
    center = np.append(s * svec(np.eye(3)), 0.0)
    mean, root = regression.posterior(s)
    np.testing.assert_allclose(mean, np.linalg.solve(total, precision @ center + rows.T @ y / noise**2)[:6], rtol=1e-8)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(total)[:6, :6], rtol=1e-8, atol=1e-12)


def test_the_noise_is_the_deviation_of_the_readings() -> None:
    # Uniform noise up to 6 has deviation 6/sqrt(3); 2,000 readings estimate it within 1 % (kurtosis 1.8).
    _, u, y = readings(1, 2000, 3, 6.0)
    assert BayesianRegression.fit(u, y).noise == pytest.approx(6.0 / np.sqrt(3.0), rel=0.04)


def test_a_constant_bias_of_the_readings_hardly_moves_the_estimate() -> None:
    A, u, y = readings(2, 400, 3, 1.0)
    mean, root = BayesianRegression.fit(u, y + 0.5).posterior(1.0)
    error = np.linalg.solve(root, mean - svec(A))
    assert error @ error < 22.5  # a chi-square variable with 6 degrees of freedom exceeds this once in a thousand


def test_missing_readings_are_ignored() -> None:
    _, u, y = readings(3, 60, 3, 1.0)
    gaps = y.copy()
    gaps[::3] = np.nan
    some, others = BayesianRegression.fit(u, gaps), BayesianRegression.fit(u[~np.isnan(gaps)], gaps[~np.isnan(gaps)])
    np.testing.assert_array_equal(some.rows, others.rows)
    assert (some.noise, some.scale) == (others.noise, others.scale)


@pytest.mark.parametrize(("directions", "informed"), [(0, 0), (1, 1), (2, 3), (3, 6)])
def test_informed_directions_are_those_that_the_readings_span(directions: int, informed: int) -> None:
    A, u, _ = readings(4, 200, 3, 0.0)
    u[:, directions:] = 0.0
    y = 0.5 * np.einsum("ti,ij,tj->t", u, A, u) + np.random.default_rng(0).uniform(-1, 1, 200)
    assert BayesianRegression.fit(u, y).informed_directions() == informed


def test_no_direction_is_informed_if_the_noise_hides_the_signal() -> None:
    _, u, y = readings(5, 200, 3, 1.0)
    noise = np.random.default_rng(5).uniform(-1.0, 1.0, 200)
    assert BayesianRegression.fit(1e-9 * u, noise).informed_directions() == 0
    assert BayesianRegression.fit(0.0 * u, 0.0 * y).informed_directions() == 0


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_the_scale_is_proportional_to_the_readings(unit: float) -> None:
    _, u, y = readings(6, 300, 3, 1e-3)
    # The weights of readings at large u are in units of the switching cost, so they differ a little.
    assert BayesianRegression.fit(u, unit * y).scale == pytest.approx(
        unit * BayesianRegression.fit(u, y).scale, rel=0.05
    )


def test_draws_are_positive_semidefinite_and_half_of_them_have_the_significant_rank() -> None:
    A, u, y = readings(7, 500, 1, 1.0)
    sample = BayesianRegression.fit(u, y).sample(30, np.random.default_rng(0))
    values = np.linalg.eigvalsh(sample.draws)
    assert (values > -1e-12).all()
    assert sample.low_rank.sum() == 15
    assert (np.abs(values[sample.low_rank, :2]) < 1e-12).all()
    assert (values[~sample.low_rank, 0] > 0.0).all()
    assert np.abs(sample.mode - A).max() < 0.05


def test_draws_spread_like_the_errors_of_the_mode() -> None:
    # Twenty logs of one A: the error of the mode is of the size of the spread of the draws.
    ratios = []
    for seed in range(20):
        A, u, y = readings(8, 300, 3, 5.0)
        rng = np.random.default_rng(seed)
        y = 0.5 * np.einsum("ti,ij,tj->t", u, A, u) + rng.uniform(-5.0, 5.0, 300)
        sample = BayesianRegression.fit(u, y).sample(30, rng)
        assert not sample.low_rank.any()
        spread = np.square(sample.draws - sample.mode).sum(axis=(1, 2)).mean()
        ratios.append(np.square(sample.mode - A).sum() / spread)
    assert 0.6 < np.mean(ratios) < 1.6


def test_a_log_with_a_single_reading_gives_finite_draws() -> None:
    regression = BayesianRegression.fit(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, np.nan]))
    sample = regression.sample(4, np.random.default_rng(0))
    assert np.isfinite(sample.draws).all()


def walk(seed: int, n: int, step: float) -> Array:
    """Return a base load that is a random walk."""
    return np.cumsum(step * np.random.default_rng([seed, 1]).standard_normal(n))


@pytest.mark.parametrize("speed", [0.0, 0.1, 3.0])
def test_whitened_rows_give_generalized_least_squares(speed: float) -> None:
    # A base load with steps of deviation speed has covariance speed^2 min(s, t) around an unknown start, so that the
    # dense solution has a column of ones. Variances differ, and rounds are missing.
    rng = np.random.default_rng(0)
    times = np.sort(rng.choice(60, 30, replace=False)).astype(float)
    variances = rng.uniform(0.5, 2.0, 30)
    rows, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    whitened, log_determinant = whiten(np.column_stack([rows, y]), times, variances, speed)
    covariance = np.diag(variances) + speed**2 * np.minimum.outer(times - times[0], times - times[0])
    full = np.column_stack([rows, np.ones(30)])
    inverse = np.linalg.inv(covariance)
    dense = np.linalg.solve(full.T @ inverse @ full, full.T @ inverse @ y)
    found, square, *_ = np.linalg.lstsq(whitened[:, :4], whitened[:, 4])
    np.testing.assert_allclose(found, dense[:4], rtol=1e-8)
    residual = y - full @ dense
    assert square[0] == pytest.approx(residual @ inverse @ residual, rel=1e-9)
    # The likelihood of the differences, which do not depend on the start of the base load.
    ones = np.ones(30)
    expected = np.linalg.slogdet(covariance)[1] + np.log(ones @ inverse @ ones)
    assert log_determinant == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("step", "speeds"), [(0.0, {0.0}), (0.1, {0.03, 0.1, 0.3}), (2.0, {1.0, 3.0})])
def test_the_speed_of_the_base_load_is_found(step: float, speeds: set[float]) -> None:
    A, u, y = readings(9, 1000, 3, np.sqrt(3.0))  # noise of deviation one
    regression = BayesianRegression.fit(u, y + walk(9, 1000, step) + 50.0)
    assert regression.walk_speed in speeds
    assert not regression.has_offset
    assert regression.noise == pytest.approx(1.0, rel=0.25)
    mean, root = regression.posterior(1.0)
    error = np.linalg.solve(root, mean - svec(A))
    assert error @ error < 22.5  # as above


def test_gaps_let_the_base_load_move_on() -> None:
    _, u, y = readings(10, 900, 3, 1.0)
    y = y + walk(10, 900, 1.0)
    y[np.arange(900) % 9 != 0] = np.nan
    regression = BayesianRegression.fit(u, y)
    shortened = BayesianRegression.fit(u[::9], y[::9])  # where the same drift takes a ninth of the time
    assert shortened.walk_speed > regression.walk_speed > 0.0


def test_a_constant_error_of_the_minimizer_is_found() -> None:
    A, u, _ = readings(11, 600, 3, 1.0)
    b, noise = np.array([1.0, -2.0, 0.5]), np.random.default_rng(11).uniform(-1.0, 1.0, 600)
    y = 0.5 * np.einsum("ti,ij,tj->t", u + b, A, u + b) + noise + walk(11, 600, 0.3)
    sample = BayesianRegression.fit(u, y).sample(30, np.random.default_rng(0))
    deviations = sample.offsets.std(axis=0)
    assert (np.abs(sample.mode_offset - b) < 4.0 * deviations).all()
    assert (deviations < 0.1).all()
    without = BayesianRegression.fit(u + b, y).sample(4, np.random.default_rng(0))
    np.testing.assert_array_equal(without.offsets, np.zeros((4, 3)))


def driven_readings(seed: int, n: int = 600) -> tuple[Array, Array, Array, Array, list[Array]]:
    """Return readings of a plant that lags behind v, whose base load is linear in v, and columns that may drive it."""
    rng = np.random.default_rng([seed, 2])
    A = random_curvature(2, 2, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)
    v = np.cumsum(rng.standard_normal((n, 2)), axis=0)
    x = np.zeros((n, 2))
    for t in range(1, n):
        x[t] = 0.5 * (x[t - 1] + v[t])
    u = x - v
    y = 0.5 * np.einsum("ti,ij,tj->t", u, A, u) + 0.5 * rng.standard_normal(n)
    return A, u, y, v @ [3.0, -5.0], [v, np.column_stack([v**2, v[:, 0] * v[:, 1]])]


def test_a_base_load_that_follows_given_columns_is_found_and_does_not_enter_the_curvature() -> None:
    A, u, y, load, drivers = driven_readings(0)
    regression = BayesianRegression.fit(u, y + load, drivers)
    assert (regression.drivers, regression.has_offset, regression.walk_speed) == (1, False, 0.0)
    # Against least squares on all columns at once.
    rows = np.array([[*svec(0.5 * np.outer(row, row)), *w, 1.0] for row, w in zip(u, drivers[0], strict=True)])
    dense = np.linalg.lstsq(rows, y + load)[0]
    mean, root = regression.posterior(regression.scale)
    np.testing.assert_allclose(mean, dense[:3], atol=0.02)
    assert np.square(np.linalg.solve(root, mean - svec(A))).sum() < 16.3  # chi-square, 3 degrees, once in a thousand
    found = regression.driven_load(drivers)
    np.testing.assert_allclose(found, drivers[0] @ dense[3:5], atol=0.05)
    np.testing.assert_allclose(found - found.mean(), load - load.mean(), atol=0.5)
    without = BayesianRegression.fit(u, y + load).posterior(1.0)[0]
    assert np.linalg.norm(without - svec(A)) > 3.0 * np.linalg.norm(mean - svec(A))


def test_a_quadratic_base_load_takes_both_groups() -> None:
    _, u, y, load, drivers = driven_readings(1)
    assert BayesianRegression.fit(u, y + load + 0.1 * load**2, drivers).drivers == 2


def test_columns_that_drive_nothing_are_left_out() -> None:
    # Also beside a base load that walks, as the columns do.
    chosen = 0
    for seed in range(20):
        _, u, y, _, drivers = driven_readings(seed)
        regression = BayesianRegression.fit(u, y + (walk(seed, 600, 0.3) if seed % 2 else 0.0), drivers)
        chosen += regression.drivers > 0
        assert (regression.driven_load(drivers) == 0.0).all() == (regression.drivers == 0)
    assert chosen <= 1


def test_actuators_that_do_not_move_are_not_informed_about() -> None:
    A, u, _ = readings(12, 200, 3, 0.0)
    u[:, 2] = 0.0
    y = 0.5 * np.einsum("ti,ij,tj->t", u, A, u) + np.random.default_rng(0).uniform(-1, 1, 200)
    np.testing.assert_array_equal(BayesianRegression.fit(u, y).informs(np.eye(3)), [True, True, False])


def test_hit_and_run_samples_the_normal_distribution_on_the_cone() -> None:
    # Against rejection sampling; a tenth of the normal distribution is on the cone.
    rng = np.random.default_rng(0)
    mean, root = np.array([0.3, 0.2, -0.5]), np.array([[1.0, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.2, 0.4, 0.6]])
    free = smat(mean + rng.standard_normal((40_000, 3)) @ root.T)
    inside = free[np.linalg.eigvalsh(free)[:, 0] > 0.0]
    assert 0.02 < len(inside) / 40_000 < 0.3
    many = 3000
    found = hit_and_run(np.tile(mean, (many, 1)), np.tile(root, (many, 1, 1)), np.tile(np.eye(2), (many, 1, 1)), rng)
    assert (np.linalg.eigvalsh(found) > 0.0).all()
    for statistic in (lambda m: svec(m), lambda m: np.linalg.eigvalsh(m), lambda m: np.sqrt(np.linalg.eigvalsh(m))):
        one, other = statistic(inside), statistic(found)
        error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / many)
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 4.0 * error).all()
