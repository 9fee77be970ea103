"""Work cut into cells: a setting, a horizon and a few runs, computed anywhere and kept as soon as it is done."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import soqo
from soqo._environment import Environment
from soqo._simulation import simulate
from soqo._storage.files import decode, encode, replacing, sealed, unsealed
from soqo._storage.records import describe
from soqo._storage.registry import register
from soqo.errors import ArgumentError, FileFormatError
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.settings._spec import Setting
from soqo.typing import Array, BoolArray

__all__ = ["Cell", "CellResult", "Store", "cells_of", "code_version", "collect", "compute"]

MAGIC = b"soqo-cell 1\n"

CHUNK = 10
"""Runs in a cell: enough to share the calls of a round, and few enough to lose little at an interruption."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A piece of work with all that determines its numbers.

    Attributes
    ----------
    environment, policies, horizon, seed
        As in :func:`soqo.simulate`.
    first_run, runs : int
        Which runs.
    curves : bool
        Whether regret in every round is kept, or only that at the end.
    """

    environment: Environment
    policies: Mapping[str, object]
    horizon: int
    seed: int
    first_run: int
    runs: int
    curves: bool

    @property
    def key(self) -> str:
        """A name that no other cell has, and this one only as long as the code is the same.

        Of classes that are not soqo's, the code is the file that they are in.
        """
        specification = {
            "environment": describe(self.environment),
            # Pairs, since the rows of a result are in their order.
            "policies": [[name, describe(entry)] for name, entry in self.policies.items()],
            "own": {name: hash_of(path) for name, path in sorted(own_classes(self).items())},
            "horizon": self.horizon,
            "seed": self.seed,
            "runs": [self.first_run, self.runs],
            "curves": self.curves,
            "code": code_version(),
        }
        return hashlib.sha256(json.dumps(specification, sort_keys=True).encode()).hexdigest()[:32]


@register("CellResult")
@dataclass(frozen=True, eq=False)
class CellResult:
    """Regret, shape (policies, runs, rounds) or (policies, runs, 1) for the end alone; and who diverged."""

    regret: Array
    diverged: BoolArray


@cache
def code_version() -> str:
    """A hash of the source that makes the numbers, and of the versions of what it computes with.

    The command and the experiments around this file only say what to compute, and draw what came of it.
    """
    digest = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    root = Path(soqo.__file__).parent
    around = {*root.glob("_cli.py"), *root.glob("experiments/**/*.py")} - {Path(__file__)}
    for path in sorted({*root.rglob("*.py")} - around):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def own_classes(cell: Cell) -> dict[str, str]:
    """The classes and functions of a cell that are not soqo's, and the files that they are in."""
    found: dict[str, str] = {}
    collect_own(cell.environment, "environment", found)
    for name, entry in cell.policies.items():
        collect_own(entry, f"policies[{name!r}]", found)
    return found


def own_modules(cell: Cell) -> set[str]:
    """The files of own classes that a worker on another machine must be sent: modules outside of any package."""
    return {path for path in own_classes(cell).values() if not is_packaged(Path(path))}


def is_packaged(path: Path) -> bool:
    """Whether a module is in a package, or installed; such ones a worker has to have by itself."""
    return (path.parent / "__init__.py").exists() or "site-packages" in path.parts


def collect_own(value: Any, where: str, found: dict[str, str]) -> None:
    """Look for own classes in a value and in all that it holds."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            collect_own(item, f"{where}[{key!r}]", found)
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            collect_own(item, f"{where}[{index}]", found)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        add_own(type(value), found)
        for one in dataclasses.fields(value):
            if one.init:
                collect_own(getattr(value, one.name), f"{where}.{one.name}", found)
    elif callable(value):
        # A worker imports it by this name, and the key of the cell knows no more of it.
        name = getattr(value, "__qualname__", "<unnamed>")
        if "<" in name:
            raise ArgumentError(
                f"{where} must be a policy, or a function that a module has by name, such as ROBD.for_problem, got {name}"
            )
        add_own(getattr(value, "__self__", value), found)


def add_own(kind: Any, found: dict[str, str]) -> None:
    """Note a class or function, unless it is soqo's."""
    module = str(kind.__module__)
    if module.partition(".")[0] != "soqo":
        found[kind.__qualname__] = getattr(sys.modules.get(module), "__file__", None) or ""


@cache
def hash_of(path: str) -> str:
    """Of a file's contents; of nothing where there is no file, as for what was typed in at a prompt."""
    return hashlib.sha256(Path(path).read_bytes() if path else b"").hexdigest()[:16]


def cells_of(setting: Setting, runs: int | None = None) -> list[Cell]:
    """The cells of a setting, the longest first, so that none of them is waited for at the end."""
    total = setting.runs if runs is None else runs
    return [
        Cell(
            environment=setting.environment,
            policies=setting.policies,
            horizon=horizon,
            seed=setting.seed,
            first_run=first,
            runs=min(CHUNK, total - first),
            curves=horizon == setting.horizon,
        )
        for horizon in sorted({setting.horizon, *setting.horizons}, reverse=True)
        for first in range(0, total, CHUNK)
    ]


def compute(cell: Cell) -> CellResult:
    """Do the work of a cell; the same numbers wherever it is done on machines of one kind."""
    result = simulate(
        cell.environment,
        cell.policies,
        cell.horizon,
        cell.runs,
        cell.seed,
        first_run=cell.first_run,
    )
    regret = np.stack([result.regret(name) for name in cell.policies])
    diverged = np.stack([result.tracks[name].diverged for name in cell.policies])
    return CellResult(regret if cell.curves else regret[:, :, -1:], diverged)


def collect(setting: Setting, cells: Iterable[Cell], results: Mapping[str, CellResult]) -> Outcome:
    """Put the cells of a setting together."""
    by_horizon: dict[int, list[tuple[int, CellResult]]] = {}
    for cell in cells:
        by_horizon.setdefault(cell.horizon, []).append((cell.first_run, results[cell.key]))
    joined = {
        horizon: [result for _, result in sorted(parts, key=lambda part: part[0])]
        for horizon, parts in by_horizon.items()
    }
    curves = np.concatenate([part.regret for part in joined[setting.horizon]], axis=1)
    return Outcome(
        setting=setting,
        runs=int(curves.shape[1]),
        final={
            horizon: np.concatenate([part.regret[:, :, -1] for part in parts], axis=1)
            for horizon, parts in joined.items()
        },
        diverged={
            horizon: np.concatenate([part.diverged for part in parts], axis=1) for horizon, parts in joined.items()
        },
        curves=curves,
    )


@dataclass(frozen=True)
class Store:
    """A folder of finished cells, each a file that is there whole or not at all."""

    folder: Path

    def path(self, cell: Cell) -> Path:
        """Where a cell is kept."""
        return self.folder / f"{cell.key}.cell"

    def load(self, cell: Cell) -> CellResult | None:
        """A finished cell, or None; a damaged file is set aside, for the cell to be computed anew."""
        path = self.path(cell)
        try:
            found: Any = decode(unsealed(MAGIC, path.read_bytes(), path))
        except FileNotFoundError:
            return None
        except FileFormatError:
            found = None
        rounds = cell.horizon if cell.curves else 1
        shape = (len(cell.policies), cell.runs, rounds)
        if isinstance(found, CellResult) and found.regret.shape == shape:
            return found
        os.replace(path, path.with_suffix(".damaged"))
        return None

    def save(self, cell: Cell, result: CellResult) -> None:
        """Keep a finished cell."""
        with replacing(self.path(cell)) as temporary:
            temporary.write_bytes(sealed(MAGIC, encode(result)))
