"""GLIDE of this version beside that of another one, on the same paths: regret, false alarms, processor time.

    python benchmarks/learner.py --other PATH/src                              all blocks (hours)
    python benchmarks/learner.py --other PATH/src --quick --blocks loads       few runs, some of: starts, settings,
                                                                               loads, changes, many, few, alarms, speed
    python benchmarks/learner.py --other PATH/src --rows "offset 20" --seed 2  some rows, on other paths
    python benchmarks/learner.py --other PATH/src --cache DIR                  keep what the other version has played
    python benchmarks/learner.py --other PATH/src --cache DIR --fill           and play nothing else

PATH is a checkout of the other version. Each version plays in a process of its own, by NumPy and with one thread, from
stored paths that leave nothing to chance. Regret is the cost above that of the player who knows A, its changes and the
true v. Up to 12 dimensions all runs are one batch, above it each is a stream. The geometric means leave out rows where
one of both is not positive. "alarms" is the share of runs with an alarm, "us" the mean processor time per round and
run. Rows of d = 300 are played if --rows has "300". What is kept belongs to the paths and to the sources of the other
version: it is played anew if they differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import soqo

if TYPE_CHECKING:
    from soqo.typing import Array  # which other versions may not have

MAX_BATCH_DIM = 12
CAP = 10.0
WARM_UP, FIRST = 60, 50

Stored = dict[str, Any]
"""Arrays: A (k, runs, d, d) from the rounds ``first`` (k,) on; v, told (T, runs, d); added, factor (T, runs). A reading
is factor (hitting cost + added), or the last one again where the factor is NaN."""

Answer = dict[str, Any]
"""What a version has done: costs and alarms of the runs, microseconds of the rounds, peak memory in MB."""

Series = Callable[[np.random.Generator, int], Any]
"""Draws one number for each round of a run."""


class Row(NamedTuple):
    """A row of a table: how to draw its paths from a seed and a number of runs, which is free where ``runs`` is 0."""

    name: str
    dim: int
    draw: Callable[[int, int], Stored]
    runs: int = 0


def play(paths: Stored, rounds: int, horizon: int | None) -> tuple[Array, Array, Array]:
    """Return the positions of GLIDE, its alarms, and the processor time of each round in seconds."""
    policy, positions, times = soqo.GLIDE(), np.empty_like(paths["v"][:rounds]), np.empty(rounds)
    segment = np.searchsorted(paths["first"], np.arange(rounds), side="right") - 1
    state, last = policy.start(np.zeros(positions.shape[1:]), horizon), np.zeros(positions.shape[1:-1])
    for t in range(rounds):
        began = time.process_time()
        x, state = policy.act(state, paths["told"][t])
        acted = time.process_time()
        u, factor = x - paths["v"][t], paths["factor"][t]
        reading = 0.5 * np.vecdot(u, np.matvec(paths["A"][segment[t]], u)) + paths["added"][t]
        last, positions[t] = np.where(np.isnan(factor), last, factor * reading), x
        y = last if last.ndim else float(last)
        resumed = time.process_time()
        state = policy.observe(state, y)
        times[t] = time.process_time() - resumed + acted - began
    return positions, np.asarray(policy.diagnostics(state).get("alarms", math.nan), dtype=float), times


def costs(paths: Stored, x: Array) -> Array:
    """Return the total cost of each run."""
    u, steps = x - paths["v"], np.diff(x, axis=0, prepend=0.0)
    total = 0.5 * np.square(steps).sum(axis=(0, -1))
    for A, begin, end in zip(paths["A"], paths["first"], [*paths["first"][1:], len(x)], strict=True):
        total = total + 0.5 * np.vecdot(u[begin:end], np.matvec(A, u[begin:end])).sum(axis=0)
    return np.asarray(total)


def peak_memory() -> float:
    """Return the peak memory of this process in MB; on Linux without that of the process which started it."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024.0 if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0**2


def answer(file: str, timed: bool) -> None:
    """Print what the version on the path of this process does in stored paths; if timed, for an endless horizon."""
    with np.load(file) as stored:
        paths = {name: stored[name] for name in stored.files}
    rounds, runs, dim = paths["v"].shape
    parts: list[Any] = [slice(None)] if runs > 1 and dim <= MAX_BATCH_DIM else list(range(runs))
    total, alarms, seconds = [], [], np.zeros(rounds)
    for part in parts:
        own = {name: value if name == "first" else value[:, part] for name, value in paths.items()}
        if timed:
            play(own, min(rounds, WARM_UP), None)
        x, raised, times = play(own, rounds, None if timed else rounds)
        total += np.atleast_1d(costs(own, x)).tolist()
        alarms += np.atleast_1d(raised).tolist()
        seconds += times
    us = (1e6 * seconds / runs).tolist()
    print(json.dumps({"costs": total, "alarms": alarms, "us": us, "peak": peak_memory()}))


