"""Records as bytes."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np

from soqo._storage.plain_data import pack, unpack
from soqo._version import __version__
from soqo.errors import FileFormatError

_LENGTH = struct.Struct("<Q")
_MAX_AXES = 32


def encode(record: Any) -> bytes:
    """Encode a record (see `records`) as bytes: the length of a JSON text, the text, the arrays.

    The arrays keep the order of their axes in memory: the layout of a matrix decides in which order BLAS adds, and a
    state that was read back must continue bit for bit.

    Examples
    --------
    >>> decode(encode({"gains": np.array([0.5, 0.25])}))
    {'gains': array([0.5 , 0.25])}
    """
    tree, arrays = pack(record)
    table, parts = [], []
    for array in arrays.values():
        axes = np.argsort([-abs(stride) for stride in array.strides], kind="stable").tolist()
        table.append([array.dtype.str, list(array.shape), axes])
        parts.append(np.ascontiguousarray(array.transpose(axes)).tobytes())
    text = json.dumps({"soqo": __version__, "tree": tree, "arrays": table}).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *parts])


def decode(data: bytes) -> Any:
    """Return the record that :func:`encode` turned into these bytes.

    Whatever the bytes are, it raises no error but a :class:`FileFormatError`, and takes memory in proportion to them.
    """
    writer = "an unknown version"
    try:
        (length,) = _LENGTH.unpack_from(data)
        head = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        writer = str(head["soqo"])[:40]
        arrays, at = {}, _LENGTH.size + length
        for name, (kind, shape, axes) in enumerate(head["arrays"]):
            array = _read_array(data, at, kind, shape, axes)
            at += array.nbytes
            arrays[str(name)] = array
        if at != len(data):
            raise FileFormatError(f"expected {at} bytes, got {len(data)}")
        return unpack(head["tree"], arrays)
    except (struct.error, ValueError, LookupError, TypeError, RecursionError) as error:
        raise FileFormatError(
            f"the record, written by soqo {writer}, cannot be read by soqo {__version__}: {error}"
        ) from error


def _read_array(data: bytes, at: int, kind: str, shape: list[int], axes: list[int]) -> np.ndarray[Any, Any]:
    """Return the array that starts at this byte."""
    dtype = np.dtype(kind)
    if dtype.kind not in "biuf" or dtype.itemsize > 16:
        raise FileFormatError(f"an array must hold numbers, got dtype {dtype}")
    if not all(type(size) is int and 0 <= size <= len(data) for size in shape):
        raise FileFormatError(f"an array must have axes of at most {len(data)} entries, got shape {str(shape)[:80]}")
    inner = [shape[k] for k in axes]
    count = math.prod(inner)
    if len(shape) > _MAX_AXES or count * dtype.itemsize > len(data) - at:
        raise FileFormatError(f"an array of shape {str(shape)[:80]} is longer than its record")
    flat = np.frombuffer(data, dtype, count, at) if count else np.empty(0, dtype)
    return flat.reshape(inner).transpose(np.argsort(axes)).copy(order="K")
