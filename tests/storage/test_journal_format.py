"""The layout of a journal, byte by byte; lost, repeated, moved and damaged records are detected."""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

import pytest

from soqo._storage.journal import Journal
from soqo._storage.journal_format import continued, is_journal, latest_path, read, read_all, read_latest
from soqo._storage.journal_records import MAGIC, MARK, SNAPSHOT, Record
from soqo.errors import FileFormatError

RECORDS = 12


def write(path: Path, word: bytes) -> bytes:
    """Write a journal with a snapshot at the beginning and after every fourth record, and return its bytes."""
    journal = Journal.create(path, "process", word + b" state 0")
    for number in range(1, RECORDS + 1):
        journal.append(b"AO"[number % 2 :][:1], word + bytes([number]) * (8 * (number % 5)))
        if number % 4 == 0 and number < RECORDS:
            journal.append_snapshot(word + b" state %d" % number)
    journal.close()
    return path.read_bytes()


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    """The bytes of a journal with three snapshots, the last of them before the last four records."""
    return write(tmp_path / "journal", b"one")


def parse(data: bytes) -> list[Record]:
    """Return every record of an undamaged journal, snapshots included, by the layout in the documentation."""
    assert data[:16] == b"soqo-journal 1\n\0"
    at, checksum, records = 16, zlib.crc32(data[:16]), []
    while at < len(data):
        kind, length = struct.unpack_from("<cI", data, at)
        stop = at + 5 + length
        checksum = zlib.crc32(data[at:stop], checksum)
        assert struct.unpack_from("<I", data, stop) == (checksum,)
        records.append(Record(kind, data[at + 5 : stop], at, stop + 4, checksum))
        at = stop + 4
    return records


def test_the_layout_is_the_documented_one(data: bytes) -> None:
    records = parse(data)
    assert b"".join(record.kind for record in records) == b"SOAOASOAOASOAOA"
    for number, record in zip((0, 4, 8), (r for r in records if r.kind == SNAPSHOT), strict=True):
        digest = hashlib.blake2b(data[: record.start], digest_size=16).digest()
        assert record.payload == b"soqo snapshot 1\n" + digest + b"one state %d" % number


def test_read_all_returns_the_first_state_and_every_record_but_snapshots(data: bytes) -> None:
    state, records = read_all(data, "journal")
    assert state == b"one state 0"
    assert list(records) == [record for record in parse(data) if record.kind != SNAPSHOT]


def test_read_starts_at_the_last_snapshot(data: bytes) -> None:
    contents = read(data, "journal")
    last = [record for record in parse(data) if record.kind == SNAPSHOT][-1]
    assert contents.state == b"one state 8"
    assert contents.snapshot == last.end - last.start
    assert contents.records == [record for record in parse(data) if record.start >= last.end]
    assert (contents.end, contents.checksum, contents.cut) == (len(data), parse(data)[-1].checksum, 0)


def test_an_incomplete_end_is_reported_as_cut(data: bytes) -> None:
    ends = [record.end for record in parse(data)]
    for length in range(ends[0], len(data)):
        contents = read(data[:length], "journal")
        assert contents.end == max(end for end in ends if end <= length)
        assert contents.cut == length - contents.end
        state, records = read_all(data[:length], "journal")
        assert state == b"one state 0"
        assert max([ends[0], *(record.end for record in records)]) <= contents.end
    for length in range(ends[0]):
        with pytest.raises(FileFormatError, match="journal is"):
            read(data[:length], "journal")


def test_every_changed_byte_before_the_last_record_is_refused(data: bytes) -> None:
    last = parse(data)[-1]
    for place in range(len(data)):
        bad = bytearray(data)
        bad[place] ^= 1 + place % 255
        if place < last.start:
            with pytest.raises(FileFormatError, match="journal is"):
                read(bytes(bad), "journal")
        else:
            assert read(bytes(bad), "journal").end == last.start


