"""The complete state of a controller, and how files hold it and the calls that change it."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.codec import decode
from soqo._storage.journal_format import ACT, OBSERVE, Record
from soqo._storage.registry import register, rename_fields
from soqo.errors import FileFormatError
from soqo.policies import Policy, State, wrap_for_plant
from soqo.typing import Array, ArrayLike


@register("Controller", migrations={0: rename_fields(switching="switching_weight")})
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
    """

    policy: Policy[Any]
    low: ArrayLike | None
    high: ArrayLike | None
    switching_weight: ArrayLike | None
    state: State[Any]
    missed: int

    def player(self) -> Policy[Any]:
        """Return the policy within limits and weight."""
        return wrap_for_plant(self.policy, switching_weight=self.switching_weight, low=self.low, high=self.high)


def decode_snapshot(data: bytes, source: str | os.PathLike[str]) -> Snapshot:
    """Return the snapshot in the bytes of a file, whose name is for error messages."""
    try:
        snapshot = decode(data)
    except FileFormatError as error:
        raise FileFormatError(f"{source}: {error}") from error
    if not isinstance(snapshot, Snapshot):
        raise FileFormatError(f"{source} must hold the state of a controller, got a {type(snapshot).__name__}")
    return snapshot


_NUMBER = struct.Struct("<d")


class Call(NamedTuple):
    """A call of ``act`` (v and the returned x) or of ``observe`` (y, and x if it was applied otherwise)."""

    v: Array | None = None
    x: Array | None = None
    y: float | None = None


def encode_call(call: Call) -> tuple[bytes, bytes]:
    """Return the kind and the payload of a call's record."""
    x = b"" if call.x is None else np.asarray(call.x, dtype="<f8").tobytes()
    if call.y is None:
        return ACT, np.asarray(call.v, dtype="<f8").tobytes() + x
    return OBSERVE, _NUMBER.pack(call.y) + x


def decode_call(record: Record, dim: int, source: str | os.PathLike[str]) -> Call:
    """Return the call that a record holds, for a plant of this dimension."""
    if record.kind == ACT and len(record.payload) == 16 * dim:
        v, x = _floats(record).reshape(2, dim)
        return Call(v=v, x=x)
    if record.kind == OBSERVE and len(record.payload) in (8, 8 + 8 * dim):
        y, *applied = _floats(record)
        return Call(y=float(y), x=np.array(applied) if applied else None)
    raise FileFormatError(f"{source} holds a record of an unknown kind at byte {record.start}: {record.kind!r}")


def _floats(record: Record) -> Array:
    return np.frombuffer(record.payload, dtype="<f8").astype(np.float64)
