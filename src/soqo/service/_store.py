"""The store of a server: a database with every call of every plant, snapshots, events and tokens.

SQLite is used with a write-ahead log and ``synchronous=FULL``, so that a call that has returned survives a power
failure, as in PostgreSQL by default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, create_engine, event, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError as UrlError
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from soqo._control.timestamps import now
from soqo.errors import ArgumentError, FileFormatError, UnavailableError, UnknownNameError
from soqo.service._tables import EVENTS, PLANTS, RECORDS, SNAPSHOTS, TOKENS, prepare

_BUSY_SECONDS = 30
"""How long a connection to SQLite waits for another process to finish writing."""


class Record(NamedTuple):
    """A call of a plant: its number, its kind ("act", "reading" or "retire"), and its contents as a JSON text."""

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
    id: int = 0


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


class Store:
    """A database of plants.

    Parameters
    ----------
    url : str or path
        ``postgresql://user@host/database``, or the file of an SQLite database, which is created if it is not there.

    Raises
    ------
    UnavailableError
        If the database does not answer.
    FileFormatError
        If it is no database, or has tables of a later version.
    """

    def __init__(self, url: str) -> None:
        self.engine = _connect(url)
        try:
            with self._writing() as connection:
                prepare(connection)
        except OperationalError as error:
            raise UnavailableError(f"the store {self._shown} cannot be opened: {_first_line(error)}") from None
        except DatabaseError as error:
            raise FileFormatError(f"the store {self._shown} cannot be used: {_first_line(error)}") from None

    @property
    def _shown(self) -> str:
        """The address of the database, without a password."""
        url = self.engine.url
        return url.render_as_string(hide_password=True) if self.is_server else str(url.database)

    @property
    def is_server(self) -> bool:
        """Whether the database is a server, which several hosts can use."""
        return self.engine.dialect.name != "sqlite"

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def ping(self) -> None:
        """Raise an error unless the database answers."""
        with self.engine.connect() as connection:
            connection.execute(select(1))

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Return a connection in a transaction that writes."""
        with self.engine.connect() as connection:
            if not self.is_server:
                # Without it, SQLite refuses a transaction that read before another process wrote.
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            with connection.begin() if self.is_server else _ending(connection):
                yield connection

    # ---- plants ------------------------------------------------------------------------------------------------------

    def add_plant(self, name: str, settings: str) -> StoredPlant | None:
        """Create a plant; None if there is one of this name."""
        created = now()
        row = {"name": name, "settings": settings, "created": created}
        try:
            with self._writing() as connection:
                identifier = connection.execute(PLANTS.insert().values(**row).returning(PLANTS.c.id)).scalar_one()
        except IntegrityError:
            return None
        return StoredPlant(identifier, name, settings, created, None)

    def find_plant(self, name: str) -> StoredPlant | None:
        """Return a plant by its name."""
        with self.engine.connect() as connection:
            row = connection.execute(select(*PLANTS.c).where(PLANTS.c.name == name)).first()
        return None if row is None else StoredPlant(*row)

    def plants(
        self, *, after: str = "", limit: int | None = None, among: Sequence[str] | None = None
    ) -> list[StoredPlant]:
        """Return plants, or those among some names, in the order of their names."""
        query = select(*PLANTS.c).where(PLANTS.c.name > after).order_by(PLANTS.c.name).limit(limit)
        if among is not None:
            query = query.where(PLANTS.c.name.in_(among))
        with self.engine.connect() as connection:
            return [StoredPlant(*row) for row in connection.execute(query)]

    def count_plants(self) -> int:
        """Return the number of plants that are not retired."""
        with self.engine.connect() as connection:
            return connection.execute(select(func.count()).where(PLANTS.c.retired.is_(None))).scalar_one()

    # ---- calls -------------------------------------------------------------------------------------------------------

    def append(
        self, records: Sequence[Record], snapshots: Sequence[Snapshot] = (), events: Sequence[Event] = ()
    ) -> set[int]:
        """Write calls of different plants in one transaction, and return the plants whose calls were accepted.

        A call is refused, and the events of its plant are not written, if another server wrote a record with the same
        number. The snapshots are of states that are in the store already.
        """
        accepted: set[int] = set()
        with self._writing() as connection:
            if records:
                rows = [record._asdict() for record in sorted(records)]  # one order for all servers, so that none waits
                insert = self._insert(RECORDS).on_conflict_do_nothing().returning(RECORDS.c.plant)
                accepted = set(connection.execute(insert, rows).scalars())
            retired = [one for one in records if one.kind == "retire" and one.plant in accepted]
            for one in retired:
                connection.execute(PLANTS.update().where(PLANTS.c.id == one.plant).values(retired=one.time))
            self._write_snapshots(connection, snapshots)
            self._write_events(connection, [one for one in events if one.plant in accepted])
        return accepted

    def _write_snapshots(self, connection: Connection, snapshots: Sequence[Snapshot]) -> None:
        if snapshots:
            upsert = self._insert(SNAPSHOTS)
            new = {"seq": upsert.excluded.seq, "data": upsert.excluded.data}
            newer = SNAPSHOTS.c.seq < upsert.excluded.seq
            statement = upsert.on_conflict_do_update(index_elements=["plant"], set_=new, where=newer)
            connection.execute(statement, [one._asdict() for one in snapshots])

    def snapshots(self, plants: Sequence[int]) -> dict[int, Snapshot]:
        """Return the last snapshot of each of some plants that have one."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(*SNAPSHOTS.c).where(SNAPSHOTS.c.plant.in_(plants)))
            return {row.plant: Snapshot(*row) for row in rows}

    def records(self, plant: int, *, after: int = 0, limit: int | None = None) -> list[Record]:
        """Return the records of a plant behind a number."""
        query = select(*RECORDS.c).where(RECORDS.c.plant == plant, RECORDS.c.seq > after)
        with self.engine.connect() as connection:
            return [Record(*row) for row in connection.execute(query.order_by(RECORDS.c.seq).limit(limit))]

    def last_seq(self, plant: int) -> int:
        """Return the number of the last record of a plant; 0 if there is none."""
        query = select(func.max(RECORDS.c.seq)).where(RECORDS.c.plant == plant)
        with self.engine.connect() as connection:
            return connection.execute(query).scalar_one() or 0

    def rounds(self, plant: int, first: int, last: int) -> list[Record]:
        """Return the records of some rounds of a plant, in the order of the calls."""
        query = select(*RECORDS.c).where(RECORDS.c.plant == plant, RECORDS.c.round.between(first, last))
        with self.engine.connect() as connection:
            return [Record(*row) for row in connection.execute(query.order_by(RECORDS.c.seq))]

    # ---- events ------------------------------------------------------------------------------------------------------

    def add_event(self, one: Event) -> None:
        """Write an event."""
        with self._writing() as connection:
            self._write_events(connection, [one])

    def events(self, plant: int, *, after: int = 0, limit: int = 50) -> list[Event]:
        """Return the last events of a plant, the latest first."""
        query = select(*(EVENTS.c[name] for name in Event._fields)).where(EVENTS.c.plant == plant, EVENTS.c.id > after)
        with self.engine.connect() as connection:
            return [Event(*row) for row in connection.execute(query.order_by(EVENTS.c.id.desc()).limit(limit))]

    @staticmethod
    def _write_events(connection: Connection, events: Sequence[Event]) -> None:
        if events:
            rows = [{key: value for key, value in one._asdict().items() if key != "id"} for one in events]
            connection.execute(EVENTS.insert(), rows)

    # ---- tokens ------------------------------------------------------------------------------------------------------

    def add_token(self, token: Token, digest: str) -> None:
        """Keep the hash of a new token."""
        row = {**token._asdict(), "hash": digest, "plants": None if token.plants is None else json.dumps(token.plants)}
        try:
            with self._writing() as connection:
                connection.execute(TOKENS.insert().values(**row))
        except IntegrityError:
            raise ArgumentError(f"name must be new, got {token.name!r}: there is a token of this name") from None

    def tokens(self) -> list[tuple[str, Token]]:
        """Return the hash of each token and the token, the oldest first."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(*TOKENS.c).order_by(TOKENS.c.id)).all()
        return [(row.hash, Token(row.name, row.scope, _names(row.plants), row.created, row.revoked)) for row in rows]

    def revoke_token(self, name: str) -> None:
        """Let a token be refused from now on."""
        with self._writing() as connection:
            changed = connection.execute(TOKENS.update().where(TOKENS.c.name == name).values(revoked=True)).rowcount
        if not changed:
            raise UnknownNameError(f"there is no token {name!r}")

    def _insert(self, table: Any) -> Any:
        """Return an insert that can deal with a conflict, in the dialect of the database."""
        return postgresql.insert(table) if self.is_server else sqlite.insert(table)


