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
    """The price sum |r_i|. The parts are p, then q; their slacks are in the same order."""

    def __init__(self) -> None:
        self.d_kappa = 0.0

    def start(self, y: Array, fitted: Array) -> tuple[Array, float]:
        self._split(y - fitted)
        self.slacks = np.repeat([1.5, 0.5], self.m)
        return np.full(self.m, -0.5), 0.0  # then S = 1/4 Z'Z, well inside

    def _split(self, r: Array) -> None:
        self.m = r.size
        margin = 1e-3 + float(np.abs(r).mean())
        self.parts = np.maximum(np.concatenate([r, -r]), 0.0) + margin

    def prepare(self) -> tuple[Array, Border]:
        self.ratios = self.parts / self.slacks
        return self.ratios[: self.m] + self.ratios[self.m : 2 * self.m], self._border()

    def _border(self) -> Border:
        return None

    def direction(self, solve: Solve, rhs: Array, center: float, second_order: bool) -> Array:
        if second_order:
            push = (center - self.d_parts * self.d_slacks) / self.slacks - self.parts
        else:
            push = -self.parts
        m = self.m
        change = self._solve(solve, rhs - push[:m] + push[m : 2 * m], push)
        self.d_slacks = np.full(self.parts.size, self.d_kappa)
        self.d_slacks[:m] -= change
        self.d_slacks[m : 2 * m] += change
        self.d_parts = push - self.ratios * self.d_slacks
        return change

    def _solve(self, solve: Solve, rhs: Array, push: Array) -> Array:
        return solve(rhs, 0.0)[0]

    def longest(self) -> tuple[float, float]:
        return longest_positive(self.parts, self.d_parts), longest_positive(
            self.slacks, self.d_slacks
        )

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        if not primal and not dual:
            return float(self.parts @ self.slacks), self.parts.size
        parts, slacks = self.parts + primal * self.d_parts, self.slacks + dual * self.d_slacks
        return float(parts @ slacks), self.parts.size

    def move(self, primal: float, dual: float) -> None:
        self.parts = self.parts + primal * self.d_parts
        # The slacks kappa -+ lambda are carried on by themselves: near the end their difference has no digits left.
        self.slacks = self.slacks + dual * self.d_slacks

    def residual(self) -> Array:
        return np.asarray(self.parts[: self.m] - self.parts[self.m : 2 * self.m])

    def values(self, trace: float, y: Array, multipliers: Array) -> tuple[float, float, float]:
        return float(np.abs(self.residual()).sum()), float(y @ multipliers), 0.0


class L1Ball(L1Price):
    """The constraint sum |r_i| <= radius, beside the price of the trace.

    What is left of the radius, s, is the last of the parts, and its slack is kappa.
    """

    floor = 0.0

    def __init__(self, radius: float) -> None:
        super().__init__()
        self.radius = radius

    def scale(self, y: Array) -> float:
        # The radius is to be kept to many digits, but there are none below 1e-14 of the readings.
        return max(self.radius, 1e-5 * float(np.abs(y).sum()))

    def start(self, y: Array, fitted: Array) -> tuple[Array, float]:
        self._split(y - fitted)
        self.parts = np.append(self.parts, max(self.radius, float(self.parts[: self.m].mean())))
        # A multiplier of the size that solutions have: the trace of a fit over the sum of the readings.
        self.slacks = np.full(self.parts.size, 0.1)
        return np.zeros(self.m), 1.0

    def _border(self) -> Border:
        a, b = self.ratios[: self.m], self.ratios[self.m : 2 * self.m]
        return b - a, float(self.ratios[-1]) + 4.0 * float(a @ (b / (a + b)))

    def _solve(self, solve: Solve, rhs: Array, push: Array) -> Array:
        change, self.d_kappa = solve(rhs, float(np.add.reduce(push)) - self._short())
        return change

    def _short(self) -> float:
        return self.radius - float(np.add.reduce(self.parts))

    def values(self, trace: float, y: Array, multipliers: Array) -> tuple[float, float, float]:
        dual = float(y @ multipliers) - self.radius * float(self.slacks[-1])
        return trace, dual, abs(self._short())


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
    steepest = float(np.minimum.reduce(change / value))
    return math.inf if steepest >= 0.0 else -1.0 / steepest
