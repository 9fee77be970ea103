r"""Closed forms for sums of products of gains over rounds, on which all exact formulas build.

For an eigenvalue a of one matrix and b of another (or of the same), with 4 sinh^2(th/2) = a and N rounds to go, the
kernel

    k_N(a, b) = sum over n = 1..N of the product of contraction(a, l) contraction(b, l) over l = n..N

is the weight of a step of v, summed over all later rounds. It equals minus the divided difference
[contraction(a, N) - contraction(b, N)] / (a - b). The products telescope, and the sum is

    k_N = 1/4 [sinh(N (th_a + th_b)) / sinh((th_a + th_b)/2) + sinh(N (th_a - th_b)) / sinh((th_a - th_b)/2)]
          / (cosh((N + 1/2) th_a) cosh((N + 1/2) th_b)).

Its sum over N is a matrix product of two arrays with an axis for N, and nothing overflows. If two angles are close, the
second quotient is replaced by its series, because the quotient would cancel. As functions of N, the summands are
analytic except for poles at Re N = -1/2. Gaussian quadrature for sums therefore evaluates a sum over N..2N at a few
points, and a sum over a million rounds at about three hundred.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander
from numpy.polynomial.polynomial import polyval

from soqo._model.gains import contraction
from soqo.typing import Array, BoolArray

_NEAR_RATIO = 0.05
"""Two angles are close if their difference is below this fraction of the smaller one."""

_SERIES_TERMS = 9
"""Terms of the series for close angles. The summands vanish where N theta exceeds 20, so its argument stays below 1."""

_LARGE_ANGLE = 0.5
"""From this angle on, e^{-2 N theta} is small in every round."""

_NODES = 20
"""Quadrature points per octave. The nearest pole is three half-lengths from the center of the octave, so the error is
of order (3 + sqrt(8))^(-2 _NODES)."""

_EULER_MACLAURIN_FROM = 1000
"""From this number of terms on, sums of polynomials come from the Euler-Maclaurin formula, which does not cancel."""


def contraction_sum(a: Array, rounds: int) -> Array:
    """Return the sum over n = 1..rounds of contraction(a, n), for eigenvalues a of any shape."""
    n, weights = _quadrature(rounds)
    return np.asarray(np.tensordot(weights, contraction(a, n.reshape(-1, *[1] * a.ndim)), axes=1))


def kernel(a: Array, b: Array, N: int) -> Array:
    """Return k_N for each pair of eigenvalues; a and b have shape (*batch, d), the result (*batch, d, d)."""
    return _weighted_kernel_sum(a, b, np.array([float(N)]), np.ones(1))


def kernel_sum(a: Array, b: Array, rounds: int) -> Array:
    """Return the sum over N = 1..rounds of k_N for each pair of eigenvalues."""
    return _weighted_kernel_sum(a, b, *_quadrature(rounds))


@lru_cache(maxsize=256)
def _quadrature(rounds: int) -> tuple[Array, Array]:
    """Return points n and weights such that the sum of f over 1..rounds is the weighted sum of f(n)."""
    first = 2 * _NODES
    points = [np.arange(1.0, min(rounds, first) + 1.0)]
    weights = [np.ones(min(rounds, first))]
    while first < rounds:
        last = min(2 * first, rounds)
        x, w = _gauss_rule_for_sums(last - first)
        points.append(0.5 * (first + last + 1.0) + 0.5 * (last - first) * x)
        weights.append(w)
        first = last
    return np.concatenate(points), np.concatenate(weights)


@lru_cache(maxsize=256)
def _gauss_rule_for_sums(count: int) -> tuple[Array, Array]:
    """Return a Gaussian rule on [-1, 1] for the sum over the midpoints of ``count`` equal parts."""
    midpoints = (2.0 * np.arange(min(count, _EULER_MACLAURIN_FROM)) + 1.0) / count - 1.0
    if count <= _NODES:
        return midpoints, np.ones(count)
    x, w, polynomials = _gauss_legendre()
    moments = _legendre_sums(count) if count > _EULER_MACLAURIN_FROM else legvander(midpoints, _NODES - 1).sum(axis=0)
    return x, w * (polynomials @ ((np.arange(_NODES) + 0.5) * moments))


@cache
def _gauss_legendre() -> tuple[Array, Array, Array]:
    """Return the Gauss-Legendre points and weights, and the Legendre polynomials at the points."""
    x, w = leggauss(_NODES)
    return x, w, np.asarray(legvander(x, _NODES - 1), dtype=np.float64)


def _legendre_sums(count: int) -> Array:
    """Return the sums of P_0..P_{_NODES-1} over the midpoints of ``count`` equal parts of [-1, 1].

    By the Euler-Maclaurin formula with h = 2 / count, a sum over midpoints is 1/h times the integral, plus the sum over
    j of B_2j(1/2) / (2j)! h^(2j-1) times the difference of the (2j-1)-st derivative between the ends. For P_k with even
    k this difference is twice (k + i)! / (2^i i! (k - i)!) with i = 2j - 1; for odd k it is 0. For polynomials the
    series is finite.
    """
    sums = _euler_maclaurin_coefficients() @ (2.0 / count) ** np.arange(_NODES)
    sums[0] = count
    return np.asarray(sums)


@cache
def _euler_maclaurin_coefficients() -> Array:
    """Return the coefficients of h^i in the sum of P_k, shape (_NODES, _NODES)."""
    from scipy.special import bernoulli  # imported here because it would slow down importing soqo

    numbers = bernoulli(_NODES)
    table = np.zeros((_NODES, _NODES))
    for k in range(2, _NODES, 2):
        for i in range(1, k + 1, 2):
            derivative = math.factorial(k + i) / (2**i * math.factorial(i) * math.factorial(k - i))
            table[k, i] = 2.0 * derivative * (2.0**-i - 1.0) * numbers[i + 1] / math.factorial(i + 1)
    return table


def _weighted_kernel_sum(a: Array, b: Array, n: Array, weights: Array) -> Array:
    """Return the weighted sum of k_N over the given N."""
    one = _Angles.of(a, n)
    other = one if b is a else _Angles.of(b, n)
    pair = _AnglePair.of(one, other)
    w = weights[:, None]
    plus = pair.share_a * _gram(w * one.over_half, other.cosh)
    plus += pair.share_b * _gram(w * one.cosh, other.over_half)
    # The numerator of the second quotient in two forms: the first cancels for large angles, the second for small ones.
    small = _gram(w * one.sinh, other.cosh) - _gram(w * one.cosh, other.sinh)
    large = 2.0 * (_gram(w * one.common, other.fading) - _gram(w * one.fading, other.common))
    minus = np.where(pair.large, large, small) / np.where(pair.near, 1.0, pair.half_difference)
    if pair.near.any():
        minus = np.where(pair.near, _near_quotient_sum(one, other, pair.difference, n, w), minus)
    return np.asarray(0.25 * (plus + minus))


def _near_quotient_sum(one: _Angles, other: _Angles, difference: Array, n: Array, w: Array) -> Array:
    """Return the sum of the second quotient for close angles, by its series in their difference."""
    left, right = one.inverse_cosh(n), other.inverse_cosh(n)
    square = difference**2
    powers = n ** (2 * np.arange(_SERIES_TERMS)[:, None] + 1)
    axes = [1] * (left.ndim - 2)
    sums = _gram(powers.reshape(_SERIES_TERMS, *axes, -1, 1) * (w * left), right)
    weights = np.array([1.0 / math.factorial(2 * k + 1) for k in range(_SERIES_TERMS)])
    total = polyval(square, weights.reshape(_SERIES_TERMS, *axes, 1, 1) * sums, tensor=False)
    # sinh(x)/x for half the difference, by the same series.
    quarter = 0.25 * square
    return np.asarray(2.0 * total / (1.0 + quarter / 6.0 * (1.0 + quarter / 20.0 * (1.0 + quarter / 42.0))))


def _gram(left: Array, right: Array) -> Array:
    """Return the sums over N of the products of every pair."""
    return np.asarray(np.matmul(left.swapaxes(-1, -2), right))


@dataclass(frozen=True, eq=False)
class _Angles:
    """Angles of eigenvalues (*batch, d), and their hyperbolic functions for each N, shape (*batch, rounds, d).

    Attributes
    ----------
    a, theta, half, half_cosh : Array, shape (*batch, d)
        The eigenvalues, their angles, and sinh and cosh of half an angle.
    sinh, cosh : Array, shape (*batch, rounds, d)
        sinh(N theta) and cosh(N theta), both over cosh((N + 1/2) theta).
    over_half : Array, shape (*batch, rounds, d)
        sinh(N theta) / sinh(theta/2), over the same; 2 N at theta = 0.
    common, fading : Array, shape (*batch, rounds, d)
        e^{N theta} / 2 over the same, which is (sinh + cosh) / 2, and e^{-2 N theta} times it.
    """

    a: Array
    theta: Array
    half: Array
    half_cosh: Array
    sinh: Array
    cosh: Array
    over_half: Array
    common: Array
    fading: Array

    @classmethod
    def of(cls, a: Array, n: Array) -> _Angles:
        half = 0.5 * np.sqrt(a)
        theta = 2.0 * np.arcsinh(half)
        exponent = -2.0 * n[:, None] * theta[..., None, :]
        gone = -np.expm1(exponent)  # 1 - e^{-2 N theta}
        decay = np.exp(-theta)[..., None, :]
        common = np.sqrt(decay) / (1.0 + decay * (1.0 - gone))
        sinh = gone * common
        zero = (half == 0.0)[..., None, :]
        over_half = np.where(zero, 2.0 * n[:, None], sinh / np.where(zero, 1.0, half[..., None, :]))
        half_cosh = np.sqrt(1.0 + 0.25 * a)
        cosh, fading = (2.0 - gone) * common, np.exp(exponent) * common
        return cls(a, theta, half, half_cosh, sinh, cosh, over_half, common, fading)

    def inverse_cosh(self, n: Array) -> Array:
        """Return 1 / cosh((N + 1/2) theta)."""
        fading = np.exp(-(n[:, None] + 0.5) * self.theta[..., None, :])
        return np.asarray(2.0 * fading / (1.0 + fading * fading))


@dataclass(frozen=True, eq=False)
class _AnglePair:
    """Denominators of the kernel for each pair of an angle th_a with an angle th_b, shape (*batch, d, d).

    Attributes
    ----------
    share_a, share_b : Array
        sinh(th_a/2) and sinh(th_b/2), over sinh((th_a + th_b)/2); 1/2 if both angles are 0.
    difference, half_difference : Array
        th_a - th_b, and sinh of half of it, to full relative accuracy.
    near, large : BoolArray
        Whether the angles are close, and whether both are large.
    """

    share_a: Array
    share_b: Array
    difference: Array
    half_difference: Array
    near: BoolArray
    large: BoolArray

    @classmethod
    def of(cls, one: _Angles, other: _Angles) -> _AnglePair:
        half_a, half_b = one.half[..., :, None], other.half[..., None, :]
        half_sum = half_a * other.half_cosh[..., None, :] + one.half_cosh[..., :, None] * half_b
        zero = half_sum == 0.0
        divisor = np.where(zero, 1.0, half_sum)
        half_difference = 0.25 * (one.a[..., :, None] - other.a[..., None, :]) / divisor
        difference = 2.0 * np.arcsinh(half_difference)
        smaller = np.minimum(one.theta[..., :, None], other.theta[..., None, :])
        return cls(
            share_a=np.where(zero, 0.5, half_a / divisor),
            share_b=np.where(zero, 0.5, half_b / divisor),
            difference=difference,
            half_difference=half_difference,
            near=np.abs(difference) <= _NEAR_RATIO * smaller,
            large=smaller > _LARGE_ANGLE,
        )
