r"""The records of a fleet's journal, in the layout of `soqo._storage.journal_format`.

::

    act       = n  k  c  f  plants v x forecast context factor active
    observe   = n  a  r  m  plants y applied rounds at unit covariates
    change    = an encoded mapping of the names, and of x0 and limits for plants that begin

n, k and c are the numbers of plants, of forecast rounds and of entries of the context, 32 bits each, and f, a and r say
what else there is, one byte each: f has a bit for factors and one for masks, a has one each for applied actions, places
where readings were felt, units and covariates, and r is 1 if there are rounds. Only if there are covariates, m is their
number, 32 bits. Plants and rounds are numbers of 32 bits, masks are bytes, all else is float64. k and c are one more
than the number, and zero for none.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soqo._storage.codec import decode, encode
from soqo._storage.journal_records import ACT_WITH_PARTS, JOIN, LEAVE, OBSERVE_WITH_PARTS, RESTART, Record
from soqo.errors import FileFormatError
from soqo.typing import Array, BoolArray, IntArray

Name = str | int
"""The name of a plant."""

Names = Name | Collection[Name] | npt.NDArray[Any]
"""The name of a plant, or the names of several in the order of the rows of the other arguments."""

_ACT, _OBSERVE, _JOIN, _LEAVE, _RESTART = ACT_WITH_PARTS, OBSERVE_WITH_PARTS, JOIN, LEAVE, RESTART
_ACT_HEAD, _OBSERVE_HEAD, _COUNT = struct.Struct("<IIIB"), struct.Struct("<IBB"), struct.Struct("<I")


@dataclass(frozen=True, eq=False)
class ActCall:
    """A call of ``act``: the numbers of the plants, what was given, and the actions."""

    plants: IntArray
    v: Array
    x: Array
    forecast: Array | None = None
    context: Array | None = None
    factor: Array | None = None
    active: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class ObserveCall:
    """A call of ``observe``: the numbers of the plants, and what was given.

    Rows of NaN were applied as planned, or felt at the position.
    """

    plants: IntArray
    y: Array
    applied: Array | None = None
    rounds: IntArray | None = None
    at: Array | None = None
    unit: Array | None = None
    covariates: Array | None = None


@dataclass(frozen=True, eq=False)
class JoinCall:
    """A call of ``join``: the names of the plants, where they begin, and their limits if these are their own."""

    names: tuple[Name, ...]
    x0: Array
    limits: Array | None = None


@dataclass(frozen=True, eq=False)
class LeaveCall:
    """A call of ``leave``."""

    names: tuple[Name, ...]


@dataclass(frozen=True, eq=False)
class RestartCall:
    """A call of ``restart``: the names of the plants and where they begin."""

    names: tuple[Name, ...]
    x0: Array


FleetCall = ActCall | ObserveCall | JoinCall | LeaveCall | RestartCall


def encode_fleet_call(call: FleetCall) -> tuple[bytes, bytes]:
    """Return the kind and the payload of a call's record."""
    if isinstance(call, ActCall):
        k = 0 if call.forecast is None else 1 + call.forecast.shape[1]
        c = 0 if call.context is None else 1 + call.context.shape[1]
        head = _ACT_HEAD.pack(len(call.plants), k, c, _bits(call.factor, call.active))
        return _ACT, head + _join(call.plants, call.v, call.x, call.forecast, call.context, call.factor, call.active)
    if isinstance(call, ObserveCall):
        given = _bits(call.applied, call.at, call.unit, call.covariates)
        head = _OBSERVE_HEAD.pack(len(call.plants), given, call.rounds is not None)
        if call.covariates is not None:
            head += _COUNT.pack(call.covariates.shape[1])
        parts = (call.plants, call.y, call.applied, call.rounds, call.at, call.unit, call.covariates)
        return _OBSERVE, head + _join(*parts)
    if isinstance(call, LeaveCall):
        return _LEAVE, encode({"names": call.names})
    if isinstance(call, RestartCall):
        return _RESTART, encode({"names": call.names, "x0": call.x0})
    limits = {} if call.limits is None else {"limits": call.limits}
    return _JOIN, encode({"names": call.names, "x0": call.x0, **limits})


