r"""Meters that are stuck or saturated, which repeat a number exactly although x - v has changed.

Noise does not repeat a number, but a meter with coarse steps does. The share of rounds in which a repetition begins is
therefore counted. While repetitions are rare, a reading that repeats the one before carries no information.

The limit of a saturated meter is the largest reading, again and again. It is reported, since a policy that is not told
the limit takes it for a low cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.blas import any_entry, is_finite_quick
from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.typing import Array, BoolArray

_RARE_SHARE = 0.03
"""Repetitions that begin in a smaller share of the rounds are faults of the meter, not of its resolution."""

_SATURATED_COUNT = 3
"""A largest reading that came this many times is the limit of the meter."""


@register("GLIDE.meter_faults")
@dataclass(frozen=True)
class MeterFaults(Value):
    """What is known about repeated readings, for each run.

    Attributes
    ----------
    last_u, last_y : Array, shape (runs, d) and (runs,)
        The last reading; NaN for none.
    readings, repetitions : Array, shape (runs,)
        The number of readings, and how often one began to repeat the reading before.
    stuck : Array, shape (runs,)
        How many times in a row the last reading has been repeated.
    max_reading, max_count : Array, shape (runs,)
        The largest reading, and how often it came.
    """

    last_u: Array
    last_y: Array
    readings: Array
    repetitions: Array
    stuck: Array
    max_reading: Array
    max_count: Array

    @classmethod
    def start(cls, runs: int, dim: int) -> MeterFaults:
        """Return the state before the first reading.

        Parameters
        ----------
        runs, dim : int
            The number of runs, and of the entries of u.
        """
        zeros = np.zeros(runs)
        return cls(np.zeros((runs, dim)), np.full(runs, np.nan), zeros, zeros, zeros, np.full(runs, -np.inf), zeros)

    def update(self, u: Array, y: Array) -> tuple[BoolArray, MeterFaults]:
        """Return the runs whose reading is only a repetition, and the new state.

        Parameters
        ----------
        u, y : Array, shape (runs, d) and (runs,)
            The readings; y is NaN for none.
        """
        equal = y == self.last_y
        if not any_entry(equal) and not any_entry(self.stuck) and is_finite_quick(y):
            if not any_entry(y >= self.max_reading):
                return equal, evolve(self, last_u=u, last_y=y, readings=self.readings + 1.0)
            higher = y > self.max_reading
            return equal, MeterFaults(
                u,
                y,
                self.readings + 1.0,
                self.repetitions,
                self.stuck,
                np.where(higher, y, self.max_reading),
                np.where(higher, 1.0, self.max_count + (y == self.max_reading)),
            )
        seen = ~np.isnan(y)
        repeats = seen & equal & (u != self.last_u).any(axis=1)
        begins = repeats & (self.stuck == 0.0)
        readings, repetitions = self.readings + seen, self.repetitions + begins
        higher = seen & (y > self.max_reading)
        after = MeterFaults(
            np.where(seen[:, None], u, self.last_u),
            np.where(seen, y, self.last_y),
            readings,
            repetitions,
            np.where(seen, np.where(repeats, self.stuck + 1.0, 0.0), self.stuck),
            np.where(higher, y, self.max_reading),
            np.where(higher, 1.0, self.max_count + (seen & (y == self.max_reading))),
        )
        return repeats & (repetitions - 1.0 < _RARE_SHARE * readings), after

    def is_stuck(self) -> BoolArray:
        """Return the runs whose meter repeats itself now."""
        return np.asarray(self.stuck >= 2.0)

    def repeated(self) -> Array:
        """Return how many times in a row the last reading has been repeated; 0 if the resolution is the reason."""
        return np.where(self.repetitions - 1.0 < _RARE_SHARE * self.readings, self.stuck, 0.0)

    def is_saturated(self) -> BoolArray:
        """Return the runs whose largest reading looks like the limit of the meter."""
        rare = self.repetitions < _RARE_SHARE * self.readings + self.max_count
        return np.asarray((self.max_count >= _SATURATED_COUNT) & rare)
