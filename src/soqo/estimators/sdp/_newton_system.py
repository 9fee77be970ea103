"""The linear system of a Newton step: K x + c t = b, c'x + corner t = g with K = (ZG ZG')^2 + diagonal.

The square is elementwise. :func:`dense_solver` factorizes K, of order m; it is the more accurate one. With B = 2
svec_rows(ZG), K is also B B' + diagonal, and :func:`woodbury_solver` moves the work to the d(d+1)/2 unknowns w = B'x by
the Woodbury identity. This is faster if m is larger than that, but loses digits late in the method, when the diagonal
spans many orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo.estimators._measurements import smat, svec_rows
from soqo.estimators.sdp._arithmetic import Scalar, SingleArithmetic
from soqo.typing import Array

Border = tuple[Array, Scalar] | None
"""c and f, with corner = f + sum c^2 / diagonal: f on its own keeps the digits that matter."""

Solution = tuple[Array, Scalar, Array]
"""x, t (zero without a border), and the matrix sum x_i zg_i zg_i', which each solver computes in its most exact way."""

Solve = Callable[[Array, Scalar], Solution]
"""A function from the right-hand sides b and g to the solution."""

SolvedSystem = tuple[Solution, Solve]
"""The solution for the first right-hand side, and a function for others."""


def dense_solver(
    ops: SingleArithmetic, ZG: Array, diagonal: Array, border: Border, b: Array, g: Scalar
) -> SolvedSystem | None:
    """Solve by a factor of order m; return None if a single program has none."""
    factorization = ops.factorize_schur(ZG, diagonal, b[..., None, :] if border is None else ops.stack(b, border[0]))
    if factorization is None:
        return None
    first, inverse = factorization
    if border is not None:
        c, f = border
        along = first[..., 1, :]
        corner = f + ops.dot(c, c / diagonal - along)

    def finish(x: Array, g: Scalar) -> Solution:
        t = 0.0
        if border is not None:
            t = (g - ops.dot(c, x)) / corner
            x = x - along * t
        return x, t, ops.weighted_gram(ZG, x)

    return finish(first[..., 0, :], g), lambda b, g: finish(inverse(b), g)


def woodbury_solver(
    ops: SingleArithmetic, ZG: Array, diagonal: Array, border: Border, b: Array, g: Scalar, *, refinements: int
) -> SolvedSystem | None:
    """Solve by a factor of order d(d+1)/2 and iterative refinement; return None if a single program has none.

    The border is eliminated with the diagonal, before B: late in the method it holds one of the directions that
    determine the solution, and the system without it would be singular.
    """
    B = 2.0 * svec_rows(ZG)
    scaled = B / diagonal[..., None]
    c, f = border if border is not None else (np.zeros_like(diagonal), 1.0)
    c_scaled = c / diagonal
    h = np.vecmat(c_scaled, B)
    corner = f + ops.dot(c, c_scaled)
    inner = ops.matmul(B.mT, scaled)
    if border is not None:
        inner += h[..., :, None] * (h / f)[..., None, :]
    inverse = ops.inverse(ops.add_to_diagonal(1.0, inner))
    if inverse is None:
        return None

    def solve_once(b: Array, g: Scalar, k: Array | float) -> tuple[Array, Scalar, Array]:
        short = g - ops.dot(c_scaled, b)
        w = inverse(np.vecmat(b, scaled) - h * (short / f) - k)
        t = (short + ops.dot(h, w)) / f
        return (b - c * t - np.matvec(B, w)) / diagonal, t, w

    def solve(b: Array, g: Scalar) -> Solution:
        # Refining x, t and w together, as in a least-squares problem, keeps B'x as accurate as w; refining x alone does
        # not, and S then loses its last digits. The remaining difference goes to S: with w the equations measure(X) + r
        # = y hold to the last digit, however large the scaling is when X is inside the cone.
        x, t, w = solve_once(b, g, 0.0)
        for _ in range(refinements):
            defect = b - diagonal * x - c * t - np.matvec(B, w)
            dx, dt, dw = solve_once(defect, g - ops.dot(c, x) - corner * t, w - np.vecmat(x, B))
            x, t, w = x + dx, t + dt, w + dw
        return x, t, smat(w)

    return solve(b, g), solve
