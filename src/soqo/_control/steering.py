"""Live plants with a journal: a call is computed, written ahead, and takes effect, in this order and nowhere else.

A :class:`soqo.Controller` and a :class:`soqo.Fleet` check what they are told, and pass it on to this as a call. A
reading goes this way: ``observe`` makes a `Call`; :meth:`Steering.compute` asks the policies what it changes
(`plants`); :meth:`Steering.commit` writes the record of the call to the journal (`calls`), lets the change take effect,
and writes a snapshot if one is due. :meth:`Steering.resume` repeats the records since the last snapshot in the same
way.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, Self

import numpy as np

from soqo._control.calls import ALONE, Call, Name, encode_call
from soqo._control.earlier_calls import read_call
from soqo._control.events import LOGGER
from soqo._control.own_limits import LIMITS, limit_rows
from soqo._control.plants import Batch, Change, Part, Plants, Status
from soqo._control.settings import check_same_settings, warn_if_not_portable
from soqo._control.snapshot import SavedBatch, Snapshot, decode_snapshot, refusing_damage
from soqo._foundation.arguments import file_path
from soqo._foundation.frozen_dataclasses import evolve
from soqo._foundation.random_streams import stream
from soqo._storage.atomic import replacing
from soqo._storage.checksummed import seal, starts_with, unseal
from soqo._storage.codec import encode
from soqo._storage.journal import Durability, Journal
from soqo._storage.journal_format import is_journal
from soqo.errors import ArgumentError, FileFormatError, ProtocolError
from soqo.policies import State
from soqo.typing import Array, IntArray

_MAGICS = {True: b"soqo-controller 1\n", False: b"soqo-fleet 1\n"}
_OWNERS = {True: "Controller", False: "Fleet"}
_DISTURBED = "another call was made in the middle of this one, by a signal handler; this one has no effect: repeat it"


class Backend(Protocol):
    """Where a journal is kept: a file, or the rows of a database."""

    @property
    def name(self) -> str:
        """What the journal is called in messages."""

    @property
    def snapshot_is_due(self) -> bool:
        """Whether it would take long to repeat the records since the last snapshot."""

    def append(self, kind: bytes, payload: bytes, seconds: float = 0.0) -> None:
        """Write a record of a call that took some seconds to compute; if it raises an error, nothing was written."""

    def snapshot(self, state: bytes) -> None:
        """Write a state from which a reader can start."""

    def close(self, state: bytes | None = None) -> None:
        """Release the journal, with a last state."""


def begin(settings: Snapshot, x0: Array, names: tuple[Name, ...] = (), limits: Array | None = None) -> Snapshot:
    """Return the state of plants before their first round, of a fleet if they have an axis."""
    plants = np.arange(len(x0)) if x0.ndim == 2 else ALONE
    batches = (SavedBatch(plants, x0=x0),) if plants.size else ()
    missed = np.zeros_like(plants)
    return evolve(
        settings, names=names, numbers=plants, missed=missed, begun=plants.size, batches=batches, limits=limits
    )


class Steering:
    """Plants, their names and their journal.

    Parameters
    ----------
    snapshot : Snapshot
        The state with which they begin.

    Attributes
    ----------
    settings : Snapshot
        What does not change.
    player : Policy
        The policy within the weight and the limits of all plants.
    plants : Plants
        The states.
    numbers : dict
        The number of each plant of a fleet by its name.
    begun : int
        How many plants have begun so far.
    lock : threading.RLock
        Calls of several threads are serialized by their owner. A signal handler may make a call in the middle of
        another one: the lock lets it pass, and the call that it disturbed is refused.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.settings, self.player = snapshot, snapshot.player()
        self.plants = Plants()
        self.begun = snapshot.begun
        self.numbers: dict[Name, int] = {}
        if not snapshot.is_alone:
            self.numbers = dict(zip(snapshot.names, snapshot.numbers.tolist(), strict=True))
        if snapshot.limits is not None:
            self.plants.limits = dict(zip(snapshot.numbers.tolist(), snapshot.limits, strict=True))
        for saved in snapshot.batches:
            state = saved.state
            if state is None:
                assert saved.x0 is not None
                state = self.start(saved.plants, saved.x0)
            if state.x.shape != (*saved.plants.shape, snapshot.dim) or state.v.shape != state.x.shape:
                raise ValueError(f"the state of plants {saved.plants.shape} has x of shape {state.x.shape}")
            self.plants.put(self.player, state, saved.plants)
        self.plants.missed[snapshot.numbers] = snapshot.missed
        self.journal: Backend | None = None
        self.lock = threading.RLock()
        self._version = 0
        self._is_interrupted = False

    def __getstate__(self) -> dict[str, Any]:
        if self.journal is not None:
            raise ProtocolError(
                f"a {self.owner.lower()} with a journal cannot be copied, since a journal has one writer: use save"
            )
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        vars(self).update(attributes, lock=threading.RLock())

    # ---- the plants --------------------------------------------------------------------------------------------------

    @property
    def owner(self) -> str:
        """The class of which these are the plants."""
        return _OWNERS[self.settings.is_alone]

    def numbers_of(self, names: Sequence[Name]) -> IntArray:
        """Return the numbers of plants."""
        return np.array([self.numbers[name] for name in names], dtype=np.int64)

    def status(self, plants: IntArray) -> Status:
        """Return where some plants are."""
        return self.plants.status(plants, self.settings.dim)

    def start(self, plants: IntArray, x0: Array) -> State[Any]:
        """Return the state of plants with these numbers before their first round."""
        settings = self.settings
        seeds = [(settings.seed or 0) + number for number in plants.reshape(-1).tolist()]
        rng = [stream(seed, run=0, purpose="policy") for seed in seeds]
        source = rng if plants.ndim else rng[0]
        return self.player.start(x0, settings.horizon, source, max_delay=settings.max_delay)

    # ---- calls -------------------------------------------------------------------------------------------------------

    def compute(self, call: Call) -> tuple[Change, int, float]:
        """Return what a call changes, how many calls have taken effect so far, and when this began."""
        version, begun = self._version, perf_counter()
        if call.kind == "act":
            change = self.plants.act(call)
        elif call.kind == "observe":
            change = self.plants.observe(call)
        elif call.kind == "leave":
            change = Change(call, [])
        else:
            plants = np.arange(self.begun, self.begun + len(call.given["names"]))
            change = Change(
                call._replace(plants=plants), [Part(self.player, self.start(plants, call.given["x0"]), ...)]
            )
        return change, version, begun

    def commit(self, change: Change, version: int, begun: float, *, snapshot: bool = False) -> None:
        """Write a call to the journal, and let it take effect; then write a snapshot if one is due or asked for."""
        if self._is_interrupted and self.journal is not None:
            raise ProtocolError(
                f"the previous call was interrupted and may be in the journal: continue with {self.owner}.resume"
            )
        self._is_interrupted = True
        if self._version != version:
            self._is_interrupted = False
            raise ProtocolError(_DISTURBED)
        try:
            if self.journal is not None:
                self.journal.append(*encode_call(change.call, change.x), perf_counter() - begun)
        except (OSError, ProtocolError):
            self._is_interrupted = False  # nothing was written
            raise
        self._apply(change)
        self._is_interrupted = False
        if self.journal is not None and (snapshot or self.journal.snapshot_is_due):
            self._write_snapshot(self.journal)

    def carry_out(self, call: Call) -> Change:
        """Compute a call, and let it take effect."""
        change, version, begun = self.compute(call)
        self.commit(change, version, begun)
        return change

    def repeat(self, call: Call) -> None:
        """Repeat a call of a journal, with the action that was returned then."""
        change, _, _ = self.compute(call)
        if call.x is not None and change.x is not None and not np.array_equal(change.x, call.x):
            # Another processor or version may compute an action that differs in the last digit.
            parts = [part._replace(state=evolve(part.state, x=call.x[part.places])) for part in change.parts]
            change = change._replace(parts=parts)
        self._apply(change)

    def _apply(self, change: Change) -> None:
        self._version += 1
        call = change.call
        if call.kind == "leave":
            for name in call.given["names"]:
                self.plants.drop(np.array([self.numbers.pop(name)]))
            return
        if call.kind in ("join", "restart"):
            self._begin(call)
        self.plants.store(change)

    def _begin(self, call: Call) -> None:
        """Give numbers and limits to plants that begin, new or known; those that are known keep their limits."""
        limits, own = call.given.get("limits"), self.plants.limits
        if limits is not None and own is None:
            common = limit_rows({name: getattr(self.settings, name) for name in LIMITS}, 1, self.settings.dim)[0]
            own = self.plants.limits = dict.fromkeys(self.numbers.values(), common)
        for row, (name, number) in enumerate(zip(call.given["names"], call.plants.tolist(), strict=True)):
            if own is not None:
                own[number] = own[self.numbers[name]] if limits is None else limits[row]
            if name in self.numbers:
                self.plants.drop(np.array([self.numbers[name]]))
            self.numbers[name] = number
        self.begun += call.plants.size

    # ---- files -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the complete state."""
        with self.lock:
            numbers = ALONE if self.settings.is_alone else np.array(list(self.numbers.values()), dtype=np.int64)
            return evolve(
                self.settings,
                names=tuple(self.numbers),
                numbers=numbers,
                missed=self.plants.missed[numbers],
                begun=self.begun,
                batches=tuple(self._saved(one) for one in self.plants.all()),
                limits=None if self.plants.limits is None else self.plants.limits_of(numbers, self.settings.dim),
            )

    def _saved(self, batch: Batch) -> SavedBatch:
        # The states of many plants that have not played are large, and say nothing else than their positions.
        if batch.plants.ndim and not batch.state.round:
            return SavedBatch(batch.plants, x0=batch.state.x)
        return SavedBatch(batch.plants, batch.state)

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, source: str | os.PathLike[str]) -> Self:
        """Return the plants in a file, whose name is for error messages."""
        with refusing_damage(f"{source} holds a state that its policy cannot use"):
            try:
                return cls(snapshot)
            except ArgumentError as error:
                raise FileFormatError(f"{source} holds settings that are not allowed: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the complete state to a file, atomically."""
        if is_journal(path):
            raise ArgumentError(f"path must not be a journal, which has more in it, got {path}")
        snapshot = self.snapshot()
        contents = seal(_MAGICS[snapshot.is_alone], encode(snapshot))
        with replacing(path) as temporary:
            temporary.write_bytes(contents)
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, alone: bool) -> Self:
        """Return the plants in a file that :meth:`save` wrote."""
        source = file_path("path", path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no saved {_OWNERS[alone].lower()} {source}")
        if is_journal(source):
            raise FileFormatError(f"{source} is a journal: use {_OWNERS[alone]}.resume")
        data = unseal(_MAGICS[alone], source.read_bytes(), source)
        return cls.from_snapshot(decode_snapshot(data, source, alone=alone), source)

    def create_journal(self, path: str | os.PathLike[str], durability: Durability, *, stacklevel: int) -> None:
        """Begin a journal in a new file."""
        if file_path("journal", path).exists():
            raise ArgumentError(
                f"journal must be a new file, got {path}, which exists: {self.owner}.resume continues it"
            )
        snapshot = self.snapshot()
        warn_if_not_portable(snapshot, stacklevel=stacklevel + 1)
        self.journal = Journal.create(path, durability, encode(snapshot))

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        durability: Durability,
        *,
        alone: bool,
        verify: bool = False,
        expected: Snapshot | None = None,
    ) -> Self:
        """Continue from a journal, whose settings must be those that are expected."""
        if any(starts_with(path, magic[: magic.index(b" ")]) for magic in _MAGICS.values()):
            raise FileFormatError(f"{path} is a saved {_OWNERS[alone].lower()}: use {_OWNERS[alone]}.load")
        file, contents = Journal.resume(path, durability, verify=verify)
        try:
            snapshot = decode_snapshot(contents.state, path, alone=alone)
            if expected is not None:
                check_same_settings(expected, snapshot, path)
                snapshot = evolve(snapshot, timestamps=expected.timestamps)
            steering = cls.from_snapshot(snapshot, path)
            begun = perf_counter()
            for record in contents.records:
                with refusing_damage(f"{path} holds a call at byte {record.start} that cannot be repeated"):
                    steering.repeat(read_call(record, snapshot.dim, path, alone=alone))
            seconds = perf_counter() - begun
            file.add_replay_time(seconds)
        except BaseException:
            file.close()
            raise
        if contents.cut:
            LOGGER.warning("%s: %d bytes of an incomplete record were cut off", file.name, contents.cut)
        LOGGER.info("%s: resumed; %d calls were replayed in %.3f s", file.name, len(contents.records), seconds)
        steering.journal = file
        if file.snapshot_is_due:
            steering._write_snapshot(file)
        return steering

    def _write_snapshot(self, journal: Backend) -> None:
        """Write a snapshot of the state, if possible: the calls are in the journal, and it is tried again later."""
        try:
            journal.snapshot(encode(self.snapshot()))
        except (OSError, ArgumentError, ProtocolError) as error:
            LOGGER.warning("%s: no snapshot could be written: %s", journal.name, error)
        else:
            LOGGER.debug("%s: a snapshot was written", journal.name)

    def close(self) -> None:
        """Release the journal, which keeps its contents, with the complete state at its end."""
        with self.lock:
            if self.journal is not None:
                self.journal.close(None if self._is_interrupted else self._last_state())

    def _last_state(self) -> bytes | None:
        # The calls are in the journal already: without this state, a resume repeats them.
        try:
            return encode(self.snapshot())
        except ArgumentError:
            return None
