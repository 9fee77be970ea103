r"""An append-only file of records, each with a checksum, that survives a crash at any byte.

::

    file      = MAGIC record*                      the first record is a snapshot
    record    = kind (1 byte)  length (4 bytes)  payload  checksum (4 bytes)
    payload   = snapshot:  MARK  digest (16 bytes)  state
                other kinds: what the writer puts there

Numbers are little-endian. A checksum is the CRC-32 of kind, length and payload, begun with the checksum of the record
before, so that no record can be lost, doubled or moved unnoticed. A snapshot's digest is the BLAKE2b of every byte of
the file before it. Whoever wants the last state therefore looks for the last snapshot from the end, hashes what is
before it, and replays only what comes after: a million records take the time of reading the file.

A crash can cut short the last record and nothing else. So an incomplete end is cut off, while a record that is damaged
although whole ones follow is no crash's doing, and is refused.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from soqo._arguments import choice
from soqo._storage.files import begins_with, sync_folder
from soqo.errors import ArgumentError, BusyError, FileFormatError, ProtocolError

try:
    import fcntl
except ImportError:  # Windows, which has no such locks
    fcntl = None  # type: ignore[assignment]  # mypy takes the name for the module

__all__ = ["DURABILITIES", "Contents", "Journal", "Record", "is_journal", "read", "read_all"]

MAGIC = b"soqo-journal 1\n\0"
MARK = b"soqo snapshot 1\n"
SNAPSHOT = b"S"
HEAD = struct.Struct("<cI")
CHECK = struct.Struct("<I")
DIGEST = 16
FIRST = zlib.crc32(MAGIC)  # what the first record's checksum begins with

DURABILITIES = ("disk", "process")

to_disk = getattr(os, "fdatasync", os.fsync)
"""Data and length; the time of the last change need not be there."""

SPARSE = 1 << 16
"""Bytes between snapshots, at least; and at least as many as the last one took, so that they at most double a file."""

REPLAY = 5.0
"""Seconds of computing between snapshots, at most: so long may a replay take."""


class Record(NamedTuple):
    """A whole record: its kind, its payload, where it starts and ends, and its checksum."""

    kind: bytes
    payload: bytes
    start: int
    end: int
    check: int


@dataclass(frozen=True, eq=False)
class Contents:
    """What a journal says.

    Attributes
    ----------
    state : bytes
        Of the last whole snapshot.
    records : list of Record
        The whole records after it.
    end, check : int
        Where the last whole record ends, and its checksum.
    snapshot : int
        The length of the last snapshot's record.
    cut : int
        Bytes after the last whole record.
    """

    state: bytes
    records: list[Record]
    end: int
    check: int
    snapshot: int
    cut: int


# ---- reading -------------------------------------------------------------------------------------------------------


def read(data: bytes, source: Any) -> Contents:
    """Read a journal from its last snapshot on."""
    check_magic(data, source)
    first = last_snapshot(data) or first_snapshot(data, source)
    records = list(records_from(data, first.end, first.check))
    last = records[-1] if records else first
    check_end(data, last, source)
    body = first.payload[len(MARK) + DIGEST :]
    size = first.end - first.start
    return Contents(body, records, last.end, last.check, size, len(data) - last.end)


def read_all(data: bytes, source: Any) -> tuple[bytes, Iterator[Record]]:
    """The first state of a journal, and every whole record after it but snapshots; damage raises at the end."""
    check_magic(data, source)
    first = first_snapshot(data, source)

    def others() -> Iterator[Record]:
        last = first
        for record in records_from(data, first.end, first.check):
            last = record
            if record.kind != SNAPSHOT:
                yield record
        check_end(data, last, source)

    return first.payload[len(MARK) + DIGEST :], others()


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Whether there is a journal at this path, of whatever layout."""
    return begins_with(path, MAGIC[: MAGIC.index(b" ")])


def check_magic(data: bytes, source: Any) -> None:
    """Refuse what is no journal, or one of another layout."""
    if not data.startswith(MAGIC):
        word = MAGIC[: MAGIC.index(b" ")]
        what = "is a journal of another layout" if data.startswith(word) else "is not a journal"
        raise FileFormatError(f"{source} {what}: it begins with {data[: len(MAGIC)]!r}, expected {MAGIC!r}")


