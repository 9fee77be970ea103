"""Journals: whatever happens to the process or to the file, a resumed controller continues from a state that it had."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from soqo import FTM, GLIDE, POL, Controller, HySCaLE, Policy, SCaLE
from soqo._control.calls import decode_call
from soqo._control.snapshot import Snapshot
from soqo._storage import journal as journals
from soqo._storage import journal_records
from soqo._storage.codec import decode
from soqo._storage.journal import Journal
from soqo._storage.journal_format import Latest, latest_path, read, read_all, read_latest
from soqo._storage.journal_records import INITIAL_CHECKSUM, MAGIC, MARK, SNAPSHOT, Record
from soqo._storage.plain_data import same
from soqo.errors import ArgumentError, FileFormatError, ProtocolError

CURVATURE = np.array([[1.5, 0.4, 0.1], [0.4, 0.8, 0.0], [0.1, 0.0, 0.3]])
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""A folder in memory, where thousands of files are fast; None for the default."""
HERE = Path(__file__).parent
ANOTHER_PROCESS = [sys.executable, "-W", "error", "-c"]


@pytest.fixture(scope="module")
def in_memory() -> Iterator[Path]:
    """A folder in memory, where there is one."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def frequent_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a snapshot as soon as the records since the last one take as much space as it does."""
    monkeypatch.setattr(journals, "MIN_SNAPSHOT_BYTES", 1)


def snapshot_of(controller: Controller) -> Snapshot:
    """Return the complete state of a controller."""
    return controller._steering.snapshot()


def make_call(controller: Controller, number: int) -> Any:
    """Make the call of this number: an action, then a reading, which is sometimes NaN, missed, or of an applied action.

    Some rounds have inactive actuators and a factor, and some readings a unit and a place where they were felt. The
    reading depends only on the round and on the pending action.
    """
    t, is_reading = divmod(number, 2)
    v = 3.0 * np.random.default_rng(t).standard_normal(len(controller.x))
    if not is_reading or t % 7 == 5:  # two actions in a row: a reading is missed
        told: dict[str, Any] = {} if t % 6 != 2 else {"active": np.arange(len(v)) != t % 3, "factor": 0.5}
        return controller.act(-v if is_reading else v, **told)
    x = controller.pending
    assert x is not None
    if t % 7 == 4:
        return controller.observe(math.nan)
    applied = None if t % 3 else x + 0.25
    u = (x if applied is None else applied) - v
    A = CURVATURE[: len(u), : len(u)]
    given: dict[str, Any] = {} if t % 5 != 1 else {"at": x - 0.125, "unit": 2.0}
    return controller.observe(0.5 * u @ A @ u + math.sin(t), applied, **given)


@dataclass
class Play:
    """An uninterrupted sequence of calls, and its journal.

    Attributes
    ----------
    states : list of Snapshot
        The state before the first call, and after each.
    returned : list
        The results of the calls.
    data : bytes
        The journal, as a crash after the last call leaves it.
    ends : list of int
        The length of the journal after each number of calls: ``ends[0]`` is that of the first snapshot, and a later
        snapshot belongs to the call before it.
    beside : list of bytes, or None
        The file beside the journal after each number of calls.
    """

    states: list[Snapshot]
    returned: list[Any]
    data: bytes
    ends: list[int]
    beside: list[bytes | None]

    @property
    def complete(self) -> list[int]:
        """The length of the shortest journal with each number of calls."""
        _, records = read_all(self.data, "journal")
        return [self.ends[0], *(record.end for record in records)]

    def calls_in(self, length: int) -> int:
        """Return the number of complete calls in the first bytes of the journal; -1 without the first snapshot."""
        return bisect_right(self.complete, length) - 1

    def check_continuation(self, controller: Controller, calls: int, most: int = 8) -> int:
        """Check that a controller has the state after this many calls, and that the next calls give the same results.

        Return the number of calls at the end.
        """
        assert same(snapshot_of(controller), self.states[calls])
        end = min(len(self.returned), calls + most)
        for number in range(calls, end):
            np.testing.assert_array_equal(make_call(controller, number), self.returned[number])
        assert same(snapshot_of(controller), self.states[end])
        return end


