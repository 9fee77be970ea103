"""The complete state of live plants, as files hold it: of one that is steered alone, or of a fleet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._control.actuators import Actuators, Limits
from soqo._control.calls import ALONE, Name
from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.codec import decode
from soqo._storage.registry import build, register, retire
from soqo.errors import FileFormatError, SoqoError
from soqo.policies import Limited, Periodic, Policy, State, match_switching_weight
from soqo.typing import Array, ArrayLike, IntArray


@register("Fleet.batch")
@dataclass(frozen=True)
class SavedBatch(Value):
    """Some plants: their numbers, and their state, or only their positions if they have not played yet."""

    plants: IntArray
    state: State[Any] | None = None
    x0: Array | None = None


@register("Plants")
@dataclass(frozen=True)
class Snapshot(Value):
    """The complete state of some plants.

    Attributes
    ----------
    policy : Policy
        The policy, as the user gave it.
    dim : int
        The number of actuators of a plant.
    horizon, max_delay, low, high, switching_weight, rate, period
        As the user gave them; limits that differ between plants are in ``limits``.
    seed : int or None
        The seed of the policy; None if the file is of an earlier version.
    names : tuple of str or int
        The names of the plants of a fleet.
    numbers, missed : IntArray, shape (n,)
        The number of each plant, and how many of its rounds had no reading; of shape () for a plant that is steered
        alone.
    begun : int
        How many plants have begun so far, which is the number of the next one.
    batches : tuple of SavedBatch
        Their states.
    limits : Array of shape (n, 3, d), or None
        The limits low, high and rate of each plant, if they differ.
    v_limits : pair of arrays, or None
        The lowest and the highest plausible minimizer.
    actuators, units
        The names of the actuators and their units.
    timestamps : bool
        Whether the time of every call is recorded.
    """

    policy: Policy[Any]
    dim: int
    horizon: int | None
    seed: int | None
    max_delay: int
    low: ArrayLike | None
    high: ArrayLike | None
    switching_weight: ArrayLike | None
    names: tuple[Name, ...]
    numbers: IntArray
    missed: IntArray
    begun: int
    batches: tuple[SavedBatch, ...]
    rate: ArrayLike | None = None
    period: ArrayLike | None = None
    limits: Array | None = None
    v_limits: Limits | None = None
    actuators: tuple[str, ...] | None = None
    units: str | tuple[str, ...] | None = None
    timestamps: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether this is a plant that is steered alone, by a controller."""
        return not self.numbers.ndim

    def player(self) -> Policy[Any]:
        """Return the policy within the weight and the limits of all plants, which were checked when they were given."""
        wrapped = match_switching_weight(self.policy, self.switching_weight)
        if self.period is not None:
            wrapped = Periodic(wrapped, self.period)
        if all(limit is None for limit in (self.low, self.high, self.rate, self.limits)):
            return wrapped
        # The states of plants whose limits differ have a level for them, too.
        return Limited(wrapped, low=self.low, high=self.high, rate=self.rate)

    def actuator_names(self) -> Actuators:
        """Return the names and units of the actuators."""
        return Actuators(self.dim, self.actuators, self.units)


def _from_controller(fields: dict[str, Any]) -> Snapshot:
    """Return what an earlier version wrote of a controller."""
    state = fields.pop("state")
    if state.x.ndim != 1 or not state.x.size or state.v.shape != state.x.shape or state.diverged.shape:
        raise FileFormatError(f"a controller must hold the state of one plant, got x of shape {state.x.shape}")
    if "switching" in fields:  # version 0.1.0
        fields["switching_weight"] = fields.pop("switching")
    plant = {"names": (), "numbers": ALONE, "begun": 1, "batches": (SavedBatch(ALONE, state),)}
    settings = {"dim": state.x.size, "horizon": state.horizon, "max_delay": state.max_delay}
    missed = np.asarray(fields.pop("missed"))
    found: Snapshot = build("Plants", 1, {"seed": None, **fields, **settings, **plant, "missed": missed})
    return found


def _from_fleet(fields: dict[str, Any]) -> Snapshot:
    """Return what an earlier version wrote of a fleet."""
    found: Snapshot = build("Plants", 1, fields)
    return found


retire("Controller", convert=_from_controller)
retire("Fleet", convert=_from_fleet)


def decode_snapshot(data: bytes, source: str | os.PathLike[str], *, alone: bool) -> Snapshot:
    """Return the snapshot in the bytes of a file, whose name is for error messages."""
    try:
        snapshot = decode(data)
    except FileFormatError as error:
        raise FileFormatError(f"{source}: {error}") from error
    what = "a controller" if alone else "a fleet"
    if not isinstance(snapshot, Snapshot):
        raise FileFormatError(f"{source} must hold the state of {what}, got a {type(snapshot).__name__}")
    if snapshot.is_alone != alone:
        raise FileFormatError(
            f"{source} must hold the state of {what}, got that of {'a controller' if snapshot.is_alone else 'a fleet'}"
        )
    return snapshot


@contextmanager
def refusing_damage(what: str) -> Iterator[None]:
    """Turn every error into a :class:`FileFormatError`: what a file holds made the code fail that uses it.

    Damage that keeps the types of all fields, such as an array of another length, shows only then.
    """
    try:
        yield
    except SoqoError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(f"{what}: {type(error).__name__}: {error}") from error
