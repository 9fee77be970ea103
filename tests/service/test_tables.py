"""The tables of a store: created once, migrated step by step, and never opened by a version that does not know them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, inspect, text

import soqo
from service_fixtures import LiveServer
from soqo.errors import FileFormatError
from soqo.service import _tables
from soqo.service._async_client import Request

VERSION_1 = Path(__file__).with_name("store_version_1.sql")


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    return create_engine(f"sqlite:///{tmp_path}/tables.sqlite").connect()


def test_the_tables_are_created_once(connection: Connection) -> None:
    for _ in range(2):
        _tables.prepare(connection)
    assert connection.execute(text("SELECT version FROM soqo_schema")).scalars().all() == [_tables.VERSION]
    assert {"plants", "records", "snapshots", "events", "tokens"} <= set(inspect(connection).get_table_names())


def test_migrations_run_in_their_order_and_keep_the_data(connection: Connection) -> None:
    _tables.prepare(connection)
    connection.execute(text("INSERT INTO plants (name, settings, created) VALUES ('roof', '{}', 7)"))
    steps = {
        _tables.VERSION: lambda one: one.execute(text("ALTER TABLE plants ADD COLUMN place TEXT")),
        _tables.VERSION + 1: lambda one: one.execute(text("UPDATE plants SET place = 'hill'")),
    }
    for _ in range(2):  # the second time there is nothing to do
        _tables.prepare(connection, version=_tables.VERSION + 2, migrations=steps)
    assert connection.execute(text("SELECT name, created, place FROM plants")).all() == [("roof", 7, "hill")]
    with pytest.raises(FileFormatError, match="update soqo"):
        _tables.prepare(connection)


def test_a_store_of_version_1_is_opened_and_continued(tmp_path: Path) -> None:
    """The file was written with ``sqlite3 store .dump`` by the first version that had a service."""
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as old:
        old.executescript(VERSION_1.read_text(encoding="utf-8"))
    old.close()
    with LiveServer(path) as server, soqo.Client(server.url) as client:
        plant = client.plant("roof")
        # FTM with rate = 2 goes on from (0, 4), its position in the file.
        assert [plant.act(v).tolist() for v in ([3.0, 4.0], [5.0, 6.0])] == [[2.0, 4.0], [4.0, 6.0]]
        events = client.send(Request("GET", "/plants/roof/events"))["events"]
    assert events[-1]["message"] == "a note"
