"""Wrappers around any policy: for a weighted switching cost (`Weighted`) and for actuator limits (`Limited`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from soqo._foundation.arguments import numbers
from soqo._foundation.blas import is_finite_quick
from soqo._foundation.frozen_dataclasses import evolve, freeze, set_fields
from soqo._model.coordinates import Coordinates
from soqo._model.problem import Problem
from soqo._storage.registry import add_fields, register, rename_fields
from soqo.errors import ArgumentError
from soqo.policies._base import Policy, Reach, State
from soqo.typing import Array, ArrayLike, BoolArray, IntArray, Rng

_M = TypeVar("_M")


@dataclass(frozen=True)
class Wrapper(Policy[_M], Generic[_M]):
    """A policy around another policy: it changes what goes in and what comes out, and has the memory of the other.

    A wrapper implements ``decide``, in which ``act_inside`` returns the action of the inner policy. One that changes
    coordinates overrides ``inside``, the state as the inner policy sees it in every call.

    Parameters
    ----------
    policy : Policy
        The inner policy.

    Examples
    --------
    >>> from soqo import FTM
    >>> class HalfStep(Wrapper):
    ...     def decide(self, state, v):
    ...         x, memory = self.act_inside(state, v)
    ...         return (state.x + x) / 2.0, memory
    >>> policy = HalfStep(FTM())
    >>> policy.act(policy.start(np.zeros(1)), v=[4.0])[0]
    array([2.])
    """

    policy: Policy[_M]

    goes_around_weights: ClassVar[bool] = False
    """Whether the wrapper is in plant coordinates, so that a switching weight belongs inside of it."""

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):
            raise ArgumentError(f"policy must be a Policy, got {type(self.policy).__name__}")

    def inside(self, state: State[_M]) -> State[_M]:
        """Return the state as the inner policy sees it; by default as it is.

        Parameters
        ----------
        state : State
            The wrapper's state.
        """
        return state

    def act_inside(self, state: State[_M], v: Array) -> tuple[Array, _M]:
        """Return the action of the inner policy, in its coordinates, and its new memory.

        Parameters
        ----------
        state : State
            The wrapper's state, in ``decide``.
        v : Array, shape (*batch, d)
            The minimizer of this round, in the coordinates of the inner policy.
        """
        return self.policy.decided(self.inside(state), v)

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> _M:
        return self.policy.begin(x0, horizon, rng)

    def learn(self, state: State[_M], y: Array) -> _M:
        return self.policy.learn(self.inside(state), y)

    def take_runs(self, memory: _M, index: IntArray) -> _M:
        return self.policy.take_runs(memory, index)

    def join_runs(self, memories: Sequence[_M]) -> _M:
        return self.policy.join_runs(memories)

    def shift_rounds(self, memory: _M, by: int) -> _M:
        return self.policy.shift_rounds(memory, by)

    def nearest(self, position: Array, x: Array) -> Array:
        return self.policy.nearest(position, x)

    @property
    def exact_feedback(self) -> bool:
        return self.policy.exact_feedback

    def for_simulation(self, problem: Problem) -> Policy[Any]:
        inner = self.policy.for_simulation(problem)
        return self if inner is self.policy else replace(self, policy=inner)

    @property
    def state_grows(self) -> bool:
        return self.policy.state_grows

    @property
    def mixes_rounds(self) -> bool:
        return self.policy.mixes_rounds

    def diverged(self, state: State[_M]) -> BoolArray:
        return self.policy.diverged(self.inside(state))

    def diagnostics(self, state: State[_M]) -> dict[str, Any]:
        """Return the diagnostics of the inner policy, in its coordinates.

        Parameters
        ----------
        state : State
            The state.
        """
        return self.policy.diagnostics(self.inside(state))

    def model(self, state: State[_M]) -> dict[str, Any]:
        return self.policy.model(self.inside(state))

    def health(self, state: State[_M]) -> dict[str, Any]:
        return self.policy.health(self.inside(state))

    def uncertainty_of(self, state: State[_M], directions: Array) -> Array | None:
        return self.policy.uncertainty_of(self.inside(state), directions)

    def counts(self, state: State[_M]) -> dict[str, Array]:
        return self.policy.counts(self.inside(state))

    def explain(self, state: State[_M]) -> str:
        return self.policy.explain(self.inside(state))


@register("Weighted", migrations={0: rename_fields(switching="switching_weight")})
@dataclass(frozen=True)
class Weighted(Wrapper[_M]):
    """A policy for a plant whose switching cost is 1/2 (x-x_prev)'W(x-x_prev).

    The inner policy plays in the coordinates W^{1/2} x, where the switching cost is unweighted and the curvature is
    W^{-1/2} A W^{-1/2} (``problem.plain.A``).

    Parameters
    ----------
    policy : Policy
        The policy, in coordinates where the switching cost is unweighted.
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

    switching_weight: ArrayLike | None = None
    coordinates: Coordinates = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy.in_plant_coordinates:
            raise ArgumentError(
                "policy must be for an unweighted switching cost, got one in plant coordinates: put Weighted inside "
                "Limited, and only once"
            )
        coordinates = Coordinates(self.switching_weight)
        set_fields(self, coordinates=coordinates, switching_weight=coordinates.switching_weight)

    @property
    def in_plant_coordinates(self) -> bool:
        return True

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> _M:
        if self.coordinates.dim not in (None, x0.shape[-1]):
            raise ArgumentError(
                f"switching_weight must be for as many actuators as x0 has, {x0.shape[-1]}, "
                f"got one for {self.coordinates.dim}"
            )
        return super().begin(self.coordinates.to_plain(x0), horizon, rng)

    def inside(self, state: State[_M]) -> State[_M]:
        """Return the state in the coordinates of the inner policy.

        Parameters
        ----------
        state : State
            The wrapper's state.
        """
        plain, known = self.coordinates.to_plain, {}
        if state.x_prev is not None:
            known["x_prev"] = plain(state.x_prev)
        if state.felt is not None:
            known["felt"] = plain(state.felt)
        if state.forecast is not None:
            known["forecast"] = plain(state.forecast)
        reach = None if state.reach is None else self._reach(state.reach)
        return evolve(state, x=plain(state.x), v=plain(state.v), reach=reach, **known)

    def _reach(self, outer: Reach) -> Reach:
        """Return where a plant gets, in the coordinates of the inner policy."""
        plain, plant = self.coordinates.to_plain, self.coordinates.from_plain

        def reach(x: Array, v: Array) -> tuple[Array, Array]:
            end, target = outer(plant(x), plant(v))
            return plain(end), plain(target)

        return reach

    def decide(self, state: State[_M], v: Array) -> tuple[Array, _M]:
        z, memory = self.act_inside(state, self.coordinates.to_plain(v))
        return self.coordinates.from_plain(z), memory

    def diagnostics(self, state: State[_M]) -> dict[str, Any]:
        """Return the diagnostics of the inner policy, with ``estimate``, ``uncertainty`` and ``offset`` in plant units.

        Parameters
        ----------
        state : State
            The state.
        """
        found = self._in_plant_units(super().diagnostics(state))
        if "uncertainty" in found:
            eigenvectors = np.linalg.eigh(found["estimate"])[1]
            found["uncertainty"] = self.uncertainty_of(state, eigenvectors.mT)
        return found

    def model(self, state: State[_M]) -> dict[str, Any]:
        return self._in_plant_units(super().model(state))

    def _in_plant_units(self, found: dict[str, Any]) -> dict[str, Any]:
        found = dict(found)
        if "estimate" in found:
            half = self.coordinates.to_plain(found["estimate"])
            found["estimate"] = self.coordinates.to_plain(half.swapaxes(-1, -2))
        if "offset" in found:
            found["offset"] = self.coordinates.from_plain(found["offset"])
        return found

    def health(self, state: State[_M]) -> dict[str, Any]:
        found = super().health(state)
        if "offset_covariance" in found:
            half = self.coordinates.from_plain(found["offset_covariance"])
            found["offset_covariance"] = self.coordinates.from_plain(half.swapaxes(-1, -2))
        return found

    def uncertainty_of(self, state: State[_M], directions: Array) -> Array | None:
        # With q'A q = (W^{1/2} q)' W^{-1/2} A W^{-1/2} (W^{1/2} q), the inner policy knows the deviation.
        return super().uncertainty_of(state, self.coordinates.to_plain(directions))


