"""The cost of set points, and the solver for the best ones: a projected Newton method for many loads at once."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.errors import ComputationError
from soqo.plants._data_center._room import Room, efficiency
from soqo.typing import Array

_MAX_ITERATIONS, _TOLERANCE = 60, 1e-9
_ARMIJO = 1e-4


@dataclass(frozen=True)
class CoolingCost(Value):
    """Cooling power plus a penalty on warm inlets, in kW; convex in the set points above 5 degrees Celsius.

    Attributes
    ----------
    room : Room
        The room.
    warm : float
        The inlet temperature in degrees Celsius above which the penalty rises.
    steepness : float
        The penalty of a rack is 1/2 steepness e^2 for an excess of e K, in kW/K^2.
    softness : float
        The width in K over which the penalty sets in: e is softness log(1 + exp((T - warm) / softness)).
    low, high : float
        The limits of the set points.
    """

    room: Room
    _: KW_ONLY
    warm: float
    steepness: float
    softness: float
    low: float
    high: float

    def value(self, x: Array, power: Array) -> Array:
        """Return the cost in kW, shape (...,).

        Parameters
        ----------
        x : Array, shape (..., units)
            The set points in degrees Celsius.
        power : Array, shape (..., racks)
            The power of the racks in kW.
        """
        return self.cooling_power(x, power) + self.penalty(x, power)

    def cooling_power(self, x: Array, power: Array) -> Array:
        """Return the power of the units in kW, which a meter can read.

        Parameters
        ----------
        x, power : Array
            As in :meth:`value`.
        """
        return np.asarray(np.sum(power @ self.room.heat.T / efficiency(x)[0], axis=-1))

    def penalty(self, x: Array, power: Array) -> Array:
        """Return the penalty in kW, which follows from the sensors at the inlets.

        Parameters
        ----------
        x, power : Array
            As in :meth:`value`.
        """
        excess = self.softness * np.logaddexp(0.0, (self.room.inlet(x, power) - self.warm) / self.softness)
        return np.asarray(0.5 * self.steepness * np.sum(excess**2, axis=-1))

    def derivatives(self, x: Array, power: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian of the cost.

        Parameters
        ----------
        x, power : Array
            As in :meth:`value`.
        """
        heat = power @ self.room.heat.T
        cop, slope, bend = efficiency(x)
        gradient = -heat * slope / cop**2
        diagonal = heat * (2.0 * slope**2 / cop**3 - bend / cop**2)
        distance = (self.room.inlet(x, power) - self.warm) / self.softness
        excess = self.softness * np.logaddexp(0.0, distance)
        share = 1.0 / (1.0 + np.exp(-np.clip(distance, -500.0, 500.0)))
        air = self.room.air
        gradient = gradient + self.steepness * (excess * share) @ air
        bends = self.steepness * (share**2 + excess * share * (1.0 - share) / self.softness)
        hessian = np.einsum("ri,...r,rj->...ij", air, bends, air)
        return gradient, hessian + diagonal[..., None] * np.eye(x.shape[-1])

    def minimize(self, power: Array) -> Array:
        """Return the best set points for some loads, shape (n, units).

        Parameters
        ----------
        power : Array, shape (n, racks)
            The power of the racks in kW.

        Raises
        ------
        ComputationError
            If the method does not converge, which a convex cost excludes.
        """
        units = self.room.heat.shape[0]
        x = np.full((len(power), units), 0.5 * (self.low + self.high))
        cost = self.value(x, power)
        for _ in range(_MAX_ITERATIONS):
            gradient, hessian = self.derivatives(x, power)
            held = ((x <= self.low) & (gradient > 0.0)) | ((x >= self.high) & (gradient < 0.0))
            free = np.where(held, 0.0, gradient)
            if np.abs(free).max() < _TOLERANCE:
                return x
            # A unit at its limit does not move: its row and column become those of the identity.
            mask = ~held
            system = hessian * (mask[:, :, None] & mask[:, None, :]) + held[:, :, None] * np.eye(units)
            step = np.asarray(-np.linalg.solve(system, free[..., None])[..., 0], dtype=np.float64)
            x, cost = self._search(x, step, free, cost, power)
        raise ComputationError(f"the best set points were not found in {_MAX_ITERATIONS} iterations")

    def _search(self, x: Array, step: Array, gradient: Array, cost: Array, power: Array) -> tuple[Array, Array]:
        """Return the points on the projected steps at which the cost falls enough, and their costs."""
        length = np.ones(len(x))
        for _ in range(40):
            trial = np.clip(x + length[:, None] * step, self.low, self.high)
            reached = self.value(trial, power)
            # At the end, differences of the cost are round-off.
            slack = 1e-12 * (1.0 + np.abs(cost))
            enough = reached <= cost + _ARMIJO * np.sum(gradient * (trial - x), axis=1) + slack
            if enough.all():
                break
            length = np.where(enough, length, 0.5 * length)
        return trial, reached
