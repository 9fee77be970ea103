"""The paper's estimator for all runs of a batch at once, with the results of `_programs` for each run.

The runs share every call of an iteration, and each leaves when it has converged. Runs without a proven optimum are
passed to the solver for a single program, which also determines the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from soqo.estimators._estimate import Status
from soqo.estimators._measurements import measure
from soqo.estimators.sdp._arithmetic import BatchArithmetic, Scalar
from soqo.estimators.sdp._bounds import dual_trace_bound
from soqo.estimators.sdp._interior_point import MAX_DENSE_READINGS, MAX_DUAL, MIN_STEP, Program, is_gap_small
from soqo.estimators.sdp._losses import AbsoluteLoss, L1Constraint
from soqo.estimators.sdp._newton_system import dense_solver, woodbury_solver
from soqo.estimators.sdp._normalized_data import FEASIBILITY_TOLERANCE, FULL_RANK_SHARE, GAP_TOLERANCE
from soqo.estimators.sdp._programs import (
    TRACE_GAP_TOLERANCE,
    deviation_errors,
    interior_margin,
    is_optimal,
    psd_least_absolute_deviations,
    trace_min,
)
from soqo.typing import Array, BoolArray

_BATCH = BatchArithmetic()

MAX_ENTRIES = 4_000_000
"""The largest number of entries of the Schur complements of runs that are solved together; it limits the memory."""

_WOODBURY_READINGS_PER_UNKNOWN = 1.5
"""With fewer readings per unknown, the dense solver is faster than the Woodbury identity."""

_MAX_ITERATIONS = 20
"""Twice the iterations of a typical run. A run that takes longer is close to infeasible or limited by round-off, which
the solver for a single program handles better."""

RADIUS_TOLERANCE = 1e-5
"""The gap for a radius, relative to the sum of the primal and the dual value. This is accurate enough: SCaLE multiplies
the radius by 1.05."""


@dataclass(frozen=True)
class _Pass:
    """One attempt to solve a batch, defined by its use of the Woodbury identity.

    Attributes
    ----------
    woodbury_iterations : int
        The number of iterations that use it, if there are enough readings. It is the same for all runs, so that the
        result of a run does not depend on the others.
    refinements : int
        The refinements of its solutions.
    min_readings_per_unknown : float
        Runs with fewer readings are left out.
    """

    woodbury_iterations: int
    refinements: int
    min_readings_per_unknown: float


_PASSES = (
    _Pass(woodbury_iterations=6, refinements=1, min_readings_per_unknown=0.0),
    _Pass(_MAX_ITERATIONS, refinements=2, min_readings_per_unknown=_WOODBURY_READINGS_PER_UNKNOWN),
)
"""The first pass uses the identity while the diagonal is even enough for it to be accurate. The second solves the
remaining runs with it alone: it is the more accurate solver for nearly exact readings with X inside the cone."""

# Overflow ends a run, which then goes to the solver for a single program, so warnings are suppressed.
_ignore_overflow = np.errstate(divide="ignore", over="ignore", invalid="ignore")


@_ignore_overflow
def batched_trace_min(Z: Array, y: Array, radius: Array) -> tuple[Array, npt.NDArray[Any]]:
    """Return :func:`soqo.trace_min` for each run of a batch.

    Parameters
    ----------
    Z : Array, shape (*batch, m, d)
        The measurements.
    y : Array, shape (*batch, m)
        The readings; NaN marks a missing one.
    radius : Array, shape (*batch,)
        The l1 radius of each run.

    Returns
    -------
    matrices : Array, shape (*batch, d, d)
        The estimates.
    statuses : array of Status, shape (*batch,)
        The status of each run. Runs without any reading are consistent with zero.

    Examples
    --------
    >>> Z = np.ones((2, 3, 1))
    >>> y = np.array([[0.1, 0.1, 0.1], [1.0, np.nan, 2.0]])
    >>> matrices, statuses = batched_trace_min(Z, y, radius=np.array([0.5, 1.5]))
    >>> matrices[:, 0, 0].round(5), [status.name for status in statuses]    # 1/2 M = 1 - 0.25 and so on
    (array([0. , 1.5]), ['CONSISTENT_WITH_ZERO', 'SOLVED'])
    """
    batch, d = y.shape[:-1], Z.shape[-1]
    Z, y, present = _flatten_batch(Z, y)
    radii = np.broadcast_to(radius, batch).reshape(-1)
    matrices = np.zeros((len(y), d, d))
    statuses = np.full(len(y), Status.CONSISTENT_WITH_ZERO, dtype=object)
    unsolved: BoolArray = np.greater(np.abs(y).sum(axis=-1, where=present), radii)
    for attempt in _PASSES:
        for runs, group in _groups(Z, y, present, unsolved, attempt):
            found, optimal = _min_traces(group, radii[runs], attempt)
            solved = runs[optimal]
            matrices[solved], statuses[solved], unsolved[solved] = found[optimal], Status.SOLVED, False
    for run in np.flatnonzero(unsolved):
        estimate = trace_min(Z[run][present[run]], y[run][present[run]], radii[run])
        matrices[run], statuses[run] = estimate.matrix, estimate.status
    return matrices.reshape(*batch, d, d), statuses.reshape(batch)


@_ignore_overflow
def batched_min_radius(Z: Array, y: Array) -> Array:
    """Return the residual of :func:`soqo.psd_least_absolute_deviations` for each run of a batch, shape (*batch,).

    It is accurate to 2e-5 of itself or 1e-8 of a mean reading. It is the residual of a matrix, and so at least the
    smallest feasible radius.

    Parameters
    ----------
    Z, y : Array
        As in :func:`batched_trace_min`.

    Returns
    -------
    Array, shape (*batch,)
        The residuals.

    Examples
    --------
    >>> batched_min_radius(np.ones((1, 4, 1)), np.array([[1.0, 1.0, np.nan, 4.0]])).round(6)
    array([3.])
    """
    batch = y.shape[:-1]
    Z, y, present = _flatten_batch(Z, y)
    result = np.zeros(len(y))
    unsolved: BoolArray = np.logical_or.reduce(present, axis=-1)
    # The floor is for exact readings, whose smallest radius is zero.
    floor = GAP_TOLERANCE / RADIUS_TOLERANCE
    for attempt in _PASSES:
        for runs, group in _groups(Z, y, present, unsolved, attempt):
            loss = AbsoluteLoss(_BATCH, floor)
            points = _interior_points(group, loss, FEASIBILITY_TOLERANCE, RADIUS_TOLERANCE, attempt)
            solved = runs[points.converged]
            result[solved] = group.residuals(group.matrices(points))[points.converged]
            unsolved[solved] = False
    for run in np.flatnonzero(unsolved):
        result[run] = psd_least_absolute_deviations(Z[run][present[run]], y[run][present[run]]).residual
    return result.reshape(batch)


@dataclass(frozen=True, eq=False)
class _Points:
    """The final points of runs, X = factor factor'; zero for runs that have not converged."""

    factors: Array
    multipliers: Array
    converged: BoolArray


