"""The regret of GLIDE at d = 20 beside that of another version of soqo, in the same paths.

    python benchmarks/against_version.py PATH/src                                 all settings, 8 runs each (20 minutes)
    python benchmarks/against_version.py PATH/src --settings "r=20, Cauchy" --runs 40 --first 2000      one, 40 runs

PATH is a checkout of the other version, such as the tag of 0.1.0. It plays in a process of its own, from the minimizers
and the noise that this version has drawn. With Cauchy steps a single jump may be most of the regret of a run, so that
the geometric mean over the runs of the ratio of both regrets says more than medians do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import soqo

if TYPE_CHECKING:
    from soqo.typing import Array  # which other versions may not have


def play(A: Array, v: Array, noise: Array) -> Any:
    """Return the path of GLIDE, of the version that this process has on its path."""
    rounds, d = v.shape
    policy, positions = soqo.GLIDE(), np.empty_like(v)
    state = policy.start(np.zeros(d), rounds)
    for t in range(rounds):
        positions[t], state = policy.act(state, v[t])
        u = positions[t] - v[t]
        state = policy.observe(state, float(0.5 * u @ A @ u + noise[t]))
    return positions


def cost(A: Array, v: Array, x: Array) -> float:
    """Return the cost of a path from the origin."""
    u, steps = x - v, np.diff(x, axis=0, prepend=0.0)
    return float(0.5 * np.einsum("ti,ij,tj->", u, A, u) + 0.5 * np.square(steps).sum())


def answer(files: list[str]) -> None:
    """Print the costs of GLIDE in stored runs."""
    for file in files:
        with np.load(file) as run:
            A, v, noise = run["A"], run["v"], run["noise"]
        print(json.dumps(cost(A, v, play(A, v, noise))), flush=True)


def costs(files: list[Path], source: str | None) -> Array:
    """Return the costs of GLIDE in stored runs, of this version or of another one."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = source
    command = [sys.executable, "-W", "ignore", __file__, "--answer", *map(str, files)]
    done = subprocess.run(command, env=environment, text=True, check=True, stdout=subprocess.PIPE)
    return np.array([json.loads(line) for line in done.stdout.splitlines()])


def compare(setting: Any, runs: range, other: str) -> str:
    """Return a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        files, best = [], []
        for run in runs:
            paths = setting.environment().draw(setting.horizon, 1, seed=0, first_run=run)
            A, v = np.reshape(paths.problem.A, (setting.dim, setting.dim)), paths.v[0]
            noise = np.random.default_rng([1, run]).uniform(-10.0, 10.0, setting.horizon)
            files.append(Path(folder) / f"{run}.npz")
            np.savez(files[-1], A=A, v=v, noise=noise)
            best.append(cost(A, v, soqo.Plan(A, horizon=setting.horizon).path(np.zeros(setting.dim), v)))
        before, now = (costs(files, source) - np.array(best) for source in (other, None))
    ratio = now / before
    medians = np.median(before), np.median(now)
    cells = [*(f"{median:.3g}" for median in medians), f"{medians[1] / medians[0]:.2f}"]
    cells += [f"{np.exp(np.log(ratio).mean()):.2f}", f"{ratio.min():.2f} to {ratio.max():.2f}"]
    return " | ".join(cells)


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["--answer"]:
        answer(sys.argv[2:])
        return
    from many_dimensions import OTHERS  # not by the other version

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", help="the folder of the sources of the other version")
    parser.add_argument("--settings", default="", help="a part of the names of settings")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="the first run")
    given = parser.parse_args()
    runs = range(given.first, given.first + given.runs)
    print(f"| runs {runs[0]} to {runs[-1]} | other | this | ratio | geometric mean | single runs |")
    print("|---|--:|--:|--:|--:|--:|")
    for setting in OTHERS:
        if given.settings in setting.name:
            print(f"| {setting.name} | {compare(setting, runs, given.other)} |", flush=True)


if __name__ == "__main__":
    main()
