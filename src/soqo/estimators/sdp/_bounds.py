"""The lower bounds on the optima of the programs that given multipliers prove, by weak duality.

Each holds for any multipliers, in spite of round-off: multipliers that violate a condition are changed until they
certainly satisfy it (`_certificates`), and values are rounded down.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from soqo._foundation.arguments import finite_array, number, vector
from soqo.errors import ArgumentError
from soqo.estimators.sdp._arithmetic import Scalar, SingleArithmetic
from soqo.estimators.sdp._certificates import (
    dot_above,
    dot_below,
    gamma,
    quick_max_eigenvalue,
    refined_max_eigenvalue,
    shift_into_cone,
)
from soqo.estimators.sdp._normalized_data import SINGLE, Units, check_data
from soqo.typing import Array, ArrayLike


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
    >>> round(trace_bound([[1.0]], [3.0], radius=1.0, multipliers=[2.0]), 9)          # 1/2 M >= 3 - 1
    4.0
    """
    Z, y = check_data(Z, y)
    radius, lam = number("radius", radius, least=0.0), vector("multipliers", multipliers, y.shape)
    units = Units.of(Z, y)
    if units is not None:
        with np.errstate(over="ignore"):
            (Z, y), lam = units.scale(Z, y), np.ldexp(lam, 2 * units.z)
            radius = float(np.ldexp(radius, -units.y))
    bound = max(float(dual_trace_bound(SINGLE, Z, y, radius, lam)), refined_trace_bound(Z, y, radius, lam))
    return bound if units is None else _scale_down(bound, units.y - 2 * units.z)


def dual_trace_bound(ops: SingleArithmetic, Z: Array, y: Array, radius: Scalar, multipliers: Array) -> Scalar:
    """Return :func:`trace_bound` without checks, for a single program or a batch; tight unless round-off dominates."""
    with np.errstate(over="ignore", invalid="ignore"):  # multipliers that overflow prove nothing
        excess = 0.5 * quick_max_eigenvalue(ops, Z, multipliers)
        return _scaled_trace_value(ops, y, radius, multipliers, ops.maximum(1.0, excess))


def refined_trace_bound(Z: Array, y: Array, radius: float, multipliers: Array) -> float:
    """Return :func:`trace_bound` without checks, in extended precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        excess = 0.5 * refined_max_eigenvalue(Z, multipliers)
        return float(_scaled_trace_value(SINGLE, y, radius, multipliers, max(1.0, excess)))


def _scaled_trace_value(ops: SingleArithmetic, y: Array, radius: Scalar, multipliers: Array, excess: Scalar) -> Scalar:
    """Return what multipliers prove after they are divided by an excess, zero if that is nothing."""
    sizes = np.abs(multipliers)
    subtracted = radius * ops.max_entry(sizes)
    error = gamma(y.shape[-1] + 10.0) * (ops.dot(np.abs(y), sizes) + subtracted)
    value = (ops.dot(y, multipliers) - subtracted - error) * (1.0 - gamma(4.0)) / excess
    return ops.maximum(0.0, value)  # also for NaN, since max returns its first argument then


def least_absolute_deviations_bound(Z: ArrayLike, y: ArrayLike, *, multipliers: ArrayLike) -> float:
    """Return the lower bound on the sum of absolute deviations that given multipliers prove.

    For any lambda within [-1, 1] with sum lambda_i z_i z_i' <= 0, the sum is at least sum lambda_i y_i. Multipliers
    are first shifted down, if they violate the second condition, and scaled, so the bound holds for any.

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
    >>> bound = least_absolute_deviations_bound([[1.0], [1.0]], [1.0, -2.0], multipliers=[0.0, -1.0])
    >>> round(bound, 9)                                                              # M = 0 has 3
    2.0
    """
    Z, y = check_data(Z, y)
    lam = vector("multipliers", multipliers, y.shape)
    units = Units.of(Z, y)
    if units is not None:
        Z, y = units.scale(Z, y)
    bound = max(dual_absolute_bound(Z, y, lam, kind) for kind in (np.float64, np.longdouble))
    return bound if units is None else _scale_down(bound, units.y)


def dual_absolute_bound(Z: Array, y: Array, multipliers: Array, kind: Any) -> float:
    """Return :func:`least_absolute_deviations_bound` without checks, by proofs in this precision.

    The multipliers -1 of negative readings, and 0 of others, always prove a bound.
    """
    trivial = -float(np.minimum(y, 0.0).sum()) * (1.0 - gamma(y.size + 5)) + 0.0
    lam = shift_into_cone(Z, _at_most_one(multipliers), kind)
    if lam is None:
        return trivial
    largest = float(np.abs(lam).max()) or 1.0
    return max(trivial, dot_below(y, lam) / largest * (1.0 - gamma(4.0)))


def _at_most_one(multipliers: Array) -> Array:
    """Divide multipliers by a power of two, so that the largest is at most one, if it is larger or very small."""
    largest = float(np.abs(multipliers).max())
    if 1e-9 <= largest <= 1.0 or not largest:
        return multipliers
    return np.asarray(np.ldexp(multipliers, -math.frexp(largest)[1]))


def _scale_down(bound: float, exponent: int) -> float:
    """Multiply a bound by a power of two, without rounding it up."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = float(np.ldexp(bound, exponent))
    return min(scaled, np.finfo(float).max) if scaled > np.finfo(float).tiny else 0.0


