"""The plants of unseen_plants.py: their equations, weather and meters, each drawn from a seed.

Nothing here comes from soqo.plants, and no constant of a policy was chosen on these plants. Costs are in kW. A plant
tells its true hitting cost, the power above the least possible one at that time; a reading is this cost and whatever
else the meter sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from soqo.typing import Array

Hitting = Callable[[Array, Any], Array]
"""The true hitting cost of positions (..., d) in the rounds of an index of shape (...)."""

DAY = 96
"""Rounds per day where a round has 15 minutes."""

KEPT = 4
"""Weathers, and the minima that belong to them, that a process keeps."""


class Plant(NamedTuple):
    """A plant that is drawn: T rounds, d actuators.

    Attributes
    ----------
    v : Array, shape (T, d)
        The minimizers that the player is told.
    hitting : callable
        The true hitting cost.
    added : Array, shape (T,)
        What a reading contains beside the hitting cost: base load, error of a model, noise.
    noise : float
        The deviation of the noise.
    weight : float
        The switching weight, for every actuator.
    low, high, rate : Array, shape (d,)
        The limits of the actuators.
    gain : Array, shape (T,)
        What multiplies a reading; NaN where it is missing.
    resolution : float
        Readings are multiples of this; 0 for any.
    delay : int
        The rounds by which readings are late.
    stuck : int or None
        The round from which on the meter repeats its last reading.
    x0 : Array of shape (d,), or None
        Where the plant begins; at the first v unless given.
    covariates : Array of shape (T, k), or None
        What the player may be told of what moves the base load.
    """

    v: Array
    hitting: Hitting
    added: Array
    noise: float
    weight: float
    low: Array
    high: Array
    rate: Array
    gain: Array
    resolution: float = 0.0
    delay: int = 0
    stuck: int | None = None
    x0: Array | None = None
    covariates: Array | None = None

    @property
    def start(self) -> Array:
        """Where the plant begins, shape (d,)."""
        return np.asarray(self.v[0] if self.x0 is None else self.x0)

    def reading(self, x: Array, t: int) -> float:
        """Return what the meter shows in a round."""
        y = float(self.gain[t] * (self.hitting(x, t) + self.added[t]))
        return self.resolution * round(y / self.resolution) if self.resolution and not math.isnan(y) else y


def autoregression(rng: np.random.Generator, rounds: int, deviation: float, memory: float, dim: int = 1) -> Array:
    """Draw stationary series of this deviation, whose correlation from round to round is ``memory``."""
    found = rng.standard_normal((rounds, dim))
    found[1:] *= math.sqrt(1.0 - memory**2)
    for t in range(1, rounds):
        found[t] += memory * found[t - 1]
    return deviation * found


def daily(rounds: int, phase: float = 0.0, day: int = DAY) -> Array:
    """Return a sine over the day; the phase is a share of it."""
    return np.sin(2.0 * np.pi * (np.arange(rounds) / day + phase))


def around(rng: np.random.Generator, value: float, spread: float) -> float:
    """Draw a positive number that differs from a value by about a relative spread."""
    return float(value * math.exp(spread * rng.uniform(-1.0, 1.0)))


def smooth_floor(z: Array, least: float, width: float) -> Array:
    """Return z, smoothly bounded from below."""
    above = z - least
    return np.asarray(least + 0.5 * (above + np.sqrt(above**2 + width**2)))


def minimize(cost: Callable[[Array], Array], start: Array, unit: Array, steps: int = 60) -> Array:
    """Return local minimizers of many functions of few variables, by a damped Newton method with differences.

    Parameters
    ----------
    cost : callable
        Returns the costs (..., n) of positions (..., n, d).
    start : Array, shape (n, d)
        Where to begin.
    unit : Array, shape (d,)
        The distance over which a cost changes its slope.
    steps : int
        The largest number of steps.
    """
    dim, h = start.shape[1], 0.02
    first, second = np.triu_indices(dim, 1)
    corners = np.eye(dim)[first] + np.eye(dim)[second]
    stencil = h * unit * np.concatenate([np.zeros((1, dim)), np.eye(dim), -np.eye(dim), corners, -corners])
    lengths = np.array([1.0, 0.5, 0.2, 0.05, 0.01, 0.0])[:, None, None]
    x = start.copy()
    for _ in range(steps):
        values = cost(x + stencil[:, None])
        here, up, down = values[0], values[1 : dim + 1], values[dim + 1 : 2 * dim + 1]
        both, neither = np.split(values[2 * dim + 1 :], 2)
        slope = (up - down).T / (2.0 * h)
        H = np.zeros((len(x), dim, dim))
        H[:, range(dim), range(dim)] = (up - 2.0 * here + down).T / h**2
        mixed = (both + neither - up[first] - up[second] - down[first] - down[second] + 2.0 * here) / (2.0 * h**2)
        H[:, first, second] = H[:, second, first] = mixed.T
        eigenvalues, vectors = np.linalg.eigh(H)
        stiff = np.maximum(np.abs(eigenvalues), 1e-6 * np.abs(eigenvalues).max(axis=1, keepdims=True) + 1e-12)
        step = -np.matvec(vectors, np.vecmat(slope, vectors) / stiff)
        step *= np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-12))
        tried = x + lengths * (unit * step)
        best = np.argmin(cost(tried), axis=0)
        after = tried[best, np.arange(len(x))]
        moved = float(np.abs((after - x) / unit).max())
        x = after
        if moved < 1e-6:
            break
    return x


def seeded(kind: str, seed: int) -> np.random.Generator:
    """Return the generator of a plant."""
    return np.random.default_rng([seed, *kind.encode()])


# ---- a chiller plant -------------------------------------------------------------------------------------------------

CHILLER_ROUNDS = 1152
"""Twelve days of rounds of 15 minutes."""

AIR, RATED_LOAD = 24.0, 600.0
"""The temperature of the air that returns, °C, and the rated load, kW."""


class Chiller(NamedTuple):
    """A chiller with its pump, its cooling tower and the fans of the air.

    The position is the temperature of the chilled water and of the condenser water in °C, and the pressure of the air
    in hPa. A higher lift lowers the coefficient of performance. Warm chilled water, and air of low pressure, need more
    flow, whose power is cubic; so does condenser water that is close to the wet bulb.
    """

    efficiency: float
    pump: float
    tower: float
    fan: float
    coil: float
    wet_bulb_error: float = 0.0

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Chiller:
        """Draw a plant."""
        ranges = ((0.55, 0.1), (9.0, 0.3), (8.0, 0.3), (9.0, 0.3), (7.5, 0.1))
        return cls(*(around(rng, value, spread) for value, spread in ranges))

    def mistaken(self, rng: np.random.Generator) -> Chiller:
        """Return a wrong model of the plant."""
        spreads = (0.06, 0.4, 0.4, 0.4, 0.1)
        wrong = Chiller(*(around(rng, value, spread) for value, spread in zip(self[:5], spreads, strict=True)))
        return wrong._replace(wet_bulb_error=float(rng.uniform(-1.0, 1.0)))

    def power(self, x: Array, load: Array, wet_bulb: Array) -> Array:
        """Return the total power in kW."""
        chilled, condenser, pressure = x[..., 0], x[..., 1], smooth_floor(x[..., 2], 0.5, 0.3)
        share = load / RATED_LOAD
        cold, hot = chilled - 2.0 + 273.15, condenser + 3.0 + 273.15
        part_load = 1.0 - 0.25 * (share - 0.9) ** 2
        performance = self.efficiency * part_load * cold / smooth_floor(hot - cold, 6.0, 2.0)
        warming = AIR - self.coil * share**0.6 * np.sqrt(3.0 / pressure) - chilled
        pump = self.pump * (share * 8.0 / smooth_floor(warming, 2.5, 1.0)) ** 3
        approach = smooth_floor(condenser - wet_bulb - self.wet_bulb_error, 2.0, 1.0)
        tower = self.tower * (share * (1.0 + 1.0 / performance) * 5.5 / approach) ** 3
        return np.asarray(load / performance + pump + tower + self.fan * share * pressure**1.5 / 3.0**1.5)


@lru_cache(maxsize=KEPT)
def chiller(seed: int) -> tuple[Chiller, Chiller, Array, Array, Array, Array, Array]:
    """Draw a plant, a wrong model, load and wet bulb, both minimizers and the noise."""
    rng = seeded("chiller", seed)
    plant = Chiller.draw(rng)
    model = plant.mistaken(rng)
    T, phase = CHILLER_ROUNDS, float(rng.uniform())
    swing = 90.0 * daily(T, phase) + autoregression(rng, T, 75.0, 0.75)[:, 0]
    load = np.clip(around(rng, 560.0, 0.1) + swing, 250.0, 900.0)
    weather = 3.0 * daily(T, phase - 0.05) + autoregression(rng, T, 1.2, 0.9)[:, 0]
    wet_bulb = around(rng, 17.0, 0.1) + weather
    unit, start = np.ones(3), np.stack([np.full(T, 8.0), wet_bulb + 5.0, np.full(T, 3.0)], axis=1)
    own, wrong = (minimize(partial(one.power, load=load, wet_bulb=wet_bulb), start, unit) for one in (plant, model))
    return plant, model, load, wet_bulb, own, wrong, rng.standard_normal(T)


def draw_chiller(seed: int, variant: str, weight: float = 5.0) -> Plant:
    """Return a chiller: "exact", "raw", "told" (raw, with covariates), or "model" (v and reading of a wrong model)."""
    plant, model, load, wet_bulb, own, wrong, variates = chiller(seed)
    least = plant.power(own, load, wet_bulb)

    def hitting(x: Array, t: Any) -> Array:
        return np.asarray(plant.power(x, load[t], wet_bulb[t]) - least[t])

    base = {"exact": np.zeros_like(least), "model": least - model.power(wrong, load, wet_bulb)}.get(variant, least)
    noise = 0.4
    return Plant(
        v=wrong if variant == "model" else own,
        hitting=hitting,
        added=base + noise * variates,
        noise=noise,
        weight=weight,
        low=np.array([2.0, 12.0, 0.8]),
        high=np.array([16.0, 36.0, 9.0]),
        rate=np.array([3.0, 3.0, 2.0]),
        gain=np.ones(len(own)),
        covariates=np.stack([load, wet_bulb], axis=1) if variant == "told" else None,
    )


# ---- a wind farm -----------------------------------------------------------------------------------------------------

FARM_ROUNDS = 1000
TABLE_SPEED = 8.0
"""The wind speed for which the table of headings was made, m/s."""


class Farm(NamedTuple):
    """Six turbines in a row, with wakes of a Gaussian shape that yaw deflects.

    The position is the heading of each turbine in degrees; lengths are in rotor diameters.
    """

    places: Array
    expansion: float
    deflection: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Farm:
        """Draw a row along the main wind direction."""
        row = np.stack([rng.uniform(5.0, 7.0) * np.arange(6), 0.06 * rng.standard_normal(6)], axis=1)
        return cls(row, around(rng, 0.035, 0.2), around(rng, 0.30, 0.15))

    def power(self, x: Array, direction: Array, speed: Array) -> Array:
        """Return the power of the farm in kW for headings (..., 6); wind from 270 degrees blows along the x axis."""
        angle, speed = np.radians(270.0 - np.asarray(direction)), np.asarray(speed)
        gap = self.places[None] - self.places[:, None]  # from the turbine upstream to the one downstream
        along = np.cos(angle)[..., None, None] * gap[..., 0] + np.sin(angle)[..., None, None] * gap[..., 1]
        across = np.cos(angle)[..., None, None] * gap[..., 1] - np.sin(angle)[..., None, None] * gap[..., 0]
        yaw = np.radians(x - np.asarray(direction)[..., None])
        cosine = np.maximum(np.cos(yaw), 0.05)
        thrust = 0.78 / (1.0 + np.exp((speed - 12.5) / 1.2))[..., None] * cosine
        wake = along > 0.5
        distance = np.where(wake, along, 1.0)
        width = 0.28 + self.expansion * distance
        turned = (self.deflection * thrust * cosine * np.sin(yaw))[..., None] * distance / (1.0 + 0.06 * distance)
        center = 1.0 - np.sqrt(np.maximum(1.0 - (thrust * cosine)[..., None] / (8.0 * width**2), 0.02))
        deficit = np.where(wake, center * np.exp(-0.5 * ((across - turned) / width) ** 2), 0.0)
        wind = speed[..., None] * (1.0 - np.sqrt(np.square(deficit).sum(axis=-2) + 1e-8))
        share = (wind / 11.4) ** 3 * cosine**1.9
        return np.asarray(5000.0 * (share / (1.0 + share**4) ** 0.25).sum(axis=-1))

    def best(self, direction: Array, speed: Array, start: Array) -> Array:
        """Return the headings of the highest power near a start."""
        return minimize(lambda x: -self.power(x, direction, speed), start, np.full(6, 10.0), 40)


@lru_cache(maxsize=KEPT)
def farm(seed: int) -> tuple[Farm, Array, Array, Array, Array, Array]:
    """Draw a farm, wind direction and speed, the headings of its table, the highest power and the noise."""
    rng = seeded("farm", seed)
    plant, T = Farm.draw(rng), FARM_ROUNDS
    side = float(rng.choice([-1.0, 1.0]))
    slow, fast = autoregression(rng, T, 3.0, 0.98)[:, 0], autoregression(rng, T, 1.5, 0.6)[:, 0]
    direction = 270.0 + side * rng.uniform(6.0, 9.0) + slow + fast
    speed = np.clip(TABLE_SPEED + autoregression(rng, T, 1.3, 0.97)[:, 0], 5.0, 11.5)
    entries = np.arange(direction.min() - 3.0, direction.max() + 3.0, 2.0)
    yaw, last = np.zeros((len(entries), 6)), np.zeros((1, 6))
    for k in np.argsort(-side * entries):  # the table stays on one side: from the wind that meets no wakes inward
        here = entries[k : k + 1]
        yaw[k] = last = plant.best(here, np.full(1, TABLE_SPEED), here[:, None] + last) - here[:, None]
    told = direction[:, None] + np.stack([np.interp(direction, entries, column) for column in yaw.T], axis=1)
    found = [plant.best(direction, speed, direction[:, None] + sign) for sign in (-15.0, 15.0)]
    most = np.max([plant.power(one, direction, speed) for one in (*found, plant.best(direction, speed, told))], axis=0)
    return plant, direction, speed, told, most, rng.standard_normal(T)


def draw_farm(seed: int, weight: float) -> Plant:
    """Return a farm that is told the headings of its table; the reading is the power lost relative to the table's."""
    plant, direction, speed, told, most, variates = farm(seed)

    def hitting(x: Array, t: Any) -> Array:
        return np.asarray(most[t] - plant.power(x, direction[t], speed[t]))

    noise = 90.0
    return Plant(
        v=told,
        hitting=hitting,
        added=plant.power(told, direction, speed) - most + noise * variates,
        noise=noise,
        weight=weight,
        low=np.full(6, 180.0),
        high=np.full(6, 360.0),
        rate=np.full(6, 90.0),
        gain=np.ones(len(told)),
    )


