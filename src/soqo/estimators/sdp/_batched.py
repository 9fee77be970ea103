"""The paper's estimator for all runs of a batch at once: what `_trace_min` gives run by run.

The runs share every call of an iteration, and each leaves when it has converged. What goes wrong in a run is not sorted
out here: a run that does not come to a proven optimum is given to the solver for one, which says what is the matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soqo.estimators._estimate import Status
from soqo.estimators._measurements import measure
from soqo.estimators.sdp._arithmetic import Many, Number
from soqo.estimators.sdp._interior_point import (
    SHORTEST,
    SMALL,
    UNBOUNDED,
    Program,
    close,
)
from soqo.estimators.sdp._reduced import reduced_solver
from soqo.estimators.sdp._residuals import L1Ball, L1Price
from soqo.estimators.sdp._trace_min import (
    GAP_TOLERANCE,
    SURELY_FULL,
    TOLERANCE,
    TRACE_TOLERANCE,
    is_optimal,
    margin,
    proven_trace,
    psd_least_absolute_deviations,
    trace_min,
)
from soqo.typing import Array, BoolArray

__all__ = ["smallest_radii", "trace_min_runs"]

MANY = Many()

MOST_ENTRIES = 4_000_000
"""How many entries the matrices of runs that are solved together may have in all, for the sake of memory."""

REDUCIBLE = 1.5
"""Readings per unknown from which on a reduced system is the smaller task."""

MOST_STEPS = 20
"""What an ordinary run takes, twice over. One that takes longer is next to where there is no solution any more, or has
met round-off, and the solver for one is the better judge of it."""

RADIUS_TOLERANCE = 1e-5
"""The gap that is good enough for a radius, relative to the sum of the primal and the dual value: who takes 1.05 times
as much looks for no more digits."""


@dataclass(frozen=True)
class Route:
    """How the linear systems of a batch are solved.

    Attributes
    ----------
    reduced : int
        How many iterations take reduced systems, if there are readings enough for them. It is the same for all runs:
        what one comes to must not depend on the others.
    refinements : int
        Of the reduced systems.
    least : float
        How many readings per unknown a run must have.
    """

    reduced: int
    refinements: int
    least: float


ROUTES = (
    Route(reduced=6, refinements=1, least=0.0),
    Route(MOST_STEPS, refinements=2, least=REDUCIBLE),
)
"""First with reduced systems, as long as the diagonal is so even that they lose no digits that count. Then, for runs
that have not converged, with nothing else: where readings are nearly exact and X is inside of the cone, they keep
more."""

# What overflows is seen where it matters, and the run then goes to the solver for one.
quiet = np.errstate(divide="ignore", over="ignore", invalid="ignore")


@quiet
def trace_min_runs(Z: Array, y: Array, radius: Array) -> tuple[Array, npt.NDArray[Any]]:
    """:func:`soqo.trace_min` for each run of a batch.

    Parameters
    ----------
    Z : Array, shape (*batch, m, d)
    y : Array, shape (*batch, m)
        The readings; NaN where there was none.
    radius : Array, shape (*batch,)

    Returns
    -------
    matrices : Array, shape (*batch, d, d)
    statuses : array of Status, shape (*batch,)
        Runs without any reading are consistent with zero.

    Examples
    --------
    >>> Z = np.ones((2, 3, 1))
    >>> y = np.array([[0.1, 0.1, 0.1], [1.0, np.nan, 2.0]])
    >>> matrices, statuses = trace_min_runs(Z, y, radius=np.array([0.5, 1.5]))
    >>> matrices[:, 0, 0].round(5), [status.name for status in statuses]    # 1/2 M = 1 - 0.25 and so on
    (array([0. , 1.5]), ['CONSISTENT_WITH_ZERO', 'SOLVED'])
    """
    batch, d = y.shape[:-1], Z.shape[-1]
    Z, y, heard = one_axis(Z, y)
    radii = np.broadcast_to(radius, batch).reshape(-1)
    matrices = np.zeros((len(y), d, d))
    statuses = np.full(len(y), Status.CONSISTENT_WITH_ZERO, dtype=object)
    left: BoolArray = np.greater(np.abs(y).sum(axis=-1, where=heard), radii)
    for route in ROUTES:
        for runs, data in alike(Z, y, heard, left, route):
            found, optimal = least_traces(data, radii[runs], route)
            done = runs[optimal]
            matrices[done], statuses[done], left[done] = found[optimal], Status.SOLVED, False
    for run in np.flatnonzero(left):
        estimate = trace_min(Z[run][heard[run]], y[run][heard[run]], radii[run])
        matrices[run], statuses[run] = estimate.matrix, estimate.status
    return matrices.reshape(*batch, d, d), statuses.reshape(batch)


@quiet
def smallest_radii(Z: Array, y: Array) -> Array:
    """The residual of :func:`soqo.psd_least_absolute_deviations` for each run of a batch, shape (*batch,), to 2e-5 of it or
    1e-8 of a mean reading.

    Z and y are as in :func:`trace_min_runs`. It is the residual of a matrix, and so never less than the least.

    Examples
    --------
    >>> smallest_radii(np.ones((1, 4, 1)), np.array([[1.0, 1.0, np.nan, 4.0]])).round(6)
    array([3.])
    """
    batch = y.shape[:-1]
    Z, y, heard = one_axis(Z, y)
    result = np.zeros(len(y))
    left: BoolArray = np.logical_or.reduce(heard, axis=-1)
    # The floor is for exact readings, whose smallest radius is zero.
    floor = GAP_TOLERANCE / RADIUS_TOLERANCE
    for route in ROUTES:
        for runs, data in alike(Z, y, heard, left, route):
            points = interior_points(data, L1Price(MANY, floor), TOLERANCE, RADIUS_TOLERANCE, route)
            done = runs[points.converged]
            result[done] = data.residuals(data.matrices(points))[points.converged]
            left[done] = False
    for run in np.flatnonzero(left):
        result[run] = psd_least_absolute_deviations(Z[run][heard[run]], y[run][heard[run]]).residual
    return result.reshape(batch)


@dataclass(frozen=True, eq=False)
class Runs:
    """The data of runs that have equally many readings, Z (runs, m, d) and y (runs, m), and their units, (runs, 1)."""

    Z: Array
    y: Array
    unit_z: Array
    unit_y: Array

    @classmethod
    def of(cls, Z: Array, y: Array) -> Runs:
        """Find the units."""
        unit_z = np.sqrt(np.square(Z).mean(axis=(-2, -1)))[:, None]
        return cls(Z, y, unit_z, np.abs(y).mean(axis=-1, keepdims=True))

    def matrices(self, points: Points) -> Array:
        """What the points are in the data's units."""
        X = np.matmul(points.factors, points.factors.mT)
        return np.asarray((0.5 * self.unit_y / self.unit_z**2)[..., None] * (X + X.mT))

    def residuals(self, matrices: Array) -> Array:
        """The l1 norm of the misfit, shape (runs,)."""
        return np.asarray(np.abs(self.y - measure(self.Z, matrices)).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Points:
    """Where runs have come to, X = factor factor'; zero where they have not converged."""

    factors: Array
    multipliers: Array
    converged: BoolArray


def one_axis(Z: Array, y: Array) -> tuple[Array, Array, BoolArray]:
    """The data with a single axis of runs, and which readings there are."""
    Z, y = Z.reshape(-1, *Z.shape[-2:]), y.reshape(-1, y.shape[-1])
    return Z, y, ~np.isnan(y)


def alike(
    Z: Array, y: Array, heard: BoolArray, wanted: BoolArray, route: Route
) -> Iterator[tuple[npt.NDArray[np.intp], Runs]]:
    """The wanted runs in groups of equally many readings: their numbers, and the readings that there are.

    Left out are runs whose Z is not surely of full rank, runs so long that they have no time to gain, and those that a
    route is not for.
    """
    counts, unknowns = heard.sum(axis=-1), Z.shape[-1] * (Z.shape[-1] + 1) / 2
    for count in np.unique(counts[wanted & (counts <= SMALL)]):
        if count < route.least * unknowns:
            continue
        together = max(1, MOST_ENTRIES // int(count) ** 2)
        members = np.flatnonzero(wanted & (counts == count))
        for first in range(0, members.size, together):
            runs = members[first : first + together]
            chosen = heard[runs]
            rows = Z[runs][chosen].reshape(runs.size, count, -1)
            readings = y[runs][chosen].reshape(runs.size, count)
            lowest, highest = MANY.extremes(np.matmul(rows.mT, rows))
            suited = (lowest > SURELY_FULL * highest)[:, 0] & readings.any(axis=-1)
            if suited.any():
                yield runs[suited], Runs.of(rows[suited], readings[suited])


def least_traces(data: Runs, radius: Array, route: Route) -> tuple[Array, BoolArray]:
    """The matrices of least trace within the radii, and which of them are proven to be that."""
    total = np.abs(data.y).sum(axis=-1)
    kept = np.maximum(radius, TOLERANCE * total)
    inside = margin(MANY, kept, total)
    ball = L1Ball(MANY, ((1.0 - inside) * kept)[:, None] / data.unit_y)
    points = interior_points(data, ball, inside[:, None], TRACE_TOLERANCE, route)
    matrices = data.matrices(points)
    multipliers = points.multipliers / data.unit_z**2
    dual = proven_trace(MANY, data.Z, data.y, kept[:, None], multipliers)[:, 0]
    trace = matrices.trace(axis1=-2, axis2=-1)
    optimal = is_optimal(trace, dual, data.residuals(matrices), kept, total)
    return matrices, points.converged & optimal


def interior_points(data: Runs, residual: L1Price, tolerance: Number, gap_tolerance: float, route: Route) -> Points:
    """:func:`soqo.estimators.sdp._interior_point.interior_point` for all runs at once."""
    count, m, d = data.Z.shape
    found = Points(np.zeros((count, d, d)), np.zeros((count, m)), np.zeros(count, dtype=np.bool_))
    program = Program(data.Z / data.unit_z[..., None], data.y / data.unit_y, residual)
    G, values = program.scaling
    at, runs = program.multipliers, np.arange(count)
    tolerance = np.broadcast_to(tolerance, (count, 1))
    reducible = m >= REDUCIBLE * d * (d + 1) / 2
    for iteration in range(MOST_STEPS):
        ZG, fitted, off, primal, dual, violation = program.survey(G, values, at)
        done = close(primal, dual, residual.floor, gap_tolerance) & (violation <= tolerance)
        leaves = done | ~(dual <= UNBOUNDED) | np.isnan(values[:, :1])
        if leaves.any():
            done, stays = done[:, 0], ~leaves[:, 0]
            found.factors[runs[done]] = (G * np.sqrt(values)[:, None, :])[done]
            found.multipliers[runs[done]] = at[done]
            found.converged[runs[done]] = True
            if not stays.any():
                break
            program.keep(stays)
            residual.keep(stays)
            G, values, at, runs = G[stays], values[stays], at[stays], runs[stays]
            ZG, fitted, off = ZG[stays], fitted[stays], off[stays]
            tolerance = tolerance[stays]
        system = ZG, *residual.prepare(), *residual.prediction(program.y)
        if reducible and iteration < route.reduced:
            solved = reduced_solver(MANY, *system, refinements=route.refinements)
        else:
            solved = program.full_solver(*system)
        step = program.step(ZG, values, fitted, off, solved)
        *_, change, primal, dual = step
        G, values = program.moved(G, values, step)
        residual.move(primal, dual)
        at = at + dual * change
        values = np.where(np.minimum(primal, dual) > SHORTEST, values, np.nan)
    return found