def play(path: Path, policy: Policy[Any], dim: int, calls: int, **options: Any) -> Play:
    """Make calls with a journal, and check that they give the same results without one."""
    controller = Controller(policy, np.ones(dim), journal=path, durability="process", **options)
    plain = Controller(policy, np.ones(dim), **options)
    states, returned, ends, beside = [snapshot_of(plain)], [], [path.stat().st_size], [read_beside(path)]
    for number in range(calls):
        returned.append(make_call(plain, number))
        np.testing.assert_array_equal(make_call(controller, number), returned[-1])
        states.append(snapshot_of(plain))
        ends.append(path.stat().st_size)
        beside.append(read_beside(path))
    assert same(snapshot_of(controller), snapshot_of(plain))
    data = path.read_bytes()
    controller.close()
    return Play(states, returned, data, ends, beside)


def read_beside(path: Path) -> bytes | None:
    """Return the file beside a journal, if there is one."""
    return latest_path(path).read_bytes() if latest_path(path).exists() else None


def write_crashed(path: Path, data: bytes, beside: bytes | None = None) -> None:
    """Write a journal, and the file beside it, as a crash leaves them."""
    path.write_bytes(data)
    latest_path(path).unlink(missing_ok=True)
    if beside is not None:
        latest_path(path).write_bytes(beside)


def records_of(data: bytes) -> list[Record]:
    """Return every record of an undamaged journal, snapshots included."""
    return list(journal_records.records_from(data, len(MAGIC), INITIAL_CHECKSUM))


def count_snapshots(data: bytes) -> int:
    """Return the number of snapshots in an undamaged journal."""
    return sum(record.kind == SNAPSHOT for record in records_of(data))


@pytest.fixture(scope="module")
def small(in_memory: Path) -> Play:
    """A small journal with a snapshot at the beginning and one in the middle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journals, "MIN_SNAPSHOT_BYTES", 1)
        played = play(in_memory / "small", FTM(), 1, 44)
    kinds = [record.kind for record in records_of(played.data)]
    assert kinds.count(SNAPSHOT) == 2
    assert 5 < kinds.index(SNAPSHOT, 1) < len(kinds) - 5
    return played


@pytest.fixture(scope="module")
def learned(in_memory: Path) -> Play:
    """A journal of a policy that learns, with limits, a switching weight and several snapshots."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journals, "MIN_SNAPSHOT_BYTES", 1)
        played = play(in_memory / "learned", POL(1e-2), 2, 150, low=-4.0, switching_weight=[1.0, 4.0])
    assert count_snapshots(played.data) >= 3
    state, records = read_all(played.data, "journal")
    assert same(decode(state), played.states[0])
    assert len(list(records)) == 150
    return played


# ---- resuming --------------------------------------------------------------------------------------------------------

PLAYERS: dict[str, tuple[Policy[Any], int, dict[str, Any]]] = {
    "FTM": (FTM(), 2, {}),
    "POL": (POL(1e-2), 2, {"horizon": 40, "period": [5.0, np.inf]}),
    "GLIDE": (GLIDE(), 3, {"low": -4.0, "high": [3.0, 4.0, 5.0], "switching_weight": [1.0, 4.0, 0.25]}),
    "SCaLE": (SCaLE(1.0, 1, min_eigenvalue=0.5, gamma2=4.0), 2, {"seed": 4, "high": 5.0}),
    "HySCaLE": (HySCaLE(1.0, 1, min_eigenvalue=0.5, learning_rate=1e-3), 2, {"seed": 4, "horizon": 40}),
}