def _first_line(error: DatabaseError) -> str:
    """Return what the driver of the database says."""
    return str(error.orig).strip().partition("\n")[0]


def _names(stored: str | None) -> tuple[str, ...] | None:
    return None if stored is None else tuple(json.loads(stored))


@contextmanager
def _ending(connection: Connection) -> Iterator[None]:
    """Commit or roll back a transaction of SQLite that was begun by hand."""
    try:
        yield
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")


def _connect(url: str) -> Engine:
    """Return an engine for a database, with the settings under which nothing that was committed is lost."""
    address = _parse(url)
    if address.get_backend_name() == "postgresql":
        return create_engine(address.set(drivername="postgresql+psycopg"), pool_pre_ping=True, pool_size=8)
    engine = create_engine(address, connect_args={"timeout": _BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy begins and ends nothing: `_writing` does
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    return engine


def _parse(url: str) -> URL:
    """Return the address of a database."""
    if "://" not in url:
        path = Path(url)
        if not path.absolute().parent.is_dir():
            raise ArgumentError(f"store must be in a folder that exists, got {url!r}")
        return URL.create("sqlite", database=str(path))
    try:
        address = make_url(url)
    except UrlError:
        raise ArgumentError("store must be a file or the URL of a database, got a text that is no URL") from None
    if address.get_backend_name() not in ("sqlite", "postgresql"):
        raise ArgumentError(f"store must be a file, sqlite:// or postgresql://, got {address.drivername}://")
    if address.get_backend_name() == "sqlite" and address.database in (None, "", ":memory:"):
        raise ArgumentError("store must be a file, got an SQLite database in memory")
    return address
