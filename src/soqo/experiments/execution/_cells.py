"""Cells: a setting, a horizon and a few runs, which are computed anywhere and stored as soon as they are done."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import soqo
from soqo._foundation.frozen_dataclasses import Value
from soqo._simulation.environment import Environment
from soqo._simulation.result import Result
from soqo._simulation.simulate import simulate
from soqo._storage.plain_data import describe
from soqo.errors import ArgumentError, FileFormatError
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.settings import Setting

_RUNS_PER_CELL = 10
"""Enough runs to share the calls of a round, and few enough to lose little at an interruption."""


@dataclass(frozen=True)
class Cell(Value):
    """A piece of work with everything that determines its numbers.

    Attributes
    ----------
    environment, policies, horizon, seed
        As in :func:`soqo.simulate`.
    first_run, runs : int
        The first run, and the number of runs.
    every_round : bool
        Whether the result is recorded in every round, or summed over the rounds.
    """

    environment: Environment = field(repr=False)
    policies: Mapping[str, object] = field(repr=False)
    horizon: int
    seed: int
    first_run: int
    runs: int
    every_round: bool

    @property
    def key(self) -> str:
        """A hash of the cell and of the code that computes it, including the files of the user's own classes."""
        specification = {
            "environment": describe(self.environment),
            # As pairs, since the order of the policies is that of the result.
            "policies": [[name, describe(entry)] for name, entry in self.policies.items()],
            "user": {name: _hash_file(path) for name, path in sorted(_find_user_code(self).items())},
            "horizon": self.horizon,
            "seed": self.seed,
            "runs": [self.first_run, self.runs],
            "every_round": self.every_round,
            "code": code_version(),
        }
        return hashlib.sha256(json.dumps(specification, sort_keys=True).encode()).hexdigest()[:32]


@cache
def code_version() -> str:
    """Return a hash of the source code that computes results, and of the versions of NumPy and SciPy.

    The command line and the experiments, except for this file, only choose what to compute and present it.

    Examples
    --------
    >>> len(code_version())
    16
    """
    digest = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    root = Path(soqo.__file__).parent
    excluded = {*root.glob("_cli.py"), *root.glob("experiments/**/*.py")} - {Path(__file__)}
    for path in sorted({*root.rglob("*.py")} - excluded):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# ---- the user's own code -------------------------------------------------------------------------------------------


def find_user_modules(cell: Cell) -> set[str]:
    """Return the files that a worker on another machine needs: modules of the user's that are not in a package."""
    return {path for path in _find_user_code(cell).values() if not _is_packaged(Path(path))}


def _is_packaged(path: Path) -> bool:
    """Return whether a module is in a package or installed; a worker must have such modules already."""
    return (path.parent / "__init__.py").exists() or "site-packages" in path.parts


def _find_user_code(cell: Cell) -> dict[str, str]:
    """Return the classes and functions of a cell that are not part of soqo, with the files that define them."""
    found: dict[str, str] = {}
    _collect_user_code(cell.environment, "environment", found)
    _collect_user_code(cell.policies, "policies", found)
    return found


def _collect_user_code(value: Any, where: str, found: dict[str, str]) -> None:
    """Add the classes and functions of a value and of its contents."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _collect_user_code(item, f"{where}[{key!r}]", found)
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            _collect_user_code(item, f"{where}[{index}]", found)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        _add_user_code(type(value), found)
        for one in dataclasses.fields(value):
            if one.init:
                _collect_user_code(getattr(value, one.name), f"{where}.{one.name}", found)
    elif callable(value):
        # A worker imports it by this name, and the key of the cell has only the name.
        name = getattr(value, "__qualname__", "<unnamed>")
        if "<" in name:
            raise ArgumentError(
                f"{where} must be a policy, or a function with a name in a module, such as ROBD.for_problem, got {name}"
            )
        _add_user_code(getattr(value, "__self__", value), found)


def _add_user_code(definition: Any, found: dict[str, str]) -> None:
    module = str(definition.__module__)
    if module.partition(".")[0] != "soqo":
        found[definition.__qualname__] = getattr(sys.modules.get(module), "__file__", None) or ""


def _hash_file(path: str) -> str:
    """Return a hash of a file's contents; code that was typed at a prompt has no file, and an empty path."""
    return hashlib.sha256(Path(path).read_bytes() if path else b"").hexdigest()[:16]


# ---- work ----------------------------------------------------------------------------------------------------------


