r"""The calls of live plants: what is told with each, and how the record of a journal holds it.

A call is for one plant, whose arrays have no axis for plants, or for several, whose arrays have one row for each. A
record consists of named parts, so that a later version can add one::

    payload = (letter (1 byte)  length (4 bytes)  bytes)*

Numbers are little-endian. What can be told is in `FIELDS` and nowhere else: encoding, decoding, replay and logs follow
it.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soqo._storage.journal_records import CALLS, Record
from soqo.errors import FileFormatError
from soqo.typing import Array, IntArray

Name = str | int
"""The name of a plant."""

Names = Name | Collection[Name] | npt.NDArray[Any]
"""The name of a plant, or the names of several in the order of the rows of the other arguments."""

ALONE: IntArray = np.zeros((), dtype=np.int64)
"""The number of a plant that is steered by itself; that it has no axis says that its arrays have none for plants."""

_PART = struct.Struct("<cI")
_FLOAT, _INTEGER, _NUMBER, _FLAG = map(np.dtype, ("<f8", "<i8", "<u4", "?"))


class Field(NamedTuple):
    """Something that is told with a call.

    Attributes
    ----------
    name, letter
        What it is called, and the letter of its part in a record.
    axes : str
        The axes behind that of the plants: ``d`` for the actuators, ``3`` for three, and ``k`` for any number.
    dtype : numpy.dtype, optional
        The type in a record; None for a tuple of names.
    per_plant : bool
        Whether there is a row for each plant.
    may_be_nan : bool
        Whether the whole row of a plant may be NaN.
    required : bool
        Whether every call of the kind has it.
    """

    name: str
    letter: bytes
    axes: str = ""
    dtype: np.dtype[Any] | None = _FLOAT
    per_plant: bool = True
    may_be_nan: bool = False
    required: bool = False

    def decode(self, data: bytes, plants: IntArray, dim: int) -> Any:
        """Return the value of a part."""
        if self.dtype is None:
            return tuple(json.loads(data))
        values = np.frombuffer(data, self.dtype)
        if self.dtype is _FLAG and (np.frombuffer(data, np.uint8) > 1).any():
            raise ValueError("a mask has bytes other than 0 and 1")
        sizes = {"d": dim, "3": 3, "k": -1}
        shape = (*(plants.shape if self.per_plant else ()), *(sizes[axis] for axis in self.axes))
        return values.astype(values.dtype.newbyteorder("=")).reshape(shape)


_PLANTS = Field("plants", b"n", "k", _NUMBER, per_plant=False)
_TIME = Field("time", b"t", "", _INTEGER, per_plant=False)
_NAMES = Field("names", b"N", dtype=None, required=True)
_X0 = Field("x0", b"0", "kd", per_plant=False, required=True)

FIELDS: dict[str, tuple[Field, ...]] = {
    "act": (
        _PLANTS,
        Field("v", b"v", "d", required=True),
        Field("x", b"x", "d", required=True),
        Field("forecast", b"f", "kd"),
        Field("context", b"c", "k"),
        Field("factor", b"s"),
        _TIME,
        Field("active", b"m", "d", _FLAG),
    ),
    "observe": (
        _PLANTS,
        Field("y", b"y", may_be_nan=True, required=True),
        Field("applied", b"x", "d", may_be_nan=True),
        Field("round", b"r", "", _INTEGER),
        _TIME,
        Field("at", b"p", "d", may_be_nan=True),
        Field("unit", b"u"),
        Field("covariates", b"w", "k"),
    ),
    "join": (_PLANTS, _NAMES, _X0, Field("limits", b"l", "k3d", per_plant=False)),
    "restart": (_PLANTS, _NAMES, _X0),
    "leave": (_NAMES,),
}
"""What is told with each kind of call."""

_BY_NAME = {kind: {field.name: field for field in fields} for kind, fields in FIELDS.items()}
_BY_LETTER = {kind: {field.letter: field for field in fields} for kind, fields in FIELDS.items()}
_REQUIRED = {kind: {field.name for field in fields if field.required} for kind, fields in FIELDS.items()}
_KIND_OF = {letter: kind for kind, letter in CALLS.items()}


class Call(NamedTuple):
    """A call.

    Attributes
    ----------
    kind : str
        A key of `FIELDS`.
    given : dict of str to Any
        What was told, without what was not.
    plants : IntArray of shape (n,) or ()
        The numbers of the plants that act, observe or begin, or `ALONE`.
    x : Array, optional
        The actions that were returned, in a call of a journal.
    time : int, optional
        The time of the call, in microseconds since 1970 in UTC.
    """

    kind: str
    given: dict[str, Any]
    plants: IntArray = ALONE
    x: Array | None = None
    time: int | None = None

    def rows(self, places: Any) -> dict[str, Any]:
        """Return what some of the plants were told; ``...`` stands for all of them."""
        return self.given if places is ... else {name: value[places] for name, value in self.given.items()}


def encode_call(call: Call, x: Array | None = None) -> tuple[bytes, bytes]:
    """Return the kind and the payload of the record of a call and of the actions that it returned."""
    parts = dict(call.given)
    if call.plants.ndim:
        parts["plants"] = call.plants
    if x is not None:
        parts["x"] = x
    if call.time is not None:
        parts["time"] = call.time
    fields, payload = _BY_NAME[call.kind], list[bytes]()
    for name, value in parts.items():
        letter, dtype = fields[name].letter, fields[name].dtype
        data = json.dumps(value).encode() if dtype is None else np.asarray(value, dtype).tobytes()
        payload += (_PART.pack(letter, len(data)), data)
    return CALLS[call.kind], b"".join(payload)


def decode_call(record: Record, dim: int, source: str | os.PathLike[str]) -> Call:
    """Return the call that a record holds, for plants with so many actuators."""
    kind = _KIND_OF.get(record.kind)
    if kind is None:
        raise FileFormatError(f"{source} holds a record of an unknown kind at byte {record.start}: {record.kind!r}")
    return decode_parts(kind, record, dim, source)


def decode_parts(kind: str, record: Record, dim: int, source: str | os.PathLike[str]) -> Call:
    """Return the call of a kind whose parts a record holds."""
    problem = f"{source} holds a record with unknown parts at byte {record.start}"
    try:
        parts = {_BY_LETTER[kind][letter]: data for letter, data in _split(record.payload)}
        numbers = parts.pop(_PLANTS, None)
        plants = ALONE if numbers is None else _PLANTS.decode(numbers, ALONE, dim).astype(np.int64)
        given = {field.name: field.decode(data, plants, dim) for field, data in parts.items()}
    except (struct.error, KeyError, ValueError, TypeError) as error:
        raise FileFormatError(f"{problem}: {error!r}") from error
    if not _REQUIRED[kind] <= given.keys():
        raise FileFormatError(f"{problem}: it has {sorted(given)}")
    x = given.pop("x", None)
    time = given.pop("time", None)
    return Call(kind, given, plants, x, None if time is None else int(time))


def _split(payload: bytes) -> list[tuple[bytes, bytes]]:
    """Return the letters and the bytes of the parts of a record."""
    parts, at = [], 0
    while at < len(payload):
        letter, length = _PART.unpack_from(payload, at)
        at += _PART.size + length
        parts.append((letter, payload[at - length : at]))
    if at != len(payload):
        raise ValueError(f"expected {at} bytes, got {len(payload)}")
    return parts
