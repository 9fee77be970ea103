"""The journal: whatever happens to the process or to the file, nothing goes on from a place where it was not."""

from __future__ import annotations

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
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, POL, Controller, HySCaLE, Policy, SCaLE
from soqo._controller import Standing
from soqo._storage import journal as journals
from soqo._storage.files import decode
from soqo._storage.journal import (
    DURABILITIES,
    MAGIC,
    MARK,
    SNAPSHOT,
    Journal,
    Record,
    read,
    read_all,
)
from soqo._storage.records import same
from soqo.errors import ArgumentError, FileFormatError, ProtocolError

CURVATURE = np.array([[1.5, 0.4, 0.1], [0.4, 0.8, 0.0], [0.1, 0.0, 0.3]])
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where thousands of files take no time; None for the usual place."""
HERE = Path(__file__).parent
ANOTHER_PROCESS = [sys.executable, "-W", "error", "-c"]


@pytest.fixture(scope="module")
def in_memory() -> Iterator[Path]:
    """A folder that needs no disk."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def snapshots_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot as soon as the records since the last one take the space that it took."""
    monkeypatch.setattr(journals, "SPARSE", 1)


def standing(controller: Controller) -> Standing:
    """All that a controller is."""
    return controller._standing()


def make_call(controller: Controller, number: int) -> Any:
    """The call of this number of a play: round by round an action, then a reading, now and then NaN, applied, or none.

    What is heard depends on the round and on the action that waits for it, and on nothing else.
    """
    t, hears = divmod(number, 2)
    v = 3.0 * np.random.default_rng(t).standard_normal(len(controller.x))
    if not hears or t % 7 == 5:  # two actions in a row: a reading is missed
        return controller.act(v if not hears else -v)
    x = controller.pending
    assert x is not None
    if t % 7 == 4:
        return controller.observe(math.nan)
    applied = None if t % 3 else x + 0.25
    u = (x if applied is None else applied) - v
    A = CURVATURE[: len(u), : len(u)]
    return controller.observe(0.5 * u @ A @ u + math.sin(t), applied)


@dataclass
class Played:
    """An undisturbed play, and the journal of it.

    Attributes
    ----------
    stood : list of Standing
        Before the first call, and after each.
    returned : list
        What each call gave back.
    data : bytes
        The whole journal.
    ends : list of int
        The length of the journal after the call of this number: ``ends[0]`` is that of the first snapshot, and a
        snapshot belongs to the call before it.
    """

    stood: list[Standing]
    returned: list[Any]
    data: bytes
    ends: list[int]

    @property
    def whole(self) -> list[int]:
        """For each number of calls, the shortest journal that holds them."""
        _, records = read_all(self.data, "journal")
        return [self.ends[0], *(record.end for record in records)]

    def calls_in(self, length: int) -> int:
        """How many whole calls the first bytes of the journal hold; -1 if not even the first snapshot."""
        return bisect_right(self.whole, length) - 1

    def continues(self, controller: Controller, calls: int, most: int = 8) -> int:
        """Check that a controller stands where the play stood after so many calls, and goes on as the play did.

        Returns the number of calls then.
        """
        assert same(standing(controller), self.stood[calls])
        end = min(len(self.returned), calls + most)
        for number in range(calls, end):
            np.testing.assert_array_equal(make_call(controller, number), self.returned[number])
        assert same(standing(controller), self.stood[end])
        return end


def play(path: Path, policy: Policy[Any], dim: int, calls: int, **options: Any) -> Played:
    """Make so many calls with a journal, and without one, which must not make a difference."""
    controller = Controller(policy, np.ones(dim), journal=path, durability="process", **options)
    plain = Controller(policy, np.ones(dim), **options)
    stood, returned, ends = [standing(plain)], [], [path.stat().st_size]
    for number in range(calls):
        returned.append(make_call(plain, number))
        np.testing.assert_array_equal(make_call(controller, number), returned[-1])
        stood.append(standing(plain))
        ends.append(path.stat().st_size)
    assert same(standing(controller), standing(plain))
    controller.close()
    return Played(stood, returned, path.read_bytes(), ends)


def records_of(data: bytes) -> list[Record]:
    """Every record of a whole journal, snapshots too."""
    return list(journals.records_from(data, len(MAGIC), journals.FIRST))


def snapshots_in(data: bytes) -> int:
    """The number of snapshots in a whole journal."""
    return sum(record.kind == SNAPSHOT for record in records_of(data))


