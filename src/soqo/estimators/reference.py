"""The semidefinite programs in CVXPY (extra ``cvxpy``), as a reference for tests and benchmarks.

The solvers are those that CVXPY finds: SCS and Clarabel are installed with the extra; MOSEK, which the paper used,
needs its own installation and a license.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._foundation.optional_imports import require_extra
from soqo.errors import ArgumentError
from soqo.estimators.sdp import check_data
from soqo.typing import Array, ArrayLike

__all__ = ["Reference", "psd_least_absolute_deviations", "psd_least_squares", "trace_min"]

_Pose = Callable[[Any, Any, Any], tuple[Any, list[Any]]]
"""A function from the module cvxpy, the matrix and the residuals of the readings to an objective and constraints."""


@dataclass(frozen=True)
class Reference(Value):
    """The result of CVXPY.

    Attributes
    ----------
    matrix : Array, shape (d, d), or None
        The estimate, if the solver found one.
    value : float
        The optimal value that the solver reports.
    status : str
        CVXPY's status, or ``"failed"`` if the solver raised an error.
    """

    matrix: Array | None = field(repr=False)
    value: float
    status: str


def trace_min(Z: ArrayLike, y: ArrayLike, radius: float, solver: str = "CLARABEL", **options: Any) -> Reference:
    """Minimize the trace within an l1 radius.

    Parameters
    ----------
    Z, y, radius
        As in :func:`soqo.trace_min`.
    solver : str
        The name of a solver that CVXPY finds.
    **options : object
        Options of the solver.

    Returns
    -------
    Reference
        The matrix, the optimal value and the status.

    See Also
    --------
    soqo.trace_min : The same program by soqo's own method.

    Examples
    --------
    >>> trace_min([[1.0]], [3.0], 1.0).status             # the smallest M with |1/2 M - 3| <= 1
    'optimal'
    """
    return _solve(Z, y, lambda cp, M, residual: (cp.trace(M), [cp.norm1(residual) <= radius]), solver, options)


def psd_least_absolute_deviations(Z: ArrayLike, y: ArrayLike, solver: str = "CLARABEL", **options: Any) -> Reference:
    """Minimize the sum of absolute deviations.

    Parameters
    ----------
    Z, y
        As in :func:`soqo.psd_least_absolute_deviations`.
    solver : str
        The name of a solver that CVXPY finds.
    **options : object
        Options of the solver.

    Returns
    -------
    Reference
        The matrix, the optimal value and the status.

    See Also
    --------
    soqo.psd_least_absolute_deviations : The same program by soqo's own method.

    Examples
    --------
    >>> estimate = psd_least_absolute_deviations([[1.0], [1.0], [1.0]], [1.0, 2.0, 5.0])     # 1/2 M is the median
    >>> estimate.matrix.round(3), round(estimate.value, 3)
    (array([[4.]]), 4.0)
    """
    return _solve(Z, y, lambda cp, _, residual: (cp.norm1(residual), []), solver, options)


def psd_least_squares(Z: ArrayLike, y: ArrayLike, solver: str = "CLARABEL", **options: Any) -> Reference:
    """Minimize half the sum of squares.

    Parameters
    ----------
    Z, y
        As in :func:`soqo.psd_least_squares`.
    solver : str
        The name of a solver that CVXPY finds.
    **options : object
        Options of the solver.

    Returns
    -------
    Reference
        The matrix, the optimal value and the status.

    See Also
    --------
    soqo.psd_least_squares : The same program by soqo's own method.

    Examples
    --------
    >>> estimate = psd_least_squares([[1.0], [1.0]], [1.0, 3.0])                              # 1/2 M is the mean
    >>> estimate.matrix.round(3), round(estimate.value, 3)
    (array([[4.]]), 1.0)
    """
    return _solve(Z, y, lambda cp, _, residual: (0.5 * cp.sum_squares(residual), []), solver, options)


def _solve(Z: ArrayLike, y: ArrayLike, pose: _Pose, solver: str, options: dict[str, Any]) -> Reference:
    """Solve the program over positive semi-definite matrices that ``pose`` states."""
    cp: Any = require_extra("cvxpy", "cvxpy")
    Z, y = check_data(Z, y)
    M = cp.Variable((Z.shape[1], Z.shape[1]), PSD=True)
    objective, constraints = pose(cp, M, y - 0.5 * cp.sum(cp.multiply(Z @ M, Z), axis=1))
    problem = cp.Problem(cp.Minimize(objective), constraints)
    if solver not in cp.installed_solvers():
        known = ", ".join(cp.installed_solvers())
        raise ArgumentError(f"solver must be one that CVXPY finds, {known}, got {solver!r}")
    try:
        problem.solve(solver=solver, **options)
    except cp.error.SolverError:
        return Reference(None, np.nan, "failed")
    matrix = None if M.value is None else np.asarray(0.5 * (M.value + M.value.T))
    return Reference(matrix, float(problem.value), str(problem.status))
