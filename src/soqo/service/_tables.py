"""The tables of the store, their version, and the migrations from each earlier version.

Every call of a plant is a row of ``records``, numbered by ``seq`` from 1. The primary key makes this number the version
of the plant: of two servers that write the same number, one is refused, reads what the other wrote, and tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
    text,
)

from soqo.errors import FileFormatError

METADATA = MetaData()

SCHEMA = Table("soqo_schema", METADATA, Column("version", Integer, primary_key=True))

PLANTS = Table(
    "plants",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("settings", Text, nullable=False),  # JSON
    Column("created", BigInteger, nullable=False),  # microseconds since 1970 in UTC, as all times
    Column("retired", BigInteger),
)

RECORDS = Table(
    "records",
    METADATA,
    Column("plant", Integer, ForeignKey("plants.id"), primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(8), nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Column("time", BigInteger, nullable=False),
    Index("records_of_round", "plant", "round"),
    sqlite_with_rowid=False,
)

SNAPSHOTS = Table(
    "snapshots",
    METADATA,
    Column("plant", Integer, ForeignKey("plants.id"), primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("plant", Integer, ForeignKey("plants.id"), nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("message", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Index("events_of_plant", "plant", "id"),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("hash", String(64), nullable=False, unique=True),  # SHA-256, in hexadecimal digits
    Column("scope", String(8), nullable=False),
    Column("plants", Text),  # a JSON list of names; null for all plants
    Column("created", BigInteger, nullable=False),
    Column("revoked", Boolean, nullable=False),
)

VERSION = 1
"""The version of the tables above."""

MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {}
"""For each earlier version, what makes its tables those of the next one."""

_LOCK = 0x736F716F
"""The advisory lock of PostgreSQL under which one server at a time creates or migrates the tables."""


def prepare(
    connection: Connection,
    *,
    version: int = VERSION,
    migrations: Mapping[int, Callable[[Connection], None]] = MIGRATIONS,
) -> None:
    """Create the tables in an empty database, or migrate those of an earlier version, within a transaction.

    Parameters
    ----------
    connection : Connection
        A connection in a transaction that writes.
    version, migrations
        The version to reach, and the migrations.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    if not inspect(connection).has_table(SCHEMA.name):
        METADATA.create_all(connection)
        connection.execute(SCHEMA.insert().values(version=version))
        return
    found = connection.execute(select(SCHEMA.c.version)).scalar_one()
    if found > version:
        raise FileFormatError(
            f"the store has tables of version {found}, and this soqo knows them up to version {version}: update soqo"
        )
    for step in range(found, version):
        migrations[step](connection)
    if found < version:
        connection.execute(SCHEMA.update().values(version=version))
