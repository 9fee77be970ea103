"""The turbine: its size, and its power and thrust against the wind speed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from soqo._foundation.arguments import finite_array, number
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike

_SPEED = [
    *(0.0, 2.9, 3.0, 4.0, 5.0, 6.0, 7.0, 7.1, 7.2, 7.3, 7.4, 7.5, 7.6, 7.7, 7.8, 7.9, 8.0, 9.0, 10.0, 10.1, 10.2, 10.3),
    *(10.4, 10.5, 10.6, 10.7, 10.8, 10.9, 11.0, 11.1, 11.2, 11.3, 11.4, 11.5, 11.6, 11.7, 11.8, 11.9, 12.0, 13.0, 14.0),
    *(15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 25.1, 50.0),
]
"""Wind speeds in m/s of the tables of the NREL 5 MW reference turbine (Jonkman et al., NREL/TP-500-38060, 2009)."""

_POWER = [
    *(0.0, 0.0, 40.518011517569214, 177.67162506419703, 403.900880943964, 737.5889584824021, 1187.1774030611875),
    *(1239.245945375778, 1292.5184293723503, 1347.3213147477102, 1403.2573725578948, 1460.7011898730707),
    *(1519.6419125979983, 1580.174365096404, 1642.1103166918167, 1705.758292831, 1771.1659528893977, 2518.553107505315),
    *(3448.381605840943, 3552.140809000129, 3657.9545431794127, 3765.121299313842, 3873.928844315059),
    *(3984.4800226955504, 4096.582833096852, 4210.721306623712, 4326.154305853405, 4443.395565353604),
    *(4562.497934188341, 4683.419890251577, 4806.164748311019, 4929.931918769215),
    *(5000.0,) * 20,
    *(0.0, 0.0),
]
"""Power in kW."""

_THRUST = [
    *(0.0, 0.0, 1.132034888, 0.999470963, 0.917697381, 0.860849503, 0.815371198, 0.811614904, 0.807939328, 0.80443352),
    *(0.800993851, 0.79768116, 0.794529244, 0.791495834, 0.788560434, 0.787217182, 0.787127977, 0.785839257),
    *(0.783812219, 0.783568108, 0.783328285, 0.781194418, 0.777292539, 0.773464375, 0.769690236, 0.766001924),
    *(0.762348072, 0.758760824, 0.755242872, 0.751792927, 0.748434131, 0.745113997, 0.717806682, 0.672204789),
    *(0.63831272, 0.610176496, 0.585456847, 0.563222111, 0.542912273, 0.399312061, 0.310517829, 0.248633226),
    *(0.203543725, 0.169616419, 0.143478955, 0.122938861, 0.106515296, 0.093026095, 0.081648606, 0.072197368),
    *(0.064388275, 0.057782745, 0.0, 0.0),
]
"""Thrust coefficients."""


@dataclass(frozen=True)
class Turbine(Value):
    """A turbine; by default the NREL 5 MW reference turbine.

    Parameters
    ----------
    diameter, hub_height : float
        In m.
    speeds : array_like, shape (n,)
        Increasing wind speeds in m/s, for which the other two tables hold.
    power : array_like, shape (n,)
        The power in kW.
    thrust : array_like, shape (n,)
        The thrust coefficients.
    yaw_exponent : float
        The power of a yawed rotor is that at the wind speed times cos(yaw) ** (yaw_exponent / 3).

    Examples
    --------
    >>> Turbine().power_at(np.array([8.0, 11.0, 15.0])).round(1)
    array([1771.2, 4562.5, 5000. ])
    """

    _: KW_ONLY
    diameter: float = 125.88
    hub_height: float = 90.0
    speeds: ArrayLike = field(default=tuple(_SPEED), repr=False)
    power: ArrayLike = field(default=tuple(_POWER), repr=False)
    thrust: ArrayLike = field(default=tuple(_THRUST), repr=False)
    yaw_exponent: float = 1.88

    def __post_init__(self) -> None:
        speeds = finite_array("speeds", self.speeds)
        if speeds.ndim != 1 or len(speeds) < 2 or not (np.diff(speeds) > 0.0).all():
            raise ArgumentError(f"speeds must be at least two increasing numbers, got {self.speeds!r}")
        tables = {name: finite_array(name, getattr(self, name)) for name in ("power", "thrust")}
        for name, table in tables.items():
            if table.shape != speeds.shape:
                raise ArgumentError(f"{name} must have shape {speeds.shape} as speeds has, got {table.shape}")
        set_fields(
            self,
            diameter=number("diameter", self.diameter, above=0.0),
            hub_height=number("hub_height", self.hub_height, above=0.0),
            speeds=freeze(speeds),
            power=freeze(tables["power"]),
            thrust=freeze(tables["thrust"]),
            yaw_exponent=number("yaw_exponent", self.yaw_exponent, least=0.0),
        )

    def power_at(self, speed: Array) -> Array:
        """Return the power in kW at rotor-effective wind speeds.

        Parameters
        ----------
        speed : Array
            Wind speeds in m/s.
        """
        return np.asarray(np.interp(speed, np.asarray(self.speeds), np.asarray(self.power), left=0.0, right=0.0))

    def thrust_at(self, speed: Array) -> Array:
        """Return the thrust coefficients of rotors that face the wind, between 1e-4 and 0.9999.

        Parameters
        ----------
        speed : Array
            Wind speeds in m/s.
        """
        thrust = np.interp(speed, np.asarray(self.speeds), np.asarray(self.thrust), left=0.0, right=0.0)
        return np.asarray(np.clip(thrust, 1e-4, 0.9999))

    def curvature_at(self, speed: Array, width: float = 1.0) -> Array:
        """Return minus the second derivative of the power with respect to the yaw at 0, in kW/deg^2.

        It is what a turbine alone in the wind contributes to A: speed * (dP/dspeed) * (yaw_exponent / 3), per square of
        an angle in degrees.

        Parameters
        ----------
        speed : Array
            Wind speeds in m/s.
        width : float
            The standard deviation in m/s over which the power curve is smoothed, since the wind varies in a round.
        """
        grid = np.linspace(0.0, 30.0, 601)
        nodes = np.linspace(-3.0, 3.0, 13)
        weights = np.exp(-0.5 * nodes**2)
        smooth = self.power_at(grid[:, None] + width * nodes) @ (weights / weights.sum())
        slope = np.gradient(smooth, grid)
        curvature = grid * slope * (self.yaw_exponent / 3.0) * np.deg2rad(1.0) ** 2
        return np.asarray(np.interp(speed, grid, np.maximum(curvature, 0.0)))
