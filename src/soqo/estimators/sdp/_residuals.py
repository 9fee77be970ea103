"""What a misfit may cost: an l1 ball around the readings (trace_min), an l1 price (psd_least_absolute_deviations), or half a square (least
squares).

An l1 norm is split into positive parts, r = p - q with p, q >= 0, whose dual slacks are kappa - lambda and kappa +
lambda. For the l1 price kappa is 1; for the ball sum(p + q) + s = radius it is the ball's own multiplier.
"""

from __future__ import annotations

import numpy as np

from soqo.estimators.sdp._arithmetic import Number, One
from soqo.estimators.sdp._interior_point import Residual
from soqo.estimators.sdp._schur import Border, Solve
from soqo.typing import Array, BoolArray

__all__ = ["HalfSquare", "L1Ball", "L1Price"]


LEAST_SHARE = 1e-4
"""How much of the identity S is at the start, at least: far more than multipliers may miss it by."""


class L1Price(Residual):
    """The price sum |r_i|. The parts are p, then q; their slacks are in the same order."""

    def __init__(self, kind: One, floor: float = 1.0) -> None:
        super().__init__(kind)
        self.floor = floor

    def start(self, y: Array, fitted: Array, level: Number, even: Array) -> tuple[Array, float]:
        self._split(y - fitted)
        # The products of parts and slacks are about the size of a part, and S is to make those with X as large.
        lam = (-self._typical() / level) * even
        lam = lam / self.kind.most(2.0 * self.kind.highest(np.abs(lam)), 1.0)
        self.slacks = np.concatenate([1.0 - lam, 1.0 + lam], axis=-1)
        self._room()
        return lam, 0.0

    def _split(self, r: Array) -> None:
        self.m = r.shape[-1]
        self.pairs = 2 * self.m
        margin = 1e-3 + 0.5 * self.kind.absolute_sum(r) / self.m
        self.parts = np.maximum(np.concatenate([r, -r], axis=-1), 0.0) + margin

    def _typical(self) -> Number:
        return self.kind.total(self.parts) / self.pairs

    def prepare(self) -> tuple[Array, Border]:
        self.ratios = self.parts / self.slacks
        a, b = self.ratios[..., : self.m], self.ratios[..., self.m : 2 * self.m]
        diagonal = a + b
        return diagonal, self._border(a, b, diagonal)

    def _border(self, a: Array, b: Array, diagonal: Array) -> Border:
        return None

    def prediction(self, y: Array) -> tuple[Array, Number]:
        # All parts are pushed to zero, which leaves y of the right-hand side, and of the ball's its radius.
        return y, 0.0

    def predict(self, change: Array, d_kappa: Number) -> None:
        kind = self.kind
        self._turn(change, d_kappa)
        relative = self.d_slacks / self.slacks
        # The change of a part, as a share of it, is -1 less that of its slack.
        self.steepest = -1.0 - kind.highest(relative), kind.lowest(relative)
        crossed = self.parts * self.d_slacks
        self.along = kind.dot(self.parts, self.d_slacks)
        self.curve = self.along + kind.dot(crossed, relative)
        # Minus the products of the changes of a part and of its slack, which sum up to the curve.
        self.second_order = crossed + crossed * relative

    def correct(self, solve: Solve, rhs: Array, center: Number) -> tuple[Array, Array]:
        m, kind = self.m, self.kind
        push = (center + self.second_order) / self.slacks - self.parts
        rhs = rhs - push[..., :m] + push[..., m : 2 * m]
        change, d_kappa, less = solve(rhs, self._corrected(push))
        self._turn(change, d_kappa)
        self.d_parts = push - self.ratios * self.d_slacks
        self.steepest = (
            kind.lowest(self.d_parts / self.parts),
            kind.lowest(self.d_slacks / self.slacks),
        )
        return change, less

    def _corrected(self, push: Array) -> Number:
        return 0.0

    def _turn(self, change: Array, d_kappa: Number) -> None:
        above, below, rest = self.d_views
        np.subtract(d_kappa, change, out=above)
        np.add(d_kappa, change, out=below)
        rest[...] = d_kappa

    def _room(self) -> None:
        """Room for the change of the slacks, written anew by each direction, and views of its pieces."""
        self.d_slacks, m = np.empty_like(self.slacks), self.m
        self.d_views = (
            self.d_slacks[..., :m],
            self.d_slacks[..., m : 2 * m],
            self.d_slacks[..., 2 * m :],
        )

    def products(self) -> Number:
        return self.kind.dot(self.parts, self.slacks)

    def predicted_products(self, products: Number, primal: Number, dual: Number) -> Number:
        straight = (1.0 - primal) * products + (dual - primal) * self.along
        return straight - primal * dual * self.curve

    def move(self, primal: Number, dual: Number) -> None:
        self.parts = self.parts + primal * self.d_parts
        # The slacks kappa -+ lambda are carried on by themselves: near the end their difference has no digits left.
        self.slacks = self.slacks + dual * self.d_slacks

    def keep(self, runs: BoolArray) -> None:
        """Of a batch, go on with these runs."""
        self.parts, self.slacks = self.parts[runs], self.slacks[runs]
        self._room()

    def residual(self) -> Array:
        return np.asarray(self.parts[..., : self.m] - self.parts[..., self.m : 2 * self.m])

    def values(self, trace: Number, y: Array, multipliers: Array) -> tuple[Number, Number, Number]:
        return self.kind.absolute_sum(self.residual()), self.kind.dot(y, multipliers), 0.0


