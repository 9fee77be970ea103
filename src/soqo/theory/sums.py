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

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

from soqo.arguments import Array, BoolArray
from soqo.planner import contraction

__all__ = ["contraction_sum", "pair_factors", "pair_factors_sum"]

NEAR = 1e-3
"""Angles whose difference is below this share of the smaller one are close: three terms of the series do for them."""

NODES = 20
"""Points in each octave. The nearest pole is three half-lengths from its middle: errors of (3 + 8^1/2)^(-2 NODES)."""

MANY = 50_000
"""From so many terms on, a sum of a polynomial is its integral and one correction."""


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
    if count <= NODES:
        return middles(count), np.ones(count)
    k = np.arange(NODES)
    if count <= MANY:
        moments = legvander(middles(count), NODES - 1).sum(axis=0)
    else:
        # Euler and Maclaurin: P_k'(1) - P_k'(-1) is k (k + 1) for even k, and the next term is below round-off.
        moments = np.where(k % 2, 0.0, -k * (k + 1.0) / (12.0 * count))
        moments[0] = count
    x, w = leggauss(NODES)
    return x, w * (legvander(x, NODES - 1) @ ((k + 0.5) * moments))


def middles(count: int) -> Array:
    """The middles of so many equal parts of -1..1."""
    return (2.0 * np.arange(count) + 1.0) / count - 1.0


def pair_sums(a: Array, b: Array, n: Array, weights: Array) -> Array:
    """The weighted sum of k_N over the given N."""
    one, other = Angles.of(a, n), Angles.of(b, n)
    pair = Pair.of(one, other)
    w = weights[:, None]
    plus = pair.share_a * gram(w * one.over_half, other.cosh)
    plus += pair.share_b * gram(w * one.cosh, other.over_half)
    minus = gram(w * one.sinh, other.cosh) - gram(w * one.cosh, other.sinh)
    minus /= np.where(pair.near, 1.0, pair.half_difference)
    if pair.near.any():
        minus = np.where(pair.near, near_pairs(one, other, pair.difference, n, w), minus)
    return np.asarray(0.25 * (plus + minus))


def near_pairs(one: Angles, other: Angles, difference: Array, n: Array, w: Array) -> Array:
    """The second quotient for angles that are close, by its series in their difference."""
    left, right = one.inverse_cosh(n), other.inverse_cosh(n)
    square = difference**2
    total: Array = np.zeros(())
    for power, weight in ((1, 1.0), (3, square / 6.0), (5, square * square / 120.0)):
        total = total + weight * gram(w * n[:, None] ** power * left, right)
    return np.asarray(2.0 * total / (1.0 + square / 24.0))


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
    """

    a: Array
    theta: Array
    half: Array
    half_cosh: Array
    sinh: Array
    cosh: Array
    over_half: Array

    @classmethod
    def of(cls, a: Array, n: Array) -> Angles:
        half = 0.5 * np.sqrt(a)
        theta = 2.0 * np.arcsinh(half)
        gone = -np.expm1(-2.0 * n[:, None] * theta[..., None, :])  # 1 - e^{-2 N theta}
        decay = np.exp(-theta)[..., None, :]
        common = np.sqrt(decay) / (1.0 + decay * (1.0 - gone))
        sinh = gone * common
        zero = (half == 0.0)[..., None, :]
        over_half = np.where(zero, 2.0 * n[:, None], sinh / np.where(zero, 1.0, half[..., None, :]))
        half_cosh = np.sqrt(1.0 + 0.25 * a)
        return cls(a, theta, half, half_cosh, sinh, (2.0 - gone) * common, over_half)

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
    near : array of bool
    """

    share_a: Array
    share_b: Array
    difference: Array
    half_difference: Array
    near: BoolArray

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
        )
