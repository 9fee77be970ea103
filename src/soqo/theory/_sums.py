r"""Sums over rounds of products of gains, in closed form: what all exact formulas are made of.

For an eigenvalue a of one matrix and b of another (or of the same), with angles 4 sinh^2(th/2) = a and N rounds to go,

    k_N(a, b) = sum over n = 1..N of the product of contraction(a, l) contraction(b, l) over l = n..N

says how much of a step of v is still there, summed over the rounds that follow; and it is minus the divided difference
[contraction(a, N) - contraction(b, N)] / (a - b). The products telescope, and the sum is

    k_N = 1/4 [sinh(N (th_a + th_b)) / sinh((th_a + th_b)/2) + sinh(N (th_a - th_b)) / sinh((th_a - th_b)/2)]
          / (cosh((N + 1/2) th_a) cosh((N + 1/2) th_b)).

Summed over N it is a product of two arrays with an axis for N, and nothing overflows. Where two angles are close, the
second quotient is its series; otherwise it would lose the digits that they have in common. As functions of N, the
summands are analytic but for poles at Re N = -1/2; so from some N on a sum over N..2N needs them at a few points only,
by Gauss's quadrature for sums, and a sum over a million rounds needs some three hundred."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

from soqo._planner import contraction
from soqo.typing import Array, BoolArray

__all__ = ["contraction_sum", "pair_factors", "pair_factors_sum"]

NEAR, TERMS = 0.05, 9
"""Angles whose difference is below this share of the smaller one are close, and so many terms of the series do for
them: where N theta is above 20 nothing is left to sum, so the series is in numbers below 1."""

LARGE = 0.5
"""From this angle on, e^{-2 N theta} is small in every round."""

NODES = 20
"""Points in each octave. The nearest pole is three half-lengths from its middle: errors of (3 + 8^1/2)^(-2 NODES)."""

MANY = 1000
"""From so many terms on, the sum of a polynomial is found from its derivatives at the ends, without cancellation."""


def contraction_sum(a: Array, rounds: int) -> Array:
    """The sum over n = 1..rounds of contraction(a, n), for eigenvalues a of any shape."""
    n, weights = rounds_rule(rounds)
    return np.asarray(np.tensordot(weights, contraction(a, n.reshape(-1, *[1] * a.ndim)), axes=1))


def pair_factors(a: Array, b: Array, N: int) -> Array:
    """k_N for each pair of eigenvalues, a of shape (*batch, d) and b likewise: shape (*batch, d, d)."""
    return pair_sums(a, b, np.array([float(N)]), np.ones(1))


def pair_factors_sum(a: Array, b: Array, rounds: int) -> Array:
    """The sum over N = 1..rounds of k_N."""
    return pair_sums(a, b, *rounds_rule(rounds))


@lru_cache(maxsize=256)
def rounds_rule(rounds: int) -> tuple[Array, Array]:
    """Points n and weights such that a sum over 1..rounds of f is the sum of weight f(n)."""
    points, weights = (
        [np.arange(1.0, min(rounds, 2 * NODES) + 1.0)],
        [np.ones(min(rounds, 2 * NODES))],
    )
    first = 2 * NODES
    while first < rounds:
        last = min(2 * first, rounds)
        x, w = sum_rule(last - first)
        points.append(0.5 * (first + last + 1.0) + 0.5 * (last - first) * x)
        weights.append(w)
        first = last
    return np.concatenate(points), np.concatenate(weights)


@lru_cache(maxsize=256)
def sum_rule(count: int) -> tuple[Array, Array]:
    """Gauss's rule on -1..1 for the sum over the middles of so many equal parts in place of the integral."""
    middles = (2.0 * np.arange(min(count, MANY)) + 1.0) / count - 1.0
    if count <= NODES:
        return middles, np.ones(count)
    x, w, polynomials = gauss()
    moments = legendre_sums(count) if count > MANY else legvander(middles, NODES - 1).sum(axis=0)
    return x, w * (polynomials @ ((np.arange(NODES) + 0.5) * moments))


@cache
def gauss() -> tuple[Array, Array, Array]:
    """Gauss's points and weights, and the Legendre polynomials at the points."""
    x, w = leggauss(NODES)
    return x, w, np.asarray(legvander(x, NODES - 1), dtype=np.float64)


def legendre_sums(count: int) -> Array:
    """The sums of P_0..P_{NODES-1} over the middles of so many equal parts of -1..1, by Euler and Maclaurin.

    With h = 2 / count, a sum over middles is 1/h times the integral, plus the sum over j of B_2j(1/2) / (2j)! h^(2j-1)
    times the difference of the (2j-1)-st derivative between the ends, which for P_k with even k is twice (k + i)! /
    (2^i i! (k - i)!) with i = 2j - 1, and 0 for odd k. For polynomials the series ends.
    """
    sums = end_corrections() @ (2.0 / count) ** np.arange(NODES)
    sums[0] = count
    return np.asarray(sums)


