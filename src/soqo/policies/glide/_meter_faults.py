r"""Meters that are stuck, saturated or coarse, which repeat a number exactly although x - v has changed.

Noise does not repeat a number, but a meter with coarse steps does. The share of rounds in which a repetition begins is
therefore counted. While repetitions are rare, a reading that repeats the one before carries no information. The
smallest difference of two readings in a row is the step of a coarse meter, whose rounding is a part of the noise.

The limit of a saturated meter is the largest reading, again and again. It is reported, since a policy that is not told
the limit takes it for a low cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.blas import any_entry, is_finite_quick
from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.typing import Array, BoolArray

_RARE_SHARE = 0.03
"""Repetitions that begin in a smaller share of the rounds are faults of the meter, not of its resolution."""

_SATURATED_COUNT = 3
"""A largest reading that came this many times is the limit of the meter."""


def _with_step(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a version that did not note the step of the meter."""
    return {**fields, "step": np.full(len(fields["last_y"]), np.inf)}


@register("GLIDE.meter_faults", version=2, migrations={1: _with_step})
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
    step : Array, shape (runs,)
        The smallest difference of two readings in a row that are not equal; infinite for none.
    """

    last_u: Array
    last_y: Array
    readings: Array
    repetitions: Array
    stuck: Array
    max_reading: Array
    max_count: Array
    step: Array

    @classmethod
    def start(cls, runs: int, dim: int) -> MeterFaults:
        """Return the state before the first reading.

        Parameters
        ----------
        runs, dim : int
            The number of runs, and of the entries of u.
        """
        zeros, infinite = np.zeros(runs), np.full(runs, np.inf)
        return cls(np.zeros((runs, dim)), np.full(runs, np.nan), zeros, zeros, zeros, -infinite, zeros, infinite)

    def update(self, u: Array, y: Array) -> tuple[BoolArray, MeterFaults]:
        """Return the runs whose reading is only a repetition, and the new state.

        Parameters
        ----------
        u, y : Array, shape (runs, d) and (runs,)
            The readings; y is NaN for none.
        """
        equal = y == self.last_y
        step = np.fmin(self.step, np.where(equal, np.inf, np.abs(y - self.last_y)))
        if not any_entry(equal) and not any_entry(self.stuck) and is_finite_quick(y):
            after = evolve(self, last_u=u, last_y=y, readings=self.readings + 1.0, step=step)
            return equal, after._with_largest(y) if any_entry(y >= self.max_reading) else after
        seen = ~np.isnan(y)
        repeats = seen & equal & (u != self.last_u).any(axis=1)
        readings, repetitions = self.readings + seen, self.repetitions + (repeats & (self.stuck == 0.0))
        after = evolve(
            self,
            last_u=np.where(seen[:, None], u, self.last_u),
            last_y=np.where(seen, y, self.last_y),
            readings=readings,
            repetitions=repetitions,
            stuck=np.where(seen, np.where(repeats, self.stuck + 1.0, 0.0), self.stuck),
            step=step,
        )
        return repeats & (repetitions - 1.0 < _RARE_SHARE * readings), after._with_largest(y)

    def _with_largest(self, y: Array) -> MeterFaults:
        """Return the state that has counted the largest reading; NaN is none."""
        higher = y > self.max_reading
        count = np.where(higher, 1.0, self.max_count + (y == self.max_reading))
        return evolve(self, max_reading=np.where(higher, y, self.max_reading), max_count=count)

    def resolution(self) -> Array:
        """Return the step of the meters that have repeated a number; 0 for those whose numbers are all different."""
        return np.where((self.repetitions > 0.0) & (self.step < np.inf), self.step, 0.0)

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
