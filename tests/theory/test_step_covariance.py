"""The moments of steps in all their forms: the same matrices, the same regret, and errors that name the covariance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import random_rotation

from soqo.errors import ArgumentError
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace, Recorded, StudentT
from soqo.theory import exact_regret, exact_regret_as_squares, theorem5
from soqo.theory._step_covariance import StepMoments, constant_covariance, step_moments
from soqo.typing import Array

A3 = random_rotation(np.random.default_rng(5), np.array([0.0, 0.4, 2.0]))
HAT3 = random_rotation(np.random.default_rng(6), np.array([0.1, 0.6, 1.5]))
START = np.array([1.0, -2.0, 0.5])
T = 7
RNG = np.random.default_rng(0)
FACTORS = RNG.standard_normal((T, 3, 3))
FORMS: dict[str, tuple[Any, Array]] = {
    "number": (1.5, np.broadcast_to(1.5 * np.eye(3), (T, 3, 3))),
    "number per round": (np.arange(T), np.arange(float(T))[:, None, None] * np.eye(3)),
    "matrix": (FACTORS[0] @ FACTORS[0].T, np.broadcast_to(FACTORS[0] @ FACTORS[0].T, (T, 3, 3))),
    "matrix per round": (FACTORS @ FACTORS.mT, FACTORS @ FACTORS.mT),
}
each_form = pytest.mark.parametrize(("given", "matrices"), FORMS.values(), ids=FORMS)


# ---- forms -----------------------------------------------------------------------------------------------------------


@each_form
@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_every_form_transforms_the_matrix_of_each_round(given: Any, matrices: Array, batch: tuple[int, ...]) -> None:
    left, right = np.random.default_rng(1).standard_normal((2, *batch, 3, 3))
    found = step_moments(given, 3, T).transform(left, right, slice(2, 6))
    assert found.shape == (4, *batch, 3, 3)
    for k in range(4):
        np.testing.assert_allclose(found[k], left.swapaxes(-1, -2) @ matrices[2 + k] @ right, atol=1e-13)


@each_form
def test_a_selection_has_the_moments_of_its_rounds(given: Any, matrices: Array) -> None:
    chosen = step_moments(given, 3, T).select(slice(3, 6))
    np.testing.assert_allclose(chosen.transform(np.eye(3), np.eye(3), slice(1, 3)), matrices[4:6], atol=1e-13)


def test_all_forms_of_one_covariance_give_the_same_regret() -> None:
    T = 17
    matrix = 2.0 * np.eye(3)
    forms: list[Any] = [2.0, matrix, np.full(T, 2.0), np.broadcast_to(matrix, (T, 3, 3)), Laplace(scale=1.0)]
    totals = [exact_regret(A3, HAT3, covariance=form, horizon=T, x0_minus_v0=START).total for form in forms]
    np.testing.assert_allclose(totals, totals[0], rtol=1e-11)


def test_one_number_is_a_variance_per_round_only_if_the_horizon_is_one() -> None:
    assert step_moments([2.0], 3, 1).constant is None
    assert step_moments(2.0, 3, 1).constant is not None
    with pytest.raises(ArgumentError, match=r"covariance must be a number, .* got shape \(1,\)"):
        step_moments([2.0], 3, 2)


@pytest.mark.parametrize(
    "process", [Gaussian(FACTORS[1]), Gaussian([1.0, 2.0, 3.0]), Laplace(2.0), StudentT(1.5, df=9.0)], ids=repr
)
def test_the_covariance_of_a_process_is_that_of_its_steps(process: Any) -> None:
    steps = process.steps(np.random.default_rng(2), 50_000, 3)
    products = steps[:, :, None] * steps[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(steps))
    Sigma = constant_covariance(process, 3)
    assert (np.abs(products.mean(axis=0) - Sigma) < 4.5 * error).all()  # of nine entries, once in 1e4 seeds
    moments = step_moments(process, 3, T)
    assert moments.constant is not None
    np.testing.assert_array_equal(moments.constant, Sigma)


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
    assert isinstance(step_moments(1.0, 2, 10**15), StepMoments)
    with pytest.raises(ArgumentError, match=r"horizon must be at most 1e\+15, got 1e\+16"):
        step_moments(1.0, 2, 10**16)
