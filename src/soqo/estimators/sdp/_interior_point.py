"""The engine of the semidefinite estimators: a primal-dual interior point that uses rank-1 data.

All of them fit a positive semi-definite X to readings, measure(Z, X) + r = y, and price X and the residual r:

    minimize  <C, X> + price(r);    dual:  S = C - adjoint(lambda) PSD, lambda in the domain of the price's conjugate.

`Residual` says what the price is; here is what they share. With Nesterov-Todd scaling W = G G' (G takes both X and S to
the same diagonal matrix), the Schur complement of the semidefinite block is 1/4 (Z W Z') o (Z W Z'), elementwise, which
costs O(m^2 d) to form. The residual adds a positive diagonal and at most one border (`_schur`).

Z enters as sqrt(1/2) Z, so that readings are sums of squares without a factor, and every array that can be had from
another is: for small problems the time is that of the calls, not of the arithmetic. The formulas serve one program and
a batch of them alike (`_arithmetic`); `interior_point` is the loop for one.

The dual point is feasible up to round-off all the way; whoever wants a proof makes it so to the last digit
(`trace_bound`). Directions are Mehrotra's predictor and corrector; see Todd, Toh and Tutuncu, "On the Nesterov-Todd
direction in semidefinite programming" (1998), for the scaling.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from soqo.errors import ArgumentError
from soqo.estimators.sdp._arithmetic import Number, One
from soqo.estimators.sdp._reduced import reduced_solver
from soqo.estimators.sdp._schur import Border, Solution, Solve, Solved
from soqo.estimators.sdp._starting_point import starting_point
from soqo.typing import Array, BoolArray

__all__ = ["Iterate", "Program", "Residual", "interior_point"]

Step = tuple[Array, Array, Array, Number, Number]
"""The scaled moves of X and -S, the change of the multipliers, the lengths of the primal and the dual step."""

Survey = tuple[Array, Array, Array, Number, Number, Number]

Way = Callable[[Array, Array, Border, Array, Number], Solved | None]

PATIENCE = 15
"""Iterations without a point that is half as bad after which round-off has won."""

SMALL = 400
"""Up to so many readings a factor of order m is quick enough, and it is the more exact one."""

SHORTEST = 1e-8
"""A step below this is none."""

UNBOUNDED = 1e50
"""A dual value above this, for data of the order of one, means that there is no solution."""


class Residual(ABC):
    """The price of the residual r = y - measure(Z, X), and the variables that stand for it."""

    joint_steps = False
    """Whether the primal and the dual step must be of one length, because a variable belongs to both sides."""

    floor = 1.0
    """What the gap may be compared with where the values themselves are zero."""

    pairs = 0
    """How many pairs of variables there are whose products go to zero."""

    steepest: tuple[Number, Number] = (0.0, 0.0)
    """The smallest relative change of a positive variable in the last direction, primal and dual."""

    def __init__(self, kind: One) -> None:
        self.kind = kind

    def scale(self, y: Array) -> Number:
        """What a violation of the equations is measured against."""
        return self.kind.absolute_sum(y)

    @abstractmethod
    def start(self, y: Array, fitted: Array, level: Number, even: Array) -> tuple[Array, float]:
        """Set the variables for residual y - fitted; the first lambda, and the weight C of the trace.

        ``level`` is the mean eigenvalue of X, ``even`` are multipliers whose adjoint is about the identity.
        """

    @abstractmethod
    def prepare(self) -> tuple[Array, Border]:
        """What the residual adds to the diagonal of the Schur complement, and its border, if it has one."""

    @abstractmethod
    def prediction(self, y: Array) -> tuple[Array, Number]:
        """The right-hand side, of the equations and of the border, of the direction that makes for the optimum."""

    @abstractmethod
    def predict(self, change: Array, border_change: Number) -> None:
        """Keep the residual's own part of that direction, given what was solved for."""

    @abstractmethod
    def correct(self, solve: Solve, rhs: Array, center: Number) -> tuple[Array, Array]:
        """d lambda and -dS of the direction that aims at products of this size, with what the prediction left out.

        ``rhs`` is that of the equations measure(X) + r = y, without the residual's own part.
        """

    @abstractmethod
    def products(self) -> Number:
        """The sum of products of the residual's own pairs."""

    @abstractmethod
    def predicted_products(self, products: Number, primal: Number, dual: Number) -> Number:
        """The same after a step along the prediction, given what it is now."""

    @abstractmethod
    def move(self, primal: Number, dual: Number) -> None:
        """Take the step."""

    @abstractmethod
    def residual(self) -> Array:
        """r, as the variables have it."""

    @abstractmethod
    def values(self, trace: Number, y: Array, multipliers: Array) -> tuple[Number, Number, Number]:
        """Primal value, dual value, and the violation of constraints that are the residual's own."""


