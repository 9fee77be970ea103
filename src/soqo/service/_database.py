"""A database of SQLite or PostgreSQL: its connections, its transactions, and the tables of a store.

SQLite is used with a write-ahead log and ``synchronous=FULL``, so that a call that has returned survives a power
failure, as in PostgreSQL by default.
"""

from __future__ import annotations

import re
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from soqo._foundation.optional_imports import require_extra
from soqo.errors import ArgumentError, FileFormatError, UnavailableError

Execute: TypeAlias = Callable[..., Any]
"""A function of a statement and its parameters, which returns a cursor."""

_BUSY_SECONDS = 30
"""How long a connection to SQLite waits for another process to finish writing."""

_LOCK_MS = 2000
"""How long a connection to PostgreSQL waits for another one that has written the same record and does not finish."""

# Every call of a plant is a row of records, numbered by seq from 1. The primary key makes this number the version of
# the plant: of two servers that write the same number, one is refused, reads what the other wrote, and tries again.
# Times are microseconds since 1970 in UTC; settings, bodies and the plants of a token are JSON.
_TABLES = """
CREATE TABLE plants (
    id {id}, name VARCHAR(64) NOT NULL UNIQUE, settings TEXT NOT NULL, created BIGINT NOT NULL, retired BIGINT
);
CREATE TABLE records (
    plant INTEGER NOT NULL REFERENCES plants (id), seq BIGINT NOT NULL, kind VARCHAR(8) NOT NULL,
    round BIGINT NOT NULL, body TEXT NOT NULL, time BIGINT NOT NULL, PRIMARY KEY (plant, seq)
) {without_rowid};
CREATE INDEX records_of_round ON records (plant, round);
CREATE TABLE snapshots (
    plant INTEGER PRIMARY KEY REFERENCES plants (id), seq BIGINT NOT NULL, data {bytes} NOT NULL
);
CREATE TABLE events (
    id {long_id}, plant INTEGER NOT NULL REFERENCES plants (id), round BIGINT NOT NULL, kind VARCHAR(16) NOT NULL,
    message TEXT NOT NULL, time BIGINT NOT NULL
);
CREATE INDEX events_of_plant ON events (plant, id);
CREATE TABLE tokens (
    id {id}, name VARCHAR(64) NOT NULL UNIQUE, hash VARCHAR(64) NOT NULL UNIQUE, scope VARCHAR(8) NOT NULL,
    plants TEXT, created BIGINT NOT NULL, revoked BOOLEAN NOT NULL
)
"""
_SQLITE = {"id": "INTEGER PRIMARY KEY", "long_id": "INTEGER PRIMARY KEY", "bytes": "BLOB"}
_POSTGRESQL = {"id": "SERIAL PRIMARY KEY", "long_id": "BIGSERIAL PRIMARY KEY", "bytes": "BYTEA", "without_rowid": ""}

VERSION = 1
"""The version of the tables above."""

MIGRATIONS: Mapping[int, Callable[[Execute], None]] = {}
"""For each earlier version, what makes its tables those of the next one."""

_LOCK = 0x736F716F
"""The advisory lock of PostgreSQL under which one server at a time creates or migrates the tables."""


