"""Any policy in other coordinates (`Weighted`), or within actuator limits (`Limited`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from soqo._arguments import numbers
from soqo._problem import Coordinates
from soqo._storage.registry import register, rename_fields
from soqo._values import freeze
from soqo.errors import ArgumentError
from soqo.policies._base import Policy, State
from soqo.typing import Array, BoolArray, Rng

__all__ = ["Limited", "Weighted", "in_plant_units"]

M = TypeVar("M")


@dataclass(frozen=True, eq=False)
class Wrapper(Policy[State[M]], Generic[M]):
    """A policy inside another; its state is the wrapper's memory."""

    policy: Policy[M]

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):
            raise ArgumentError(f"policy must be a Policy, got {type(self.policy).__name__}")

    @property
    def exact_feedback(self) -> bool:
        return self.policy.exact_feedback

    @property
    def state_grows(self) -> bool:
        return self.policy.state_grows

    def diverged(self, state: State[State[M]]) -> BoolArray:
        return state.diverged | self.policy.diverged(state.memory)

    def diagnostics(self, state: State[State[M]]) -> dict[str, Any]:
        """The inner policy's, in the inner policy's coordinates."""
        return {**self.policy.diagnostics(state.memory), "diverged": self.diverged(state)}

    def explain(self, state: State[State[M]]) -> str:
        return self.policy.explain(state.memory)


@register("Weighted", migrations={0: rename_fields(switching="switching_weight")})
@dataclass(frozen=True, eq=False)
class Weighted(Wrapper[M]):
    """A policy for a plant whose switching cost is 1/2 (x-x_prev)'W(x-x_prev).

    The policy inside plays in the coordinates W^{1/2} x, where switching is plain l2 and the curvature is
    W^{-1/2} A W^{-1/2} (``problem.plain.A``).

    Parameters
    ----------
    policy : Policy
    switching_weight : None, float, array_like of shape (d,) or (d, d)
        The weight W, as in :class:`soqo.Problem`.

    Examples
    --------
    >>> from soqo import LAI, Problem
    >>> problem = Problem([[4.0]], switching_weight=2.0)
    >>> policy = Weighted(LAI(problem.plain.A), problem.switching_weight)
    >>> policy.act(policy.start(np.zeros(1), horizon=1), v=[3.0])[0]   # the last round: C = W / (W + A) = 1/3
    array([2.])
    """

    switching_weight: Any = None
    coordinates: Coordinates = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy.in_plant_coordinates:
            raise ArgumentError(
                "policy must play in plain coordinates, got one in the plant's own: Weighted goes inside Limited, and "
                "once is enough"
            )
        coordinates = Coordinates(self.switching_weight)
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "switching_weight", coordinates.switching_weight)

    @property
    def in_plant_coordinates(self) -> bool:
        return True

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> State[M]:
        if self.coordinates.dim not in (None, x0.shape[-1]):
            raise ArgumentError(
                f"switching_weight must be for as many actuators as x0 has, {x0.shape[-1]}, got one for {self.coordinates.dim}"
            )
        return self.policy.start(self.coordinates.to_plain(x0), horizon, rng)

    def decide(self, state: State[State[M]], v: Array) -> tuple[Array, State[M]]:
        z, inner = self.policy.act(state.memory, self.coordinates.to_plain(v))
        return self.coordinates.from_plain(z), inner

    def learn(self, state: State[State[M]], y: Array) -> State[M]:
        return self.policy.observe(state.memory, y, applied=self.coordinates.to_plain(state.x))

    def diagnostics(self, state: State[State[M]]) -> dict[str, Any]:
        """The inner policy's, with an ``estimate`` of A in the plant's coordinates; the rest is in the plain ones."""
        found = super().diagnostics(state)
        if "estimate" in found:
            half = self.coordinates.to_plain(found["estimate"])
            found["estimate"] = self.coordinates.to_plain(half.swapaxes(-1, -2))
        return found


@register("Limited")
@dataclass(frozen=True, eq=False)
class Limited(Wrapper[M]):
    """A policy within actuator limits: its actions are clipped, and it is told what was really played.

    The limits are in the plant's own units, so ``Limited`` goes around ``Weighted``, not inside.

    Parameters
    ----------
    policy : Policy
    low, high : float or array_like of shape (d,), optional
        The limits; None for no limit on that side, infinity for none of one actuator.

    Examples
    --------
    >>> from soqo import FTM
    >>> policy = Limited(FTM(), low=-1.0, high=1.0)
    >>> policy.act(policy.start(np.zeros(2)), v=[3.0, 0.5])[0]
    array([1. , 0.5])
    """

    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                limit = numbers(name, getattr(self, name))
                if limit.ndim > 1:
                    raise ArgumentError(f"{name} must be a number or a vector, got {limit.shape}")
                beyond = np.inf if name == "low" else -np.inf
                if (np.isnan(limit) | (limit == beyond)).any():
                    raise ArgumentError(f"{name} must be neither NaN nor {beyond}, got {limit}")
                object.__setattr__(self, name, freeze(limit))
        if self.low is None or self.high is None:
            return
        if self.low.ndim and self.high.ndim and self.low.shape != self.high.shape:
            raise ArgumentError(f"low and high must have one shape, got {self.low.shape} and {self.high.shape}")
        if (self.low > self.high).any():
            raise ArgumentError(f"low must not exceed high, got {self.low} and {self.high}")

    @property
    def in_plant_coordinates(self) -> bool:
        return True

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> State[M]:
        for name in ("low", "high"):
            limit = getattr(self, name)
            if limit is not None and limit.shape not in ((), x0.shape[-1:]):
                raise ArgumentError(f"{name} must have shape {x0.shape[-1:]}, got {limit.shape}")
        return self.policy.start(x0, horizon, rng)

    def decide(self, state: State[State[M]], v: Array) -> tuple[Array, State[M]]:
        x, inner = self.policy.act(state.memory, v)
        # Not by np.clip, which takes ten times as long for one plant.
        if self.low is not None:
            x = np.maximum(x, self.low)
        if self.high is not None:
            x = np.minimum(x, self.high)
        return x, inner

    def learn(self, state: State[State[M]], y: Array) -> State[M]:
        return self.policy.observe(state.memory, y, applied=state.x)


def in_plant_units(policy: Policy[Any], switching_weight: Any) -> Policy[Any]:
    """A policy as it must be to steer a plant with this switching weight: ``Weighted``, but inside of any limits."""
    if isinstance(policy, Limited):
        return Limited(in_plant_units(policy.policy, switching_weight), policy.low, policy.high)
    return policy if policy.in_plant_coordinates or switching_weight is None else Weighted(policy, switching_weight)
