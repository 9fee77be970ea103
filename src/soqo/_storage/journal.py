"""The writer of a journal, whose layout is in `journal_format`."""

from __future__ import annotations

import hashlib
import math
import os
import threading
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, process_time
from typing import Any, Literal, get_args
from weakref import WeakValueDictionary

from soqo._foundation.arguments import choice, file_path
from soqo._storage.atomic import remove_abandoned, sync_folder, temporary_path
from soqo._storage.journal_format import Contents, read, read_closing
from soqo._storage.journal_records import (
    CHECKSUM,
    CLOSING,
    DIGEST_BYTES,
    HEAD,
    INITIAL_CHECKSUM,
    MAGIC,
    MARK,
    SNAPSHOT,
    TRAILER,
)
from soqo.errors import ArgumentError, BusyError, ProtocolError

try:
    import fcntl
except ImportError:  # Windows has no POSIX file locks
    fcntl = None  # type: ignore[assignment]  # mypy knows the name as a module

Durability = Literal["disk", "process"]

MIN_SNAPSHOT_BYTES = 1 << 16
"""Snapshots are at least this many bytes apart, and as many as the last one took: they at most double a file."""

MAX_REPLAY_SECONDS = 0.5
"""A snapshot follows when the records since the last one took this long to compute, since a replay takes as long."""

LARGE_SNAPSHOT_BYTES = 1 << 20
"""Snapshots of larger states are so much rarer as they are larger, so that they neither fill a disk nor take long."""

_sync = getattr(os, "fdatasync", os.fsync)
"""Writes data and length to the disk; the time of the last change is not needed there."""

_WRITERS: WeakValueDictionary[tuple[int, int], Journal] = WeakValueDictionary()
"""The journals that this process writes, by device and inode: a later resume in this process takes one over."""

_CHUNK_BYTES = 1 << 20


