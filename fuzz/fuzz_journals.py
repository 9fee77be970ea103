"""Attack journals with cuts, flipped bits, and bytes made to look like records.

A journal that was cut anywhere gives the calls before the cut. A journal with a flipped bit gives the calls before it
if the bit is in the last record, where a crash could have been, and is refused otherwise. Neither takes long.
"""

from __future__ import annotations

import argparse
import struct
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import soqo
from soqo._storage.journal import Journal
from soqo._storage.journal_format import Contents, read, read_all
from soqo._storage.journal_records import ACT, INITIAL_CHECKSUM, MAGIC, MARK, OBSERVE, SNAPSHOT, Record, records_from
from soqo.errors import FileFormatError

LARGE_BYTES, MAX_SECONDS = 66_000_000, 2.0


def write_controller(path: Path, policy: Any, *, seed: int) -> None:
    """Write a journal with plain calls, calls with parts, missed readings, snapshots and two closing records."""
    rng = np.random.default_rng([21, seed])
    controller = soqo.Controller(policy, [0.0, 0.0], journal=path, durability="process", snapshot_every=7)
    for t in range(24):
        v = rng.standard_normal(2)
        controller.act(v, forecast=[v, v] if t % 5 == 3 else None, context=[1.0] if t % 6 == 2 else None)
        if t % 4:
            controller.observe(float(rng.uniform(0.0, 2.0)), applied=v if t % 7 == 0 else None)
        if t in (9, 17):
            controller.close()
            controller = soqo.Controller.resume(path, durability="process", snapshot_every=7)
    controller.close()


def write_fleet(path: Path, *, seed: int) -> None:
    rng = np.random.default_rng([22, seed])
    fleet = soqo.Fleet(
        soqo.FTM(), rng.standard_normal((3, 2)), names=["a", "b", "c"], journal=path, durability="process"
    )
    for t in range(12):
        names = ["a", "b", "c"][: 1 + t % 3]
        fleet.act(rng.standard_normal((len(names), 2)), plants=names)
        fleet.observe(rng.uniform(0.0, 1.0, len(names)), plants=names)
    fleet.close()


def journals(folder: Path) -> list[bytes]:
    """Return the bytes of some journals."""
    found = []
    policies = (soqo.FTM(), soqo.RLS(), soqo.SCaLE(noise_cap=1.0, rank=1, min_eigenvalue=0.5, gamma2=1.0, c1=2.0))
    for k, policy in enumerate(policies):
        path = folder / f"controller{k}"
        write_controller(path, policy, seed=k)
        found.append(path.read_bytes())
    path = folder / "fleet"
    write_fleet(path, seed=0)
    found.append(path.read_bytes())
    return found


def is_prefix(contents: Contents, records: list[Record], last: int) -> bool:
    """Return whether contents are those of the first records, up to the one with this number."""
    expected = [record for record in records[: last + 1] if record.kind == SNAPSHOT][-1]
    if contents.state != expected.payload[len(MARK) + 16 :] or contents.end != records[last].end:
        return False
    calls = [record for record in records[: last + 1] if record.start > expected.start and record.kind not in b"SC"]
    return contents.records == calls


def attack_cut(data: bytes, records: list[Record], at: int) -> str:
    whole = [number for number, record in enumerate(records) if record.end <= at]
    try:
        contents = read(data[:at], "cut")
    except FileFormatError:
        return "" if not whole else f"a cut at byte {at} of {len(data)} is refused"
    if not whole or not is_prefix(contents, records, whole[-1]):
        return f"a cut at byte {at} of {len(data)} gives other calls"
    return ""


def attack_flip(data: bytes, records: list[Record], at: int, bit: int) -> str:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    hit = next((number for number, record in enumerate(records) if record.start <= at < record.end), -1)
    what = f"bit {bit} of byte {at} of {len(data)}"
    for name, reader in (("read", lambda: read(bytes(changed), "flip")), ("read_all", lambda: _all(bytes(changed)))):
        try:
            found = reader()
        except FileFormatError:
            if hit == len(records) - 1 and hit > 0 and not _looks_longer(records[hit], at):
                return f"{name}: {what}, in the last record, is refused"
            continue
        if hit != len(records) - 1:
            return f"{name}: {what} is not noticed"
        if isinstance(found, Contents) and not is_prefix(found, records, hit - 1):
            return f"{name}: {what} gives other calls"
    return ""


def _looks_longer(record: Record, at: int) -> bool:
    """Return whether a flip is in the head of a record, so that another one may end where it ends."""
    return at < record.start + 5


def _all(data: bytes) -> int:
    _, records = read_all(data, "flip")
    return len(list(records))


