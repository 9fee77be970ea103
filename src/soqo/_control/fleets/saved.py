"""A fleet in one file without a journal."""

from __future__ import annotations

import os
from pathlib import Path

from soqo._control.fleets.plants import Plants
from soqo._control.fleets.snapshot import FleetSnapshot, decode_fleet_snapshot
from soqo._control.snapshot import refusing_damage
from soqo._foundation.arguments import file_path
from soqo._storage.atomic import replacing
from soqo._storage.checksummed import seal, unseal
from soqo._storage.codec import encode
from soqo._storage.journal_format import is_journal
from soqo.errors import ArgumentError, FileFormatError

_MAGIC = b"soqo-fleet 1\n"


def write_saved(path: str | os.PathLike[str], snapshot: FleetSnapshot) -> Path:
    """Write the state of a fleet to a file, atomically."""
    if is_journal(path):
        raise ArgumentError(f"path must not be a journal, which has more in it, got {path}")
    contents = seal(_MAGIC, encode(snapshot))
    with replacing(path) as temporary:
        temporary.write_bytes(contents)
    return Path(path)


def read_plants(path: str | os.PathLike[str]) -> Plants:
    """Return the plants in a file."""
    source = file_path("path", path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no saved fleet {source}")
    if is_journal(source):
        raise FileFormatError(f"{source} is a journal: use Fleet.resume")
    snapshot = decode_fleet_snapshot(unseal(_MAGIC, source.read_bytes(), source), source)
    with refusing_damage(f"{source} holds a state that its policy cannot use"):
        return Plants(snapshot)