@dataclass(eq=False)
class Journal:
    """The single writer of a journal; use :meth:`create` or :meth:`resume`.

    A lock lets another thread take a journal over, or close it, only between two writes. Calls of one writer from
    several threads must be serialized by the caller, since their order is that of the caller's state.

    Attributes
    ----------
    path : Path
    durability : {"disk", "process"}
        Whether :meth:`append` returns when a record is on the disk, or when it has left this process.
    """

    path: Path
    durability: Durability
    _location: str = field(default="", init=False)  # the absolute path, since the working directory may change
    _descriptor: int = field(default=-1, init=False)
    _owner: int = field(default=-1, init=False)
    _end: int = field(default=0, init=False)
    _checksum: int = field(default=INITIAL_CHECKSUM, init=False)
    _digest: Any = field(default=None, init=False)  # without _undigested; None if the file was not read so far
    _undigested: list[bytes] = field(default_factory=list, init=False)
    _bytes_until_snapshot: int = field(default=MIN_SNAPSHOT_BYTES, init=False)
    _replay_seconds: float = field(default=0.0, init=False)
    _processor_seconds: float = field(default=0.0, init=False)  # of this process at the last snapshot
    _snapshot_bytes: int = field(default=0, init=False)  # of the last one
    _next_link_check: float = field(default=0.0, init=False)
    _close_reason: str = field(default="", init=False)
    _lock: Any = field(default_factory=threading.RLock, init=False)
    _writing: bool = field(default=False, init=False)
    _has_calls: bool = field(default=False, init=False)
    _is_closed_cleanly: bool = field(default=False, init=False)  # a closing record follows _end; the next replaces it

    @classmethod
    def create(cls, path: str | os.PathLike[str], durability: Durability, state: bytes) -> Journal:
        """Create a journal with a first snapshot, atomically; an existing file is never overwritten."""
        target = _check_path(path, durability)
        remove_abandoned(target)
        temporary = temporary_path(target)
        journal = cls(target, durability)
        journal._next_link_check = math.inf  # until the file has its name
        journal._digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        try:
            journal._open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            journal._write(MAGIC)
            journal.snapshot(state)
            os.fsync(journal._descriptor)
            try:
                os.link(temporary, target)  # unlike a rename, this does not replace another file
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
        journal._next_link_check = 0.0
        return journal

    @classmethod
    def resume(
        cls, path: str | os.PathLike[str], durability: Durability, *, verify: bool = False
    ) -> tuple[Journal, Contents]:
        """Open a journal to continue it; an incomplete end is cut off.

        After a clean close, only the closing record is read, unless the whole file is to be verified.
        """
        target = _check_path(path, durability)
        if not target.is_file():
            raise FileNotFoundError(f"there is no journal {target}")
        journal = cls(target, durability)
        try:
            journal._open(target, os.O_RDWR)
            with open(journal._descriptor, "rb", closefd=False) as file:
                closing = read_closing(file, target)
                file.seek(0)
                if closing is not None:
                    if verify:
                        read(file.read(), target)
                    journal._end, journal._checksum = closing.start, closing.checksum
                    journal._bytes_until_snapshot = closing.bytes_until_snapshot
                    journal._has_calls = journal._is_closed_cleanly = True
                    journal._snapshot_bytes = len(closing.state)
                    return journal, Contents(closing.state, [], closing.start, closing.checksum, 0, 0)
                data = file.read()
            contents = read(data, target)
            if contents.cut:
                os.ftruncate(journal._descriptor, contents.end)
                os.fsync(journal._descriptor)
        except BaseException:
            journal.close()
            raise
        journal._end, journal._checksum = contents.end, contents.checksum
        journal._digest = hashlib.blake2b(memoryview(data)[: contents.end], digest_size=DIGEST_BYTES)
        journal._has_calls = contents.end > len(MAGIC) + contents.snapshot  # more than the first snapshot
        journal._snapshot_bytes = contents.snapshot
        since = sum(record.end - record.start for record in contents.records)
        journal._bytes_until_snapshot = max(MIN_SNAPSHOT_BYTES, contents.snapshot) - since
        return journal, contents

    @property
    def snapshot_is_due(self) -> bool:
        """Whether the records since the last snapshot take more space than it, or too long to replay."""
        if self._bytes_until_snapshot <= 0:
            return True
        limit = MAX_REPLAY_SECONDS * max(1.0, self._snapshot_bytes / LARGE_SNAPSHOT_BYTES)
        # Calls that waited for a busy processor took longer than their replay will; that clock is slower to read.
        return self._replay_seconds > limit and process_time() - self._processor_seconds > limit

    @property
    def position(self) -> tuple[int, int]:
        """The end and the checksum of the last record, which identify it."""
        return self._end, self._checksum

    def append(self, kind: bytes, payload: bytes, seconds: float = 0.0) -> None:
        """Write a record of a call that took some seconds to compute.

        When this returns, the record survives a crash; if it raises, the file is unchanged.
        """
        body = HEAD.pack(kind, len(payload)) + payload
        checksum = zlib.crc32(body, self._checksum)
        record = body + CHECKSUM.pack(checksum)
        self._write(record)
        self._checksum = checksum
        self._bytes_until_snapshot -= len(record)
        self._has_calls = True
        self.add_replay_time(seconds)

    def add_replay_time(self, seconds: float) -> None:
        """Add to the computing time of the records since the last snapshot."""
        self._replay_seconds += seconds

    def snapshot(self, state: bytes) -> None:
        """Write a snapshot, from which a reader can start."""
        payload = MARK + self._update_digest() + state
        has_calls = self._has_calls
        self.append(SNAPSHOT, payload)
        self._has_calls = has_calls
        self._snapshot_bytes = HEAD.size + len(payload) + CHECKSUM.size
        self._bytes_until_snapshot = max(MIN_SNAPSHOT_BYTES, self._snapshot_bytes)
        self._replay_seconds, self._processor_seconds = 0.0, process_time()

    def _update_digest(self) -> bytes:
        """Return the digest of the file so far."""
        if self._digest is None:
            digest, at = hashlib.blake2b(digest_size=DIGEST_BYTES), 0
            while at < self._end:
                chunk = os.pread(self._descriptor, min(_CHUNK_BYTES, self._end - at), at)
                if not chunk:
                    raise OSError(f"journal {self.path} has become shorter than it was")
                digest.update(chunk)
                at += len(chunk)
            self._digest = digest
        self._digest.update(b"".join(self._undigested))
        self._undigested.clear()
        return bytes(self._digest.digest())

    def write_closing(self, state: bytes) -> None:
        """Write the last state, from which the journal can be resumed without reading the rest of the file.

        Nothing is written if there were no calls, or if the closing record of the last writer is still in place.
        """
        if self._is_closed_cleanly or not self._has_calls:
            return
        payload = state + TRAILER.pack(self._bytes_until_snapshot, self._end)
        body = HEAD.pack(CLOSING, len(payload)) + payload
        self._write(body + CHECKSUM.pack(zlib.crc32(body, self._checksum)), replaceable=True)

    def close(self, why: str = "is closed") -> None:
        """Close the file; if this thread is writing to it (in a signal handler), when the write is done."""
        with self._lock:
            if not self._close_reason:
                self._close_reason = why
                if not self._writing:
                    self._release()

    def _release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()

    def _open(self, path: Path, flags: int) -> None:
        if fcntl is None:
            raise ArgumentError("journal must be None on a system without POSIX file locks; use save there")
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
        self._owner, self._location = os.getpid(), os.path.abspath(self.path)
        self._processor_seconds = process_time()
        status = os.fstat(self._descriptor)
        identity = (status.st_dev, status.st_ino)
        if (other := _WRITERS.get(identity)) is not None:
            other.close("was taken over by another controller of this process")
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"journal {path} is in use by another process: a journal has one writer at a time"
            ) from None
        _WRITERS[identity] = self

    def _write(self, data: bytes, *, replaceable: bool = False) -> None:
        """Write at the end of the file, completely or not at all; the next write may replace it."""
        with self._lock:
            if self._close_reason:
                raise ProtocolError(f"journal {self.path} {self._close_reason}")
            if os.getpid() != self._owner:
                raise ProtocolError(f"journal {self.path} belongs to process {self._owner}, this is {os.getpid()}")
            # At most once a second, since fstat takes microseconds after a wait for the disk.
            if monotonic() > self._next_link_check:
                self._check_link()
            self._writing = True
            try:
                if self._is_closed_cleanly:
                    self._remove_closing()
                self._put(data)
                if self.durability == "disk":
                    self._sync_data()
            finally:
                self._writing = False
                if self._close_reason:
                    self._release()
            self._is_closed_cleanly = replaceable
            if not replaceable:
                self._end += len(data)
                if self._digest is not None:
                    # Hashed at the next snapshot, since a hash takes long after a wait for the disk.
                    self._undigested.append(data)

    def _check_link(self) -> None:
        """Raise an error if the path no longer names the open file, since what is written would be lost."""
        try:
            named = os.stat(self._location)
            is_same = os.path.samestat(named, os.fstat(self._descriptor))
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise FileNotFoundError(
                f"journal {self.path} was deleted, moved or replaced: save the controller, and load it with another "
                "journal"
            )
        self._next_link_check = monotonic() + 1.0

    def _put(self, data: bytes) -> None:
        try:
            written = os.pwrite(self._descriptor, data, self._end)
            while written < len(data):
                written += os.pwrite(self._descriptor, data[written:], self._end + written)
        except OSError:
            # The next record goes to the same place; this only tidies the end of the file.
            os.ftruncate(self._descriptor, self._end)
            raise

    def _remove_closing(self) -> None:
        os.ftruncate(self._descriptor, self._end)
        self._is_closed_cleanly = False

    def _sync_data(self) -> None:
        try:
            _sync(self._descriptor)
        except OSError:
            # What the disk holds is unknown now: only reading the file again can tell.
            self.close("could not be written to the disk; resume it once the disk works")
            raise


def _check_path(path: Any, durability: Durability) -> Path:
    """Return the path of a journal, whose folder must exist."""
    choice("durability", durability, get_args(Durability))
    target = file_path("journal", path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} for the journal {target.name}")
    return target
