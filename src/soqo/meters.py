"""What meters of real plants do to a reading: base loads, saturation, outliers, gaps.

A meter turns the noisy hitting cost of a round into the reading that the player receives. An environment has a chain of
meters, each of which sees the output of the one before. Regret does not depend on them: the benchmark knows the plant.
As for noise, the random numbers of a run are drawn once, so that policies are compared on the same ones. To write a
meter, subclass :class:`Meter`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np

from soqo._foundation.arguments import integer, number
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._storage.registry import register
from soqo.typing import Array

__all__ = [
    "BaseLoad",
    "Burst",
    "Dropout",
    "Meter",
    "Quantization",
    "Saturation",
    "Stuck",
    "SwitchingIncluded",
    "Transmission",
]


@dataclass(frozen=True)
class Transmission:
    """What a meter knows of a round besides the reading.

    Attributes
    ----------
    t : int
        The round, counted from one.
    variate : Array, shape (*batch,)
        The random numbers of the meter for this round.
    last : Array, shape (*batch,)
        The meter's own output of the round before; NaN in the first round.
    switching : Array, shape (*batch,)
        The switching cost of the round.
    """

    t: int
    variate: Array
    last: Array
    switching: Array


class Meter(Value, ABC):
    """One effect of a meter on the readings.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Doubled(Meter):
    ...     def read(self, y, transmission):
    ...         return 2.0 * y
    >>> Doubled().read(np.array([1.0, 3.0]), None)
    array([2., 6.])
    """

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Return the random numbers of one run, shape (horizon,); zeros by default.

        Parameters
        ----------
        rng : numpy.random.Generator
            The generator of the run.
        horizon : int
            The number of rounds; the first numbers must not depend on it.
        """
        return np.zeros(horizon)

    @abstractmethod
    def read(self, y: Array, transmission: Transmission) -> Array:
        """Return the reading that leaves the meter.

        Parameters
        ----------
        y : Array, shape (*batch,)
            The reading that enters it; NaN for none.
        transmission : Transmission
            The round, the random numbers and the last output.

        Returns
        -------
        Array, shape (*batch,)
            The reading; NaN for none.
        """


@register("BaseLoad")
@dataclass(frozen=True)
class BaseLoad(Meter):
    """A consumption that the meter measures together with the hitting cost.

    Parameters
    ----------
    level : float
        The mean base load.
    swing : float
        The amplitude of its periodic part, as a share of the level.
    period : float
        The period in rounds.
    walk : float
        The standard deviation of a step of its random walk.

    Examples
    --------
    >>> BaseLoad(level=5.0, swing=0.4, period=4.0).variates(np.random.default_rng(0), 4)
    array([5., 7., 5., 3.])
    """

    level: float = 0.0
    _: KW_ONLY
    swing: float = 0.0
    period: float = 288.0
    walk: float = 0.0

    def __post_init__(self) -> None:
        set_fields(
            self,
            level=number("level", self.level),
            swing=number("swing", self.swing, least=0.0),
            period=number("period", self.period, above=0.0),
            walk=number("walk", self.walk, least=0.0),
        )

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Return the base load of each round."""
        angle = 2.0 * math.pi * np.arange(horizon) / self.period
        drift = np.cumsum(self.walk * rng.standard_normal(horizon))
        return np.asarray(self.level * (1.0 + self.swing * np.sin(angle)) + drift)

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Add the base load."""
        return y + transmission.variate


@register("Saturation")
@dataclass(frozen=True)
class Saturation(Meter):
    """A meter that shows no more than its upper limit.

    Parameters
    ----------
    y_max : float
        The limit.

    Examples
    --------
    >>> Saturation(y_max=2.0).read(np.array([1.0, 3.0]), None)
    array([1., 2.])
    """

    y_max: float

    def __post_init__(self) -> None:
        set_fields(self, y_max=number("y_max", self.y_max))

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Limit the reading."""
        return np.minimum(y, self.y_max)


@register("Quantization")
@dataclass(frozen=True)
class Quantization(Meter):
    """A meter that rounds to multiples of a step.

    Parameters
    ----------
    step : float
        The step.

    Examples
    --------
    >>> Quantization(step=0.5).read(np.array([1.1, 1.4]), None)
    array([1. , 1.5])
    """

    step: float

    def __post_init__(self) -> None:
        set_fields(self, step=number("step", self.step, above=0.0))

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Round the reading."""
        return self.step * np.round(y / self.step)


@register("Dropout")
@dataclass(frozen=True)
class Dropout(Meter):
    """A meter that loses readings at random.

    Parameters
    ----------
    rate : float
        The share of the rounds without a reading.

    Examples
    --------
    >>> Dropout(rate=1.0).read(np.array([1.1]), Transmission(1, np.zeros(1), np.zeros(1), np.zeros(1)))
    array([nan])
    """

    rate: float

    def __post_init__(self) -> None:
        set_fields(self, rate=number("rate", self.rate, least=0.0, most=1.0))

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw numbers that are uniform on [0, 1)."""
        return rng.random(horizon)

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Lose the reading where the variate is below the rate."""
        return np.where(transmission.variate < self.rate, np.nan, y)


@register("Stuck")
@dataclass(frozen=True)
class Stuck(Meter):
    """A meter that repeats one reading for some rounds.

    Parameters
    ----------
    start, rounds : int
        The first round in which it is stuck, and the number of rounds.
    value : float, optional
        The reading that it repeats; the last one by default (none, if it is stuck in the first round).

    Examples
    --------
    >>> Stuck(start=2, rounds=3, value=0.0).read(np.ones(1), Transmission(4, np.zeros(1), np.ones(1), np.zeros(1)))
    array([0.])
    """

    start: int
    rounds: int
    _: KW_ONLY
    value: float | None = None

    def __post_init__(self) -> None:
        set_fields(self, start=integer("start", self.start, least=1), rounds=integer("rounds", self.rounds, least=1))
        if self.value is not None:
            set_fields(self, value=number("value", self.value))

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Repeat the reading while the meter is stuck."""
        if not self.start <= transmission.t < self.start + self.rounds:
            return y
        return np.array(transmission.last) if self.value is None else np.full(y.shape, self.value)


@register("Burst")
@dataclass(frozen=True)
class Burst(Meter):
    """A meter whose readings are wrong by a factor for some rounds.

    Parameters
    ----------
    start, rounds : int
        The first wrong reading, and the number of wrong readings.
    factor : float
        The factor, which may be negative.

    Examples
    --------
    >>> Burst(start=2, rounds=1, factor=100.0).read(np.ones(1), Transmission(2, np.zeros(1), np.ones(1), np.zeros(1)))
    array([100.])
    """

    start: int
    rounds: int
    _: KW_ONLY
    factor: float

    def __post_init__(self) -> None:
        set_fields(
            self,
            start=integer("start", self.start, least=1),
            rounds=integer("rounds", self.rounds, least=1),
            factor=number("factor", self.factor),
        )

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Multiply the reading during the burst."""
        return self.factor * y if self.start <= transmission.t < self.start + self.rounds else y


@register("SwitchingIncluded")
@dataclass(frozen=True)
class SwitchingIncluded(Meter):
    """A meter that measures the switching cost together with the hitting cost.

    Examples
    --------
    >>> SwitchingIncluded().read(np.ones(1), Transmission(1, np.zeros(1), np.ones(1), np.array([2.0])))
    array([3.])
    """

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Add the switching cost."""
        return y + transmission.switching
