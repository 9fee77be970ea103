"""The data of one program: checked, in units of order one, and restricted to the span of Z."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from soqo._foundation.arguments import finite_array
from soqo.errors import ArgumentError
from soqo.estimators.sdp._arithmetic import SingleArithmetic
from soqo.estimators.sdp._interior_point import Iterate, Loss, interior_point
from soqo.typing import Array, ArrayLike

GAP_TOLERANCE = 1e-8
"""The target for the gap, relative to the sum of the primal and the dual value."""

FEASIBILITY_TOLERANCE = 1e-9
"""The target for the equations, relative to the readings, and the accuracy to which a radius holds."""

FULL_RANK_SHARE = 1e-8
"""If the smallest eigenvalue of Z'Z is above this share of the largest, Z certainly has full column rank."""

SINGLE = SingleArithmetic()


def check_data(Z: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return measurements (m, d) and readings (m,) as arrays of finite numbers.

    Parameters
    ----------
    Z : array_like, shape (m, d)
        The measurements.
    y : array_like, shape (m,)
        The readings.

    Raises
    ------
    ArgumentError
        If a shape is wrong or an entry is not finite.

    Examples
    --------
    >>> check_data([[1, 2]], [3])
    (array([[1., 2.]]), array([3.]))
    """
    rows, readings = finite_array("Z", Z), finite_array("y", y)
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] < 1:
        raise ArgumentError(f"Z must have shape (m, d) with m >= 1 and d >= 1, got {rows.shape}")
    if readings.shape != rows.shape[:1]:
        raise ArgumentError(f"y must have shape {rows.shape[:1]}, got {readings.shape}")
    return rows, readings


@dataclass(frozen=True, eq=False)
class ScaledData:
    """Data in units of order one, in coordinates of the span of Z: no M gains anything outside of it."""

    Z: Array
    y: Array
    basis: Array | None
    unit_z: float
    unit_y: float

    @classmethod
    def of(cls, Z: Array, y: Array) -> ScaledData:
        """Determine the span and the units."""
        unit_y = SINGLE.l1_norm(y) / y.size or 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            lowest, highest = SINGLE.extreme_eigenvalues(Z.T.dot(Z))
        basis = None
        if not lowest > FULL_RANK_SHARE * highest:
            _, sizes, V = np.linalg.svd(Z, full_matrices=False)
            # Readings are quadratic: directions whose square is below round-off carry no information.
            basis = V[sizes > math.sqrt(max(Z.shape) * np.finfo(float).eps) * sizes[:1]].T
            Z = Z @ basis
        unit_z = float(np.linalg.norm(Z)) / math.sqrt(Z.size) if Z.size else 1.0
        return cls(Z / unit_z, y / unit_y, basis, unit_z, unit_y)

    @property
    def is_nonzero(self) -> bool:
        """Whether Z has a nonzero entry."""
        return bool(self.Z.shape[1])

    def solve(
        self, loss: Loss, tolerance: float = FEASIBILITY_TOLERANCE, gap_tolerance: float = GAP_TOLERANCE
    ) -> Iterate:
        """Run the interior-point method."""
        # The method detects overflow itself, and then stops at its best point.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return interior_point(self.Z, self.y, loss, gap_tolerance=gap_tolerance, tolerance=tolerance)

    def matrix(self, point: Iterate) -> Array:
        """Return the matrix of a point in the units of the data."""
        X = point.X if self.basis is None else self.basis @ point.X @ self.basis.T
        return np.asarray((0.5 * (self.unit_y / self.unit_z**2)) * (X + X.T))
