"""Damage is told from the end that a crash leaves, in time that is proportional to the file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fuzz_journals import large_journal, lookalikes
from soqo._storage.journal import Journal
from soqo._storage.journal_damage import BudgetExceededError, complete_record_after, last_snapshot
from soqo._storage.journal_format import read
from soqo._storage.journal_records import ACT, INITIAL_CHECKSUM, MAGIC, records_from
from soqo.errors import FileFormatError


def test_a_complete_record_after_a_gap_is_found_wherever_the_damage_is(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "journal", "process", b"state")
    for k in range(6):
        journal.append(ACT, bytes([k]) * 16)
    journal.close()
    data = (tmp_path / "journal").read_bytes()
    first, second, third, *_ = records_from(data, len(MAGIC), INITIAL_CHECKSUM)
    for at in range(second.start, second.end):
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert complete_record_after(damaged, first.end, first.checksum) >= third.start
    assert complete_record_after(data[: second.end - 1], first.end, first.checksum) == 0


def test_the_last_snapshot_is_not_one_that_data_imitates(tmp_path: Path) -> None:
    data = large_journal(tmp_path / "journal", 200_000, 1000)
    found = last_snapshot(data)
    assert found is not None
    assert last_snapshot(data + b"S\x10\0\0\0soqo snapshot 1\n" * 3) == found


def test_an_end_with_the_form_of_many_records_is_read_or_refused_in_little_time(tmp_path: Path) -> None:
    short = large_journal(tmp_path / "journal", 10_000, 1000)
    slow = lookalikes(short, 400_000)[0]
    *_, last = records_from(short, len(MAGIC), INITIAL_CHECKSUM)
    with pytest.raises(BudgetExceededError):
        complete_record_after(slow, last.end, last.checksum)
    begun = time.perf_counter()
    with pytest.raises(FileFormatError, match="has the form of records"):
        read(slow, "slow")
    assert time.perf_counter() - begun < 2.0


def test_a_cut_in_a_large_snapshot_is_found_in_little_time(tmp_path: Path) -> None:
    data = large_journal(tmp_path / "journal", 8_000_000, 2_600_000)
    begun = time.perf_counter()
    assert read(data[: len(data) - 1_000_000], "cut").cut > 0
    assert time.perf_counter() - begun < 2.0
