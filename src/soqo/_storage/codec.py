"""Records as bytes."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from soqo._storage.plain_data import pack, unpack
from soqo._version import __version__
from soqo.errors import FileFormatError

_LENGTH = struct.Struct("<Q")


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
    """Return the record that :func:`encode` turned into these bytes."""
    writer = "an unknown version"
    try:
        (length,) = _LENGTH.unpack_from(data)
        head = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        writer = head["soqo"]
        arrays, at = {}, _LENGTH.size + length
        for name, (kind, shape, axes) in enumerate(head["arrays"]):
            inner = [shape[k] for k in axes]
            flat = np.frombuffer(data, np.dtype(kind), int(np.prod(inner, dtype=int)), at)
            at += flat.nbytes
            arrays[str(name)] = flat.reshape(inner).transpose(np.argsort(axes)).copy(order="K")
        if at != len(data):
            raise FileFormatError(f"expected {at} bytes, got {len(data)}")
        return unpack(head["tree"], arrays)
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"the record, written by soqo {writer}, cannot be read by soqo {__version__}: {error}"
        ) from error
