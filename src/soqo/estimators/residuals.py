"""What a misfit may cost: an l1 ball around the readings (trace_min), an l1 price (lad), or half a square (least
squares).

An l1 norm is split into positive parts, r = p - q with p, q >= 0, whose dual slacks are kappa - lambda and kappa +
lambda. For the l1 price kappa is 1; for the ball sum(p + q) + s = radius it is the ball's own multiplier.
"""

from __future__ import annotations

import math

import numpy as np

from soqo.arguments import Array
from soqo.estimators.interior_point import Border, Residual, Solve

__all__ = ["HalfSquare", "L1Ball", "L1Price"]


class L1Price(Residual):
    """The price sum |r_i|. Rows of the arrays are the parts p and q, and their slacks."""

    def __init__(self) -> None:
        self.kappa = 1.0
        self.d_kappa = 0.0

    def start(self, y: Array, fitted: Array) -> tuple[Array, float]:
        self._split(y - fitted)
        self.slacks = np.array([np.full(y.size, 1.5), np.full(y.size, 0.5)])
        return np.full(y.size, -0.5), 0.0  # then S = 1/4 Z'Z, well inside

    def _split(self, r: Array) -> None:
        margin = 1e-3 + float(np.abs(r).mean())
        self.parts = np.array([np.maximum(r, 0.0), np.maximum(-r, 0.0)]) + margin
        self.d_parts = self.d_slacks = np.zeros_like(self.parts)

    def prepare(self) -> tuple[Array, Border]:
        self.ratios = self.parts / self.slacks
        return self.ratios[0] + self.ratios[1], self._border()

    def _border(self) -> Border:
        return None

    def direction(self, solve: Solve, rhs: Array, center: float, second_order: bool) -> Array:
        push = -self.parts
        if center:
            push = push + center / self.slacks
        if second_order:
            push = push - self.d_parts * self.d_slacks / self.slacks
        d_lam = self._solve(solve, rhs - push[0] + push[1], push, center, second_order)
        self.d_slacks = np.array([self.d_kappa - d_lam, self.d_kappa + d_lam])
        self.d_parts = push - self.ratios * self.d_slacks
        return d_lam

    def _solve(
        self, solve: Solve, rhs: Array, push: Array, center: float, second_order: bool
    ) -> Array:
        return solve(rhs, 0.0)[0]

    def longest(self) -> tuple[float, float]:
        return longest_positive(self.parts, self.d_parts), longest_positive(
            self.slacks, self.d_slacks
        )

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        products = np.vdot(self.parts + primal * self.d_parts, self.slacks + dual * self.d_slacks)
        return float(products), self.parts.size

    def move(self, primal: float, dual: float) -> None:
        self.parts = self.parts + primal * self.d_parts
        # The slacks kappa -+ lambda are carried on by themselves: near the end their difference has no digits left.
        self.slacks = self.slacks + dual * self.d_slacks

    def residual(self) -> Array:
        return np.asarray(self.parts[0] - self.parts[1])

    def values(self, trace: float, y: Array, multipliers: Array) -> tuple[float, float, float]:
        return float(np.abs(self.residual()).sum()), float(y @ multipliers), 0.0


class L1Ball(L1Price):
    """The constraint sum |r_i| <= radius, beside the price of the trace."""

    def __init__(self, radius: float) -> None:
        super().__init__()
        self.radius = radius
        self.ds = 0.0

    def scale(self, y: Array) -> float:
        # The radius is to be kept to many digits, but there are none below 1e-14 of the readings.
        return max(self.radius, 1e-5 * float(np.abs(y).sum()))

    def start(self, y: Array, fitted: Array) -> tuple[Array, float]:
        self._split(y - fitted)
        self.s = max(self.radius, float(self.parts[0].mean()))
        # A multiplier of the size that solutions have: the trace of a fit over the sum of the readings.
        self.kappa = 0.1
        self.slacks = np.full_like(self.parts, self.kappa)
        return np.zeros(y.size), 1.0

    def _border(self) -> Border:
        a, b = self.ratios
        return b - a, self.s / self.kappa + float((4.0 * a * b / (a + b)).sum())

    def _solve(
        self, solve: Solve, rhs: Array, push: Array, center: float, second_order: bool
    ) -> Array:
        push_s = center / self.kappa - self.s
        if second_order:
            push_s -= self.ds * self.d_kappa / self.kappa
        right = float(push.sum()) + push_s - self._short()
        d_lam, self.d_kappa = solve(rhs, right)
        self.ds = push_s - self.s / self.kappa * self.d_kappa
        return d_lam

    def _short(self) -> float:
        return self.radius - float(self.parts.sum()) - self.s

    def longest(self) -> tuple[float, float]:
        primal, dual = super().longest()
        if self.ds < 0.0:
            primal = min(primal, -self.s / self.ds)
        if self.d_kappa < 0.0:
            dual = min(dual, -self.kappa / self.d_kappa)
        return primal, dual

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        products, pairs = super().complementarity(primal, dual)
        own = (self.s + primal * self.ds) * (self.kappa + dual * self.d_kappa)
        return products + own, pairs + 1

    def move(self, primal: float, dual: float) -> None:
        super().move(primal, dual)
        self.s += primal * self.ds
        self.kappa += dual * self.d_kappa

    def values(self, trace: float, y: Array, multipliers: Array) -> tuple[float, float, float]:
        return trace, float(y @ multipliers) - self.radius * self.kappa, abs(self._short())


class HalfSquare(Residual):
    """The price 1/2 sum r_i^2, for which lambda is the residual itself."""

    joint_steps = True

    def start(self, y: Array, fitted: Array) -> tuple[Array, float]:
        self.lam = np.full(y.size, -max(1e-3, float(np.abs(y - fitted).mean())))
        self.d_lam = np.zeros(y.size)
        return self.lam, 0.0

    def prepare(self) -> tuple[Array, Border]:
        return np.ones(self.lam.size), None

    def direction(self, solve: Solve, rhs: Array, center: float, second_order: bool) -> Array:
        self.d_lam, _ = solve(rhs, 0.0)
        return self.d_lam

    def longest(self) -> tuple[float, float]:
        return math.inf, math.inf

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        return 0.0, 0

    def move(self, primal: float, dual: float) -> None:
        self.lam = self.lam + dual * self.d_lam

    def residual(self) -> Array:
        return self.lam

    def values(self, trace: float, y: Array, multipliers: Array) -> tuple[float, float, float]:
        # Where the equations do not hold yet, the violation says so.
        square = float(multipliers @ multipliers)
        return 0.5 * square, float(y @ multipliers) - 0.5 * square, 0.0


def longest_positive(value: Array, change: Array) -> float:
    """The longest step that keeps positive numbers positive."""
    steepest = float((change / value).min())
    return math.inf if steepest >= 0.0 else -1.0 / steepest
