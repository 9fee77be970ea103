"""The linear systems of the interior point where m exceeds d(d+1)/2: K = B B' + diagonal with B = 2 svec_rows(ZG).

The Woodbury identity moves the work from a factor of order m (`_schur`) to d(d+1)/2 unknowns w =
B'x. It costs digits late in the method, where the diagonal spans many orders of magnitude.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo.estimators._measurements import smat, svec_rows
from soqo.estimators.sdp._arithmetic import Number, One
from soqo.estimators.sdp._schur import Border, Solution
from soqo.typing import Array

__all__ = ["reduced_solver"]


def reduced_solver(
    kind: One,
    ZG: Array,
    diagonal: Array,
    border: Border,
    b: Array,
    g: Number,
    refinements: int,
) -> Any:
    """What is `Solved` by a factor of order d(d+1)/2; None where one program has none.

    The border is eliminated with the diagonal, before B: late in the method it holds one of the directions that
    determine the solution, and the rest alone would be singular.
    """
    B = 2.0 * svec_rows(ZG)
    scaled = B / diagonal[..., None]
    c, f = border if border is not None else (np.zeros_like(diagonal), 1.0)
    c_scaled = c / diagonal
    h = np.vecmat(c_scaled, B)
    corner = f + kind.dot(c, c_scaled)
    inner = kind.product(B.mT, scaled)
    if border is not None:
        inner += h[..., :, None] * (h / f)[..., None, :]
    inverse = kind.inverted(kind.plus(1.0, inner))
    if inverse is None:
        return None

    def once(b: Array, g: Number, k: Array | float) -> tuple[Array, Number, Array]:
        short = g - kind.dot(c_scaled, b)
        w = inverse(np.vecmat(b, scaled) - h * (short / f) - k)
        t = (short + kind.dot(h, w)) / f
        return (b - c * t - np.matvec(B, w)) / diagonal, t, w

    def solve(b: Array, g: Number) -> Solution:
        # Refining x, t and w together, as in a least-squares problem, keeps B'x as exact as w is; refining x alone does
        # not, and S then loses its last digits. What is left between them is for S to bear: with w the equations
        # measure(X) + r = y hold to the last digit, however large the scaling is where X is inside of the cone.
        x, t, w = once(b, g, 0.0)
        for _ in range(refinements):
            missed = b - diagonal * x - c * t - np.matvec(B, w)
            dx, dt, dw = once(missed, g - kind.dot(c, x) - corner * t, w - np.vecmat(x, B))
            x, t, w = x + dx, t + dt, w + dw
        return x, t, smat(w)

    return solve(b, g), solve