def test_removed_repeated_or_swapped_records_are_refused(data: bytes) -> None:
    pieces = [data[record.start : record.end] for record in parse(data)]

    def refuse(changed: list[bytes]) -> None:
        with pytest.raises(FileFormatError, match="journal"):
            read(MAGIC + b"".join(changed), "journal")

    assert read(MAGIC + b"".join(pieces), "journal").cut == 0
    # Two records must follow the change: the checksum of the second one proves that it was not caused by a crash.
    for k in range(len(pieces) - 2):
        refuse(pieces[:k] + pieces[k + 1 :])
        refuse([*pieces[:k], pieces[k], *pieces[k:]])
        if k < len(pieces) - 3:
            refuse([*pieces[:k], pieces[k + 1], pieces[k], *pieces[k + 2 :]])


def test_a_record_of_another_journal_is_refused(data: bytes, tmp_path: Path) -> None:
    other = write(tmp_path / "other", b"two")
    foreign = parse(other)[-1]
    for record in parse(data)[1:-2]:
        with pytest.raises(FileFormatError, match="journal"):
            read(data[: record.start] + other[foreign.start : foreign.end] + data[record.start :], "journal")


def test_the_error_for_damage_states_how_many_bytes_can_be_resumed(data: bytes) -> None:
    records = parse(data)
    bad = bytearray(data)
    bad[records[7].start + 7] ^= 1
    reason = rf"journal is damaged at byte {records[7].start}: .* the first {records[7].start} bytes are a journal"
    with pytest.raises(FileFormatError, match=reason):
        read(bytes(bad), "journal")
    _, others = read_all(bytes(bad), "journal")
    with pytest.raises(FileFormatError, match=reason):
        list(others)
    assert read(bytes(bad[: records[7].start]), "journal").cut == 0


def test_the_mark_of_a_snapshot_in_a_payload_is_not_taken_for_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal.create(path, "process", b"state")
    journal.append(b"A", MARK + bytes(40))
    journal.close()
    contents = read(path.read_bytes(), "journal")
    assert contents.state == b"state"
    assert [record.payload for record in contents.records] == [MARK + bytes(40)]


def test_a_journal_of_any_layout_is_recognized(tmp_path: Path) -> None:
    for contents, expected in ((MAGIC, True), (b"soqo-journal 9\n", True), (b"soqo-controller 1\n", False)):
        (tmp_path / "file").write_bytes(contents)
        assert is_journal(tmp_path / "file") == expected
    assert not is_journal(tmp_path / "missing")


def test_the_state_beside_a_journal_says_after_which_record_it_was_taken(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    latest_path(path).unlink(missing_ok=True)
    assert read_latest(path) is None
    journal, _ = Journal.resume(path, "process")
    journal.close(b"last state")
    assert path.read_bytes() == data
    found = read_latest(path)
    assert found is not None
    assert (found.state, found.end, found.checksum) == (b"last state", len(data), parse(data)[-1].checksum)
    contents = read(data, "journal")
    assert [record.end for record in contents.records].index(found.end) == len(contents.records) - 1
    later = continued(contents, found)
    assert (later.state, later.records) == (b"last state", [])
    for end, checksum in ((found.end, found.checksum ^ 1), (found.end + 1, found.checksum)):
        assert continued(contents, found._replace(end=end, checksum=checksum)) is contents
    latest_path(path).write_bytes(b"something else")
    assert read_latest(path) is None


def test_a_closing_record_of_an_earlier_version_is_ignored(data: bytes) -> None:
    last = parse(data)[-1]
    body = b"C" + struct.pack("<I", 26) + b"last state" + struct.pack("<qQ", 99, len(data))
    closed = data + body + struct.pack("<I", zlib.crc32(body, last.checksum))
    assert read(closed, "journal").records == read(data, "journal").records
    assert read(closed, "journal").cut == 0
    assert list(read_all(closed, "journal")[1]) == list(read_all(data, "journal")[1])