def split_into_cells(setting: Setting, runs: int | None = None) -> list[Cell]:
    """Split a setting into cells, those with the longest horizon first, so that none of them is started last.

    Parameters
    ----------
    setting : Setting
        The setting.
    runs : int, optional
        The number of runs, instead of the setting's own.

    Returns
    -------
    list of Cell
        The cells.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> cells = split_into_cells(find("primary")[0], runs=20)
    >>> [(cell.horizon, cell.first_run, cell.runs) for cell in cells[:3]]
    [(2000, 0, 10), (2000, 10, 10), (1400, 0, 10)]
    """
    total = setting.runs if runs is None else runs
    return [
        Cell(
            environment=setting.environment,
            policies=setting.policies,
            horizon=horizon,
            seed=setting.seed,
            first_run=first,
            runs=min(_RUNS_PER_CELL, total - first),
            every_round=horizon == setting.horizon,
        )
        for horizon in sorted({setting.horizon, *setting.horizons}, reverse=True)
        for first in range(0, total, _RUNS_PER_CELL)
    ]


def compute_cell(cell: Cell) -> Result:
    """Simulate a cell; the numbers are the same on all machines of one kind.

    Parameters
    ----------
    cell : Cell
        The cell.

    Returns
    -------
    Result
        The result, recorded in every round or as a total, as the cell requires.

    Examples
    --------
    >>> from soqo import FTM, Environment, Problem, noise, processes
    >>> environment = Environment(Problem([[1.0]]), processes.Gaussian(5.0), noise.Uniform(1.0))
    >>> cell = Cell(environment, {"FTM": FTM()}, horizon=9, seed=0, first_run=4, runs=2, every_round=False)
    >>> compute_cell(cell)
    Result(FTM; horizon 9, runs 4..5)
    """
    result = simulate(
        cell.environment, cell.policies, horizon=cell.horizon, runs=cell.runs, seed=cell.seed, first_run=cell.first_run
    )
    return result if cell.every_round else result.total()


def merge_cells(setting: Setting, cells: Iterable[Cell], results: Mapping[str, Result]) -> Outcome:
    """Merge the results of a setting's cells, given by key, into its outcome.

    Parameters
    ----------
    setting : Setting
        The setting.
    cells : iterable of Cell
        The cells, from :func:`split_into_cells`.
    results : mapping of str to Result
        The result of each cell, by the key of the cell.

    Returns
    -------
    Outcome
        The outcome.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from soqo import FTM
    >>> from soqo.experiments.settings import find
    >>> setting = replace(find("intro")[0], policies={"FTM": FTM()}, horizon=9)
    >>> cells = split_into_cells(setting)
    >>> merge_cells(setting, cells, {cell.key: compute_cell(cell) for cell in cells}).runs
    20
    """
    by_horizon: dict[int, list[Result]] = {}
    for cell in sorted(cells, key=lambda cell: cell.first_run):
        by_horizon.setdefault(cell.horizon, []).append(results[cell.key])
    return Outcome(setting, {horizon: Result.concat(parts) for horizon, parts in by_horizon.items()})


@dataclass(frozen=True)
class CellStore:
    """A folder with the results of finished cells, each a file that is written atomically.

    Parameters
    ----------
    folder : Path
        The folder, which must exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from soqo.experiments.settings import find
    >>> cell = split_into_cells(find("intro")[0])[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(CellStore(Path(folder)).load(cell))
    None
    """

    folder: Path

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell.

        Parameters
        ----------
        cell : Cell
            The cell.
        """
        return self.folder / f"{cell.key}.nc"

    def load(self, cell: Cell) -> Result | None:
        """Return the result of a finished cell, or None.

        A file that is damaged, or that holds the result of another cell, is renamed, and the cell computed again.

        Parameters
        ----------
        cell : Cell
            The cell.
        """
        path = self.path(cell)
        try:
            found = Result.load(path, key=cell.key)
        except FileNotFoundError:
            return None
        except FileFormatError:
            pass
        else:
            rounds = cell.horizon if cell.every_round else 1
            if found.policies == tuple(cell.policies) and found.benchmark_hitting.shape == (cell.runs, rounds):
                return found
        os.replace(path, path.with_suffix(".damaged"))
        return None

    def save(self, cell: Cell, result: Result) -> None:
        """Store the result of a finished cell.

        Parameters
        ----------
        cell : Cell
            The cell.
        result : Result
            Its result.
        """
        result.save(self.path(cell), key=cell.key)
