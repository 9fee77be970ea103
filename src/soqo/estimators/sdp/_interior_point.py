"""The interior-point method of the semidefinite estimators, primal-dual and for rank-1 data.

All estimators fit a positive semi-definite X to readings, measure(Z, X) + r = y, and minimize a cost of X and of the
residual r:

    minimize  <C, X> + loss(r);    dual:  S = C - adjoint(lambda) PSD, lambda in the domain of the loss's conjugate.

`Loss` is the part that differs. With Nesterov-Todd scaling W = G G' (`_nesterov_todd`), the Schur complement of the
semidefinite block is 1/4 (Z W Z') o (Z W Z'), elementwise, which costs O(m^2 d) to form. The loss adds a positive
diagonal and at most one border (`_newton_system`). Directions are Mehrotra's predictor and corrector.

Z is multiplied by sqrt(1/2), so that readings are sums of squares without a factor. Arrays are derived from each other
where possible: small problems take the time of the calls, not of the arithmetic. The formulas of `Program` serve a
single program and a batch (`_arithmetic`); `interior_point` is the loop for a single one.

The dual point stays feasible up to round-off; the bounds that prove an estimate remove the rest (`trace_bound`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from soqo.errors import ArgumentError
from soqo.estimators._nesterov_todd import scaling_from_spectrum, step_length
from soqo.estimators.sdp._arithmetic import Scalar, SingleArithmetic
from soqo.estimators.sdp._newton_system import Border, Solve, SolvedSystem, dense_solver, woodbury_solver
from soqo.estimators.sdp._starting_point import starting_point
from soqo.typing import Array, BoolArray

_Evaluation = tuple[Array, Array, Array, Scalar, Scalar, Scalar]
"""Z G, the fitted readings, the defect of the equations, the primal and the dual value, the violation."""

_Scaling = tuple[Array, Array]
"""G and the diagonal of X and S in its coordinates."""

_Step = tuple[Array, Array, Array, Scalar, Scalar]
"""The scaled dX and -dS, the change of the multipliers, the lengths of the primal and the dual step."""

_MAX_ITERATIONS = 80

_PATIENCE = 15
"""Stop after this many iterations without halving the merit function: round-off dominates."""

_SHORT_PATIENCE = 2
"""The same if the tolerances are met up to the lenience of the loss."""

MAX_DENSE_READINGS = 400
"""Up to this number of readings a factor of order m is fast enough, and it is the more accurate one."""

MIN_STEP = 1e-8
"""Stop at steps shorter than this."""

_MIN_WOODBURY_STEP = 0.05
"""A step of the Woodbury solver that is shorter than this means that it has lost too many digits."""

MAX_DUAL = 1e50
"""A dual value above this, for data of the order of one, means that there is no solution."""


class Loss(ABC):
    """The cost of the residual r = y - measure(Z, X), and the variables that represent it."""

    joint_steps = False
    """Whether the primal and the dual step must have the same length, because a variable belongs to both sides."""

    floor = 1.0
    """The scale of the gap when the values themselves are zero."""

    lenience = 10.0
    """A gap and a violation of the equations of this many tolerances are accepted if round-off prevents smaller ones:
    they change the residual, which is the objective, by as little."""

    pairs = 0
    """The number of complementary pairs of variables."""

    min_relative_changes: tuple[Scalar, Scalar] = (0.0, 0.0)
    """The smallest relative change of a positive variable in the last direction, primal and dual."""

    def __init__(self, ops: SingleArithmetic) -> None:
        self.ops = ops

    def scale(self, y: Array) -> Scalar:
        """Return the scale of a violation of the equations."""
        return self.ops.l1_norm(y)

    @abstractmethod
    def start(self, y: Array, fitted: Array, mean_eigenvalue: Scalar, multipliers: Array) -> tuple[Array, float]:
        """Set the variables for the residual y - fitted; return the first lambda and the weight C of the trace.

        The mean eigenvalue is that of X. The adjoint of the given multipliers is about the identity.
        """

    @abstractmethod
    def schur_terms(self) -> tuple[Array, Border]:
        """Return the diagonal and the border that the loss adds to the Schur complement."""

    @abstractmethod
    def predictor_rhs(self, y: Array) -> tuple[Array, Scalar]:
        """Return the right-hand sides of the equations and of the border for the predictor."""

    @abstractmethod
    def record_predictor(self, change: Array, border_change: Scalar) -> None:
        """Store the loss's own part of the predictor, given the solution of its system."""

    @abstractmethod
    def corrector(self, solve: Solve, rhs: Array, center: Scalar) -> tuple[Array, Array]:
        """Return d lambda and -dS of the corrector, which aims at products of size ``center``.

        ``rhs`` is that of the equations measure(X) + r = y, without the loss's own part.
        """

    def complementarity(self) -> Scalar:
        """Return the sum of products of the loss's own pairs."""
        return 0.0

    def predicted_complementarity(self, products: Scalar, primal: Scalar, dual: Scalar) -> Scalar:
        """Return the same sum after a step along the predictor, given the current one."""
        return 0.0

    @abstractmethod
    def advance(self, primal: Scalar, dual: Scalar) -> None:
        """Take the step."""

    @abstractmethod
    def residual(self) -> Array:
        """Return r as the variables represent it."""

    @abstractmethod
    def values(self, trace: Scalar, y: Array, multipliers: Array) -> tuple[Scalar, Scalar, Scalar]:
        """Return the primal value, the dual value, and the violation of the loss's own constraints."""