def ask(file: Path, source: str | None, timed: bool = False) -> Answer:
    """Let a version play stored paths in a process of its own."""
    environment = {**os.environ, "SOQO_FAST": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = source
    command = [sys.executable, "-W", "ignore", __file__, "--answer", str(file), str(int(timed))]
    done = subprocess.run(command, env=environment, text=True, check=True, stdout=subprocess.PIPE)
    result: Answer = json.loads(done.stdout)
    return result


def ask_other(file: Path, name: str, paths: Stored, given: argparse.Namespace) -> Answer:
    """Let the other version play, unless what it has played is kept."""
    if given.cache is None:
        return ask(file, given.other)
    sources = sorted((Path(given.other) / "soqo").rglob("*.py"))
    parts = [*(source.read_bytes() for source in sources), *(value.tobytes() for value in paths.values())]
    digest = hashlib.sha256(b"".join(parts)).hexdigest()
    kept = Path(given.cache) / (re.sub(r"[^a-z0-9.]+", "-", name.lower()) + ".json")
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    if found.get("digest") != digest:
        found = {"digest": digest, "answer": ask(file, given.other)}
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(found))
        unfinished.replace(kept)
    result: Answer = found["answer"]
    return result


def best_costs(paths: Stored) -> Array:
    """Return the costs of the player who knows A, its changes and the true v."""
    v, A = paths["v"], paths["A"]
    if len(A) == 1:
        x = soqo.Plan(A[0], horizon=len(v)).path(np.zeros(v.shape[1:]), np.moveaxis(v, 0, 1))
        return costs(paths, np.moveaxis(x, 1, 0))
    segment = np.searchsorted(paths["first"], np.arange(len(v)), side="right") - 1
    eye, gains, x = np.eye(v.shape[-1]), np.empty((len(v), *A.shape[1:])), np.empty_like(v)
    C = eye
    for t in reversed(range(len(v))):
        C = gains[t] = np.linalg.inv(2.0 * eye + A[segment[t]] - C)
    position = np.zeros(v.shape[1:])
    for t in range(len(v)):
        position = x[t] = v[t] + np.matvec(gains[t], position - v[t])
    return costs(paths, x)


def series(draw: Series, seed: int, purpose: int, rounds: int, runs: int) -> Any:
    """Draw numbers for some runs, shape (rounds, runs)."""
    return np.stack([draw(np.random.default_rng([seed, purpose, run]), rounds) for run in range(runs)], axis=1)


def draw(environment: soqo.Environment, rounds: int, seed: int, runs: int, **extra: Any) -> Stored:
    """Draw the paths of an environment; extra: the series ``load`` and ``glitch``, and a round and a factor of A."""
    load, glitch, scale = (extra.get(name) for name in ("load", "glitch", "scale"))
    drawn = environment.draw(rounds, runs, seed=seed)
    problems = [(0, drawn.problem), *drawn.later]
    first, A = [t for t, _ in problems], [problem.A for _, problem in problems]
    if scale is not None:
        first, A = [*first, scale[0] - 1], [*A, scale[1] * A[-1]]
    added = drawn.noise.perturb(drawn.variates, np.zeros_like(drawn.v), drawn.problem).T
    v, told = (np.ascontiguousarray(np.moveaxis(path, 0, 1)) for path in (drawn.v, drawn.told))
    added = added if load is None else added + series(load, seed, 1, rounds, runs)
    factor = np.ones((rounds, runs)) if glitch is None else series(glitch, seed, 2, rounds, runs)
    return {"A": np.stack(A), "first": np.array(first), "v": v, "told": told, "added": added, "factor": factor}


def plant(dim: int, steps: float, rank: int | None = None, **options: Any) -> soqo.Environment:
    """Return an environment with eigenvalues from 1 to 4 and, unless given, noise up to 10."""
    problem = soqo.RandomProblem(dim, rank or dim, min_eigenvalue=1.0, max_eigenvalue=4.0)
    noise = options.pop("noise", None) or soqo.noise.Uniform(CAP)
    return soqo.Environment(problem, soqo.processes.Gaussian(steps), noise, **options)


