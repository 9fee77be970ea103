r"""The layout of a journal: an append-only file of records, each with a checksum, that survives a crash at any byte.

::

    file      = MAGIC record*                      the first record is a snapshot
    record    = kind (1 byte)  length (4 bytes)  payload  checksum (4 bytes)
    payload   = snapshot:  MARK  digest (16 bytes)  state
                act:       v, x                   float64 each
                observe:   y, or y and the applied x
                act with parts, observe with parts:  (name (1 byte)  length (4 bytes)  bytes)*
                closing:   state  TRAILER

Numbers are little-endian. A checksum is the CRC-32 of kind, length and payload, started with the checksum of the
previous record, so that a record that is lost, repeated or moved is detected. The digest of a snapshot is the BLAKE2b
hash of every byte of the file before it. A reader that needs the last state therefore searches for the last snapshot
from the end, verifies the hash of what precedes it, and replays only what follows: a million records take the time of
reading the file.

A crash can cut short the last record and nothing else. So an incomplete end is cut off, while a damaged record with
complete ones after it was not caused by a crash, and is refused.

A controller that is closed writes its state to a closing record, whose trailer has the byte at which the record starts.
If this is the last record, a reader that needs the last state finds it from the end of the file, verifies its checksum,
and reads nothing else (`read_closing`). Damage before a closing record is not noticed then; it cannot change the state,
and `read` and `read_all` find it. The next call replaces the closing record, since the records before it give the same
state, so that many restarts do not make a file grow. A closing record in the middle of a file is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from soqo._storage.checksummed import starts_with
from soqo._storage.journal_damage import BudgetExceededError, complete_record_after, last_snapshot
from soqo._storage.journal_records import (
    CHECKSUM,
    CLOSING,
    DIGEST_BYTES,
    INITIAL_CHECKSUM,
    MAGIC,
    MARK,
    SNAPSHOT,
    TRAILER,
    Record,
    is_snapshot,
    record_at,
    records_from,
)
from soqo.errors import FileFormatError


class Closing(NamedTuple):
    """A closing record at the end of a file.

    Attributes
    ----------
    state : bytes
        The last state.
    start, checksum : int
        Where the record starts, and the checksum of the record before it.
    bytes_until_snapshot : int
        The bytes left until the next snapshot is due.
    """

    state: bytes
    start: int
    checksum: int
    bytes_until_snapshot: int


@dataclass(frozen=True, eq=False)
class Contents:
    """The contents of a journal.

    Attributes
    ----------
    state : bytes
        The state in the last complete snapshot.
    records : list of Record
        The complete records after it, without closing records.
    end, checksum : int
        The end of the last complete record, and its checksum.
    snapshot : int
        The length of the record of the last snapshot.
    cut : int
        The number of bytes after the last complete record.
    """

    state: bytes
    records: list[Record]
    end: int
    checksum: int
    snapshot: int
    cut: int


def read(data: bytes, source: str | os.PathLike[str]) -> Contents:
    """Read a journal from its last snapshot."""
    _check_magic(data, source)
    first = last_snapshot(data) or _first_snapshot(data, source)
    records = list(records_from(data, first.end, first.checksum))
    last = records[-1] if records else first
    _check_end(data, last, source)
    body = first.payload[len(MARK) + DIGEST_BYTES :]
    size = first.end - first.start
    calls = [record for record in records if record.kind != CLOSING]
    return Contents(body, calls, last.end, last.checksum, size, len(data) - last.end)


def read_closing(file: BinaryIO, source: str | os.PathLike[str]) -> Closing | None:
    """Return the closing record at the end of a journal, without reading what precedes it; None if there is none."""
    _check_magic(file.read(len(MAGIC)), source)
    size = file.seek(0, os.SEEK_END)
    tail = TRAILER.size + CHECKSUM.size
    if size < len(MAGIC) + tail:
        return None
    file.seek(size - tail)
    left, start = TRAILER.unpack_from(file.read(tail))
    if not len(MAGIC) < start < size - tail:
        return None
    file.seek(start - CHECKSUM.size)
    data = file.read()
    (previous,) = CHECKSUM.unpack_from(data)
    record = record_at(data, CHECKSUM.size, previous)
    if record is None or record.kind != CLOSING or record.end != len(data):
        return None
    return Closing(record.payload[: -TRAILER.size], start, previous, left)


def read_all(data: bytes, source: str | os.PathLike[str]) -> tuple[bytes, Iterator[Record]]:
    """Return the first state of a journal, and the record of every call; damage raises an error at the end."""
    _check_magic(data, source)
    first = _first_snapshot(data, source)

    def others() -> Iterator[Record]:
        last = first
        for record in records_from(data, first.end, first.checksum):
            last = record
            if record.kind not in (SNAPSHOT, CLOSING):
                yield record
        _check_end(data, last, source)

    return first.payload[len(MARK) + DIGEST_BYTES :], others()


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a journal at this path, of any layout."""
    return starts_with(path, MAGIC[: MAGIC.index(b" ")])


def _check_magic(data: bytes, source: str | os.PathLike[str]) -> None:
    """Refuse other files, and journals of another layout."""
    if not data.startswith(MAGIC):
        word = MAGIC[: MAGIC.index(b" ")]
        what = "is a journal of another layout" if data.startswith(word) else "is not a journal"
        raise FileFormatError(f"{source} {what}: it begins with {data[: len(MAGIC)]!r}, expected {MAGIC!r}")


def _check_end(data: bytes, last: Record, source: str | os.PathLike[str]) -> None:
    """Refuse a journal with a complete record somewhere after an incomplete one."""
    if last.end == len(data):
        return
    try:
        later = complete_record_after(data, last.end, last.checksum)
    except BudgetExceededError:
        raise FileFormatError(
            f"{source} is damaged at byte {last.end}: too much of what follows has the form of records; "
            f"the first {last.end} bytes are a journal that can be resumed"
        ) from None
    if later:
        raise FileFormatError(
            f"{source} is damaged at byte {last.end}: the record there is incomplete, and one at byte {later} is "
            f"complete, so no crash caused this; the first {last.end} bytes are a journal that can be resumed"
        )


def _first_snapshot(data: bytes, source: str | os.PathLike[str]) -> Record:
    """Return the snapshot at the beginning of a journal."""
    record = record_at(data, len(MAGIC), INITIAL_CHECKSUM)
    if record is None or not is_snapshot(record):
        raise FileFormatError(
            f"{source} is damaged at byte {len(MAGIC)}: the snapshot at the beginning of the journal is incomplete"
        )
    return record
