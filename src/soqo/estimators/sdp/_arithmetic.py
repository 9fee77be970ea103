"""What differs between solving one program and solving a batch of them: how a number, a product and a factor are had.

The formulas of the interior point are written once, for vectors (..., m) and matrices (..., d, d). A number that
belongs to a program (a step length, a gap) multiplies its vectors: it is a float for one program, and an array (runs,
1) for a batch. `One` calls BLAS and LAPACK directly, because for a small program the time is that of the calls; `Many`
shares each call among all runs. What a run of a batch comes to does not depend on the other runs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from soqo._arguments import surely_finite
from soqo.estimators.sdp._schur import Inverse, cholesky, factored
from soqo.typing import Array

__all__ = ["Many", "Number", "One"]

Number = Any
"""A float, or an array (runs, 1)."""


class One:
    """A single program."""

    least: Any = staticmethod(min)
    most: Any = staticmethod(max)

    dot: Any = staticmethod(blas.ddot)
    """The inner product of two vectors."""

    absolute_sum: Any = staticmethod(blas.dasum)
    """The sum of the absolute values of a vector."""

    product: Any = staticmethod(np.ndarray.dot)
    """The product of two matrices."""

    applied: Any = staticmethod(np.ndarray.dot)
    """The product of a matrix and a vector."""

    def inner(self, a: Array, b: Array) -> Number:
        """The inner product of two matrices."""
        return blas.ddot(a.ravel(), b.ravel())

    def total(self, a: Array) -> Number:
        """The sum of a vector."""
        return float(np.add.reduce(a))

    def lowest(self, a: Array) -> Number:
        """The smallest entry of a vector."""
        return a.item(a.argmin())  # three times as fast as min

    def highest(self, a: Array) -> Number:
        """The largest entry of a vector."""
        return a.item(a.argmax())

    def last(self, a: Array) -> Number:
        """The last entry of a vector."""
        return a.item(-1)

    def outer(self, a: Array) -> Array:
        """The matrix a a' for a vector a."""
        return np.asarray(blas.dger(1.0, a, a).T)

    def means(self, a: Array) -> Array:
        """The means of any two entries of a vector."""
        half = 0.5 * a
        return np.asarray(half[:, None] + half)

    def weighted_gram(self, rows: Array, weights: Array) -> Array:
        """The matrix sum_i w_i r_i r_i' for the rows r_i."""
        gram: Array = (rows.T * weights).dot(rows)
        return gram

    def plus(self, diagonal: Array | float, matrix: Array) -> Array:
        """Add to the diagonal of a matrix, in place."""
        entries = matrix.ravel()[:: matrix.shape[0] + 1]
        entries += diagonal
        return matrix

    def times(self, number: Number, matrix: Array) -> Array:
        """A number times a matrix, in place."""
        matrix *= number
        return matrix

    def extremes(self, matrix: Array) -> tuple[Number, Number]:
        """The smallest and the largest eigenvalue, infinite where the matrix is not finite; may overwrite it."""
        values, _, fails = lapack.dsyevd(matrix.T, compute_v=0, lower=1, overwrite_a=1)
        lowest, highest = float(values[0]), float(values[-1])
        if fails or not math.isfinite(highest - lowest):
            return -math.inf, math.inf
        return lowest, highest

    def root(self, matrix: Array) -> Array | None:
        """A factor R with R R' = matrix; None where the matrix is not positive definite."""
        R, fails = lapack.dpotrf(matrix.T, lower=1, clean=1)
        return None if fails else np.asarray(R)

    def spectrum(self, matrix: Array) -> tuple[Array, Array] | None:
        """Eigenvalues and eigenvectors; None where they are not positive (NaN is not positive either)."""
        values, vectors, fails = lapack.dsyevd(matrix, compute_v=1, lower=1)
        return None if fails or not values[0] > 0.0 else (values, vectors)

    factored: Any = staticmethod(factored)
    """See :func:`soqo.estimators.sdp._schur.factored`."""

    def inverted(self, matrix: Array) -> Inverse | None:
        """The inverse of a positive definite matrix, to be applied to vectors; None where it is not."""
        factor = cholesky(matrix.T)
        return None if factor is None else lambda b: lapack.dpotrs(factor, b, lower=1)[0]

    def stack(self, a: Array, b: Array) -> Array:
        """Two vectors as the rows of a matrix."""
        return np.array([a, b])


