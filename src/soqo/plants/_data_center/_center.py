"""A data center: the policy sets the supply temperatures, the meter reads power, and changes wear the units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._foundation.arguments import integer, number
from soqo._foundation.figure_style import Theme
from soqo._foundation.frozen_dataclasses import set_fields
from soqo._foundation.random_streams import stream
from soqo._simulation.autoregression import draw_autoregression
from soqo.errors import ArgumentError
from soqo.plants._data_center._load import ROUNDS_PER_DAY, Load, rack_utilization
from soqo.plants._data_center._map import draw_room
from soqo.plants._data_center._room import Room, make_room
from soqo.plants._data_center._set_points import CoolingCost
from soqo.plants._plant import Conditions, Plant
from soqo.plants._tables import window_of_run
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TRUSTED_STEP = 0.33
"""The deviation of each unit, in degrees, up to which the hitting cost is nearly quadratic."""

_IDLE_SHARE = 0.4
"""The power of an idle rack as a share of its peak."""

_BASE_WANDER, _BASE_MEMORY = 0.2, 0.95
"""What the other consumers do beside their daily cycle, as a share of its amplitude: a first-order autoregression."""


@dataclass(frozen=True)
class DataCenter(Plant):
    """A data center whose cooling units get a new supply temperature every five minutes.

    The position x is the supply temperature of each unit in degrees Celsius, and v the best one for the load, which the
    plant's own solver finds. The hitting cost is the cost of x minus that of v: the power of the units, and a steep
    convex penalty on warm inlets. The reading is the metered power of units and other consumers plus the penalty that
    the inlet sensors show, minus what the model expects at v. What the other consumers use is not known, so it is a
    base load in the readings that moves with the time of day.

    Parameters
    ----------
    units : int
        The number of cooling units.
    rows, racks_per_row : int
        The number of rows of racks, and of racks in a row.
    peak : float
        The power of a fully loaded rack in kW.
    load : Load, optional
        The mean utilization. Each run has its own window of it. By default it is drawn: :meth:`Load.synthetic`.
    wear : float
        The weight W of the switching cost in kW/K^2: a change by z K costs 1/2 W z^2.
    warm, limit : float
        The inlet temperature in degrees Celsius at which the penalty sets in, and that which counts as a violation (27
        is the upper end of what ASHRAE recommends).
    steepness : float
        The penalty of a rack is 1/2 steepness e^2 in kW for an excess of e K.
    softness : float
        The width in K over which the penalty sets in.
    low, high : float
        The limits of the set points.
    base_swing : float
        The amplitude of the daily cycle of the other consumers, in kW.
    noise : float
        The standard deviation of the meter, in kW.
    missing : float
        The share of the readings that are missing.
    price : float
        The price of energy, in EUR/MWh.

    Examples
    --------
    >>> center = DataCenter()
    >>> conditions = center.draw(rounds=100, seeds=[0])
    >>> bool((center.lost(conditions[0], conditions.best[0] + 0.5) > 0.0).all())
    True
    """

    _: KW_ONLY
    units: int = 6
    rows: int = 6
    racks_per_row: int = 6
    peak: float = 12.0
    load: Load | None = None
    wear: float = 12.0
    warm: float = 26.0
    limit: float = 27.0
    steepness: float = 4.0
    softness: float = 1.0
    low: float = 8.0
    high: float = 26.0
    base_swing: float = 6.0
    noise: float = 0.5
    missing: float = 0.0
    price: float = 120.0

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {name: integer(name, getattr(self, name), least=1) for name in ("rows", "units")}
        checked["racks_per_row"] = integer("racks_per_row", self.racks_per_row, least=2)
        checked |= {
            name: number(name, getattr(self, name), above=0.0) for name in ("peak", "wear", "steepness", "softness")
        }
        checked |= {name: number(name, getattr(self, name), least=0.0) for name in ("base_swing", "noise", "price")}
        checked["missing"] = number("missing", self.missing, least=0.0, most=0.9)
        checked |= {name: number(name, getattr(self, name)) for name in ("warm", "limit")}
        checked["low"] = number("low", self.low, least=5.0)  # below, the cost is not convex
        checked["high"] = number("high", self.high, above=checked["low"])
        if self.load is not None and not isinstance(self.load, Load):
            raise ArgumentError(f"load must be a Load, got {type(self.load).__name__}")
        set_fields(self, **checked)

    # ---- what a plant declares ---------------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        return self.units

    @property
    def switching_weight(self) -> float:
        return self.wear

    @property
    def actuators(self) -> Sequence[str]:
        return [f"unit {k + 1}" for k in range(self.units)]

    @property
    def title(self) -> str:
        return f"A data center with {self.units} cooling units"

    @property
    def round_minutes(self) -> float:
        return 24.0 * 60.0 / ROUNDS_PER_DAY

    @property
    def position_unit(self) -> str:
        return "°C"

    @property
    def typical_step(self) -> float:
        return 0.7

    @property
    def deadband(self) -> float:
        return 0.5

    @property
    def trusted_distance(self) -> float:
        return _TRUSTED_STEP * math.sqrt(self.units)

    @property
    def v_is_minimizer(self) -> bool:
        return True  # the solver knows the room

    @property
    def reading_deviation(self) -> float:
        return max(self.noise, 1e-3)

    @property
    def room(self) -> Room:
        """The matrices of the room."""
        return make_room(self.units, self.rows, self.racks_per_row)

    @property
    def cost(self) -> CoolingCost:
        """The cost of set points, and its solver."""
        return CoolingCost(
            self.room,
            warm=self.warm,
            steepness=self.steepness,
            softness=self.softness,
            low=self.low,
            high=self.high,
        )

    # ---- what a plant does -------------------------------------------------------------------------------------------

    def draw(self, rounds: int, seeds: Sequence[int]) -> Conditions:
        power = np.stack([self._draw_power(rounds, k, seeds) for k in range(len(seeds))], axis=1)
        base = np.stack([self._draw_base(rounds, seed) for seed in seeds], axis=1)
        noise = np.stack([self._draw_noise(rounds, seed) for seed in seeds], axis=1)
        cost = self.cost
        racks = power.shape[-1]
        best = cost.minimize(power.reshape(-1, racks)).reshape(*power.shape[:-1], self.units)
        total = power.sum(axis=-1)
        return Conditions(
            best=best,
            told=best,
            context=(total / total.mean())[..., None],
            noise=noise,
            physics={"power": power, "base": base, "reference": cost.value(best, power)},
        )

    def lost(self, conditions: Conditions, x: Array) -> Array:
        return self.cost.value(x, conditions.physics["power"]) - conditions.physics["reference"]

    def read(self, conditions: Conditions, lost: Array) -> Array:
        return lost + conditions.physics["base"] + self.noise * conditions.noise

    def move(self, conditions: Conditions, x_prev: Array, x: Array) -> Array:
        return np.clip(super().move(conditions, x_prev, x), self.low, self.high)

    def violations(self, conditions: Conditions, x: Array) -> Array:
        return np.asarray(np.mean(self.room.inlet(x, conditions.physics["power"]) > self.limit, axis=-1))

    def draw_map(self, axes: Axes, conditions: Conditions, x: Array, theme: Theme) -> None:
        inlet = self.room.inlet(x, conditions.physics["power"])
        places = self.room.racks, self.room.units
        draw_room(axes, places, (inlet, x, conditions.best), (self.warm - 4.0, self.limit), theme)

    def describe(self, conditions: Conditions) -> str:
        power = conditions.physics["power"].sum(axis=-1)
        cooling = self.cost.cooling_power(conditions.best, conditions.physics["power"])
        return (
            f"{self.rows * self.racks_per_row} racks use {power.min():.0f} to {power.max():.0f} kW, and the best "
            f"cooling {cooling.mean():.0f} kW on average. The position is the supply temperature of each unit, v the "
            "best one for the load, and the reading the metered power minus what a model expects at v: it contains "
            f"other consumers that swing by {self.base_swing:g} kW over the day. Changing a set point by z K wears a "
            f"unit by {0.5 * self.wear:g} z² kW. Inlets above {self.limit:g} °C violate the limit."
        )

    # ---- random parts ------------------------------------------------------------------------------------------------

    def _draw_power(self, rounds: int, run: int, seeds: Sequence[int]) -> Array:
        """Return the power of the racks in kW, shape (rounds, racks)."""
        rng = stream(seeds[run], 0, "steps")
        if self.load is None:
            load = Load.synthetic(rounds, rng)
        else:
            load = self.load.window(window_of_run(len(self.load), rounds, run, len(seeds)))
        used = rack_utilization(load, self.rows * self.racks_per_row, rng)
        return self.peak * (_IDLE_SHARE + (1.0 - _IDLE_SHARE) * used)

    def _draw_base(self, rounds: int, seed: int) -> Array:
        """Return what the other consumers use more than the model expects, in kW."""
        rng = stream(seed, 0, "offset")
        phase = 2.0 * np.pi * np.arange(rounds) / ROUNDS_PER_DAY
        wander = draw_autoregression([rng], rounds, dim=1, scale=_BASE_WANDER, correlation=_BASE_MEMORY)[0, :, 0]
        return self.base_swing * (1.0 - np.cos(phase) + wander)

    def _draw_noise(self, rounds: int, seed: int) -> Array:
        """Return standard normal noise, NaN for missing readings."""
        rng = stream(seed, 0, "noise")
        noise = rng.standard_normal(rounds)
        return np.where(rng.random(rounds) < self.missing, np.nan, noise)
