"""The store of a server: every call of every plant, snapshots, events and tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from soqo._control.timestamps import now
from soqo.errors import ArgumentError, UnknownNameError
from soqo.service._database import Database, Execute, insert
from soqo.service._schemas import History, PlayedRound, iso_time


class Record(NamedTuple):
    """A call of a plant: its number, its kind ("act", "reading", "note" or "retire"), and its contents as JSON."""

    plant: int
    seq: int
    kind: str
    round: int
    body: str
    time: int


class Event(NamedTuple):
    """Something that an operator should know."""

    plant: int
    round: int
    kind: str
    message: str
    time: int


class StoredPlant(NamedTuple):
    """A plant as it was created."""

    id: int
    name: str
    settings: str
    created: int
    retired: int | None


class Snapshot(NamedTuple):
    """The state of a plant after the record with the number ``seq``."""

    plant: int
    seq: int
    data: bytes


class Token(NamedTuple):
    """A token, without its secret."""

    name: str
    scope: str
    plants: tuple[str, ...] | None
    created: int
    revoked: bool


_PLANT, _RECORD, _EVENT = (", ".join(kind._fields) for kind in (StoredPlant, Record, Event))


class Store:
    """A database of plants.

    Parameters
    ----------
    url : str
        ``postgresql://user@host/database``, or the file of an SQLite database, which is created if it is not there.

    Raises
    ------
    UnavailableError
        If the database does not answer, here and later.
    FileFormatError
        If it is no database, or has tables of a later version.
    """

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        self.database.prepare()
        self.close = self.database.close

    def ping(self) -> None:
        """Raise an error unless the database answers."""
        self.database.read("SELECT 1")

    # ---- plants ------------------------------------------------------------------------------------------------------

    def add_plant(self, name: str, settings: str) -> StoredPlant | None:
        """Create a plant; None if there is one of this name."""
        row, columns = (name, settings, now()), ("name", "settings", "created")
        with self.database.writing() as execute:
            found = insert(execute, "plants", columns, [row], "ON CONFLICT DO NOTHING", _PLANT)
        return StoredPlant(*found[0]) if found else None

    def find_plant(self, name: str) -> StoredPlant | None:
        """Return a plant by its name."""
        found = self.database.read(f"SELECT {_PLANT} FROM plants WHERE name = ?", name)
        return StoredPlant(*found[0]) if found else None

    def plants(self, *, after: str = "", limit: int = 10**6, among: Sequence[str] | None = None) -> list[StoredPlant]:
        """Return plants, or those among some names, in the order of their names."""
        names = () if among is None else among
        limited = "" if among is None else f"AND name IN ({', '.join('?' * len(names)) or 'NULL'})"
        query = f"SELECT {_PLANT} FROM plants WHERE name > ? {limited} ORDER BY name LIMIT ?"
        return [StoredPlant(*row) for row in self.database.read(query, after, *names, limit)]

    def count_plants(self) -> int:
        """Return the number of plants that are not retired."""
        return int(self.database.read("SELECT count(*) FROM plants WHERE retired IS NULL")[0][0])

    # ---- calls -------------------------------------------------------------------------------------------------------

    def append(
        self, records: Sequence[Record], snapshots: Sequence[Snapshot] = (), events: Sequence[Event] = ()
    ) -> set[int]:
        """Write calls of different plants in one transaction, and return the plants whose calls were accepted.

        A call is refused, and the events of its plant are not written, if another server wrote a record with the same
        number. The snapshots are of states that are in the store already.
        """
        accepted: set[int] = set()
        with self.database.writing() as execute:
            if records:
                rows = sorted(records)  # one order for all servers, so that none waits for another
                found = insert(execute, "records", Record._fields, rows, "ON CONFLICT DO NOTHING", "plant")
                accepted = {plant for (plant,) in found}
            for one in records:
                if one.kind == "retire" and one.plant in accepted:
                    execute("UPDATE plants SET retired = ? WHERE id = ?", one.time, one.plant)
            _write_snapshots(execute, snapshots)
            told = [one for one in events if one.plant in accepted]
            if told:
                insert(execute, "events", Event._fields, told)
        return accepted

    def snapshots(self, plants: Sequence[int]) -> dict[int, Snapshot]:
        """Return the last snapshot of each of some plants that have one."""
        marks = ", ".join("?" * len(plants))
        found = self.database.read(f"SELECT plant, seq, data FROM snapshots WHERE plant IN ({marks})", *plants)
        return {row[0]: Snapshot(*row) for row in found}

    def records(self, plant: int, *, after: int = 0, limit: int = 2**62) -> list[Record]:
        """Return the records of a plant behind a number."""
        query = f"SELECT {_RECORD} FROM records WHERE plant = ? AND seq > ? ORDER BY seq LIMIT ?"
        return [Record(*row) for row in self.database.read(query, plant, after, limit)]

    def rounds(self, plant: int, first: int, last: int) -> list[Record]:
        """Return the records of some rounds of a plant, in the order of the calls."""
        query = f"SELECT {_RECORD} FROM records WHERE plant = ? AND round BETWEEN ? AND ? ORDER BY seq"
        return [Record(*row) for row in self.database.read(query, plant, first, last)]

    def history(self, plant: int, *, after: int, limit: int) -> History:
        """Return up to ``limit`` rounds of a plant behind a round."""
        rounds = played_rounds(self.rounds(plant, after + 1, after + limit))
        return History(rounds=rounds, next=rounds[-1].round if len(rounds) == limit else None)

    def events(self, plant: int, *, limit: int = 50) -> list[Event]:
        """Return the last events of a plant, the latest first."""
        query = f"SELECT {_EVENT} FROM events WHERE plant = ? ORDER BY id DESC LIMIT ?"
        return [Event(*row) for row in self.database.read(query, plant, limit)]

    # ---- tokens ------------------------------------------------------------------------------------------------------

    def add_token(self, token: Token, digest: str) -> None:
        """Keep the hash of a new token."""
        plants = None if token.plants is None else json.dumps(token.plants)
        row = (digest, token.name, token.scope, plants, token.created, token.revoked)
        with self.database.writing() as execute:
            added = insert(execute, "tokens", ("hash", *Token._fields), [row], "ON CONFLICT DO NOTHING", "id")
        if not added:
            raise ArgumentError(f"name must be new, got {token.name!r}: there is a token of this name")

    def tokens(self) -> list[tuple[str, Token]]:
        """Return the hash of each token and the token, the oldest first."""
        rows = self.database.read("SELECT hash, name, scope, plants, created, revoked FROM tokens ORDER BY id")
        return [
            (digest, Token(name, scope, None if plants is None else tuple(json.loads(plants)), created, bool(revoked)))
            for digest, name, scope, plants, created, revoked in rows
        ]

    def revoke_token(self, name: str) -> None:
        """Let a token be refused from now on."""
        with self.database.writing() as execute:
            changed = execute("UPDATE tokens SET revoked = TRUE WHERE name = ?", name).rowcount
        if not changed:
            raise UnknownNameError(f"there is no token {name!r}")


def _write_snapshots(execute: Execute, snapshots: Sequence[Snapshot]) -> None:
    if snapshots:
        newer = "DO UPDATE SET seq = excluded.seq, data = excluded.data WHERE snapshots.seq < excluded.seq"
        insert(execute, "snapshots", Snapshot._fields, snapshots, f"ON CONFLICT (plant) {newer}")


def played_rounds(records: Iterable[Record]) -> list[PlayedRound]:
    """Return the rounds of some records, in their order; readings of rounds that are not among them are left out."""
    found: dict[int, PlayedRound] = {}
    for record in records:
        if record.kind == "act":
            body = json.loads(record.body)
            found[record.round] = PlayedRound(round=record.round, time=iso_time(record.time), v=body["v"], x=body["x"])
        elif record.kind == "reading" and record.round in found:
            new = {name: value for name, value in json.loads(record.body).items() if value is not None}
            kept = {name: new[name] for name in ("y", "applied", "expected") if name in new}
            found[record.round] = found[record.round].model_copy(update=kept)
    return [found[number] for number in sorted(found)]
