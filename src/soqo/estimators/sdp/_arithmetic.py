"""The operations that differ between a single program and a batch of programs.

The formulas of the interior-point method are written once, for vectors (..., m) and matrices (..., d, d). A scalar of a
program (a step length, a gap) is a float for a single program, and an array (runs, 1) for a batch, so that it
multiplies vectors in both cases. `SingleArithmetic` calls BLAS and LAPACK directly, because for a small program the
overhead of calls dominates; `BatchArithmetic` shares each call among all runs. The result of a run does not depend on
the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from soqo._foundation.blas import is_finite_quick, max_entry, min_entry
from soqo._foundation.frozen_dataclasses import freeze
from soqo.typing import Array

Scalar = Any
"""A float for a single program, an array (runs, 1) for a batch. A union of both would need a cast in every formula."""

_LinearSolve = Callable[[Array], Array]
"""A function from a right-hand side to the solution."""


def _factorize_schur(
    ZG: Array, diagonal: Array, first: Array, K: Array | None = None
) -> tuple[Array, _LinearSolve] | None:
    """Return the solutions for the first right-hand sides, (k, m), and a function for others; None without a factor.

    The first ones are solved together with the factorization, because for small m each call counts. K is overwritten,
    if it is given.
    """
    if K is None:
        K = _schur_complement(ZG, diagonal)
    # Early iterations have a well conditioned matrix. Refinement would not help, so the factor can overwrite it.
    if diagonal[diagonal.argmin()] >= 1e-8 * diagonal[diagonal.argmax()]:
        factor, x, fails = lapack.dposv(K, first.T, lower=1, overwrite_a=1)
        if not fails:
            return x.T, lambda b: lapack.dpotrs(factor, b, lower=1)[0]
        K = _schur_complement(ZG, diagonal)
    factor = _robust_cholesky(K)
    if factor is None:
        return None

    def solve_refined(b: Array) -> Array:
        """Solve with one step of iterative refinement, for b of shape (m,), or (m, k) in Fortran order."""
        x, _ = lapack.dpotrs(factor, b, lower=1)
        back = blas.dsymv(1.0, K, x, lower=1) if b.ndim == 1 else blas.dsymm(1.0, K, x, lower=1)
        correction, _ = lapack.dpotrs(factor, b - back, lower=1)
        x += correction
        return np.asarray(x)

    return solve_refined(first.T).T, solve_refined


def _schur_complement(ZG: Array, diagonal: Array) -> Array:
    """Return the lower triangle of K in Fortran order."""
    K: Array = blas.dsyrk(1.0, ZG.T, trans=1, lower=1)
    K *= K
    entries = K.T.ravel()[:: diagonal.size + 1]
    entries += diagonal
    return K


def _robust_cholesky(matrix: Array) -> Array | None:
    """Return a Cholesky factor of a matrix in Fortran order; None if it is not positive definite up to round-off.

    If the factorization fails, it is tried again with a relative shift of the diagonal of up to 1e-10.
    """
    for shift in (0.0, 1e-14, 1e-12, 1e-10):
        shifted = matrix
        if shift:
            shifted = matrix.copy(order="F")
            shifted.T.reshape(-1)[:: matrix.shape[0] + 1] *= 1.0 + shift
        factor, info = lapack.dpotrf(shifted, lower=1, clean=0)
        if info == 0:
            return np.asarray(factor)
    return None


@cache
def _ones(size: int) -> Array:
    """Return a vector of ones, with which an inner product is a sum in less time than NumPy's."""
    return freeze(np.ones(size))


