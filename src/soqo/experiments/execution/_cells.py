"""Cells: an environment, a horizon, a few runs and some policies, which are computed anywhere and stored when done.

The file of a cell is named after everything but its policies, each of which it holds under a name of its own: a setting
with one more policy, or another setting with the same environment, computes only what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from soqo._foundation.frozen_dataclasses import Value
from soqo._simulation.environment import Environment
from soqo._simulation.result import Result
from soqo._simulation.simulate import account, make_configuration
from soqo._storage.plain_data import describe
from soqo.experiments.execution._cell_keys import code_version, describe_user_code, hash_specification, policy_key
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
            "user": describe_user_code(self.environment, "environment"),
            "horizon": self.horizon,
            "seed": self.seed,
            "runs": [self.first_run, self.runs],
            "kept": self.kept,
            "code": code_version(),
        }
        return hash_specification(specification)

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