@dataclass
class Iterate:
    """A point of the method: X = G diag(values) G', S = inv(G)' diag(values) inv(G)."""

    G: Array
    values: Array
    multipliers: Array
    primal: float = math.inf
    dual: float = -math.inf
    violation: float = math.inf
    iterations: int = 0
    converged: bool = False
    history: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def factor(self) -> Array:
        """A factor F of the primal matrix X = F F'."""
        return np.asarray(self.G * np.sqrt(self.values))

    @property
    def X(self) -> Array:
        """The primal matrix."""
        return self.factor @ self.factor.T


class Program:
    """One program or a batch of them, Z (..., m, d) and y (..., m), and the formulas of an iteration."""

    def __init__(self, Z: Array, y: Array, loss: Loss) -> None:
        ops = loss.ops
        self.half, self.y, self.loss, self.ops = math.sqrt(0.5) * Z, y, loss, ops
        self.size = loss.scale(y)
        self.dim = Z.shape[-1]
        X, multipliers = starting_point(ops, Z, y)
        mean_eigenvalue = ops.sum(X.diagonal(axis1=-2, axis2=-1)) / self.dim
        fitted = np.vecdot(ops.matmul(self.half, X), self.half)
        self.multipliers, self.weight = loss.start(y, fitted, mean_eigenvalue, multipliers)
        identity = np.eye(self.dim)
        S = self.weight * identity - ops.weighted_gram(self.half, self.multipliers)
        self.initial_scaling = self._rescale(identity, X, S)

    def select(self, runs: BoolArray) -> None:
        """Restrict a batch to some of its runs."""
        self.half, self.y, self.size = self.half[runs], self.y[runs], self.size[runs]

    def evaluate(self, G: Array, values: Array, multipliers: Array) -> _Evaluation:
        """Evaluate the equations and the objectives at a point."""
        ops, loss = self.ops, self.loss
        ZG = ops.matmul(self.half, G)
        fitted = ops.matvec(ZG * ZG, values)
        defect = self.y - fitted - loss.residual()
        trace = self.weight * ops.sum(ops.matvec(G * G, values))
        primal, dual, violation = loss.values(trace, self.y, multipliers)
        violation = ops.maximum(violation, ops.l1_norm(defect)) / self.size
        return ZG, fitted, defect, primal, dual, violation

    def step(self, ZG: Array, values: Array, fitted: Array, defect: Array, solved: SolvedSystem) -> _Step:
        """Return the next step: a predictor, and a corrector that uses its second-order terms.

        Both directions satisfy dX + dS = T in scaled coordinates, in which X and S are diag(values). The predictor has
        T = -diag(values), so that its dX follows from dS.
        """
        ops, loss = self.ops, self.loss
        products, pairs = loss.complementarity(), self.dim + loss.pairs
        square = ops.dot(values, values)
        mu = (square + products) / pairs
        scale = ops.outer(np.sqrt(values))

        (change, border_change, minus_dS), solve = solved
        loss.record_predictor(change, border_change)
        lowest, highest = ops.extreme_eigenvalues(minus_dS / scale)
        primal, dual = self._step_lengths(lowest - 1.0, -highest, 1.0)
        along = ops.dot(change, fitted)  # -<diag(values), dS>
        affine = square + (primal - dual) * along - primal * square
        affine = affine + primal * dual * (along - ops.inner(minus_dS, minus_dS))
        affine = affine + loss.predicted_complementarity(products, primal, dual)
        shorter = ops.minimum(primal, dual)
        left = ops.maximum(ops.minimum(affine / (pairs * mu), 1.0), 0.0)
        center = mu * ops.maximum(left ** ops.maximum(2.2 * shorter, 1.0), 1e-6)

        # -(dX dS + dS dX) of the predictor with dX = -diag(values) - dS, and the terms that center the products.
        T = ops.add_to_diagonal(center - values * values, ops.matmul(minus_dS, minus_dS))
        T /= ops.pairwise_means(values)
        T -= minus_dS
        rhs = defect - np.vecdot(ops.matmul(ZG, T), ZG)
        change, minus_dS = loss.corrector(solve, rhs, center)
        T += minus_dS
        lowest_X, highest_S = ops.extreme_eigenvalues(T / scale)[0], ops.extreme_eigenvalues(minus_dS / scale)[1]
        return T, minus_dS, change, *self._step_lengths(lowest_X, -highest_S, 0.9 + 0.098 * shorter)

    def _step_lengths(self, lowest_X: Scalar, lowest_S: Scalar, share: Scalar) -> tuple[Scalar, Scalar]:
        """Return the primal and the dual step length, given the smallest eigenvalues of the directions."""
        minimum, maximum = self.ops.minimum, self.ops.maximum
        lowest_primal, lowest_dual = self.loss.min_relative_changes
        primal = step_length(minimum(lowest_primal, lowest_X), share, maximum)
        dual = step_length(minimum(lowest_dual, lowest_S), share, maximum)
        if self.loss.joint_steps:
            primal = dual = minimum(primal, dual)
        return primal, dual

    def advance(self, G: Array, values: Array, step: _Step) -> _Scaling | None:
        """Return G and the diagonal after a step; None if round-off has moved X or S out of the cone.

        In a batch, NaN marks the runs where it has.
        """
        dX, minus_dS, _, primal, dual = step
        ops = self.ops
        X, S = ops.scale_matrix(primal, dX), ops.scale_matrix(-dual, minus_dS)
        return self._rescale(G, ops.add_to_diagonal(values, X), ops.add_to_diagonal(values, S))

    def _rescale(self, G: Array, X: Array, S: Array) -> _Scaling | None:
        """Return the next G and diagonal, given X and S in the coordinates of the last G."""
        ops = self.ops
        R = ops.square_root(X)
        if R is None:
            return None
        spectrum = ops.positive_eigh(ops.matmul(R.mT, ops.matmul(S, R)))
        if spectrum is None:
            return None
        squares, V = spectrum
        return scaling_from_spectrum(ops.matmul(ops.matmul(G, R), V), squares)