def least_squares_bound(
    Z: ArrayLike, y: ArrayLike, *, multipliers: ArrayLike, weights: ArrayLike | None = None
) -> float:
    """Return the lower bound on half the sum of weighted squares that given multipliers prove.

    For any lambda with sum lambda_i z_i z_i' <= 0, half the sum is at least (sum lambda_i y_i)^2 / (2 sum lambda_i^2 /
    w_i) if sum lambda_i y_i > 0. Multipliers that violate the condition are first shifted down, so the bound holds for
    any.

    Parameters
    ----------
    Z, y : array_like
        As in :func:`soqo.trace_min`.
    multipliers : array_like, shape (m,)
        The multipliers lambda, such as those of an estimate.
    weights : array_like, shape (m,), optional
        The weights w_i of the squares, by default one.

    Returns
    -------
    float
        The bound, at least zero.

    Examples
    --------
    >>> round(least_squares_bound([[1.0]], [-2.0], multipliers=[-1.0]), 9)            # M = 0 is the best fit
    2.0
    """
    Z, y = check_data(Z, y)
    lam, w = vector("multipliers", multipliers, y.shape), check_weights(weights, y)
    units = Units.of(Z, y)
    if units is not None:
        Z, y = units.scale(Z, y)
    bound = max(dual_squares_bound(Z, y, w, lam, kind) for kind in (np.float64, np.longdouble))
    return bound if units is None else _scale_down(bound, 2 * units.y)


def dual_squares_bound(Z: Array, y: Array, w: Array, multipliers: Array, kind: Any) -> float:
    """Return :func:`least_squares_bound` without checks, by proofs in this precision."""
    shifted = shift_into_cone(Z, _at_most_one(multipliers), kind)
    # The multipliers w_i y_i of negative readings, and 0 of others, always prove a bound.
    trivial = _at_most_one(np.minimum(y, 0.0) * w)
    best = 0.0
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for lam in (trivial,) if shifted is None else (trivial, shifted):
            along, square = dot_below(y, lam), dot_above(lam / w, lam)
            if along > 0.0 and 0.0 < square < math.inf:
                best = max(best, 0.5 * along * (along / square) * (1.0 - gamma(8.0)))
    return best


def check_weights(weights: ArrayLike | None, y: Array) -> Array:
    """Return the weights of readings, by default one."""
    w = np.ones(y.size) if weights is None else finite_array("weights", weights)
    if w.shape != y.shape or not (w > 0.0).all():
        raise ArgumentError(f"weights must be positive and of shape {y.shape}, got {weights!r}")
    return w