class SingleArithmetic:
    """The operations on one program."""

    minimum: Any = staticmethod(min)
    """The smaller of two scalars."""

    maximum: Any = staticmethod(max)
    """The larger of two scalars."""

    dot: Any = staticmethod(blas.ddot)
    """The inner product of two vectors."""

    matmul: Any = staticmethod(np.ndarray.dot)
    """The product of two matrices."""

    matvec: Any = staticmethod(np.ndarray.dot)
    """The product of a matrix and a vector."""

    min_entry: Any = staticmethod(min_entry)
    """The smallest entry of a vector."""

    max_entry: Any = staticmethod(max_entry)
    """The largest entry of a vector."""

    factorize_schur: Any = staticmethod(_factorize_schur)
    """The Cholesky factorization of the Schur complement K = (ZG ZG')^2 + diagonal, where the square is elementwise."""

    def inner(self, a: Array, b: Array) -> Scalar:
        """Return the inner product of two matrices."""
        return blas.ddot(a.ravel(), b.ravel())

    def l1_norm(self, a: Array) -> Scalar:
        """Return the sum of the absolute values of a vector (the bits of BLAS's own dasum depend on its address)."""
        return blas.ddot(np.abs(a), _ones(a.size))

    def sum(self, a: Array) -> Scalar:
        """Return the sum of a vector."""
        return blas.ddot(a, _ones(a.size))

    def last(self, a: Array) -> Scalar:
        """Return the last entry of a vector."""
        return a.item(-1)

    def outer(self, a: Array) -> Array:
        """Return the matrix a a' for a vector a."""
        return np.asarray(blas.dger(1.0, a, a).T)

    def pairwise_means(self, a: Array) -> Array:
        """Return the matrix of means of any two entries of a vector."""
        half = 0.5 * a
        return np.asarray(half[:, None] + half)

    def weighted_gram(self, rows: Array, weights: Array) -> Array:
        """Return the matrix sum_i w_i r_i r_i' for the rows r_i."""
        gram: Array = (rows.T * weights).dot(rows)
        return gram

    def add_to_diagonal(self, diagonal: Array | float, matrix: Array) -> Array:
        """Add to the diagonal of a matrix in place, and return the matrix."""
        entries = matrix.ravel()[:: matrix.shape[0] + 1]
        entries += diagonal
        return matrix

    def scale_matrix(self, scalar: Scalar, matrix: Array) -> Array:
        """Multiply a matrix by a scalar in place, and return it."""
        matrix *= scalar
        return matrix

    def extreme_eigenvalues(self, matrix: Array) -> tuple[Scalar, Scalar]:
        """Return the smallest and the largest eigenvalue, infinite for a non-finite matrix; may overwrite it."""
        values, _, fails = lapack.dsyevd(matrix.T, compute_v=0, lower=1, overwrite_a=1)
        lowest, highest = float(values[0]), float(values[-1])
        if fails or not math.isfinite(highest - lowest):
            return -math.inf, math.inf
        return lowest, highest

    def square_root(self, matrix: Array) -> Array | None:
        """Return a factor R with R R' = matrix; None if the matrix is not positive definite."""
        R, fails = lapack.dpotrf(matrix.T, lower=1, clean=1)
        return None if fails else np.asarray(R)

    def positive_eigh(self, matrix: Array) -> tuple[Array, Array] | None:
        """Return eigenvalues and eigenvectors; None unless all eigenvalues are positive (NaN is not)."""
        values, vectors, fails = lapack.dsyevd(matrix, compute_v=1, lower=1)
        return None if fails or not values[0] > 0.0 else (values, vectors)

    def inverse(self, matrix: Array) -> _LinearSolve | None:
        """Return the inverse of a positive definite matrix as a function of vectors; None if there is no factor."""
        factor = _robust_cholesky(matrix.T)
        return None if factor is None else lambda b: lapack.dpotrs(factor, b, lower=1)[0]

    def stack(self, a: Array, b: Array) -> Array:
        """Return two vectors as the rows of a matrix."""
        return np.array([a, b])


