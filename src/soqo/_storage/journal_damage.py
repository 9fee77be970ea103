"""What the bytes after the last complete record of a journal are: a record that a crash cut short, or damage.

A crash leaves the beginning of one record, and nothing after it. So there is damage if a complete record starts
somewhere later. The search takes time in proportion to the file, whatever it holds: a position is a candidate only if
its kind, its length, the record that follows and the beginning of its payload have the form of a record, and the
checksums of candidates are computed for a limited number of bytes. If that is not enough, which takes a file that was
made for it, the file is refused.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator

import numpy as np

from soqo._storage.journal_records import (
    ACT,
    CALLS,
    CHANGES,
    CHECKSUM,
    CLOSING,
    DIGEST_BYTES,
    EARLIER,
    HEAD,
    INITIAL_CHECKSUM,
    MAGIC,
    MARK,
    OBSERVE,
    SNAPSHOT,
    TRAILER,
    Record,
    body_end,
    is_snapshot,
    record_at,
)

_KINDS = np.zeros(256, dtype=np.bool_)
_KINDS[list(b"".join((SNAPSHOT, CLOSING, *CALLS.values(), *EARLIER)))] = True

_CHUNK_BYTES = 1 << 22

_FREE_BYTES = 1 << 27
"""Checksums of candidates may be computed for this many bytes and four times the file: some tenths of a second."""

_SHORT_BYTES = 1 << 16
"""A record of at most this length is cheap enough to compute its checksum without further tests."""

_WORD, _LONG = struct.Struct("<I"), struct.Struct("<Q")


class Budget:
    """The number of bytes for which checksums may still be computed."""

    def __init__(self, data: bytes) -> None:
        self.left = _FREE_BYTES + 4 * len(data)

    def record_at(self, data: bytes, start: int) -> Record | None:
        """Return the record at this byte if it is complete, given the checksum before it in the file."""
        stop = body_end(data, start)
        if not stop:
            return None
        self.left -= stop - start
        if self.left < 0:
            raise BudgetExceededError
        previous = INITIAL_CHECKSUM if start == len(MAGIC) else CHECKSUM.unpack_from(data, start - CHECKSUM.size)[0]
        return record_at(data, start, previous)


class BudgetExceededError(Exception):
    """Too many bytes have the form of records."""


def last_snapshot(data: bytes) -> Record | None:
    """Return the last complete snapshot; None if the bytes before it are damaged."""
    budget, at = Budget(data), len(data)
    try:
        while (at := data.rfind(MARK, 0, at)) >= len(MAGIC) + HEAD.size:
            record = budget.record_at(data, at - HEAD.size)
            if record is not None and is_snapshot(record):
                digest = hashlib.blake2b(memoryview(data)[: record.start], digest_size=DIGEST_BYTES).digest()
                return record if record.payload[len(MARK) :][:DIGEST_BYTES] == digest else None
    except BudgetExceededError:
        pass
    return None


def complete_record_after(data: bytes, end: int, checksum: int) -> int:
    """Return where a complete record starts after a gap; 0 if nowhere.

    Parameters
    ----------
    data : bytes
        The file.
    end, checksum : int
        The end of the last complete record, and its checksum.

    Raises
    ------
    BudgetExceededError
        If too many bytes have the form of records.
    """
    # The record in the gap may be damaged in its payload, or in its checksum, with which the next one started.
    stop = body_end(data, end)
    if stop:
        expected = zlib.crc32(memoryview(data)[end:stop], checksum)
        for previous in (expected, CHECKSUM.unpack_from(data, stop)[0]):
            if record_at(data, stop + CHECKSUM.size, previous):
                return stop + CHECKSUM.size
    budget, at = Budget(data), len(data)
    while (at := data.rfind(MARK, end + 1 + HEAD.size, at)) >= 0:
        if budget.record_at(data, at - HEAD.size):
            return at - HEAD.size
    for start in _candidates(data, end + 1):
        if budget.record_at(data, start):
            return start
    return 0


def _candidates(data: bytes, first: int) -> Iterator[int]:
    """Yield the positions from this byte at which a record may start."""
    values, size = np.frombuffer(data, dtype=np.uint8), len(data)
    last = size - HEAD.size - CHECKSUM.size
    for begin in range(first, last + 1, _CHUNK_BYTES):
        chunk = values[begin : min(begin + _CHUNK_BYTES, last + 1)]
        starts = begin + np.flatnonzero(_KINDS[chunk])
        lengths = sum(values[starts + 1 + k].astype(np.int64) << (8 * k) for k in range(4))
        ends = starts + lengths + (HEAD.size + CHECKSUM.size)
        fits = ends <= size
        starts, ends = starts[fits], ends[fits]
        # Another record, of which a crash may have cut off all but the first byte, or nothing follows.
        follows = (ends == size) | _KINDS[values[np.minimum(ends, size - 1)]]
        for start, end in zip(starts[follows].tolist(), ends[follows].tolist(), strict=True):
            if _is_plausible(data, start, end - CHECKSUM.size):
                yield start


def _is_plausible(data: bytes, start: int, stop: int) -> bool:
    """Return whether the payload of a record between these bytes has the form that its kind demands."""
    kind, at = data[start : start + 1], start + HEAD.size
    length = stop - at
    if kind == SNAPSHOT:
        return False  # they were searched for by their mark
    if kind == CLOSING:
        return length >= TRAILER.size and TRAILER.unpack_from(data, stop - TRAILER.size)[1] == start
    if kind in (ACT, OBSERVE):
        return length <= _SHORT_BYTES or length % 8 == 0  # numbers of 8 bytes
    if kind in CHANGES:
        return length >= _LONG.size and _LONG.unpack_from(data, at)[0] <= length - _LONG.size
    # Named parts fill the payload; earlier calls of a fleet begin with the number of plants, of 4 bytes each.
    if kind in EARLIER and length >= _WORD.size and _WORD.unpack_from(data, at)[0] <= length // 4:
        return True
    while at + HEAD.size <= stop:
        at += HEAD.size + HEAD.unpack_from(data, at)[1]
    return at == stop
