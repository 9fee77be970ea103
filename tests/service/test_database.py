"""The tables of a store: created once, migrated step by step, and never opened by a version that does not know them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import soqo
from service_fixtures import LiveServer
from soqo.errors import FileFormatError, UnavailableError
from soqo.service import _database
from soqo.service._async_client import Request
from soqo.service._database import VERSION, Database, Execute, insert

COLUMNS = ("name", "settings", "created")

VERSION_1 = Path(__file__).with_name("store_version_1.sql")


def test_the_tables_are_created_once(tmp_path: Path) -> None:
    for _ in range(2):
        database = Database(str(tmp_path / "tables.sqlite"))
        database.prepare()
    assert database.read("SELECT version FROM soqo_schema") == [(VERSION,)]
    tables = {name for (name,) in database.read("SELECT name FROM sqlite_master")}
    assert {"plants", "records", "snapshots", "events", "tokens"} <= tables


def test_migrations_run_in_their_order_and_keep_the_data(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "tables.sqlite"))
    database.prepare()
    with database.writing() as execute:
        insert(execute, "plants", COLUMNS, [("roof", "{}", 7)])
    steps: dict[int, Callable[[Execute], None]] = {
        VERSION: lambda execute: execute("ALTER TABLE plants ADD COLUMN place TEXT"),
        VERSION + 1: lambda execute: execute("UPDATE plants SET place = 'hill'"),
    }
    for _ in range(2):  # the second time there is nothing to do
        database.prepare(version=VERSION + 2, migrations=steps)
    assert database.read("SELECT name, created, place FROM plants") == [("roof", 7, "hill")]
    with pytest.raises(FileFormatError, match="update soqo"):
        database.prepare()


def test_a_transaction_that_fails_changes_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "tables.sqlite"))
    database.prepare()
    row = ("roof", "{}", 7)
    with pytest.raises(UnavailableError), database.writing() as execute:
        insert(execute, "plants", COLUMNS, [row, row])  # the name is taken
    assert database.read("SELECT count(*) FROM plants") == [(0,)]


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


def test_a_peer_that_does_not_finish_is_not_waited_for_long(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_database, "_LOCK_MS", 100)
    peer, mine = Database(postgres), Database(postgres)
    peer.prepare()
    row = ("held-by-a-peer", "{}", 7)
    with peer.writing() as execute:
        insert(execute, "plants", COLUMNS, [row])
        with pytest.raises(UnavailableError, match="can be repeated"), mine.writing() as other:
            insert(other, "plants", COLUMNS, [row], "ON CONFLICT DO NOTHING")
    assert mine.read("SELECT created FROM plants WHERE name = ?", "held-by-a-peer") == [(7,)]
    for one in (peer, mine):
        one.close()
