r"""Lower bounds on the optima that hold in spite of round-off.

By weak duality, multipliers lambda prove a lower bound if they satisfy a linear matrix inequality (`_programs`). The
inequality must hold exactly, since M is unbounded: an excess of any size, times a large M, would make the bound false.
Hence every quantity here is computed with an upper bound of its error.

Let u be the unit round-off and gamma_n = n u / (1 - n u). An inner product of n terms in any order has an error of at
most gamma_n times the inner product of the absolute values (Higham, "Accuracy and Stability of Numerical Algorithms",
2002, Section 3.1); gamma_{n+k} covers k further roundings of each term. Underflow adds at most `_UNDERFLOW` to each
term.

*Quick bound.* The computed H = sum lambda_k z_k z_k' has |H - exact|_2 <= gamma_{m+1} N with N = sum |lambda_k|
|z_k|^2, since | |Z|' |Lambda| |Z| |_2 <= N. LAPACK's eigenvalues are those of a matrix that differs from H by at most
p(d) u |H|_F, where p(d) = 8 d^2 bounds the d two-sided reflections of the reduction to tridiagonal form and the
iteration after it, and |H|_F <= N. So the largest eigenvalue plus (gamma_{m+1} + 8 d^2 u) N is an upper bound.

*Proof by factorization.* To prove sum lambda_k z_k z_k' <= c I, let B = c I - sum lambda_k z_k z_k'. With b_i = c + sum
|lambda_k| z_ki^2, the Cauchy-Schwarz inequality bounds the error of the computed B_ij by gamma_{m+3} sqrt(b_i b_j). If
Cholesky's algorithm succeeds on a matrix, that matrix plus an error of at most gamma_{d+1} sqrt(b_i b_j) in each entry
is positive definite, because it is the product of the computed factors (Higham, Theorem 10.3). A matrix E with |E_ij|
<= e sqrt(b_i b_j) satisfies E <= e d diag(b). So B is positive semi-definite if Cholesky's algorithm succeeds on B - 2
gamma_{m+d+10} d diag(b). This depends on no unit: scaling a coordinate scales everything alike. It is carried out in
double precision, and in extended precision (`numpy.longdouble`, if the platform has one) where that is not enough.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

from soqo._foundation.blas import max_entry, min_entry, sum_of_squares
from soqo.estimators.sdp._arithmetic import Scalar, SingleArithmetic
from soqo.estimators.sdp._exact_rank import has_rank_at_most
from soqo.typing import Array

_UNIT = 0.5 * float(np.finfo(np.float64).eps)

_UNDERFLOW = 1e-300
"""More than the absolute error of all underflows in a sum of 1e7 products of numbers of at most one."""

_DEPENDENT = 1e-13
"""In units of the largest column, a column with less than this beside the others counts as a combination of them."""

_CLEARLY_INDEPENDENT = 1e-8
"""If the squared distance of each column from the span of those before it is above this share of its squared length,
the columns are independent, and a factor of Z'Z is accurate enough to find a shift."""

_MAX_SLACK = 1e-2
"""Multipliers that must be shifted by more than this share of themselves, due to round-off alone, prove nothing."""


def gamma(terms: float, unit: float = _UNIT) -> float:
    """Return the relative error bound gamma_n of a sum of n terms; infinite if it is not below 1."""
    share = terms * unit
    return share / (1.0 - share) if share < 1.0 else np.inf


def dot_below(a: Array, b: Array) -> float:
    """Return a lower bound of the inner product of two vectors."""
    return float(a.dot(b)) - gamma(a.size + 3) * float(np.abs(a).dot(np.abs(b))) - _UNDERFLOW


def dot_above(a: Array, b: Array) -> float:
    """Return an upper bound of the inner product of two vectors."""
    return -dot_below(-a, b)


def quick_max_eigenvalue(ops: SingleArithmetic, Z: Array, multipliers: Array) -> Scalar:
    """Return an upper bound of the largest eigenvalue of sum lambda_k z_k z_k', for a single program or a batch."""
    m, d = Z.shape[-2:]
    highest = ops.extreme_eigenvalues(ops.weighted_gram(Z, multipliers))[1]
    size = ops.dot(np.abs(multipliers), np.vecdot(Z, Z))
    return highest + gamma(m + 8.0 * d * d + 10.0) * size + _UNDERFLOW


def is_certainly_at_most(Z: Array, multipliers: Array, limit: float, kind: Any = np.float64) -> bool:
    """Return True only if sum lambda_k z_k z_k' <= limit I exactly, by a factorization in this precision.

    The multipliers should be of at most one, or else overflow may hide a proof.
    """
    m, d = Z.shape
    if kind is not np.float64:
        Z, multipliers = Z.astype(kind), multipliers.astype(kind)
    B = -(Z.T * multipliers).dot(Z)
    sizes = limit + np.abs(multipliers).dot(Z * Z)
    error = 2.0 * d * gamma(m + d + 10.0, _unit(kind))
    if not error < 0.5:
        return False
    diagonal = B.reshape(-1)[:: d + 1]
    diagonal += limit - (error * sizes + m * d * _UNDERFLOW)
    return _has_cholesky_factor(B)


def _unit(kind: Any) -> float:
    """Return the unit round-off of a precision."""
    return _UNIT if kind is np.float64 else 0.5 * float(np.finfo(kind).eps)


