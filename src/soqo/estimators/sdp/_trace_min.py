"""The paper's estimator, and the smallest radius for which it has a solution.

    trace_min:  minimize Tr(M)                            subject to  M PSD,  sum_i |y_i - 1/2 z_i'M z_i| <= radius
    lad:        minimize sum_i |y_i - 1/2 z_i'M z_i|      subject to  M PSD

Both are solved by the interior point of `_interior_point` and come with a certificate: multipliers
from which :func:`trace_bound` or :func:`least_absolute_deviations_bound` recompute a lower bound on the optimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soqo._arguments import finite_array, number
from soqo._spectrum import Spectrum
from soqo.errors import ArgumentError
from soqo.estimators._estimate import Estimate, Status, effective_rank
from soqo.estimators._measurements import adjoint, measure
from soqo.estimators.sdp._arithmetic import Number, One
from soqo.estimators.sdp._interior_point import Iterate, Residual, interior_point
from soqo.estimators.sdp._residuals import L1Ball, L1Price
from soqo.typing import Array

__all__ = ["least_absolute_deviations_bound", "psd_least_absolute_deviations", "trace_bound", "trace_min"]

GAP_TOLERANCE = 1e-8
"""What the method aims for in the gap, relative to the sum of the primal and the dual value."""

TRACE_TOLERANCE = 1e-7
"""The same for the trace, whose gap comes down by a factor of ten or more with each of the last iterations."""

TOLERANCE = 1e-9
"""What it aims for in the equations, relative to the readings; and how exactly a radius is kept."""

INSIDE = 5e-8
"""How far inside of the radius the method aims, as a share of it, and by how much it may miss: so the radius itself is
kept, at a price of about as much in the trace."""

ACCEPTED = 1e-6
"""The gap, relative to the values, up to which a result still counts as solved."""

ROUND_OFF = 1e-11
"""How far of all readings a residual may lie outside of the radius, beside 1e-9 of the radius itself."""

SURELY_FULL = 1e-8
"""Where the smallest eigenvalue of Z'Z is above this share of the largest, Z has full column rank for sure."""

MOST_ITERATIONS = 80

ONE = One()


def trace_min(Z: Any, y: Any, radius: float) -> Estimate:
    """The positive semi-definite matrix of least trace that fits rank-1 readings within an l1 radius.

    Parameters
    ----------
    Z : array_like, shape (m, d)
        Where the cost was measured: rows z_i = x - v.
    y : array_like, shape (m,)
        The readings, about 1/2 z_i'A z_i.
    radius : float
        Bound on sum_i |y_i - 1/2 z_i'M z_i|; below 1e-9 of sum |y_i|, where round-off rules, it is taken as that.

    Returns
    -------
    Estimate
        ``primal`` is the trace, ``dual`` a lower bound on the least trace.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> A = np.diag([2.0, 0.0, 0.0])
    >>> Z = rng.standard_normal((15, 3))
    >>> estimate = trace_min(Z, 0.5 * np.square(Z) @ np.diag(A), radius=1e-6)
    >>> estimate.status.name, estimate.rank, bool(np.abs(estimate.matrix - A).max() < 1e-5)
    ('SOLVED', 1, True)
    """
    Z, y = data(Z, y)
    number("radius", radius, least=0.0)
    total = float(np.abs(y).sum())
    if total <= radius:
        nothing = np.zeros((Z.shape[1], Z.shape[1]))
        return Estimate(nothing, Status.CONSISTENT_WITH_ZERO, 0.0, 0.0, total, 0, 0, np.zeros(y.size))
    kept = max(radius, TOLERANCE * total)
    scaled = Scaled.of(Z, y)
    stalled = None
    if scaled.spans:
        inside = margin(ONE, kept, total)
        ball = L1Ball(ONE, (1.0 - inside) * kept / scaled.unit_y)
        at = scaled.solve(ball, inside, TRACE_TOLERANCE)
        multipliers = at.multipliers / scaled.unit_z**2
        dual = proven_trace(ONE, Z, y, kept, multipliers)

        def judged(M: Array) -> Estimate:
            """An estimate with this matrix: solved, if it fits and its gap is small."""
            trace, residual = float(M.trace()), float(np.abs(y - measure(Z, M)).sum())
            good = is_optimal(trace, dual, residual, kept, total)
            status = Status.SOLVED if good else Status.STALLED
            rank, log = effective_rank(M), tuple(at.log)
            return Estimate(M, status, trace, dual, residual, rank, at.iterations, multipliers, log=log)

        stalled = judged(scaled.matrix(at))
        if stalled.solved:
            return stalled
    best = psd_least_absolute_deviations(Z, y)
    if stalled is None or best.dual > kept:
        return replace(
            best,
            status=Status.INFEASIBLE,
            primal=float(np.trace(best.matrix)),
            dual=np.inf,
            smallest_radius=best.residual,
        )
    if best.residual < kept < stalled.residual:
        # What round-off left outside of the radius comes back inside by a little of the best fit.
        share = (stalled.residual - kept) / (stalled.residual - best.residual)
        blend = judged((1.0 - share) * stalled.matrix + share * best.matrix)
        return blend if blend.solved else stalled
    return stalled


