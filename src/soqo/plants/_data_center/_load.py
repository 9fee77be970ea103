"""Load: the power of the racks in 5-minute rounds, synthetic or from a table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Self

import numpy as np

from soqo._foundation.arguments import finite_array
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._simulation.autoregression import draw_autoregression
from soqo.errors import ArgumentError
from soqo.plants._tables import read_columns
from soqo.typing import Array, ArrayLike

ROUNDS_PER_DAY = 288

_MEAN, _SWING, _PEAK_HOUR = 0.5, 0.2, 15.0
"""The daily cycle of the utilization, and when it is highest."""

_WANDER, _WANDER_MEMORY = 0.05, 0.98
"""What the total wanders: a first-order autoregression."""

_RACK_WANDER, _RACK_MEMORY = 0.12, 0.85
"""What each rack does on its own."""

_BURSTS_PER_ROUND, _BURST_ROUNDS, _BURST_HEIGHT, _BURST_SHARE = 1.0 / 12.0, 12.0, 0.5, 0.2
"""A burst every three hours, for an hour on average, in a quarter of the racks."""


@dataclass(frozen=True)
class Load(Value):
    """The mean utilization of the servers, one number per round.

    Parameters
    ----------
    utilization : array_like, shape (n,)
        Between 0 and 1.

    Examples
    --------
    >>> len(Load([0.4, 0.6, 0.5]))
    3
    """

    utilization: ArrayLike

    def __post_init__(self) -> None:
        utilization = finite_array("utilization", self.utilization)
        if utilization.ndim != 1 or not utilization.size:
            raise ArgumentError(f"utilization must have shape (n,), got {utilization.shape}")
        if utilization.min() < 0.0 or utilization.max() > 1.0:
            span = f"{utilization.min():g} to {utilization.max():g}"
            raise ArgumentError(f"utilization must be between 0 and 1, got {span}")
        set_fields(self, utilization=freeze(utilization))

    def __len__(self) -> int:
        return len(np.asarray(self.utilization))

    def window(self, rounds: slice) -> Self:
        """Return some rounds of the load.

        Parameters
        ----------
        rounds : slice
            The rounds.
        """
        return type(self)(np.asarray(self.utilization)[rounds])

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a load from a CSV file with the column ``utilization``, one row per round of five minutes.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        return cls(read_columns(path, ("utilization",))[0])

    @classmethod
    def synthetic(cls, rounds: int, rng: np.random.Generator) -> Self:
        """Draw a load with a daily cycle.

        Parameters
        ----------
        rounds : int
            The number of rounds.
        rng : numpy.random.Generator
            The source of random numbers.
        """
        hour = np.arange(rounds) * (24.0 / ROUNDS_PER_DAY)
        cycle = _MEAN + _SWING * np.cos(2.0 * np.pi * (hour - _PEAK_HOUR) / 24.0)
        wander = draw_autoregression([rng], rounds, dim=1, scale=_WANDER, correlation=_WANDER_MEMORY)[0, :, 0]
        return cls(np.clip(cycle + wander, 0.0, 1.0))


def rack_utilization(load: Load, racks: int, rng: np.random.Generator) -> Array:
    """Return the utilization of each rack, shape (n, racks): the mean, what each rack does on its own, and bursts.

    Parameters
    ----------
    load : Load
        The mean utilization.
    racks : int
        The number of racks.
    rng : numpy.random.Generator
        The source of random numbers.
    """
    rounds = len(load)
    own = draw_autoregression([rng], rounds, dim=racks, scale=_RACK_WANDER, correlation=_RACK_MEMORY)[0]
    total = np.asarray(load.utilization)[:, None] + own
    for start in np.flatnonzero(rng.random(rounds) < _BURSTS_PER_ROUND):
        length = 1 + int(rng.exponential(_BURST_ROUNDS))
        first = int(rng.integers(racks))
        busy = (first + np.arange(max(1, round(_BURST_SHARE * racks)))) % racks
        total[start : start + length, busy] += _BURST_HEIGHT
    return np.asarray(np.clip(total, 0.0, 1.0))
