"""Angles: a policy for actuators whose positions repeat after a period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from soqo._foundation.arguments import numbers
from soqo._foundation.frozen_dataclasses import evolve, freeze, set_fields
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.policies._base import State
from soqo.policies._wrappers import Wrapper
from soqo.typing import Array, ArrayLike, Rng

_M = TypeVar("_M")


@register("Periodic")
@dataclass(frozen=True)
class Periodic(Wrapper[_M]):
    """A policy for angles: v, and positions that are measured, may be given modulo a period.

    The minimizer is taken to the turn that is nearest to the position, and so are an applied action and the point where
    a reading was felt. Actions are continuous: after a full turn they are above the period, so that the caller may
    count turns, or take them modulo the period.

    Parameters
    ----------
    policy : Policy
        The policy, in plant coordinates: ``Periodic`` goes around ``Weighted`` and inside of ``Limited``.
    period : float or array_like of shape (d,)
        The period of each actuator, above 0; an infinite entry for an actuator that is not periodic.

    Examples
    --------
    >>> from soqo import FTM
    >>> policy = Periodic(FTM(), 360.0)
    >>> policy.act(policy.start([350.0]), v=[10.0])[0]
    array([370.])
    """

    period: ArrayLike = np.inf

    goes_around_weights: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        period = numbers("period", self.period)
        if period.ndim > 1 or not (period > 0.0).all():
            raise ArgumentError(f"period must be a number or a vector above 0, got {self.period!r}")
        set_fields(self, period=freeze(period))

    @property
    def in_plant_coordinates(self) -> bool:
        return True

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> _M:
        if np.shape(self.period) not in ((), x0.shape[-1:]):
            raise ArgumentError(f"period must have shape {x0.shape[-1:]}, got {np.shape(self.period)}")
        return super().begin(x0, horizon, rng)

    def decide(self, state: State[_M], v: Array) -> tuple[Array, _M]:
        target = self.nearest(v, state.x)
        forecast = state.forecast
        if forecast is not None:
            turns, last = [], target
            for k in range(forecast.shape[-2]):
                last = self.nearest(forecast[..., k, :], last)
                turns.append(last)
            forecast = np.stack(turns, axis=-2) if turns else forecast
        return self.act_inside(evolve(state, forecast=forecast), target)

    def inside(self, state: State[_M]) -> State[_M]:
        """Return the state with the turns that the inner policy was told.

        Parameters
        ----------
        state : State
            The wrapper's state.
        """
        before = state.x if state.x_prev is None else state.x_prev
        felt = None if state.felt is None else self.nearest(state.felt, state.x)
        return evolve(state, v=self.nearest(state.v, before), felt=felt)

    def nearest(self, position: Array, x: Array) -> Array:
        period = np.asarray(self.period)
        finite = np.isfinite(period)
        whole = np.where(finite, period, 1.0)
        return np.where(finite, position - whole * np.round((position - x) / whole), position)
