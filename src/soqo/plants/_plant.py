"""The contract of a simulated plant: what a run looks like, what a position costs, and what the meter reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from soqo._foundation.figure_style import Theme
from soqo._foundation.frozen_dataclasses import Value
from soqo.typing import Array, ArrayLike, BoolArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOURS_PER_YEAR = 8760.0
"""For costs in money per year."""


@dataclass(frozen=True)
class Conditions(Value):
    """What happens to a plant, whatever the policy does. All arrays have the same leading shape.

    A plant draws conditions of the leading shape (rounds, runs), ``conditions[t]`` are those of a round, (runs,).

    Attributes
    ----------
    best : Array, shape (..., d)
        The best position by the plant's own table or solver. The cost of a position is counted from here.
    told : Array, shape (..., d)
        What the policy is told as v: the best position, with the error of the sensors.
    factor : Array of shape (...,), or None
        What multiplies the hitting cost of a round, with mean 1, as far as it is known in advance.
    unit : Array of shape (...,), or None
        What multiplies the noise and the offset of a reading, with mean 1.
    context : Array of shape (..., k), or None
        What is known about a round beside v; only the benchmark that knows A(context) is told.
    active : BoolArray of shape (..., d), or None
        Which actuators can move and count in a round.
    noise : Array, shape (...,)
        The noise of the readings, as the plant uses it; NaN for no reading.
    delay : IntArray of shape (...,), or None
        The number of rounds by which each reading is late.
    physics : mapping of str to Array
        What the plant itself needs, each of shape (..., k) or (...,): the wind, the load.
    """

    best: Array
    told: Array
    _: KW_ONLY
    factor: Array | None = None
    unit: Array | None = None
    context: Array | None = None
    active: BoolArray | None = None
    noise: Array
    delay: IntArray | None = None
    physics: Mapping[str, Array] = field(default_factory=lambda: MappingProxyType({}))

    def __len__(self) -> int:
        return len(self.best)

    def __getitem__(self, index: Any) -> Self:
        """Return the conditions of some rounds, or rounds and runs, by indices of the leading axes."""
        taken: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None:
                value = (
                    MappingProxyType({name: array[index] for name, array in value.items()})
                    if one.name == "physics"
                    else value[index]
                )
            taken[one.name] = value
        return type(self)(**taken)


class Plant(Value, ABC):
    """A plant that :func:`soqo.plants.drive` can steer. Subclass it as a frozen dataclass.

    Positions have shape (..., n, d) for conditions of the leading shape (n,): several policies meet the same
    conditions.

    Examples
    --------
    >>> from soqo.plants import WindFarm
    >>> plant = WindFarm()
    >>> isinstance(plant, Plant), plant.dim, plant.position_unit
    (True, 9, 'deg')
    """

    @property
    @abstractmethod
    def dim(self) -> int:
        """The number of actuators d."""

    @property
    @abstractmethod
    def switching_weight(self) -> ArrayLike:
        """The weight W of the switching cost 1/2 (x - x_prev)'W(x - x_prev), in kW."""

    @property
    @abstractmethod
    def actuators(self) -> Sequence[str]:
        """The names of the actuators."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What the plant is, in a few words."""

    @property
    @abstractmethod
    def round_minutes(self) -> float:
        """The duration of a round in minutes."""

    @property
    @abstractmethod
    def position_unit(self) -> str:
        """The unit of a position, such as deg."""

    @property
    @abstractmethod
    def price(self) -> float:
        """The price of energy, in EUR/MWh."""

    @property
    def period(self) -> float | None:
        """The period of a position that is an angle; None otherwise."""
        return None

    @property
    def lag(self) -> float:
        """The time constant in rounds with which the plant follows its actuators; 0 if it follows at once."""
        return 0.0

    @property
    def max_delay(self) -> int:
        """The largest number of rounds by which a reading is late."""
        return 0

    @property
    @abstractmethod
    def typical_step(self) -> float:
        """The size of a deviation x - v for which A is fitted, and of a probe, in the unit of a position."""

    @property
    @abstractmethod
    def deadband(self) -> float:
        """The deadband with which such plants are run today, in the unit of a position."""

    @property
    def trusted_distance(self) -> float | None:
        """The distance |x - v| up to which the hitting cost is nearly quadratic, as an engineer knows it.

        It is in the unit of a position; None if the cost is quadratic.
        """
        return None

    @property
    def v_is_minimizer(self) -> bool:
        """Whether v is known to be the minimizer, without an unknown offset."""
        return False

    @property
    @abstractmethod
    def reading_deviation(self) -> float:
        """The standard deviation of the noise of a reading, in kW, as an engineer knows it."""

    @abstractmethod
    def draw(self, rounds: int, seeds: Sequence[int]) -> Conditions:
        """Return the conditions of some runs, of the leading shape (rounds, runs).

        Parameters
        ----------
        rounds : int
            The number of rounds.
        seeds : sequence of int
            One seed for each run.
        """

    @abstractmethod
    def lost(self, conditions: Conditions, x: Array) -> Array:
        """Return the hitting cost in kW: what the position costs more than the best one, shape (..., n).

        Parameters
        ----------
        conditions : Conditions
            The conditions of n cases.
        x : Array, shape (..., n, d)
            The positions.
        """

    @abstractmethod
    def read(self, conditions: Conditions, lost: Array) -> Array:
        """Return the readings in kW, shape (..., n); NaN where there is none.

        Parameters
        ----------
        conditions : Conditions
            The conditions of n cases.
        lost : Array, shape (..., n)
            The hitting costs.
        """

    def move(self, conditions: Conditions, x_prev: Array, x: Array) -> Array:
        """Return where the actuators go if they are told to go to x; an actuator that is not active stays.

        Parameters
        ----------
        conditions : Conditions
            The conditions of n cases.
        x_prev, x : Array, shape (..., n, d)
            The positions before, and what the policy asks for.
        """
        return x if conditions.active is None else np.where(conditions.active, x, x_prev)

    def switching_cost(self, x_prev: Array, x: Array) -> Array:
        """Return the switching cost in kW, shape (..., n).

        Parameters
        ----------
        x_prev, x : Array, shape (..., n, d)
            The positions before and after the move.
        """
        weight, step = np.asarray(self.switching_weight, dtype=np.float64), x - x_prev
        if weight.ndim == 2:
            return np.asarray(0.5 * np.einsum("...i,ij,...j->...", step, weight, step))
        return np.asarray(0.5 * np.sum(weight * step**2, axis=-1))

    @abstractmethod
    def draw_map(self, axes: Axes, conditions: Conditions, x: Array, theme: Theme) -> None:
        """Draw the plant at a moment (extra ``lab``).

        Parameters
        ----------
        axes : matplotlib.axes.Axes
            Where to draw.
        conditions : Conditions
            The conditions of one case, without leading axes.
        x : Array, shape (d,)
            The position.
        theme : Theme
            The colors.
        """

    @abstractmethod
    def describe(self, conditions: Conditions) -> str:
        """Return a sentence or two about the plant and its conditions.

        Parameters
        ----------
        conditions : Conditions
            The conditions of all rounds and runs.
        """

    def violations(self, conditions: Conditions, x: Array) -> Array:
        """Return the share of the plant's limits that a position violates, shape (..., n).

        Parameters
        ----------
        conditions : Conditions
            The conditions of n cases.
        x : Array, shape (..., n, d)
            The positions.
        """
        return np.zeros(x.shape[:-1])