# ---- a distribution feeder -------------------------------------------------------------------------------------------

FEEDER_ROUNDS = 1008
FEEDER_DAY = 288
BUSES, INVERTERS = 12, 6
VOLTS = 11.0
"""The voltage at the substation, kV."""


class Feeder(NamedTuple):
    """A radial feeder with inverters, by linear equations of power flow.

    The position is the reactive power of each inverter in units of 100 kvar. The cost is that of the losses in the
    lines, at the voltage of their end, and of voltages that differ from the nominal one.
    """

    below: Array
    resistance: Array
    reactance: Array
    places: Array
    price: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Feeder:
        """Draw a feeder with a branch."""
        parent = np.arange(BUSES) - 1
        branch = int(rng.integers(7, 10))
        parent[branch] = int(rng.integers(2, 5))
        path = np.zeros((BUSES, BUSES))  # the lines above a bus
        for bus in range(BUSES):
            path[bus] = path[parent[bus]] if parent[bus] >= 0 else 0.0
            path[bus, bus] = 1.0
        resistance, ratio = rng.uniform(0.25, 0.6, BUSES), rng.uniform(0.8, 1.3, BUSES)
        places = np.sort(rng.choice(np.arange(2, BUSES), INVERTERS, replace=False))
        return cls(path.T, resistance, resistance * ratio, places, around(rng, 0.8, 0.3))

    def mistaken(self, rng: np.random.Generator) -> Feeder:
        """Return a model with wrong resistances."""
        wrong = np.exp(0.3 * rng.standard_normal(BUSES) + rng.uniform(-0.2, 0.2))
        return self._replace(resistance=self.resistance * wrong)

    def cost(self, x: Array, active: Array, reactive: Array) -> Array:
        """Return losses and the price of wrong voltages in kW; the powers of the buses (..., n) are in 100 kW."""
        own = np.zeros((*x.shape[:-1], BUSES))
        own[..., self.places] = x
        P, Q = active @ self.below.T, (reactive - own) @ self.below.T
        drop = 0.1 * (self.resistance * P + self.reactance * Q) / VOLTS**2
        voltage = 1.0 - drop @ self.below
        lost = 10.0 * self.resistance * (P**2 + Q**2) / (VOLTS * voltage) ** 2
        return np.asarray(lost.sum(axis=-1) + self.price * np.square(100.0 * (voltage - 1.0)).sum(axis=-1))