class BatchArithmetic(SingleArithmetic):
    """The operations on a batch of programs, (runs, ...); a failure is NaN or infinity in its run only."""

    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    matmul = staticmethod(np.matmul)

    def dot(self, a: Array, b: Array) -> Scalar:
        return np.vecdot(a, b)[:, None]

    def l1_norm(self, a: Array) -> Scalar:
        return self.sum(np.abs(a))

    def matvec(self, matrix: Array, vector: Array) -> Array:
        return np.asarray(np.matmul(matrix, vector[..., None])[..., 0])

    def min_entry(self, a: Array) -> Scalar:
        return np.minimum.reduce(a, axis=-1, keepdims=True)

    def max_entry(self, a: Array) -> Scalar:
        return np.maximum.reduce(a, axis=-1, keepdims=True)

    def inner(self, a: Array, b: Array) -> Scalar:
        return np.vecdot(a.reshape(len(a), -1), b.reshape(len(b), -1))[:, None]

    def sum(self, a: Array) -> Scalar:
        return np.add.reduce(a, axis=-1, keepdims=True)

    def last(self, a: Array) -> Scalar:
        return a[:, -1:]

    def outer(self, a: Array) -> Array:
        return np.asarray(a[:, :, None] * a[:, None, :])

    def pairwise_means(self, a: Array) -> Array:
        half = 0.5 * a
        return np.asarray(half[:, :, None] + half[:, None, :])

    def weighted_gram(self, rows: Array, weights: Array) -> Array:
        return np.asarray(np.matmul(rows.mT * weights[:, None, :], rows))

    def add_to_diagonal(self, diagonal: Array | float, matrix: Array) -> Array:
        entries = matrix.reshape(len(matrix), -1)[:, :: matrix.shape[-1] + 1]
        entries += diagonal
        return matrix

    def scale_matrix(self, scalar: Scalar, matrix: Array) -> Array:
        matrix *= scalar[..., None]
        return matrix

    def extreme_eigenvalues(self, matrix: Array) -> tuple[Scalar, Scalar]:
        if is_finite_quick(matrix):
            values = np.linalg.eigvalsh(matrix)
            return values[:, :1], values[:, -1:]
        finite = np.isfinite(self.inner(matrix, matrix))
        values = np.linalg.eigvalsh(np.where(finite[..., None], matrix, 0.0))
        lowest = np.where(finite, values[:, :1], -math.inf)
        return lowest, np.where(finite, values[:, -1:], math.inf)

    def square_root(self, matrix: Array) -> Array | None:
        try:
            return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
        except np.linalg.LinAlgError:  # the eigenvalues show in which run
            values, vectors = self.positive_eigh(matrix)
            return np.asarray(vectors * np.sqrt(values)[:, None, :])

    def positive_eigh(self, matrix: Array) -> tuple[Array, Array]:
        finite = np.isfinite(self.inner(matrix, matrix))
        clean = matrix if finite.all() else np.where(finite[..., None], matrix, 0.0)
        values, vectors = np.linalg.eigh(clean)
        return np.where(finite & (values[:, :1] > 0.0), values, math.nan), vectors

    def factorize_schur(self, ZG: Array, diagonal: Array, first: Array) -> tuple[Array, _LinearSolve]:
        """Factorize run by run: one call for a batch of small matrices is not faster."""
        # The contiguous copy makes the product three times as fast: for a matrix and a view of it, NumPy calls BLAS's
        # symmetric product and then copies one triangle to the other entry by entry.
        K = np.matmul(ZG, np.ascontiguousarray(ZG.mT))
        K *= K
        self.add_to_diagonal(diagonal, K)
        x, solves = np.full_like(first, math.nan), []
        for run in range(len(K)):
            factorization = _factorize_schur(ZG[run], diagonal[run], first[run], K[run].T)
            if factorization is not None:
                x[run] = factorization[0]
            solves.append(factorization and factorization[1])

        def solve_runs(b: Array) -> Array:
            x = np.full_like(b, math.nan)
            for run, solve in enumerate(solves):
                if solve is not None:
                    x[run] = solve(b[run])
            return x

        return x, solve_runs

    def inverse(self, matrix: Array) -> _LinearSolve:
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:  # the eigenvalues show in which run
            values, vectors = self.positive_eigh(matrix)
            inverse = np.matmul(vectors / values[:, None, :], vectors.mT)
        return lambda b: np.asarray(np.matvec(inverse, b))

    def stack(self, a: Array, b: Array) -> Array:
        return np.stack([a, b], axis=1)
