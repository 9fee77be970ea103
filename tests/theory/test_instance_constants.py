"""The rank of an instance, the form of a bound, and errors that name its arguments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cases import rotate

from soqo.errors import ArgumentError
from soqo.theory import Bound, bounds, exact_regret, theorem4, theorem5

FULL, DEFICIENT = np.diag([1.0, 2.0]), np.diag([1.0, 0.0])


def test_small_eigenvalues_above_round_off_count_for_the_rank() -> None:
    """Missing an eigenvalue of 1e-10 times the largest costs T^2, so it must not count as zero."""
    A, A_hat, T = np.diag([1e6, 1e-4]), np.diag([1e6, 0.5e-4]), 10**7
    assert exact_regret(A, A_hat, covariance=1.0, horizon=T).total <= theorem5(A, 1.0, epsilon=0.5e-4, horizon=T).value
    ranks = [
        bounds(matrix, 1.0, horizon=100, noise_cap=1.0, c1=1.0).schedules["corrected"].m // 2
        for matrix in (A, rotate(DEFICIENT, 0.7))
    ]
    assert ranks == [2, 1]


# ---- bounds ----------------------------------------------------------------------------------------------------------


def test_a_bound_is_the_sum_of_its_terms_to_the_last_digit() -> None:
    bound = Bound("Theorem 0", "corrected", {"a": 1e16, "b": 1.0, "c": -1e16})
    assert bound.value == 1.0
    assert Bound("Theorem 0", "corrected", {}).value == 0.0


def test_a_bound_is_printed_with_its_variant_and_its_terms() -> None:
    text = str(Bound("Theorem 4", "as_printed", {"value": 1.25, "basis": 2e9}))
    assert text == "Theorem 4, as printed: 2e+09 (value 1.25, basis 2e+09)"


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
    for epsilon in (0.0, np.nextafter(0.7, 0.0)):
        assert theorem4(A, 1.0, epsilon=float(epsilon), horizon=9).value >= 0.0
    with pytest.raises(ArgumentError, match=r"got 0\.7: the bound is infinite there"):
        theorem4(A, 1.0, epsilon=0.7, horizon=9)