def margin(kind: One, kept: Number, total: Number) -> Number:
    """How far inside of the radius to aim, as a share of it.

    Less where the radius leaves little of the readings to explain, and the trace depends on each digit of it.
    """
    return INSIDE * kind.least(1.0, total / kept - 1.0)


def is_optimal(trace: Number, dual: Number, residual: Number, kept: Number, total: Number) -> Any:
    """Whether a matrix fits within the radius and its trace is proven to be the least."""
    fits = residual <= kept * (1.0 + TOLERANCE) + ROUND_OFF * total
    return fits & (abs(trace - dual) <= ACCEPTED * (trace + dual))


def psd_least_absolute_deviations(Z: Any, y: Any) -> Estimate:
    """Least absolute deviations over positive semi-definite matrices: the smallest feasible radius, and its matrix.

    Parameters
    ----------
    Z, y
        As in :func:`trace_min`.

    Returns
    -------
    Estimate
        ``primal`` and ``residual`` are the sum of absolute deviations, ``dual`` a lower bound on it.

    Examples
    --------
    >>> psd_least_absolute_deviations([[1.0], [1.0], [1.0]], [1.0, 1.0, 4.0]).residual.__round__(6)   # the median fits two of three
    3.0
    """
    Z, y = data(Z, y)
    total = float(np.abs(y).sum())
    scaled = Scaled.of(Z, y)
    if not scaled.spans or not total:
        nothing = np.zeros((Z.shape[1], Z.shape[1]))
        return Estimate(nothing, Status.SOLVED, total, total, total, 0, 0, np.sign(y))
    at = scaled.solve(L1Price(ONE))
    M = scaled.matrix(at)
    residual = float(np.abs(y - measure(Z, M)).sum())
    dual = least_absolute_deviations_bound(Z, y, at.multipliers)
    status = Status.SOLVED if residual - dual <= ACCEPTED * total else Status.STALLED
    return Estimate(
        M,
        status,
        residual,
        dual,
        residual,
        effective_rank(M),
        at.iterations,
        at.multipliers,
        log=tuple(at.log),
    )


def trace_bound(Z: Any, y: Any, radius: float, multipliers: Any) -> float:
    """The bound on the least trace that multipliers prove, whatever they are.

    For any lambda with 1/2 sum lambda_i z_i z_i' <= I, Tr(M) >= sum lambda_i y_i - radius max |lambda_i| for every M
    that fits; multipliers that break the condition are first scaled down until they keep it.
    """
    Z, y = data(Z, y)
    lam = finite_array("multipliers", multipliers)
    return float(proven_trace(ONE, Z, y, radius, lam))