def check_end(data: bytes, last: Record, source: Any) -> None:
    """Refuse a journal in which a whole record comes after a place that has none, right behind the last."""
    if last.end < len(data) and (later := whole_record_after(data, last)):
        raise FileFormatError(
            f"{source} is damaged at byte {last.end}: a record there is not whole, though one at byte {later} is, so "
            f"this was no crash; its first {last.end} bytes are a journal that can be resumed"
        )


def first_snapshot(data: bytes, source: Any) -> Record:
    """The snapshot that a journal begins with."""
    record = record_at(data, len(MAGIC), FIRST)
    if record is None or not is_snapshot(record):
        raise FileFormatError(
            f"{source} is damaged at byte {len(MAGIC)}: the snapshot that a journal begins with is not whole"
        )
    return record


def record_at(data: bytes, start: int, previous: int) -> Record | None:
    """The record that starts here, if a whole one does; ``previous`` is the checksum of the one before."""
    stop, check = body_at(data, start, previous)
    if not stop or CHECK.unpack_from(data, stop)[0] != check:
        return None
    kind, payload = data[start : start + 1], data[start + HEAD.size : stop]
    return Record(kind, payload, start, stop + CHECK.size, check)


def body_at(data: bytes, start: int, previous: int) -> tuple[int, int]:
    """Where the record that starts here has its checksum, and what that should be; zeros if the file ends before."""
    if start + HEAD.size > len(data):
        return 0, 0
    stop = start + HEAD.size + HEAD.unpack_from(data, start)[1]
    if stop + CHECK.size > len(data):
        return 0, 0
    return stop, zlib.crc32(data[start:stop], previous)


def records_from(data: bytes, start: int, previous: int) -> Iterator[Record]:
    """The whole records that follow each other from here on."""
    while record := record_at(data, start, previous):
        yield record
        start, previous = record.end, record.check


def is_snapshot(record: Record) -> bool:
    """Whether it is one, in form."""
    return record.kind == SNAPSHOT and record.payload.startswith(MARK)


def last_snapshot(data: bytes) -> Record | None:
    """The last whole snapshot with only whole records before it; None if what is before is damaged."""
    at = len(data)
    while (at := data.rfind(MARK, 0, at)) >= 0:
        start = at - HEAD.size
        if start < len(MAGIC):
            return None
        previous = FIRST if start == len(MAGIC) else CHECK.unpack_from(data, start - CHECK.size)[0]
        record = record_at(data, start, previous)
        if record is not None and is_snapshot(record):
            digest = hashlib.blake2b(memoryview(data)[:start], digest_size=DIGEST).digest()
            return record if record.payload[len(MARK) :][:DIGEST] == digest else None
    return None


def whole_record_after(data: bytes, last: Record) -> int:
    """Where a whole record starts after the last one and a place that has none; 0 if nowhere."""
    # If only the checksum there is damaged, the next record was still made with what it should be.
    stop, check = body_at(data, last.end, last.check)
    if stop and record_at(data, stop + CHECK.size, check):
        return stop + CHECK.size
    for start in range(last.end + 1, len(data) - HEAD.size - CHECK.size + 1):
        length = HEAD.unpack_from(data, start)[1]
        if start + HEAD.size + length + CHECK.size <= len(data):
            previous = CHECK.unpack_from(data, start - CHECK.size)[0]
            if record_at(data, start, previous):
                return start
    return 0


# ---- writing -------------------------------------------------------------------------------------------------------

_WRITERS: WeakValueDictionary[tuple[int, int], Journal] = WeakValueDictionary()
"""The journals that this process writes, by device and inode: whoever resumes one here takes it over."""


