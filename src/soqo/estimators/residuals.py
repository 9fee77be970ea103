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
    """The price sum |r_i|."""

    def __init__(self) -> None:
        self.kappa = 1.0
        self.d_kappa = 0.0

    def start(self, y: Array, fitted: Array) -> tuple[Array, float]:
        self._split(y - fitted)
        self.low, self.high = np.full(y.size, 1.5), np.full(y.size, 0.5)
        return np.full(y.size, -0.5), 0.0  # then S = 1/4 Z'Z, well inside

    def _split(self, r: Array) -> None:
        margin = 1e-3 + float(np.abs(r).mean())
        self.p = np.maximum(r, 0.0) + margin
        self.q = np.maximum(-r, 0.0) + margin
        self.dp = self.dq = self.d_lam = np.zeros_like(r)

    def diagonal(self) -> Array:
        return np.asarray(self.p / self.low + self.q / self.high)

    def direction(self, solve: Solve, rhs: Array, center: float, second_order: bool) -> Array:
        low, high = self.low, self.high
        push_p = center / low - self.p
        push_q = center / high - self.q
        if second_order:
            push_p = push_p - self.dp * (self.d_kappa - self.d_lam) / low
            push_q = push_q - self.dq * (self.d_kappa + self.d_lam) / high
        self.d_lam, self.d_kappa = self._solve(solve, rhs, push_p, push_q, center, second_order)
        self.dp = push_p - self.p / low * (self.d_kappa - self.d_lam)
        self.dq = push_q - self.q / high * (self.d_kappa + self.d_lam)
        return self.d_lam

    def _solve(
        self,
        solve: Solve,
        rhs: Array,
        push_p: Array,
        push_q: Array,
        center: float,
        second_order: bool,
    ) -> tuple[Array, float]:
        return solve(rhs - push_p + push_q, 0.0)

    def longest(self) -> tuple[float, float]:
        primal = min(ratio(self.p, self.dp), ratio(self.q, self.dq))
        dual = min(
            ratio(self.low, self.d_kappa - self.d_lam), ratio(self.high, self.d_kappa + self.d_lam)
        )
        return primal, dual

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        p, q = self.p + primal * self.dp, self.q + primal * self.dq
        low = self.low + dual * (self.d_kappa - self.d_lam)
        high = self.high + dual * (self.d_kappa + self.d_lam)
        return float(p @ low + q @ high), 2 * p.size

    def move(self, primal: float, dual: float) -> None:
        self.p = self.p + primal * self.dp
        self.q = self.q + primal * self.dq
        # The slacks kappa -+ lambda are carried on by themselves: near the end their difference has no digits left.
        self.low = self.low + dual * (self.d_kappa - self.d_lam)
        self.high = self.high + dual * (self.d_kappa + self.d_lam)

    def residual(self) -> Array:
        return self.p - self.q

    def values(self, trace: float, y: Array, multipliers: Array) -> tuple[float, float, float]:
        return float(np.abs(self.p - self.q).sum()), float(y @ multipliers), 0.0


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
        self.s = max(self.radius, float(self.p.mean()))
        self.low, self.high = np.ones(y.size), np.ones(y.size)
        return np.zeros(y.size), 1.0

    def border(self) -> Border:
        a, b = self.p / self.low, self.q / self.high
        return b - a, self.s / self.kappa + float((4.0 * a * b / (a + b)).sum())

    def _solve(
        self,
        solve: Solve,
        rhs: Array,
        push_p: Array,
        push_q: Array,
        center: float,
        second_order: bool,
    ) -> tuple[Array, float]:
        push_s = center / self.kappa - self.s
        if second_order:
            push_s -= self.ds * self.d_kappa / self.kappa
        short = self.radius - float((self.p + self.q).sum()) - self.s
        right = float((push_p + push_q).sum()) + push_s - short
        d_lam, d_kappa = solve(rhs - push_p + push_q, right)
        self.ds = push_s - self.s / self.kappa * d_kappa
        return d_lam, d_kappa

    def longest(self) -> tuple[float, float]:
        primal, dual = super().longest()
        own = ratio(np.array([self.s]), np.array([self.ds]))
        return min(primal, own), min(dual, ratio(np.array([self.kappa]), np.array([self.d_kappa])))

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        products, pairs = super().complementarity(primal, dual)
        own = (self.s + primal * self.ds) * (self.kappa + dual * self.d_kappa)
        return products + own, pairs + 1

    def move(self, primal: float, dual: float) -> None:
        super().move(primal, dual)
        self.s += primal * self.ds
        self.kappa += dual * self.d_kappa

    def values(self, trace: float, y: Array, multipliers: Array) -> tuple[float, float, float]:
        short = self.radius - float((self.p + self.q).sum()) - self.s
        return trace, float(y @ multipliers) - self.radius * self.kappa, abs(short)


class HalfSquare(Residual):
    """The price 1/2 sum r_i^2, for which lambda is the residual itself."""

    joint_steps = True

    def start(self, y: Array, fitted: Array) -> tuple[Array, float]:
        self.lam = np.full(y.size, -max(1e-3, float(np.abs(y - fitted).mean())))
        self.d_lam = np.zeros(y.size)
        return self.lam, 0.0

    def diagonal(self) -> Array:
        return np.ones(self.lam.size)

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


def ratio(value: Array, change: Array) -> float:
    """The longest step that keeps a positive vector positive."""
    falling = change < 0.0
    if not falling.any():
        return math.inf
    return float((value[falling] / -change[falling]).min())
