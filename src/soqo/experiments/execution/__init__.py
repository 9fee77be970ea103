"""Execution: cells of work, the processes or cluster that compute them, and the outcome of a setting."""

from soqo.experiments.execution._bounds_over_horizons import BoundName, BoundsTable
from soqo.experiments.execution._cells import Cell, CellStore, code_version, compute_cell, merge_cells, split_into_cells
from soqo.experiments.execution._curves import Band, Curves, PolicyCurves, make_curves
from soqo.experiments.execution._executor import CellProgress, run
from soqo.experiments.execution._outcome import Outcome

__all__ = [
    "Band",
    "BoundName",
    "BoundsTable",
    "Cell",
    "CellProgress",
    "CellStore",
    "Curves",
    "Outcome",
    "PolicyCurves",
    "code_version",
    "compute_cell",
    "make_curves",
    "merge_cells",
    "run",
    "split_into_cells",
]
