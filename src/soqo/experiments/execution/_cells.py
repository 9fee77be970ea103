"""Cells: an environment, a horizon, a few runs and some policies, which are computed anywhere and stored when done.

The file of a cell is named after everything but its policies, each of which it holds under a name of its own: a setting
with one more policy, or another setting with the same environment, computes only what is missing.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy

from soqo._foundation.frozen_dataclasses import Value
from soqo._simulation.environment import Environment
from soqo._simulation.result import Result
from soqo._simulation.simulate import account, make_configuration
from soqo._storage.plain_data import describe
from soqo.errors import ArgumentError, FileFormatError
from soqo.experiments.execution._joint_play import is_joint, play_jointly
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.execution._regrets import Regrets, measure_regrets
from soqo.experiments.settings import Setting

_RUNS_PER_CELL = 20
"""Enough runs to share the calls of a round, and few enough to lose little at an interruption."""

_POLICIES_PER_TASK = 27
"""The most policies that are computed together; more would leave processors idle at the end."""

CellResult = Result | Regrets
"""What a cell computes."""


@dataclass(frozen=True)
class Cell(Value):
    """A piece of work with everything that determines its numbers.

    Attributes
    ----------
    environment, horizon, seed
        As in :func:`soqo.simulate`.
    policies : mapping of str to Policy, or to a function that makes one
        The policies by :func:`policy_key`.
    first_run, runs : int
        The first run, and the number of runs.
    kept : {"rounds", "totals", "regrets"}
        What is kept: a :class:`soqo.Result` with every round or with their sums, or :class:`Regrets`.
    """

    environment: Environment = field(repr=False)
    policies: Mapping[str, object] = field(repr=False)
    horizon: int
    seed: int
    first_run: int
    runs: int
    kept: Literal["rounds", "totals", "regrets"]

    @property
    def key(self) -> str:
        """A hash of the cell without its policies, and of the code that computes it."""
        specification = {
            "environment": describe(self.environment),
            "user": _describe_user_code(self.environment, "environment"),
            "horizon": self.horizon,
            "seed": self.seed,
            "runs": [self.first_run, self.runs],
            "kept": self.kept,
            "code": code_version(),
        }
        return _hash(specification)

    def without(self, policies: Iterable[str]) -> Cell:
        """Return the cell with fewer policies.

        Parameters
        ----------
        policies : iterable of str
            The keys of the policies to leave out.
        """
        left_out = set(policies)
        return replace(self, policies={key: p for key, p in self.policies.items() if key not in left_out})

    def split(self) -> list[Cell]:
        """Return tasks: a few policies that are played together, or one that is not."""
        alone = [key for key, policy in self.policies.items() if not is_joint(policy)]
        rest = [key for key in self.policies if key not in alone]
        groups = [rest[k : k + _POLICIES_PER_TASK] for k in range(0, len(rest), _POLICIES_PER_TASK)]
        groups += [[key] for key in alone]
        return [replace(self, policies={key: self.policies[key] for key in group}) for group in groups]


def policy_key(policy: object) -> str:
    """Return a hash of a policy, and of the files of the user's own classes.

    Parameters
    ----------
    policy : Policy, or a function that makes one
        The policy.

    Examples
    --------
    >>> from soqo import FTM
    >>> len(policy_key(FTM()))
    32
    """
    return _hash({"policy": describe(policy), "user": _describe_user_code(policy, "policies")})


def _hash(specification: Any) -> str:
    return hashlib.sha256(json.dumps(specification, sort_keys=True).encode()).hexdigest()[:32]


@cache
def code_version() -> str:
    """Return a hash of the source code that computes results, and of the versions of NumPy and SciPy.

    The command line, the service and the experiments, except for a few files, only choose what to compute and present
    it.

    Examples
    --------
    >>> len(code_version())
    16
    """
    digest = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    root = Path(__file__).parents[2]
    computing = {Path(__file__).with_name(name) for name in ("_cells.py", "_joint_play.py", "_regrets.py")}
    excluded = {
        path for part in ("_cli", "experiments", "service") for path in root.glob(f"{part}/**/*.py")
    } - computing
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


def _describe_user_code(value: Any, where: str) -> dict[str, str]:
    """Return hashes of the files that define the classes and functions of a value that are not part of soqo."""
    found: dict[str, str] = {}
    _collect_user_code(value, where, found)
    return {name: _hash_file(path) for name, path in sorted(found.items())}


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
    >>> cells = split_into_cells(find("primary")[0], runs=40)
    >>> [(cell.horizon, cell.first_run, cell.runs) for cell in cells[:3]]
    [(2000, 0, 20), (2000, 20, 20), (1400, 0, 20)]
    """
    found: list[Cell] = []
    for horizon in sorted({setting.horizon, *setting.horizons}, reverse=True):
        own = horizon == setting.horizon
        policies = [policy for name, policy in setting.policies.items() if own or name not in setting.single_horizon]
        if policies:
            found += make_cells(
                setting.environment,
                policies,
                horizon=horizon,
                seed=setting.seed,
                runs=setting.runs if runs is None else runs,
                kept="rounds" if own else "totals",
            )
    return found


