"""Trace minimization by Clarabel without CVXPY, as a careful user of a general solver would write it."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp

from soqo.estimators import smat, svec, svec_rows
from soqo.typing import Array

__all__ = ["trace_min"]


def trace_min(Z: Array, y: Array, radius: float) -> tuple[Array, Any]:
    """Minimize Tr(M) over svec(M) and bounds t on the residuals; return the matrix and Clarabel's solution."""
    m, d = Z.shape
    B = sp.csc_matrix(svec_rows(Z))
    D, identity = B.shape[1], sp.identity(m, format="csc")
    constraints = sp.vstack(
        [
            sp.hstack([-B, -identity]),  # t >= y - B svec(M)
            sp.hstack([B, -identity]),  # t >= B svec(M) - y
            sp.csc_matrix(np.concatenate([np.zeros(D), np.ones(m)])[None]),
            sp.hstack([-sp.identity(D, format="csc"), sp.csc_matrix((D, m))]),
        ],
        format="csc",
    )
    right = np.concatenate([-y, y, [radius], np.zeros(D)])
    cost = np.concatenate([svec(np.eye(d)), np.zeros(m)])
    cones = [clarabel.NonnegativeConeT(2 * m + 1), clarabel.PSDTriangleConeT(d)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    quadratic = sp.csc_matrix((D + m, D + m))
    solution = clarabel.DefaultSolver(quadratic, cost, constraints, right, cones, settings).solve()
    return smat(np.array(solution.x[:D])), solution
