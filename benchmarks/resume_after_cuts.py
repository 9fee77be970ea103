"""How long a resume takes after a cut at any byte of a large journal: python benchmarks/resume_after_cuts.py.

GLIDE steers a plant of d = 10 until its journal has 66 MB. Copies of the journal, cut at random bytes and just before
each of some snapshots (where the most calls are to be replayed), are resumed in fresh processes. Printed are the share
of the time that snapshots take, and the times of the resumes.
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

RESUME = """
import json, sys, time
from soqo import Controller
begun, processor = time.perf_counter(), time.process_time()
controller = Controller.resume(sys.argv[1], durability="process")
print(json.dumps([time.perf_counter() - begun, time.process_time() - processor]))
"""


def write_journal(path: Path, size: int, dim: int) -> list[int]:
    """Steer a plant until its journal has so many bytes, print what snapshots cost, and return where they begin."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((dim, dim))
    A, v = root @ root.T / dim, np.zeros(dim)
    record = 16 * dim + 9  # of an action; that of a reading is shorter, and a snapshot much longer
    times, with_snapshot, snapshots, end = [], [], [], 0  # times of the processor, since others may use it, too
    controller = Controller(GLIDE(), v, journal=path, durability="process")
    while end < size:
        v = v + 5.0 * rng.standard_normal(dim)
        before = os.path.getsize(path)
        begun = process_time()
        u = controller.act(v) - v
        middle = os.path.getsize(path)
        controller.observe(float(0.5 * u @ A @ u + rng.uniform(-5.0, 5.0)))
        times.append(process_time() - begun)
        end = os.path.getsize(path)
        with_snapshot.append(end - before > 2 * record)
        if middle - before > record:
            snapshots.append(before + record)
        elif end - middle > record:
            snapshots.append(middle + 17)
    rounds, spent = np.array(times), np.array(with_snapshot)
    # The work of a round shrinks with time: a round with a snapshot is compared with its neighbors.
    near = np.array([np.median(rounds[max(0, t - 5) : t + 6]) for t in np.flatnonzero(spent)])
    share = np.maximum(rounds[spent] - near, 0.0).sum() / rounds.sum()
    print(f"{len(rounds)} rounds of d = {dim}, {1e3 * rounds.mean():.2f} ms each; ", end="")
    print(f"{end / 1e6:.0f} MB, {end / len(rounds):.0f} bytes a round; ", end="")
    print(f"{len(snapshots)} snapshots, which take {100.0 * share:.1f} % of the time", flush=True)
    return snapshots


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description="Measure resumes of a journal that is cut at many places.")
    parser.add_argument("--megabytes", type=int, default=66)
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--cuts", type=int, default=30)
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "journal", Path(folder) / "cut"
        snapshots = write_journal(path, given.megabytes * 10**6, given.dim)
        size, seconds = path.stat().st_size, []
        before = rng.choice(snapshots, min(given.cuts, len(snapshots)), replace=False) + 3
        anywhere = rng.integers(snapshots[0], size, given.cuts)
        for cut in [*before.tolist(), *anywhere.tolist(), size]:
            shutil.copyfile(path, copy)
            os.truncate(copy, cut)
            command = [sys.executable, "-c", RESUME, str(copy)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds.append(json.loads(done.stdout))
        for name, column in zip(("by the clock", "of the processor"), np.transpose(seconds), strict=True):
            print(f"{len(column)} resumes, {name}: median {np.median(column):.2f} s, worst {column.max():.2f} s")


if __name__ == "__main__":
    main()
