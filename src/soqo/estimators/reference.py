"""The same programs in CVXPY (extra ``cvxpy``): the yardstick of tests and benchmarks, not the default.

Solvers are those that CVXPY finds: SCS and Clarabel come with the extra, MOSEK (which the paper used) where it is
installed and licensed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo.errors import ArgumentError, require_extra
from soqo.estimators.sdp._trace_min import data
from soqo.typing import Array

__all__ = ["Reference", "psd_least_absolute_deviations", "psd_least_squares", "trace_min"]


@dataclass(frozen=True, eq=False)
class Reference:
    """What CVXPY found: the matrix (None if there is none), the value, and its word for the status, or "failed"."""

    matrix: Array | None
    value: float
    status: str


def trace_min(Z: Any, y: Any, radius: float, solver: str = "CLARABEL", **options: Any) -> Reference:
    """Minimize the trace within an l1 radius; see :func:`soqo.trace_min`."""
    cp = require_extra("cvxpy", "cvxpy")
    M, misfit = model(cp, Z, y)
    return run(cp, cp.Problem(cp.Minimize(cp.trace(M)), [cp.norm1(misfit) <= radius]), M, solver, options)


def psd_least_absolute_deviations(Z: Any, y: Any, solver: str = "CLARABEL", **options: Any) -> Reference:
    """Minimize the sum of absolute deviations; see :func:`soqo.estimators.sdp._trace_min.psd_least_absolute_deviations`."""
    cp = require_extra("cvxpy", "cvxpy")
    M, misfit = model(cp, Z, y)
    return run(cp, cp.Problem(cp.Minimize(cp.norm1(misfit))), M, solver, options)


def psd_least_squares(Z: Any, y: Any, solver: str = "CLARABEL", **options: Any) -> Reference:
    """Minimize half the sum of squares; see :func:`soqo.estimators.sdp._least_squares.psd_least_squares`."""
    cp = require_extra("cvxpy", "cvxpy")
    M, misfit = model(cp, Z, y)
    return run(cp, cp.Problem(cp.Minimize(0.5 * cp.sum_squares(misfit))), M, solver, options)


def model(cp: Any, Z: Any, y: Any) -> tuple[Any, Any]:
    """The matrix variable and the misfit of the readings."""
    Z, y = data(Z, y)
    M = cp.Variable((Z.shape[1], Z.shape[1]), PSD=True)
    return M, y - 0.5 * cp.sum(cp.multiply(Z @ M, Z), axis=1)


def run(cp: Any, problem: Any, M: Any, solver: str, options: dict[str, Any]) -> Reference:
    """Solve with a solver that is there."""
    if solver not in cp.installed_solvers():
        known = ", ".join(cp.installed_solvers())
        raise ArgumentError(f"solver must be one that CVXPY finds, {known}, got {solver!r}")
    try:
        problem.solve(solver=solver, **options)
    except cp.error.SolverError:
        return Reference(None, np.nan, "failed")
    matrix = None if M.value is None else np.asarray(0.5 * (M.value + M.value.T))
    return Reference(matrix, float(problem.value), str(problem.status))
