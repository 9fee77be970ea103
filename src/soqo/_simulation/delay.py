"""Readings that arrive some rounds after their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from soqo._foundation.arguments import integer
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._storage.registry import register
from soqo.typing import IntArray


@register("Delay")
@dataclass(frozen=True)
class Delay(Value):
    """The number of rounds by which readings are late: fixed, or random for each reading.

    The reading of round t arrives after the action of round t + delay, and is lost if the run ends before.

    Parameters
    ----------
    rounds : int
        The smallest delay.
    jitter : int
        The width of the delays: they are uniform on ``rounds`` .. ``rounds + jitter``, independent of each other.

    Examples
    --------
    >>> Delay(3).draw([np.random.default_rng(0)], horizon=4)
    array([[3, 3, 3, 3]])
    >>> Delay(1, jitter=2).max_rounds
    3
    """

    rounds: int = 1
    _: KW_ONLY
    jitter: int = 0

    def __post_init__(self) -> None:
        set_fields(self, rounds=integer("rounds", self.rounds, least=0), jitter=integer("jitter", self.jitter, least=0))

    @property
    def max_rounds(self) -> int:
        """The largest delay."""
        return self.rounds + self.jitter

    def draw(self, rngs: Sequence[np.random.Generator], horizon: int) -> IntArray:
        """Return the delays of several runs, shape (runs, horizon); the first ones do not depend on the horizon.

        Parameters
        ----------
        rngs : sequence of numpy.random.Generator
            One generator for each run.
        horizon : int
            The number of rounds.
        """
        return np.stack([rng.integers(self.rounds, self.max_rounds, size=horizon, endpoint=True) for rng in rngs])
