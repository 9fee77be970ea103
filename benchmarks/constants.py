"""Every decision constant of GLIDE with its reason, and what happens when it is halved and doubled.

    python benchmarks/constants.py                        the table (an hour on two cores)
    python benchmarks/constants.py --names HAZARD ALONG   some of them
    python benchmarks/constants.py --list                 names, values and reasons only
    python benchmarks/constants.py --every 3 --runs 6     a third of the rows, with fewer runs (half an hour)

Each constant is varied in the rows of `learner.py` where it matters: up to 12 dimensions, with more, or with v along
few directions. The numbers are changes of the regret in percent: geometric means, over the rows, of the ratio of the
median over the runs to that with the constant as it is, and in brackets the largest change of a row. The paths belong
to a seed that played no part in the choice of the constants. Counts are rounded up; probabilities stay below one.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import math
import os
import pkgutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from learner import BLOCKS, MAX_BATCH_DIM, Stored, best_costs, costs, play

PACKAGES = ("soqo.policies.glide", "soqo.estimators.bayes", "soqo.estimators.factored")
NO_DECISION = ("round-off", "overflow", "converge", "budget", "derived")
"""Constants whose reason has one of these words belong to the arithmetic, bound its work, or follow from others."""

SCALES = (0.5, 2.0)

MAX_DIM = 30
"""Rows of more dimensions would take too long."""

DENSE, MANY, FEW = "up to 12 dimensions", "many dimensions", "few directions"
BLOCKS_OF = {DENSE: ["starts", "settings", "loads", "changes"], MANY: ["many", "few"], FEW: ["few"]}
ROWS_OF = {"soqo.policies.glide._probes": FEW, "soqo.estimators.factored": MANY}
"""The rows of the constants of a package or module; those of the others are DENSE."""


class Constant(NamedTuple):
    """A constant: the module that defines it, its name, value and reason."""

    module: str
    name: str
    value: Any
    reason: str


def modules() -> Iterator[Any]:
    """Yield the modules of the learner."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        for found in pkgutil.iter_modules(package.__path__, f"{name}."):
            if found.name.rpartition(".")[2] not in ("_regression", "_earlier_files", "_health", "_report"):
                yield importlib.import_module(found.name)


def constants() -> Iterator[Constant]:
    """Yield the constants of the learner, each with the docstring below it."""
    for module in modules():
        body = ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body
        for statement, below in zip(body, [*body[1:], None], strict=True):
            if not isinstance(statement, ast.Assign) or not isinstance(below, ast.Expr):
                continue
            target = statement.targets[0]
            names = [one.id for one in getattr(target, "elts", [target]) if isinstance(one, ast.Name)]
            reason = " ".join(str(ast.literal_eval(below.value)).split())
            for name in names:
                if name in ("PLAIN", "SHIFTED"):  # rows of STRUCTURES
                    continue
                if name.strip("_").isupper() and not any(word in reason for word in NO_DECISION):
                    yield Constant(module.__name__, name, getattr(module, name), reason)


def scaled(value: Any, scale: float) -> Any:
    """Return a constant times a number, or a grid of powers with other steps; a table of hypotheses as it is."""
    if isinstance(value, np.ndarray):
        return value**scale
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        return max(1, math.ceil(scale * value))
    return min(scale * value, 0.5 * (1.0 + value)) if 0.5 <= value < 1.0 else scale * value


def change(name: str, scale: float) -> None:
    """Change a constant wherever it has been imported."""
    before = next(one.value for one in constants() if one.name == name)
    for module in modules():
        if getattr(module, name, None) is before:
            setattr(module, name, scaled(before, scale))


def regrets(blocks: list[str], runs: int, seed: int, every: int) -> list[float]:
    """Return the median regret of each row of some blocks, or of one row in so many."""
    found = []
    for block in blocks:
        rows = [row for row in BLOCKS[block]() if row.dim <= MAX_DIM and (block != "many" or row.dim > MAX_BATCH_DIM)]
        for row in rows[::every]:
            number = runs if row.dim <= MAX_BATCH_DIM else max(1, runs // 8)
            paths: Stored = row.draw(zlib.crc32(f"{seed} {block} {row.name}".encode()), number)
            best, rounds = best_costs(paths), len(paths["v"])
            x, _, _ = play(paths, rounds, rounds)
            found.append(float(np.median(costs(paths, x) - best)))
    return found


def rows_of(constant: Constant) -> str:
    """Return the rows in which a constant matters."""
    return next((rows for start, rows in ROWS_OF.items() if constant.module.startswith(start)), DENSE)


def ask(name: str, scale: float, blocks: list[str], given: argparse.Namespace) -> list[float]:
    """Return the regrets with a changed constant, from a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--answer", name, str(scale), "--runs", str(given.runs)]
    command += ["--every", str(given.every), "--seed", str(given.seed), "--blocks", *blocks]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, check=True)
    result: list[float] = json.loads(done.stdout)
    return result


def cell(before: list[float], after: list[float]) -> str:
    """Return the mean change of rows in percent, and the largest one."""
    old, new = np.array(before), np.array(after)
    positive = (old > 0.0) & (new > 0.0)
    ratio = np.log(new[positive] / old[positive])
    return f"{100.0 * math.expm1(ratio.mean()):+.1f} ({100.0 * math.expm1(ratio[np.abs(ratio).argmax()]):+.0f})"


def show(value: Any) -> str:
    """Return a constant as text."""
    return ", ".join(f"{one:g}" for one in value) if isinstance(value, np.ndarray) else repr(value)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", nargs="+", default=[])
    parser.add_argument("--blocks", nargs="+", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--every", type=int, default=1, help="play one row in so many")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--answer", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer:
        name, scale = given.answer[0], float(given.answer[1])
        if name != "none":
            change(name, scale)
        print(json.dumps(regrets(given.blocks, given.runs, given.seed, given.every)))
        return
    chosen = [one for one in constants() if not given.names or one.name in given.names]
    if given.list:
        for one in chosen:
            print(f"{one.module}.{one.name} = {one.value!r}: {one.reason}")
        print(len(chosen))
        return
    with ThreadPoolExecutor(given.jobs) as pool:
        before = {rows: pool.submit(ask, "none", 1.0, blocks, given) for rows, blocks in BLOCKS_OF.items()}
        tables = [one for one in chosen if isinstance(one.value, tuple)]
        chosen = [one for one in chosen if not isinstance(one.value, tuple)]
        varied = [[pool.submit(ask, one.name, k, BLOCKS_OF[rows_of(one)], given) for k in SCALES] for one in chosen]
        print("| constant | value | rows | halved | doubled | reason |")
        print("|---|--:|---|--:|--:|---|", flush=True)
        for one, answers in zip(chosen, varied, strict=True):
            rows = rows_of(one)
            cells = [cell(before[rows].result(), answer.result()) for answer in answers]
            print(f"| {one.name} | {show(one.value)} | {rows} |", " | ".join(cells), f"| {one.reason} |", flush=True)
        for one in tables:
            print(f"| {one.name} | {len(one.value)} rows | | | | {one.reason} |")


if __name__ == "__main__":
    main()
