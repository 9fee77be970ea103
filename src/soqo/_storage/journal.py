"""The writer of a journal, whose layout is in `journal_format`."""

from __future__ import annotations

import hashlib
import math
import os
import threading
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, perf_counter, process_time
from typing import Any, Literal, get_args
from weakref import WeakValueDictionary

from soqo._foundation.arguments import choice, file_path
from soqo._storage.atomic import remove_abandoned, sync_folder, temporary_path
from soqo._storage.journal_format import (
    Contents,
    Latest,
    check_magic,
    continued,
    is_at_end,
    latest_path,
    read,
    read_latest,
    write_latest,
)
from soqo._storage.journal_records import CHECKSUM, DIGEST_BYTES, HEAD, INITIAL_CHECKSUM, MAGIC, MARK, SNAPSHOT
from soqo.errors import ArgumentError, BusyError, ProtocolError

try:
    import fcntl
except ImportError:  # Windows has no POSIX file locks
    fcntl = None  # type: ignore[assignment]  # mypy knows the name as a module

Durability = Literal["disk", "process"]

MIN_SNAPSHOT_BYTES = 1 << 16
"""Snapshots in a file are at least this many bytes apart, and as many as they take: they at most double it."""

MAX_REPLAY_SECONDS = 0.5
"""A snapshot follows when the records since the last one took this long to compute, since a replay takes as long."""

