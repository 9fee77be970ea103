"""A wind farm: the policy turns the turbines, the power of the farm is the reading, and turning wears them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._foundation.arguments import finite_array, integer, number
from soqo._foundation.figure_style import Theme
from soqo._foundation.frozen_dataclasses import freeze, set_fields
from soqo._foundation.random_streams import stream
from soqo.errors import ArgumentError
from soqo.plants._plant import Conditions, Plant
from soqo.plants._tables import window_of_run
from soqo.plants._wind_farm._gaussian_wake import GaussianWake
from soqo.plants._wind_farm._headings import HeadingTable, WakeModel, make_table, mean_power
from soqo.plants._wind_farm._map import draw_farm
from soqo.plants._wind_farm._turbine import Turbine
from soqo.plants._wind_farm._wind import Wind
from soqo.typing import Array, ArrayLike, BoolArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CALM = 3.5
"""Below this wind speed in m/s the farm hardly produces, and there is no reading."""

_LEAST_UNIT = 1e-3
"""The unit of the reading of a farm that produces nothing."""

_OUTAGE_ROUNDS = 24.0
"""The mean duration of an outage: four hours."""

_TRUSTED_YAW = 20.0
"""The deviation of each turbine, in degrees, up to which the hitting cost is nearly quadratic."""

_TYPICAL_SPEED = 8.0
"""In m/s, for the size of the noise."""

_CHUNK = 4000
"""Cases per call of the wake model, which bounds the memory."""


@dataclass(frozen=True)
class WindFarm(Plant):
    """A wind farm whose turbines are turned once per 10 minutes.

    The position x is the heading of each turbine in degrees, and v the heading with which the farm produces most, from
    a table that the plant computes. The hitting cost is the power lost against v. The reading compares the metered
    power with that of the model, ``(1 + offset) P_model(v) - P(x) (1 + noise)``.

    Parameters
    ----------
    layout : array_like, shape (d, 2)
        The positions of the turbines in rotor diameters, to the east and to the north; by default a square of three by
        three at 5 diameters.
    model : GaussianWake, FlorisWake or another object with their method ``power``
        The wake model, which is the plant.
    wind : Wind, optional
        The wind. Each run has its own window of it. By default it is drawn: :meth:`Wind.synthetic`.
    constant_speed : float, optional
        A wind speed in m/s instead of that of the wind.
    wear : float
        The weight W of the switching cost in kW/deg^2: a turn by z degrees costs 1/2 W z^2.
    noise : float
        The standard deviation of the metered power, as a share of it.
    offset : float
        The error of the model's power, as a share of it.
    missing : float
        The share of the readings that are missing.
    delays : tuple of two int
        The smallest and the largest number of rounds by which a reading is late.
    vane_bias : float
        The standard deviation over the turbines of the error of v in degrees.
    unavailability : float
        The share of the time in which a turbine stands still, in outages of four hours on average.
    lag : float
        The time constant in rounds with which the power answers to a turn; 0 for at once.
    compass : bool
        Whether v is told as a compass direction from 0 to 360, which jumps at north.
    price : float
        The price of energy, in EUR/MWh.

    Examples
    --------
    >>> farm = WindFarm()
    >>> conditions = farm.draw(rounds=100, seeds=[0])
    >>> bool(np.abs(farm.lost(conditions[0], conditions.best[0])).max() < 1e-9)
    True
    """

    _: KW_ONLY
    layout: ArrayLike = field(default=tuple((5.0 * k, 5.0 * j) for j in range(3) for k in range(3)), repr=False)
    model: WakeModel = field(default_factory=GaussianWake)
    wind: Wind | None = None
    constant_speed: float | None = None
    wear: float = 2.0
    noise: float = 0.015
    offset: float = 0.03
    missing: float = 0.0
    delays: tuple[int, int] = (0, 0)
    vane_bias: float = 0.0
    unavailability: float = 0.0
    lag: float = 0.0
    compass: bool = True
    price: float = 60.0

    def __post_init__(self) -> None:
        layout = finite_array("layout", self.layout)
        if layout.ndim != 2 or layout.shape[1] != 2 or not len(layout):
            raise ArgumentError(f"layout must have shape (d, 2), got {layout.shape}")
        if not callable(getattr(self.model, "power", None)):
            raise ArgumentError(f"model must have a method power, got {type(self.model).__name__}")
        if self.wind is not None and not isinstance(self.wind, Wind):
            raise ArgumentError(f"wind must be a Wind, got {type(self.wind).__name__}")
        checked: dict[str, Any] = {
            name: number(name, getattr(self, name), least=0.0)
            for name in ("noise", "offset", "vane_bias", "lag", "price")
        }
        checked |= {
            name: number(name, getattr(self, name), least=0.0, most=0.9) for name in ("missing", "unavailability")
        }
        first, last = self.delays
        checked["delays"] = integer("delays", first, least=0), integer("delays", last, least=first)
        if self.constant_speed is not None:
            checked["constant_speed"] = number("constant_speed", self.constant_speed, above=0.0)
        set_fields(self, layout=freeze(layout), wear=number("wear", self.wear, above=0.0), **checked)

    # ---- what a plant declares ---------------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        return len(np.asarray(self.layout))

    @property
    def switching_weight(self) -> float:
        return self.wear

    @property
    def actuators(self) -> Sequence[str]:
        return [f"turbine {k + 1}" for k in range(self.dim)]

    @property
    def title(self) -> str:
        return f"A wind farm with {self.dim} turbines"

    @property
    def round_minutes(self) -> float:
        return 10.0

    @property
    def position_unit(self) -> str:
        return "deg"

    @property
    def period(self) -> float | None:
        return 360.0 if self.compass else None

    @property
    def max_delay(self) -> int:
        return self.delays[1]

    @property
    def typical_step(self) -> float:
        return 8.0

    @property
    def deadband(self) -> float:
        return 8.0

    @property
    def trusted_distance(self) -> float:
        return _TRUSTED_YAW * math.sqrt(self.dim)

    @property
    def reading_deviation(self) -> float:
        typical_power = float(self.turbine.power_at(np.array(_TYPICAL_SPEED)))
        return max(self.noise * self.dim * typical_power, 1e-3)

    @property
    def turbine(self) -> Turbine:
        """The turbine of the wake model, or the default one if the model does not say."""
        return getattr(self.model, "turbine", Turbine())

    @property
    def places(self) -> Array:
        """The positions of the turbines in m, shape (d, 2)."""
        return np.asarray(self.layout) * self.turbine.diameter

    def table(self) -> HeadingTable:
        """Return the table of the headings with which the farm produces most; it is computed once."""
        # The table of the embedded model also serves FLORIS, whose own optimizer would need minutes.
        model = self.model if isinstance(self.model, GaussianWake) else GaussianWake(turbine=self.turbine)
        return make_table(model, tuple((float(east), float(north)) for east, north in self.places))

    # ---- what a plant does -------------------------------------------------------------------------------------------

    def draw(self, rounds: int, seeds: Sequence[int]) -> Conditions:
        winds = [self._wind_of_run(rounds, run, seeds) for run in range(len(seeds))]
        direction = np.stack([np.asarray(wind.direction) for wind in winds], axis=1)
        speed = np.stack([np.asarray(wind.speed) for wind in winds], axis=1)
        best = self.table().headings(direction, speed)
        bias = np.stack([self.vane_bias * stream(seed, 0, "offset").standard_normal(self.dim) for seed in seeds])
        told = best + bias
        active = self._draw_outages(rounds, seeds) if self.unavailability else None
        reference = self._power(direction, speed, best, active)
        noise = np.stack([self._draw_noise(rounds, seed) for seed in seeds], axis=1)
        factor = self.turbine.curvature_at(speed)
        return Conditions(
            best=best,
            told=told % 360.0 if self.compass else told,
            factor=factor / max(float(factor.mean()), 1e-12),
            unit=np.maximum(reference / max(float(reference.mean()), 1e-12), _LEAST_UNIT),
            context=speed[..., None],
            active=active,
            noise=np.where(speed < _CALM, np.nan, noise),
            delay=self._draw_delays(rounds, seeds),
            physics={"direction": direction, "speed": speed, "reference": reference},
        )

    def lost(self, conditions: Conditions, x: Array) -> Array:
        physics = conditions.physics
        power = self._power(physics["direction"], physics["speed"], x, conditions.active)
        return physics["reference"] - power

    def read(self, conditions: Conditions, lost: Array) -> Array:
        reference = conditions.physics["reference"]
        return (1.0 + self.offset) * reference - (reference - lost) * (1.0 + self.noise * conditions.noise)

    def draw_map(self, axes: Axes, conditions: Conditions, x: Array, theme: Theme) -> None:
        wind = float(conditions.physics["direction"]), float(conditions.physics["speed"])
        model = self.model if isinstance(self.model, GaussianWake) else GaussianWake(turbine=self.turbine)
        draw_farm(axes, model, self.places, wind, (x, conditions.best), theme)

    def describe(self, conditions: Conditions) -> str:
        power, speed = conditions.physics["reference"].mean(), conditions.physics["speed"]
        return (
            f"{self.dim} turbines of the NREL 5 MW type produce {power / 1e3:.1f} MW on average at "
            f"{speed.min():.1f} to {speed.max():.1f} m/s. The position is the heading of each turbine, v the heading "
            "with which the farm produces most, and the reading the power lost, by a meter with "
            f"{100 * self.noise:g} % noise and a model that is {100 * self.offset:g} % off. Turning by z degrees wears "
            f"a turbine by {0.5 * self.wear:g} z² kW."
        )

    def _power(self, direction: Array, speed: Array, headings: Array, active: BoolArray | None) -> Array:
        """Return the power of the farm in kW; the wind has shape (...,), and headings (..., d) after more axes."""
        shape, d = headings.shape[:-1], self.dim
        flat = headings.reshape(-1, d)
        wind = [np.broadcast_to(part, shape).ravel() for part in (direction, speed)]
        runs = None if active is None else np.broadcast_to(active, headings.shape).reshape(-1, d)
        places = self.places
        parts = [
            mean_power(self.model, places, wind[0][k], wind[1][k], flat[k], None if runs is None else runs[k])
            for k in (slice(start, start + _CHUNK) for start in range(0, len(flat), _CHUNK))
        ]
        return np.concatenate(parts).reshape(shape)

    # ---- random parts ------------------------------------------------------------------------------------------------

    def _wind_of_run(self, rounds: int, run: int, seeds: Sequence[int]) -> Wind:
        """Return the wind of a run: its own draw, or its own window of the farm's wind."""
        if self.wind is None:
            wind = Wind.synthetic(rounds, seeds[run])
        else:
            wind = self.wind.window(window_of_run(len(self.wind), rounds, run, len(seeds)))
        if self.constant_speed is None:
            return wind
        return Wind(wind.direction, np.full(rounds, self.constant_speed))

    def _draw_noise(self, rounds: int, seed: int) -> Array:
        """Return standard normal noise, NaN for missing readings."""
        rng = stream(seed, 0, "noise")
        noise = rng.standard_normal(rounds)
        return np.where(rng.random(rounds) < self.missing, np.nan, noise)

    def _draw_delays(self, rounds: int, seeds: Sequence[int]) -> IntArray | None:
        first, last = self.delays
        if not last:
            return None
        return np.stack([stream(seed, 0, "delay").integers(first, last + 1, rounds) for seed in seeds], axis=1)

    def _draw_outages(self, rounds: int, seeds: Sequence[int]) -> BoolArray:
        """Return which turbines run: a chain with two states for each turbine."""
        fail = self.unavailability / (1.0 - self.unavailability) / _OUTAGE_ROUNDS
        active = np.empty((rounds, len(seeds), self.dim), dtype=np.bool_)
        for k, seed in enumerate(seeds):
            rng = stream(seed, 0, "meter")
            running = rng.random(self.dim) >= self.unavailability
            for t in range(rounds):
                draw = rng.random(self.dim)
                running = np.where(running, draw >= fail, draw < 1.0 / _OUTAGE_ROUNDS)
                active[t, k] = running
        return active
