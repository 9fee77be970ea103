"""A factor of the hitting cost that the player knows, such as a price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from soqo._foundation.arguments import number
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._simulation.autoregression import draw_autoregression
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array


@register("Factor")
@dataclass(frozen=True)
class Factor(Value):
    """What multiplies the hitting cost of a round: a daily swing times random deviations, with the mean 1.

    The factor of round t is (1 + swing sin(2 pi (t - 1) / period)) exp(z - deviation^2 / 2) with a stationary normal
    autoregression z.

    Parameters
    ----------
    swing : float
        The amplitude of the periodic part, at least 0 and below 1.
    period : float
        The period in rounds.
    deviation : float
        The standard deviation of z.
    correlation : float
        The correlation of z with that of the next round, at least 0 and below 1.

    Examples
    --------
    >>> Factor(swing=0.5, period=4.0).draw([np.random.default_rng(0)], horizon=4)
    array([[1. , 1.5, 1. , 0.5]])
    """

    swing: float = 0.0
    _: KW_ONLY
    period: float = 24.0
    deviation: float = 0.0
    correlation: float = 0.9

    def __post_init__(self) -> None:
        set_fields(
            self,
            swing=number("swing", self.swing, least=0.0, most=1.0),
            period=number("period", self.period, above=0.0),
            deviation=number("deviation", self.deviation, least=0.0),
            correlation=number("correlation", self.correlation, least=0.0, most=1.0),
        )
        for name in ("swing", "correlation"):
            if getattr(self, name) == 1.0:
                raise ArgumentError(f"{name} must be below 1, got {getattr(self, name)}")

    def draw(self, rngs: Sequence[np.random.Generator], horizon: int) -> Array:
        """Return the factors of several runs, shape (runs, horizon); the first ones do not depend on the horizon.

        Parameters
        ----------
        rngs : sequence of numpy.random.Generator
            One generator for each run.
        horizon : int
            The number of rounds.
        """
        z = draw_autoregression(rngs, horizon, dim=1, scale=self.deviation, correlation=self.correlation)[..., 0]
        periodic = 1.0 + self.swing * np.sin(2.0 * np.pi * np.arange(horizon) / self.period)
        return np.asarray(periodic * np.exp(z - 0.5 * self.deviation**2))
