"""Every decision constant of GLIDE with its reason, and what happens when it is halved and doubled.

    python benchmarks/constants.py                        the table (an hour)
    python benchmarks/constants.py --names HAZARD ALONG   some of them
    python benchmarks/constants.py --list                 names, values and reasons only

The numbers are changes of the regret in percent: geometric means, over the rows of a block of `learner.py`, of the
ratio of the median over the runs to that with the constant as it is, and in brackets the largest change of a row. The
paths belong to a seed that played no part in the choice of the constants. Counts are rounded up; probabilities stay
below one.
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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from learner import BLOCKS, Stored, best_costs, costs, play

PACKAGES = ("soqo.policies.glide", "soqo.estimators.bayes", "soqo.estimators.factored")
NUMERICAL = ("round-off", "overflow", "converge", "budget")
"""Constants whose reason has one of these words belong to the arithmetic or bound its work, and decide nothing."""

SCALES = (0.5, 2.0)


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
            if found.name.rpartition(".")[2] not in ("_regression", "_earlier_files", "_report"):
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
                if name.strip("_").isupper() and not any(word in reason for word in NUMERICAL):
                    yield Constant(module.__name__, name, getattr(module, name), reason)


def scaled(value: Any, scale: float) -> Any:
    """Return a constant times a number; for a table of hypotheses, with other probabilities or factors."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        return max(1, math.ceil(scale * value))
    return min(scale * value, 0.5 * (1.0 + value)) if 0.5 <= value < 1.0 else scale * value


def change(name: str, scale: float) -> None:
    """Change a constant wherever it has been imported."""
    before = next(one.value for one in constants() if one.name == name)
    for module in modules():
        if getattr(module, name, None) is before or getattr(module, name, None) == before:
            setattr(module, name, scaled(before, scale))


def regrets(blocks: list[str], runs: int, seed: int) -> dict[str, list[float]]:
    """Return the median regret of each row of some blocks."""
    found: dict[str, list[float]] = {}
    for block in blocks:
        for row in BLOCKS[block]():
            if row.dim > 30:
                continue
            paths: Stored = row.draw(zlib.crc32(f"{seed} {block} {row.name}".encode()), runs if row.dim <= 12 else 2)
            best, rounds = best_costs(paths), len(paths["v"])
            x, _, _ = play(paths, rounds, rounds)
            found.setdefault(block, []).append(float(np.median(costs(paths, x) - best)))
    return found


def ask(name: str, scale: float, given: argparse.Namespace) -> dict[str, list[float]]:
    """Return the regrets with a changed constant, from a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--answer", name, str(scale), "--runs", str(given.runs)]
    command += ["--seed", str(given.seed), "--blocks", *given.blocks]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE)
    result: dict[str, list[float]] = json.loads(done.stdout) if not done.returncode else {}
    return result


def cell(before: list[float], after: list[float]) -> str:
    """Return the change of a block in percent, and the largest of a row."""
    old, new = np.array(before), np.array(after)
    positive = (old > 0.0) & (new > 0.0)
    ratio = np.log(new[positive] / old[positive])
    return f"{100.0 * math.expm1(ratio.mean()):+.1f} ({100.0 * math.expm1(ratio[np.abs(ratio).argmax()]):+.0f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", nargs="+", default=[])
    parser.add_argument("--blocks", nargs="+", default=["settings", "loads", "changes"])
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--answer", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer:
        name, scale = given.answer[0], float(given.answer[1])
        if name != "none":
            change(name, scale)
        print(json.dumps(regrets(given.blocks, given.runs, given.seed)))
        return
    chosen = [one for one in constants() if not given.names or one.name in given.names]
    if given.list:
        for one in chosen:
            print(f"{one.module}.{one.name} = {one.value!r}: {one.reason}")
        print(len(chosen))
        return
    before = ask("none", 1.0, given)
    headings = [f"{block} x {scale:g}" for scale in SCALES for block in given.blocks]
    print("| constant | value |", " | ".join(headings), "| reason |")
    print("|---|--:|" + "--:|" * len(headings) + "---|", flush=True)
    for one in chosen:
        answers = [ask(one.name, scale, given) for scale in SCALES]
        cells = [cell(before[block], found[block]) if found else "fails" for found in answers for block in given.blocks]
        print(f"| {one.name} | {one.value!r} |", " | ".join(cells), f"| {one.reason} |", flush=True)


if __name__ == "__main__":
    main()
