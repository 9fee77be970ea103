"""Closed forms of sums over rounds, against direct summation."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._model.gains import contraction
from soqo.theory._gain_sums import contraction_sum, kernel, kernel_sum
from soqo.typing import Array

EIGENVALUES = np.array([0.0, 1e-12, 1e-8, 1.00001e-8, 1e-4, 1.1e-4, 0.01, 0.010001, 1.0, 3.0, 1e8])


def kernel_by_recursion(a: Array, rounds: int) -> tuple[Array, Array]:
    """Return k_N and its sum over N, from k_N = contraction contraction (1 + k_{N-1})."""
    gains = contraction(a, np.arange(1.0, rounds + 1.0)[:, None])
    k = total = np.zeros((a.size, a.size))
    for gain in gains:
        k = np.outer(gain, gain) * (1.0 + k)
        total = total + k
    return k, total


@pytest.mark.parametrize("rounds", [1, 2, 39, 40, 41, 60, 61, 79, 1_000, 30_000])
def test_the_kernel_and_its_sum_satisfy_the_recursion(rounds: int) -> None:
    k, total = kernel_by_recursion(EIGENVALUES, rounds)
    np.testing.assert_allclose(kernel(EIGENVALUES, EIGENVALUES, rounds), k, rtol=1e-11)
    np.testing.assert_allclose(kernel_sum(EIGENVALUES, EIGENVALUES, rounds), total, rtol=1e-11)


@pytest.mark.parametrize("rounds", [1, 45, 10_000, 1_000_000])
def test_sums_of_contractions_agree_with_direct_summation(rounds: int) -> None:
    n = np.arange(1.0, rounds + 1.0)
    expected = [contraction(a, n).sum() for a in EIGENVALUES]
    np.testing.assert_allclose(contraction_sum(EIGENVALUES, rounds), expected, rtol=1e-13)


def test_the_kernel_is_minus_the_divided_difference_of_the_contraction() -> None:
    a, b = np.array([0.0, 0.5, 2.0]), np.array([0.3, 1.0])
    for N in (1, 2, 7, 100):
        quotients = (contraction(a, N)[:, None] - contraction(b, N)) / (a[:, None] - b)
        square = kernel(a, np.append(b, 5.0), N)
        np.testing.assert_allclose(square[:, :2], -quotients, rtol=1e-12)


def test_the_kernel_of_a_batch_is_that_of_each() -> None:
    a = np.abs(np.random.default_rng(0).standard_normal((4, 3)))
    b = np.abs(np.random.default_rng(1).standard_normal((4, 3)))
    together = kernel_sum(a, b, 500)
    for k in range(4):
        np.testing.assert_allclose(together[k], kernel_sum(a[k], b[k], 500), rtol=1e-13)


def test_over_a_very_long_horizon_the_mean_is_the_limit() -> None:
    a = np.array([0.5, 2.0])
    limit = contraction(a, np.inf)
    pairs = np.outer(limit, limit) / (1.0 - np.outer(limit, limit))
    rounds = 10**12
    np.testing.assert_allclose(kernel_sum(a, a, rounds) / rounds, pairs, rtol=1e-11)
    np.testing.assert_allclose(contraction_sum(a, rounds) / rounds, limit, rtol=1e-11)


@pytest.mark.parametrize("a", [1e-300, 1e150, 1e300])
def test_extreme_eigenvalues_do_not_overflow(a: float) -> None:
    found = kernel_sum(np.array([a]), np.array([a]), 1000)
    assert np.isfinite(found).all()
    assert (found >= 0.0).all()
