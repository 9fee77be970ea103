"""The journal of a fleet: a record of every call before it takes effect, and snapshots for a quick resume."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from soqo._control.fleets.plants import Plants
from soqo._control.fleets.records import FleetCall, decode_fleet_call, encode_fleet_call
from soqo._control.fleets.snapshot import (
    FleetSnapshot,
    decode_fleet_snapshot,
    read_shortcut,
    shortcut_path,
    write_shortcut,
)
from soqo._foundation.arguments import file_path
from soqo._storage.codec import encode
from soqo._storage.journal import Durability, Journal
from soqo._storage.journal_format import Contents
from soqo._storage.plain_data import pack
from soqo.errors import ArgumentError, ProtocolError

_MAX_REPLAY_SECONDS = 0.75
"""A snapshot follows when the calls since the last one took this long to compute, since a replay takes as long."""

_MAX_SNAPSHOT_SHARE = 0.125
"""Snapshots take at most this share of the computing time."""


class FleetJournal:
    """The journal of a fleet; use :meth:`create` or :meth:`resume`.

    Parameters
    ----------
    journal : Journal
        The file.
    snapshot : callable
        Returns the complete state of the fleet.
    """

    def __init__(self, journal: Journal, snapshot: Callable[[], FleetSnapshot]) -> None:
        self._journal, self._snapshot = journal, snapshot
        self._interrupted = False
        self._calls, self._seconds = 0, 0.0  # since the last snapshot, in the journal or beside it
        self._bytes = 0  # since the last snapshot in the journal
        self._snapshot_seconds, self._snapshot_bytes = 0.0, 0

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], durability: Durability, snapshot: Callable[[], FleetSnapshot]
    ) -> FleetJournal:
        """Create a journal; an existing file is never overwritten."""
        if file_path("journal", path).exists():
            raise ArgumentError(f"journal must be a new file, got {path}, which exists: Fleet.resume continues it")
        journal = Journal.create(path, durability, encode(snapshot()))
        shortcut_path(path).unlink(missing_ok=True)
        return cls(journal, snapshot)

    @classmethod
    def resume(cls, path: str | os.PathLike[str], durability: Durability) -> tuple[FleetJournal, Plants]:
        """Open a journal to continue it, and return the plants as they were after its last call."""
        file, contents = Journal.resume(path, durability)
        try:
            plants, calls, seconds = _replay(contents, path)
        except BaseException:
            file.close()
            raise
        journal = cls(file, plants.snapshot)
        journal._calls, journal._seconds = calls, seconds
        journal._bytes = sum(record.end - record.start for record in contents.records)
        journal._keep_shortcut()
        return journal, plants

    @property
    def path(self) -> Path:
        """The file."""
        return self._journal.path

    def record(self, call: FleetCall, seconds: float) -> None:
        """Write a call that took some seconds to compute, before it takes effect."""
        if self._interrupted:
            raise ProtocolError(
                "the previous call was interrupted and may be in the journal: continue with Fleet.resume"
            )
        kind, payload = encode_fleet_call(call)
        self._interrupted = True
        try:
            self._journal.append(kind, payload)
        except (OSError, ProtocolError):
            self._interrupted = False  # nothing was written
            raise
        self._bytes += len(payload)
        self._calls += 1
        self._seconds += seconds

    def conclude(self) -> None:
        """Note that a recorded call has taken effect; from time to time, write a snapshot after it."""
        self._interrupted = False
        if self._journal.snapshot_is_due and self._bytes >= self._snapshot_bytes:
            snapshot = self._snapshot()
            self._snapshot_bytes = sum(array.nbytes for array in pack(snapshot)[1].values())
            # A snapshot in the journal takes no more space than the records before it.
            if self._bytes >= self._snapshot_bytes:
                # The call is in the journal already; a snapshot that fails for lack of space is tried again later.
                with suppress(OSError):
                    self._journal.snapshot(encode(snapshot))
                    self._calls, self._seconds, self._bytes = 0, 0.0, 0
        self._keep_shortcut()

    def close(self) -> None:
        """Close the file, after a last snapshot beside it."""
        if self._calls and not self._interrupted:
            self._write_shortcut()
        self._journal.close()

    def _keep_shortcut(self) -> None:
        """Write a snapshot beside the journal if a replay of the calls since the last one takes long."""
        if self._seconds > max(_MAX_REPLAY_SECONDS, self._snapshot_seconds / _MAX_SNAPSHOT_SHARE):
            self._write_shortcut()

    def _write_shortcut(self) -> None:
        begun = perf_counter()
        write_shortcut(self._journal.path, self._journal.position, self._snapshot())
        self._calls, self._seconds = 0, 0.0
        self._snapshot_seconds = perf_counter() - begun


def _replay(contents: Contents, source: str | os.PathLike[str]) -> tuple[Plants, int, float]:
    """Return the plants at the end of a journal, and the number of calls that were replayed and their time."""
    state, records = contents.state, contents.records
    shortcut = read_shortcut(source)
    if shortcut is not None:
        position, later_state = shortcut
        for k, record in enumerate(records):
            if (record.end, record.checksum) == position:
                state, records = later_state, records[k + 1 :]
                break
    plants = Plants(decode_fleet_snapshot(state, source))
    begun = perf_counter()
    for record in records:
        plants.replay(decode_fleet_call(record, plants.settings.dim, source))
    return plants, len(records), perf_counter() - begun
