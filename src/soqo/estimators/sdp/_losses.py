"""The losses: an l1 ball around the readings, the sum of absolute deviations, and half the sum of squares.

An l1 norm is split into positive parts, r = p - q with p, q >= 0, whose dual slacks are kappa - lambda and kappa +
lambda. For the sum of absolute deviations kappa is 1; for the ball sum(p + q) + s = radius it is the ball's multiplier.
"""

from __future__ import annotations

import numpy as np

from soqo.estimators.sdp._arithmetic import Scalar, SingleArithmetic
from soqo.estimators.sdp._interior_point import Loss
from soqo.estimators.sdp._newton_system import Border, Solve
from soqo.typing import Array, BoolArray

_MIN_IDENTITY_SHARE = 1e-4
"""The smallest share of the identity that S has at the start: far more than the error of the starting multipliers."""


class AbsoluteLoss(Loss):
    """The loss sum |r_i|. The parts are p, then q; their slacks are in the same order."""

    def __init__(self, ops: SingleArithmetic, floor: float = 1.0) -> None:
        super().__init__(ops)
        self.floor = floor

    def start(self, y: Array, fitted: Array, mean_eigenvalue: Scalar, multipliers: Array) -> tuple[Array, float]:
        self._set_parts(y - fitted)
        # The products of parts and slacks have about the size of a part; choose S so that those with X have the same.
        lam = (-self._mean_part() / mean_eigenvalue) * multipliers
        lam = lam / self.ops.maximum(2.0 * self.ops.max_entry(np.abs(lam)), 1.0)
        self.slacks = np.concatenate([1.0 - lam, 1.0 + lam], axis=-1)
        self._allocate_slack_changes()
        return lam, 0.0

    def _set_parts(self, r: Array) -> None:
        self.m = r.shape[-1]
        self.pairs = 2 * self.m
        margin = 1e-3 + 0.5 * self.ops.l1_norm(r) / self.m
        self.parts = np.maximum(np.concatenate([r, -r], axis=-1), 0.0) + margin

    def _mean_part(self) -> Scalar:
        return self.ops.sum(self.parts) / self.pairs

    def schur_terms(self) -> tuple[Array, Border]:
        self.ratios = self.parts / self.slacks
        a, b = self.ratios[..., : self.m], self.ratios[..., self.m : 2 * self.m]
        diagonal = a + b
        return diagonal, self._border(a, b, diagonal)

    def _border(self, a: Array, b: Array, diagonal: Array) -> Border:
        return None

    def predictor_rhs(self, y: Array) -> tuple[Array, Scalar]:
        # The predictor sends all parts to zero, which leaves y, and the radius in the equation of the ball.
        return y, 0.0

    def record_predictor(self, change: Array, border_change: Scalar) -> None:
        ops = self.ops
        self._set_slack_changes(change, border_change)
        relative = self.d_slacks / self.slacks
        # The relative change of a part is -1 minus that of its slack.
        self.min_relative_changes = -1.0 - ops.max_entry(relative), ops.min_entry(relative)
        crossed = self.parts * self.d_slacks
        self.along = ops.dot(self.parts, self.d_slacks)
        self.curvature = self.along + ops.dot(crossed, relative)
        # Minus the products of the changes of a part and of its slack; their sum is the curvature.
        self.second_order = crossed + crossed * relative

    def corrector(self, solve: Solve, rhs: Array, center: Scalar) -> tuple[Array, Array]:
        m, ops = self.m, self.ops
        centering = (center + self.second_order) / self.slacks - self.parts
        rhs = rhs - centering[..., :m] + centering[..., m : 2 * m]
        change, d_kappa, minus_dS = solve(rhs, self._border_rhs(centering))
        self._set_slack_changes(change, d_kappa)
        self.d_parts = centering - self.ratios * self.d_slacks
        self.min_relative_changes = ops.min_entry(self.d_parts / self.parts), ops.min_entry(self.d_slacks / self.slacks)
        return change, minus_dS

    def _border_rhs(self, centering: Array) -> Scalar:
        return 0.0

    def _allocate_slack_changes(self) -> None:
        """Allocate the changes of the slacks, which each direction overwrites, and views of their pieces."""
        self.d_slacks, m = np.empty_like(self.slacks), self.m
        self.d_views = self.d_slacks[..., :m], self.d_slacks[..., m : 2 * m], self.d_slacks[..., 2 * m :]

    def _set_slack_changes(self, change: Array, d_kappa: Scalar) -> None:
        minus, plus, rest = self.d_views
        np.subtract(d_kappa, change, out=minus)
        np.add(d_kappa, change, out=plus)
        rest[...] = d_kappa

    def complementarity(self) -> Scalar:
        return self.ops.dot(self.parts, self.slacks)

    def predicted_complementarity(self, products: Scalar, primal: Scalar, dual: Scalar) -> Scalar:
        linear = (1.0 - primal) * products + (dual - primal) * self.along
        return linear - primal * dual * self.curvature

    def advance(self, primal: Scalar, dual: Scalar) -> None:
        self.parts = self.parts + primal * self.d_parts
        # The slacks are updated on their own: near the end, the differences kappa -+ lambda have no correct digits.
        self.slacks = self.slacks + dual * self.d_slacks

    def select(self, runs: BoolArray) -> None:
        """Restrict a batch to some of its runs."""
        self.parts, self.slacks = self.parts[runs], self.slacks[runs]
        self._allocate_slack_changes()

    def residual(self) -> Array:
        return np.asarray(self.parts[..., : self.m] - self.parts[..., self.m : 2 * self.m])

    def values(self, trace: Scalar, y: Array, multipliers: Array) -> tuple[Scalar, Scalar, Scalar]:
        return self.ops.l1_norm(self.residual()), self.ops.dot(y, multipliers), 0.0