@dataclass(frozen=True, eq=False)
class _Group:
    """Runs with the same number of readings, Z (runs, m, d) and y (runs, m), and their units, (runs, 1)."""

    Z: Array
    y: Array
    unit_z: Array
    unit_y: Array

    @classmethod
    def of(cls, Z: Array, y: Array) -> _Group:
        """Determine the units."""
        unit_z = np.sqrt(np.square(Z).mean(axis=(-2, -1)))[:, None]
        return cls(Z, y, unit_z, np.abs(y).mean(axis=-1, keepdims=True))

    def matrices(self, points: _Points) -> Array:
        """Return the matrices of the points in the units of the data."""
        X = np.matmul(points.factors, points.factors.mT)
        return np.asarray((0.5 * self.unit_y / self.unit_z**2)[..., None] * (X + X.mT))

    def residuals(self, matrices: Array) -> Array:
        """Return the l1 norms of the residuals, shape (runs,)."""
        return np.asarray(np.abs(self.y - measure(self.Z, matrices)).sum(axis=-1))

    def residual_errors(self, matrices: Array) -> Array:
        """Return bounds on the errors of the residuals, shape (runs,)."""
        return np.asarray(deviation_errors(self.Z, self.y, matrices).sum(axis=-1))


def _flatten_batch(Z: Array, y: Array) -> tuple[Array, Array, BoolArray]:
    """Return the data with a single axis of runs, and which readings are present."""
    Z, y = Z.reshape(-1, *Z.shape[-2:]), y.reshape(-1, y.shape[-1])
    return Z, y, ~np.isnan(y)