class Database:
    """A database.

    Parameters
    ----------
    url : str
        ``postgresql://user@host/database``, or the file of an SQLite database, which is created if it is not there.
    """

    def __init__(self, url: str) -> None:
        self.path = _path(url)
        self.is_server = self.path is None
        self.shown = re.sub(r"://([^:@/]*):[^@]*@", r"://\1:***@", url) if self.path is None else self.path
        self._url = re.sub(r"^postgresql\+\w+:", "postgresql:", url)
        self._driver: Any = require_extra("psycopg", "service") if self.is_server else sqlite3
        self._idle: deque[Any] = deque()

    def _connect(self) -> Any:
        if self.is_server:
            server = self._driver.connect(self._url, autocommit=True)
            server.execute(f"SET lock_timeout = {_LOCK_MS}")
            return server
        connection = sqlite3.connect(
            str(self.path), timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    def _take(self) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    @contextmanager
    def reading(self) -> Iterator[Execute]:
        """Return what executes a statement on a connection; after an error, all connections are made anew."""
        try:
            connection = self._take()
        except self._driver.Error as error:
            raise _unavailable() from error

        def execute(statement: str, *parameters: Any) -> Any:
            return connection.execute(statement.replace("?", "%s") if self.is_server else statement, parameters)

        try:
            yield execute
        except BaseException as error:
            connection.close()
            if isinstance(error, self._driver.Error):
                self.close()
                raise _unavailable() from error
            raise
        self._idle.append(connection)

    @contextmanager
    def writing(self) -> Iterator[Execute]:
        """Return what executes a statement in a transaction that writes."""
        with self.reading() as execute:
            # Without "immediate", SQLite refuses a transaction that read before another process wrote.
            execute("BEGIN" if self.is_server else "BEGIN IMMEDIATE")
            yield execute
            execute("COMMIT")

    def read(self, statement: str, *parameters: Any) -> list[Any]:
        """Return the rows of a query."""
        with self.reading() as execute:
            return list(execute(statement, *parameters).fetchall())

    def close(self) -> None:
        """Close the connections that nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def prepare(
        self, *, version: int = VERSION, migrations: Mapping[int, Callable[[Execute], None]] = MIGRATIONS
    ) -> None:
        """Create the tables in an empty database, or migrate those of an earlier version.

        Parameters
        ----------
        version, migrations
            The version to reach, and the migrations.

        Raises
        ------
        UnavailableError
            If the database does not answer.
        FileFormatError
            If it is no database, or has tables of a later version.
        """
        try:
            with self.writing() as execute:
                self._prepare(execute, version, migrations)
        except UnavailableError as error:
            reason = str(error.__cause__).strip().partition("\n")[0]
            if isinstance(error.__cause__, self._driver.OperationalError):
                raise UnavailableError(f"the store {self.shown} cannot be opened: {reason}") from None
            raise FileFormatError(f"the store {self.shown} cannot be used: {reason}") from None

    def _prepare(self, execute: Execute, version: int, migrations: Mapping[int, Callable[[Execute], None]]) -> None:
        if self.is_server:
            execute("SELECT pg_advisory_xact_lock(?)", _LOCK)
        execute("CREATE TABLE IF NOT EXISTS soqo_schema (version INTEGER PRIMARY KEY)")
        row = execute("SELECT version FROM soqo_schema").fetchone()
        if row is None:
            kinds = _POSTGRESQL if self.is_server else {**_SQLITE, "without_rowid": "WITHOUT ROWID"}
            for statement in _TABLES.format(**kinds).split(";"):
                execute(statement)
            execute("INSERT INTO soqo_schema VALUES (?)", version)
            return
        found = row[0]
        if found > version:
            raise FileFormatError(
                f"the store has tables of version {found}, and this soqo knows them up to version {version}: "
                "update soqo"
            )
        for step in range(found, version):
            migrations[step](execute)
        execute("UPDATE soqo_schema SET version = ?", version)


def _unavailable() -> UnavailableError:
    return UnavailableError("the store does not answer; the same call can be repeated")


def insert(
    execute: Execute,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    conflict: str = "",
    returning: str = "",
) -> list[Any]:
    """Write rows in one statement; return some columns of those that were written.

    Parameters
    ----------
    execute : callable
        What executes a statement.
    table, columns : str and sequence of str
        The table, and the columns whose values the rows hold.
    rows : sequence of sequences
        At least one row.
    conflict : str
        What to do with rows that are there already.
    returning : str
        The columns to return.
    """
    marks = f"({', '.join('?' * len(columns))})"
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([marks] * len(rows))} {conflict}"
    if not returning:
        execute(statement, *chain.from_iterable(rows))
        return []
    return list(execute(f"{statement} RETURNING {returning}", *chain.from_iterable(rows)).fetchall())


def _path(url: str) -> str | None:
    """Return the file of a database; None if it is a server."""
    scheme = url.partition("://")[0] if "://" in url else ""
    kind = scheme.partition("+")[0]
    if kind == "postgresql":
        return None
    if "://" in url and not re.fullmatch(r"\w[\w+.-]*", scheme):
        raise ArgumentError("store must be a file or the URL of a database, got a text that is no URL")
    if kind not in ("", "sqlite"):
        raise ArgumentError(f"store must be a file, sqlite:// or postgresql://, got {scheme}://")
    path = unquote(urlsplit(url).path)[1:] if scheme else url
    if path in ("", ":memory:"):
        raise ArgumentError("store must be a file, got an SQLite database in memory")
    if not Path(path).absolute().parent.is_dir():
        raise ArgumentError(f"store must be in a folder that exists, got {url!r}")
    return path