def run(seed: int, count: int) -> tuple[list[str], int]:
    """Attack small journals with cuts and flips; return the faults and the number of attacks."""
    rng = np.random.default_rng([23, seed])
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        files = journals(Path(folder))
    parsed = [list(records_from(data, len(MAGIC), INITIAL_CHECKSUM)) for data in files]
    done = 0
    if count >= sum(map(len, files)):
        for data, records in zip(files, parsed, strict=True):
            faults += filter(None, (attack_cut(data, records, at) for at in range(len(data))))
            done += len(data)
    while done < count:
        k = int(rng.integers(len(files)))
        data, records = files[k], parsed[k]
        at = int(rng.integers(len(data)))
        faults += filter(None, [attack_flip(data, records, at, int(rng.integers(8)))])
        done += 1
    return faults, done


# ---- time ------------------------------------------------------------------------------------------------------------


def large_journal(path: Path, size: int, state_bytes: int) -> bytes:
    """Return a journal of a given size, with snapshots of random numbers, whose bytes have every form."""
    rng = np.random.default_rng(24)
    state = rng.standard_normal(state_bytes // 16).tobytes() + rng.integers(0, 300, state_bytes // 16).tobytes()
    journal = Journal.create(path, "process", state)
    call = rng.standard_normal(80).tobytes()
    while path.stat().st_size < size:
        journal.append(ACT, call)
        journal.append(OBSERVE, call[:8])
        if journal.snapshot_is_due:
            journal.snapshot(state)
    journal.close()
    return path.read_bytes()


def lookalikes(data: bytes, length: int) -> list[bytes]:
    """Return ends of journals that were made to have the form of many records."""
    # With this length, each position is followed by another one, and the payload has a whole number of float64.
    chained = next(size for size in range(length // 2, length) if size % 8 == 0 and (size + 9) % 5 == 0)
    heads = [
        bytes([kind]) + struct.pack("<I", size) for kind in b"AOaojlrPRJBLSC" for size in (chained, length - 9 * 40, 16)
    ]
    tails = [head * (length // 5) for head in heads]
    tails.append((b"S" + struct.pack("<I", length // 2) + MARK) * (length // 21))
    return [data + b"\0" + tail for tail in tails]


def slow(name: str, data: bytes, limit: float) -> tuple[list[str], float]:
    """Return a fault if a file takes too long to read, and the time."""
    best = np.inf
    for _ in range(2):  # once more, since the machine may have been busy
        begun = time.perf_counter()
        with suppress(FileFormatError):
            read(data, name)
        best = min(best, time.perf_counter() - begun)
        if best <= limit:
            return [], best
    return [f"{name}: {best:.2f} s"], best


def run_times(seed: int, size: int, count: int) -> tuple[list[str], float]:
    """Read large journals that were cut, flipped or made to look like records; return the faults and the longest."""
    rng = np.random.default_rng([25, seed])
    faults: list[str] = []
    longest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for state_bytes in (size // 3, size // 60, size // 2000):
            data = large_journal(Path(folder, str(state_bytes)), size, state_bytes)
            records = list(records_from(data, len(MAGIC), INITIAL_CHECKSUM))
            cuts = rng.integers(len(MAGIC), len(data), count).tolist()
            # In the middle of the last snapshots, where the largest incomplete record is.
            cuts += [(record.start + record.end) // 2 for record in records if record.kind == SNAPSHOT][-3:]
            for at in cuts:
                found, seconds = slow(f"a cut at byte {at} of {len(data)}", data[:at], MAX_SECONDS)
                faults, longest = faults + found, max(longest, seconds)
            for at in rng.integers(len(MAGIC), len(data), count).tolist():
                changed = bytearray(data)
                changed[at] ^= 0x10
                found, seconds = slow(f"a flip at byte {at} of {len(data)}", bytes(changed), 2 * MAX_SECONDS)
                faults, longest = faults + found, max(longest, seconds)
        short = large_journal(Path(folder, "short"), 10_000, 1000)
        for k, data in enumerate(lookalikes(short, 400_000)):
            found, seconds = slow(f"lookalike {k}", data, MAX_SECONDS)
            faults, longest = faults + found, max(longest, seconds)
    return faults, longest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000, help="the number of cuts and flips")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    faults, done = run(arguments.seed, arguments.count)
    slow_faults, longest = run_times(arguments.seed, LARGE_BYTES, 12)
    faults += slow_faults
    for fault in faults[:50]:
        print(fault)
    seconds = time.perf_counter() - begun
    print(
        f"journals: {done} cuts and flips, {len(faults)} faults; the longest read of {LARGE_BYTES / 1e6:.0f} MB took "
        f"{longest:.2f} s; {seconds:.0f} s"
    )
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
