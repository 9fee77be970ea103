r"""Logs as tables: CSV files (with the standard library alone), data frames and Parquet files (pandas, pyarrow).

::

    v_1, ..., v_d              the minimizers
    x_1, ..., x_d              the positions
    applied_1, ..., applied_d  optional: the positions as applied; where a cell is not empty it replaces that of x
    y                          the readings; an empty cell means that there was none
    time                       optional: when the round was played, in ISO 8601 with a zone
    at_1, active_1, factor, unit, covariate_1, ...    optional: as in ``COLUMNS``

Names of actuators may take the place of the numbers, as in ``v_zone 1``. Other columns are ignored. What has no column
is in comments at the head of a CSV file, each a name and a value in JSON, and in ``attrs["soqo"]`` of a data frame,
which pandas writes to Parquet files::

    # switching_weight = [1.0, 25.0]
    # units = "degC"
    time,v_1,v_2,x_1,x_2,y
    2026-03-01T00:00:00Z,21.5,20.0,21.1,20.0,0.8
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from soqo._control.log_columns import COLUMNS, Column
from soqo._control.timestamps import format_times, utc_time
from soqo._foundation.optional_imports import require_extra
from soqo._storage.atomic import replacing
from soqo._storage.checksummed import starts_with
from soqo._storage.journal_format import is_journal
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike

if TYPE_CHECKING:
    import pandas


class Settings(TypedDict, total=False):
    """What a table cannot hold in columns, by the names of the arguments of a log."""

    x0: ArrayLike | None
    low: ArrayLike | None
    high: ArrayLike | None
    rate: ArrayLike | None
    period: ArrayLike | None
    switching_weight: ArrayLike | None
    horizon: int | None
    actuators: Sequence[str] | None
    units: str | Sequence[str] | None


_ROUND = "round"
"""The name of the index of a data frame. The position x0 belongs to a frame that begins with round 1."""

_FLAGS = {"true": 1.0, "false": 0.0}
"""How other programs write whether an actuator is active."""

_APPLIED = Column("actuator", "finite, or {empty} for x")


class Table(NamedTuple):
    """A table as it was found.

    Attributes
    ----------
    names : list of str
        The names of the columns.
    rows : list of str
        What messages call the rows.
    cells : array of objects, shape (rows, columns)
        The cells; None where there is nothing.
    settings : dict
        What the table says beside its columns.
    """

    names: list[str]
    rows: list[str]
    cells: np.ndarray[Any, np.dtype[np.object_]]
    settings: dict[str, Any]

    def convert(self, name: str, kind: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
        """Return what the cells of a column say."""
        found = []
        for row, cell in zip(self.rows, self.cells[:, self.names.index(name)], strict=True):
            try:
                found.append(kind(cell))
            except ArgumentError as error:
                raise ArgumentError(f"{row}, column {name}: the cell {error}") from None
        return np.array(found)

    def numbers(self, name: str) -> Array:
        """Return the numbers in a column; NaN for empty cells, and where there is no such column."""
        if name not in self.names:
            return np.full(len(self.rows), np.nan)
        try:
            return self.cells[:, self.names.index(name)].astype(np.float64)
        except (TypeError, ValueError):  # of which some cell is the reason
            return self.convert(name, _number)


def _number(cell: Any) -> float:
    """Return the number in a cell, NaN for an empty one; the message of an error continues the name of a cell."""
    try:
        return math.nan if cell is None else float(_FLAGS.get(str(cell).lower(), cell))
    except (TypeError, ValueError):
        raise ArgumentError(f"must be a number, got {cell!r}") from None


# ---- what a table holds ----------------------------------------------------------------------------------------------


def read_fields(table: Table, given: Settings) -> dict[str, Any]:
    """Return the arguments of the log in a table, but for what is given in place of its settings.

    Raises
    ------
    ArgumentError
        The message names the column, and the row of a cell that is wrong.
    """
    settings = {name: value for name, value in table.settings.items() if given.get(name) is None}
    names = table.names
    labels, actuators = _find_actuators(names, given.get("actuators") or settings.get("actuators"))
    if not table.rows:
        raise ArgumentError("there must be at least one round, got none")
    found: dict[str, Any] = {}
    for name, column in {"applied": _APPLIED, **COLUMNS}.items():
        entries = [cell for cell in names if re.fullmatch(f"{_stem(name)}_[0-9]+", cell)]
        cells = _cell_names(name, column, labels, len(entries))
        missing = [cell for cell in cells if cell not in names]
        if missing and (name in ("x", "y") or column.each == "entry"):
            advice = "; select columns with actuators=" if name == "x" else ""
            raise ArgumentError(f"the column {missing[0]} is missing{advice}; there are {', '.join(names)}")
        if missing == cells:
            continue
        values = np.stack([table.numbers(cell) for cell in cells], axis=1)
        if name == "x" and "applied" in found:
            values = np.where(np.isnan(found["applied"]), values, found.pop("applied"))
        column.check(values, "empty", lambda row, k: f"{table.rows[row]}, column {cells[k]}: the cell")  # noqa: B023  # called at once, in the same turn of the loop
        found[name] = values[:, 0] if column.each == "round" else values
    if "time" in names:
        found["time"] = table.convert("time", utc_time)
    return {"x0": found["x"][0], **settings, **found, "actuators": actuators}


def _find_actuators(names: Sequence[str], actuators: Sequence[str] | None) -> tuple[list[str], list[str] | None]:
    """Return what the names of columns end with, one for each actuator, and the names of the actuators if they have.

    Parameters
    ----------
    names : sequence of str
        The names of the columns.
    actuators : sequence of str, optional
        The actuators: those of the columns that are wanted, in this order, or names for numbered columns.
    """
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise ArgumentError(f"the columns must have different names, got {twice[0]!r} twice")
    labels, positions = ([name[2:] for name in names if name[:2] == stem and name != stem] for stem in ("v_", "x_"))
    if not labels:
        raise ArgumentError(f"there must be columns v_1, x_1 and y, got {', '.join(names) or 'no columns'}")
    is_numbered = sorted(labels) == sorted(_numbers(len(labels)))
    labels = _numbers(len(labels)) if is_numbered else labels
    if actuators is None:
        if alone := sorted(set(positions) - set(labels)):
            raise ArgumentError(f"the column x_{alone[0]} has no column v_{alone[0]} beside it")
        return labels, None if is_numbered else labels
    chosen = list(actuators)
    if set(chosen) <= set(labels):
        return chosen, chosen
    if not is_numbered or len(labels) != len(chosen):
        there = ", ".join(f"v_{label}" for label in labels)
        raise ArgumentError(f"actuators must name columns among {there}, got {chosen}")
    return labels, chosen


def _cell_names(name: str, column: Column, labels: Sequence[str], entries: int) -> list[str]:
    """Return the names of the columns of a quantity."""
    if column.each == "round":
        return [name]
    return [f"{_stem(name)}_{label}" for label in (labels if column.each == "actuator" else _numbers(entries))]


def _stem(name: str) -> str:
    """Return how the names of the columns of a quantity begin: one of the covariates is a covariate."""
    return name.removesuffix("s")


def _numbers(count: int) -> list[str]:
    return [str(k + 1) for k in range(count)]


def _to_columns(fields: Mapping[str, Any]) -> dict[str, Array]:
    """Return the columns of a log, but for its timestamps, from the arguments of the log."""
    count, dim = fields["v"].shape
    columns: dict[str, Array] = {}
    for name, column in COLUMNS.items():
        if fields[name] is not None:
            parts = fields[name].reshape(count, -1).T
            columns |= zip(
                _cell_names(name, column, fields["actuators"] or _numbers(dim), len(parts)), parts, strict=True
            )
    return columns


def _plain_settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what has no column, as numbers, texts and lists."""
    given = {name: fields[name] for name in Settings.__annotations__ if fields[name] is not None}
    return {name: value if isinstance(value, str) else np.asarray(value).tolist() for name, value in given.items()}