class Many(One):
    """A batch of programs, (runs, ...). Whatever goes wrong in a run shows as NaN or infinity in that run alone."""

    least = staticmethod(np.minimum)
    most = staticmethod(np.maximum)
    product = staticmethod(np.matmul)

    def dot(self, a: Array, b: Array) -> Number:
        return np.vecdot(a, b)[:, None]

    def absolute_sum(self, a: Array) -> Number:
        return self.total(np.abs(a))

    def applied(self, matrix: Array, vector: Array) -> Array:
        return np.asarray(np.matmul(matrix, vector[..., None])[..., 0])

    def inner(self, a: Array, b: Array) -> Number:
        return np.vecdot(a.reshape(len(a), -1), b.reshape(len(b), -1))[:, None]

    def total(self, a: Array) -> Number:
        return np.add.reduce(a, axis=-1, keepdims=True)

    def lowest(self, a: Array) -> Number:
        return np.minimum.reduce(a, axis=-1, keepdims=True)

    def highest(self, a: Array) -> Number:
        return np.maximum.reduce(a, axis=-1, keepdims=True)

    def last(self, a: Array) -> Number:
        return a[:, -1:]

    def outer(self, a: Array) -> Array:
        return np.asarray(a[:, :, None] * a[:, None, :])

    def means(self, a: Array) -> Array:
        half = 0.5 * a
        return np.asarray(half[:, :, None] + half[:, None, :])

    def weighted_gram(self, rows: Array, weights: Array) -> Array:
        return np.asarray(np.matmul(rows.mT * weights[:, None, :], rows))

    def plus(self, diagonal: Array | float, matrix: Array) -> Array:
        entries = matrix.reshape(len(matrix), -1)[:, :: matrix.shape[-1] + 1]
        entries += diagonal
        return matrix

    def times(self, number: Number, matrix: Array) -> Array:
        matrix *= number[..., None]
        return matrix

    def extremes(self, matrix: Array) -> tuple[Number, Number]:
        if surely_finite(matrix):
            values = np.linalg.eigvalsh(matrix)
            return values[:, :1], values[:, -1:]
        finite = np.isfinite(self.inner(matrix, matrix))
        values = np.linalg.eigvalsh(np.where(finite[..., None], matrix, 0.0))
        lowest = np.where(finite, values[:, :1], -math.inf)
        return lowest, np.where(finite, values[:, -1:], math.inf)

    def root(self, matrix: Array) -> Array | None:
        try:
            return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
        except np.linalg.LinAlgError:  # in some run; eigenvalues say in which
            values, vectors = self.spectrum(matrix)
            return np.asarray(vectors * np.sqrt(values)[:, None, :])

    def spectrum(self, matrix: Array) -> tuple[Array, Array]:
        finite = np.isfinite(self.inner(matrix, matrix))
        clean = matrix if finite.all() else np.where(finite[..., None], matrix, 0.0)
        values, vectors = np.linalg.eigh(clean)
        return np.where(finite & (values[:, :1] > 0.0), values, math.nan), vectors

    def factored(self, ZG: Array, diagonal: Array, first: Array) -> tuple[Array, Inverse]:
        """Run by run: a batch of small factors is no faster in one call."""
        # With the transpose as an array of its own, which is three times as fast: for a view of the same array NumPy
        # calls BLAS's product of a matrix with itself, and then copies one triangle to the other entry by entry.
        K = np.matmul(ZG, np.ascontiguousarray(ZG.mT))
        K *= K
        self.plus(diagonal, K)
        x, ways = np.full_like(first, math.nan), []
        for run in range(len(K)):
            found = factored(ZG[run], diagonal[run], first[run], K[run].T)
            if found is not None:
                x[run] = found[0]
            ways.append(found and found[1])

        def inverse(b: Array) -> Array:
            x = np.full_like(b, math.nan)
            for run, way in enumerate(ways):
                if way is not None:
                    x[run] = way(b[run])
            return x

        return x, inverse

    def inverted(self, matrix: Array) -> Inverse:
        """Of runs whose matrix is singular, NaN."""
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:  # in some run; eigenvalues say in which
            values, vectors = self.spectrum(matrix)
            inverse = np.matmul(vectors / values[:, None, :], vectors.mT)
        return lambda b: np.asarray(np.matvec(inverse, b))

    def stack(self, a: Array, b: Array) -> Array:
        return np.stack([a, b], axis=1)
