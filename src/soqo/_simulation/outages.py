"""Actuators that are out of order for some rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from soqo._foundation.arguments import number
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import BoolArray


@register("Outages")
@dataclass(frozen=True)
class Outages(Value):
    """Each actuator fails and recovers at random, independently of the others.

    While it is out of order, an actuator stays where it is, and the hitting cost does not depend on it. The states form
    a stationary Markov chain.

    Parameters
    ----------
    share : float
        The share of the rounds in which an actuator is out of order, at least 0 and below 1.
    duration : float
        The mean number of rounds of an outage, at least 1, and share / (1 - share) if that is more.

    Examples
    --------
    >>> Outages(0.5, duration=2.0).draw([np.random.default_rng(0)], horizon=8, dim=1)[0, :, 0]
    array([ True, False,  True, False, False, False, False, False])
    """

    share: float = 0.05
    _: KW_ONLY
    duration: float = 6.0

    def __post_init__(self) -> None:
        set_fields(self, share=number("share", self.share, least=0.0, most=1.0))
        if self.share == 1.0:
            raise ArgumentError(f"share must be below 1, got {self.share}")
        # An actuator fails with the probability share / (1 - share) / duration, which is at most one.
        least = max(1.0, self.share / (1.0 - self.share))
        set_fields(self, duration=number("duration", self.duration, least=least))

    def draw(self, rngs: Sequence[np.random.Generator], horizon: int, *, dim: int) -> BoolArray:
        """Return which actuators are in order, shape (runs, horizon, dim); the first rounds do not depend on horizon.

        Parameters
        ----------
        rngs : sequence of numpy.random.Generator
            One generator for each run.
        horizon : int
            The number of rounds.
        dim : int
            The number of actuators.
        """
        uniform = np.stack([rng.random((horizon, dim)) for rng in rngs], axis=1)
        fails, recovers = self.share / (1.0 - self.share) / self.duration, 1.0 / self.duration
        active = np.empty(uniform.shape, dtype=np.bool_)
        active[0] = uniform[0] >= self.share
        for t in range(1, horizon):
            active[t] = np.where(active[t - 1], uniform[t] >= fails, uniform[t] < recovers)
        return np.ascontiguousarray(active.swapaxes(0, 1))
