"""The complete state of a controller, as files hold it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from soqo._control.actuators import Actuators, Limits
from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.codec import decode
from soqo._storage.registry import add_fields, register, rename_fields
from soqo.errors import FileFormatError, SoqoError
from soqo.policies import Limited, Periodic, Policy, State, match_switching_weight
from soqo.typing import ArrayLike


@register(
    "Controller",
    version=3,
    migrations={
        0: rename_fields(switching="switching_weight"),
        1: add_fields(rate=None, v_limits=None, actuators=None, units=None, timestamps=False, seed=None),
        2: add_fields(period=None),
    },
)
@dataclass(frozen=True)
class Snapshot(Value):
    """The complete state of a controller.

    Attributes
    ----------
    policy : Policy
        The policy, as the user gave it.
    low, high, switching_weight
        The limits of the plant and its switching weight.
    state : State
        The state of the policy, within limits and weight.
    missed : int
        The number of rounds without a reading.
    rate
        The largest step of a round.
    v_limits : pair of arrays, or None
        The lowest and the highest plausible minimizer.
    actuators, units
        The names of the actuators and their units.
    timestamps : bool
        Whether the time of every call is recorded.
    seed : int or None
        The seed of the policy; None if the file is of an earlier version.
    period
        The period of positions that are angles.
    """

    policy: Policy[Any]
    low: ArrayLike | None
    high: ArrayLike | None
    switching_weight: ArrayLike | None
    state: State[Any]
    missed: int
    rate: ArrayLike | None = None
    v_limits: Limits | None = None
    actuators: tuple[str, ...] | None = None
    units: str | tuple[str, ...] | None = None
    timestamps: bool = False
    seed: int | None = None
    period: ArrayLike | None = None

    def player(self) -> Policy[Any]:
        """Return the policy within limits and weight, which were checked when the controller was made."""
        wrapped = match_switching_weight(self.policy, self.switching_weight)
        if self.period is not None:
            wrapped = Periodic(wrapped, self.period)
        if self.low is None and self.high is None and self.rate is None:
            return wrapped
        return Limited(wrapped, low=self.low, high=self.high, rate=self.rate)

    def names(self) -> Actuators:
        """Return the names and units of the actuators."""
        return Actuators(self.state.x.size, self.actuators, self.units)


def decode_snapshot(data: bytes, source: str | os.PathLike[str]) -> Snapshot:
    """Return the snapshot in the bytes of a file, whose name is for error messages."""
    try:
        snapshot = decode(data)
    except FileFormatError as error:
        raise FileFormatError(f"{source}: {error}") from error
    if not isinstance(snapshot, Snapshot):
        raise FileFormatError(f"{source} must hold the state of a controller, got a {type(snapshot).__name__}")
    state = snapshot.state
    if state.x.ndim != 1 or not state.x.size or state.v.shape != state.x.shape or state.diverged.shape:
        raise FileFormatError(f"{source} must hold the state of one plant, got x of shape {state.x.shape}")
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
