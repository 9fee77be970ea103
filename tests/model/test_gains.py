"""Gains in closed form against the literal recursion and exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soqo._model.gains import (
    advance,
    advance_remembered,
    advance_with_factor,
    contraction,
    gains_of_factors,
    gains_of_rounds,
    recursive_gains,
)


@settings(max_examples=200, deadline=None)
@given(a=st.floats(0.0, 1e8), n=st.integers(0, 200))
def test_contraction_is_the_literal_recursion(a: float, n: int) -> None:
    c = 1.0
    for _ in range(n):
        c = 1.0 / (2.0 + a - c)
    assert float(contraction(a, n)) == pytest.approx(c, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_contraction_and_advance_are_exact_to_round_off(n: int) -> None:
    for a in (0.0, 1e-16, 1e-9, 0.3, 1.0, 1e8):
        c = Fraction(1)
        for _ in range(n):
            c = 1 / (2 + Fraction(a) - c)
        assert float(contraction(a, n)) == pytest.approx(float(c), rel=4e-15)
        assert float(advance(a, n)) == pytest.approx(float(1 - c), rel=4e-15)


@pytest.mark.parametrize("n", [1, 739, 10**6, 10**30, math.inf])
def test_extreme_curvature_and_horizon_raise_nothing(n: float) -> None:
    a = np.array([0.0, 5e-324, 1e-300, 1e-16, 1e-8, 1.0, 1e8, 1e150, 1e300])
    with np.errstate(all="raise", under="ignore"):
        c, m = contraction(a, n), advance(a, n)
    assert c[0] == 1.0
    assert m[0] == 0.0
    assert np.isfinite(c).all()
    assert (np.diff(c) <= 0.0).all()
    assert (c >= 0.0).all()
    np.testing.assert_allclose(c + m, 1.0, rtol=1e-15)


def test_the_contraction_decreases_with_the_rounds_to_go_to_the_stationary_one() -> None:
    n = np.arange(1, 60)
    values = contraction(0.2, n)
    assert (np.diff(values) <= 0.0).all()
    assert values[-1] == pytest.approx(float(contraction(0.2, math.inf)), rel=1e-10)


def test_rounds_to_go_may_be_an_array_with_infinity() -> None:
    got = contraction([[0.0], [1.0]], np.array([1.0, np.inf]))
    np.testing.assert_allclose(got, [[1.0, 1.0], [0.5, (3 - 5**0.5) / 2]])


@pytest.mark.parametrize("gain", [contraction, advance])
@pytest.mark.parametrize("horizon", [9, None])
def test_gains_of_rounds_are_the_gains_one_by_one(gain: Any, horizon: int | None) -> None:
    values = np.array([[0.0, 1.0], [0.3, 1e8]])
    gains = gains_of_rounds(gain, values, horizon, slice(2, 7))
    assert gains.shape == (5, 2, 2)
    for k in range(5):
        to_go = math.inf if horizon is None else horizon - 2 - k
        np.testing.assert_array_equal(gains[k], gain(values, to_go))


def test_the_recursion_for_one_A_gives_the_closed_form() -> None:
    values = np.array([0.0, 0.2, 3.0])
    gains, inverses = recursive_gains([(0, 4, np.diag(values)), (4, 7, np.diag(values))])
    for t in range(7):
        np.testing.assert_allclose(gains[t, 0], np.diag(contraction(values, 7 - t)), atol=1e-15)
        np.testing.assert_allclose(inverses[t, 0] @ gains[t, 0], np.eye(3), atol=1e-15)


# ---- factors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 40])
def test_a_factor_of_the_current_round_is_exact_to_round_off(n: int) -> None:
    for a, s in product([0.0, 1e-16, 0.3, 1.0, 1e8], [1e-6, 0.5, 1.0, 40.0]):
        later = Fraction(1)
        for _ in range(n - 1):
            later = 1 / (2 + Fraction(a) - later)
        expected = 1 - 1 / (2 + Fraction(s) * Fraction(a) - later)
        assert float(advance_with_factor(np.array([a]), n, np.array(s))[0]) == pytest.approx(float(expected), rel=4e-15)


@pytest.mark.parametrize("n", [1.0, 3.0, math.inf])
def test_a_factor_of_one_changes_nothing_and_an_extreme_one_raises_nothing(n: float) -> None:
    a = np.array([0.0, 1e-300, 0.3, 1e300])
    np.testing.assert_allclose(advance_with_factor(a, n, np.array(1.0)), advance(a, n), rtol=1e-14)
    with np.errstate(all="raise", under="ignore"):
        assert advance_with_factor(a, n, np.array(1e300))[-1] == 1.0


def test_known_factors_give_the_recursion_on_matrices() -> None:
    rng = np.random.default_rng(0)
    values, factors = rng.uniform(0.0, 3.0, (4, 2)), rng.uniform(0.2, 3.0, (9, 4))
    contractions, advances = gains_of_factors(values, factors)
    np.testing.assert_allclose(contractions + advances, 1.0, rtol=1e-15)
    for run in range(4):
        A = np.diag(values[run])
        later = np.eye(2)
        for t in reversed(range(9)):
            later = np.linalg.inv(2.0 * np.eye(2) + factors[t, run] * A - later)
            np.testing.assert_allclose(np.diag(contractions[t, run]), later, rtol=1e-12)
    matrices = np.stack([np.diag(row) for row in values])
    gains, inverses = recursive_gains([(0, 3, matrices), (3, 9, matrices)], factors)
    np.testing.assert_allclose(np.diagonal(gains, axis1=-2, axis2=-1), contractions, rtol=1e-12)
    np.testing.assert_allclose(np.matmul(gains, inverses), np.broadcast_to(np.eye(2), gains.shape), atol=1e-12)


def test_an_advance_is_remembered_for_the_same_array_and_number_of_rounds_only() -> None:
    first, second = np.array([0.5, 2.0]), np.array([0.5, 3.0])
    for a, n in ((first, 7.0), (first, 7.0), (second, 7.0), (first, 7.0), (first, 1e150), (first.copy(), 3.0)):
        np.testing.assert_array_equal(advance_remembered(a, n), advance(a, n))
    assert advance_remembered(first, 7.0) is advance_remembered(first, 7.0)
