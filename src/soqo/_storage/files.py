"""Records as bytes, and files that are there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from soqo._storage.records import pack, unpack
from soqo._version import __version__
from soqo.errors import FileFormatError

__all__ = ["begins_with", "decode", "encode", "replacing", "sealed", "sync_folder", "unsealed"]

LENGTH = struct.Struct("<Q")
DIGEST = 16
"""Bytes of the checksum of a sealed file."""


# ---- records as bytes ----------------------------------------------------------------------------------------------


def encode(record: Any) -> bytes:
    """A record (see :mod:`soqo._storage.records`) as bytes: the length of a JSON text, the text, the arrays.

    The arrays keep the order of their axes in memory: which way a matrix lies decides how BLAS adds up, and a state
    that was read back must go on to the bit.

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
    return b"".join([LENGTH.pack(len(text)), text, *parts])


def decode(data: bytes) -> Any:
    """The record that :func:`encode` made these bytes of."""
    written_by = "an unknown version"
    try:
        (length,) = LENGTH.unpack_from(data)
        head = json.loads(data[LENGTH.size : LENGTH.size + length])
        written_by = head["soqo"]
        arrays, at = {}, LENGTH.size + length
        for name, (kind, shape, axes) in enumerate(head["arrays"]):
            inner = [shape[k] for k in axes]
            flat = np.frombuffer(data, np.dtype(kind), int(np.prod(inner, dtype=int)), at)
            at += flat.nbytes
            arrays[str(name)] = flat.reshape(inner).transpose(np.argsort(axes)).copy(order="K")
        if at != len(data):
            raise FileFormatError(f"it should have {at} bytes, and has {len(data)}")
        return unpack(head["tree"], arrays)
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"the record, written by soqo {written_by}, cannot be read by soqo {__version__}: {error}"
        ) from error


# ---- one sealed file -----------------------------------------------------------------------------------------------


def sealed(magic: bytes, data: bytes) -> bytes:
    """The contents of a file: what it is, how long, the data, and a checksum of all that."""
    body = magic + LENGTH.pack(len(data)) + data
    return body + hashlib.blake2b(body, digest_size=DIGEST).digest()


def begins_with(path: str | os.PathLike[str], word: bytes) -> bool:
    """Whether there is a file at this path that begins so."""
    try:
        with open(path, "rb") as file:
            return file.read(len(word)) == word
    except OSError:
        return False


def unsealed(magic: bytes, contents: bytes, source: Any) -> bytes:
    """The data in the contents of a file; foreign, cut and damaged ones are refused.

    ``magic`` is a word that ends in a space, and a number that is the version of the layout.
    """
    word = magic[: magic.index(b" ") + 1]
    if not contents.startswith(word):
        raise FileFormatError(f"{source} is not a file of this kind: it does not begin with {word.decode()!r}")
    if not contents.startswith(magic):
        found, known = (text[len(word) : len(magic)].strip() for text in (contents, magic))
        raise FileFormatError(f"{source} has layout {found!r}, and soqo {__version__} reads layout {known!r}")
    start = len(magic) + LENGTH.size
    expected = start + DIGEST
    if len(contents) >= start:
        expected += LENGTH.unpack_from(contents, len(magic))[0]
    if len(contents) != expected:
        raise FileFormatError(f"{source} is damaged: it should have {expected} bytes, and has {len(contents)}")
    body, digest = contents[:-DIGEST], contents[-DIGEST:]
    if hashlib.blake2b(body, digest_size=DIGEST).digest() != digest:
        raise FileFormatError(f"{source} is damaged: its checksum does not match")
    return body[start:]


# ---- whole or not at all -------------------------------------------------------------------------------------------


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to, which takes the place of ``path`` once it is safely on the disk."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} in")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Put a folder's list of names on the disk; where a system cannot (Windows), it does so by itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