@register("Limited", version=2, migrations={1: add_fields(rate=None)})
@dataclass(frozen=True)
class Limited(Wrapper[_M]):
    """A policy within actuator limits: its actions are clipped, and it learns from the clipped ones.

    The limits are in plant coordinates, so ``Limited`` goes around ``Weighted``. If the plant is out of ``low`` and
    ``high`` by more than a step of ``rate``, the action is at the limit: ``low`` and ``high`` hold in every round.

    Parameters
    ----------
    policy : Policy
        The policy.
    low, high : float or array_like of shape (d,), optional
        The limits; None for no limit on that side, an infinite entry for no limit of one actuator.
    rate : float or array_like of shape (d,), optional
        The largest step of a round, above 0; None for no limit, an infinite entry for no limit of one actuator.

    Examples
    --------
    >>> from soqo import FTM
    >>> policy = Limited(FTM(), low=-1.0, high=1.0)
    >>> policy.act(policy.start(np.zeros(2)), v=[3.0, 0.5])[0]
    array([1. , 0.5])
    >>> policy = Limited(FTM(), rate=[0.25, np.inf])
    >>> policy.act(policy.start(np.zeros(2)), v=[3.0, 0.5])[0]
    array([0.25, 0.5 ])
    """

    _: KW_ONLY
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    rate: ArrayLike | None = None

    goes_around_weights: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = _limit("low", self.low), _limit("high", self.high)
        set_fields(self, low=low, high=high, rate=_limit("rate", self.rate))
        if low is None or high is None:
            return
        if low.ndim and high.ndim and low.shape != high.shape:
            raise ArgumentError(f"low and high must have one shape, got {low.shape} and {high.shape}")
        if (low > high).any():
            raise ArgumentError(f"low must not exceed high, got {low} and {high}")

    @property
    def in_plant_coordinates(self) -> bool:
        return True

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> _M:
        for name, limit in (("low", self.low), ("high", self.high), ("rate", self.rate)):
            if limit is not None and np.shape(limit) not in ((), x0.shape[-1:]):
                raise ArgumentError(f"{name} must have shape {x0.shape[-1:]}, got {np.shape(limit)}")
        return super().begin(x0, horizon, rng)

    def decide(self, state: State[_M], v: Array) -> tuple[Array, _M]:
        outer = state.reach

        def reach(x: Array, v: Array) -> tuple[Array, Array]:
            end = self._limited(x, v)
            return (end, v) if outer is None else (outer(x, end)[0], outer(x, v)[1])

        x, memory = self.act_inside(evolve(state, reach=reach), v)
        return self._limited(state.x, x), memory

    def _limited(self, x_prev: Array, x: Array) -> Array:
        """Return actions within the limits; one that is not finite stays as it is, and is reported as diverged."""
        # np.clip takes ten times as long for one plant.
        end = x
        if self.rate is not None:
            end = np.minimum(np.maximum(end, np.subtract(x_prev, self.rate)), np.add(x_prev, self.rate))
        if self.low is not None:
            end = np.maximum(end, self.low)
        if self.high is not None:
            end = np.minimum(end, self.high)
        return end if is_finite_quick(x) else np.where(np.isfinite(x), end, x)


