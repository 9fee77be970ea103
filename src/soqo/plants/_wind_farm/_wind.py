"""Wind: directions and speeds of 10-minute rounds, synthetic or from a table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Self

import numpy as np

from soqo._foundation.arguments import finite_array, integer
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._foundation.random_streams import stream
from soqo._simulation.autoregression import draw_autoregression
from soqo.errors import ArgumentError
from soqo.plants._tables import read_columns
from soqo.typing import ArrayLike

_STEP_SCALE, _STEP_FREEDOM, _MAX_STEP = 2.9, 2.15, 60.0
"""The steps of the direction in degrees: Student t, as measured in 10-minute data of an onshore farm."""

_FLUTTER_DEVIATION, _FLUTTER_ROUNDS = 2.5, 3.0
"""The part of the direction that returns, in degrees, and its time constant."""

_MEAN_SPEED, _SPEED_DEVIATION, _SPEED_MEMORY = 9.0, 2.6, 0.97
_MIN_SPEED, _MAX_SPEED = 4.5, 20.0
"""The speed in m/s: a first-order autoregression, clipped."""

_FIRST_DIRECTION = 250.0


@dataclass(frozen=True)
class Wind(Value):
    """Wind directions and speeds, one of each per round.

    Parameters
    ----------
    direction : array_like, shape (n,)
        Where the wind comes from, in degrees of the compass; values above 360 or below 0 are turns.
    speed : array_like, shape (n,)
        The speed at hub height, in m/s.

    Examples
    --------
    >>> wind = Wind.synthetic(rounds=1000, seed=0)
    >>> len(wind), bool((wind.speed >= 4.5).all())
    (1000, True)
    """

    direction: ArrayLike
    speed: ArrayLike

    def __post_init__(self) -> None:
        direction, speed = finite_array("direction", self.direction), finite_array("speed", self.speed)
        if direction.ndim != 1 or not direction.size:
            raise ArgumentError(f"direction must have shape (n,), got {direction.shape}")
        if speed.shape != direction.shape:
            raise ArgumentError(f"speed must have shape {direction.shape} as direction has, got {speed.shape}")
        if speed.min() < 0.0:
            raise ArgumentError(f"speed must not be negative, got {speed.min()}")
        set_fields(self, direction=freeze(direction), speed=freeze(speed))

    def __len__(self) -> int:
        return len(np.asarray(self.speed))

    @classmethod
    def synthetic(cls, rounds: int, seed: int = 0) -> Self:
        """Draw wind by published statistics of 10-minute data.

        The direction is a random walk with Student t steps of 2.15 degrees of freedom plus a part that returns; the
        speed is a first-order autoregression of mean 9 m/s and deviation 2.6 m/s.

        Parameters
        ----------
        rounds : int
            The number of rounds.
        seed : int
            The seed.
        """
        integer("rounds", rounds, least=1)
        rng = stream(seed, 0, "steps")
        steps = np.clip(_STEP_SCALE * rng.standard_t(_STEP_FREEDOM, rounds), -_MAX_STEP, _MAX_STEP)
        keep = np.exp(-1.0 / _FLUTTER_ROUNDS)
        flutter = draw_autoregression([rng], rounds, dim=1, scale=_FLUTTER_DEVIATION, correlation=keep)[0, :, 0]
        gusts = draw_autoregression([rng], rounds, dim=1, scale=_SPEED_DEVIATION, correlation=_SPEED_MEMORY)[0, :, 0]
        direction = _FIRST_DIRECTION + np.cumsum(steps) + flutter
        return cls(direction, np.clip(_MEAN_SPEED + gusts, _MIN_SPEED, _MAX_SPEED))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read wind from a CSV file with the columns ``direction`` and ``speed``, one row per round.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        direction, speed = read_columns(path, ("direction", "speed"))
        return cls(np.unwrap(direction, period=360.0), speed)

    def window(self, rounds: slice) -> Self:
        """Return some rounds of the wind.

        Parameters
        ----------
        rounds : slice
            The rounds.
        """
        return type(self)(np.asarray(self.direction)[rounds], np.asarray(self.speed)[rounds])