def start_rows() -> Iterator[Row]:
    """Yield plants at rest: the first ten steps of v are only this share of the usual ones."""

    def rest(environment: soqo.Environment, share: float, rounds: int, load: Series, seed: int, runs: int) -> Stored:
        paths = draw(environment, rounds, seed, runs, load=load)
        for name in ("v", "told"):
            paths[name] = paths[name] - (1.0 - share) * paths[name][np.minimum(np.arange(rounds), 10)]
        return paths

    for share in (1e-1, 1e-3):
        for level in (0.0, 500.0):
            load = soqo.meters.BaseLoad(level=level).variates
            name = f"steps of {50.0 * share:g}, then 50" + (f", load {level:g}" if level else "")
            yield Row(name, 4, partial(rest, plant(4, 50.0), share, 600, load))


def setting_rows() -> Iterator[Row]:
    """Yield the sixteen settings of the paper."""
    from glide_settings import ROUNDS, paper_settings

    for setting in paper_settings():
        yield Row(setting.name, setting.environment.dim, partial(draw, setting.environment, ROUNDS))


def load_rows() -> Iterator[Row]:
    """Yield plants with base loads and with errors of v, of about this length, which may walk."""

    def of(dim: int, steps: float, rounds: int, what: str, b: float = 0.0, b_walk: float = 0.0, **load: float) -> Row:
        offset = soqo.Offset(scale=b / math.sqrt(dim), walk=b_walk) if b else None
        base = soqo.meters.BaseLoad(**load).variates if load else None
        environment = plant(dim, steps, offset=offset)
        return Row(f"d={dim}, steps {steps:g}, {what}", dim, partial(draw, environment, rounds, load=base))

    yield of(4, 50.0, 1000, "offset 20", 20.0)
    yield of(4, 50.0, 1000, "load 500", level=500.0)
    yield of(4, 50.0, 1000, "offset 20, load 500", 20.0, level=500.0)
    yield of(3, 5.0, 600, "offset 2", 2.0)
    yield of(3, 5.0, 600, "load 50", level=50.0)
    yield of(4, 5.0, 600, "load 50 walks by 1", level=50.0, walk=1.0)
    yield of(4, 50.0, 600, "load 500 walks by 10", level=500.0, walk=10.0)
    yield of(6, 50.0, 800, "load 500 walks by 50", level=500.0, walk=50.0)
    yield of(4, 5.0, 600, "offset 10 walks by 0.1", 10.0, 0.1)
    yield of(4, 50.0, 600, "offset 40 walks by 1", 40.0, 1.0)
    yield of(4, 50.0, 600, "offset 40 walks by 5", 40.0, 5.0)
    yield of(5, 50.0, 800, "offset 20 walks by 1, load 500 by 10", 20.0, 1.0, level=500.0, walk=10.0)
    yield of(5, 50.0, 960, "load 500, daily by half", level=500.0, swing=0.5, period=96.0)
    growing = partial(draw, plant(3, 5.0), 800, load=lambda _, rounds: np.linspace(0.0, 1000.0, rounds))
    yield Row("d=3, steps 5, load grows to 1000", 3, growing)