def _limit(name: str, value: ArrayLike | None) -> Array | None:
    """Return a limit as an array, or None if there is none."""
    if value is None:
        return None
    limit = numbers(name, value)
    if limit.ndim > 1:
        raise ArgumentError(f"{name} must be a number or a vector, got {limit.shape}")
    if name == "rate":
        if not (limit > 0.0).all():
            raise ArgumentError(f"rate must be above 0, got {limit}")
        return freeze(limit)
    excluded = np.inf if name == "low" else -np.inf
    if (np.isnan(limit) | (limit == excluded)).any():
        raise ArgumentError(f"{name} must be neither NaN nor {excluded}, got {limit}")
    return freeze(limit)


def match_switching_weight(policy: Policy[Any], switching_weight: ArrayLike | None) -> Policy[Any]:
    """Return the policy for a plant with this switching weight: ``Weighted``, inside of any limits.

    A policy that is ``Weighted`` already, or that needs no weight, stays as it is.

    Parameters
    ----------
    policy : Policy
        The policy.
    switching_weight : None, float, array_like of shape (d,) or (d, d)
        The weight W, as in :class:`soqo.Problem`.

    Examples
    --------
    >>> from soqo import FTM
    >>> match_switching_weight(Limited(FTM(), low=-1.0), 2.0)
    Limited(policy=Weighted(policy=FTM(), switching_weight=array(2.)), low=array(-1.))
    """
    if isinstance(policy, Wrapper) and policy.goes_around_weights:
        return replace(policy, policy=match_switching_weight(policy.policy, switching_weight))
    return policy if policy.in_plant_coordinates or switching_weight is None else Weighted(policy, switching_weight)
