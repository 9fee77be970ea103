"""The constants of an instance against dense algebra, its rank against round-off, and the form of a bound."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from cases import random_cases, random_rotation, rotate

from soqo.errors import ArgumentError
from soqo.theory import Bound, bounds, exact_regret, theorem4, theorem5
from soqo.theory._instance_constants import Instance

FULL, DEFICIENT = np.diag([1.0, 2.0]), np.diag([1.0, 0.0])


# ---- constants -------------------------------------------------------------------------------------------------------


def test_the_constants_are_those_of_dense_algebra() -> None:
    for case in random_cases(200, seed=9):
        found = Instance.of(case.A, case.covariance)
        singular = np.linalg.svd(case.A, compute_uv=False)
        assert (found.dim, found.rank) == (len(case.A), case.rank)
        assert found.full_rank == case.full_rank
        assert found.trace == pytest.approx(np.trace(case.A))
        assert found.sigma_max == pytest.approx(singular[0])
        assert found.sigma_min == pytest.approx(singular[case.rank - 1], rel=1e-9)
        assert found.covariance_trace == pytest.approx(np.trace(case.covariance))
        assert found.covariance_norm == pytest.approx(np.sqrt(np.square(case.covariance).sum()))
        # I - pinv(A) A projects on the null space; its error is round-off over the smallest nonzero eigenvalue.
        null = np.eye(len(case.A)) - np.linalg.pinv(case.A, rcond=1e-10, hermitian=True) @ case.A
        expected = np.sum(null * case.covariance)
        assert found.null_space_trace == pytest.approx(expected, abs=1e-9 * np.trace(case.covariance))


def test_the_power_of_the_probe_variance_depends_on_the_rank() -> None:
    assert Instance.of(FULL, 1.0).power == 1 / 2
    assert Instance.of(DEFICIENT, 1.0).power == 2 / 3


def test_round_off_does_not_count_for_the_rank() -> None:
    for seed in range(20):
        A = random_rotation(np.random.default_rng(seed), np.array([0.0, 0.0, 0.3, 5.0]))
        found = Instance.of(A, 1.0)
        assert found.rank == 2
        assert found.sigma_min == pytest.approx(0.3)
        assert found.null_space_trace == pytest.approx(2.0)


def test_small_eigenvalues_above_round_off_count_for_the_rank() -> None:
    """Missing an eigenvalue of 1e-10 times the largest costs T^2, so it must not count as zero."""
    A, A_hat, T = np.diag([1e6, 1e-4]), np.diag([1e6, 0.5e-4]), 10**7
    assert exact_regret(A, A_hat, covariance=1.0, horizon=T).total <= theorem5(A, 1.0, epsilon=0.5e-4, horizon=T).value
    ranks = [
        bounds(matrix, 1.0, horizon=100, noise_cap=1.0, c1=1.0).schedules["corrected"].m // 2
        for matrix in (A, rotate(DEFICIENT, 0.7))
    ]
    assert ranks == [2, 1]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
@pytest.mark.parametrize("sigma", [1e-17, 1e-8, 1.0, 1e9])
def test_the_margin_keeps_its_digits_however_small_the_eigenvalue_is(sigma: float, share: float) -> None:
    instance = Instance.of([[sigma]], 1.0)
    epsilon = share * sigma
    exact = (1 + Fraction(instance.sigma_min) - Fraction(epsilon)) ** 2 - 1
    assert instance.margin(epsilon) == pytest.approx(float(exact), rel=1e-15, abs=0.0)


def test_the_margin_is_that_of_the_geometric_series_of_squared_gains() -> None:
    rho = 1.0 / (1.0 + 0.7 - 0.2)
    series = sum(rho ** (2 * n) for n in range(1, 200))
    assert Instance.of(np.diag([0.7, 3.0]), 1.0).margin(0.2) == pytest.approx(1.0 / series)


# ---- bounds ----------------------------------------------------------------------------------------------------------


def test_a_bound_is_the_sum_of_its_terms_to_the_last_digit() -> None:
    bound = Bound("Theorem 0", "corrected", {"a": 1e16, "b": 1.0, "c": -1e16})
    assert bound.value == 1.0
    assert Bound("Theorem 0", "corrected", {}).value == 0.0


def test_a_bound_is_printed_with_its_variant_and_its_terms() -> None:
    text = str(Bound("Theorem 4", "as_printed", {"value": 1.25, "basis": 2e9}))
    assert text == "Theorem 4, as printed: 2e+09 (value 1.25, basis 2e+09)"


def test_bounds_are_equal_if_statement_variant_and_terms_are() -> None:
    bound = Bound("Theorem 4", "corrected", {"value": 1.0})
    assert bound == Bound("Theorem 4", "corrected", {"value": 1.0})
    assert bound != Bound("Theorem 5", "corrected", {"value": 1.0})
    assert bound != Bound("Theorem 4", "appendix", {"value": 1.0})
    assert bound != Bound("Theorem 4", "corrected", {"basis": 1.0})


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theorem5(FULL, 1.0, epsilon=1.0, horizon=9), "epsilon must be .* nonzero eigenvalue 1, got 1"),
        (lambda: theorem5(FULL, 1.0, epsilon=-0.1, horizon=9), "epsilon must be at least 0"),
        (
            lambda: theorem5(FULL, 1.0, epsilon=0.1, horizon=9, variant="mine"),  # type: ignore[arg-type]  # on purpose
            "variant must be one of 'corrected', 'as_printed'",
        ),
        (lambda: theorem5(np.zeros((2, 2)), 1.0, epsilon=0.1, horizon=9), "A must not be zero"),
        (lambda: theorem5(np.stack([FULL, FULL]), 1.0, epsilon=0.1, horizon=9), r"A must have shape \(d, d\) here"),
    ],
)
def test_errors_name_the_argument(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_an_error_of_zero_and_one_just_below_the_smallest_nonzero_eigenvalue_are_accepted() -> None:
    A = np.diag([0.7, 0.0, 3.0])
    instance = Instance.of(A, 1.0)
    for epsilon in (0.0, np.nextafter(0.7, 0.0)):
        assert instance.margin(float(epsilon)) > 0.0
        assert theorem4(A, 1.0, epsilon=float(epsilon), horizon=9).value >= 0.0
    with pytest.raises(ArgumentError, match=r"got 0\.7: the bound is infinite there"):
        theorem4(A, 1.0, epsilon=0.7, horizon=9)