@pytest.mark.parametrize("rule", ["never", "after every call"])
@pytest.mark.parametrize(("policy", "dim", "options"), PLAYERS.values(), ids=PLAYERS)
def test_a_journal_resumes_bit_for_bit_after_any_call(
    policy: Policy[Any],
    dim: int,
    options: Any,
    rule: str,
    in_memory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journals, "MAX_REPLAY_SECONDS", math.inf if rule == "never" else 0.0)
    path = in_memory / "any call"
    path.unlink(missing_ok=True)
    played = play(path, policy, dim, 50, **options)
    assert count_snapshots(played.data) == 1
    for calls in range(50):
        assert (played.beside[calls] is None) == (calls == 0 or rule == "never")
        write_crashed(path, played.data[: played.ends[calls]], played.beside[calls])
        resumed = Controller.resume(path, durability="process")
        assert same(snapshot_of(resumed), played.states[calls])
        if calls in (0, 1, 24, 25, 49):
            assert played.check_continuation(resumed, calls, most=50) == 50
            assert same(snapshot_of(Controller.resume(path)), played.states[50])


@pytest.mark.usefixtures("frequent_snapshots")
@pytest.mark.parametrize("durability", ["disk", "process"])
def test_a_controller_that_is_resumed_before_every_call_writes_the_same_journal(
    durability: Literal["disk", "process"], in_memory: Path
) -> None:
    played = play(in_memory / f"at once {durability}", POL(1e-2), 2, 60)
    path = in_memory / f"one by one {durability}"
    Controller(POL(1e-2), np.ones(2), journal=path, durability=durability).close()
    for number in range(60):
        with Controller.resume(path, durability=durability) as controller:
            np.testing.assert_array_equal(make_call(controller, number), played.returned[number])
    assert count_snapshots(played.data) > 1
    assert path.read_bytes() == (in_memory / f"at once {durability}").read_bytes()
    assert path.read_bytes().startswith(played.data)


def test_both_durabilities_write_the_same_bytes(tmp_path: Path) -> None:
    durabilities: tuple[Literal["disk", "process"], ...] = ("disk", "process")
    for durability in durabilities:
        path = tmp_path / durability
        with Controller(POL(1e-2), np.ones(2), journal=path, durability=durability) as controller:
            for number in range(6):
                make_call(controller, number)
    assert (tmp_path / "disk").read_bytes() == (tmp_path / "process").read_bytes()


def test_a_snapshot_is_due_once_a_replay_would_take_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = [0.0]
    monkeypatch.setattr(journals, "process_time", lambda: processor[0])
    journal = Journal.create(tmp_path / "journal", "process", b"state")
    for seconds, due in ((0.3, False), (0.15, False), (0.1, True)):
        assert not journal.snapshot_is_due
        processor[0] += seconds
        journal.append(b"A", b"", seconds)
        assert journal.snapshot_is_due == due
    journal.snapshot(b"later state")
    assert not journal.snapshot_is_due
    last = records_of((tmp_path / "journal").read_bytes())[-1]
    assert read_latest(tmp_path / "journal") == Latest(last.end, last.checksum, 27, b"later state")
    # After a snapshot that took 0.25 seconds to write, the next one waits for 2 seconds of computing.
    clock = iter([0.0, 0.25])
    with monkeypatch.context() as patch:
        patch.setattr(journals, "perf_counter", lambda: next(clock))
        journal.snapshot(b"latest state")
    processor[0] += 1.9
    journal.append(b"A", b"", 2.1)
    assert not journal.snapshot_is_due  # the processor did something else meanwhile
    processor[0] += 0.2
    assert journal.snapshot_is_due
    journal.close()