def make_cells(
    environment: Environment,
    policies: Iterable[object],
    *,
    horizon: int,
    seed: int,
    runs: int,
    kept: Literal["rounds", "totals", "regrets"],
) -> list[Cell]:
    """Return the cells of one horizon.

    Parameters
    ----------
    environment : Environment
        As in :func:`soqo.simulate`.
    policies : iterable of Policy, or of functions that make one
        The policies.
    horizon, seed, runs : int
        As in :func:`soqo.simulate`.
    kept : {"rounds", "totals", "regrets"}
        As in :class:`Cell`.

    Returns
    -------
    list of Cell
        The cells, with the first runs first.

    Examples
    --------
    >>> from soqo import FTM, Environment, Problem, noise, processes
    >>> environment = Environment(Problem([[1.0]]), processes.Gaussian(5.0), noise.Uniform(1.0))
    >>> cells = make_cells(environment, [FTM()], horizon=9, seed=0, runs=30, kept="regrets")
    >>> [(cell.first_run, cell.runs) for cell in cells]
    [(0, 20), (20, 10)]
    """
    by_key = {policy_key(policy): policy for policy in policies}
    return [
        Cell(environment, by_key, horizon, seed, first, min(_RUNS_PER_CELL, runs - first), kept)
        for first in range(0, runs, _RUNS_PER_CELL)
    ]


def compute_cell(cell: Cell) -> CellResult:
    """Simulate a cell; the numbers are the same on all machines of one kind.

    Parameters
    ----------
    cell : Cell
        The cell.

    Returns
    -------
    Result or Regrets
        What the cell keeps, with each policy under its key.

    Examples
    --------
    >>> from soqo import FTM, Environment, Problem, noise, processes
    >>> environment = Environment(Problem([[1.0]]), processes.Gaussian(5.0), noise.Uniform(1.0))
    >>> cell = Cell(environment, {"FTM": FTM()}, horizon=9, seed=0, first_run=4, runs=2, kept="totals")
    >>> compute_cell(cell)
    Result(FTM; horizon 9, runs 4..5)
    """
    place = cell.horizon, cell.runs, cell.seed, cell.first_run
    paths = cell.environment.draw(cell.horizon, cell.runs, seed=cell.seed, first_run=cell.first_run)
    played = play_jointly(cell.policies, paths)
    if cell.kept == "regrets":
        return measure_regrets(played, paths)
    result = account(paths, played.items(), make_configuration(cell.environment, cell.policies, *place))
    return result if cell.kept == "rounds" else result.total()


def join_policies(parts: Sequence[CellResult]) -> CellResult:
    """Return the policies of several results of one cell.

    Parameters
    ----------
    parts : sequence of Result or Regrets
        The results, with different policies.

    Returns
    -------
    Result or Regrets
        One result with all of them.

    Examples
    --------
    >>> from soqo import FTM, Environment, Problem, noise, processes
    >>> environment = Environment(Problem([[1.0]]), processes.Gaussian(5.0), noise.Uniform(1.0))
    >>> parts = [Cell(environment, {name: FTM()}, 9, 0, 0, 2, "totals") for name in ("one", "other")]
    >>> join_policies([compute_cell(part) for part in parts]).policies
    ('one', 'other')
    """
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Regrets):
        return Regrets.join_policies([part for part in parts if isinstance(part, Regrets)])
    results = [part for part in parts if isinstance(part, Result)]
    policies = {key: text for result in results for key, text in result.configuration.get("policies", {}).items()}
    return replace(
        results[0],
        records={key: record for result in results for key, record in result.records.items()},
        configuration={**results[0].configuration, "policies": policies},
    )


def merge_cells(setting: Setting, cells: Iterable[Cell], results: Mapping[str, CellResult]) -> Outcome:
    """Merge the results of a setting's cells, given by key, into its outcome.

    Parameters
    ----------
    setting : Setting
        The setting.
    cells : iterable of Cell
        The cells, from :func:`split_into_cells`.
    results : mapping of str to Result
        The result of each cell, by the key of the cell; it may have policies of other settings too.

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
    keys = {name: policy_key(policy) for name, policy in setting.policies.items()}
    by_horizon: dict[int, list[Result]] = {}
    for cell in sorted(cells, key=lambda cell: cell.first_run):
        result = results[cell.key]
        assert isinstance(result, Result)
        names = {name: key for name, key in keys.items() if key in cell.policies}
        by_horizon.setdefault(cell.horizon, []).append(_rename(result, names))
    return Outcome(setting, {horizon: Result.concat(parts) for horizon, parts in by_horizon.items()})


def _rename(result: Result, names: Mapping[str, str]) -> Result:
    """Return the policies with these keys under their names in a setting, in this order."""
    texts = result.configuration.get("policies", {})
    return replace(
        result,
        records={name: result.records[key] for name, key in names.items()},
        configuration={**result.configuration, "policies": {name: texts.get(key) for name, key in names.items()}},
    )


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
        return self.folder / f"{cell.key}{'.npz' if cell.kept == 'regrets' else '.nc'}"

    def load(self, cell: Cell) -> CellResult | None:
        """Return what is stored of a cell, or None.

        A file that is damaged, or that holds the result of another cell, is renamed, and the cell computed again.

        Parameters
        ----------
        cell : Cell
            The cell. The result may lack some of its policies, and have others.
        """
        path = self.path(cell)
        try:
            kind = Regrets if cell.kept == "regrets" else Result
            found: CellResult = kind.load(path, key=cell.key)
        except FileNotFoundError:
            return None
        except FileFormatError:
            pass
        else:
            if _fits(cell, found):
                return found
        os.replace(path, path.with_suffix(".damaged"))
        return None

    def save(self, cell: Cell, result: CellResult) -> None:
        """Store the result of a cell.

        Parameters
        ----------
        cell : Cell
            The cell.
        result : Result or Regrets
            Its result.
        """
        result.save(self.path(cell), key=cell.key)


def _fits(cell: Cell, found: CellResult) -> bool:
    """Return whether a file holds as many runs and rounds as the cell."""
    if isinstance(found, Regrets):
        return found.runs == cell.runs
    rounds = cell.horizon if cell.kept == "rounds" else 1
    return found.benchmark_hitting.shape == (cell.runs, rounds)
