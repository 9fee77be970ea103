"""Attack the reading of saved controllers and journals with crafted files.

Each file has a correct checksum, so that only what it says can be wrong. It must be refused with a FileFormatError, in
less than 100 ms and 50 MB, without touching any open file.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import struct
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import soqo
from soqo._control.snapshot import decode_snapshot
from soqo._storage.checksummed import seal, unseal
from soqo._storage.journal import Journal
from soqo._storage.registry import _TAGS
from soqo.errors import FileFormatError

MAGIC = b"soqo-controller 1\n"
MAX_SECONDS, MAX_BYTES = 0.1, 50e6

POLICIES = (
    soqo.FTM(),
    soqo.GLIDE(),
    soqo.SCaLE(noise_cap=1.0, rank=1, min_eigenvalue=0.5, gamma2=1.0),
    soqo.POL(1e-3),
    soqo.RLS(),
    soqo.Guarded(soqo.FTM()),
)


def encoded(tree: Any, arrays: tuple[Any, ...] = (), data: bytes = b"") -> bytes:
    text = tree if isinstance(tree, bytes) else json.dumps({"soqo": "0.1.0", "tree": tree, "arrays": arrays}).encode()
    return struct.pack("<Q", len(text)) + text + data


def record(tag: str, version: int = 1, **fields: Any) -> dict[str, Any]:
    return {"tag": tag, "version": version, "fields": fields}


def crafted() -> Iterator[tuple[str, bytes]]:
    """Yield the files that were found by hand."""
    for name in ("soqo.journal:Journal", "soqo._storage.journal:Journal", "Journal"):
        fields: dict[str, Any] = {"path": "x", "durability": "disk", "_descriptor": 3}
        yield f"{name} with a descriptor", encoded({"class": name, "fields": fields})
        yield f"{name} with a tag", encoded(record(name, 0, **fields))
    yield "a large RandomProblem", encoded(record("RandomProblem", dim=10**9, rank=10**9, min_eigenvalue=1.0))
    spacing: dict[str, Any] = {"min_eigenvalue": 1.0, "max_eigenvalue": 2.0, "spacing": "linear"}
    yield "a larger RandomProblem", encoded(record("RandomProblem", dim=10**12, rank=10**12, **spacing))
    yield "an environment", encoded(record("Environment", problem=record("RandomProblem", dim=1, rank=1)))
    yield "the standard library", encoded(record("tempfile:TemporaryDirectory", 0))
    yield "another library", encoded(record("numpy:ndarray", 0, shape=[10**9]))
    yield "a process", encoded(record("subprocess:Popen", 0, args="true"))
    yield "deep lists", encoded(b'{"soqo": "0.1.0", "arrays": [], "tree": ' + b'{"list":[' * 5000 + b"]}" * 5000 + b"}")
    yield "deeper lists", encoded(b'{"soqo": "0.1.0", "arrays": [], "tree": ' + b"[" * 200_000 + b"]" * 200_000 + b"}")
    yield "a long integer", encoded(b'{"soqo": "0.1.0", "arrays": [], "tree": ' + b"9" * 100_000 + b"}")
    yield "a large integer", encoded(record("Controller", 2, missed=10**4000))
    yield "a version that is no integer", encoded(record("FTM", 1) | {"version": "1"})
    yield "a version that is a list", encoded(record("FTM", 1) | {"version": [1]})
    yield "a tag that is a list", encoded({"tag": ["FTM"], "version": 1, "fields": {}})
    yield "an array of objects", encoded({"array": "0"}, (("|O", [1], [0]),), b"12345678")
    yield "an array of bytes", encoded({"array": "0"}, (("|V1000000000", [1], [0]),), b"12345678")
    shapes: tuple[list[Any], ...] = ([10**9], [10**30], [-1], [2**40, 0], [1.5], ["x"], [[1]], [1] * 100)
    for shape in shapes:
        axes = list(range(len(shape)))
        yield f"an array of shape {shape}"[:60], encoded({"array": "0"}, (("<f8", shape, axes),), b"")
    yield "axes that are no permutation", encoded({"array": "0"}, (("<f8", [1, 1], [0, 0]),), b"12345678")
    yield "axes out of range", encoded({"array": "0"}, (("<f8", [1, 1], [7, 9]),), b"12345678")
    yield "no tree", encoded(b'{"soqo": "0.1.0", "arrays": []}')
    yield "a list", encoded(b"[]")
    yield "no text", b""
    yield "a length beyond the end", struct.pack("<Q", 2**63)
    yield "bytes that are no text", encoded(b"\xff\xfe" * 50)


VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**63, 10**30, 1.5, float("nan"), float("inf"), "x", ""),
    *([], {}, [1, 2], {"a": 1}),
)
RECORDS: tuple[Any, ...] = (
    *(record("FTM"), record("Gaussian", scale=1.0)),
    *({"tuple": []}, {"list": [1.0]}, {"mapping": {}}, {"array": "0"}),
)


def mutated(rng: Any, contents: bytes) -> bytes:
    """Return the encoded state of a controller with one change to its tree or its table of arrays."""
    (length,) = struct.unpack_from("<Q", contents)
    head, data = json.loads(contents[8 : 8 + length]), contents[8 + length :]
    places = list(_places(head))
    for _ in range(int(rng.integers(1, 3))):
        container, key = places[int(rng.integers(len(places)))]
        choice = rng.random()
        pool = VALUES if choice < 0.6 else RECORDS
        if choice < 0.15 and isinstance(container, dict):
            container.pop(key, None)
        elif choice < 0.2 and isinstance(container, dict):
            container["unknown"] = 1
        else:
            container[key] = pool[int(rng.integers(len(pool)))]
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + data


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, item in items:
        yield tree, key
        yield from _places(item)


def states() -> list[bytes]:
    """Return the encoded states of controllers in the middle of a round."""
    found: list[bytes] = []
    with tempfile.TemporaryDirectory() as folder:
        for policy in POLICIES:
            controller = soqo.Controller(policy, [0.0, 0.0], horizon=20, seed=1, low=-9.0, high=9.0)
            for t in range(4):
                controller.act([1.0 + t, 2.0 - t])
                controller.observe(0.5)
            controller.act([0.0, 1.0])
            path = controller.save(Path(folder, "state"))
            found.append(unseal(MAGIC, path.read_bytes(), path))
    return found


class Outcome:
    """What reading a file has led to."""

    def __init__(self, path: Path, read: Any) -> None:
        descriptors = _descriptors()
        begun = time.perf_counter()
        self.fault, self.refused = "", False
        try:
            read(path)
        except FileFormatError as error:
            self.refused = True
            if len(str(error)) > 2000:
                self.fault = f"a message of {len(str(error))} characters"
        except Exception as error:  # any other error is a fault
            self.fault = f"{type(error).__name__}: {str(error)[:200]}"
        self.seconds = time.perf_counter() - begun
        if _descriptors() != descriptors:
            self.fault = "the open files have changed"


def _descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))[:-1] if os.path.isdir("/proc/self/fd") else []


def _load(path: Path) -> None:
    soqo.Controller.load(path)


def _resume(path: Path) -> None:
    soqo.Controller.resume(path, durability="process").close()


def check(name: str, state: bytes, folder: Path, *, must_refuse: bool) -> list[str]:
    """Return the faults of reading one state as a saved controller and as a journal."""
    saved, journal = folder / "saved", folder / "journal"
    saved.write_bytes(seal(MAGIC, state))
    journal.unlink(missing_ok=True)
    Journal.create(journal, "process", state).close()
    faults: list[str] = []
    for path, read in ((saved, _load), (journal, _resume)):
        outcome = Outcome(path, read)
        if outcome.seconds > MAX_SECONDS:  # once more, since the machine may have been busy
            outcome.seconds = min(outcome.seconds, Outcome(path, read).seconds)
        tracemalloc.start()
        Outcome(path, read)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if outcome.fault:
            faults.append(f"{name} ({path.name}): {outcome.fault}")
        elif must_refuse and not outcome.refused:
            faults.append(f"{name} ({path.name}): was read")
        if outcome.seconds > MAX_SECONDS or peak > MAX_BYTES:
            faults.append(f"{name} ({path.name}): {outcome.seconds:.3f} s, {peak / 1e6:.1f} MB")
    return faults


def run(seed: int, count: int) -> tuple[list[str], int, int]:
    """Attack with all crafted files and some generated ones; return the faults, and how many were read and refused.

    A generated change may leave a file that is still valid, such as another finite position.
    """
    rng = np.random.default_rng([20, seed])
    faults: list[str] = []
    read = refused = 0
    originals = states()
    # In memory if possible: creating a journal waits for the disk.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
        folder = Path(name)
        for what, state in crafted():
            faults += check(what, state, folder, must_refuse=True)
        while refused < count:
            state = mutated(rng, originals[int(rng.integers(len(originals)))])
            try:
                decode_snapshot(state, "generated", alone=True)
                read += 1
            except FileFormatError:
                refused += 1
            except Exception as error:
                faults.append(f"decode: {type(error).__name__}: {error}")
            faults += check(f"generated file {read + refused}", state, folder, must_refuse=False)
    return faults, read, refused


def large_constructors() -> list[str]:
    """Return the registered classes whose constructors take much memory for a large integer."""
    faults: list[str] = []
    for tag, entry in sorted(_TAGS.items()):
        for size in (10**6, 10**9, 10**12):
            fields: dict[str, Any] = {}
            for field in dataclasses.fields(entry.kind):
                if field.init:
                    fields[field.name] = size if "int" in str(field.type) else 1.0
            tracemalloc.start()
            with suppress(Exception):  # most do not accept such fields
                entry.kind(**fields)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            if peak > 1e6:
                faults.append(f"{tag}: {peak / 1e6:.1f} MB for {size}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000, help="the number of generated files to be refused")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    faults, read, refused = run(arguments.seed, arguments.count)
    faults += large_constructors()
    for fault in faults[:50]:
        print(fault)
    print(
        f"files: {len(list(crafted()))} crafted and {read + refused} generated ({refused} refused), {len(faults)} "
        f"faults, {time.perf_counter() - begun:.0f} s"
    )
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
