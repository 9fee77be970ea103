"""The programs: the paper's estimator, the smallest radius for which it has a solution, and least squares.

    trace_min:                      minimize Tr(M)                        subject to  M PSD,  sum_i |r_i| <= radius
    psd_least_absolute_deviations:  minimize sum_i |r_i|                  subject to  M PSD
    psd_least_squares:              minimize 1/2 sum_i w_i r_i^2          subject to  M PSD

where r_i = y_i - 1/2 z_i'M z_i. Each estimate has a certificate: multipliers from which :func:`trace_bound`,
:func:`least_absolute_deviations_bound` or :func:`least_squares_bound` recompute a lower bound on the optimum. It holds
in spite of round-off (`_certificates`). An estimate is solved only if its own objective, plus the error with which that
was computed, is near the bound.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from soqo._foundation.arguments import number
from soqo.estimators._estimate import Estimate, Status, effective_rank
from soqo.estimators._measurements import measure
from soqo.estimators.sdp._arithmetic import Scalar, SingleArithmetic
from soqo.estimators.sdp._bounds import (
    check_weights,
    dual_absolute_bound,
    dual_squares_bound,
    dual_trace_bound,
    refined_trace_bound,
)
from soqo.estimators.sdp._certificates import gamma
from soqo.estimators.sdp._losses import AbsoluteLoss, L1Constraint, SquaredLoss
from soqo.estimators.sdp._normalized_data import FEASIBILITY_TOLERANCE, SINGLE, ScaledData, Units, check_data
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
    radius = number("radius", radius, least=0.0)
    units = Units.of(Z, y)
    if units is None:
        return _trace_min(Z, y, radius)
    with np.errstate(over="ignore"):  # a radius of infinity is above all readings
        radius = float(np.ldexp(radius, -units.y))
    value = units.y - 2 * units.z
    return units.restore(_trace_min(*units.scale(Z, y), radius), value=value, multipliers=-2 * units.z)


def _trace_min(Z: Array, y: Array, radius: float) -> Estimate:
    """Return :func:`trace_min` for data in safe units."""
    total = float(np.abs(y).sum())
    if radius < total <= radius * (1.0 + _ROUND_OFF):
        total = math.fsum(np.abs(y))  # rounded correctly: if it exceeds the radius, so does the sum itself
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

        def certify(M: Array, dual: float) -> Estimate:
            """Return an estimate with this matrix, solved if it is feasible and its gap is small."""
            deviations, error = _deviations(Z, y, M)
            trace, residual = float(M.trace()), float(np.abs(deviations).sum())
            proven = is_optimal(trace, dual, residual + float(error.sum()), radius, total)
            rank, history = effective_rank(M), tuple(point.history)
            status = Status.SOLVED if proven else Status.STALLED
            return Estimate(M, status, trace, dual, residual, rank, point.iterations, multipliers, history=history)

        estimate = certify(scaled.matrix(point), dual)
        if estimate.solved:
            return estimate
    best = _least_absolute_deviations(Z, y)
    if estimate is None or (best.dual > radius and best.residual > radius):
        trace = float(np.trace(best.matrix))
        return replace(best, status=Status.INFEASIBLE, primal=trace, dual=np.inf, min_radius=best.residual)
    estimate = certify(estimate.matrix, max(dual, refined_trace_bound(Z, y, radius, multipliers)))
    if estimate.solved or not best.residual < radius < estimate.residual:
        return estimate
    # Round-off left the residual outside the radius; a share of the best fit, a small one if possible, moves it inside.
    share = (estimate.residual - radius) / (estimate.residual - best.residual)
    return certify((1.0 - share) * estimate.matrix + share * best.matrix, estimate.dual)


def effective_radius(y: ArrayLike, radius: float) -> float:
    """Return the radius that :func:`trace_min` uses: at least 1e-9 of the sum of all readings, in absolute value.

    Parameters
    ----------
    y : array_like, shape (m,)
        The readings.
    radius : float
        The given radius.

    Examples
    --------
    >>> effective_radius([1.0, -3.0], 0.0), effective_radius([1.0, -3.0], 0.5)
    (4e-09, 0.5)
    """
    return max(radius, FEASIBILITY_TOLERANCE * float(np.abs(y).sum()))


def _deviations(Z: Array, y: Array, M: Array) -> tuple[Array, Array]:
    """Return y - measure(Z, M) for a positive semi-definite M, and bounds on the errors with which it is computed."""
    with np.errstate(over="ignore", invalid="ignore"):
        return y - measure(Z, M), deviation_errors(Z, y, M)


def deviation_errors(Z: Array, y: Array, M: Array) -> Array:
    """Return bounds on the errors of a computed y - measure(Z, M), for a single program or a batch.

    Since |M_ij| <= s_i s_j with s_i^2 = M_ii, the absolute terms of 1/2 z'Mz sum to at most 1/2 (|z|'s)^2. Products and
    sums of length d, twice, have an error of at most gamma_{2d+2} of that. M itself, a computed product F F', differs
    from a positive semi-definite matrix by at most gamma_{d+3} s_i s_j.
    """
    roots = np.sqrt(np.abs(M.diagonal(axis1=-2, axis2=-1)))
    sizes = 0.5 * np.square(np.matvec(np.abs(Z), roots))
    return np.asarray(gamma(4.0 * Z.shape[-1] + 16.0) * (sizes + np.abs(y)))


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
    units = Units.of(Z, y)
    if units is None:
        return _least_absolute_deviations(Z, y)
    return units.restore(_least_absolute_deviations(*units.scale(Z, y)), value=units.y, multipliers=0)


def _least_absolute_deviations(Z: Array, y: Array) -> Estimate:
    """Return :func:`psd_least_absolute_deviations` for data in safe units."""
    total = float(np.abs(y).sum())
    scaled = ScaledData.of(Z, y, keep_trace=False)
    if not scaled.is_nonzero or not total:
        zero = np.zeros((Z.shape[1], Z.shape[1]))
        dual = total * (1.0 - gamma(y.size + 5)) if total else 0.0
        return Estimate(zero, Status.SOLVED, total, dual, total, 0, 0, np.sign(y))
    point = scaled.solve(AbsoluteLoss(SINGLE))
    M = scaled.matrix(point)
    deviations, error = _deviations(Z, y, M)
    residual, error_sum = float(np.abs(deviations).sum()), float(error.sum())
    rank, history = effective_rank(M), tuple(point.history)
    for kind in (np.float64, np.longdouble):
        dual = dual_absolute_bound(Z, y, point.multipliers, kind)
        if residual + error_sum - dual <= _ACCEPTED_GAP * total:
            status = Status.SOLVED
            break
        status = Status.STALLED
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
    w = check_weights(weights, y)
    units = Units.of(Z, y)
    if units is None:
        return _least_squares(Z, y, w)
    return units.restore(_least_squares(*units.scale(Z, y), w), value=2 * units.y, multipliers=units.y)


def _least_squares(Z: Array, y: Array, w: Array) -> Estimate:
    """Return :func:`psd_least_squares` for data in safe units."""
    # A reading times sqrt(w) is a reading at w^{1/4} z. In units of the largest reading, squares do not overflow.
    root = np.sqrt(w)
    rows, readings = Z * np.sqrt(root)[:, None], y * root
    unit = float(np.abs(readings).max()) or 1.0
    readings = readings / unit
    half_square = 0.5 * float(readings @ readings)
    scaled = ScaledData.of(rows, readings, keep_trace=False)
    M, multipliers, iterations = np.zeros((Z.shape[1], Z.shape[1])), unit * readings * root, 0
    history: tuple[tuple[float, float, float], ...] = ()
    if scaled.is_nonzero and half_square:
        point = scaled.solve(SquaredLoss(SINGLE))
        M = unit * scaled.matrix(point)
        multipliers = (unit * scaled.unit_y) * point.multipliers * root
        iterations, history = point.iterations, tuple(point.history)
    deviations, error = _deviations(Z, y, M)
    primal = 0.5 * float(np.square(root * deviations).sum())
    largest = 0.5 * float(np.square(root * (np.abs(deviations) + error)).sum()) * (1.0 + gamma(y.size + 5))
    for kind in (np.float64, np.longdouble):
        dual = dual_squares_bound(Z, y, w, multipliers, kind)
        if largest - dual <= _ACCEPTED_GAP * primal + 1e-8 * unit * unit * half_square / y.size:
            status = Status.SOLVED
            break
        status = Status.STALLED
    residual = float(np.abs(deviations).sum())
    return Estimate(M, status, primal, dual, residual, effective_rank(M), iterations, multipliers, history=history)