def _bits(*parts: Any) -> int:
    """Return a number with a bit for each part that is given, the first one lowest."""
    return sum(1 << k for k, part in enumerate(parts) if part is not None)


def _join(*arrays: Any) -> bytes:
    """Return arrays as bytes: integers as 32 bits, numbers as float64, masks as bytes."""
    kinds = {"i": "<u4", "u": "<u4", "f": "<f8", "b": "u1"}
    return b"".join(array.astype(kinds[array.dtype.kind]).tobytes() for array in arrays if array is not None)


def decode_fleet_call(record: Record, dim: int, source: str | os.PathLike[str]) -> FleetCall:
    """Return the call that a record holds, for plants of this dimension."""
    try:
        if record.kind == _ACT:
            return _decode_act(record.payload, dim)
        if record.kind == _OBSERVE:
            return _decode_observe(record.payload, dim)
        if record.kind == _LEAVE:
            return LeaveCall(**decode(record.payload))
        if record.kind in (_JOIN, _RESTART):
            fields = decode(record.payload)
            return JoinCall(**fields) if record.kind == _JOIN else RestartCall(**fields)
    except (struct.error, ArithmeticError, LookupError, ValueError, TypeError) as error:
        raise FileFormatError(f"{source} holds a record at byte {record.start} that cannot be read: {error}") from error
    raise FileFormatError(f"{source} holds a record of an unknown kind at byte {record.start}: {record.kind!r}")


def _decode_act(payload: bytes, dim: int) -> ActCall:
    n, k, c, given = _ACT_HEAD.unpack_from(payload)
    rest = _Reader(payload, _ACT_HEAD.size)
    call = ActCall(
        rest.integers(n),
        rest.floats(n, dim),
        rest.floats(n, dim),
        rest.floats(n, k - 1, dim) if k else None,
        rest.floats(n, c - 1) if c else None,
        rest.floats(n) if given & 1 else None,
        rest.flags(n, dim) if given & 2 else None,
    )
    rest.finish()
    return call


def _decode_observe(payload: bytes, dim: int) -> ObserveCall:
    n, given, rounds = _OBSERVE_HEAD.unpack_from(payload)
    (m,) = _COUNT.unpack_from(payload, _OBSERVE_HEAD.size) if given & 8 else (0,)
    rest = _Reader(payload, _OBSERVE_HEAD.size + (_COUNT.size if given & 8 else 0))
    call = ObserveCall(
        rest.integers(n),
        rest.floats(n),
        rest.floats(n, dim) if given & 1 else None,
        rest.integers(n) if rounds else None,
        rest.floats(n, dim) if given & 2 else None,
        rest.floats(n) if given & 4 else None,
        rest.floats(n, m) if given & 8 else None,
    )
    rest.finish()
    return call


class _Reader:
    """Reads arrays from bytes, one after the other."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def integers(self, n: int) -> IntArray:
        return np.asarray(self._next("<u4", n), dtype=np.int64)

    def floats(self, *shape: int) -> Array:
        values = self._next("<f8", int(np.prod(shape, dtype=int)))
        return np.array(values, dtype=np.float64).reshape(shape)

    def flags(self, *shape: int) -> BoolArray:
        values = self._next("u1", int(np.prod(shape, dtype=int)))
        return np.asarray(values, dtype=np.bool_).reshape(shape)

    def _next(self, kind: str, count: int) -> Any:
        values = np.frombuffer(self._data, kind, count, self._at) if count else np.empty(0, kind)
        self._at += values.nbytes
        return values

    def finish(self) -> None:
        """Refuse bytes that were not read."""
        if self._at != len(self._data):
            raise ValueError(f"expected {self._at} bytes, got {len(self._data)}")