@dataclass
class Iterate:
    """Where the method stands: X = G diag(values) G', S = inv(G)' diag(values) inv(G)."""

    G: Array
    values: Array
    multipliers: Array
    primal: float = math.inf
    dual: float = -math.inf
    violation: float = math.inf
    iterations: int = 0
    converged: bool = False
    log: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def X(self) -> Array:
        """The matrix."""
        factor = self.G * np.sqrt(self.values)
        return factor @ factor.T

    @property
    def gap(self) -> float:
        """Primal minus dual value."""
        return self.primal - self.dual


class Program:
    """One program or a batch of them, Z (..., m, d) and y (..., m), and the formulas of an iteration."""

    def __init__(self, Z: Array, y: Array, residual: Residual) -> None:
        self.half, self.y, self.residual, self.kind = math.sqrt(0.5) * Z, y, residual, residual.kind
        self.size = residual.scale(y)
        self.dim = Z.shape[-1]
        X, even = starting_point(self.kind, Z, y)
        level = self.kind.total(X.diagonal(axis1=-2, axis2=-1)) / self.dim
        fitted = np.vecdot(self.kind.product(self.half, X), self.half)
        self.multipliers, self.weight = residual.start(y, fitted, level, even)
        identity = np.eye(self.dim)
        S = self.weight * identity - self.kind.weighted_gram(self.half, self.multipliers)
        self.scaling = self.rescaled(identity, X, S)

    def keep(self, runs: BoolArray) -> None:
        """Of a batch, go on with these runs."""
        self.half, self.y, self.size = self.half[runs], self.y[runs], self.size[runs]

    def survey(self, G: Array, values: Array, multipliers: Array) -> Survey:
        """Where a point stands: Z G, its readings, by how much they miss, primal and dual value, violation."""
        kind, residual = self.kind, self.residual
        ZG = kind.product(self.half, G)
        fitted = kind.applied(ZG * ZG, values)
        off = self.y - fitted - residual.residual()
        trace = self.weight * kind.absolute_sum(kind.applied(G * G, values))
        primal, dual, violation = residual.values(trace, self.y, multipliers)
        violation = kind.most(violation, kind.absolute_sum(off)) / self.size
        return ZG, fitted, off, primal, dual, violation

    def full_solver(self, ZG: Array, diagonal: Array, border: Border, b: Array, g: Number) -> Any:
        """What is `Solved` by a factor of order m; None where one program has none."""
        kind = self.kind
        if border is None:
            found = kind.factored(ZG, diagonal, b[..., None, :])
            if found is None:
                return None
            first, inverse = found

            def plain(x: Array) -> Solution:
                return x, 0.0, kind.weighted_gram(ZG, x)

            return plain(first[..., 0, :]), lambda b, _: plain(inverse(b))
        c, f = border
        found = kind.factored(ZG, diagonal, kind.stack(b, c))
        if found is None:
            return None
        first, inverse = found
        along = first[..., 1, :]
        corner = f + kind.dot(c, c / diagonal - along)

        def finished(x: Array, g: Number) -> Solution:
            t = (g - kind.dot(c, x)) / corner
            x = x - along * t
            return x, t, kind.weighted_gram(ZG, x)

        return finished(first[..., 0, :], g), lambda b, g: finished(inverse(b), g)

    def step(self, ZG: Array, values: Array, fitted: Array, off: Array, solved: Solved) -> Step:
        """The next step: a prediction, and with what it tells a correction.

        Both directions have dX + dS = T in scaled coordinates, where X and S are diag(values): the predictor's T is
        -diag(values), so that all it needs of dX follows from dS.
        """
        kind, residual = self.kind, self.residual
        products, pairs = residual.products(), self.dim + residual.pairs
        square = kind.dot(values, values)
        mu = (square + products) / pairs
        scale = kind.outer(np.sqrt(values))

        (change, border_change, less), solve = solved  # the matrix is -dS
        residual.predict(change, border_change)
        lowest, highest = kind.extremes(less / scale)
        primal, dual = self.lengths(lowest - 1.0, -highest, 1.0)
        along = kind.dot(change, fitted)  # -<diag(values), dS>
        affine = square + (primal - dual) * along - primal * square
        affine = affine + primal * dual * (along - kind.inner(less, less))
        affine = affine + residual.predicted_products(products, primal, dual)
        shorter = kind.least(primal, dual)
        left = kind.most(kind.least(affine / (pairs * mu), 1.0), 0.0)
        center = mu * kind.most(left ** kind.most(2.2 * shorter, 1.0), 1e-6)

        # -(dX dS + dS dX) of the predictor, with dX = -diag(values) - dS, and what brings the products to the center.
        T = kind.plus(center - values * values, kind.product(less, less))
        T /= kind.means(values)
        T -= less
        rhs = off - np.vecdot(kind.product(ZG, T), ZG)
        change, less = residual.correct(solve, rhs, center)
        T += less
        lowest_X, highest_S = kind.extremes(T / scale)[0], kind.extremes(less / scale)[1]
        return T, less, change, *self.lengths(lowest_X, -highest_S, 0.9 + 0.098 * shorter)

    def lengths(self, lowest_X: Number, lowest_S: Number, share: Number) -> tuple[Number, Number]:
        """The longest steps, up to a share of the way to the boundary and to one; I + t dX has eigenvalues 1 + t ...

        A change that is not a number comes out as a length that is none.
        """
        least, most = self.kind.least, self.kind.most
        steepest_primal, steepest_dual = self.residual.steepest
        primal = share / most(-least(steepest_primal, lowest_X), share)
        dual = share / most(-least(steepest_dual, lowest_S), share)
        if self.residual.joint_steps:
            primal = dual = least(primal, dual)
        return primal, dual

    def rescaled(self, G: Array, X: Array, S: Array) -> Any:
        """The next G and values, from X and S in the coordinates of the last ones; None if one of them is not positive
        definite (in a batch, NaN for the runs where it is not).

        With X = R R' and R' S R = V diag(values^2) V', the new G is G R V values^{-1/2}. In the coordinates of the last
        scaling both are far from singular, so that squares do no harm; going on from factors, not from X and S
        themselves, keeps digits that those have lost once they are nearly singular.
        """
        kind = self.kind
        R = kind.root(X)
        if R is None:
            return None
        found = kind.spectrum(kind.product(R.mT, kind.product(S, R)))
        if found is None:
            return None
        squares, V = found
        values = np.sqrt(squares)
        return kind.product(kind.product(G, R), V) / np.sqrt(values)[..., None, :], values

    def moved(self, G: Array, values: Array, step: Step) -> Any:
        """G and values after a step, as in :meth:`rescaled`; round-off may have brought X or S to the boundary."""
        dX, less, _, primal, dual = step
        kind = self.kind
        X, S = kind.times(primal, dX), kind.times(-dual, less)
        return self.rescaled(G, kind.plus(values, X), kind.plus(values, S))


