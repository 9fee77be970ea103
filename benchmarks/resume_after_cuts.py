"""How long a resume takes after a crash of a process with a large journal: python benchmarks/resume_after_cuts.py.

GLIDE steers a plant of d = 10 until its journal has 26 MB. What crashes after random rounds and just before some
snapshots (where the most calls are to be replayed) would leave is resumed in fresh processes. Printed are the share of
the time that snapshots take, and the times of the resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

from soqo import GLIDE, Controller

Crash = tuple[int, Path]
"""The length of a journal, and a copy of the file beside it, which may be missing."""

RESUME = """
import json, sys, time
from soqo import Controller
begun, processor = time.perf_counter(), time.process_time()
controller = Controller.resume(sys.argv[1], durability="process")
print(json.dumps([time.perf_counter() - begun, time.process_time() - processor]))
"""


def write_journal(path: Path, size: int, dim: int) -> tuple[list[Crash], list[Crash]]:
    """Steer a plant until its journal has so many bytes, and print what snapshots cost.

    Return what crashes would leave just before each snapshot, and after every hundredth round.
    """
    rng = np.random.default_rng(0)
    root = rng.standard_normal((dim, dim))
    A, v = root @ root.T / dim, np.zeros(dim)
    beside, latest = path.with_name(f"{path.name}.snapshot"), path.with_name("0")
    times, with_snapshot, end = [], [], 0  # times of the processor, since others may use it, too
    before_snapshots: list[Crash] = []
    anywhere: list[Crash] = []
    written = 0
    controller = Controller(GLIDE(), v, journal=path, durability="process")
    while end < size:
        v = v + 5.0 * rng.standard_normal(dim)
        begun = process_time()
        u = controller.act(v) - v
        controller.observe(float(0.5 * u @ A @ u + rng.uniform(-5.0, 5.0)))
        times.append(process_time() - begun)
        end = os.path.getsize(path)
        changed = beside.stat().st_mtime_ns if beside.exists() else 0
        with_snapshot.append(changed > written)
        if changed > written:
            before_snapshots.append((end, latest))
            written, latest = changed, path.with_name(str(len(times)))
            shutil.copyfile(beside, latest)
        elif len(times) % 100 == 0:
            anywhere.append((end, latest))
    rounds, spent = np.array(times), np.array(with_snapshot)
    # The work of a round shrinks with time: a round with a snapshot is compared with its neighbors.
    near = np.array([np.median(rounds[max(0, t - 5) : t + 6]) for t in np.flatnonzero(spent)])
    share = np.maximum(rounds[spent] - near, 0.0).sum() / rounds.sum()
    print(f"{len(rounds)} rounds of d = {dim}, {1e3 * rounds.mean():.2f} ms each; ", end="")
    print(
        f"{end / 1e6:.0f} MB, {end / len(rounds):.0f} bytes a round, and {beside.stat().st_size / 1e6:.1f} MB beside; "
    )
    print(f"{len(before_snapshots)} snapshots, which take {100.0 * share:.1f} % of the time", flush=True)
    return before_snapshots, anywhere


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description="Measure resumes after many crashes.")
    parser.add_argument("--megabytes", type=int, default=26)
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--cuts", type=int, default=30)
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "journal", Path(folder) / "crashed"
        seconds = []
        for crashes in write_journal(path, given.megabytes * 10**6, given.dim):
            for k in rng.choice(len(crashes), min(given.cuts, len(crashes)), replace=False).tolist():
                cut, latest = crashes[k]
                shutil.copyfile(path, copy)
                os.truncate(copy, cut)
                beside = copy.with_name(f"{copy.name}.snapshot")
                beside.unlink(missing_ok=True)
                if latest.exists():
                    shutil.copyfile(latest, beside)
                command = [sys.executable, "-c", RESUME, str(copy)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                seconds.append(json.loads(done.stdout))
        for name, column in zip(("by the clock", "of the processor"), np.transpose(seconds), strict=True):
            print(f"{len(column)} resumes, {name}: median {np.median(column):.2f} s, worst {column.max():.2f} s")


if __name__ == "__main__":
    main()