def _groups(
    Z: Array, y: Array, present: BoolArray, unsolved: BoolArray, attempt: _Pass
) -> Iterator[tuple[npt.NDArray[np.intp], _Group]]:
    """Yield groups of unsolved runs with the same number of readings: their indices, and their present readings.

    Runs are left out if Z may be rank deficient, if products of their numbers could overflow, if they are too long to
    gain time in a batch, or if they have too few readings for this pass.
    """
    counts, unknowns = present.sum(axis=-1), Z.shape[-1] * (Z.shape[-1] + 1) / 2
    for count in np.unique(counts[unsolved & (counts <= MAX_DENSE_READINGS)]):
        if count < attempt.min_readings_per_unknown * unknowns:
            continue
        group_size = max(1, MAX_ENTRIES // int(count) ** 2)
        members = np.flatnonzero(unsolved & (counts == count))
        for first in range(0, members.size, group_size):
            runs = members[first : first + group_size]
            chosen = present[runs]
            rows = Z[runs][chosen].reshape(runs.size, count, -1)
            readings = y[runs][chosen].reshape(runs.size, count)
            lowest, highest = _BATCH.extreme_eigenvalues(np.matmul(rows.mT, rows))
            largest = np.abs(readings).max(axis=-1)
            suitable = (lowest > FULL_RANK_SHARE * highest)[:, 0] & (largest > 1e-120) & (largest < 1e120)
            suitable &= (highest[:, 0] > 1e-120) & (highest[:, 0] < 1e120)
            if suitable.any():
                yield runs[suitable], _Group.of(rows[suitable], readings[suitable])


def _min_traces(group: _Group, radius: Array, attempt: _Pass) -> tuple[Array, BoolArray]:
    """Return the matrices of least trace within the radii, and which of them are proven optimal."""
    total = np.abs(group.y).sum(axis=-1)
    radius = np.maximum(radius, FEASIBILITY_TOLERANCE * total)
    margin = interior_margin(_BATCH, radius, total)
    constraint = L1Constraint(_BATCH, ((1.0 - margin) * radius)[:, None] / group.unit_y)
    points = _interior_points(group, constraint, margin[:, None], TRACE_GAP_TOLERANCE, attempt)
    matrices = group.matrices(points)
    multipliers = points.multipliers / group.unit_z**2
    dual = dual_trace_bound(_BATCH, group.Z, group.y, radius[:, None], multipliers)[:, 0]
    trace = matrices.trace(axis1=-2, axis2=-1)
    optimal = is_optimal(trace, dual, group.residuals(matrices) + group.residual_errors(matrices), radius, total)
    return matrices, points.converged & optimal


def _interior_points(
    group: _Group, loss: AbsoluteLoss, tolerance: Scalar, gap_tolerance: float, attempt: _Pass
) -> _Points:
    """Run :func:`soqo.estimators.sdp._interior_point.interior_point` for all runs at once."""
    count, m, d = group.Z.shape
    found = _Points(np.zeros((count, d, d)), np.zeros((count, m)), np.zeros(count, dtype=np.bool_))
    program = Program(group.Z / group.unit_z[..., None], group.y / group.unit_y, loss)
    assert program.initial_scaling is not None  # a run that fails has NaN
    (G, values), multipliers, runs = program.initial_scaling, program.multipliers, np.arange(count)
    tolerance = np.broadcast_to(tolerance, (count, 1))
    enough_readings = m >= _WOODBURY_READINGS_PER_UNKNOWN * d * (d + 1) / 2
    for iteration in range(_MAX_ITERATIONS):
        ZG, fitted, defect, primal, dual, violation = program.evaluate(G, values, multipliers)
        done = is_gap_small(primal, dual, loss.floor, gap_tolerance) & (violation <= tolerance)
        leaves = done | ~(dual <= MAX_DUAL) | np.isnan(values[:, :1])
        if leaves.any():
            done, stays = done[:, 0], ~leaves[:, 0]
            found.factors[runs[done]] = (G * np.sqrt(values)[:, None, :])[done]
            found.multipliers[runs[done]] = multipliers[done]
            found.converged[runs[done]] = True
            if not stays.any():
                break
            program.select(stays)
            loss.select(stays)
            G, values, multipliers, runs = G[stays], values[stays], multipliers[stays], runs[stays]
            ZG, fitted, defect, tolerance = ZG[stays], fitted[stays], defect[stays], tolerance[stays]
        use_woodbury = enough_readings and iteration < attempt.woodbury_iterations
        solver = partial(woodbury_solver, refinements=attempt.refinements) if use_woodbury else dense_solver
        solved = solver(_BATCH, ZG, *loss.schur_terms(), *loss.predictor_rhs(program.y))
        assert solved is not None
        step = program.step(ZG, values, fitted, defect, solved)
        *_, change, primal, dual = step
        scaling = program.advance(G, values, step)
        assert scaling is not None
        G, values = scaling
        loss.advance(primal, dual)
        multipliers = multipliers + dual * change
        values = np.where(np.minimum(primal, dual) > MIN_STEP, values, np.nan)
    return found