def proven_trace(kind: One, Z: Array, y: Array, radius: Number, multipliers: Array) -> Number:
    """:func:`trace_bound` without checks, for one program or a batch."""
    with np.errstate(over="ignore", invalid="ignore"):  # where multipliers overflow, they prove nothing
        excess = 0.5 * kind.extremes(kind.weighted_gram(Z, multipliers))[1]
        value = kind.dot(y, multipliers) - radius * kind.highest(np.abs(multipliers))
        return kind.most(0.0, value / kind.most(1.0, excess))


def least_absolute_deviations_bound(Z: Any, y: Any, multipliers: Any) -> float:
    """The bound on the sum of absolute deviations that multipliers prove, whatever they are.

    For any lambda within [-1, 1] with sum lambda_i z_i z_i' <= 0, the sum is at least sum lambda_i y_i; others are
    first shifted down and scaled until they keep this.
    """
    Z, y = data(Z, y)
    lam = shifted_into_cone(Z, finite_array("multipliers", multipliers))
    return max(0.0, float(y @ lam) / max(1.0, float(np.abs(lam).max())))


def shifted_into_cone(Z: Array, multipliers: Array) -> Array:
    """Multipliers with sum lambda_i z_i z_i' <= 0: those given, less a constant where they break it."""
    gram = Spectrum.of(adjoint(Z, np.ones(multipliers.size)))
    spans = gram.values > 1e-12 * gram.values[-1]
    if not spans.any():
        return multipliers
    # In these coordinates the shift by one takes the identity away.
    basis = gram.vectors[:, spans] / np.sqrt(gram.values[spans])
    return multipliers - max(0.0, float(np.linalg.eigvalsh(adjoint(Z @ basis, multipliers))[-1]))


@dataclass(frozen=True, eq=False)
class Scaled:
    """The data in units of their own, and in the span of Z: no M has anything to gain outside of it."""

    Z: Array
    y: Array
    basis: Array | None
    unit_z: float
    unit_y: float

    @classmethod
    def of(cls, Z: Array, y: Array) -> Scaled:
        """Find the span and the units."""
        unit_y = ONE.absolute_sum(y) / y.size or 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            lowest, highest = ONE.extremes(Z.T.dot(Z))
        span = None
        if not lowest > SURELY_FULL * highest:
            _, sizes, V = np.linalg.svd(Z, full_matrices=False)
            # Readings go with squares: what is squared to less than round-off is not heard.
            heard = sizes > math.sqrt(max(Z.shape) * np.finfo(float).eps) * sizes[:1]
            span = V[heard].T
            Z = Z @ span
        unit_z = float(np.linalg.norm(Z)) / math.sqrt(Z.size) if Z.size else 1.0
        return cls(Z / unit_z, y / unit_y, span, unit_z, unit_y)

    @property
    def spans(self) -> bool:
        """Whether there is anything in Z but zeros."""
        return bool(self.Z.shape[1])

    @property
    def unit_M(self) -> float:
        """The unit of the matrix."""
        return self.unit_y / self.unit_z**2

    def solve(
        self,
        residual: Residual,
        tolerance: float = TOLERANCE,
        gap_tolerance: float = GAP_TOLERANCE,
    ) -> Iterate:
        """Run the interior point."""
        # What overflows on the way is seen by the method, which then stops at its best point.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return interior_point(
                self.Z,
                self.y,
                residual,
                gap_tolerance=gap_tolerance,
                tolerance=tolerance,
                most_iterations=MOST_ITERATIONS,
            )

    def matrix(self, at: Iterate) -> Array:
        """The matrix in the data's units."""
        X = at.X if self.basis is None else self.basis @ at.X @ self.basis.T
        return np.asarray((0.5 * self.unit_M) * (X + X.T))


def data(Z: Any, y: Any) -> tuple[Array, Array]:
    """Measurements and readings, checked."""
    rows, readings = finite_array("Z", Z), finite_array("y", y)
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] < 1:
        raise ArgumentError(f"Z must have shape (m, d) with m >= 1 and d >= 1, got {rows.shape}")
    if readings.shape != rows.shape[:1]:
        raise ArgumentError(f"y must have shape {rows.shape[:1]}, got {readings.shape}")
    return rows, readings
