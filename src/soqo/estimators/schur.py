"""The linear systems of the interior point: K x + c t = b, c'x + corner t = g with K = (ZG ZG')^2 + diagonal.

The square is elementwise. Where m exceeds d(d+1)/2, the same K is B B' + diagonal with B = svec_rows, and the Woodbury
identity moves the work to d(d+1)/2 unknowns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from soqo.arguments import Array
from soqo.estimators.measurements import svec_rows

__all__ = ["Border", "Inverse", "Solve", "Solved", "factored", "reduced_solver"]

Inverse = Callable[[Array], Array]

Solve = Callable[[Array, Any], tuple[Array, Any]]
"""x and t for b and g; where there is no border, t means nothing."""

Solved = tuple[Array, Any, Solve]
"""x and t for the right-hand side that is known first, and a way to those for others."""

Border = tuple[Array, Any] | None
"""c and f, of which the corner is f + sum c^2 / diagonal: f alone keeps the digits that matter."""


def factored(
    ZG: Array, diagonal: Array, first: Array, K: Array | None = None
) -> tuple[Array, Inverse] | None:
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


def reduced_solver(ZG: Array, diagonal: Array, border: Border, b: Array, g: float) -> Solved | None:
    """By a factor of order d(d+1)/2, for w = B'x where B has the rows svec(zg zg').

    The border is eliminated with the diagonal, before B: late in the method it holds one of the directions that
    determine the solution, and the rest alone would be singular.
    """
    B = 2.0 * svec_rows(ZG)
    scaled = B / diagonal[:, None]
    c, f = border if border is not None else (np.zeros(diagonal.size), 1.0)
    c_scaled = c / diagonal
    h = B.T @ c_scaled
    corner = f + float(c @ c_scaled)
    inner = B.T @ scaled + np.outer(h, h / f)
    inner.reshape(-1)[:: h.size + 1] += 1.0
    factor = cholesky(inner.T)
    if factor is None:
        return None

    def once(b: Array, g: float, k: Array) -> tuple[Array, float, Array]:
        short = g - float(c_scaled @ b)
        w, _ = lapack.dpotrs(factor, scaled.T @ b - h * (short / f) - k, lower=1)
        t = (short + float(h @ w)) / f
        return (b - c * t - B @ w) / diagonal, t, w

    def solve(b: Array, g: float) -> tuple[Array, float]:
        # Refining x, t and w together, as in a least-squares problem, keeps B'x as exact as w is; refining x alone does
        # not, and S then loses its last digits.
        x, t, w = once(b, g, np.zeros(B.shape[1]))
        for _ in range(2):
            dx, dt, dw = once(
                b - diagonal * x - c * t - B @ w, g - float(c @ x) - corner * t, w - B.T @ x
            )
            x, t, w = x + dx, t + dt, w + dw
        return x, t

    return *solve(b, g), solve