def burst(start: int, count: int, factor: float) -> Series:
    """Return what multiplies some readings, counted from one; NaN repeats the last one before them."""
    return lambda _, rounds: np.where((np.arange(rounds) - start + 1) // count == 0, factor, 1.0)


def outliers(share: float, factor: float) -> Series:
    """Return what multiplies random readings."""
    return lambda rng, rounds: np.where(rng.random(rounds) < share, factor, 1.0)


def change_rows() -> Iterator[Row]:
    """Yield wrong readings and changes of A; d = 4, steps of 50."""
    glitches = {
        "1 reading x 10, round 50": burst(50, 1, 10.0),
        "3 readings x 10, round 300": burst(300, 3, 10.0),
        "5 readings x 10, round 50": burst(50, 5, 10.0),
        "1 reading x 1000, round 300": burst(300, 1, 1000.0),
        "3 readings negated, round 300": burst(300, 3, -1.0),
        "1 % of readings x 10": outliers(0.01, 10.0),
        "5 % of readings x 10": outliers(0.05, 10.0),
        "stuck for 20 rounds, round 300": burst(300, 20, math.nan),
        "dead for 20 rounds, round 300": burst(300, 20, 0.0),
    }
    for name, glitch in glitches.items():
        yield Row(name, 4, partial(draw, plant(4, 50.0), 600, glitch=glitch))
    changes = {
        "A rotates, round 300": soqo.Change(300),
        "A turns slowly, rounds 150 to 450": soqo.Change(150, duration=300),
        "A changes twice, rounds 200 and 400": (soqo.Change(200), soqo.Change(400)),
    }
    for name, change in changes.items():
        yield Row(name, 4, partial(draw, plant(4, 50.0, changes=change), 600))
    for factor in (10.0, 0.1):
        yield Row(f"A x {factor:g}, round 300", 4, partial(draw, plant(4, 50.0), 600, scale=(300, factor)))


def many_rows() -> Iterator[Row]:
    """Yield the settings with many dimensions."""
    from many_dimensions import OTHERS, SETTINGS

    for setting in (*SETTINGS, *OTHERS):
        yield Row(setting.name, setting.dim, partial(draw, setting.environment(), setting.horizon))


def draw_few(kind: str, directions: int, seed: int, runs: int, rounds: int = 600) -> Stored:
    """Draw paths of v along few of 20 directions."""
    from many_dimensions import few_directions

    drawn = [few_directions(kind, directions, 20, rounds, seed + run) for run in range(runs)]
    A, v = np.stack([curvature for curvature, _ in drawn])[None], np.stack([path for _, path in drawn], axis=1)
    added = series(lambda rng, count: rng.uniform(-CAP, CAP, count), seed, 0, rounds, runs)
    return {"A": A, "first": np.zeros(1, int), "v": v, "told": v, "added": added, "factor": np.ones(v.shape[:2])}


def few_rows() -> Iterator[Row]:
    """Yield changes of A with many dimensions, and v along few of them."""
    for rank in (3, 20):
        environment = plant(20, 50.0, rank, changes=soqo.Change(300))
        yield Row(f"d=20, r={rank}, A rotates, round 300", 20, partial(draw, environment, 600))
    for kind in ("full", "low", "geometric"):
        for directions in (1, 3):
            yield Row(f"{kind}, {directions} of 20 directions", 20, partial(draw_few, kind, directions))


def alarm_rows() -> Iterator[Row]:
    """Yield plants where nothing happens, with noise of the same deviation."""
    from burst_tables import Laplace

    deviation = CAP / math.sqrt(3.0)
    noises = {
        "uniform": soqo.noise.Uniform(CAP),
        "Gaussian": soqo.noise.Gaussian(deviation),
        "Laplace": Laplace(deviation),
        "Student t, 3": soqo.noise.StudentT(deviation / math.sqrt(3.0), df=3.0),
    }
    for name, noise in noises.items():
        for steps in (50.0, 5.0):
            yield Row(f"{name}, steps {steps:g}", 4, partial(draw, plant(4, steps, noise=noise), 800), runs=200)


def speed_rows() -> Iterator[Row]:
    """Yield plants by their number of runs."""
    for dim, runs, rounds in ((4, 1, 1000), (10, 1, 1000), (4, 20, 1000), (6, 200, 300)):
        name = f"d={dim}, {f'{runs} runs' if runs > 1 else 'one stream'}"
        yield Row(name, dim, partial(draw, plant(dim, 50.0), rounds), runs)


def played(block: str, row: Row, given: argparse.Namespace) -> tuple[Array, list[Answer]]:
    """Return the best costs of a row, and what the other version and this one have done; nothing if it only fills."""
    runs = row.runs or (given.runs if row.dim <= MAX_BATCH_DIM else given.large_runs)
    runs = min(runs, 40) if block == "alarms" and given.quick else runs
    paths = row.draw(zlib.crc32(f"{given.seed} {block} {row.name}".encode()), runs)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "paths.npz"
        np.savez(file, **paths)
        if block == "speed":  # the contenders take turns
            passes = [[ask(file, source, timed=True) for source in (given.other, None)] for _ in range(given.passes)]
            return np.empty(0), [{"passes": list(answers)} for answers in zip(*passes, strict=True)]
        other = ask_other(file, f"{block} {row.name} seed {given.seed} runs {runs}", paths, given)
        return best_costs(paths), [] if given.fill else [other, ask(file, None)]


def regret_block(block: str, rows: list[Row], given: argparse.Namespace) -> None:
    """Print the regrets of both versions, and the geometric means of their ratios."""
    print(
        f"| {block} | other | this | ratio | of means | worst: other | this | alarms: other | this | us: other | this |"
    )
    print("|---|" + "--:|" * 10)
    names, ratios, times = [], [], []
    for row in rows:
        best, answers = played(block, row, given)
        if not answers:
            print(f"| {row.name} | kept |", flush=True)
            continue
        regrets = np.nan_to_num(np.array([one["costs"] for one in answers]) - best, nan=np.inf, posinf=np.inf)
        pairs = np.array([np.median(regrets, axis=1), regrets.mean(axis=1)])
        shown = pairs[:, 1] / pairs[:, 0]
        names.append(row.name)
        ratios.append(np.where((pairs > 0.0).all(axis=1), shown, np.nan))
        times.append([float(np.mean(one["us"])) for one in answers])
        cells = [f"{value:.4g}" for value in pairs[0]] + [f"{value:.2f}" for value in shown]
        cells += [f"{value:.3g}" for value in regrets.max(axis=1)]
        cells += [f"{np.mean(np.sign(one['alarms'])):.3f}" for one in answers] + [f"{us:.4g}" for us in times[-1]]
        print(f"| {row.name} |", " | ".join(cells), "|", flush=True)
    if names:
        counted, (old, new) = int((~np.isnan(ratios)[:, 0]).sum()), np.mean(times, axis=0)
        medians, means = np.exp(np.nanmean(np.log(ratios), axis=0))
        largest = int(np.argmax(np.nan_to_num(np.array(ratios)[:, 0], posinf=np.inf)))
        print(
            f"\n{counted} of {len(names)} rows, geometric means: ratio of medians {medians:.3f}, of means {means:.3f};"
        )
        print(f"largest {ratios[largest][0]:.2f} ({names[largest]}); us {old:.4g} and {new:.4g}\n", flush=True)


def speed_block(block: str, rows: list[Row], given: argparse.Namespace) -> None:
    """Print the best times per round and run of several passes, and the peak memory."""
    print(f"| us per round and run | version | mean | first {FIRST} rounds | largest round | peak, MB |")
    print("|---|---|--:|--:|--:|--:|")
    for row in [] if given.fill else rows:
        for version, answers in zip(("other", "this"), played(block, row, given)[1], strict=True):
            us = [np.array(one["us"]) for one in answers["passes"]]
            numbers = [[one.mean(), one[:FIRST].mean(), one.max()] for one in us]
            cells = [f"{value:.4g}" for value in np.min(numbers, axis=0)]
            peak = min(one["peak"] for one in answers["passes"])
            print(f"| {row.name} | {version} |", " | ".join(cells), f"| {peak:.0f} |", flush=True)
    print()


BLOCKS: dict[str, Callable[[], Iterator[Row]]] = {
    "starts": start_rows,
    "settings": setting_rows,
    "loads": load_rows,
    "changes": change_rows,
    "many": many_rows,
    "few": few_rows,
    "alarms": alarm_rows,
    "speed": speed_rows,
}


def main() -> None:
    """Print the tables."""
    if sys.argv[1:2] == ["--answer"]:
        answer(sys.argv[2], sys.argv[3] == "1")
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", required=True, help="the folder of the sources of the other version")
    parser.add_argument("--blocks", nargs="+", default=list(BLOCKS), choices=list(BLOCKS))
    parser.add_argument("--rows", default="", help="a part of the names of rows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=24, help=f"up to {MAX_BATCH_DIM} dimensions")
    parser.add_argument("--large-runs", type=int, default=8, help="with more dimensions")
    parser.add_argument("--passes", type=int, default=3, help="of the block speed")
    parser.add_argument("--cache", help="a folder that keeps what the other version has played")
    parser.add_argument("--fill", action="store_true", help="only play the other version, into the cache")
    parser.add_argument("--quick", action="store_true", help="fewer runs and passes")
    given = parser.parse_args()
    if not (Path(given.other) / "soqo").is_dir():
        parser.error(f"--other must be a folder that holds soqo, got {given.other}")
    if given.fill and given.cache is None:
        parser.error("--fill needs --cache")
    if given.quick:
        given.runs, given.large_runs, given.passes = min(given.runs, 6), min(given.large_runs, 2), 1
    for block in given.blocks:
        chosen = [row for row in BLOCKS[block]() if given.rows in row.name and (row.dim < 300 or "300" in given.rows)]
        if chosen:
            (speed_block if block == "speed" else regret_block)(block, chosen, given)


if __name__ == "__main__":
    main()
