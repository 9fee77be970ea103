"""The mixture of the variants of a fit of one run: ``_mixture`` as machine code."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes.compiled._small_matrices import fold_rows, solve_lower, triangular_factor
from soqo.typing import Array


@compiled
def mixture(
    shares: Array,
    means: Array,
    roots: Array,
    noises: Array,
    rows: Array,
    white: Array,
    L: Array,
    bias_rows: int,
    kappa: float,
    extras: int,
    mean: Array,
    root: Array,
) -> None:
    """Fill in mean and root of the mixture of the variants.

    Parameters
    ----------
    shares, noises : Array, shape (4,)
        The probabilities of the variants, and their noise.
    means, roots : Array, shape (4, e + p) and (4, e + p, e + p)
        The unknowns without N; arbitrary where the probability is zero.
    rows, white : Array, shape (n, m + 1)
        The rows, and those of the variants with a bias.
    L : Array, shape (bias_rows, bias_rows)
        The Cholesky factor of the covariance of the first of them, which contain N.
    bias_rows, kappa : int and float
        Their number, and the deviation of N in units of the noise; zero for no bias.
    extras : int
        The number of entries of an offset.
    mean, root : Array, shape (m,) and (m, m)
        The results.
    """
    m, n = mean.size, means.shape[1]
    q = m - n
    biased = shares[0] + shares[1]
    unbiased = shares[2] + shares[3]
    if unbiased == 0.0:
        _mix_offsets(shares, means, roots, 0, extras, mean[q:], root[q:, q:])
        _add_bias(shares, noises, rows, white, L, bias_rows, kappa, q, mean, root)
        return
    if biased == 0.0:
        mean[:q], root[:q, :], root[:, :q] = 0.0, 0.0, 0.0
        _mix_offsets(shares, means, roots, 2, extras, mean[q:], root[q:, q:])
        return
    with_bias, root_with_bias, without_bias, root_without = np.zeros(m), np.zeros((m, m)), np.empty(n), np.empty((n, n))
    _mix_offsets(shares, means, roots, 0, extras, with_bias[q:], root_with_bias[q:, q:])
    _mix_offsets(shares, means, roots, 2, extras, without_bias, root_without)
    _add_bias(shares, noises, rows, white, L, bias_rows, kappa, q, with_bias, root_with_bias)
    _mix_biases(biased, with_bias, root_with_bias, unbiased, without_bias, root_without, mean, root)


@compiled
def _mix_offsets(shares: Array, means: Array, roots: Array, first: int, extras: int, mean: Array, root: Array) -> None:
    """Fill in the mixture of two variants, the second of which has an offset."""
    w, v = shares[first], shares[first + 1]
    if w == 0.0 or v == 0.0:
        chosen = first if v == 0.0 else first + 1
        mean[:] = means[chosen]
        root[:, :] = roots[chosen]
        return
    total = w + v
    _mix(w / total, means[first], roots[first], extras, v / total, means[first + 1], roots[first + 1], mean, root)


@compiled
def _mix(
    w: float, a: Array, root_a: Array, zeros: int, v: float, b: Array, root_b: Array, mean: Array, root: Array
) -> None:
    """Fill in the mixture of two distributions; the first columns of the first root are zero."""
    n = a.size
    stack = np.empty((2 * n - zeros + 1, n))
    one, other, between = math.sqrt(w), math.sqrt(v), math.sqrt(w * v)
    for k in range(n):
        mean[k] = w * a[k] + v * b[k]
        for i in range(zeros, n):
            stack[i - zeros, k] = one * root_a[k, i]
        for i in range(n):
            stack[n - zeros + i, k] = other * root_b[k, i]
        # w (a - c)(a - c)' + v (b - c)(b - c)' = w v (a - b)(a - b)' for c = w a + v b
        stack[2 * n - zeros, k] = between * (a[k] - b[k])
    R = triangular_factor(stack, 0)
    for k in range(n):
        for i in range(n):
            root[k, i] = R[k, i] if i <= k else 0.0


@compiled
def _mix_biases(w: float, a: Array, root_a: Array, v: float, b: Array, root_b: Array, mean: Array, root: Array) -> None:
    """Fill in the mixture of two distributions, the second of which has no bias: it is that of the other unknowns."""
    m, n = a.size, b.size
    q = m - n
    stack = np.empty((m + 1, m))
    one, other, between = math.sqrt(w), math.sqrt(v), math.sqrt(w * v)
    for k in range(m):
        second = b[k - q] if k >= q else 0.0
        mean[k] = w * a[k] + v * second
        for i in range(m):
            stack[i, k] = one * root_a[k, i]
        stack[m, k] = between * (a[k] - second)
    R = triangular_factor(stack, 0)
    # The rows of the second distribution change only the part of the factor that does not belong to the bias.
    upper, more = np.zeros((n, n)), np.empty((n, n))
    for k in range(n):
        for i in range(k + 1):
            upper[i, k] = R[q + k, q + i]
        for i in range(n):
            more[i, k] = other * root_b[k, i]
    fold_rows(upper, more, n, np.empty(n))
    for k in range(m):
        for i in range(m):
            if i > k:
                root[k, i] = 0.0
            else:
                root[k, i] = R[k, i] if i < q else upper[i - q, k - q]


@compiled
def _add_bias(
    shares: Array,
    noises: Array,
    rows: Array,
    white: Array,
    L: Array,
    b: int,
    kappa: float,
    q: int,
    mean: Array,
    root: Array,
) -> None:
    """Fill in mean and root of N, given those of the other unknowns."""
    if q == 0:
        return
    mean[:q], root[:q, :], root[q:, :q] = 0.0, 0.0, 0.0
    if kappa == 0.0:
        return
    m, square_noise = mean.size, 0.0
    for variant in range(2):
        square_noise += shares[variant] / (shares[0] + shares[1]) * noises[variant] ** 2
    residual = np.empty(b)
    for i in range(b):
        total = white[i, m]
        for j in range(q, m):
            total -= white[i, j] * mean[j]
        residual[i] = total
    gain = np.ascontiguousarray(white[:b, :q].T) * kappa**2
    mean[:q] = np.dot(gain, residual)
    half = rows[:b, :q].copy()
    solve_lower(L, 1.0, half)
    own, deviation = np.dot(gain, half), kappa * math.sqrt(square_noise)
    for i in range(q):
        for j in range(q):
            root[i, j] = -deviation * own[i, j]
        root[i, i] += deviation
    given = np.dot(np.ascontiguousarray(white[:b, q:m]), np.ascontiguousarray(root[q:, q:]))
    root[:q, q:] = -np.dot(gain, given)