@cache
def end_corrections() -> Array:
    """The coefficients of h^i in the sum of P_k, shape (NODES, NODES)."""
    from scipy.special import bernoulli  # here, because it would slow down importing soqo

    numbers = bernoulli(NODES)
    table = np.zeros((NODES, NODES))
    for k in range(2, NODES, 2):
        for i in range(1, k + 1, 2):
            at_end = math.factorial(k + i) / (2**i * math.factorial(i) * math.factorial(k - i))
            table[k, i] = 2.0 * at_end * (2.0**-i - 1.0) * numbers[i + 1] / math.factorial(i + 1)
    return table


def pair_sums(a: Array, b: Array, n: Array, weights: Array) -> Array:
    """The weighted sum of k_N over the given N."""
    one = Angles.of(a, n)
    other = one if b is a else Angles.of(b, n)
    pair = Pair.of(one, other)
    w = weights[:, None]
    plus = pair.share_a * gram(w * one.over_half, other.cosh)
    plus += pair.share_b * gram(w * one.cosh, other.over_half)
    # The numerator of the second quotient, twice: what the angles have in common cancels in the first form where they
    # are large, and in the second where they are small.
    small = gram(w * one.sinh, other.cosh) - gram(w * one.cosh, other.sinh)
    large = 2.0 * (gram(w * one.common, other.fading) - gram(w * one.fading, other.common))
    minus = np.where(pair.large, large, small) / np.where(pair.near, 1.0, pair.half_difference)
    if pair.near.any():
        minus = np.where(pair.near, near_pairs(one, other, pair.difference, n, w), minus)
    return np.asarray(0.25 * (plus + minus))


def near_pairs(one: Angles, other: Angles, difference: Array, n: Array, w: Array) -> Array:
    """The second quotient for angles that are close, by its series in their difference."""
    left, right = one.inverse_cosh(n), other.inverse_cosh(n)
    square = difference**2
    powers = n ** (2 * np.arange(TERMS)[:, None] + 1)
    axes = [1] * (left.ndim - 2)
    sums = gram(powers.reshape(TERMS, *axes, -1, 1) * (w * left), right)
    weights = np.array([1.0 / math.factorial(2 * k + 1) for k in range(TERMS)])
    total = horner(square, weights.reshape(TERMS, *axes, 1, 1) * sums)
    # sinh(x)/x for half the difference, by the same series.
    quarter = 0.25 * square
    return np.asarray(2.0 * total / (1.0 + quarter / 6.0 * (1.0 + quarter / 20.0 * (1.0 + quarter / 42.0))))


def horner(x: Array, coefficients: Array) -> Array:
    """A polynomial in x, entry by entry; the coefficients have an axis in front, from the constant on."""
    total = np.zeros(x.shape)
    for coefficient in coefficients[::-1]:
        total = total * x + coefficient
    return total


def gram(left: Array, right: Array) -> Array:
    """Sums over N of products, for every pair."""
    return np.asarray(np.matmul(left.swapaxes(-1, -2), right))


@dataclass(frozen=True, eq=False)
class Angles:
    """The angles of eigenvalues (*batch, d), and for each N (*batch, rounds, d) what the sums multiply.

    Attributes
    ----------
    a, theta, half, half_cosh : Array, shape (*batch, d)
        The eigenvalues, their angles, and sinh and cosh of half an angle.
    sinh, cosh : Array, shape (*batch, rounds, d)
        sinh(N theta) and cosh(N theta), both over cosh((N + 1/2) theta).
    over_half : Array, shape (*batch, rounds, d)
        sinh(N theta) / sinh(theta/2), over the same; at theta = 0 it is 2 N.
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
    def of(cls, a: Array, n: Array) -> Angles:
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
        """1 / cosh((N + 1/2) theta)."""
        fading = np.exp(-(n[:, None] + 0.5) * self.theta[..., None, :])
        return np.asarray(2.0 * fading / (1.0 + fading * fading))


@dataclass(frozen=True, eq=False)
class Pair:
    """What the sums divide by, for each pair of an angle th_a with an angle th_b: arrays of shape (*batch, d, d).

    Attributes
    ----------
    share_a, share_b : Array
        sinh(th_a/2) and sinh(th_b/2), over sinh((th_a + th_b)/2); halves where both are 0.
    difference, half_difference : Array
        th_a - th_b, and sinh of half of it, to full relative accuracy.
    near, large : array of bool
        Whether the angles are close, and whether both are large.
    """

    share_a: Array
    share_b: Array
    difference: Array
    half_difference: Array
    near: BoolArray
    large: BoolArray

    @classmethod
    def of(cls, one: Angles, other: Angles) -> Pair:
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
            near=np.abs(difference) <= NEAR * smaller,
            large=smaller > LARGE,
        )
