"""The engine of the semidefinite estimators: a primal-dual interior point that uses rank-1 data.

All of them fit a positive semi-definite X to readings, measure(Z, X) + r = y, and price X and the residual r:

    minimize  <C, X> + price(r);    dual:  S = C - adjoint(lambda) PSD, lambda in the domain of the price's conjugate.

`Residual` says what the price is; here is what they share. With Nesterov-Todd scaling W = G G' (G takes both X and S to
the same diagonal matrix), the Schur complement of the semidefinite block is 1/4 (Z W Z') o (Z W Z'), elementwise, which
costs O(m^2 d) to form. The residual adds a positive diagonal and at most one border. Where m exceeds d(d+1)/2, the same
matrix is B B' + diagonal with B = svec_rows(Z G), and the Woodbury identity moves the work to d(d+1)/2 unknowns.

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
from scipy.linalg import lapack

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
        On the gap, relative to 1 + the values, and on the violation of equations, relative to the residual's scale.

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
    at = best = Iterate(*scaling, multipliers)
    ways: list[Way] = [full_solver]
    if m > max(SMALL, 3 * d * (d + 1) // 4):
        ways = [reduced_solver, full_solver]
    for _ in range(most_iterations):
        ZG = Z @ at.G
        off = y - 0.5 * np.square(ZG) @ at.values - residual.residual()
        trace = weight * float(np.square(at.G).sum(axis=0) @ at.values)
        at.primal, at.dual, violation = residual.values(trace, y, at.multipliers)
        at.violation = max(violation, float(np.abs(off).sum())) / size
        at.log.append((at.primal, at.dual, at.violation))
        if badness(at) < badness(best):
            best = at
        close = abs(at.gap) <= gap_tolerance * (1.0 + abs(at.primal) + abs(at.dual))
        if close and at.violation <= tolerance:
            at.converged = True
            return at
        if at.iterations - best.iterations > PATIENCE:
            break
        step = None
        while ways:
            solve = ways[0](ZG, *residual.prepare())
            step = solve and predictor_corrector(ZG, at.values, off, residual, solve)
            if step and min(step[-2:]) > (0.05 if len(ways) > 1 else 1e-8):
                break
            step = None
            ways = ways[1:]  # out of digits: a slower way with more of them
        if not step:
            break
        dX, dS, change, primal, dual = step
        diagonal = np.diag(at.values)
        scaling = rescale(at.G, diagonal + primal * dX, diagonal + dual * dS)
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
    half = math.sqrt(0.5) * ZG
    K = half @ half.T
    K *= K
    K.flat[:: K.shape[0] + 1] += diagonal
    factor = cholesky(K)
    if factor is None:
        return None

    # Early on the matrix is well conditioned, and a step of refinement buys nothing.
    refine = float(diagonal.min()) < 1e-6 * float(diagonal.max())

    def inverse(b: Array) -> Array:
        x = cholesky_solve(factor, b)
        return x + cholesky_solve(factor, b - K @ x) if refine else x

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
    """By a factor of order d(d+1)/2, for w = B'x with B = svec_rows(ZG).

    The border is eliminated with the diagonal, before B: late in the method it holds one of the directions that
    determine the solution, and the rest alone would be singular.
    """
    B = svec_rows(ZG)
    scaled = B / diagonal[:, None]
    c, f = border if border is not None else (np.zeros(diagonal.size), 1.0)
    c_scaled = c / diagonal
    h = B.T @ c_scaled
    corner = f + float(c @ c_scaled)
    inner = B.T @ scaled + np.outer(h, h / f)
    inner.flat[:: inner.shape[0] + 1] += 1.0
    factor = cholesky(inner)
    if factor is None:
        return None

    def once(b: Array, g: float, k: Array) -> tuple[Array, float, Array]:
        short = g - float(c_scaled @ b)
        w = cholesky_solve(factor, scaled.T @ b - h * (short / f) - k)
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


def cholesky(matrix: Array) -> Array | None:
    """A Cholesky factor, of the matrix or, where round-off has spoiled it, with a little more on the diagonal.

    LAPACK is called directly: for the small matrices of a small problem, the checks around it take longer than it does.
    """
    for shift in (0.0, 1e-14, 1e-12, 1e-10):
        shifted = matrix
        if shift:
            shifted = matrix.copy()
            shifted.flat[:: matrix.shape[0] + 1] *= 1.0 + shift
        # The transpose of a symmetric matrix is itself, in the order that LAPACK likes.
        factor, info = lapack.dpotrf(shifted.T, lower=1, clean=0)
        if info == 0:
            return np.asarray(factor)
    return None


def cholesky_solve(factor: Array, b: Array) -> Array:
    """Solve with a factor of :func:`cholesky`."""
    x, _ = lapack.dpotrs(factor, b, lower=1)
    return np.asarray(x)


def predictor_corrector(
    ZG: Array, values: Array, off: Array, residual: Residual, solve: Solve
) -> tuple[Array, Array, Array, float, float] | None:
    """The scaled moves of X and S, the change of the multipliers, and the lengths of the primal and the dual step."""
    d = values.size
    products, pairs = residual.complementarity()
    mu = (float(values @ values) + products) / (d + pairs)

    def direction(T: Array, center: float, second_order: bool) -> tuple[Array, Array, Array]:
        """With T = dX + dS in scaled coordinates: the changes of X, S and lambda."""
        rhs = off - 0.5 * np.vecdot(ZG @ T, ZG)
        change = residual.direction(solve, rhs, center, second_order)
        dS = -adjoint(ZG, change)
        return T - dS, dS, change

    diagonal = np.diag(values)
    dX, dS, change = direction(-diagonal, 0.0, False)
    if not np.isfinite(change).all():
        return None
    primal, dual = lengths(values, dX, dS, residual, 1.0)
    affine = float(np.vdot(diagonal + primal * dX, diagonal + dual * dS))
    affine = max(affine + residual.complementarity(primal, dual)[0], 0.0) / (d + pairs)
    exponent = max(1.0, 3.0 * min(primal, dual) ** 2)
    sigma = min(1.0, max((affine / mu) ** exponent, 1e-6))
    product = dX @ dS
    target = -(product + product.T)
    target.flat[:: d + 1] += 2.0 * (sigma * mu - values * values)
    T = target / (values[:, None] + values)
    dX, dS, change = direction(T, sigma * mu, True)
    if not np.isfinite(change).all():
        return None
    primal, dual = lengths(values, dX, dS, residual, 0.9 + 0.09 * min(primal, dual))
    return dX, dS, change, primal, dual


def lengths(
    values: Array, dX: Array, dS: Array, residual: Residual, share: float
) -> tuple[float, float]:
    """The longest steps, up to a share of the way to the boundary and to one."""
    primal, dual = residual.longest()
    root = np.sqrt(values)
    scale = root[:, None] * root
    primal = min(primal, longest_in_cone(dX / scale))
    dual = min(dual, longest_in_cone(dS / scale))
    if residual.joint_steps:
        primal = dual = min(primal, dual)
    return min(1.0, share * primal), min(1.0, share * dual)


def longest_in_cone(direction: Array) -> float:
    """The largest t for which I + t direction is positive semi-definite."""
    values, _, info = lapack.dsyevd(direction, compute_v=0, lower=1)
    if info:
        return 0.0
    return math.inf if values[0] >= 0.0 else -1.0 / float(values[0])
