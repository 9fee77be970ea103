"""The programs: the paper's estimator, the smallest radius for which it has a solution, and least squares.

    trace_min:                      minimize Tr(M)                        subject to  M PSD,  sum_i |r_i| <= radius
    psd_least_absolute_deviations:  minimize sum_i |r_i|                  subject to  M PSD
    psd_least_squares:              minimize 1/2 sum_i w_i r_i^2          subject to  M PSD

where r_i = y_i - 1/2 z_i'M z_i. Each estimate has a certificate: multipliers from which :func:`trace_bound`,
:func:`least_absolute_deviations_bound` or :func:`least_squares_bound` recompute a lower bound on the optimum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from soqo._foundation.arguments import finite_array, number
from soqo._model.spectrum import Spectrum
from soqo.errors import ArgumentError
from soqo.estimators._estimate import Estimate, Status, effective_rank
from soqo.estimators._measurements import adjoint, measure
from soqo.estimators.sdp._arithmetic import Scalar, SingleArithmetic
from soqo.estimators.sdp._losses import AbsoluteLoss, L1Constraint, SquaredLoss
from soqo.estimators.sdp._normalized_data import FEASIBILITY_TOLERANCE, SINGLE, ScaledData, check_data
from soqo.typing import Array, ArrayLike

TRACE_GAP_TOLERANCE = 1e-7
"""The target for the gap of the trace, which decreases by a factor of ten or more in each of the last iterations."""

_ACCEPTED_GAP = 1e-6
"""A result whose gap is at most this, relative to the values, counts as solved."""

_MARGIN = 5e-8
"""The method aims inside the radius by this share of it, and may miss by as much. The result then satisfies the radius
itself, and the trace increases by about the same share."""

_ROUND_OFF = 1e-11
"""The share of all readings by which a residual may exceed the radius, in addition to 1e-9 of the radius itself."""


def trace_min(Z: ArrayLike, y: ArrayLike, radius: float) -> Estimate:
    """Return the positive semi-definite matrix of least trace that fits rank-1 readings within an l1 radius.

    Parameters
    ----------
    Z : array_like, shape (m, d)
        The deviations z_i = x - v from the minimizer at which the cost was measured.
    y : array_like, shape (m,)
        The readings, about 1/2 z_i'A z_i.
    radius : float
        The bound on sum_i |y_i - 1/2 z_i'M z_i|. A radius below 1e-9 of sum |y_i|, which round-off does not resolve, is
        replaced by that.

    Returns
    -------
    Estimate
        ``primal`` is the trace, ``dual`` a lower bound on the least trace. Check ``status``.

    Raises
    ------
    ArgumentError
        If a shape is wrong, an entry is not finite, or the radius is negative.

    See Also
    --------
    psd_least_absolute_deviations : The smallest feasible radius.
    trace_bound : The lower bound, recomputed from the multipliers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> A = np.diag([2.0, 0.0, 0.0])
    >>> Z = rng.standard_normal((15, 3))
    >>> estimate = trace_min(Z, 0.5 * np.square(Z) @ np.diag(A), radius=1e-6)
    >>> estimate.status.name, estimate.rank, bool(np.abs(estimate.matrix - A).max() < 1e-5)
    ('SOLVED', 1, True)
    """
    Z, y = check_data(Z, y)
    number("radius", radius, least=0.0)
    total = float(np.abs(y).sum())
    if total <= radius:
        zero = np.zeros((Z.shape[1], Z.shape[1]))
        return Estimate(zero, Status.CONSISTENT_WITH_ZERO, 0.0, 0.0, total, 0, 0, np.zeros(y.size))
    radius = max(radius, FEASIBILITY_TOLERANCE * total)
    scaled = ScaledData.of(Z, y)
    estimate = None
    if scaled.is_nonzero:
        margin = interior_margin(SINGLE, radius, total)
        constraint = L1Constraint(SINGLE, (1.0 - margin) * radius / scaled.unit_y)
        point = scaled.solve(constraint, margin, TRACE_GAP_TOLERANCE)
        multipliers = point.multipliers / scaled.unit_z**2
        dual = dual_trace_bound(SINGLE, Z, y, radius, multipliers)

        def certify(M: Array) -> Estimate:
            """Return an estimate with this matrix, solved if it is feasible and its gap is small."""
            trace, residual = float(M.trace()), float(np.abs(y - measure(Z, M)).sum())
            status = Status.SOLVED if is_optimal(trace, dual, residual, radius, total) else Status.STALLED
            rank, history = effective_rank(M), tuple(point.history)
            return Estimate(M, status, trace, dual, residual, rank, point.iterations, multipliers, history=history)

        estimate = certify(scaled.matrix(point))
        if estimate.solved:
            return estimate
    best = psd_least_absolute_deviations(Z, y)
    if estimate is None or best.dual > radius:
        trace = float(np.trace(best.matrix))
        return replace(best, status=Status.INFEASIBLE, primal=trace, dual=np.inf, min_radius=best.residual)
    if best.residual < radius < estimate.residual:
        # Round-off left the residual outside the radius; a small share of the best fit moves it inside.
        share = (estimate.residual - radius) / (estimate.residual - best.residual)
        blend = certify((1.0 - share) * estimate.matrix + share * best.matrix)
        return blend if blend.solved else estimate
    return estimate


def interior_margin(ops: SingleArithmetic, radius: Scalar, total: Scalar) -> Scalar:
    """Return the share of the radius by which to aim inside it.

    It is smaller if the radius is close to the sum of all readings, because the trace then depends on each of its
    digits.
    """
    return _MARGIN * ops.minimum(1.0, total / radius - 1.0)


def is_optimal(trace: Scalar, dual: Scalar, residual: Scalar, radius: Scalar, total: Scalar) -> Any:
    """Return whether a matrix fits within the radius and the dual value proves its trace to be the least."""
    feasible = residual <= radius * (1.0 + FEASIBILITY_TOLERANCE) + _ROUND_OFF * total
    return feasible & (abs(trace - dual) <= _ACCEPTED_GAP * (trace + dual))


def psd_least_absolute_deviations(Z: ArrayLike, y: ArrayLike) -> Estimate:
    """Return the positive semi-definite matrix with the least sum of absolute deviations from rank-1 readings.

    The sum is the smallest radius for which :func:`trace_min` has a solution.

    Parameters
    ----------
    Z, y : array_like
        As in :func:`trace_min`.

    Returns
    -------
    Estimate
        ``primal`` and ``residual`` are the sum of absolute deviations, ``dual`` a lower bound on it.

    Raises
    ------
    ArgumentError
        If a shape is wrong or an entry is not finite.

    See Also
    --------
    psd_least_squares : The fit in least squares.
    least_absolute_deviations_bound : The lower bound, recomputed from the multipliers.

    Examples
    --------
    >>> estimate = psd_least_absolute_deviations([[1.0], [1.0], [1.0]], [1.0, 1.0, 4.0])
    >>> round(estimate.residual, 6)                                    # the median fits two of three readings
    3.0
    """
    Z, y = check_data(Z, y)
    total = float(np.abs(y).sum())
    scaled = ScaledData.of(Z, y)
    if not scaled.is_nonzero or not total:
        zero = np.zeros((Z.shape[1], Z.shape[1]))
        return Estimate(zero, Status.SOLVED, total, total, total, 0, 0, np.sign(y))
    point = scaled.solve(AbsoluteLoss(SINGLE))
    M = scaled.matrix(point)
    residual = float(np.abs(y - measure(Z, M)).sum())
    dual = least_absolute_deviations_bound(Z, y, multipliers=point.multipliers)
    status = Status.SOLVED if residual - dual <= _ACCEPTED_GAP * total else Status.STALLED
    rank, history = effective_rank(M), tuple(point.history)
    return Estimate(M, status, residual, dual, residual, rank, point.iterations, point.multipliers, history=history)


def psd_least_squares(Z: ArrayLike, y: ArrayLike, *, weights: ArrayLike | None = None) -> Estimate:
    """Return the positive semi-definite matrix that fits rank-1 readings best in least squares.

    Parameters
    ----------
    Z, y : array_like
        As in :func:`soqo.trace_min`.
    weights : array_like, shape (m,), optional
        Positive weights of the squares, by default one.

    Returns
    -------
    Estimate
        ``primal`` is half the sum of weighted squares, ``dual`` a lower bound on it. If the readings do not determine
        the matrix, it is one of many solutions.

    Raises
    ------
    ArgumentError
        If a shape is wrong, an entry is not finite, or a weight is not positive.

    See Also
    --------
    psd_least_absolute_deviations : The fit in absolute deviations, which is robust to outliers.
    least_squares_bound : The lower bound, recomputed from the multipliers.

    Examples
    --------
    >>> psd_least_squares([[1.0], [2.0]], [1.0, 4.0]).matrix.round(6)     # 1/2 z^2 M with M = 2 fits both
    array([[2.]])
    >>> bool(psd_least_squares([[1.0]], [-1.0]).matrix[0, 0] < 1e-6)      # a negative reading is fitted by zero
    True
    """
    Z, y = check_data(Z, y)
    w = np.ones(y.size) if weights is None else finite_array("weights", weights)
    if w.shape != y.shape or not (w > 0.0).all():
        raise ArgumentError(f"weights must be positive and of shape {y.shape}, got {weights!r}")
    # A reading times sqrt(w) is a reading at w^{1/4} z. In units of the largest reading, squares do not overflow.
    rows, readings = Z * np.sqrt(np.sqrt(w))[:, None], y * np.sqrt(w)
    unit = float(np.abs(readings).max()) or 1.0
    readings = readings / unit
    half_square = 0.5 * float(readings @ readings)
    scaled = ScaledData.of(rows, readings)
    M, multipliers, iterations = np.zeros((Z.shape[1], Z.shape[1])), readings, 0
    history: tuple[tuple[float, float, float], ...] = ()
    if scaled.is_nonzero and half_square:
        point = scaled.solve(SquaredLoss(SINGLE))
        M, multipliers = scaled.matrix(point), point.multipliers * scaled.unit_y
        iterations, history = point.iterations, tuple(point.history)
    residual = readings - measure(rows, M)
    primal = 0.5 * float(residual @ residual)
    dual = least_squares_bound(rows, readings, multipliers=multipliers)
    is_solved = primal - dual <= _ACCEPTED_GAP * primal + 1e-8 * half_square / y.size
    status = Status.SOLVED if is_solved else Status.STALLED
    values = unit * unit * primal, unit * unit * dual, unit * float(np.abs(residual / np.sqrt(w)).sum())
    return Estimate(unit * M, status, *values, effective_rank(M), iterations, unit * multipliers, history=history)


def trace_bound(Z: ArrayLike, y: ArrayLike, *, radius: float, multipliers: ArrayLike) -> float:
    """Return the lower bound on the least trace that given multipliers prove.

    For any lambda with 1/2 sum lambda_i z_i z_i' <= I, Tr(M) >= sum lambda_i y_i - radius max |lambda_i| for every M
    within the radius. Multipliers that violate the condition are first scaled down, so the bound holds for any.

    Parameters
    ----------
    Z, y, radius
        As in :func:`trace_min`.
    multipliers : array_like, shape (m,)
        The multipliers lambda, such as those of an estimate.

    Returns
    -------
    float
        The bound, at least zero.

    Examples
    --------
    >>> trace_bound([[1.0]], [3.0], radius=1.0, multipliers=[2.0])          # 1/2 M >= 3 - 1
    4.0
    """
    Z, y = check_data(Z, y)
    return float(dual_trace_bound(SINGLE, Z, y, radius, finite_array("multipliers", multipliers)))


def dual_trace_bound(ops: SingleArithmetic, Z: Array, y: Array, radius: Scalar, multipliers: Array) -> Scalar:
    """Return :func:`trace_bound` without checks, for a single program or a batch."""
    with np.errstate(over="ignore", invalid="ignore"):  # multipliers that overflow prove nothing
        excess = 0.5 * ops.extreme_eigenvalues(ops.weighted_gram(Z, multipliers))[1]
        value = ops.dot(y, multipliers) - radius * ops.max_entry(np.abs(multipliers))
        return ops.maximum(0.0, value / ops.maximum(1.0, excess))


def least_absolute_deviations_bound(Z: ArrayLike, y: ArrayLike, *, multipliers: ArrayLike) -> float:
    """Return the lower bound on the sum of absolute deviations that given multipliers prove.

    For any lambda within [-1, 1] with sum lambda_i z_i z_i' <= 0, the sum is at least sum lambda_i y_i. Multipliers
    that violate a condition are first shifted down and scaled, so the bound holds for any.

    Parameters
    ----------
    Z, y : array_like
        As in :func:`trace_min`.
    multipliers : array_like, shape (m,)
        The multipliers lambda, such as those of an estimate.

    Returns
    -------
    float
        The bound, at least zero.

    Examples
    --------
    >>> least_absolute_deviations_bound([[1.0], [1.0]], [1.0, -2.0], multipliers=[0.0, -1.0])  # M = 0 has 3
    2.0
    """
    Z, y = check_data(Z, y)
    lam = _shift_into_cone(Z, finite_array("multipliers", multipliers))
    return max(0.0, float(y @ lam) / max(1.0, float(np.abs(lam).max())))


def least_squares_bound(Z: ArrayLike, y: ArrayLike, *, multipliers: ArrayLike) -> float:
    """Return the lower bound on half the sum of squares that given multipliers prove.

    For any lambda with sum lambda_i z_i z_i' <= 0, half the sum is at least (sum lambda_i y_i)^2 / (2 sum lambda_i^2)
    if sum lambda_i y_i > 0. Multipliers that violate the condition are first shifted down, so the bound holds for any.

    Parameters
    ----------
    Z, y : array_like
        As in :func:`soqo.trace_min`. With weights, they are the weighted ones, w_i^{1/4} z_i and w_i^{1/2} y_i.
    multipliers : array_like, shape (m,)
        The multipliers lambda, such as those of an estimate.

    Returns
    -------
    float
        The bound, at least zero.

    Examples
    --------
    >>> least_squares_bound([[1.0]], [-2.0], multipliers=[-1.0])                      # M = 0 is the best fit
    2.0
    """
    Z, y = check_data(Z, y)
    lam = _shift_into_cone(Z, finite_array("multipliers", multipliers))
    square, along = float(lam @ lam), float(y @ lam)
    return 0.5 * along * along / square if square and along > 0.0 else 0.0


def _shift_into_cone(Z: Array, multipliers: Array) -> Array:
    """Return multipliers with sum lambda_i z_i z_i' <= 0: the given ones minus the least constant that achieves it."""
    gram = Spectrum.of(adjoint(Z, np.ones(multipliers.size)))
    spans = gram.values > 1e-12 * gram.values[-1]
    if not spans.any():
        return multipliers
    # In these coordinates a shift by one subtracts the identity.
    basis = gram.vectors[:, spans] / np.sqrt(gram.values[spans])
    return multipliers - max(0.0, float(np.linalg.eigvalsh(adjoint(Z @ basis, multipliers))[-1]))
