"""The columns of a log in a table, whether a CSV file, a Parquet file or a data frame.

::

    v_1, ..., v_d              the minimizers
    x_1, ..., x_d              the positions
    applied_1, ..., applied_d  optional: the positions as applied; where a cell is not empty it replaces that of x
    y                          the readings; an empty cell means that there was none
    time                       optional: when the round was played, in ISO 8601 with a zone

Names of actuators may take the place of the numbers, as in ``v_zone 1``. Other columns are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from soqo.errors import ArgumentError
from soqo.typing import Array, BoolArray

SETTINGS = ("x0", "low", "high", "switching_weight", "horizon", "actuators", "units")
"""What a table cannot hold in columns, by the names of the arguments of a log."""


class Columns(NamedTuple):
    """The columns of a table that hold a log.

    Attributes
    ----------
    v, x, applied : list of str
        The names of the columns, one for each actuator; an entry of ``applied`` is empty if there is no such column.
    actuators : tuple of str or None
        The names of the actuators; None if they are numbered.
    has_time : bool
        Whether there is a column of timestamps.
    """

    v: list[str]
    x: list[str]
    applied: list[str]
    actuators: tuple[str, ...] | None
    has_time: bool


def name_columns(dim: int, actuators: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return the names of the columns of minimizers and positions."""
    labels = [str(k + 1) for k in range(dim)] if actuators is None else list(actuators)
    return [f"v_{label}" for label in labels], [f"x_{label}" for label in labels]


def find_columns(names: Sequence[str], actuators: Sequence[str] | None = None) -> Columns:
    """Find the columns of a log among the names of a table's columns.

    Parameters
    ----------
    names : sequence of str
        The names in the table.
    actuators : sequence of str, optional
        The actuators: those of the columns that are wanted, in this order, or names for numbered columns.

    Raises
    ------
    ArgumentError
        The message names the column that is missing.

    Examples
    --------
    >>> find_columns(["time", "v_2", "v_1", "x_1", "x_2", "y", "weather"]).v
    ['v_1', 'v_2']
    >>> find_columns(["v_left", "x_left", "v_right", "x_right", "y"]).actuators
    ('left', 'right')
    """
    present = set(names)
    if len(present) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ArgumentError(f"the columns must have different names, got {twice!r} twice")
    labels = [name.removeprefix("v_") for name in names if name.startswith("v_") and name != "v_"]
    if not labels:
        raise ArgumentError(f"there must be columns v_1, x_1 and y, got {', '.join(names) or 'no columns'}")
    numbered = sorted(labels) == sorted(str(k + 1) for k in range(len(labels)))
    chosen: tuple[str, ...] | None = None if numbered else tuple(labels)
    if numbered:
        labels.sort(key=int)
    if actuators is not None:
        chosen = tuple(actuators)
        if present.issuperset(f"v_{name}" for name in chosen):
            labels = list(chosen)
        elif not numbered or len(labels) != len(chosen):
            raise ArgumentError(f"actuators must name columns among {_listed('v_', labels)}, got {list(chosen)}")
    for name in [*(f"x_{label}" for label in labels), "y"]:
        if name not in present:
            advice = "; select columns with actuators=" if name != "y" and len(labels) > 1 else ""
            raise ArgumentError(f"the column {name} is missing{advice}; there are {', '.join(names)}")
    if actuators is None and (alone := sorted(_extra_positions(names, labels))):
        raise ArgumentError(f"the column {alone[0]} has no column v_{alone[0][2:]} beside it")
    return Columns(
        v=[f"v_{label}" for label in labels],
        x=[f"x_{label}" for label in labels],
        applied=[name if (name := f"applied_{label}") in present else "" for label in labels],
        actuators=chosen,
        has_time="time" in present,
    )


def collect(columns: Columns, cells: Callable[[str], Array], place: Callable[[str, int], str]) -> dict[str, Any]:
    """Return v, x and y of a log.

    Parameters
    ----------
    columns : Columns
        The columns.
    cells : callable
        The numbers in a column, NaN where a cell is empty.
    place : callable
        It describes a column and a row (counted from 0) for error messages.

    Raises
    ------
    ArgumentError
        The message names the column and the row of the cell that is wrong.
    """
    v, x = (np.stack([cells(name) for name in names], axis=1) for names in (columns.v, columns.x))
    for k, name in enumerate(columns.applied):
        if name:
            applied = cells(name)
            _refuse(np.isinf(applied), applied, partial(place, name), "finite, or empty")
            x[:, k] = np.where(np.isnan(applied), x[:, k], applied)
    for values, names in ((v, columns.v), (x, columns.x)):
        for k, name in enumerate(names):
            column = values[:, k]
            _refuse(~np.isfinite(column), column, partial(place, name), "a finite number")
    y = cells("y")
    _refuse(np.isinf(y), y, partial(place, "y"), "finite, or empty for no reading")
    if not len(y):
        raise ArgumentError("there must be at least one round, got none")
    return {"v": v, "x": x, "y": y, "actuators": columns.actuators}


def _extra_positions(names: Sequence[str], labels: Sequence[str]) -> set[str]:
    positions = {name for name in names if name.startswith("x_") and name != "x_"}
    return positions - {f"x_{label}" for label in labels}


def _listed(prefix: str, labels: Sequence[str]) -> str:
    return ", ".join(f"{prefix}{label}" for label in labels)


def _refuse(wrong: BoolArray, values: Array, place: Callable[[int], str], expected: str) -> None:
    """Raise an error for the first wrong cell of a column."""
    if wrong.any():
        row = int(np.argmax(wrong))
        got = "an empty one" if np.isnan(values[row]) else str(values[row])
        raise ArgumentError(f"{place(row)}: the cell must be {expected}, got {got}")
