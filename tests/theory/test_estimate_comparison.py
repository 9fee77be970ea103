"""A curvature and its estimate: bases and parts of the regret against dense algebra, and digits against fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import Case, random_cases, random_rotation

from soqo.errors import ArgumentError
from soqo.theory._estimate_comparison import Comparison, broadcastable
from soqo.theory._gain_sums import kernel_sum
from soqo.typing import Array


def dense_gains(A: Array, rounds: int) -> list[Array]:
    """Return the gains with 1..rounds rounds to go, by matrix inverses."""
    eye = np.eye(len(A))
    gains: list[Array] = [eye]
    for _ in range(rounds):
        gains.append(np.asarray(np.linalg.inv(2.0 * eye + A - gains[-1]), dtype=np.float64))
    return gains[1:]


def dense_value(case: Case, rounds: int) -> float:
    """Return 1/2 <Sigma, C - C^> with this number of rounds to go."""
    C, C_hat = (dense_gains(matrix, rounds)[-1] for matrix in (case.A, case.A_hat))
    return float(0.5 * np.sum(case.covariance * (C - C_hat)))


def dense_basis(case: Case, rounds: int) -> float:
    """Return the sum of 1/2 E|u|^2 in the norm of A - A^ as the estimate's gains shrink u, from E[uu'] = Sigma."""
    second, total = case.covariance, 0.0
    for C in reversed(dense_gains(case.A_hat, rounds)):
        second = C @ second @ C
        total += float(0.5 * np.sum((case.A - case.A_hat) * second))
    return total


# ---- bases -----------------------------------------------------------------------------------------------------------


def test_errors_in_the_bases_are_products_with_the_eigenvectors() -> None:
    for case in random_cases(50, seed=21):
        pair = Comparison.of(case.A, case.A_hat)
        Q, P, error = pair.true.vectors, pair.estimate.vectors, case.A - case.A_hat
        scale = 1e-13 * np.abs(case.A).max()
        np.testing.assert_allclose((Q * pair.true.values) @ Q.T, case.A, atol=10 * scale)
        np.testing.assert_allclose((P * pair.estimate.values) @ P.T, case.A_hat, atol=10 * scale)
        np.testing.assert_allclose(pair.overlap, Q.T @ P, atol=1e-14)
        np.testing.assert_allclose(pair.error, error, atol=scale)
        np.testing.assert_allclose(pair.mixed_error, Q.T @ error @ P, atol=10 * scale)
        np.testing.assert_allclose(pair.estimate_error, P.T @ error @ P, atol=10 * scale)
        assert (pair.dim, pair.batch) == (len(case.A), ())


# ---- parts of the regret ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 2, 17])
def test_the_value_part_is_the_difference_of_dense_gains(rounds: int) -> None:
    for case in random_cases(30, seed=22):
        found = Comparison.of(case.A, case.A_hat).value(case.covariance, rounds)
        # The dense difference cancels: its error is round-off of the gains, which are at most one.
        assert found == pytest.approx(dense_value(case, rounds), rel=1e-9, abs=1e-14 * np.trace(case.covariance))


@pytest.mark.parametrize("rounds", [1, 2, 17])
def test_the_basis_part_is_the_sum_over_dense_gains(rounds: int) -> None:
    for case in random_cases(30, seed=23):
        found = Comparison.of(case.A, case.A_hat).basis(case.covariance, rounds)
        scale = np.abs(case.A).max() * np.trace(case.covariance)
        assert found == pytest.approx(dense_basis(case, rounds), rel=1e-9, abs=1e-13 * scale)


def test_sums_of_parts_are_those_of_all_rounds_to_go() -> None:
    for case in random_cases(10, seed=24):
        pair, M = Comparison.of(case.A, case.A_hat), case.covariance
        # Rounds can differ in sign: the tolerance is relative to the sum of absolute values.
        values = np.array([pair.value(M, n) for n in range(1, 101)])
        parts = np.array([pair.basis(M, n) for n in range(1, 101)])
        assert abs(pair.value(M, 100, kernel_sum) - values.sum()) <= 1e-12 * np.abs(values).sum()
        assert abs(pair.basis(M, 100, kernel_sum) - parts.sum()) <= 1e-12 * np.abs(parts).sum()


@pytest.mark.parametrize("error", [2.0**-20, 2.0**-40, 2.0**-50])
def test_the_value_part_keeps_its_digits_however_good_the_estimate_is(error: float) -> None:
    """Against exact fractions, where A and the estimate are diagonal."""
    a, N = [0.5, 1.0, 3.0], 12
    b = [(1.0 + error) * value for value in a]

    def gain(value: float) -> Fraction:
        C = Fraction(1)
        for _ in range(N):
            C = 1 / (2 + Fraction(value) - C)
        return C

    exact = sum(gain(one) - gain(other) for one, other in zip(a, b, strict=True)) / 2
    found = Comparison.of(np.diag(a), np.diag(b)).value(np.eye(3), N)
    assert found == pytest.approx(float(exact), rel=1e-13, abs=0.0)


# ---- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), [((), (4,)), ((4,), ()), ((2, 1), (3,)), ((4,), (4,))])
def test_a_batch_compares_each_pair(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    rng = np.random.default_rng(25)

    def matrices(batch: tuple[int, ...]) -> Array:
        found = [random_rotation(rng, rng.uniform(0.1, 2.0, 3)) for _ in range(int(np.prod(batch)))]
        return np.reshape(found, (*batch, 3, 3))

    A, A_hat, M = matrices(one), matrices(other), matrices(())
    together = Comparison.of(A, A_hat)
    assert together.batch == np.broadcast_shapes(one, other)
    every_A, every_hat = (np.broadcast_to(X, (*together.batch, 3, 3)) for X in (A, A_hat))
    for k in np.ndindex(together.batch):
        alone = Comparison.of(every_A[k], every_hat[k])
        for name in ("value", "basis"):
            found = getattr(together, name)(M, 9)
            assert found.shape == together.batch
            assert found[k] == pytest.approx(getattr(alone, name)(M, 9), rel=1e-11, abs=1e-13)


@pytest.mark.parametrize(
    ("one", "other", "fits"),
    [((), (), True), ((3,), (), True), ((2, 1), (3,), True), ((3,), (2,), False), ((2, 3), (2,), False)],
)
def test_batches_are_broadcastable_as_arrays_are(one: tuple[int, ...], other: tuple[int, ...], fits: bool) -> None:
    assert broadcastable(one, other) is broadcastable(other, one) is fits


@pytest.mark.parametrize(
    ("A", "A_hat", "message"),
    [
        (np.eye(3), np.eye(2), r"A_hat must have A's shape \(3, 3\), got \(2, 2\)"),
        (
            np.stack([np.eye(2)] * 3),
            np.stack([np.eye(2)] * 2),
            r"A_hat must have A's shape \(3, 2, 2\), got \(2, 2, 2\)",
        ),
        (-np.eye(2), np.eye(2), "A must be positive semi-definite"),
        (np.eye(2), -np.eye(2), "A_hat must be positive semi-definite"),
    ],
)
def test_matrices_that_cannot_be_compared_are_named(A: Any, A_hat: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Comparison.of(A, A_hat)
