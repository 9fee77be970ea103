"""The engine of the semidefinite estimators: a primal-dual interior point that uses rank-1 data.

All of them fit a positive semi-definite X to readings, measure(Z, X) + r = y, and price X and the residual r:

    minimize  <C, X> + price(r);    dual:  S = C - adjoint(lambda) PSD, lambda in the domain of the price's conjugate.

`Residual` says what the price is; here is what they share. With Nesterov-Todd scaling W = G G' (G takes both X and S to
the same diagonal matrix), the Schur complement of the semidefinite block is 1/4 (Z W Z') o (Z W Z'), elementwise, which
costs O(m^2 d) to form. The residual adds a positive diagonal and at most one border. Where m exceeds d(d+1)/2, the same
matrix is B B' + diagonal with B = svec_rows(Z G), and the Woodbury identity moves the work to d(d+1)/2 unknowns.

Z enters as sqrt(1/2) Z, so that readings are sums of squares without a factor, and every array that can be had from
another is: for small problems the time is that of the calls, not of the arithmetic.

The dual point is feasible up to round-off all the way; whoever wants a proof makes it so to the last digit
(`trace_bound`). Directions are Mehrotra's predictor and corrector; see Todd, Toh and Tutuncu, "On the Nesterov-Todd
direction in semidefinite programming" (1998), for the scaling.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import blas, lapack

from soqo.arguments import Array
from soqo.errors import ArgumentError
from soqo.estimators.measurements import adjoint, measure, svec_rows

__all__ = ["Iterate", "Residual", "interior_point"]

Solve = Callable[[Array, float], tuple[Array, float]]
Border = tuple[Array, float] | None
Way = Callable[[Array, Array, Border], Solve | None]

PATIENCE = 15
"""Iterations without a better point after which round-off has won."""

SMALL = 400
"""Up to so many readings a factor of order m is quick enough, and it is the more exact one."""


class Residual(ABC):
    """The price of the residual r = y - measure(Z, X), and the variables that stand for it."""

    joint_steps = False
    """Whether the primal and the dual step must be of one length, because a variable belongs to both sides."""

    floor = 1.0
    """What the gap may be compared with where the values themselves are zero."""

    def scale(self, y: Array) -> float:
        """What a violation of the equations is measured against."""
        return float(np.abs(y).sum())

    @abstractmethod
    def start(self, y: Array, fitted: Array) -> tuple[Array, float]:
        """Set the variables for residual y - fitted; the first lambda, and the weight C of the trace."""

    @abstractmethod
    def prepare(self) -> tuple[Array, Border]:
        """What the residual adds to the diagonal of the Schur complement, and its border (c, f), if it has one.

        The corner of the border is f + sum c^2 / diagonal: f alone keeps the digits that matter.
        """

    @abstractmethod
    def direction(self, solve: Solve, rhs: Array, center: float, second_order: bool) -> Array:
        """d lambda for a right-hand side of the equations measure(X) + r = y; keeps its own direction."""

    @abstractmethod
    def longest(self) -> tuple[float, float]:
        """The longest primal and dual steps that keep the residual's variables positive."""

    @abstractmethod
    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        """The sum of products of the residual's own pairs after a step, and how many pairs there are."""

    @abstractmethod
    def move(self, primal: float, dual: float) -> None:
        """Take the step."""

    @abstractmethod
    def residual(self) -> Array:
        """r, as the variables have it."""

    @abstractmethod
    def values(self, trace: float, y: Array, multipliers: Array) -> tuple[float, float, float]:
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
        product = (self.G * self.values) @ self.G.T
        return np.asarray(0.5 * (product + product.T))

    @property
    def gap(self) -> float:
        """Primal minus dual value."""
        return self.primal - self.dual


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
    size = residual.scale(y)
    identity = np.eye(d)
    X = (2.0 / d) * identity  # whose readings are about one
    multipliers, weight = residual.start(y, measure(Z, X))
    scaling = rescale(identity, X, weight * identity - adjoint(Z, multipliers))
    if scaling is None:
        raise ArgumentError("Z must have full column rank, got one that has not")
    half = math.sqrt(0.5) * Z
    at = best = Iterate(*scaling, multipliers)
    ways: list[Way] = [full_solver]
    if m > max(SMALL, 3 * d * (d + 1) // 4):
        ways = [reduced_solver, full_solver]
    for _ in range(most_iterations):
        ZG = half @ at.G
        fitted = (ZG * ZG) @ at.values
        off = y - fitted - residual.residual()
        trace = weight * float(np.vdot(at.G * at.values, at.G))
        at.primal, at.dual, violation = residual.values(trace, y, at.multipliers)
        at.violation = max(violation, float(np.add.reduce(np.abs(off)))) / size
        at.log.append((at.primal, at.dual, at.violation))
        if badness(at) < badness(best):
            best = at
        close = abs(at.gap) <= gap_tolerance * (residual.floor + abs(at.primal) + abs(at.dual))
        if close and at.violation <= tolerance:
            at.converged = True
            return at
        if at.iterations - best.iterations > PATIENCE:
            break
        step = None
        while ways:
            solve = ways[0](ZG, *residual.prepare())
            step = solve and predictor_corrector(ZG, at.values, fitted, off, residual, solve)
            if step and min(step[-2:]) > (0.05 if len(ways) > 1 else 1e-8):
                break
            step = None
            ways = ways[1:]  # out of digits: a slower way with more of them
        if not step:
            break
        dX, dS, change, primal, dual = step
        scaling = rescale(at.G, plus(at.values, primal * dX), plus(at.values, dual * dS))
        if scaling is None:
            break  # round-off has brought X or S to the boundary: nothing better is to be had
        residual.move(primal, dual)
        moved = at.multipliers + dual * change
        at = Iterate(*scaling, moved, iterations=at.iterations + 1, log=at.log)
    return best


def badness(at: Iterate) -> float:
    """What to compare points by that are no solutions yet."""
    if not math.isfinite(at.primal):
        return math.inf
    return at.violation + abs(at.gap) / (1.0 + abs(at.primal) + abs(at.dual))


def plus(diagonal: Array, matrix: Array) -> Array:
    """Add to the diagonal of a matrix, in place."""
    matrix.reshape(-1)[:: matrix.shape[0] + 1] += diagonal
    return matrix


def rescale(G: Array, X: Array, S: Array) -> tuple[Array, Array] | None:
    """The next scaling, from X and S in the coordinates of the last one; None if one of them is not positive definite.

    With X = R R' and R' S R = V diag(values^2) V', the new G is G R V values^{-1/2}. In the coordinates of the last
    scaling both are far from singular, so that squares do no harm; going on from factors, not from X and S themselves,
    keeps digits that those have lost once they are nearly singular.
    """
    R, fails = lapack.dpotrf(X.T, lower=1, clean=1)
    if fails:
        return None
    squares, V, fails = lapack.dsyevd(R.T @ S @ R, compute_v=1, lower=1)
    if fails or not squares[0] > 0.0:  # NaN is not positive either
        return None
    values = np.sqrt(squares)
    return (G @ (R @ V)) / np.sqrt(values), values


def full_solver(ZG: Array, diagonal: Array, border: Border) -> Solve | None:
    """By a Cholesky factor of order m."""

    def schur() -> Array:
        """The lower triangle of (ZG ZG')^2, elementwise, plus the diagonal; in the order that LAPACK likes."""
        K: Array = blas.dsyrk(1.0, ZG.T, trans=1, lower=1)
        K *= K
        plus(diagonal, K.T)
        return K

    # Early on the matrix is well conditioned: the factor may take its place, for refinement buys nothing.
    refine = float(diagonal.min()) < 1e-6 * float(diagonal.max())
    K = schur()
    factor = cholesky(K, overwrite=not refine)
    if factor is None and not refine:
        K = schur()
        factor = cholesky(K)
    if factor is None:
        return None

    def inverse(b: Array) -> Array:
        x, _ = lapack.dpotrs(factor, b, lower=1)
        if refine:
            correction, _ = lapack.dpotrs(factor, b - blas.dsymv(1.0, K, x, lower=1), lower=1)
            x += correction
        return np.asarray(x)

    if border is None:
        return lambda b, _: (inverse(b), 0.0)
    c, f = border
    along = inverse(c)
    corner = f + float(c @ (c / diagonal - along))

    def solve(b: Array, g: float) -> tuple[Array, float]:
        x = inverse(b)
        t = (g - float(c @ x)) / corner
        return x - along * t, t

    return solve


def reduced_solver(ZG: Array, diagonal: Array, border: Border) -> Solve | None:
    """By a factor of order d(d+1)/2, for w = B'x where B has the rows svec(zg zg').

    The border is eliminated with the diagonal, before B: late in the method it holds one of the directions that
    determine the solution, and the rest alone would be singular.
    """
    B = 2.0 * svec_rows(ZG)
    scaled = B / diagonal[:, None]
    c, f = border if border is not None else (np.zeros(diagonal.size), 1.0)
    c_scaled = c / diagonal
    h = B.T @ c_scaled
    corner = f + float(c @ c_scaled)
    factor = cholesky(plus(np.ones(h.size), B.T @ scaled + np.outer(h, h / f)).T)
    if factor is None:
        return None

    def once(b: Array, g: float, k: Array) -> tuple[Array, float, Array]:
        short = g - float(c_scaled @ b)
        w, _ = lapack.dpotrs(factor, scaled.T @ b - h * (short / f) - k, lower=1)
        t = (short + float(h @ w)) / f
        return (b - c * t - B @ w) / diagonal, t, w

    def solve(b: Array, g: float) -> tuple[Array, float]:
        # Refining x, t and w together, as in a least-squares problem, keeps B'x as exact as w is; refining x alone does
        # not, and S then loses its last digits.
        x, t, w = once(b, g, np.zeros(B.shape[1]))
        for _ in range(2):
            dx, dt, dw = once(
                b - diagonal * x - c * t - B @ w, g - float(c @ x) - corner * t, w - B.T @ x
            )
            x, t, w = x + dx, t + dt, w + dw
        return x, t

    return solve


def cholesky(matrix: Array, overwrite: bool = False) -> Array | None:
    """A Cholesky factor of a matrix in LAPACK's order, or, where round-off has spoiled it, of one with a little more on
    the diagonal, unless the matrix may be overwritten.

    LAPACK is called directly: for the small matrices of a small problem, the checks around it take longer than it does.
    """
    for shift in (0.0,) if overwrite else (0.0, 1e-14, 1e-12, 1e-10):
        shifted = matrix
        if shift:
            shifted = matrix.copy(order="F")
            shifted.T.reshape(-1)[:: matrix.shape[0] + 1] *= 1.0 + shift
        factor, info = lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=overwrite)
        if info == 0:
            return np.asarray(factor)
    return None


