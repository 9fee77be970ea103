"""The data of one program: checked, in units of order one, and restricted to the span of Z."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from soqo._foundation.arguments import finite_array
from soqo._foundation.blas import max_entry
from soqo.errors import ArgumentError
from soqo.estimators._estimate import Estimate, Status
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

_MAX_EXPONENT = 1020
"""The binary exponent of the largest entry of a matrix that would otherwise overflow."""


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
class Units:
    """Powers of two that bring data near the limits of floating-point numbers into a range where products are safe.

    Scaling by a power of two is exact, so a bound for the scaled data is one for the data.
    """

    z: int
    y: int

    @classmethod
    def of(cls, Z: Array, y: Array) -> Units | None:
        """Return the exponents, or None for ordinary data, whose squares and products cannot overflow or vanish."""
        largest, reading = max_entry(np.abs(Z)), max_entry(np.abs(y))
        if (not largest or 1e-60 < largest < 1e60) and (not reading or 1e-120 < reading < 1e120):
            return None
        return cls(math.frexp(largest)[1], math.frexp(reading)[1])

    def scale(self, Z: Array, y: Array) -> tuple[Array, Array]:
        """Return the data in these units."""
        return np.ldexp(Z, -self.z), np.ldexp(y, -self.y)

    def restore(self, estimate: Estimate, *, value: int, multipliers: int) -> Estimate:
        """Return an estimate for the data, given that for the scaled data and the exponents of its other parts.

        A matrix that overflows is made smaller, and numbers that underflow lose digits. Then nothing is proven any
        more, so that the status is stalled instead of solved.
        """
        lowest, exponent = np.finfo(float).smallest_subnormal, self.y - 2 * self.z
        with np.errstate(over="ignore", under="ignore"):
            matrix = np.ldexp(estimate.matrix, exponent)
            if not np.isfinite(matrix).all():
                matrix = np.ldexp(estimate.matrix, _MAX_EXPONENT - math.frexp(max_entry(np.abs(estimate.matrix)))[1])
            is_exact = bool(np.array_equal(np.ldexp(matrix, -exponent), estimate.matrix))
            if not is_exact:  # an underflow may have moved the matrix out of the cone
                matrix[np.diag_indices(len(matrix))] += len(matrix) * lowest
            primal, dual = float(np.ldexp(estimate.primal, value)), float(np.ldexp(estimate.dual, value))
            residual = float(np.ldexp(estimate.residual, self.y))
            if np.ldexp(residual, -self.y) < estimate.residual:
                residual += float(lowest)  # a radius of this size is feasible
            lam = np.ldexp(estimate.multipliers, multipliers)
        is_normal = bool(np.finfo(float).tiny <= dual < math.inf)
        is_exact = is_exact and (is_normal or dual == estimate.dual == 0.0)
        if not is_normal and estimate.dual < math.inf:
            dual = float(np.finfo(float).max) if dual > 1.0 else 0.0  # a bound is never rounded up
        is_proven = is_exact and math.isfinite(primal) and math.isfinite(residual) and bool(np.isfinite(lam).all())
        return replace(
            estimate,
            matrix=matrix,
            status=Status.STALLED if estimate.solved and not is_proven else estimate.status,
            primal=primal,
            dual=dual,
            residual=residual,
            min_radius=None if estimate.min_radius is None else residual,
            multipliers=lam,
        )


@dataclass(frozen=True, eq=False)
class ScaledData:
    """Data in units of order one, in coordinates of the span of Z: no M gains anything outside of it.

    A program with the trace needs orthonormal coordinates, in which directions that are too short for their squares to
    be heard are dropped. The others have the same optimum in any coordinates, so these are chosen such that all
    directions are equally long, and only those of the size of round-off are dropped. (A bound on the optimum never
    relies on what is dropped: see `_certificates`.)
    """

    Z: Array
    y: Array
    basis: Array | None
    unit_z: float
    unit_y: float

    @classmethod
    def of(cls, Z: Array, y: Array, *, keep_trace: bool = True) -> ScaledData:
        """Determine the span and the units."""
        unit_y = SINGLE.l1_norm(y) / y.size or 1.0
        lowest, highest = SINGLE.extreme_eigenvalues(Z.T.dot(Z))
        basis = None
        if not lowest > FULL_RANK_SHARE * highest:
            basis = _orthonormal_basis(Z) if keep_trace else _equalizing_basis(Z)
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
            try:
                return interior_point(self.Z, self.y, loss, gap_tolerance=gap_tolerance, tolerance=tolerance)
            except ArgumentError:  # rows so uneven that their span has fewer directions than were kept
                m, d = self.Z.shape
                return Iterate(np.zeros((d, d)), np.zeros(d), np.zeros(m))

    def matrix(self, point: Iterate) -> Array:
        """Return the matrix of a point in the units of the data; zero if it overflows."""
        if self.basis is None:  # of order one
            return self._restore_units(point.factor)
        with np.errstate(over="ignore", invalid="ignore"):
            M = self._restore_units(self.basis @ point.factor)
        return M if np.isfinite(M).all() else np.zeros_like(M)

    def _restore_units(self, factor: Array) -> Array:
        X = factor @ factor.T
        return np.asarray((0.5 * (self.unit_y / self.unit_z**2)) * (X + X.T))


def _orthonormal_basis(Z: Array) -> Array:
    """Return an orthonormal basis of the directions whose squares are above round-off."""
    _, sizes, V = np.linalg.svd(Z, full_matrices=False)
    return np.asarray(V[sizes > math.sqrt(max(Z.shape) * np.finfo(float).eps) * sizes[:1]].T)


def _equalizing_basis(Z: Array) -> Array:
    """Return a basis of the directions above round-off such that the columns of Z times it are orthonormal."""
    largest = np.abs(Z).max(axis=0)
    sizes = np.where(largest > 0.0, largest, 1.0)
    _, values, V = np.linalg.svd(Z / sizes, full_matrices=False)
    kept = values > max(Z.shape) * np.finfo(float).eps * values[:1]
    return np.asarray((V[kept] / values[kept, None] / sizes).T)
