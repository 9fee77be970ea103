"""The processor time of GLIDE per round and run, beside that of another version of soqo.

    python benchmarks/glide_speed.py                              this version (minutes)
    python benchmarks/glide_speed.py --against PATH/src           another version of soqo beside it
    python benchmarks/glide_speed.py --rows "d=4, one stream"     some of the rows

Eigenvalues are 1..4, steps of 50, noise up to 10; runs of 1,000 rounds (1,000 runs: of 200 rounds). The contenders take
turns, and each row is the best of several passes. Each pass has processes of its own, since the place of its memory
makes a process faster or slower by a few percent, and begins with rounds that are not counted. The second table has the
first 50 rounds alone."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

ROWS: dict[str, tuple[int, int, int, int]] = {
    "d=4, one stream": (4, 4, 0, 1000),
    "d=4, r=1, one stream": (4, 1, 0, 1000),
    "d=6, one stream": (6, 6, 0, 1000),
    "d=10, one stream": (10, 10, 0, 1000),
    "d=10, r=2, one stream": (10, 2, 0, 1000),
    "d=20, one stream": (20, 20, 0, 300),
    "d=4, 20 runs": (4, 4, 20, 1000),
    "d=4, 1,000 runs": (4, 4, 1000, 200),
    "d=10, 20 runs": (10, 10, 20, 300),
}
"""Dimension, rank, number of runs (0 for one stream) and of rounds."""


def curvatures(rng: np.random.Generator, d: int, rank: int, count: int) -> Any:
    """Return random matrices with eigenvalues from 1 to 4."""
    Q = np.linalg.qr(rng.standard_normal((count, d, d)))[0][:, :, :rank]
    return (Q * np.linspace(1.0, 4.0, rank)) @ Q.mT


def measure(d: int, rank: int, runs: int, rounds: int) -> Any:
    """Return the processor time of each round, in microseconds per run."""
    from soqo import GLIDE  # of the version that this process has on its path

    rng = np.random.default_rng(0)
    A, shape = curvatures(rng, d, rank, runs or 1), (runs, d) if runs else (d,)
    policy, v, times = GLIDE(), np.zeros(shape), np.empty(rounds)
    state = policy.start(np.zeros(shape))
    for t in range(rounds):
        v = v + 50.0 * rng.standard_normal(shape)
        began = time.process_time()
        x, state = policy.act(state, v)
        acted = time.process_time()
        u = np.reshape(x - v, (-1, d))
        y = 0.5 * np.vecdot(u, np.matvec(A, u)) + rng.uniform(-10.0, 10.0, len(u))
        resumed = time.process_time()
        state = policy.observe(state, y if runs else float(y[0]))
        times[t] = time.process_time() - resumed + acted - began
    return 1e6 * times / (runs or 1)


def answer(row: str) -> None:
    """Print the mean times of all rounds and of the first 50."""
    d, rank, runs, rounds = ROWS[row]
    measure(d, rank, runs, min(rounds, 60))
    times = measure(d, rank, runs, rounds)
    print(json.dumps([float(times.mean()), float(times[:50].mean())]))


def ask(row: str, source: str | None) -> Any:
    """Measure a row in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = source
    command = [sys.executable, "-W", "ignore", __file__, "--answer", row]
    return json.loads(subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, check=True).stdout)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", help="the folder of the sources of another version")
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS), metavar="ROW")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer:
        answer(given.answer)
        return
    contenders: dict[str, str | None] = {"this version": None}
    if given.against:
        contenders = {"other version": given.against, **contenders}
    found: dict[str, dict[str, Any]] = {}
    for row in given.rows:
        passes = [[ask(row, source) for source in contenders.values()] for _ in range(given.passes)]
        found[row] = dict(zip(contenders, np.min(passes, axis=0).tolist(), strict=True))
    for index, what in enumerate(("microseconds per round and run", "the first 50 rounds")):
        print(f"{what:<34}" + "".join(f"{name:>15}" for name in contenders))
        for row, times in found.items():
            cells = ""
            for name, pair in times.items():
                ratio = f" ({times['other version'][index] / pair[index]:.2f}x)" if given.against and index == 0 else ""
                cells += f"{pair[index]:.4g}{ratio if name != 'other version' else ''}".rjust(15)
            print(f"{row:<34}{cells}")
        print()


if __name__ == "__main__":
    main()