def test_the_time_of_a_replay_counts_towards_the_next_snapshot(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, a process that repeatedly crashes before a snapshot is due would replay more records each time."""
    played = play(in_memory / "again", POL(1e-2), 2, 40)
    write_crashed(in_memory / "again", played.data)
    with Controller.resume(in_memory / "again", durability="process") as controller:
        monkeypatch.setattr(journals, "MAX_REPLAY_SECONDS", 1e-6)  # forty calls take longer
        assert controller._steering.journal is not None
        assert controller._steering.journal.snapshot_is_due
        monkeypatch.undo()
        assert not controller._steering.journal.snapshot_is_due
    assert count_snapshots(played.data) == 1


def test_snapshots_at_most_double_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Controller(FTM(), np.zeros(1), journal=path, durability="process") as controller:
        for _ in range(10_000):
            controller.act([1.0])
    data = path.read_bytes()
    calls = 10_000 * (9 + 2 * (5 + 8))
    assert 2 <= count_snapshots(data) <= 1 + calls / journals.MIN_SNAPSHOT_BYTES
    assert len(data) < 2 * calls


# ---- closed ----------------------------------------------------------------------------------------------------------


def closed_journal(played: Play, path: Path) -> bytes:
    """Write the journal of a play, close it, and return the bytes of the file beside it."""
    path.write_bytes(played.data)
    latest_path(path).unlink(missing_ok=True)
    Controller.resume(path, durability="process").close()
    assert path.read_bytes() == played.data
    return latest_path(path).read_bytes()


def test_after_a_clean_close_nothing_but_the_last_state_is_read(learned: Play, in_memory: Path) -> None:
    path = in_memory / "closed"
    closed_journal(learned, path)
    data, calls = bytearray(learned.data), len(learned.returned)
    # Even if everything between the kind of the file and its last checksum is lost.
    data[len(MAGIC) : -4] = bytes(len(data) - 4 - len(MAGIC))
    path.write_bytes(data)
    resumed = Controller.resume(path, durability="process")
    assert same(snapshot_of(resumed), learned.states[calls])
    resumed.close()
    assert path.read_bytes() == data
    for damaged in (lambda: Controller.resume(path, verify=True), lambda: read(bytes(data), "journal")):
        with pytest.raises(FileFormatError, match="is damaged"):
            damaged()


@pytest.mark.parametrize("durability", ["disk", "process"])
def test_a_call_after_the_last_state_is_repeated(
    durability: Literal["disk", "process"], learned: Play, in_memory: Path
) -> None:
    path = in_memory / "continued"
    latest = closed_journal(learned, path)
    calls = len(learned.returned)
    for more in range(1, 4):
        with Controller.resume(path, durability=durability) as resumed:
            make_call(resumed, calls + more - 1)
            crashed = path.read_bytes()
        assert crashed.startswith(learned.data)
        assert same(snapshot_of(resumed), snapshot_of(Controller.resume(path)))
        for beside in (latest, latest_path(path).read_bytes(), None):  # an older one, the last one, or none
            copy = in_memory / f"copy {more}"
            copy.write_bytes(crashed)
            if beside is not None:
                latest_path(copy).write_bytes(beside)
            assert same(snapshot_of(resumed), snapshot_of(Controller.resume(copy)))
            latest_path(copy).unlink(missing_ok=True)


def test_verifying_a_closed_journal_does_not_change_it(learned: Play, in_memory: Path) -> None:
    path = in_memory / "verified"
    latest = closed_journal(learned, path)
    with Controller.resume(path, durability="process", verify=True) as resumed:
        assert same(snapshot_of(resumed), learned.states[-1])
    assert (path.read_bytes(), latest_path(path).read_bytes()) == (learned.data, latest)


def test_restarts_do_not_make_a_journal_grow(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    Controller(GLIDE(), np.ones(3), journal=path, durability="process").close()
    for number in range(40):
        with Controller.resume(path, durability="process") as controller:
            make_call(controller, number)
        Controller.resume(path, durability="process").close()  # without a call
    play(tmp_path / "uninterrupted", GLIDE(), 3, 40)
    assert path.stat().st_size == (tmp_path / "uninterrupted").stat().st_size


def test_a_last_state_cut_or_changed_at_any_byte_loses_no_call(small: Play, in_memory: Path) -> None:
    path = in_memory / "closing"
    latest = closed_journal(small, path)
    calls = len(small.returned)
    for place in range(len(latest)):
        changed = bytearray(latest)
        changed[place] ^= 1 + place % 255
        for bad in (latest[:place], bytes(changed)):
            latest_path(path).write_bytes(bad)
            with Controller.resume(path, durability="process") as resumed:
                assert same(snapshot_of(resumed), small.states[calls])


@pytest.mark.usefixtures("frequent_snapshots")
def test_a_snapshot_after_a_fast_resume_has_the_digest_of_the_whole_file(learned: Play, in_memory: Path) -> None:
    path = in_memory / "digest"
    closed_journal(learned, path)
    calls = len(learned.returned)
    with Controller.resume(path, durability="process") as resumed:
        for number in range(calls, calls + 240):
            make_call(resumed, number)
        data = path.read_bytes()
    last = [record for record in records_of(data) if record.kind == SNAPSHOT][-1]
    assert last.start > len(learned.data)
    assert last.payload[len(MARK) :][:16] == hashlib.blake2b(data[: last.start], digest_size=16).digest()
    assert count_snapshots(data) > count_snapshots(learned.data) + 1
    assert read(data, "journal").records == [record for record in records_of(data) if record.start >= last.end]


def test_a_journal_without_a_call_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    Controller(FTM(), [0.0], journal=path).close()
    assert [record.kind for record in records_of(path.read_bytes())] == [SNAPSHOT]
    assert list(tmp_path.iterdir()) == [path]


def test_a_resume_that_replayed_for_long_writes_a_snapshot(
    small: Play, in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = in_memory / "replayed"
    path.write_bytes(small.data)
    assert read(small.data, "journal").records
    monkeypatch.setattr(journals, "MAX_REPLAY_SECONDS", 0.0)
    resumed = Controller.resume(path, durability="process")
    assert latest_path(path).exists() or not read(path.read_bytes(), "journal").records
    small.check_continuation(resumed, len(small.returned))


# ---- truncated -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("frequent_snapshots")
@pytest.mark.parametrize("which", ["small", "learned"])
def test_a_journal_cut_at_any_byte_resumes_after_its_last_complete_call(
    which: str, in_memory: Path, request: pytest.FixtureRequest
) -> None:
    played: Play = request.getfixturevalue(which)
    complete = played.complete
    path = in_memory / "cut"
    for length in range(0, len(played.data) + 1, 1 if which == "small" else 29):
        path.write_bytes(played.data[:length])
        if length < played.ends[0]:
            with pytest.raises(FileFormatError, match="cut"):
                Controller.resume(path, durability="process")
            assert path.read_bytes() == played.data[:length]
            continue
        calls = bisect_right(complete, length) - 1
        resumed = Controller.resume(path, durability="process")
        assert path.read_bytes().startswith(played.data[: complete[calls]])
        end = played.check_continuation(resumed, calls)
        # The calls after the cut continue the journal.
        again = Controller.resume(path, durability="process")
        assert same(snapshot_of(again), played.states[end])


TAILS: dict[str, bytes] = {
    "zeros": bytes(5000),
    "ones": b"\xff" * 5000,
    "a few zeros": bytes(3),
    "noise": np.random.default_rng(0).bytes(5000),
    "text": b"soqo snapshot 1\n" * 50,
    "another journal": MAGIC,
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_an_incomplete_end_is_cut_off(tail: bytes, small: Play, in_memory: Path) -> None:
    path = in_memory / "tail"
    for calls in (0, 7, len(small.returned)):
        good = small.data[: small.ends[calls]]
        path.write_bytes(good + tail)
        resumed = Controller.resume(path, durability="process")
        assert path.read_bytes() == good
        small.check_continuation(resumed, calls)


# ---- damaged ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["small", "learned"])
def test_a_changed_byte_never_leads_to_another_state(
    which: str, in_memory: Path, request: pytest.FixtureRequest
) -> None:
    """The journal is refused, unless the byte is in the last record, which is then cut off as after a crash."""
    played: Play = request.getfixturevalue(which)
    rng = np.random.default_rng(1)
    path = in_memory / "changed"
    last = records_of(played.data)[-1]
    calls = played.calls_in(last.start)
    refused = cut = 0
    for place in range(len(played.data)):
        bad = bytearray(played.data)
        bad[place] ^= int(rng.integers(1, 256))
        if which == "learned" and place < last.start:
            # Without a file, which would take most of the time.
            with pytest.raises(FileFormatError, match="changed"):
                read(bytes(bad), "changed")
            refused += 1
            continue
        path.write_bytes(bad)
        try:
            resumed = Controller.resume(path, durability="process")
        except FileFormatError:
            assert path.read_bytes() == bad
            refused += 1
            continue
        assert place >= last.start, f"byte {place} is before the last record, and was cut off"
        assert path.read_bytes() == played.data[: last.start]
        played.check_continuation(resumed, calls)
        cut += 1
    assert cut == last.end - last.start
    assert refused == last.start


def test_a_damaged_snapshot_at_the_end_loses_no_call(learned: Play, in_memory: Path) -> None:
    last = [record for record in records_of(learned.data) if record.kind == SNAPSHOT][-1]
    path = in_memory / "snapshot"
    for place in range(last.start, last.end, 23):
        bad = bytearray(learned.data[: last.end])
        bad[place] ^= 1 << place % 8
        path.write_bytes(bad)
        resumed = Controller.resume(path, durability="process")
        learned.check_continuation(resumed, learned.calls_in(last.start))


def test_the_first_bytes_of_a_damaged_journal_can_be_resumed(small: Play, in_memory: Path) -> None:
    record = records_of(small.data)[8]
    bad = bytearray(small.data)
    bad[record.start + 7] ^= 1
    with pytest.raises(FileFormatError, match=rf"the first {record.start} bytes are a journal"):
        read(bytes(bad), "journal")
    path = in_memory / "first bytes"
    path.write_bytes(bad[: record.start])
    small.check_continuation(Controller.resume(path), small.calls_in(record.start))


def test_other_files_are_refused_with_a_reason(small: Play, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for contents, reason in (
        (b"", "is not a journal"),
        (b"PK\3\4 something else", "is not a journal"),
        (small.data.replace(b"journal 1", b"journal 2", 1), "is a journal of another layout"),
        (MAGIC, "the snapshot at the beginning of the journal is incomplete"),
    ):
        path.write_bytes(contents)
        with pytest.raises(FileFormatError, match=reason) as caught:
            Controller.resume(path)
        assert str(path) in str(caught.value)
        assert path.read_bytes() == contents
    with pytest.raises(FileNotFoundError, match=r"there is no journal .*missing"):
        Controller.resume(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        Controller.resume(tmp_path / "nowhere" / "journal")


def test_records_of_an_unknown_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for kind, payload, what in (
        (b"Z", b"", "record of an unknown kind at byte"),
        (b"P", bytes(8), "record with unknown parts at byte"),
        (b"A", bytes(8), "record at byte"),  # those of earlier versions
        (b"O", bytes(9), "record at byte"),
    ):
        path.unlink(missing_ok=True)
        with Controller(FTM(), np.zeros(2), journal=path) as controller:
            controller.act([1.0, 2.0])
            assert controller._steering.journal is not None
            controller._steering.journal.append(kind, payload)
            controller._steering.journal.close()  # without the last state, from which a resume would read nothing else
        with pytest.raises(FileFormatError, match=f"holds a {what}"):
            Controller.resume(path)


def test_a_minimizer_with_the_bytes_of_the_snapshot_mark_is_not_taken_for_a_snapshot(
    in_memory: Path,
) -> None:
    path = in_memory / "mark"
    v = np.frombuffer(MARK, dtype="<f8")
    with Controller(FTM(), np.zeros(2), journal=path, durability="process") as controller:
        controller.act(v)
        controller.observe(1.0)
        assert path.read_bytes().count(MARK) == 3
        controller._steering.journal.close()  # type: ignore[union-attr]  # without the last state
    np.testing.assert_array_equal(Controller.resume(path).x, v)


# ---- one writer ------------------------------------------------------------------------------------------------------


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"precious")
    with pytest.raises(ArgumentError, match=r"journal must be a new file, got .*Controller.resume"):
        Controller(FTM(), [0.0], journal=path)
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        Controller(FTM(), [0.0], journal=tmp_path / "nowhere" / "journal")


def test_an_unknown_durability_is_refused(tmp_path: Path) -> None:
    invalid: tuple[Any, ...] = ("paper", None, 1)
    for wrong in invalid:
        with pytest.raises(ArgumentError, match="durability must be one of 'disk', 'process'"):
            Controller(FTM(), [0.0], journal=tmp_path / "journal", durability=wrong)
        assert not list(tmp_path.iterdir())
    Controller(FTM(), [0.0], journal=tmp_path / "journal").close()
    with pytest.raises(ArgumentError, match="durability must be one of"):
        Controller.resume(tmp_path / "journal", durability=wrong)


RESUME = """
import sys
from soqo import Controller
from soqo.errors import BusyError
try:
    controller = Controller.resume(sys.argv[1])
except BusyError as error:
    print(error)
else:
    controller.act([float(word) for word in sys.argv[2:]])
    print("resumed")
"""


def test_another_process_cannot_open_a_journal_in_use(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    controller = Controller(FTM(), [0.0], journal=path)
    controller.act([1.0])
    written = path.read_bytes()

    def other() -> str:
        command = [*ANOTHER_PROCESS, RESUME, str(path), "3.0"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert done.stderr == ""
        return done.stdout

    assert "is in use by another process" in other()
    assert path.read_bytes() == written
    controller.observe(0.5)
    controller.close()
    assert other() == "resumed\n"
    resumed = Controller.resume(path)
    np.testing.assert_array_equal(resumed.pending, [3.0])
    assert resumed.round == 1


FORK = """
import os, sys
import numpy as np
from soqo import FTM, Controller
from soqo.errors import BusyError, ProtocolError

controller = Controller(FTM(), [0.0], journal=sys.argv[1])
controller.act([1.0])
child = os.fork()
if not child:
    code = 1
    try:
        controller.observe(2.0)
    except ProtocolError as error:
        if "belongs to process" in str(error):
            code = 2
    try:
        Controller.resume(sys.argv[1])
    except BusyError:
        code += 10
    os._exit(code)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
controller.observe(3.0)
controller.act([4.0])
print(controller.round)
"""


def test_a_forked_child_can_neither_write_nor_resume_a_journal_in_use(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    command = [*ANOTHER_PROCESS, FORK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["12", "1"]
    _, records = read_all(path.read_bytes(), path)
    calls = [decode_call(record, 1, path) for record in records]
    assert [(call.kind, *next(iter(call.given.values())).flat) for call in calls] == [
        ("act", 1.0),
        ("observe", 3.0),
        ("act", 4.0),
    ]


def test_a_second_controller_of_the_same_process_takes_the_journal_over(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    old = Controller(POL(1e-2), np.ones(2), journal=path)
    make_call(old, 0)
    new = Controller.resume(path)
    before, written = snapshot_of(old), path.read_bytes()
    with pytest.raises(ProtocolError, match="was taken over by another controller"):
        old.act([1.0, 2.0])
    with pytest.raises(ProtocolError, match="was taken over by another controller"):
        old.observe(1.0)
    assert same(snapshot_of(old), before)
    assert path.read_bytes() == written
    old.close()
    del old
    make_call(new, 1)
    assert Controller.resume(path).round == 1


def test_a_closed_controller_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Controller(FTM(), [0.0], journal=path) as controller:
        controller.act([1.0])
    before, written = snapshot_of(controller), path.read_bytes()
    with pytest.raises(ProtocolError, match="is closed"):
        controller.observe(1.0)
    assert same(snapshot_of(controller), before)
    assert path.read_bytes() == written
    controller.close()
    Controller.resume(path).observe(1.0)


@pytest.mark.parametrize("how", ["deleted", "replaced", "moved", "moved and replaced", "a name of two was deleted"])
def test_a_call_after_the_journal_lost_its_name_raises_and_has_no_effect(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    controller = Controller(FTM(), [0.0], journal=path)
    controller.act([1.0])
    if how == "a name of two was deleted":
        os.link(path, tmp_path / "second name")
        path.unlink()
    elif how == "deleted":
        path.unlink()
    elif how.startswith("moved"):
        path.rename(tmp_path / "journal.old")
        if how != "moved":
            path.write_text("x")
    else:
        (tmp_path / "other").write_bytes(b"something else")
        (tmp_path / "other").rename(path)
    later = time.monotonic() + 1.5  # the file is checked once a second
    monkeypatch.setattr("soqo._storage.journal.monotonic", lambda: later)
    before = snapshot_of(controller)
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"journal .*journal was deleted, moved or replaced: save"):
            controller.observe(1.0)
    assert same(snapshot_of(controller), before)
    saved = controller.save(tmp_path / "saved")
    Controller.load(saved, journal=tmp_path / "new").observe(1.0)
    assert Controller.resume(tmp_path / "new").round == 1


def test_a_journal_with_a_relative_path_survives_a_change_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    controller = Controller(FTM(), [0.0], journal="journal")
    monkeypatch.chdir("/")
    controller.act([1.0])
    controller.close()
    assert Controller.resume(tmp_path / "journal").pending is not None


def test_a_path_that_is_an_integer_or_a_pipe_is_refused(tmp_path: Path) -> None:
    anything: Any = 3
    controller = Controller(FTM(), [0.0])
    for call in (
        controller.save,
        Controller.load,
        Controller.resume,
        lambda path: Controller.open(path, FTM(), [0.0]),
        lambda path: Controller(FTM(), [0.0], journal=path),
    ):
        with pytest.raises(ArgumentError, match=r"(path|journal) must be a path, got 3"):
            call(anything)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match="there is no journal"):
        Controller.resume(tmp_path / "pipe")


def test_a_controller_without_a_journal_has_nothing_to_close() -> None:
    with Controller(FTM(), [0.0]) as controller:
        controller.act([1.0])
    controller.observe(1.0)
    assert controller.round == 1


# ---- a full or failing disk ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["disk", "process"])
def test_a_call_on_a_full_disk_raises_and_has_no_effect(durability: str, in_memory: Path) -> None:
    path = in_memory / f"full {durability}"
    command = [sys.executable, "-W", "error", str(HERE / "full_disk.py"), str(path), durability]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["calls that failed"] == 4 * counts["calls"]
    assert counts["snapshots postponed"] > 0
    assert counts["snapshots"] > 1


def test_after_a_failed_fsync_the_controller_must_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    controller = Controller(POL(1e-2), np.ones(2), journal=path)
    uninterrupted = Controller(POL(1e-2), np.ones(2))
    for each in (controller, uninterrupted):
        make_call(each, 0)

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(journals, "_sync", fail)
        with pytest.raises(OSError, match="Input/output error"):
            make_call(controller, 1)
    assert same(snapshot_of(controller), snapshot_of(uninterrupted))
    with pytest.raises(ProtocolError, match="could not be written to the disk; resume it"):
        make_call(controller, 1)
    assert same(snapshot_of(controller), snapshot_of(uninterrupted))
    # The call may or may not be on the disk; here it is.
    make_call(uninterrupted, 1)
    assert same(snapshot_of(Controller.resume(path)), snapshot_of(uninterrupted))


# ---- killed ----------------------------------------------------------------------------------------------------------


def test_a_process_that_is_killed_at_any_moment_is_resumed_bit_for_bit(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(HERE / "kill_and_resume.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(done.stdout)
    assert counts["kills"] == 200
    assert 0 < counts["in mid-round"] < 200
    assert counts["rounds"] > 200
    assert 0 < counts["closed"] < 200