def interior_point(Z: Array, y: Array, loss: Loss, *, gap_tolerance: float, tolerance: float) -> Iterate:
    """Solve one program.

    Parameters
    ----------
    Z : Array, shape (m, d)
        Measurements of full column rank, of the order of one.
    y : Array, shape (m,)
        Readings of the order of one.
    loss : Loss
        The cost of the residual.
    gap_tolerance : float
        The tolerance of the gap, relative to the values and the loss's floor.
    tolerance : float
        The tolerance of the violation of equations, relative to the loss's scale.

    Returns
    -------
    Iterate
        The solution, or the best point if ``converged`` is False.
    """
    program = Program(Z, y, loss)
    if program.initial_scaling is None:
        raise ArgumentError(f"Z must have full column rank, got a matrix of shape {Z.shape} that is rank deficient")
    point = best = Iterate(*program.initial_scaling, program.multipliers)
    min_merit, halved_merit, halved_at = math.inf, math.inf, 0
    solvers: list[Any] = [dense_solver]
    m, d = Z.shape
    if m > max(MAX_DENSE_READINGS, 3 * d * (d + 1) // 4):
        solvers = [partial(woodbury_solver, refinements=2), dense_solver]
    for _ in range(_MAX_ITERATIONS):
        evaluation = program.evaluate(point.G, point.values, point.multipliers)
        *_, primal, dual, violation = evaluation
        point.primal, point.dual, point.violation = primal, dual, violation
        point.history.append((primal, dual, violation))
        merit = violation + abs(primal - dual) / (1.0 + abs(primal) + abs(dual))
        if merit < 0.5 * halved_merit:
            halved_merit, halved_at = merit, point.iterations
        if merit < min_merit:
            best, min_merit = point, merit
        if is_gap_small(primal, dual, loss.floor, gap_tolerance) and violation <= tolerance:
            point.converged = True
            return point
        idle = point.iterations - halved_at
        if idle > _PATIENCE or dual > MAX_DUAL:
            break
        tolerable = idle > _SHORT_PATIENCE and violation <= loss.lenience * tolerance
        if tolerable and is_gap_small(primal, dual, loss.floor, loss.lenience * gap_tolerance):
            break
        following = _take_step(program, point, evaluation, solvers)
        if following is None:
            break
        point = following
    return best


def _take_step(program: Program, point: Iterate, evaluation: _Evaluation, solvers: list[Any]) -> Iterate | None:
    """Return the next point by the first solver that is accurate enough; None if round-off prevents a step.

    Solvers that are not accurate enough are removed from the list.
    """
    ZG, fitted, defect, *_ = evaluation
    loss = program.loss
    while solvers:
        solved = solvers[0](program.ops, ZG, *loss.schur_terms(), *loss.predictor_rhs(program.y))
        step = solved and program.step(ZG, point.values, fitted, defect, solved)
        if step and min(step[-2:]) > (_MIN_WOODBURY_STEP if len(solvers) > 1 else MIN_STEP):
            scaling = program.advance(point.G, point.values, step)
            if scaling is None:
                return None
            *_, change, primal, dual = step
            loss.advance(primal, dual)
            multipliers = point.multipliers + dual * change
            return Iterate(*scaling, multipliers, iterations=point.iterations + 1, history=point.history)
        del solvers[0]
    return None


def is_gap_small(primal: Scalar, dual: Scalar, floor: float, tolerance: float) -> Any:
    """Return whether the gap is small relative to the values."""
    return abs(primal - dual) <= tolerance * (floor + abs(primal) + abs(dual))
