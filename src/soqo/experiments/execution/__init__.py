"""Execution: cells of work, the processes or cluster that compute them, and the outcome of a setting."""

from soqo.experiments.execution._bounds_over_horizons import BoundName, BoundsTable
from soqo.experiments.execution._cells import Cell, CellStore, code_version, compute_cell, merge_cells, split_into_cells
from soqo.experiments.execution._executor import CellProgress, run
from soqo.experiments.execution._outcome import Outcome

__all__ = [
    "BoundName",
    "BoundsTable",
    "Cell",
    "CellProgress",
    "CellStore",
    "Outcome",
    "code_version",
    "compute_cell",
    "merge_cells",
    "run",
    "split_into_cells",
]