MAX_SNAPSHOT_SHARE = 0.125
"""Snapshots are so rare that to write them takes at most this share of the time of the calls."""

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
    _bytes: int = field(default=0, init=False)  # since the last snapshot in the file
    _replay_seconds: float = field(default=0.0, init=False)  # since the last snapshot
    _processor_seconds: float = field(default=0.0, init=False)  # of this process at the last snapshot
    _state_bytes: int = field(default=0, init=False)  # of the last snapshot
    _snapshot_seconds: float = field(default=0.0, init=False)  # that it took to write it
    _latest_end: int = field(default=0, init=False)  # of the journal when the file beside it was written
    _next_link_check: float = field(default=0.0, init=False)
    _close_reason: str = field(default="", init=False)
    _lock: Any = field(default_factory=threading.RLock, init=False)
    _writing: bool = field(default=False, init=False)

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
            journal.append_snapshot(state)
            os.fsync(journal._descriptor)
            try:
                os.link(temporary, target)  # unlike a rename, this does not replace another file
            except FileExistsError:
                raise ArgumentError(
                    f"journal must be a new file, got {target}, which exists: resume continues it"
                ) from None
        except BaseException:
            journal.close()
            raise
        finally:
            temporary.unlink(missing_ok=True)
        with suppress(OSError):  # it would be ignored
            latest_path(target).unlink(missing_ok=True)
        sync_folder(target.parent)
        journal._next_link_check = 0.0
        journal._latest_end = journal._end
        return journal

    @classmethod
    def resume(
        cls, path: str | os.PathLike[str], durability: Durability, *, verify: bool = False
    ) -> tuple[Journal, Contents]:
        """Open a journal to continue it; an incomplete end is cut off.

        If the file beside it has its last state, nothing else is read, unless the whole journal is to be verified.
        """
        target = _check_path(path, durability)
        if not target.is_file():
            raise FileNotFoundError(f"there is no journal {target}")
        journal, latest = cls(target, durability), read_latest(target)
        try:
            journal._open(target, os.O_RDWR)
            with open(journal._descriptor, "rb", closefd=False) as file:
                check_magic(file.read(len(MAGIC)), target)
                if latest is not None and not verify and is_at_end(latest, file):
                    contents = Contents(latest.state, [], latest.end, latest.checksum, 0, 0)
                    journal._bytes = latest.since
                else:
                    file.seek(0)
                    contents = journal._read(file.read(), latest)
        except BaseException:
            journal.close()
            raise
        journal._end, journal._checksum, journal._state_bytes = contents.end, contents.checksum, len(contents.state)
        journal._latest_end = contents.end if latest is not None and not contents.records else -1
        return journal, contents

    def _read(self, data: bytes, latest: Latest | None) -> Contents:
        """Return the contents of the file, after cutting off an incomplete end."""
        contents = read(data, self.path)
        if contents.cut:
            os.ftruncate(self._descriptor, contents.end)
            os.fsync(self._descriptor)
        self._digest = hashlib.blake2b(memoryview(data)[: contents.end], digest_size=DIGEST_BYTES)
        self._bytes = sum(record.end - record.start for record in contents.records)
        return continued(contents, latest)

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    @property
    def snapshot_is_due(self) -> bool:
        """Whether the records since the last snapshot take more space than it, or too long to replay."""
        if self._bytes >= max(MIN_SNAPSHOT_BYTES, self._state_bytes):
            return True
        limit = max(MAX_REPLAY_SECONDS, self._snapshot_seconds / MAX_SNAPSHOT_SHARE)
        # Calls that waited for a busy processor took longer than their replay will; that clock is slower to read.
        return self._replay_seconds > limit and process_time() - self._processor_seconds > limit

    def append(self, kind: bytes, payload: bytes, seconds: float = 0.0) -> None:
        """Write a record of a call that took some seconds to compute.

        When this returns, the record survives a crash; if it raises, the file is unchanged.
        """
        body = HEAD.pack(kind, len(payload)) + payload
        checksum = zlib.crc32(body, self._checksum)
        record = body + CHECKSUM.pack(checksum)
        self._write(record)
        self._checksum = checksum
        self._bytes += len(record)
        self._replay_seconds += seconds

    def add_replay_time(self, seconds: float) -> None:
        """Add to the computing time of the records since the last snapshot."""
        self._replay_seconds += seconds

    def snapshot(self, state: bytes) -> None:
        """Write a state from which a reader can start: into the file, if that at most doubles it, or else beside it."""
        begun = perf_counter()
        if self._bytes >= max(MIN_SNAPSHOT_BYTES, len(state)):
            self.append_snapshot(state)
        else:
            self._write_latest(state)
        self._state_bytes, self._snapshot_seconds = len(state), perf_counter() - begun
        self._replay_seconds, self._processor_seconds = 0.0, process_time()

    def append_snapshot(self, state: bytes) -> None:
        """Write a state into the file."""
        self.append(SNAPSHOT, MARK + self._update_digest() + state)
        self._bytes = 0

    def _write_latest(self, state: bytes) -> None:
        write_latest(Path(self._location), Latest(self._end, self._checksum, self._bytes, state))
        self._latest_end = self._end

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

    def close(self, state: bytes | None = None) -> None:
        """Close the file; with the last state, from which it can be resumed without reading the rest of it."""
        if state is not None and not self._close_reason and self._latest_end != self._end:
            # The calls are in the journal already: without this state, a resume replays them.
            with suppress(OSError, ArgumentError):
                self._write_latest(state)
        self._shut("is closed")

    def _shut(self, why: str) -> None:
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
            other._shut("was taken over by another controller of this process")
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"journal {path} is in use by another process: a journal has one writer at a time"
            ) from None
        _WRITERS[identity] = self

    def _write(self, data: bytes) -> None:
        """Write at the end of the file, completely or not at all."""
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
                self._put(data)
                if self.durability == "disk":
                    self._sync_data()
            finally:
                self._writing = False
                if self._close_reason:
                    self._release()
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

    def _sync_data(self) -> None:
        try:
            _sync(self._descriptor)
        except OSError:
            # What the disk holds is unknown now: only reading the file again can tell.
            self._shut("could not be written to the disk; resume it once the disk works")
            raise


def _check_path(path: Any, durability: Durability) -> Path:
    """Return the path of a journal, whose folder must exist."""
    choice("durability", durability, get_args(Durability))
    target = file_path("journal", path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} for the journal {target.name}")
    return target
