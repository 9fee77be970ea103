"""The linear systems of the interior point: K x + c t = b, c'x + corner t = g with K = (ZG ZG')^2 + diagonal.

The square is elementwise. Here they are solved by a factor of order m, the more exact way;
`_reduced` has the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from soqo.typing import Array

__all__ = ["Border", "Inverse", "Solution", "Solve", "Solved", "cholesky", "factored"]

Inverse = Callable[[Array], Array]

Solution = tuple[Array, Any, Array]
"""x and t, which means nothing where there is no border; and sum x_i zg_i zg_i', by whoever knows it best."""

Solve = Callable[[Array, Any], Solution]
"""The solution for b and g."""

Solved = tuple[Solution, Solve]
"""That for the right-hand side that is known first, and a way to others."""

Border = tuple[Array, Any] | None
"""c and f, of which the corner is f + sum c^2 / diagonal: f alone keeps the digits that matter."""


def factored(ZG: Array, diagonal: Array, first: Array, K: Array | None = None) -> tuple[Array, Inverse] | None:
    """By a Cholesky factor of order m: the solutions for the first right-hand sides, (k, m), and a way to more of them;
    None where there is no factor.

    The first are solved along with the factor: for small m, each call counts. If K is at hand, it is overwritten.
    """
    if K is None:
        K = schur(ZG, diagonal)
    # Early on the matrix is well conditioned: the factor may take its place, for refinement buys nothing.
    if diagonal[diagonal.argmin()] >= 1e-8 * diagonal[diagonal.argmax()]:
        factor, x, fails = lapack.dposv(K, first.T, lower=1, overwrite_a=1)
        if not fails:
            return x.T, lambda b: lapack.dpotrs(factor, b, lower=1)[0]
        K = schur(ZG, diagonal)
    factor = cholesky(K)
    if factor is None:
        return None

    def refined(b: Array) -> Array:
        """For b of shape (m,), or (m, k) in LAPACK's order."""
        x, _ = lapack.dpotrs(factor, b, lower=1)
        back = blas.dsymv(1.0, K, x, lower=1) if b.ndim == 1 else blas.dsymm(1.0, K, x, lower=1)
        correction, _ = lapack.dpotrs(factor, b - back, lower=1)
        x += correction
        return np.asarray(x)

    return refined(first.T).T, refined


def schur(ZG: Array, diagonal: Array) -> Array:
    """The lower triangle of K, in the order that LAPACK likes."""
    K: Array = blas.dsyrk(1.0, ZG.T, trans=1, lower=1)
    K *= K
    entries = K.T.ravel()[:: diagonal.size + 1]
    entries += diagonal
    return K


def cholesky(matrix: Array) -> Array | None:
    """A Cholesky factor of a matrix in LAPACK's order, or, where round-off has spoiled it, of one with a little more on
    the diagonal.

    LAPACK is called directly: for the small matrices of a small problem, the checks around it take longer than it does.
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