def predictor_corrector(
    ZG: Array, values: Array, fitted: Array, off: Array, residual: Residual, solve: Solve
) -> tuple[Array, Array, Array, float, float] | None:
    """The scaled moves of X and S, the change of the multipliers, and the lengths of the primal and the dual step.

    Both directions have dX + dS = T in scaled coordinates, where X and S are diag(values): the predictor's T is
    -diag(values), so that all it needs of dX follows from dS.
    """
    d = values.size
    products, pairs = residual.complementarity()
    square = float(values @ values)
    mu = (square + products) / (d + pairs)
    root = np.sqrt(values)
    scale = root[:, None] * root

    change = residual.direction(solve, off + fitted, 0.0, False)
    if not math.isfinite(float(change @ change)):
        return None
    dS = (ZG.T * -change) @ ZG
    lowest, highest = extreme_eigenvalues(dS / scale)
    primal, dual = lengths(residual, -1.0 - highest, lowest, 1.0)
    along = float(values @ dS.diagonal())
    affine = square + (dual - primal) * along - primal * square
    affine -= primal * dual * (along + float(np.vdot(dS, dS)))
    affine = max(affine + residual.complementarity(primal, dual)[0], 0.0) / (d + pairs)
    exponent = max(1.0, 3.0 * min(primal, dual) ** 2)
    sigma = min(1.0, max((affine / mu) ** exponent, 1e-6))

    # -(dX dS + dS dX) of the predictor, with dX = -diag(values) - dS.
    sums = values[:, None] + values
    T = 2.0 * (dS @ dS) / sums + dS
    plus((sigma * mu - values * values) / values, T)
    rhs = off - np.vecdot(ZG @ T, ZG)
    change = residual.direction(solve, rhs, sigma * mu, True)
    if not math.isfinite(float(change @ change)):
        return None
    dS = (ZG.T * -change) @ ZG
    dX = T - dS
    lowest_X, lowest_S = extreme_eigenvalues(dX / scale)[0], extreme_eigenvalues(dS / scale)[0]
    share = 0.9 + 0.09 * min(primal, dual)
    return dX, dS, change, *lengths(residual, lowest_X, lowest_S, share)


def lengths(
    residual: Residual, lowest_X: float, lowest_S: float, share: float
) -> tuple[float, float]:
    """The longest steps, up to a share of the way to the boundary and to one; I + t dX has eigenvalues 1 + t ..."""
    primal, dual = residual.longest()
    if lowest_X < 0.0:
        primal = min(primal, -1.0 / lowest_X)
    if lowest_S < 0.0:
        dual = min(dual, -1.0 / lowest_S)
    if residual.joint_steps:
        primal = dual = min(primal, dual)
    return min(1.0, share * primal), min(1.0, share * dual)


def extreme_eigenvalues(matrix: Array) -> tuple[float, float]:
    """The smallest and the largest eigenvalue."""
    values, _, info = lapack.dsyevd(matrix, compute_v=0, lower=1)
    return (-math.inf, math.inf) if info else (float(values[0]), float(values[-1]))