class L1Ball(L1Price):
    """The constraint sum |r_i| <= radius, beside the price of the trace.

    What is left of the radius, s, is the last of the parts, and its slack is kappa.
    """

    short: Number
    """What the parts lack of the radius, as :meth:`values` has last seen it."""

    def __init__(self, kind: One, radius: Number) -> None:
        super().__init__(kind, floor=0.0)
        self.radius = radius

    def scale(self, y: Array) -> Number:
        # The radius is to be kept to many digits, but there are none below 1e-14 of the readings.
        return self.kind.most(self.radius, 1e-5 * self.kind.absolute_sum(y))

    def start(self, y: Array, fitted: Array, level: Number, even: Array) -> tuple[Array, float]:
        self._split(y - fitted)
        kind, sizes = self.kind, np.abs(even)
        # S = share I takes multipliers that are nearly `even`, and the ball's own must be above them all.
        kappa = kind.most(3.0 * kind.total(sizes) / self.m, 1.3 * kind.highest(sizes))
        typical = self._typical()
        share = kind.most(kind.least(typical * kappa / level, 0.9), LEAST_SHARE)
        lam = (1.0 - share) * even
        left = kind.most(self.radius - kind.total(self.parts), typical)
        self.parts = np.concatenate([self.parts, np.atleast_1d(left)], axis=-1)
        self.slacks = np.concatenate([kappa - lam, kappa + lam, np.atleast_1d(kappa)], axis=-1)
        self.pairs = 2 * self.m + 1
        self._room()
        return lam, 1.0

    def _border(self, a: Array, b: Array, diagonal: Array) -> Border:
        return b - a, self.kind.last(self.ratios) + 4.0 * self.kind.dot(a, b / diagonal)

    def prediction(self, y: Array) -> tuple[Array, Number]:
        return y, -self.radius

    def _corrected(self, push: Array) -> Number:
        return self.kind.total(push) - self.short

    def keep(self, runs: BoolArray) -> None:
        super().keep(runs)
        self.radius, self.short = self.radius[runs], self.short[runs]

    def values(self, trace: Number, y: Array, multipliers: Array) -> tuple[Number, Number, Number]:
        self.short = self.radius - self.kind.absolute_sum(self.parts)
        dual = self.kind.dot(y, multipliers) - self.radius * self.kind.last(self.slacks)
        return trace, dual, abs(self.short)


class HalfSquare(Residual):
    """The price 1/2 sum r_i^2, for which lambda is the residual itself."""

    joint_steps = True

    def start(self, y: Array, fitted: Array, level: Number, even: Array) -> tuple[Array, float]:
        # lambda is the residual: it cannot be chosen so that S is even.
        self.lam = np.full(y.size, -max(1e-3, float(np.abs(y - fitted).mean())))
        self.d_lam = np.zeros(y.size)
        return self.lam, 0.0

    def prepare(self) -> tuple[Array, Border]:
        return np.ones(self.lam.size), None

    def prediction(self, y: Array) -> tuple[Array, Number]:
        return y - self.lam, 0.0

    def predict(self, change: Array, d_kappa: Number) -> None:
        pass  # there are no products, and so nothing of second order

    def correct(self, solve: Solve, rhs: Array, center: Number) -> tuple[Array, Array]:
        self.d_lam, _, less = solve(rhs, 0.0)
        return self.d_lam, less

    def products(self) -> Number:
        return 0.0

    def predicted_products(self, products: Number, primal: Number, dual: Number) -> Number:
        return 0.0

    def move(self, primal: Number, dual: Number) -> None:
        self.lam = self.lam + dual * self.d_lam

    def residual(self) -> Array:
        return self.lam

    def values(self, trace: Number, y: Array, multipliers: Array) -> tuple[Number, Number, Number]:
        # Where the equations do not hold yet, the violation says so.
        square = self.kind.dot(multipliers, multipliers)
        return 0.5 * square, self.kind.dot(y, multipliers) - 0.5 * square, 0.0
