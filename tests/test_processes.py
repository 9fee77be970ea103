"""Processes satisfy their contract, have the moments of theory, and refuse bad settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace, Process, Recorded, StudentT

WORD: Any = "x"
L = np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.5, 3.0]])


def test_gaussian_covariance_of_a_matrix_scale() -> None:
    np.testing.assert_allclose(np.asarray(Gaussian(L).covariance(3)), L @ L.T)


@pytest.mark.parametrize(("form", "weight"), [("mixture", 0.7), ("additive", 1.0)])
def test_correlated_steps_follow_the_recursion(form: Any, weight: float) -> None:
    steps = Correlated(2.0, alpha=0.7, form=form).steps(np.random.default_rng(1), 50, 3)
    new = 2.0 * np.random.default_rng(1).standard_normal((50, 3))
    step = np.zeros(3)
    for t in range(50):
        step = 0.3 * step + weight * new[t]
        np.testing.assert_allclose(steps[t], step, rtol=1e-12)


def test_only_martingales_are_declared_as_such() -> None:
    assert Gaussian(2.0).is_martingale
    assert Laplace(0.5).is_martingale
    assert Correlated(2.0, alpha=1.0).is_martingale
    assert StudentT(2.0, df=1.5).is_martingale  # it has a mean but no variance
    assert not StudentT(df=1.0).is_martingale
    assert not Correlated(2.0).is_martingale
    assert not Cauchy().is_martingale


@pytest.mark.parametrize(
    ("process", "cdf_at_one"),
    [(Cauchy(2.0), 0.5 + np.arctan(0.5) / np.pi), (Laplace(2.0), 1 - 0.5 * np.exp(-0.5))],
)
def test_heavy_tails_have_the_right_distribution(process: Process, cdf_at_one: float) -> None:
    steps = process.steps(np.random.default_rng(2), 40_000, 1)
    error = np.sqrt(cdf_at_one * (1 - cdf_at_one) / 40_000)
    assert abs((steps <= 1.0).mean() - cdf_at_one) < 5 * error


def test_paths_start_from_v0_and_add_the_steps() -> None:
    rngs = np.random.default_rng(3).spawn(4)
    v0 = np.array([10.0, -5.0])
    paths = Gaussian(1.0).paths(rngs, 6, v0=v0)
    steps = Gaussian(1.0).steps(np.random.default_rng(3).spawn(4)[2], 6, 2)
    np.testing.assert_allclose(paths[2], v0 + np.cumsum(steps, axis=0), rtol=1e-12)


def test_steps_may_be_integers() -> None:
    class Lattice(Gaussian):
        def steps(self, rng: Any, horizon: int, dim: int) -> Any:
            return rng.integers(-1, 2, size=(horizon, dim))

    path = Lattice().paths([np.random.default_rng(0)], 5, v0=np.array([0.5]))
    np.testing.assert_array_equal(path % 1.0, 0.5)


def test_recorded_gives_each_run_its_own_path() -> None:
    path = np.random.default_rng(4).standard_normal((5, 10, 2))
    rngs = np.random.default_rng(0).spawn(2)
    np.testing.assert_array_equal(Recorded(path).paths(rngs, 7, v0=np.zeros(2), first_run=3), path[3:5, :7])
    np.testing.assert_array_equal(
        Recorded(path[0]).paths(rngs, 7, v0=np.zeros(2), first_run=3), np.stack([path[0, :7]] * 2)
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(-1.0), "scale must not be negative, got -1"),
        (lambda: Gaussian(np.ones((2, 3))), "scale must be a number, a vector or a square matrix"),
        (lambda: Gaussian(np.nan), "scale must be finite"),
        (lambda: Correlated(1.0, alpha=0.0), "alpha must be a finite number above 0 and at most 1"),
        (lambda: Correlated(1.0, form=WORD), "form must be one of 'mixture', 'additive', got 'x'"),
        (lambda: StudentT(1.0, df=0.0), "df must be a finite number above 0, got 0.0"),
        (lambda: Recorded([1.0, 2.0]), r"path must have shape \(T, d\) or \(runs, T, d\)"),
        (lambda: Recorded([[np.nan]]), "path must be finite"),
        (
            lambda: Gaussian([1.0, 2.0]).steps(np.random.default_rng(0), 5, 3),
            "scale must be for dimension 3, got 2",
        ),
        (
            lambda: Recorded(np.ones((5, 2))).paths([np.random.default_rng(0)], 6, v0=np.zeros(2)),
            "horizon must be at most the 5 recorded rounds, got 6",
        ),
        (
            lambda: Recorded(np.ones((5, 2))).paths([np.random.default_rng(0)], 5, v0=np.zeros(3)),
            "path must be for dimension 3, got 2",
        ),
        (
            lambda: Recorded(np.ones((2, 5, 2))).paths([np.random.default_rng(0)] * 2, 5, v0=np.zeros(2), first_run=1),
            "runs must be within the 2 recorded ones, got runs 1 to 2",
        ),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_process_that_implements_steps_only_claims_nothing() -> None:
    class Still(Process):
        def steps(self, rng: Any, horizon: int, dim: int) -> Any:
            return np.zeros((horizon, dim))

    assert not Still().is_martingale
    assert Still().covariance(3) is None
