"""FLORIS as a wake model (extra ``wind``)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from soqo._foundation.arguments import number
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._foundation.optional_imports import require_extra
from soqo.errors import ArgumentError
from soqo.plants._wind_farm._gaussian_wake import MAX_YAW, GaussianWake
from soqo.typing import Array, BoolArray

_SECONDARY_EFFECTS = ("enable_secondary_steering", "enable_yaw_added_recovery", "enable_transverse_velocities")


@dataclass(frozen=True)
class FlorisWake(Value):
    """FLORIS 4 with its default turbine, the NREL 5 MW: the Gauss-curl hybrid model (extra ``wind``).

    With secondary effects, FLORIS returns NaN for some winds if turbines are yawed by more than 40 degrees. There the
    model without them, :class:`GaussianWake`, takes its place.

    Parameters
    ----------
    curl : bool
        Whether to model the secondary effects of yaw (GCH). Without them it agrees with :class:`GaussianWake`.
    turbulence : float
        The turbulence intensity of the undisturbed wind.

    Examples
    --------
    >>> pair = np.array([[0.0, 0.0], [630.0, 0.0]])
    >>> FlorisWake().power(pair, np.array([0.0]), np.array([8.0]), np.zeros((1, 2))).round()
    array([[1754., 1754.]])
    """

    _: KW_ONLY
    curl: bool = True
    turbulence: float = 0.06

    def __post_init__(self) -> None:
        if not isinstance(self.curl, bool):
            raise ArgumentError(f"curl must be True or False, got {self.curl!r}")
        set_fields(self, turbulence=number("turbulence", self.turbulence, above=0.0))
        require_extra("floris", "wind")

    def power(
        self, layout: Array, direction: Array, speed: Array, yaw: Array, *, running: BoolArray | None = None
    ) -> Array:
        """Return the power of each turbine in kW, shape (n, d).

        Parameters
        ----------
        layout, direction, speed, yaw, running
            As in :meth:`GaussianWake.power`.
        """
        model = _open_model(self.curl, tuple((float(east), float(north)) for east, north in layout))
        stopped = np.zeros(yaw.shape, dtype=np.bool_) if running is None else ~running
        model.reset_operation()  # otherwise turbines that stood still in the last call would do so in this one
        model.set(
            wind_directions=direction % 360.0,
            wind_speeds=speed,
            turbulence_intensities=np.full(len(speed), self.turbulence),
            yaw_angles=np.where(stopped, 0.0, np.clip(yaw, -MAX_YAW, MAX_YAW)),
            disable_turbines=stopped,
        )
        with np.errstate(divide="ignore", invalid="ignore"):  # FLORIS divides by the power of a stopped turbine
            model.run()
        power = np.where(stopped, 0.0, np.asarray(model.get_turbine_powers()) / 1e3)
        wrong = np.isnan(power).any(axis=1)
        if wrong.any():
            rest = GaussianWake(turbulence=self.turbulence)
            power[wrong] = rest.power(layout, direction[wrong], speed[wrong], yaw[wrong], running=~stopped[wrong])
        return power


@lru_cache(maxsize=4)
def _open_model(curl: bool, layout: tuple[tuple[float, float], ...]) -> Any:
    """Return a FLORIS model of a farm."""
    floris = require_extra("floris", "wind")
    settings = floris.FlorisModel("defaults").core.as_dict()
    settings["wake"] |= dict.fromkeys(_SECONDARY_EFFECTS, curl)
    settings["farm"] |= {"layout_x": [east for east, _ in layout], "layout_y": [north for _, north in layout]}
    model: Any = floris.FlorisModel(settings)
    model.set_operation_model("mixed")  # the model of turbines that are yawed or stopped
    return model
