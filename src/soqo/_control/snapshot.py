"""The complete state of a controller, and how files hold it and the calls that change it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soqo._control.actuators import Actuators, Limits
from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.codec import decode
from soqo._storage.journal_records import ACT, ACT_WITH_PARTS, OBSERVE, OBSERVE_WITH_PARTS, Record
from soqo._storage.registry import add_fields, register, rename_fields
from soqo.errors import FileFormatError, SoqoError
from soqo.policies import Limited, Policy, State, match_switching_weight
from soqo.typing import Array, ArrayLike


@register(
    "Controller",
    version=2,
    migrations={
        0: rename_fields(switching="switching_weight"),
        1: add_fields(rate=None, v_limits=None, actuators=None, units=None, timestamps=False, seed=None),
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

    def player(self) -> Policy[Any]:
        """Return the policy within limits and weight, which were checked when the controller was made."""
        weighted = match_switching_weight(self.policy, self.switching_weight)
        if self.low is None and self.high is None and self.rate is None:
            return weighted
        return Limited(weighted, low=self.low, high=self.high, rate=self.rate)

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


_NUMBER = struct.Struct("<d")
_INTEGER = struct.Struct("<q")
_PART = struct.Struct("<cI")


class Call(NamedTuple):
    """A call of ``act`` (v and the returned x) or of ``observe`` (y, and x if it was applied otherwise).

    Attributes
    ----------
    v, x, y
        As above.
    forecast, context, factor
        What else ``act`` was told, of shape (k, d), (k,) and ().
    round : int or None
        The round of a late reading; None for the current one.
    time : int or None
        The time of the call, in microseconds since 1970 in UTC.
    """

    v: Array | None = None
    x: Array | None = None
    y: float | None = None
    forecast: Array | None = None
    context: Array | None = None
    factor: Array | None = None
    round: int | None = None
    time: int | None = None


_PART_NAMES = {
    "v": b"v",
    "x": b"x",
    "y": b"y",
    "forecast": b"f",
    "context": b"c",
    "factor": b"s",
    "round": b"r",
    "time": b"t",
}
_FIELDS = {name: field for field, name in _PART_NAMES.items()}


def encode_call(call: Call) -> tuple[bytes, bytes]:
    """Return the kind and the payload of a call's record."""
    v, x, y, forecast, context, factor, number, time = call
    if not (forecast is None and context is None and factor is None and number is None and time is None):
        kind = ACT_WITH_PARTS if y is None else OBSERVE_WITH_PARTS
        parts = [(_PART_NAMES[name], _bytes_of(value)) for name, value in call._asdict().items() if value is not None]
        return kind, b"".join(_PART.pack(name, len(data)) + data for name, data in parts)
    position = b"" if x is None else np.asarray(x, dtype="<f8").tobytes()
    if y is None:
        return ACT, np.asarray(v, dtype="<f8").tobytes() + position
    return OBSERVE, _NUMBER.pack(y) + position


def _bytes_of(value: Array | float | int) -> bytes:
    if isinstance(value, int):
        return _INTEGER.pack(value)
    return np.asarray(value, dtype="<f8").tobytes()


def decode_call(record: Record, dim: int, source: str | os.PathLike[str]) -> Call:
    """Return the call that a record holds, for a plant of this dimension."""
    if record.kind == ACT and len(record.payload) == 16 * dim:
        v, x = _floats(record.payload).reshape(2, dim)
        return Call(v=v, x=x)
    if record.kind == OBSERVE and len(record.payload) in (8, 8 + 8 * dim):
        y, *applied = _floats(record.payload)
        return Call(y=float(y), x=np.array(applied) if applied else None)
    if record.kind in (ACT_WITH_PARTS, OBSERVE_WITH_PARTS):
        return _decode_parts(record, dim, source)
    raise FileFormatError(f"{source} holds a record of an unknown kind at byte {record.start}: {record.kind!r}")


def _decode_parts(record: Record, dim: int, source: str | os.PathLike[str]) -> Call:
    """Return the call that a record with named parts holds."""
    found: dict[str, Any] = {}
    payload, at = record.payload, 0
    problem = f"{source} holds a record with unknown parts at byte {record.start}"
    try:
        while at < len(payload):
            name, length = _PART.unpack_from(payload, at)
            at += _PART.size
            data = payload[at : at + length]
            at += length
            field = _FIELDS[name]
            if field in ("round", "time"):
                (found[field],) = _INTEGER.unpack(data)
            else:
                found[field] = _shaped(field, _floats(data), dim)
    except (struct.error, KeyError, ValueError) as error:
        raise FileFormatError(f"{problem}: {error!r}") from error
    required = {"v", "x"} if record.kind == ACT_WITH_PARTS else {"y"}
    forbidden = {"y", "round"} if record.kind == ACT_WITH_PARTS else {"v", "forecast", "context", "factor"}
    if at != len(payload) or not required <= found.keys() or forbidden & found.keys():
        raise FileFormatError(f"{problem}: it has {sorted(found)}")
    return Call(**found)


def _shaped(field: str, values: Array, dim: int) -> Any:
    """Return the numbers of a part in their shape."""
    if field == "forecast":
        return values.reshape(-1, dim)
    if field == "context":
        return values
    if field == "factor":
        return values.reshape(())
    return float(values.reshape(())) if field == "y" else values.reshape(dim)


def _floats(data: bytes) -> Array:
    return np.frombuffer(data, dtype="<f8").astype(np.float64)
