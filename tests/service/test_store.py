"""The store, in SQLite and in PostgreSQL: what is accepted, in which order it is read, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soqo.errors import ArgumentError, FileFormatError, UnavailableError, UnknownNameError
from soqo.service._store import Event, Record, Snapshot, Store, Token


@pytest.fixture(params=["sqlite", "postgresql"])
def any_store(request: Any, tmp_path: Path) -> Iterator[Store]:
    url = str(tmp_path / "store.sqlite") if request.param == "sqlite" else request.getfixturevalue("postgres")
    opened = Store(url)
    yield opened
    opened.close()


def new_plant(store: Store, name: str) -> int:
    stored = store.add_plant(name, "{}")
    assert stored is not None
    return stored.id


def record(plant: int, seq: int, number: int = 1, kind: str = "act") -> Record:
    return Record(plant, seq, kind, number, f'{{"seq":{seq}}}', 1000 + seq)


def test_of_two_records_with_one_number_the_first_is_kept(any_store: Store) -> None:
    one, other = new_plant(any_store, "first-a"), new_plant(any_store, "first-b")
    assert any_store.append([record(one, 1), record(other, 1)]) == {one, other}
    again = any_store.append(
        [record(one, 1, 9), record(other, 2)],
        events=[Event(one, 1, "alarm", "lost", 1), Event(other, 2, "alarm", "kept", 1)],
    )
    assert again == {other}
    assert any_store.records(one) == [record(one, 1)]
    assert any_store.records(other, after=1) == [record(other, 2)]
    assert any_store.events(one) == []
    assert [event.message for event in any_store.events(other)] == ["kept"]


def test_a_snapshot_replaces_only_an_older_one(any_store: Store) -> None:
    plant = new_plant(any_store, "snapshots")
    any_store.append([record(plant, 1)], snapshots=[Snapshot(plant, 5, b"five")])
    any_store.append([], [Snapshot(plant, 3, b"three")])
    assert any_store.snapshots([plant]) == {plant: Snapshot(plant, 5, b"five")}
    any_store.append([], [Snapshot(plant, 8, b"eight")])
    assert any_store.snapshots([plant])[plant].data == b"eight"
    assert any_store.append([]) == set()


def test_rounds_are_found_with_all_their_records(any_store: Store) -> None:
    plant = new_plant(any_store, "rounds")
    for seq, number, kind in ((1, 1, "act"), (2, 2, "act"), (3, 1, "reading"), (4, 3, "act"), (5, 2, "reading")):
        any_store.append([record(plant, seq, number, kind)])
    assert [one.seq for one in any_store.rounds(plant, 1, 2)] == [1, 2, 3, 5]


def test_plants_have_different_names_and_can_be_retired(any_store: Store) -> None:
    before = any_store.count_plants()
    plant = new_plant(any_store, "twice")
    assert any_store.add_plant("twice", "{}") is None
    assert any_store.find_plant("nobody") is None
    assert any_store.count_plants() == before + 1
    any_store.append([record(plant, 1, kind="retire")])
    assert any_store.count_plants() == before
    found = any_store.find_plant("twice")
    assert found is not None
    assert found.retired == 1001
    assert "twice" in [one.name for one in any_store.plants(after="twicd", limit=5)]


def test_tokens_are_listed_and_revoked(any_store: Store) -> None:
    any_store.add_token(Token("reader", "read", ("a", "b"), 5, False), "hash-reader")
    with pytest.raises(ArgumentError, match="there is a token of this name"):
        any_store.add_token(Token("reader", "read", None, 5, False), "another")
    any_store.revoke_token("reader")
    with pytest.raises(UnknownNameError, match="no token 'writer'"):
        any_store.revoke_token("writer")
    assert ("hash-reader", Token("reader", "read", ("a", "b"), 5, True)) in any_store.tokens()


def test_sqlite_survives_a_power_failure_by_its_settings(store: Store) -> None:
    pragmas = [store.database.read(f"PRAGMA {one}") for one in ("journal_mode", "synchronous")]
    assert pragmas == [[("wal",)], [(2,)]]  # 2 is FULL
    store.ping()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://host/base", "store must be a file, sqlite:// or postgresql://, got mysql"),
        ("sqlite://", "got an SQLite database in memory"),
        ("/no/such/folder/x.sqlite", "in a folder that exists"),
        ("://", "no URL"),
    ],
)
def test_other_addresses_are_refused(url: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Store(url)


def test_a_database_that_cannot_be_opened_is_named_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"postgresql://me:\*\*\*@127.0.0.1:9/base cannot be opened") as caught:
        Store("postgresql://me:secret@127.0.0.1:9/base")
    assert "secret" not in str(caught.value)
    (tmp_path / "text.sqlite").write_text("this is not a database" * 100)
    with pytest.raises(FileFormatError, match="not a database"):
        Store(str(tmp_path / "text.sqlite"))