def interior_point(
    Z: Array,
    y: Array,
    residual: Residual,
    *,
    gap_tolerance: float,
    tolerance: float,
    most_iterations: int,
) -> Iterate:
    """Solve one program; Z must have full column rank, and both Z and y be of the order of one.

    Parameters
    ----------
    Z : Array, shape (m, d)
    y : Array, shape (m,)
    residual : Residual
    gap_tolerance, tolerance
        On the gap, relative to the values and the residual's floor, and on the violation of equations, relative to the
        residual's scale.

    Returns
    -------
    Iterate
        The solution, or the best point where ``converged`` is False.
    """
    m, d = Z.shape
    program = Program(Z, y, residual)
    if program.scaling is None:
        raise ArgumentError("Z must have full column rank, got one that has not")
    G, values = program.scaling
    at = best = Iterate(G, values, program.multipliers)
    least, halved, since = math.inf, math.inf, 0
    ways: list[Way] = [program.full_solver]
    if m > max(SMALL, 3 * d * (d + 1) // 4):
        ways = [partial(reduced_solver, program.kind, refinements=2), program.full_solver]
    for _ in range(most_iterations):
        here = program.survey(at.G, at.values, at.multipliers)
        ZG, fitted, off, at.primal, at.dual, at.violation = here
        at.log.append((at.primal, at.dual, at.violation))
        bad = badness(at.primal, at.dual, at.violation)
        if bad < 0.5 * halved:
            halved, since = bad, at.iterations
        if bad < least:
            best, least = at, bad
        if close(at.primal, at.dual, residual.floor, gap_tolerance) and at.violation <= tolerance:
            at.converged = True
            return at
        if at.iterations - since > PATIENCE or at.dual > UNBOUNDED:
            break
        step = None
        while ways:
            solved = ways[0](ZG, *residual.prepare(), *residual.prediction(y))
            step = solved and program.step(ZG, at.values, fitted, off, solved)
            if step and min(step[-2:]) > (0.05 if len(ways) > 1 else SHORTEST):
                break
            step = None
            ways = ways[1:]  # out of digits: a slower way with more of them
        if not step:
            break
        scaling = program.moved(at.G, at.values, step)
        if scaling is None:
            break  # round-off has brought X or S to the boundary: nothing better is to be had
        *_, change, primal, dual = step
        residual.move(primal, dual)
        G, values = scaling
        moved = at.multipliers + dual * change
        at = Iterate(G, values, moved, iterations=at.iterations + 1, log=at.log)
    return best


def close(primal: Number, dual: Number, floor: float, tolerance: float) -> Any:
    """Whether the gap is small beside the values."""
    return abs(primal - dual) <= tolerance * (floor + abs(primal) + abs(dual))


def badness(primal: Number, dual: Number, violation: Number) -> Number:
    """What to compare points by that are no solutions yet."""
    return violation + abs(primal - dual) / (1.0 + abs(primal) + abs(dual))