@lru_cache(maxsize=KEPT)
def feeder(seed: int) -> tuple[Feeder, Feeder, Array, Array, Array, Array, Array]:
    """Draw a feeder, a wrong model, the powers of the buses, both minimizers and the noise."""
    rng = seeded("feeder", seed)
    plant = Feeder.draw(rng)
    model = plant.mistaken(rng)
    T, phase = FEEDER_ROUNDS, float(rng.uniform())
    sizes = rng.uniform(0.5, 1.5, BUSES)
    use = 1.2 * sizes * (1.0 + 0.3 * daily(T, phase, FEEDER_DAY)[:, None] + autoregression(rng, T, 0.15, 0.8, BUSES))
    sun = np.maximum(daily(T, phase - 0.1, FEEDER_DAY), 0.0)
    clouds = autoregression(rng, T, 0.7, 0.93) + autoregression(rng, T, 0.7, 0.6, INVERTERS)
    solar = np.zeros((T, BUSES))
    solar[:, plant.places] = rng.uniform(3.0, 7.0, INVERTERS) * sun[:, None] / (1.0 + np.exp(2.0 * clouds))
    active, reactive = use - solar, use * (rng.uniform(0.3, 0.6, BUSES) + autoregression(rng, T, 0.2, 0.7, BUSES))
    start, unit = reactive[:, plant.places], np.ones(INVERTERS)
    own, wrong = (minimize(partial(one.cost, active=active, reactive=reactive), start, unit) for one in (plant, model))
    return plant, model, active, reactive, own, wrong, rng.standard_normal(T)


