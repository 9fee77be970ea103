r"""The predictable part of v's steps, and where a player aims who uses it.

If steps go on as d_{t+1} = rho d_t + something new, then v is expected rho d + ... + rho^k d further after k rounds.
A player with many rounds to go then aims not at v but at v + rho C (I - rho C)^{-1} d: this solves the optimality
condition (2I + A) x_t = x_{t-1} + E x_{t+1} + A v_t. With n rounds to go, the geometric sum is cut after n - 1 terms;
that gains change towards the end is left out, which costs a percent or so of the last few rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._spectrum import Spectrum
from soqo._storage.registry import register
from soqo.typing import Array

__all__ = ["Drift"]

SIGNIFICANT = 3.0
"""A correlation counts from so many of its standard deviations on."""

LARGEST = 0.95
"""No correlation above this is believed."""


@register("GLIDE.drift")
@dataclass(frozen=True, eq=False)
class Drift:
    """How v's steps go on.

    Attributes
    ----------
    step : Array, shape (runs, d)
        The last one.
    product, square : Array, shape (runs,)
        Sums of d_{t+1}.d_t and of |d_t|^2.
    spread : Array, shape (runs,)
        The sum of (d_{t+1}.d_t)^2, which is what the first sum varies by where steps are unrelated.
    """

    step: Array
    product: Array
    square: Array
    spread: Array

    @classmethod
    def start(cls, runs: int, dim: int) -> Drift:
        """Before the first step."""
        return cls(np.zeros((runs, dim)), np.zeros(runs), np.zeros(runs), np.zeros(runs))

    def seen(self, step: Array) -> Drift:
        """With one more step."""
        inner = np.vecdot(step, self.step)
        return Drift(
            step,
            self.product + inner,
            self.square + np.vecdot(self.step, self.step),
            self.spread + np.square(inner),
        )

    def correlation(self) -> Array:
        """rho, zero unless it is significant; shape (runs,)."""
        significant = np.abs(self.product) > SIGNIFICANT * np.sqrt(self.spread)
        rho = self.product / np.where(self.square > 0.0, self.square, 1.0)
        return np.where(significant, np.clip(rho, -LARGEST, LARGEST), 0.0)

    def lead(self, spectrum: Spectrum, go: Array, to_go: float) -> Array:
        """How far ahead of v to aim, shape (runs, d), for a player who goes the share ``go`` of the way."""
        rho = self.correlation()
        if not rho.any():
            return np.zeros_like(self.step)
        fading = rho[:, None] * (1.0 - go)
        share = fading / (1.0 - fading) * (1.0 - fading ** (to_go - 1.0))
        return spectrum.apply(share, self.step)
