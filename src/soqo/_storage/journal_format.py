r"""The layout of a journal: an append-only file of records, each with a checksum, that survives a crash at any byte.

::

    file      = MAGIC record*                      the first record is a snapshot
    record    = kind (1 byte)  length (4 bytes)  payload  checksum (4 bytes)
    payload   = snapshot:  MARK  digest (16 bytes)  state
                call:      what the owner of the journal makes of it

Numbers are little-endian. A checksum is the CRC-32 of kind, length and payload, started with the checksum of the
previous record, so that a record that is lost, repeated or moved is detected. The digest of a snapshot is the BLAKE2b
hash of every byte of the file before it. A reader that needs the last state therefore searches for the last snapshot
from the end, verifies the hash of what precedes it, and replays only what follows: a million records take the time of
reading the file.

A crash can cut short the last record and nothing else. So an incomplete end is cut off, while a damaged record with
complete ones after it was not caused by a crash, and is refused.

Beside the journal there may be a file with its latest state, which each later one replaces::

    latest    = magic  check (4 bytes)  end (8 bytes)  checksum (4 bytes)  since (8 bytes)  state

The check is the CRC-32 of what follows it: unlike a hash, it takes little time for a state of hundreds of megabytes.
End and checksum are those of the record after which the state was taken, and since is the number of bytes between the
last snapshot in the journal and this end. If this is the last record of the journal,
nothing else is read. Damage elsewhere is not noticed then; it cannot change the state, and `read` and `read_all` find
it. The file is a shortcut: if it is missing, damaged or does not fit the journal, more records are replayed, and the
state is the same.

A journal of an earlier version may have closing records, which held the state at a close and are ignored.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from soqo._storage.atomic import replacing
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
    Record,
    is_snapshot,
    record_at,
    records_from,
)
from soqo.errors import FileFormatError

_LATEST_MAGIC = b"soqo-snapshot 1\n"
_POSITION = struct.Struct("<QIQ")


class Latest(NamedTuple):
    """The contents of the file beside a journal."""

    end: int
    checksum: int
    since: int
    state: bytes


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
    check_magic(data, source)
    first = last_snapshot(data) or _first_snapshot(data, source)
    records = list(records_from(data, first.end, first.checksum))
    last = records[-1] if records else first
    _check_end(data, last, source)
    body = first.payload[len(MARK) + DIGEST_BYTES :]
    size = first.end - first.start
    calls = [record for record in records if record.kind != CLOSING]
    return Contents(body, calls, last.end, last.checksum, size, len(data) - last.end)


def continued(contents: Contents, latest: Latest | None) -> Contents:
    """Return contents from a later state, if it is that after one of their records."""
    ends = [] if latest is None else [(record.end, record.checksum) for record in contents.records]
    if latest is None or (latest.end, latest.checksum) not in ends:
        return contents
    return replace(contents, state=latest.state, records=contents.records[ends.index(latest[:2]) + 1 :])


def latest_path(journal: Path) -> Path:
    """Return the path of the file beside a journal."""
    return journal.with_name(f"{journal.name}.snapshot")


def write_latest(journal: Path, latest: Latest) -> None:
    """Write the file beside a journal; what a power failure leaves incomplete has a wrong checksum, and is ignored."""
    position = _POSITION.pack(*latest[:3])
    check = zlib.crc32(latest.state, zlib.crc32(position))
    with replacing(latest_path(journal), on_disk=False) as temporary, temporary.open("wb") as file:
        file.write(_LATEST_MAGIC + CHECKSUM.pack(check) + position)
        file.write(latest.state)


def read_latest(journal: Path) -> Latest | None:
    """Return what is in the file beside a journal; None if it cannot be used."""
    try:
        data = latest_path(journal).read_bytes()
    except OSError:
        return None
    start = len(_LATEST_MAGIC) + CHECKSUM.size
    check = CHECKSUM.pack(zlib.crc32(memoryview(data)[start:]))
    if not data.startswith(_LATEST_MAGIC + check) or len(data) < start + _POSITION.size:
        return None
    end, checksum, since = _POSITION.unpack_from(data, start)
    return Latest(end, checksum, since, data[start + _POSITION.size :])


def is_at_end(latest: Latest, file: BinaryIO) -> bool:
    """Return whether the last record of a journal is that after which a state was taken."""
    if file.seek(0, os.SEEK_END) != latest.end:
        return False
    file.seek(-CHECKSUM.size, os.SEEK_END)
    return file.read() == CHECKSUM.pack(latest.checksum)


def read_all(data: bytes, source: str | os.PathLike[str]) -> tuple[bytes, Iterator[Record]]:
    """Return the first state of a journal, and the record of every call; damage raises an error at the end."""
    check_magic(data, source)
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


def check_magic(data: bytes, source: str | os.PathLike[str]) -> None:
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