class L1Constraint(AbsoluteLoss):
    """The constraint sum |r_i| <= radius; the objective is the trace.

    The last part is the slack s of the radius, and its dual slack is kappa.
    """

    lenience = 1.0  # a violation could leave the residual outside of the radius

    shortfall: Scalar
    """The radius minus the sum of the parts, as :meth:`values` last computed it."""

    def __init__(self, ops: SingleArithmetic, radius: Scalar) -> None:
        super().__init__(ops, floor=0.0)
        self.radius = radius

    def scale(self, y: Array) -> Scalar:
        # The radius should hold to many digits, but round-off allows none below 1e-14 of the readings.
        return self.ops.maximum(self.radius, 1e-5 * self.ops.l1_norm(y))

    def start(self, y: Array, fitted: Array, mean_eigenvalue: Scalar, multipliers: Array) -> tuple[Array, float]:
        self._set_parts(y - fitted)
        ops, sizes = self.ops, np.abs(multipliers)
        # S = share I needs multipliers of (1 - share) times the given ones, and kappa must exceed them all.
        kappa = ops.maximum(3.0 * ops.sum(sizes) / self.m, 1.3 * ops.max_entry(sizes))
        mean_part = self._mean_part()
        share = ops.maximum(ops.minimum(mean_part * kappa / mean_eigenvalue, 0.9), _MIN_IDENTITY_SHARE)
        lam = (1.0 - share) * multipliers
        rest = ops.maximum(self.radius - ops.sum(self.parts), mean_part)
        self.parts = np.concatenate([self.parts, np.atleast_1d(rest)], axis=-1)
        self.slacks = np.concatenate([kappa - lam, kappa + lam, np.atleast_1d(kappa)], axis=-1)
        self.pairs = 2 * self.m + 1
        self._allocate_slack_changes()
        return lam, 1.0

    def _border(self, a: Array, b: Array, diagonal: Array) -> Border:
        return b - a, self.ops.last(self.ratios) + 4.0 * self.ops.dot(a, b / diagonal)

    def predictor_rhs(self, y: Array) -> tuple[Array, Scalar]:
        return y, -self.radius

    def _border_rhs(self, centering: Array) -> Scalar:
        return self.ops.sum(centering) - self.shortfall

    def select(self, runs: BoolArray) -> None:
        super().select(runs)
        self.radius, self.shortfall = self.radius[runs], self.shortfall[runs]

    def values(self, trace: Scalar, y: Array, multipliers: Array) -> tuple[Scalar, Scalar, Scalar]:
        self.shortfall = self.radius - self.ops.sum(self.parts)
        dual = self.ops.dot(y, multipliers) - self.radius * self.ops.last(self.slacks)
        return trace, dual, abs(self.shortfall)


class SquaredLoss(Loss):
    """The loss 1/2 sum r_i^2, for which lambda is the residual itself."""

    joint_steps = True

    def start(self, y: Array, fitted: Array, mean_eigenvalue: Scalar, multipliers: Array) -> tuple[Array, float]:
        # lambda is the residual, so it cannot be chosen to make S a multiple of the identity.
        self.lam = np.full(y.size, -max(1e-3, float(np.abs(y - fitted).mean())))
        self.d_lam = np.zeros(y.size)
        return self.lam, 0.0

    def schur_terms(self) -> tuple[Array, Border]:
        return np.ones(self.lam.size), None

    def predictor_rhs(self, y: Array) -> tuple[Array, Scalar]:
        return y - self.lam, 0.0

    def record_predictor(self, change: Array, border_change: Scalar) -> None:
        pass  # there are no pairs, and so no terms of second order

    def corrector(self, solve: Solve, rhs: Array, center: Scalar) -> tuple[Array, Array]:
        self.d_lam, _, minus_dS = solve(rhs, 0.0)
        return self.d_lam, minus_dS

    def advance(self, primal: Scalar, dual: Scalar) -> None:
        self.lam = self.lam + dual * self.d_lam

    def residual(self) -> Array:
        return self.lam

    def values(self, trace: Scalar, y: Array, multipliers: Array) -> tuple[Scalar, Scalar, Scalar]:
        # The primal value is that of lambda; as long as the equations do not hold, the violation shows it.
        square = self.ops.dot(multipliers, multipliers)
        return 0.5 * square, self.ops.dot(y, multipliers) - 0.5 * square, 0.0
