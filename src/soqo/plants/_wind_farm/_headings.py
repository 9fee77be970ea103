"""The table of headings: for each wind direction, the yaw angles with which a farm produces most."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import numpy as np

from soqo.typing import Array, BoolArray, IntArray

DIRECTION_NODES = np.array([-8.0, -4.0, 0.0, 4.0, 8.0])
"""The direction varies inside of a round: these deviations in degrees stand for a standard deviation of 5."""

NODE_WEIGHTS = np.exp(-(DIRECTION_NODES**2) / 50.0)
NODE_WEIGHTS /= NODE_WEIGHTS.sum()

_SPACING, _SMOOTHING, _TABLE_SPEED, _MAX_OFFSET = 3.0, 4.0, 8.0, 25.0
"""The table has a row for every third degree at 8 m/s, smoothed over 4 degrees, with angles of at most 25 degrees."""

_REFINEMENTS = ((-20.0, -10.0, 10.0, 20.0), (-5.0, 5.0), (-2.5, 2.5), (-1.2, 1.2))
"""What each turbine in turn tries to add to its angle."""

_FADE = (11.0, 12.0)
"""Between these wind speeds in m/s the angles go to zero: above, every turbine reaches its rated power."""


class WakeModel(Protocol):
    """What computes the power of each turbine, as :meth:`soqo.plants.GaussianWake.power` describes."""

    def power(
        self, layout: Array, direction: Array, speed: Array, yaw: Array, *, running: BoolArray | None = None
    ) -> Array:
        """Return the power of each turbine in kW, shape (n, d)."""


def mean_power(
    model: WakeModel, layout: Array, direction: Array, speed: Array, headings: Array, running: BoolArray | None = None
) -> Array:
    """Return the power of the farm in kW, averaged over the directions inside of a round, shape (n,).

    Parameters
    ----------
    model : WakeModel
        The wake model.
    layout : Array, shape (d, 2)
        The positions of the turbines in m.
    direction, speed : Array, shape (n,)
        The wind.
    headings : Array, shape (n, d)
        The compass directions that the turbines face, in degrees.
    running : BoolArray of shape (n, d), optional
        Which turbines run.
    """
    nodes = len(DIRECTION_NODES)
    winds = (direction[:, None] + DIRECTION_NODES).ravel()
    yaw = (winds[:, None] - np.repeat(headings, nodes, axis=0) + 180.0) % 360.0 - 180.0
    runs = None if running is None else np.repeat(running, nodes, axis=0)
    power = model.power(layout, winds, np.repeat(speed, nodes), yaw, running=runs).sum(axis=1)
    return np.asarray(power.reshape(-1, nodes) @ NODE_WEIGHTS)


class HeadingTable:
    """The yaw angles with which a farm produces most, for every wind direction.

    Parameters
    ----------
    angles : Array, shape (n, d)
        The wind direction minus the heading of each turbine, for n equally spaced directions from 0 on.
    """

    def __init__(self, angles: Array) -> None:
        self.angles = angles

    def headings(self, direction: Array, speed: Array) -> Array:
        """Return the headings for some winds, shape (..., d), continuous in the direction and its turns.

        Parameters
        ----------
        direction, speed : Array, shape (...,)
            The wind.
        """
        rows = len(self.angles)
        place = (direction % 360.0) * (rows / 360.0)
        below = np.floor(place).astype(int) % rows
        share = (place - np.floor(place))[..., None]
        angle = (1.0 - share) * self.angles[below] + share * self.angles[(below + 1) % rows]
        fade = np.clip((_FADE[1] - speed) / (_FADE[1] - _FADE[0]), 0.0, 1.0)[..., None]
        return np.asarray(direction[..., None] - fade * angle)


@lru_cache(maxsize=8)
def make_table(model: WakeModel, layout: tuple[tuple[float, float], ...]) -> HeadingTable:
    """Return the table of a farm: turbine by turbine, the angle is changed as long as the power rises.

    Parameters
    ----------
    model : WakeModel
        The wake model, which must be hashable.
    layout : tuple of pairs of float
        The positions of the turbines in m.
    """
    places = np.array(layout)
    turns = _quarter_turn(places)
    span = 90.0 if turns is not None else 360.0
    direction = np.arange(0.0, span, _SPACING)
    speed = np.full(len(direction), _TABLE_SPEED)
    angle = np.zeros((len(direction), len(places)))
    best = mean_power(model, places, direction, speed, direction[:, None] - angle)
    downwind = places @ np.stack([-np.sin(np.deg2rad(direction)), -np.cos(np.deg2rad(direction))])
    order = np.argsort(downwind, axis=0).T  # from upstream to downstream, for each direction
    rows = np.arange(len(direction))
    for changes in _REFINEMENTS:
        for k in range(len(places)):
            _refine(model, places, (direction, speed), angle, best, (rows, order[:, k]), changes)
    if turns is not None:
        quarters = [angle]
        for _ in range(3):  # the wind turns by 90 degrees: each turbine takes the role of the one that it turns from
            quarters.append(quarters[-1][:, turns])
        angle = np.concatenate(quarters)
    return HeadingTable(_smooth_circularly(angle))


def _refine(
    model: WakeModel,
    places: Array,
    wind: tuple[Array, Array],
    angle: Array,
    best: Array,
    where: tuple[IntArray, IntArray],
    changes: tuple[float, ...],
) -> None:
    """Change the angle of one turbine in each row where that raises the power; ``angle`` and ``best`` change."""
    direction, speed = wind
    tries = np.repeat(angle[None], len(changes), axis=0)
    for number, change in enumerate(changes):
        tries[number][where] = np.clip(angle[where] + change, -_MAX_OFFSET, _MAX_OFFSET)
    headings = (direction[:, None] - tries).reshape(-1, angle.shape[1])
    count = len(changes)
    power = mean_power(model, places, np.tile(direction, count), np.tile(speed, count), headings).reshape(count, -1)
    first = power.argmax(axis=0)
    rows = where[0]
    better = power[first, rows] > best
    angle[better] = tries[first[better], rows[better]]
    best[better] = power[first[better], rows[better]]


def _quarter_turn(places: Array) -> IntArray | None:
    """Return which turbine each one moves to by a turn of 90 degrees around the center; None if the layout changes.

    The compass turns clockwise: what is at (east, north) moves to (north, -east).
    """
    center = places - (places.max(axis=0) + places.min(axis=0)) / 2.0
    turned = np.stack([center[:, 1], -center[:, 0]], axis=1)
    distance = np.linalg.norm(turned[:, None] - center[None], axis=2)
    to = distance.argmin(axis=1)
    if distance.min(axis=1).max() > 1.0:  # m
        return None
    source: IntArray = np.empty_like(to)
    source[to] = np.arange(len(to))  # where the turbine at each place came from
    return source


def _smooth_circularly(angle: Array) -> Array:
    """Return the angles, smoothed over the direction."""
    rows = len(angle)
    lag = np.arange(rows)
    distance = np.minimum(lag, rows - lag) * (360.0 / rows)
    kernel = np.exp(-0.5 * (distance / _SMOOTHING) ** 2)
    weights = kernel[(lag[:, None] - lag[None]) % rows] / kernel.sum()
    return np.asarray(weights @ angle)