def draw_feeder(seed: int, weight: float, raw: bool = False) -> Plant:
    """Return a feeder with v of a wrong model; the reading is the cost above what the model expects, or the whole."""
    plant, model, active, reactive, own, wrong, variates = feeder(seed)
    least = plant.cost(own, active, reactive)

    def hitting(x: Array, t: Any) -> Array:
        return np.asarray(plant.cost(x, active[t], reactive[t]) - least[t])

    base, noise = least if raw else least - model.cost(wrong, active, reactive), 0.4
    limit = np.full(INVERTERS, 15.0)
    return Plant(
        v=wrong,
        hitting=hitting,
        added=base + noise * variates,
        noise=noise,
        weight=weight,
        low=-limit,
        high=limit,
        rate=limit,
        gain=np.ones(len(own)),
    )


# ---- quadratic plants with the meters of the field -------------------------------------------------------------------

QUADRATIC_ROUNDS = 960
FLAWS = ("", "off", "asymmetric", "season")


def wandering(rng: np.random.Generator, rounds: int, dim: int) -> Array:
    """Draw minimizers with steps of about one, a daily cycle and a level."""
    cycle = np.stack([2.0 * daily(rounds, float(rng.uniform())) for _ in range(dim)], axis=1)
    return 20.0 + cycle + autoregression(rng, rounds, 3.5, 0.96, dim)


