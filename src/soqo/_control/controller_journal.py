"""The journal of a controller: a record of every call before it takes effect, snapshots, and the state at the end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from soqo._control.calls import Call, encode_call
from soqo._control.events import LOGGER
from soqo._control.snapshot import Snapshot
from soqo._foundation.arguments import choice, integer
from soqo._storage.codec import encode
from soqo._storage.journal import Journal
from soqo.errors import ArgumentError, ProtocolError

DISTURBED = "another call was made in the middle of this one, by a signal handler; this one has no effect: repeat it"


class ControllerJournal:
    """The writer of a controller's journal.

    Parameters
    ----------
    file : Journal
        The file.
    snapshot_every : int, optional
        A snapshot follows after every so many rounds, beside those that are due by themselves.
    """

    def __init__(self, file: Journal, snapshot_every: int | None) -> None:
        self.file, self._every = file, snapshot_every
        self._interrupted = False

    @property
    def path(self) -> Path:
        """The file's path."""
        return self.file.path

    def record(self, call: Call, begun: float, is_undisturbed: Callable[[], bool]) -> None:
        """Write a call that was begun at some time before it takes effect."""
        if self._interrupted:
            raise ProtocolError(
                "the previous call was interrupted and may be in the journal: continue with Controller.resume"
            )
        self._interrupted = True
        try:
            if not is_undisturbed():
                raise ProtocolError(DISTURBED)  # noqa: TRY301  # nothing was written, as for the errors of append
            self.file.append(*encode_call(call), perf_counter() - begun)
        except (OSError, ProtocolError):
            self._interrupted = False  # nothing was written
            raise

    def conclude(self, snapshot: Callable[[], Snapshot], *, at_round: int = 0) -> None:
        """Note that a recorded call has taken effect; from time to time, write a snapshot after it."""
        self._interrupted = False
        every = self._every
        if self.file.snapshot_is_due or (every is not None and at_round and at_round % every == 0):
            self.write_snapshot(snapshot())

    def write_snapshot(self, snapshot: Snapshot) -> None:
        """Write a snapshot of the state, if possible: the calls are in the journal, and it is tried again later."""
        try:
            self.file.snapshot(encode(snapshot))
        except (OSError, ArgumentError, ProtocolError) as error:
            LOGGER.warning("%s: no snapshot could be written: %s", self.path.name, error)
        else:
            LOGGER.debug("%s: a snapshot after round %d", self.path.name, snapshot.state.round)

    def close(self, snapshot: Snapshot) -> None:
        """Close the file, with the complete state at its end."""
        if not self._interrupted:
            # The calls are in the journal already: without this record, a resume replays them.
            with suppress(OSError, ProtocolError, ArgumentError):
                self.file.write_closing(encode(snapshot))
        self.file.close()


def check_options(durability: Any, snapshot_every: Any) -> int | None:
    """Return how often a journal has a snapshot, after a check of both options."""
    choice("durability", durability, ("disk", "process"))
    return None if snapshot_every is None else integer("snapshot_every", snapshot_every, least=1)
