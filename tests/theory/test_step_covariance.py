"""The moments of steps in all their forms: the same matrices, the same regret, and errors that name the covariance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import random_rotation

from soqo.errors import ArgumentError
from soqo.processes import Cauchy, Correlated, Laplace, Recorded, StudentT
from soqo.theory import exact_regret, exact_regret_as_squares, theorem5

A3 = random_rotation(np.random.default_rng(5), np.array([0.0, 0.4, 2.0]))
HAT3 = random_rotation(np.random.default_rng(6), np.array([0.1, 0.6, 1.5]))
START = np.array([1.0, -2.0, 0.5])


def test_all_forms_of_one_covariance_give_the_same_regret() -> None:
    T = 17
    matrix = 2.0 * np.eye(3)
    forms: list[Any] = [2.0, matrix, np.full(T, 2.0), np.broadcast_to(matrix, (T, 3, 3)), Laplace(scale=1.0)]
    totals = [exact_regret(A3, HAT3, covariance=form, horizon=T, x0_minus_v0=START).total for form in forms]
    np.testing.assert_allclose(totals, totals[0], rtol=1e-11)


def test_one_number_is_a_variance_per_round_only_if_the_horizon_is_one() -> None:
    one, other = (exact_regret(A3, HAT3, covariance=form, horizon=1).total for form in (2.0, [2.0]))
    assert one == pytest.approx(other, rel=1e-12)
    with pytest.raises(ArgumentError, match=r"covariance must be a number, .* got shape \(1,\)"):
        exact_regret(A3, HAT3, covariance=[2.0], horizon=2)


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("process", "message"),
    [
        (Correlated(alpha=0.7, scale=1.0), "covariance must come from a martingale"),
        (Recorded(np.zeros((9, 3))), "covariance must come from a martingale"),
        (Cauchy(), "covariance must come from a martingale"),
        (StudentT(df=1.5), "covariance must exist, got StudentT"),
    ],
)
def test_processes_that_are_not_martingales_are_refused(process: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        exact_regret(A3, HAT3, covariance=process, horizon=10)


@pytest.mark.parametrize("regret", [exact_regret, exact_regret_as_squares])
@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (-1.0, "covariance must not be negative, got -1"),
        ([1.0, 1.0, -2.0, 1.0, 1.0], "covariance must not be negative, got -2"),
        (np.eye(2), r"covariance must be a number, .* got shape \(2, 2\)"),
        (-np.eye(3), "covariance must be positive semi-definite"),
        (np.stack([np.eye(3)] * 4 + [-np.eye(3)]), "covariance must be positive semi-definite"),
        (np.nan, "covariance must be finite"),
    ],
)
def test_errors_name_the_covariance(regret: Callable[..., object], covariance: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        regret(A3, HAT3, covariance=covariance, horizon=5)


@pytest.mark.parametrize("covariance", [np.ones(9), np.stack([np.eye(2)] * 9)])
def test_a_bound_takes_one_covariance_for_all_rounds(covariance: Any) -> None:
    with pytest.raises(ArgumentError, match=r"covariance must be a number, a process or an array of shape \(2, 2\)"):
        theorem5(np.diag([1.0, 2.0]), covariance, epsilon=0.1, horizon=9)


def test_a_horizon_whose_rounds_are_not_exact_in_double_precision_is_refused() -> None:
    assert np.isfinite(exact_regret(A3, HAT3, covariance=1.0, horizon=10**15).total)
    with pytest.raises(ArgumentError, match=r"horizon must be at most 1e\+15, got 1e\+16"):
        exact_regret(A3, HAT3, covariance=1.0, horizon=10**16)