def draw_quadratic(seed: int, dim: int, field: bool, flaw: str = "") -> Plant:
    """Return a quadratic plant with a quiet meter or one as in the field.

    Parameters
    ----------
    seed : int
        The seed.
    dim : int
        The number of actuators.
    field : bool
        Whether the meter has a daily base load, gaps, spikes, a coarse resolution and a delay.
    flaw : str
        One of ``FLAWS``: v is off by a constant, the cost is steeper on one side, or A changes with the season.
    """
    rng, T = seeded(f"quadratic {dim}", seed), QUADRATIC_ROUNDS
    Q = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    root = (Q * np.sqrt(np.geomspace(around(rng, 0.03, 0.5), around(rng, 0.8, 0.3), dim))) @ Q.T
    A, v = root @ root, wandering(rng, T, dim)
    noise, level = 0.4, around(rng, 30.0, 0.3)
    error, phase = noise * rng.standard_normal(T), float(rng.uniform())
    base, gain = level * (1.0 + 0.4 * daily(T, phase)), np.ones(T)
    spikes = rng.random(T) < 0.01
    gain[spikes] = rng.uniform(5.0, 20.0, T)[spikes]
    gain[rng.random(T) < 0.05] = np.nan
    step = math.sqrt(float(np.square(np.diff(v, axis=0)).sum(axis=1).mean()))
    heading, turning = rng.standard_normal((2, dim))
    off = 0.5 * step * heading / np.linalg.norm(heading) if flaw == "off" else np.zeros(dim)
    axis = turning / np.linalg.norm(turning)
    side = 3.0 * float(axis @ A @ axis) if flaw == "asymmetric" else 0.0
    bent = rng.standard_normal((dim, dim))
    bent = bent + bent.T
    bent = root @ (bent / np.abs(np.linalg.eigvalsh(bent)).max()) @ root
    share = 0.8 * daily(T, float(rng.uniform()), T) if flaw == "season" else np.zeros(T)

    def hitting(x: Array, t: Any) -> Array:
        u = x - v[t]
        cost = np.vecdot(u @ A, u) + side * np.maximum(u @ axis, 0.0) ** 2
        return np.asarray(0.5 * (cost + (share[t] * np.vecdot(u @ bent, u) if flaw == "season" else 0.0)))

    return Plant(
        v=v + off,
        hitting=hitting,
        added=error + (base if field else 0.0),
        noise=noise,
        weight=1.0,
        low=np.full(dim, -20.0),
        high=np.full(dim, 60.0),
        rate=np.full(dim, 10.0),
        gain=gain if field else np.ones(T),
        resolution=0.5 if field else 0.0,
        delay=2 if field else 0,
    )


