"""The records of a journal: kind, length, payload and checksum (`journal_format` describes the file)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"soqo-journal 1\n\0"
MARK = b"soqo snapshot 1\n"
SNAPSHOT, CLOSING = b"S", b"C"
CALLS = {"act": b"P", "observe": b"R", "join": b"J", "restart": b"B", "leave": b"L"}
"""Calls, which consist of named parts."""
ACT, OBSERVE, ACT_WITH_PARTS, OBSERVE_WITH_PARTS = b"A", b"O", b"a", b"o"
CHANGES = {b"j": "join", b"l": "leave", b"r": "restart"}
EARLIER = {ACT, OBSERVE, ACT_WITH_PARTS, OBSERVE_WITH_PARTS, *CHANGES}
"""Calls that earlier versions wrote; the calls of a fleet used the kinds with parts for another layout."""
HEAD = struct.Struct("<cI")
CHECKSUM = struct.Struct("<I")
DIGEST_BYTES = 16
TRAILER = struct.Struct("<qQ")
"""The end of a closing record, which earlier versions wrote: a number, and the byte at which the record starts."""
INITIAL_CHECKSUM = zlib.crc32(MAGIC)
"""The value with which the checksum of the first record starts."""


class Record(NamedTuple):
    """A complete record: its kind, payload, first byte, last byte plus one, and checksum."""

    kind: bytes
    payload: bytes
    start: int
    end: int
    checksum: int


def record_at(data: bytes, start: int, previous: int) -> Record | None:
    """Return the record at this byte if it is complete; ``previous`` is the checksum of the record before it."""
    stop = body_end(data, start)
    if not stop:
        return None
    check = zlib.crc32(memoryview(data)[start:stop], previous)
    if CHECKSUM.unpack_from(data, stop)[0] != check:
        return None
    return Record(data[start : start + 1], data[start + HEAD.size : stop], start, stop + CHECKSUM.size, check)


def body_end(data: bytes, start: int) -> int:
    """Return where the record at this byte has its checksum; 0 if the file ends earlier."""
    if start + HEAD.size > len(data):
        return 0
    stop: int = start + HEAD.size + HEAD.unpack_from(data, start)[1]
    return stop if stop + CHECKSUM.size <= len(data) else 0


def records_from(data: bytes, start: int, previous: int) -> Iterator[Record]:
    """Yield the consecutive complete records from this byte."""
    while record := record_at(data, start, previous):
        yield record
        start, previous = record.end, record.checksum


def is_snapshot(record: Record) -> bool:
    """Return whether a record has the form of a snapshot."""
    return record.kind == SNAPSHOT and record.payload.startswith(MARK)