def _has_cholesky_factor(matrix: Any) -> bool:
    """Return whether Cholesky's algorithm succeeds on a symmetric matrix in its own precision."""
    if matrix.dtype == np.float64:
        # Cholesky's algorithm stops at a pivot that is NaN; an infinite one needs a test of its own.
        factor, fails = lapack.dpotrf(matrix, lower=1, clean=0)
        return not fails and max_entry(factor.diagonal()) < np.inf
    matrix = matrix.copy()
    for k in range(len(matrix)):
        pivot = matrix[k, k]
        if not (0.0 < pivot < np.inf):
            return False
        column = matrix[k + 1 :, k] / np.sqrt(pivot)
        matrix[k + 1 :, k + 1 :] -= np.multiply.outer(column, column)
    return True


def refined_max_eigenvalue(Z: Array, multipliers: Array) -> float:
    """Return an upper bound of the largest eigenvalue of sum lambda_k z_k z_k', at least 2, in extended precision.

    It is infinite if there is no proof for a limit near the eigenvalue. (The bound on the trace needs no eigenvalue
    below 2: multipliers are never scaled up.)
    """
    H = (Z.T * multipliers).dot(Z)
    highest = max(2.0, float(np.linalg.eigvalsh(H)[-1])) if np.isfinite(H).all() else np.inf
    if not np.isfinite(highest):
        return np.inf
    for slack in (1e-9, 1e-8, 1e-7, 1e-6):
        limit = highest * (1.0 + slack)
        if is_certainly_at_most(Z, multipliers, limit, np.longdouble):
            return limit
    return np.inf


def shift_into_cone(Z: Array, multipliers: Array, kind: Any = np.float64) -> Array | None:
    """Return multipliers with sum lambda_k z_k z_k' <= 0 exactly, the given ones minus about the least such constant.

    Return None if round-off leaves no proof, as for measurements that are nearly, but not exactly, rank deficient.

    Parameters
    ----------
    Z : Array, shape (m, d)
        The measurements.
    multipliers : Array, shape (m,)
        The multipliers, of at most one.
    kind : dtype
        The precision of the proof.
    """
    if not max_entry(multipliers) > 0.0:
        return multipliers
    whitened = _whiten(Z, multipliers)
    if whitened is None:
        return None
    Z, inverse, highest = whitened
    if not Z.size:
        return multipliers
    m, d = Z.shape
    # A shift by s subtracts s Z'Z = s R'R. It must exceed the errors, diag(b): s >= |diag(sqrt(b)) inv(R)|^2.
    squares = Z * Z
    largest = max_entry(np.abs(multipliers))
    sizes = np.abs(multipliers).dot(squares) + max(0.0, highest) * np.add.reduce(squares)
    roots = np.sqrt(sizes)[:, None] * inverse
    slack = 3.0 * d * gamma(m + d + 10.0, _unit(kind)) * sum_of_squares(roots)
    # The computed eigenvalue is that of a subspace which round-off has turned, the more the closer columns are.
    slack += 4.0 * d * _UNIT * math.sqrt(largest * sum_of_squares(roots))
    while slack <= _MAX_SLACK * largest:
        shifted: Array = multipliers - max(0.0, highest + slack)
        if is_certainly_at_most(Z, shifted, 0.0, kind):
            return shifted
        slack *= 10.0
    return None


def _whiten(Z: Array, multipliers: Array) -> tuple[Array, Array, float] | None:
    """Return columns that decide the inequality, inv(R) for Z'Z = R'R, and the largest eigenvalue of H against Z'Z.

    H is sum lambda_k z_k z_k'. The eigenvalue is the least shift up to round-off. Return None if round-off hides which
    columns are independent.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        gram = Z.T.dot(Z)
        factor, fails = lapack.dpotrf(gram, lower=0, clean=1)
        pivots = factor.diagonal()
        if not fails and min_entry(pivots * pivots / gram.diagonal()) > _CLEARLY_INDEPENDENT:
            reduced, _ = lapack.dsygst((Z.T * multipliers).dot(Z), factor, lower=0)
            values, _, fails = lapack.dsyevd(reduced, compute_v=0, lower=0, overwrite_a=1)
        else:
            columns = independent_columns(Z)
            if columns is None or not columns[0].size:
                return None if columns is None else (columns[0], columns[2], 0.0)
            Z, Q, factor = columns
            values, _, fails = lapack.dsyevd((Q.T * multipliers).dot(Q), compute_v=0, lower=0)
    inverse, singular = lapack.dtrtri(factor)
    highest = float(values[-1])
    return None if fails or singular or not math.isfinite(highest) else (Z, np.asarray(inverse), highest)


def independent_columns(Z: Array) -> tuple[Array, Array, Array] | None:
    """Return independent columns that span all others, scaled by powers of two, and their QR factors.

    The inequality sum lambda_k z_k z_k' <= 0 holds if it holds for these columns. Return None if other columns are
    nearly, but not exactly, combinations of them.
    """
    _, exponents = np.frexp(np.abs(Z).max(axis=0))
    scaled = np.ldexp(Z, -exponents)
    packed, order, tau, _, _ = lapack.dgeqp3(scaled)
    diagonal = np.abs(packed.diagonal())
    rank = int(np.count_nonzero(diagonal > _DEPENDENT * diagonal[:1]))
    if rank < Z.shape[1] and not has_rank_at_most(Z, rank):
        return None
    if not rank:
        return scaled[:, :0], scaled[:, :0], scaled[:0, :0]
    Q, _, _ = lapack.dorgqr(packed[:, :rank], tau[:rank])
    return scaled[:, order[:rank] - 1], np.asarray(Q), np.triu(packed[:rank, :rank])