# ---- three cooling units, which people get wrong ---------------------------------------------------------------------

UNITS_ROUNDS = 480


def draw_units(seed: int) -> Plant:
    """Return three cooling units with a quiet meter: positions in °C, costs in kW, a base load that hardly moves."""
    rng, T = seeded("units", seed), UNITS_ROUNDS
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    A = (Q * np.geomspace(around(rng, 0.1, 0.5), around(rng, 1.5, 0.3), 3)) @ Q.T
    v = 20.0 + daily(T, float(rng.uniform()))[:, None] + autoregression(rng, T, 1.5, 0.8, 3)
    noise, base = 0.2, around(rng, 8.0, 0.3) + autoregression(rng, T, 0.2, 0.95)[:, 0]

    def hitting(x: Array, t: Any) -> Array:
        u = x - v[t]
        return np.asarray(0.5 * np.vecdot(u @ A, u))

    return Plant(
        v=v,
        hitting=hitting,
        added=base + noise * rng.standard_normal(T),
        noise=noise,
        weight=1.0,
        low=np.full(3, 10.0),
        high=np.full(3, 30.0),
        rate=np.full(3, 8.0),
        gain=np.ones(T),
    )


# ---- coarse meters beside a plant that others steer ------------------------------------------------------------------

SHADOW_ROUNDS = 250