@pytest.fixture(scope="module")
def small(in_memory: Path) -> Played:
    """A small journal with a snapshot at the start and one in the middle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journals, "SPARSE", 1)
        played = play(in_memory / "small", FTM(), 1, 36)
    kinds = [record.kind for record in records_of(played.data)]
    assert kinds.count(SNAPSHOT) == 2
    assert 5 < kinds.index(SNAPSHOT, 1) < len(kinds) - 5
    return played


@pytest.fixture(scope="module")
def learned(in_memory: Path) -> Played:
    """A journal of a policy that learns, within limits and weights, with several snapshots."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journals, "SPARSE", 1)
        played = play(in_memory / "learned", POL(1e-2), 2, 130, low=-4.0, switching_weight=[1.0, 4.0])
    assert snapshots_in(played.data) == 3
    return played


# ---- going on --------------------------------------------------------------------------------------------------------

PLAYERS: dict[str, tuple[Policy[Any], int, dict[str, Any]]] = {
    "FTM": (FTM(), 2, {}),
    "POL": (POL(1e-2), 2, {"horizon": 40}),
    "GLIDE": (GLIDE(), 3, {"low": -4.0, "high": [3.0, 4.0, 5.0], "switching_weight": [1.0, 4.0, 0.25]}),
    "SCaLE": (SCaLE(1.0, 1, 0.5, gamma2=4.0), 2, {"seed": 4, "high": 5.0}),
    "HySCaLE": (HySCaLE(1.0, 1, 0.5, learning_rate=1e-3), 2, {"seed": 4, "horizon": 40}),
}