# ---- CSV -------------------------------------------------------------------------------------------------------------


def _read_csv(path: Path) -> Table:
    """Return the table in a CSV file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        expected = "the file must be a journal, a Parquet file, or a CSV file in UTF-8, and is none of them"
        raise ArgumentError(f"{expected} ({error})") from error
    lines = text.splitlines(keepends=True)
    start = next((k for k, line in enumerate(lines) if not line.lstrip().startswith("#")), len(lines))
    reader = csv.reader(lines[start:], strict=True)
    try:
        found = [(f"line {start + reader.line_num}", [cell.strip() or None for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise ArgumentError(f"line {start + reader.line_num}: not valid CSV: {error}") from error
    rows = [(place, cells) for place, cells in found if any(cells)]
    if not rows:
        raise ArgumentError("there must be a header such as v_1,x_1,y, and there is none")
    names = [name or "" for name in rows[0][1]]
    if len(names) == 1 and set(";\t") & set(names[0]):
        raise ArgumentError(f"{rows[0][0]}: the cells must be separated by commas, got {names[0]}")
    for place, cells in rows:
        if len(cells) != len(names):
            raise ArgumentError(f"{place}: a row must have {len(names)} cells, got {len(cells)}")
    body = np.array([cells for _, cells in rows[1:]], dtype=object).reshape(-1, len(names))
    return Table(names, [place for place, _ in rows[1:]], body, _read_comments(lines[:start]))


def _read_comments(lines: Sequence[str]) -> dict[str, Any]:
    """Return the settings in the comments before the header."""
    settings: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        name, _, value = (part.strip() for part in line.lstrip(" #").partition("="))
        if name in Settings.__annotations__:
            try:
                settings[name] = json.loads(value)
            except ValueError as error:
                raise ArgumentError(f"line {number}: {name} must be a value in JSON, got {value!r} ({error})") from None
    return settings


def _write_csv(path: Path, fields: Mapping[str, Any]) -> None:
    """Write the arguments of a log to a CSV file. Reading the file gives the same numbers."""
    columns: dict[str, list[Any]] = {} if fields["time"] is None else {"time": format_times(fields["time"])}
    for name, values in _to_columns(fields).items():
        cells = (values.astype(int) if values.dtype == np.bool_ else values).tolist()
        columns[name] = ["" if cell != cell else cell for cell in cells]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("# soqo log\n")
        file.writelines(f"# {name} = {json.dumps(value)}\n" for name, value in _plain_settings(fields).items())
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


# ---- data frames and Parquet -----------------------------------------------------------------------------------------


def from_frame(frame: pandas.DataFrame) -> Table:
    """Return the table in a data frame."""
    pd = require_extra("pandas", "lab")
    if not isinstance(frame, pd.DataFrame):
        raise ArgumentError(f"frame must be a pandas.DataFrame, got {type(frame).__name__}")
    stored = frame.attrs.get("soqo", {})
    settings = {name: stored[name] for name in Settings.__annotations__ if name in stored}
    if frame.index.name != _ROUND or not len(frame) or frame.index[0] != 1:
        settings.pop("x0", None)  # rows of a longer log, whose first position this is not
    if isinstance(frame.index, pd.DatetimeIndex) and "time" not in frame:
        frame = frame.assign(time=frame.index)
    cells = frame.astype(object).where(frame.notna(), None).to_numpy()
    return Table([str(name) for name in frame.columns], [f"row {label}" for label in frame.index], cells, settings)


def to_frame(fields: Mapping[str, Any]) -> pandas.DataFrame:
    """Return the arguments of a log as a data frame."""
    pd = require_extra("pandas", "lab")
    time = {} if fields["time"] is None else {"time": pd.DatetimeIndex(fields["time"]).tz_localize("UTC")}
    index = pd.RangeIndex(1, len(fields["y"]) + 1, name=_ROUND)
    frame = pd.DataFrame({**time, **_to_columns(fields)}, index=index)
    frame.attrs["soqo"] = _plain_settings(fields)
    return frame  # type: ignore[no-any-return]  # pandas is imported at run time, hence untyped


def _read_parquet(path: Path) -> Table:
    """Return the table in a Parquet file."""
    pd = require_extra("pandas", "lab")
    require_extra("pyarrow", "lab")
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except OSError:
        raise
    except Exception as error:  # pyarrow has several
        raise ArgumentError(f"it is not a valid Parquet file: {error}") from error
    return from_frame(frame)


def _write_parquet(path: Path, fields: Mapping[str, Any]) -> None:
    """Write the arguments of a log to a Parquet file."""
    require_extra("pyarrow", "lab")
    to_frame(fields).to_parquet(path, engine="pyarrow")


# ---- files -----------------------------------------------------------------------------------------------------------

_WRITERS = {".csv": _write_csv, ".parquet": _write_parquet}


def read_table(path: Path) -> Table:
    """Return the table in a CSV or Parquet file."""
    return _read_parquet(path) if starts_with(path, b"PAR1") else _read_csv(path)


def write_table(path: Path, fields: Mapping[str, Any]) -> None:
    """Write the arguments of a log to a file, atomically, in the format that its suffix says."""
    if path.suffix not in _WRITERS:
        raise ArgumentError(f"path must end with .csv or .parquet, got {path.name}")
    if is_journal(path):
        raise ArgumentError(f"path must not be a journal, which has more in it, got {path}")
    with replacing(path) as temporary:
        _WRITERS[path.suffix](temporary, fields)