def draw_shadow(seed: int) -> tuple[Plant, Array]:
    """Return a plant with a coarse meter, and the positions that it is steered to: by a fixed share, or by hand."""
    rng, T = seeded("shadow", seed), SHADOW_ROUNDS
    dim, noise = int(rng.integers(2, 5)), 0.3
    Q = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    A = (Q * np.geomspace(around(rng, 0.1, 1.0), around(rng, 1.0, 0.5), dim)) @ Q.T
    v = wandering(rng, T, dim)
    if rng.random() < 0.5:
        share, x = float(rng.uniform(0.1, 0.9)), v.copy()
        for t in range(1, T):
            x[t] = x[t - 1] + share * (v[t] - x[t - 1])
    else:  # an operator goes near to v now and then
        moves = rng.random(T) < 1.0 / rng.uniform(2.0, 12.0)
        moves[0] = True
        last = np.maximum.accumulate(np.where(moves, np.arange(T), 0))
        x = (v + 0.3 * rng.standard_normal((T, dim)))[last]

    def hitting(position: Array, t: Any) -> Array:
        u = position - v[t]
        return np.asarray(0.5 * np.vecdot(u @ A, u))

    swing = rng.uniform(0.0, 0.3) * daily(T, float(rng.uniform())) if rng.random() < 0.5 else np.zeros(T)
    plant = Plant(
        v=v,
        hitting=hitting,
        added=around(rng, 10.0, 1.0) * (1.0 + swing) + noise * rng.standard_normal(T),
        noise=noise,
        weight=1.0,
        low=np.full(dim, -20.0),
        high=np.full(dim, 60.0),
        rate=np.full(dim, 20.0),
        gain=np.where(rng.random(T) < rng.uniform(0.0, 0.3), np.nan, 1.0),
        resolution=noise * math.exp(rng.uniform(math.log(0.5), math.log(8.0))),
    )
    return plant, x


# ---- all of them -----------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A row of the table: its name, the plants that belong to it, and how to draw one from a seed."""

    name: str
    kind: str
    draw: Callable[[int], Plant]


def rows() -> Iterator[Row]:
    """Yield the rows of the table; rows of one kind share their weather."""
    yield Row("chiller, exact", "chiller", partial(draw_chiller, variant="exact"))
    yield Row("chiller, exact, 5 W", "chiller", partial(draw_chiller, variant="exact", weight=25.0))
    yield Row("chiller, model error", "chiller", partial(draw_chiller, variant="model"))
    yield Row("chiller, raw power", "chiller", partial(draw_chiller, variant="raw"))
    yield Row("chiller, raw power, told load and wet bulb", "chiller", partial(draw_chiller, variant="told"))
    yield Row("farm, W=0.5", "farm", partial(draw_farm, weight=0.5))
    yield Row("farm, W=2", "farm", partial(draw_farm, weight=2.0))
    yield Row("feeder, W=1", "feeder", partial(draw_feeder, weight=1.0))
    yield Row("feeder, W=5", "feeder", partial(draw_feeder, weight=5.0))
    yield Row("feeder, raw losses", "feeder", partial(draw_feeder, weight=1.0, raw=True))
    names = ("field meter", "field meter, v off", "field meter, asymmetric", "field meter, A by season")
    for name, flaw in zip(names, FLAWS, strict=True):
        yield Row(name, name, partial(draw_quadratic, dim=3, field=True, flaw=flaw))
    yield Row("d=20, quiet meter", "d=20, quiet meter", partial(draw_quadratic, dim=20, field=False))
    yield Row("d=20, field meter", "d=20, field meter", partial(draw_quadratic, dim=20, field=True))
    yield Row("d=20, v off", "d=20, v off", partial(draw_quadratic, dim=20, field=False, flaw="off"))
