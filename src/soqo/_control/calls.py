"""The calls of a controller, and how the records of its journal hold them."""

from __future__ import annotations

import os
import struct
from typing import Any, NamedTuple

import numpy as np

from soqo._storage.journal_records import ACT, ACT_WITH_PARTS, OBSERVE, OBSERVE_WITH_PARTS, Record
from soqo.errors import FileFormatError
from soqo.typing import Array, BoolArray

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
    active : BoolArray of shape (d,), or None
        The actuators that could move.
    at : Array of shape (d,), or None
        Where the reading was felt.
    unit : Array of shape (), or None
        The unit of the reading.
    covariates : Array of shape (k,), or None
        What is known about the reading.
    """

    v: Array | None = None
    x: Array | None = None
    y: float | None = None
    forecast: Array | None = None
    context: Array | None = None
    factor: Array | None = None
    round: int | None = None
    time: int | None = None
    active: BoolArray | None = None
    at: Array | None = None
    unit: Array | None = None
    covariates: Array | None = None


_PART_NAMES = {
    "v": b"v",
    "x": b"x",
    "y": b"y",
    "forecast": b"f",
    "context": b"c",
    "factor": b"s",
    "round": b"r",
    "time": b"t",
    "active": b"m",
    "at": b"p",
    "unit": b"u",
    "covariates": b"w",
}
_FIELDS = {name: field for field, name in _PART_NAMES.items()}
_OF_ACT = {"v", "forecast", "context", "factor", "active"}
_OF_OBSERVE = {"y", "round", "at", "unit", "covariates"}
"""The parts that only calls of one kind have."""


def encode_call(call: Call) -> tuple[bytes, bytes]:
    """Return the kind and the payload of a call's record."""
    v, x, y = call[:3]
    if any(part is not None for part in call[3:]):
        kind = ACT_WITH_PARTS if y is None else OBSERVE_WITH_PARTS
        parts = [(_PART_NAMES[name], _bytes_of(value)) for name, value in call._asdict().items() if value is not None]
        return kind, b"".join(_PART.pack(name, len(data)) + data for name, data in parts)
    position = b"" if x is None else np.asarray(x, dtype="<f8").tobytes()
    if y is None:
        return ACT, np.asarray(v, dtype="<f8").tobytes() + position
    return OBSERVE, _NUMBER.pack(y) + position


def _bytes_of(value: Array | BoolArray | float | int) -> bytes:
    if isinstance(value, int):
        return _INTEGER.pack(value)
    if isinstance(value, np.ndarray) and value.dtype == np.bool_:
        return value.tobytes()
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
            elif field == "active":
                found[field] = _flags(data).reshape(dim)
            else:
                found[field] = _shaped(field, _floats(data), dim)
    except (struct.error, KeyError, ValueError) as error:
        raise FileFormatError(f"{problem}: {error!r}") from error
    required = {"v", "x"} if record.kind == ACT_WITH_PARTS else {"y"}
    forbidden = _OF_OBSERVE if record.kind == ACT_WITH_PARTS else _OF_ACT
    if at != len(payload) or not required <= found.keys() or forbidden & found.keys():
        raise FileFormatError(f"{problem}: it has {sorted(found)}")
    return Call(**found)


def _shaped(field: str, values: Array, dim: int) -> Any:
    """Return the numbers of a part in their shape."""
    if field == "forecast":
        return values.reshape(-1, dim)
    if field in ("context", "covariates"):
        return values
    if field in ("factor", "unit"):
        return values.reshape(())
    return float(values.reshape(())) if field == "y" else values.reshape(dim)


def _floats(data: bytes) -> Array:
    return np.frombuffer(data, dtype="<f8").astype(np.float64)


def _flags(data: bytes) -> BoolArray:
    flags = np.frombuffer(data, dtype=np.uint8)
    if (flags > 1).any():
        raise ValueError("a mask has bytes other than 0 and 1")
    return flags.astype(np.bool_)
