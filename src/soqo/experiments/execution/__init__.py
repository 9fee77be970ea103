"""Execution: cells of work, the processes or cluster that compute them, and the outcome of a setting."""

from soqo.experiments.execution._bounds_over_horizons import BoundName, BoundsTable
from soqo.experiments.execution._cell_keys import code_version, policy_key
from soqo.experiments.execution._cell_store import CellStore
from soqo.experiments.execution._cells import (
    Cell,
    compute_cell,
    join_policies,
    make_cells,
    merge_cells,
    split_into_cells,
)
from soqo.experiments.execution._executor import (
    CellProgress,
    Landed,
    RegretTable,
    check_work,
    compute_cells,
    run,
    run_with_plans,
)
from soqo.experiments.execution._joint_play import play_jointly
from soqo.experiments.execution._outcome import Band, Outcome
from soqo.experiments.execution._pools import open_executor
from soqo.experiments.execution._regrets import Regrets
from soqo.experiments.execution._resampling import interval, resampled_runs

__all__ = [
    "Band",
    "BoundName",
    "BoundsTable",
    "Cell",
    "CellProgress",
    "CellStore",
    "Landed",
    "Outcome",
    "RegretTable",
    "Regrets",
    "check_work",
    "code_version",
    "compute_cell",
    "compute_cells",
    "interval",
    "join_policies",
    "make_cells",
    "merge_cells",
    "open_executor",
    "play_jointly",
    "policy_key",
    "resampled_runs",
    "run",
    "run_with_plans",
    "split_into_cells",
]
