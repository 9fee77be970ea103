"""Records one by one: complete ones are read, and everything else is not."""

from __future__ import annotations

import struct
import zlib

from soqo._storage.journal_records import INITIAL_CHECKSUM, MAGIC, body_end, is_snapshot, record_at, records_from


def record(kind: bytes, payload: bytes, previous: int) -> bytes:
    """Return the bytes of a record, by the layout in the documentation."""
    body = kind + struct.pack("<I", len(payload)) + payload
    return body + struct.pack("<I", zlib.crc32(body, previous))


def test_a_record_is_read_where_it_starts_and_only_if_it_is_complete() -> None:
    data = MAGIC + record(b"A", b"payload", INITIAL_CHECKSUM)
    found = record_at(data, len(MAGIC), INITIAL_CHECKSUM)
    assert found is not None
    assert (found.kind, found.payload, found.start, found.end) == (b"A", b"payload", 16, len(data))
    assert record_at(data, len(MAGIC), INITIAL_CHECKSUM + 1) is None
    for cut in range(len(MAGIC), len(data)):
        assert record_at(data[:cut], len(MAGIC), INITIAL_CHECKSUM) is None
        assert body_end(data[:cut], len(MAGIC)) == 0


def test_records_follow_each_other_until_one_is_not_complete() -> None:
    data, checksum = MAGIC, INITIAL_CHECKSUM
    for k in range(4):
        data += record(b"O", bytes(k), checksum)
        checksum = struct.unpack("<I", data[-4:])[0]
    assert [len(one.payload) for one in records_from(data, len(MAGIC), INITIAL_CHECKSUM)] == [0, 1, 2, 3]
    assert len(list(records_from(data[:-1], len(MAGIC), INITIAL_CHECKSUM))) == 3


def test_a_snapshot_has_a_mark() -> None:
    for kind, payload, expected in ((b"S", b"soqo snapshot 1\nrest", True), (b"S", b"rest", False), (b"A", b"", False)):
        found = record_at(record(kind, payload, 7), 0, 7)
        assert found is not None
        assert is_snapshot(found) is expected
