"""The columns of a log in a table, whether a CSV file, a Parquet file or a data frame.

::

    v_1, ..., v_d              the minimizers
    x_1, ..., x_d              the positions
    applied_1, ..., applied_d  optional: the positions as applied; where a cell is not empty it replaces that of x
    y                          the readings; an empty cell means that there was none
    time                       optional: when the round was played, in ISO 8601 with a zone
    at_1, ..., at_d            optional: where the reading was felt; an empty cell means at the position
    active_1, ..., active_d    optional: 1 for an actuator that could move, 0 otherwise; an empty cell means 1
    factor, unit               optional: of the hitting cost and of the reading; an empty cell means 1
    covariate_1, ...           optional: what was known about the reading; a row of empty cells means nothing

Names of actuators may take the place of the numbers, as in ``v_zone 1``. Other columns are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from soqo.errors import ArgumentError
from soqo.typing import Array, BoolArray

SETTINGS = ("x0", "low", "high", "rate", "period", "switching_weight", "horizon", "actuators", "units")
"""What a table cannot hold in columns, by the names of the arguments of a log."""


class Columns(NamedTuple):
    """The columns of a table that hold a log.

    Attributes
    ----------
    v, x, applied, at, active : list of str
        The names of the columns, one for each actuator; an entry of the last three is empty if there is no such column.
    actuators : tuple of str or None
        The names of the actuators; None if they are numbered.
    has_time, has_factor, has_unit : bool
        Whether there is a column of timestamps, factors and units.
    covariates : list of str
        The names of the columns of covariates.
    """

    v: list[str]
    x: list[str]
    applied: list[str]
    at: list[str]
    active: list[str]
    actuators: tuple[str, ...] | None
    has_time: bool
    has_factor: bool
    has_unit: bool
    covariates: list[str]


def to_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a log, but for its timestamps, from the arguments of the log; none is a view of it."""
    dim, actuators = fields["v"].shape[1], fields["actuators"]
    labels = [str(k + 1) for k in range(dim)] if actuators is None else list(actuators)
    columns: dict[str, Any] = {}
    for kind in ("v", "x", "at", "active"):
        if fields[kind] is not None:
            columns |= {f"{kind}_{label}": fields[kind][:, k].copy() for k, label in enumerate(labels)}
    if fields["covariates"] is not None:
        columns |= {f"covariate_{k + 1}": column.copy() for k, column in enumerate(fields["covariates"].T)}
    for name in ("factor", "unit", "y"):
        if fields[name] is not None:
            columns[name] = fields[name].copy()
    return columns


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
        at=[name if (name := f"at_{label}") in present else "" for label in labels],
        active=[name if (name := f"active_{label}") in present else "" for label in labels],
        actuators=chosen,
        has_time="time" in present,
        has_factor="factor" in present,
        has_unit="unit" in present,
        covariates=_find_covariates(names),
    )


def _find_covariates(names: Sequence[str]) -> list[str]:
    """Return the columns of covariates, which are numbered from 1."""
    present = {name for name in names if name.startswith("covariate_") and name[len("covariate_") :].isdecimal()}
    wanted = [f"covariate_{k + 1}" for k in range(len(present))]
    missing = [name for name in wanted if name not in present]
    if missing:
        raise ArgumentError(f"the column {missing[0]} is missing; there are {', '.join(names)}")
    return wanted


def collect(columns: Columns, cells: Callable[[str], Array], place: Callable[[str, int], str]) -> dict[str, Any]:
    """Return v, x and y of a log, and what else its columns hold.

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
    found = {"v": v, "x": x, "y": y, "actuators": columns.actuators}
    if any(columns.at):
        found["at"] = _collect_optional(columns.at, cells, place, x, "finite, or empty for the position", np.isinf)
    if any(columns.active):
        wrong = _is_no_flag
        active = _collect_optional(columns.active, cells, place, np.ones_like(x), "0 or 1, or empty for 1", wrong)
        found["active"] = active == 1.0
    for name, has, expected in (
        ("factor", columns.has_factor, "at least 0, or empty for 1"),
        ("unit", columns.has_unit, "above 0, or empty for 1"),
    ):
        if has:
            values = cells(name)
            _refuse(_is_no_size(values, name == "unit"), values, partial(place, name), expected)
            found[name] = np.where(np.isnan(values), 1.0, values)
    if columns.covariates:
        found["covariates"] = _collect_covariates(columns.covariates, cells, place)
    return found


def _collect_covariates(names: Sequence[str], cells: Callable[[str], Array], place: Callable[[str, int], str]) -> Array:
    """Return columns of covariates, of which all cells of a row are empty or none."""
    values = np.stack([cells(name) for name in names], axis=1)
    none = np.isnan(values).all(axis=1)
    for k, name in enumerate(names):
        column = values[:, k]
        wrong = ~np.isfinite(column) & ~none
        _refuse(wrong, column, partial(place, name), "a finite number, or empty in all columns of covariates")
    return values


def _collect_optional(
    names: Sequence[str],
    cells: Callable[[str], Array],
    place: Callable[[str, int], str],
    default: Array,
    expected: str,
    is_wrong: Callable[[Array], BoolArray],
) -> Array:
    """Return columns of which some may be missing, with a default for those and for empty cells."""
    result = default.copy()
    for k, name in enumerate(names):
        if name:
            values = cells(name)
            _refuse(is_wrong(values), values, partial(place, name), expected)
            result[:, k] = np.where(np.isnan(values), result[:, k], values)
    return result


def _is_no_flag(values: Array) -> BoolArray:
    return np.asarray(~(np.isnan(values) | (values == 0.0) | (values == 1.0)))


def _is_no_size(values: Array, positive: bool) -> BoolArray:
    low = values <= 0.0 if positive else values < 0.0
    return np.asarray(np.isinf(values) | low)


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
