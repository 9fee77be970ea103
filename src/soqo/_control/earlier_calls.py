r"""The records of calls that earlier versions wrote.

Calls of a controller had the parts of `calls`, or where nothing else was told, numbers alone. Those of a fleet were::

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
from typing import Any

import numpy as np

from soqo._control.calls import Call, decode_call, decode_parts
from soqo._storage.codec import decode
from soqo._storage.journal_records import ACT, ACT_WITH_PARTS, CHANGES, EARLIER, OBSERVE, OBSERVE_WITH_PARTS, Record
from soqo.errors import FileFormatError

_ACT_HEAD, _OBSERVE_HEAD, _COUNT = struct.Struct("<IIIB"), struct.Struct("<IBB"), struct.Struct("<I")


def read_call(record: Record, dim: int, source: str | os.PathLike[str], *, alone: bool) -> Call:
    """Return the call that a record of any version holds, of a plant that is steered alone or of a fleet."""
    if record.kind not in EARLIER:
        return decode_call(record, dim, source)
    try:
        return _decode_alone(record, dim, source) if alone else _decode_fleet(record, dim)
    except (struct.error, ArithmeticError, LookupError, ValueError, TypeError) as error:
        raise FileFormatError(f"{source} holds a record at byte {record.start} that cannot be read: {error}") from error


def _decode_alone(record: Record, dim: int, source: str | os.PathLike[str]) -> Call:
    if record.kind in (ACT_WITH_PARTS, OBSERVE_WITH_PARTS):
        return decode_parts("act" if record.kind == ACT_WITH_PARTS else "observe", record, dim, source)
    values = np.frombuffer(record.payload, "<f8").astype(np.float64)
    if record.kind == ACT:
        v, x = values.reshape(2, dim)
        return Call("act", {"v": v}, x=x)
    if record.kind == OBSERVE:
        given = {"y": values[0]} if len(values) == 1 else {"y": values[0], "applied": values[1:].reshape(dim)}
        return Call("observe", given)
    raise ValueError(f"a single plant has no {record.kind!r}")


def _decode_fleet(record: Record, dim: int) -> Call:
    if record.kind in CHANGES:
        fields = decode(record.payload)
        return Call(CHANGES[record.kind], {name: value for name, value in fields.items() if value is not None})
    reader = _Reader(record.payload)
    given: dict[str, Any]
    x = None
    if record.kind == ACT_WITH_PARTS:
        n, k, c, parts = reader.head(_ACT_HEAD)
        plants = reader.array("<u4", n).astype(np.int64)
        given, x = {"v": reader.array("<f8", n, dim)}, reader.array("<f8", n, dim)
        shapes = {"forecast": k and (n, k - 1, dim), "context": c and (n, c - 1), "factor": parts & 1 and (n,)}
        given |= {name: reader.array("<f8", *shape) for name, shape in shapes.items() if shape}
        if parts & 2:
            given["active"] = reader.array("?", n, dim)
    elif record.kind == OBSERVE_WITH_PARTS:
        n, parts, rounds = reader.head(_OBSERVE_HEAD)
        (m,) = reader.head(_COUNT) if parts & 8 else (0,)
        plants = reader.array("<u4", n).astype(np.int64)
        given = {"y": reader.array("<f8", n)}
        if parts & 1:
            given["applied"] = reader.array("<f8", n, dim)
        if rounds:
            given["round"] = reader.array("<u4", n).astype(np.int64)
        shapes = {"at": parts & 2 and (n, dim), "unit": parts & 4 and (n,), "covariates": parts & 8 and (n, m)}
        given |= {name: reader.array("<f8", *shape) for name, shape in shapes.items() if shape}
    else:
        raise ValueError(f"a fleet has no {record.kind!r}")
    reader.finish()
    return Call("act" if x is not None else "observe", given, plants, x)


class _Reader:
    """Reads numbers from bytes, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def head(self, layout: struct.Struct) -> tuple[int, ...]:
        found = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return found

    def array(self, kind: str, *shape: int) -> np.ndarray[Any, Any]:
        count = int(np.prod(shape, dtype=int))
        values = np.frombuffer(self._data, kind, count, self._at) if count else np.empty(0, kind)
        self._at += values.nbytes
        return values.astype(values.dtype.newbyteorder("=")).reshape(shape)

    def finish(self) -> None:
        """Refuse bytes that were not read."""
        if self._at != len(self._data):
            raise ValueError(f"expected {self._at} bytes, got {len(self._data)}")
