"""Files with a checksum: their kind and layout, a length, the data, and a digest of all that."""

from __future__ import annotations

import hashlib
import os
import struct

from soqo._foundation.arguments import file_path
from soqo._version import __version__
from soqo.errors import FileFormatError

_LENGTH = struct.Struct("<Q")
_DIGEST_BYTES = 16


def seal(magic: bytes, data: bytes) -> bytes:
    """Return the contents of a file with this data.

    ``magic`` is a word that ends with a space, followed by the version of the layout.
    """
    body = magic + _LENGTH.pack(len(data)) + data
    return body + _digest(body)


def unseal(magic: bytes, contents: bytes, source: str | os.PathLike[str]) -> bytes:
    """Return the data in the contents of a file; refuse files of another kind, cut files and damaged ones."""
    word = magic[: magic.index(b" ") + 1]
    if not contents.startswith(word):
        raise FileFormatError(f"{source} is not a file of this kind: it does not begin with {word.decode()!r}")
    if not contents.startswith(magic):
        found, known = (text[len(word) : len(magic)].strip() for text in (contents, magic))
        raise FileFormatError(f"{source} has layout {found!r}, and soqo {__version__} reads layout {known!r}")
    start = len(magic) + _LENGTH.size
    expected = start + _DIGEST_BYTES
    if len(contents) >= start:
        expected += _LENGTH.unpack_from(contents, len(magic))[0]
    if len(contents) != expected:
        raise FileFormatError(f"{source} is damaged: expected {expected} bytes, got {len(contents)}")
    body, digest = contents[:-_DIGEST_BYTES], contents[-_DIGEST_BYTES:]
    if _digest(body) != digest:
        raise FileFormatError(f"{source} is damaged: its checksum does not match")
    return body[start:]


def starts_with(path: str | os.PathLike[str], word: bytes) -> bool:
    """Return whether there is a file at this path that begins with these bytes."""
    source = file_path("path", path)
    try:
        if not source.is_file():  # reading a pipe would wait for a writer
            return False
        with source.open("rb") as file:
            return file.read(len(word)) == word
    except OSError:
        return False


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