@pytest.mark.parametrize("rule", ["never", "after every call"])
@pytest.mark.parametrize(("policy", "dim", "options"), PLAYERS.values(), ids=PLAYERS)
def test_a_journal_goes_on_to_the_bit_from_any_call(
    policy: Policy[Any],
    dim: int,
    options: Any,
    rule: str,
    in_memory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if rule == "after every call":
        monkeypatch.setattr(journals, "REPLAY", 0.0)
    path = in_memory / "going on"
    path.unlink(missing_ok=True)
    played = play(path, policy, dim, 50, **options)
    assert snapshots_in(played.data) == (1 if rule == "never" else 51)
    for calls in range(50):
        path.write_bytes(played.data[: played.ends[calls]])
        resumed = Controller.resume(path, durability="process")
        assert same(standing(resumed), played.stood[calls])
        if calls in (0, 1, 24, 25, 49):
            assert played.continues(resumed, calls, most=50) == 50
            assert same(standing(Controller.resume(path)), played.stood[50])


@pytest.mark.usefixtures("snapshots_often")
@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_controller_that_is_resumed_at_every_call_writes_the_same_journal(durability: str, in_memory: Path) -> None:
    played = play(in_memory / f"at once {durability}", POL(1e-2), 2, 60)
    path = in_memory / f"one by one {durability}"
    Controller(POL(1e-2), np.ones(2), journal=path, durability=durability).close()
    for number in range(60):
        with Controller.resume(path, durability=durability) as controller:
            np.testing.assert_array_equal(make_call(controller, number), played.returned[number])
    assert snapshots_in(played.data) > 1
    assert path.read_bytes() == played.data


def test_both_durabilities_write_the_same_bytes(tmp_path: Path) -> None:
    for durability in DURABILITIES:
        path = tmp_path / durability
        with Controller(POL(1e-2), np.ones(2), journal=path, durability=durability) as controller:
            for number in range(6):
                make_call(controller, number)
    assert (tmp_path / "disk").read_bytes() == (tmp_path / "process").read_bytes()


def test_read_all_gives_every_call_across_snapshots(learned: Played) -> None:
    state, records = read_all(learned.data, "journal")
    assert same(decode(state), learned.stood[0])
    kinds = [record.kind for record in records]
    assert len(kinds) == 130
    assert set(kinds) == {b"A", b"O"}


def test_reading_starts_at_the_last_snapshot(learned: Played) -> None:
    contents = read(learned.data, "journal")
    last = [record for record in records_of(learned.data) if record.kind == SNAPSHOT][-1]
    assert last.start > len(learned.data) / 2
    assert contents.snapshot == last.end - last.start
    assert [record.start for record in contents.records] == [
        record.start for record in records_of(learned.data) if record.start >= last.end
    ]
    assert (contents.end, contents.cut) == (len(learned.data), 0)


def test_a_snapshot_is_due_once_a_replay_would_take_long(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "journal", "process", b"state")
    for seconds, due in ((3.0, False), (1.9, False), (0.2, True)):
        assert not journal.snapshot_is_due
        journal.append(b"A", b"", seconds)
        assert journal.snapshot_is_due == due
    journal.snapshot(b"later state")
    assert not journal.snapshot_is_due
    assert read((tmp_path / "journal").read_bytes(), "journal").state == b"later state"


def test_what_a_replay_took_counts_towards_the_next_snapshot(in_memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or else a process that dies again and again, each time before a snapshot is due, would replay ever more."""
    played = play(in_memory / "again", POL(1e-2), 2, 40)
    with Controller.resume(in_memory / "again", durability="process") as controller:
        monkeypatch.setattr(journals, "REPLAY", 1e-6)  # forty calls take longer
        assert controller._journal is not None
        assert controller._journal.snapshot_is_due
        monkeypatch.undo()
        assert not controller._journal.snapshot_is_due
    assert snapshots_in(played.data) == 1


def test_snapshots_at_most_double_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Controller(FTM(), np.zeros(1), journal=path, durability="process") as controller:
        for _ in range(10_000):
            controller.act([1.0])
    data = path.read_bytes()
    calls = 10_000 * (9 + 16)
    assert 2 <= snapshots_in(data) <= 1 + calls / journals.SPARSE
    assert len(data) < 2 * calls


# ---- cut short -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("snapshots_often")
@pytest.mark.parametrize("which", ["small", "learned"])
def test_a_journal_cut_at_any_byte_goes_on_from_its_last_whole_call(
    which: str, in_memory: Path, request: pytest.FixtureRequest
) -> None:
    played: Played = request.getfixturevalue(which)
    whole = played.whole
    path = in_memory / "cut"
    for length in range(0, len(played.data) + 1, 1 if which == "small" else 29):
        path.write_bytes(played.data[:length])
        if length < played.ends[0]:
            with pytest.raises(FileFormatError, match="cut"):
                Controller.resume(path, durability="process")
            assert path.read_bytes() == played.data[:length]
            continue
        calls = bisect_right(whole, length) - 1
        resumed = Controller.resume(path, durability="process")
        kept = path.stat().st_size
        assert whole[calls] <= kept <= length
        assert kept == length or length not in played.ends
        end = played.continues(resumed, calls)
        # What was written after the cut is a journal too.
        again = Controller.resume(path, durability="process")
        assert same(standing(again), played.stood[end])


TAILS: dict[str, bytes] = {
    "zeros": bytes(5000),
    "ones": b"\xff" * 5000,
    "a few zeros": bytes(3),
    "noise": np.random.default_rng(0).bytes(5000),
    "text": b"soqo snapshot 1\n" * 50,
    "another journal": MAGIC,
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_what_a_crash_left_at_the_end_is_cut_off(tail: bytes, small: Played, in_memory: Path) -> None:
    path = in_memory / "tail"
    for calls in (0, 7, len(small.returned)):
        good = small.data[: small.ends[calls]]
        path.write_bytes(good + tail)
        resumed = Controller.resume(path, durability="process")
        assert path.read_bytes() == good
        small.continues(resumed, calls)


# ---- damaged ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["small", "learned"])
def test_a_changed_byte_never_leads_to_another_path(
    which: str, in_memory: Path, request: pytest.FixtureRequest
) -> None:
    """Refused unless it is in the last record, which is then cut off like one that a crash cut short."""
    played: Played = request.getfixturevalue(which)
    rng = np.random.default_rng(1)
    path = in_memory / "changed"
    last = records_of(played.data)[-1]
    calls = played.calls_in(last.start)
    refused = cut = 0
    for place in range(len(played.data)):
        bad = bytearray(played.data)
        bad[place] ^= int(rng.integers(1, 256))
        if which == "learned" and place < last.start:
            # Without the file, which takes most of the time.
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
        played.continues(resumed, calls)
        cut += 1
    assert cut == last.end - last.start
    assert refused == last.start


def test_a_changed_byte_of_a_snapshot_at_the_end_costs_no_call(learned: Played, in_memory: Path) -> None:
    last = [record for record in records_of(learned.data) if record.kind == SNAPSHOT][-1]
    path = in_memory / "snapshot"
    for place in range(last.start, last.end, 23):
        bad = bytearray(learned.data[: last.end])
        bad[place] ^= 1 << place % 8
        path.write_bytes(bad)
        resumed = Controller.resume(path, durability="process")
        learned.continues(resumed, learned.calls_in(last.start))


def test_records_removed_doubled_or_swapped_are_refused(learned: Played) -> None:
    data = learned.data
    records = records_of(data)
    pieces = [data[record.start : record.end] for record in records]

    def refused(changed: list[bytes]) -> None:
        with pytest.raises(FileFormatError, match="journal"):
            read(MAGIC + b"".join(changed), "journal")

    assert read(MAGIC + b"".join(pieces), "journal").cut == 0
    # A record in the middle is one that is followed by two others: the last of them proves that this was no crash.
    for k in range(len(pieces) - 2):
        refused(pieces[:k] + pieces[k + 1 :])
        refused([*pieces[:k], pieces[k], *pieces[k:]])
        if k < len(pieces) - 3:
            refused([*pieces[:k], pieces[k + 1], pieces[k], *pieces[k + 2 :]])


def test_a_record_of_another_journal_is_refused(small: Played, learned: Played) -> None:
    foreign = records_of(learned.data)[-1]
    piece = learned.data[foreign.start : foreign.end]
    for record in records_of(small.data)[1:-2]:
        with pytest.raises(FileFormatError, match="journal"):
            read(small.data[: record.start] + piece + small.data[record.start :], "journal")


def test_a_damaged_journal_says_how_much_of_it_can_be_resumed(small: Played, in_memory: Path) -> None:
    record = records_of(small.data)[8]
    bad = bytearray(small.data)
    bad[record.start + 7] ^= 1
    with pytest.raises(FileFormatError, match=rf"its first {record.start} bytes are a journal"):
        read(bytes(bad), "journal")
    path = in_memory / "first bytes"
    path.write_bytes(bad[: record.start])
    small.continues(Controller.resume(path), small.calls_in(record.start))


def test_read_all_refuses_damage_too(small: Played) -> None:
    bad = bytearray(small.data)
    bad[records_of(small.data)[8].start + 7] ^= 1
    _, records = read_all(bytes(bad), "journal")
    with pytest.raises(FileFormatError, match="is damaged at byte"):
        list(records)


def test_files_that_are_no_journals_are_refused_with_a_reason(small: Played, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for contents, reason in (
        (b"", "is not a journal"),
        (b"PK\3\4 something else", "is not a journal"),
        (small.data.replace(b"journal 1", b"journal 2", 1), "is a journal of another layout"),
        (MAGIC, "the snapshot that a journal begins with is not whole"),
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
    for kind, payload in ((b"Z", b""), (b"A", bytes(8)), (b"O", bytes(9))):
        path.unlink(missing_ok=True)
        with Controller(FTM(), np.zeros(2), journal=path) as controller:
            controller.act([1.0, 2.0])
            assert controller._journal is not None
            controller._journal.append(kind, payload)
        with pytest.raises(FileFormatError, match="holds a record of an unknown kind at byte"):
            Controller.resume(path)


def test_the_mark_of_a_snapshot_among_the_numbers_of_a_call_misleads_nobody(
    in_memory: Path,
) -> None:
    path = in_memory / "mark"
    v = np.frombuffer(MARK, dtype="<f8")
    with Controller(FTM(), np.zeros(2), journal=path, durability="process") as controller:
        controller.act(v)
        controller.observe(1.0)
    assert path.read_bytes().count(MARK) == 3
    np.testing.assert_array_equal(Controller.resume(path).x, v)


# ---- one writer ------------------------------------------------------------------------------------------------------


def test_a_journal_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"precious")
    with pytest.raises(ArgumentError, match=r"journal must be a new file, got .*Controller.resume"):
        Controller(FTM(), [0.0], journal=path)
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        Controller(FTM(), [0.0], journal=tmp_path / "nowhere" / "journal")


def test_a_wrong_durability_is_an_error_that_names_it(tmp_path: Path) -> None:
    wrong: Any
    for wrong in ("paper", None, 1):
        with pytest.raises(ArgumentError, match="durability must be one of 'disk', 'process'"):
            Controller(FTM(), [0.0], journal=tmp_path / "journal", durability=wrong)
        assert not list(tmp_path.iterdir())
    Controller(FTM(), [0.0], journal=tmp_path / "journal").close()
    with pytest.raises(ArgumentError, match="durability must be one of"):
        Controller.resume(tmp_path / "journal", durability="paper")


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


def test_a_journal_in_use_is_refused_to_another_process(tmp_path: Path) -> None:
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


def test_a_forked_child_can_neither_write_nor_take_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    command = [*ANOTHER_PROCESS, FORK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["12", "1"]
    _, records = read_all(path.read_bytes(), path)
    heard = [np.frombuffer(record.payload) for record in records]
    assert [numbers.tolist() for numbers in heard] == [[1.0, 1.0], [3.0], [4.0, 4.0]]


def test_whoever_resumes_in_the_same_process_takes_over(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    old = Controller(POL(1e-2), np.ones(2), journal=path)
    make_call(old, 0)
    new = Controller.resume(path)
    before, written = standing(old), path.read_bytes()
    with pytest.raises(ProtocolError, match="was taken over by another controller"):
        old.act([1.0, 2.0])
    with pytest.raises(ProtocolError, match="was taken over by another controller"):
        old.observe(1.0)
    assert same(standing(old), before)
    assert path.read_bytes() == written
    old.close()
    del old
    make_call(new, 1)
    assert Controller.resume(path).round == 1


def test_a_closed_controller_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Controller(FTM(), [0.0], journal=path) as controller:
        controller.act([1.0])
    before, written = standing(controller), path.read_bytes()
    with pytest.raises(ProtocolError, match="is closed"):
        controller.observe(1.0)
    assert same(standing(controller), before)
    assert path.read_bytes() == written
    controller.close()
    Controller.resume(path).observe(1.0)


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_journal_that_is_gone_stops_a_call_within_a_second_and_costs_none(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    controller = Controller(FTM(), [0.0], journal=path)
    controller.act([1.0])
    if how == "deleted":
        path.unlink()
    else:
        (tmp_path / "other").write_bytes(b"something else")
        (tmp_path / "other").rename(path)
    later = time.monotonic() + 1.5  # it looks once a second
    monkeypatch.setattr("soqo._storage.journal.monotonic", lambda: later)
    before = standing(controller)
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"journal .*journal is gone: save, and load"):
            controller.observe(1.0)
    assert same(standing(controller), before)
    saved = controller.save(tmp_path / "saved")
    Controller.load(saved, journal=tmp_path / "new").observe(1.0)
    assert Controller.resume(tmp_path / "new").round == 1


def test_a_controller_without_a_journal_has_nothing_to_close() -> None:
    with Controller(FTM(), [0.0]) as controller:
        controller.act([1.0])
    controller.observe(1.0)
    assert controller.round == 1


# ---- no room on the disk ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_full_disk_stops_a_call_and_spoils_nothing(durability: str, in_memory: Path) -> None:
    path = in_memory / f"full {durability}"
    command = [sys.executable, "-W", "error", str(HERE / "full_disk.py"), str(path), durability]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["calls that failed"] == 4 * counts["calls"]
    assert counts["snapshots put off"] > 0
    assert counts["snapshots"] > 1


def test_a_disk_that_fails_to_keep_a_call_stops_the_controller_until_it_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    controller = Controller(POL(1e-2), np.ones(2), journal=path)
    undisturbed = Controller(POL(1e-2), np.ones(2))
    for each in (controller, undisturbed):
        make_call(each, 0)

    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(journals, "to_disk", broken)
        with pytest.raises(OSError, match="Input/output error"):
            make_call(controller, 1)
    assert same(standing(controller), standing(undisturbed))
    with pytest.raises(ProtocolError, match="could not be put on the disk; resume it"):
        make_call(controller, 1)
    assert same(standing(controller), standing(undisturbed))
    # The call may have come as far as the disk, or not; here it has.
    make_call(undisturbed, 1)
    assert same(standing(Controller.resume(path)), standing(undisturbed))


# ---- killed ----------------------------------------------------------------------------------------------------------


def test_a_process_killed_at_any_moment_is_gone_on_with_to_the_bit(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(HERE / "kill_and_resume.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(done.stdout)
    assert counts["kills"] == 200
    assert 0 < counts["in mid-round"] < 200
    assert counts["rounds"] > 200
    assert counts["snapshots"] > 1


def test_a_call_that_was_interrupted_after_it_was_written_is_not_played_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = Controller(FTM(), [0.0], journal=tmp_path / "journal", durability="process")
    controller.act([1.0])
    controller.observe(0.5)
    append = Journal.append

    def interrupted(self: Journal, kind: bytes, payload: bytes, seconds: float = 0.0) -> None:
        append(self, kind, payload, seconds)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            controller.act([2.0])
    with pytest.raises(ProtocolError, match="the call before was interrupted"):
        controller.act([3.0])
    resumed = Controller.resume(tmp_path / "journal")
    np.testing.assert_array_equal(resumed.pending, [2.0])
    resumed.act([3.0])