@dataclass(eq=False)
class Journal:
    """The one writer of a journal's file; made by :meth:`create` or :meth:`resume`.

    Attributes
    ----------
    path : Path
    durability : {"disk", "process"}
        Whether a record is on the disk when :meth:`append` returns, or only out of this process.
    """

    path: Path
    durability: str
    _descriptor: int = -1
    _process: int = -1
    _end: int = 0
    _check: int = FIRST
    _digest: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=DIGEST))
    _due: int = SPARSE
    _spent: float = 0.0
    _look_again: float = 0.0
    _closed: str = ""

    @classmethod
    def create(cls, path: str | os.PathLike[str], durability: str, state: bytes) -> Journal:
        """Begin a journal with a first snapshot; the file is there whole or not at all, and is never written over."""
        target = checked_path(path, durability)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        journal = cls(target, durability)
        try:
            journal._open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            journal._put(MAGIC)
            journal.snapshot(state)
            os.fsync(journal._descriptor)
            try:
                os.link(temporary, target)  # unlike a rename, this takes no other file's place
            except FileExistsError:
                raise ArgumentError(
                    f"journal must be a new file, got {target}, which exists: Controller.resume continues it"
                ) from None
        except BaseException:
            journal.close()
            raise
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(target.parent)
        return journal

    @classmethod
    def resume(cls, path: str | os.PathLike[str], durability: str) -> tuple[Journal, Contents]:
        """Go on with a journal; an incomplete end is cut off."""
        target = checked_path(path, durability)
        if not target.is_file():
            raise FileNotFoundError(f"there is no journal {target}")
        journal = cls(target, durability)
        try:
            journal._open(target, os.O_RDWR)
            with open(journal._descriptor, "rb", closefd=False) as file:
                data = file.read()
            contents = read(data, target)
            if contents.cut:
                os.ftruncate(journal._descriptor, contents.end)
                os.fsync(journal._descriptor)
        except BaseException:
            journal.close()
            raise
        journal._end, journal._check = contents.end, contents.check
        journal._digest.update(memoryview(data)[: contents.end])
        since = sum(record.end - record.start for record in contents.records)
        journal._due = max(SPARSE, contents.snapshot) - since
        return journal, contents

    @property
    def snapshot_is_due(self) -> bool:
        """Whether the records since the last snapshot take more space than it did, or long to replay."""
        return self._due <= 0 or self._spent > REPLAY

    def append(self, kind: bytes, payload: bytes, seconds: float = 0.0) -> None:
        """Write a record of what took some seconds to compute.

        When this returns the record survives a crash, and if it raises the file is as it was.
        """
        body = HEAD.pack(kind, len(payload)) + payload
        check = zlib.crc32(body, self._check)
        record = body + CHECK.pack(check)
        self._put(record)
        self._check = check
        self._due -= len(record)
        self.spend(seconds)

    def spend(self, seconds: float) -> None:
        """Count what it took to compute, or compute again, what was recorded since the last snapshot."""
        self._spent += seconds

    def snapshot(self, state: bytes) -> None:
        """Write a snapshot, from which a later reader can start."""
        payload = MARK + self._digest.digest() + state
        self.append(SNAPSHOT, payload)
        self._due = max(SPARSE, HEAD.size + len(payload) + CHECK.size)
        self._spent = 0.0

    def close(self, why: str = "is closed") -> None:
        """Let go of the file."""
        if not self._closed:
            self._closed = why
            if self._descriptor >= 0:
                os.close(self._descriptor)

    def __del__(self) -> None:
        self.close()

    def _open(self, path: Path, flags: int) -> None:
        if fcntl is None:
            raise ArgumentError("journal must be None on a system without POSIX file locks; save works there")
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
        self._process = os.getpid()
        status = os.fstat(self._descriptor)
        identity = (status.st_dev, status.st_ino)
        if (other := _WRITERS.get(identity)) is not None:
            other.close("was taken over by another controller of this process")
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"journal {path} is in use by another process: a journal has one controller at a time"
            ) from None
        _WRITERS[identity] = self

    def _put(self, data: bytes) -> None:
        """Write at the end, all or nothing."""
        if self._closed:
            raise ProtocolError(f"journal {self.path} {self._closed}")
        if os.getpid() != self._process:
            raise ProtocolError(f"journal {self.path} belongs to process {self._process}, this is {os.getpid()}")
        # Once a second: after a wait for the disk, a look takes microseconds.
        if monotonic() > self._look_again:
            if os.fstat(self._descriptor).st_nlink == 0:
                raise FileNotFoundError(f"journal {self.path} is gone: save, and load with another")
            self._look_again = monotonic() + 1.0
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._descriptor, data[written:], self._end + written)
        except OSError:
            # The next record goes to the same place, so that this only keeps the file's end tidy.
            os.ftruncate(self._descriptor, self._end)
            raise
        if self.durability == "disk":
            try:
                to_disk(self._descriptor)
            except OSError:
                # What is on the disk is unknown from here on: only a new look at the file can tell.
                self.close("could not be put on the disk; resume it once the disk is well")
                raise
        self._end += len(data)
        self._digest.update(data)


def checked_path(path: Any, durability: str) -> Path:
    """The path of a journal in a folder that exists."""
    choice("durability", durability, DURABILITIES)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} for the journal {target.name}")
    return target
