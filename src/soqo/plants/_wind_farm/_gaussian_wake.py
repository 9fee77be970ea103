"""The Gaussian wake model, in NumPy: the power of every turbine of a farm for given winds and yaw angles.

Wakes are computed from upstream to downstream. A turbine's wake has the Gaussian deficit of Bastankhah and Porte-Agel
(2016), is deflected by the yaw of the turbine (same paper), widens with the turbulence, and adds turbulence as Crespo
and Hernandez (1996) describe. Deficits of several wakes add as the root of the sum of squares. The conventions and the
parameters are those of the model ``gauss`` of FLORIS 4 without secondary effects, with which the results agree.

Lengths inside of this module are in rotor diameters.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from soqo._foundation.arguments import instance, number
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo.plants._wind_farm._turbine import Turbine
from soqo.typing import Array, BoolArray

_ALPHA, _BETA = 0.58, 0.077
"""The length of the near wake: (1 + sqrt(1 - ct)) / (sqrt(2) (4 alpha I + 2 beta (1 - sqrt(1 - ct))))."""

_GROWTH, _LEAST_GROWTH = 0.38, 0.004
"""The growth of the far wake: 0.38 I + 0.004 diameters per diameter."""

_ADDED_TURBULENCE = 0.5
"""The added turbulence is 0.5 a^0.8 I^0.1 (x / diameter)^-0.32."""

_TURBULENCE_REACH, _TURBULENCE_HALF_WIDTH = 15.0, 2.0
"""How far a turbine adds turbulence, in diameters downstream and to each side."""

_VISIBLE_DEFICIT = 0.05
"""A point of a rotor is in a wake if the deficit is above this, in m/s."""

_POINTS = np.array([-0.25, 0.0, 0.25])
"""The points of a rotor, in both directions, in diameters from the hub."""

MAX_YAW = 80.0
"""A rotor that is yawed further, in degrees, is treated as if it were yawed by this angle."""


@dataclass(frozen=True)
class GaussianWake(Value):
    """The Gaussian wake model.

    Parameters
    ----------
    turbine : Turbine
        The turbine.
    turbulence : float
        The turbulence intensity of the undisturbed wind.
    shear : float
        The exponent of the wind profile.

    Examples
    --------
    >>> model = GaussianWake()
    >>> row = np.array([[0.0, 0.0], [630.0, 0.0]])                    # the second turbine is to the east of the first
    >>> model.power(row, np.array([270.0, 0.0]), np.array([8.0, 8.0]), np.zeros((2, 2))).round()
    array([[1754.,  435.],
           [1754., 1754.]])
    """

    _: KW_ONLY
    turbine: Turbine = field(default_factory=Turbine)
    turbulence: float = 0.06
    shear: float = 0.12

    def __post_init__(self) -> None:
        instance("turbine", self.turbine, Turbine)
        set_fields(
            self,
            turbulence=number("turbulence", self.turbulence, above=0.0),
            shear=number("shear", self.shear, least=0.0),
        )

    def power(
        self, layout: Array, direction: Array, speed: Array, yaw: Array, *, running: BoolArray | None = None
    ) -> Array:
        """Return the power of each turbine in kW, shape (n, d).

        Parameters
        ----------
        layout : Array, shape (d, 2)
            The positions of the turbines in m, to the east and to the north.
        direction : Array, shape (n,)
            The compass directions from which the wind comes, in degrees.
        speed : Array, shape (n,)
            The wind speeds at hub height in m/s.
        yaw : Array, shape (n, d)
            The wind direction minus the heading of each turbine, in degrees.
        running : BoolArray of shape (n, d), optional
            Which turbines run. One that does not has no power and no wake.
        """
        x, y = _downwind(layout / self.turbine.diameter, direction)
        order = np.argsort(x, axis=1)
        angle = np.deg2rad(np.take_along_axis(np.clip(yaw, -MAX_YAW, MAX_YAW), order, 1))
        runs = None if running is None else np.take_along_axis(running, order, 1)
        places = np.take_along_axis(x, order, 1), np.take_along_axis(y, order, 1)
        rotor_speed, _ = self._solve(*places, speed, angle, runs)
        power = self.turbine.power_at(rotor_speed * np.cos(angle) ** (self.turbine.yaw_exponent / 3.0))
        if runs is not None:
            power = power * runs
        result = np.empty_like(power)
        np.put_along_axis(result, order, power, 1)
        return result

    def flow(self, layout: Array, direction: float, speed: float, yaw: Array, points: Array) -> Array:
        """Return the wind speed at hub height in m/s at some points, shape (n,), for a picture.

        Parameters
        ----------
        layout : Array, shape (d, 2)
            The positions of the turbines in m, to the east and to the north.
        direction, speed : float
            The wind.
        yaw : Array, shape (d,)
            The wind direction minus the heading of each turbine, in degrees.
        points : Array, shape (n, 2)
            The points in m.
        """
        wind = np.array([direction])
        x, y = (part[0] for part in _downwind(layout / self.turbine.diameter, wind))
        order = np.argsort(x)
        angle = np.deg2rad(np.clip(yaw, -MAX_YAW, MAX_YAW))[order]
        x, y = x[order], y[order]
        _, wakes = self._solve(x[None], y[None], np.array([speed]), angle[None], None)
        along, across = _downwind(points / self.turbine.diameter, wind)
        squares = np.zeros(len(points))
        for k, wake in enumerate(wakes):
            side = np.repeat((across - y[k])[..., None], len(_POINTS), axis=-1)
            squares += wake.deficit(along - x[k], side)[0, :, 1, 1] ** 2  # the middle of the rotor
        return np.asarray(speed * (1.0 - np.sqrt(squares)))

    def _solve(
        self, x: Array, y: Array, speed: Array, angle: Array, running: BoolArray | None
    ) -> tuple[Array, list[_Wake]]:
        """Return the wind speed at each rotor and its wake; turbines are sorted from upstream to downstream."""
        rows, count = x.shape
        profile = (1.0 + _POINTS * self.turbine.diameter / self.turbine.hub_height) ** self.shear
        undisturbed = speed[:, None, None, None] * profile
        squares = np.zeros((rows, count, len(_POINTS), len(_POINTS)))  # over points to the side, and over heights
        turbulence = np.full((rows, count, len(_POINTS)), self.turbulence)
        across = y[:, :, None] + _POINTS
        cos = np.cos(angle)
        rotor_speed, wakes = np.empty((rows, count)), []
        for i in range(count):
            flow = undisturbed[:, 0] - np.sqrt(squares[:, i])
            rotor_speed[:, i] = np.cbrt(np.mean(flow**3, axis=(1, 2)))
            wake = _Wake(self.turbine.thrust_at(rotor_speed[:, i]) * cos[:, i], angle[:, i], turbulence[:, i])
            wakes.append(wake)
            after = slice(i + 1, None)
            along, side = x[:, after] - x[:, i, None], across[:, after] - y[:, i, None, None]
            deficit = wake.deficit(along, side)
            if running is not None:
                deficit = deficit * running[:, i, None, None, None]
            loss = deficit * undisturbed
            squares[:, after] += loss**2
            share = np.mean(loss > _VISIBLE_DEFICIT, axis=(2, 3))
            reached = (along > 0.0) & (along <= _TURBULENCE_REACH)
            near = (np.abs(side) < _TURBULENCE_HALF_WIDTH) & reached[:, :, None]
            added = (share * wake.added_turbulence(along, self.turbulence))[:, :, None] * near
            turbulence[:, after] = np.maximum(turbulence[:, after], np.hypot(added, self.turbulence))
        return rotor_speed, wakes


class _Wake:
    """The wake of one turbine in each row: thrust coefficients and angles have shape (n,), turbulence (n, points)."""

    def __init__(self, thrust: Array, angle: Array, turbulence: Array) -> None:
        cos = np.cos(angle)
        self.thrust, self.cos = thrust, cos
        root, yawed_root = np.sqrt(1.0 - thrust), np.sqrt(1.0 - thrust * cos)
        self.root = root
        self.induction = 0.5 / cos * (1.0 - yawed_root)
        self.growth = (_GROWTH * turbulence + _LEAST_GROWTH)[:, None]
        length = math.sqrt(2.0) * (4.0 * _ALPHA * turbulence + 2.0 * _BETA * (1.0 - root)[:, None])
        # The deflection has a near wake of its own, in which the yaw reduces the thrust once more.
        self.near = ((cos * (1.0 + root))[:, None] / length)[:, None]
        self.deflection_near = ((cos * (1.0 + yawed_root))[:, None] / length)[:, None]
        self.first_width = math.sqrt(0.125)  # the width where the far wake begins
        self.deflection_width = np.sqrt((1.0 + yawed_root) / (1.0 + root) / 8.0)[:, None, None]
        self.skew = (-0.3 * angle / cos * (1.0 - yawed_root))[:, None, None]

    def deficit(self, along: Array, across: Array) -> Array:
        """Return the deficit as a share of the undisturbed wind, at points of rotors and at three heights."""
        distance = along[:, :, None]
        cos = self.cos[:, None, None]
        ramp = distance / self.near
        start = 0.501 * np.sqrt(self.thrust / 2.0)[:, None, None]
        far = self.growth * (distance - self.near)
        in_far = distance >= self.near
        width = np.where(in_far, far + self.first_width * cos, (1.0 - ramp) * start + ramp * self.first_width * cos)
        height = np.where(in_far, far + self.first_width, (1.0 - ramp) * start + ramp * self.first_width)
        loss = (self.thrust * self.cos)[:, None, None] / (8.0 * width * height)
        center = 1.0 - np.sqrt(np.clip(1.0 - loss, 0.0, 1.0))
        lateral = (across - self._deflection(distance)) ** 2 / (2.0 * width**2)
        vertical = _POINTS**2 / (2.0 * height[..., None] ** 2)
        shape = center[..., None] * np.exp(-(lateral[..., None] + vertical))
        return np.where((along > 1e-3)[:, :, None, None], shape, 0.0)

    def _deflection(self, distance: Array) -> Array:
        """Return how far the center of the wake has moved to the side."""
        near, cos, width = self.deflection_near, self.cos[:, None, None], self.deflection_width
        deficit = 1.0 - self.root[:, None, None]
        m = np.sqrt(deficit * (2.0 - deficit))
        e = deficit**2 - 3.0 * math.exp(1.0 / 12.0) * deficit + 3.0 * math.exp(1.0 / 3.0)
        first = np.tan(self.skew) * near
        grown = np.maximum(self.growth * (distance - near), 0.0)
        ratio = 1.6 * np.sqrt((grown + width * cos) * (grown + width) / (width**2 * cos))
        log = np.log((1.6 + m) * (ratio - m) / ((1.6 - m) * (ratio + m)))
        far = first + self.skew * e / 5.2 * width * np.sqrt(cos) / (self.growth * m) * log
        return np.where(distance > near, far, distance / near * first)

    def added_turbulence(self, along: Array, ambient: float) -> Array:
        """Return the added turbulence intensity at some distances, before the share of the rotor in the wake."""
        distance = np.maximum(along, 1e-3) ** -0.32
        return np.asarray(_ADDED_TURBULENCE * (self.induction**0.8 * ambient**0.1)[:, None] * distance)


def _downwind(layout: Array, direction: Array) -> tuple[Array, Array]:
    """Return the positions of turbines along the wind and to its side, for each direction."""
    turn = np.deg2rad(direction - 270.0)[:, None]
    east, north = layout[:, 0], layout[:, 1]
    return east * np.cos(turn) - north * np.sin(turn), east * np.sin(turn) + north * np.cos(turn)
