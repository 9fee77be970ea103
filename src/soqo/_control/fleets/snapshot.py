"""The complete state of a fleet, and the file beside its journal that makes a resume quick.

The state of a large fleet takes more space than hundreds of rounds of records, so that snapshots within the journal are
rare. The latest snapshot is therefore kept in a file beside it, which each new one replaces. That file is only a
shortcut: it names the record of the journal after which it was taken, and if it is missing, damaged or does not fit the
journal, a resume replays more records and ends in the same state.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soqo._control.fleets.records import Name
from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.atomic import remove_abandoned, temporary_path
from soqo._storage.codec import decode, encode
from soqo._storage.registry import add_fields, register
from soqo.errors import FileFormatError
from soqo.policies import Limited, Policy, State, wrap_for_plant
from soqo.typing import Array, ArrayLike, IntArray

_MAGIC = b"soqo-fleet-snapshot 1\n"
_HEAD = struct.Struct("<22sQIQI")
"""The magic, end and checksum of the last record of the journal, and length and CRC-32 of the encoded snapshot."""

_CHECKSUM = struct.Struct("<I")
"""The CRC-32 of the head. Unlike a hash, it takes little time for a state of many megabytes."""


@register("Fleet.batch")
@dataclass(frozen=True)
class FleetBatch(Value):
    """Some plants: their numbers, and their state, or only their positions if they have not played yet."""

    plants: IntArray
    state: State[Any] | None = None
    x0: Array | None = None


@register("Fleet", version=2, migrations={1: add_fields(rate=None, period=None, limits=None)})
@dataclass(frozen=True)
class FleetSnapshot(Value):
    """The complete state of a fleet.

    Attributes
    ----------
    policy : Policy
        The policy, as the user gave it.
    dim : int
        The number of actuators of a plant.
    horizon, seed, max_delay, low, high, switching_weight, rate, period
        As the user gave them; limits that differ between plants are in ``limits``.
    names : tuple of str or int
        The names of the plants.
    numbers, missed : IntArray, shape (n,)
        The number of each plant, and how many of its rounds had no reading.
    begun : int
        How many plants have begun so far, which is the number of the next one.
    batches : tuple of FleetBatch
        Their states.
    limits : Array of shape (n, 3, d), or None
        The limits low, high and rate of each plant, if they differ.
    """

    policy: Policy[Any]
    dim: int
    horizon: int | None
    seed: int
    max_delay: int
    low: ArrayLike | None
    high: ArrayLike | None
    switching_weight: ArrayLike | None
    names: tuple[Name, ...]
    numbers: IntArray
    missed: IntArray
    begun: int
    batches: tuple[FleetBatch, ...]
    rate: ArrayLike | None = None
    period: ArrayLike | None = None
    limits: Array | None = None

    def player(self) -> Policy[Any]:
        """Return the policy within the weight and the limits that all plants have."""
        player = wrap_for_plant(
            self.policy,
            switching_weight=self.switching_weight,
            low=self.low,
            high=self.high,
            rate=self.rate,
            period=self.period,
        )
        # Plants whose limits differ are steered within rows of them, in place of common limits.
        return player if self.limits is None or isinstance(player, Limited) else Limited(player)


def pack_batch(state: State[Any], plants: IntArray) -> FleetBatch:
    """Return a batch as files hold it."""
    numbers = np.asarray(plants, dtype=np.int64)
    return FleetBatch(numbers, x0=state.x) if not state.round else FleetBatch(numbers, state)


def decode_fleet_snapshot(data: bytes, source: str | os.PathLike[str]) -> FleetSnapshot:
    """Return the snapshot in the bytes of a file, whose name is for error messages."""
    try:
        snapshot = decode(data)
    except FileFormatError as error:
        raise FileFormatError(f"{source}: {error}") from error
    if not isinstance(snapshot, FleetSnapshot):
        raise FileFormatError(f"{source} must hold the state of a fleet, got a {type(snapshot).__name__}")
    return snapshot


def shortcut_path(journal: str | os.PathLike[str]) -> Path:
    """Return the path of the file beside a journal."""
    path = Path(journal)
    return path.with_name(f"{path.name}.snapshot")


def write_shortcut(journal: Path, position: tuple[int, int], snapshot: FleetSnapshot) -> None:
    """Write the snapshot that was taken at this position of the journal; without space for it, there is none."""
    target = shortcut_path(journal)
    remove_abandoned(target)
    temporary = temporary_path(target)
    data = encode(snapshot)
    head = _HEAD.pack(_MAGIC, *position, len(data), zlib.crc32(data))
    try:
        # No fsync: what a power failure leaves incomplete has a wrong checksum, and is ignored.
        with temporary.open("wb") as file:
            file.write(head + _CHECKSUM.pack(zlib.crc32(head)))
            file.write(data)
        os.replace(temporary, target)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def read_shortcut(journal: str | os.PathLike[str]) -> tuple[tuple[int, int], bytes] | None:
    """Return the position and the encoded snapshot of the file beside a journal; None if it cannot be used."""
    try:
        with shortcut_path(journal).open("rb") as file:
            head, check, data = file.read(_HEAD.size), file.read(_CHECKSUM.size), file.read()
    except OSError:
        return None
    if len(check) < _CHECKSUM.size or check != _CHECKSUM.pack(zlib.crc32(head)):
        return None
    magic, end, checksum, length, data_checksum = _HEAD.unpack(head)
    if magic != _MAGIC or length != len(data) or data_checksum != zlib.crc32(data):
        return None
    return (end, checksum), data
