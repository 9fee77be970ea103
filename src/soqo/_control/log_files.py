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
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from soqo._control.log_columns import COLUMNS, Column
from soqo._control.timestamps import format_times, utc_time
from soqo._foundation.optional_imports import require_extra
from soqo._storage.atomic import replacing
from soqo._storage.checksummed import starts_with
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

_FLAGS = {text: value for word, value in (("true", 1.0), ("false", 0.0)) for text in (word, word.title(), word.upper())}
"""How other programs write whether an actuator is active."""

_APPLIED = Column("actuator", "finite, or {empty} for x")


class Table(NamedTuple):
    """A table as it was found.

    Attributes
    ----------
    columns : dict
        The cells of each column; None or an empty text where there is nothing.
    rows : list of str
        What messages call the rows.
    settings : dict
        What it says beside its columns.
    """

    columns: dict[str, list[Any]]
    rows: list[str]
    settings: dict[str, Any]

    def numbers(self, name: str) -> Array:
        """Return the numbers in a column; NaN for empty cells, and where there is no such column."""
        found = np.full(len(self.rows), np.nan)
        for row, cell in enumerate(self.columns.get(name, ())):
            try:
                if cell is not None and cell != "":
                    found[row] = _FLAGS.get(cell, cell)
            except (TypeError, ValueError):
                place = f"{self.rows[row]}, column {name}"
                raise ArgumentError(f"{place}: the cell must be a number, got {cell!r}") from None
        return found

    def times(self, name: str) -> list[np.datetime64]:
        """Return the timestamps in a column."""
        found = []
        for place, cell in zip(self.rows, self.columns[name], strict=True):
            try:
                found.append(utc_time(cell or None))
            except ArgumentError as error:
                raise ArgumentError(f"{place}, column {name}: the cell {error}") from None
        return found


# ---- what a table holds ----------------------------------------------------------------------------------------------


def read_fields(table: Table, actuators: Sequence[str] | None) -> dict[str, Any]:
    """Return the arguments of the log in a table.

    Raises
    ------
    ArgumentError
        The message names the column, and the row of a cell that is wrong.
    """
    settings = dict(table.settings)
    stored = settings.pop("actuators", None)
    labels, names = _find_actuators(list(table.columns), stored if actuators is None else actuators)
    if not table.rows:
        raise ArgumentError("there must be at least one round, got none")
    found: dict[str, Any] = {}
    for name, column in {"applied": _APPLIED, **COLUMNS}.items():
        entries = _count_entries(name, column, table.columns) if column.each == "entry" else labels
        cells = _cell_names(name, column, entries)
        if not any(cell in table.columns for cell in cells):
            continue
        values = np.stack([table.numbers(cell) for cell in cells], axis=1)
        if name == "x" and "applied" in found:
            values = np.where(np.isnan(found["applied"]), values, found.pop("applied"))
        column.check(values, "empty", lambda row, k: f"{table.rows[row]}, column {cells[k]}: the cell")  # noqa: B023
        found[name] = values[:, 0] if column.each == "round" else values
    if "time" in table.columns:
        found["time"] = table.times("time")
    return {"x0": found["x"][0], **settings, **found, "actuators": names}


def _find_actuators(names: Sequence[str], actuators: Sequence[str] | None) -> tuple[list[str], Sequence[str] | None]:
    """Return what the names of columns end with, one for each actuator, and the names of the actuators if they have.

    Parameters
    ----------
    names : sequence of str
        The names of the columns.
    actuators : sequence of str, optional
        The actuators: those of the columns that are wanted, in this order, or names for numbered columns.
    """
    labels = [name.removeprefix("v_") for name in names if name.startswith("v_") and name != "v_"]
    if not labels:
        raise ArgumentError(f"there must be columns v_1, x_1 and y, got {', '.join(names) or 'no columns'}")
    numbered = sorted(labels) == sorted(str(k + 1) for k in range(len(labels)))
    if numbered:
        labels.sort(key=int)
    chosen: Sequence[str] | None = None if numbered else tuple(labels)
    if actuators is not None:
        chosen = tuple(actuators)
        if all(f"v_{name}" in names for name in chosen):
            labels = list(chosen)
        elif not numbered or len(labels) != len(chosen):
            there = ", ".join(f"v_{label}" for label in labels)
            raise ArgumentError(f"actuators must name columns among {there}, got {list(chosen)}")
    for name in [*(f"x_{label}" for label in labels), "y"]:
        if name not in names:
            advice = "; select columns with actuators=" if name != "y" and len(labels) > 1 else ""
            raise ArgumentError(f"the column {name} is missing{advice}; there are {', '.join(names)}")
    alone = {name for name in names if name.startswith("x_") and name != "x_"} - {f"x_{label}" for label in labels}
    if actuators is None and alone:
        raise ArgumentError(f"the column {min(alone)} has no column v_{min(alone)[2:]} beside it")
    return labels, chosen


def _cell_names(name: str, column: Column, labels: Sequence[str]) -> list[str]:
    """Return the names of the columns of a quantity, with an entry for each actuator or for each label."""
    stem = name.removesuffix("s") if column.each == "entry" else name
    return [name] if column.each == "round" else [f"{stem}_{label}" for label in labels]


def _count_entries(name: str, column: Column, present: Iterable[str]) -> list[str]:
    """Return the numbers of the columns of a quantity that has any number of entries."""
    (stem,) = _cell_names(name, column, [""])
    found = [cell for cell in present if cell.startswith(stem) and cell.removeprefix(stem).isdecimal()]
    for number in range(1, len(found) + 1):
        if f"{stem}{number}" not in found:
            raise ArgumentError(f"the column {stem}{number} is missing; there are {', '.join(present)}")
    return [str(k + 1) for k in range(len(found))]


def _to_columns(fields: Mapping[str, Any]) -> dict[str, Array]:
    """Return the columns of a log, but for its timestamps, from the arguments of the log."""
    columns: dict[str, Array] = {}
    for name, column in COLUMNS.items():
        if fields[name] is not None:
            table = fields[name].reshape(len(fields["v"]), -1)
            numbers = [str(k + 1) for k in range(table.shape[1])]
            labels = fields["actuators"] if column.each == "actuator" and fields["actuators"] else numbers
            columns |= dict(zip(_cell_names(name, column, labels), table.T, strict=True))
    return columns


def _plain_settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what has no column, as numbers, texts and lists."""
    given = {name: fields[name] for name in Settings.__annotations__ if fields[name] is not None}
    return {name: value if isinstance(value, str) else np.asarray(value).tolist() for name, value in given.items()}


# ---- CSV -------------------------------------------------------------------------------------------------------------


def read_csv(path: Path) -> Table:
    """Return the table in a CSV file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        expected = "the file must be a journal, a Parquet file, or a CSV file in UTF-8, and is none of them"
        raise ArgumentError(f"{expected} ({error})") from error
    lines = text.splitlines(keepends=True)
    start = next((k for k, line in enumerate(lines) if not line.lstrip().startswith("#")), len(lines))
    settings = _read_comments(lines[:start])
    reader = csv.reader(lines[start:], strict=True)
    try:
        rows = [(f"line {start + reader.line_num}", [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise ArgumentError(f"line {start + reader.line_num}: not valid CSV: {error}") from error
    rows = [(place, cells) for place, cells in rows if any(cells)]
    if not rows:
        raise ArgumentError("there must be a header such as v_1,x_1,y, and there is none")
    (line, names), *body = rows
    for place, cells in body:
        if len(cells) != len(names):
            raise ArgumentError(f"{place}: a row must have {len(names)} cells, got {len(cells)}")
    if len(names) == 1 and set(";\t") & set(names[0]):
        raise ArgumentError(f"{line}: the cells must be separated by commas, got {names[0]}")
    columns = zip(*(cells for _, cells in body), strict=True) if body else [() for _ in names]
    return Table(_by_name(names, columns), [place for place, _ in body], settings)


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


def _by_name(names: Sequence[str], columns: Iterable[Iterable[Any]]) -> dict[str, list[Any]]:
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise ArgumentError(f"the columns must have different names, got {twice[0]!r} twice")
    return {name: list(cells) for name, cells in zip(names, columns, strict=True)}


def write_csv(path: Path, fields: Mapping[str, Any]) -> None:
    """Write the arguments of a log to a CSV file, atomically. Reading the file gives the same numbers."""
    text = io.StringIO(newline="")
    text.write("# soqo log\n")
    for name, value in _plain_settings(fields).items():
        text.write(f"# {name} = {json.dumps(value)}\n")
    columns: dict[str, list[Any]] = {} if fields["time"] is None else {"time": format_times(fields["time"])}
    for name, values in _to_columns(fields).items():
        cells = (values.astype(int) if values.dtype == np.bool_ else values).tolist()
        columns[name] = ["" if cell != cell else cell for cell in cells]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    with replacing(path) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8", newline="")


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
    cells = frame.astype(object).where(frame.notna(), None)
    names = [str(name) for name in frame.columns]
    columns = _by_name(names, (cells.iloc[:, k] for k in range(len(names))))
    if isinstance(frame.index, pd.DatetimeIndex):
        columns.setdefault("time", list(frame.index))
    return Table(columns, [f"row {label}" for label in frame.index], settings)


def to_frame(fields: Mapping[str, Any]) -> pandas.DataFrame:
    """Return the arguments of a log as a data frame."""
    pd = require_extra("pandas", "lab")
    time = {} if fields["time"] is None else {"time": pd.DatetimeIndex(fields["time"]).tz_localize("UTC")}
    index = pd.RangeIndex(1, len(fields["y"]) + 1, name=_ROUND)
    frame = pd.DataFrame({**time, **_to_columns(fields)}, index=index)
    frame.attrs["soqo"] = _plain_settings(fields)
    return frame  # type: ignore[no-any-return]  # pandas is imported at run time, hence untyped


def read_parquet(path: Path) -> Table:
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


def write_parquet(path: Path, fields: Mapping[str, Any]) -> None:
    """Write the arguments of a log to a Parquet file, atomically."""
    require_extra("pyarrow", "lab")
    frame = to_frame(fields)
    with replacing(path) as temporary:
        frame.to_parquet(temporary, engine="pyarrow")


def read_table(path: Path) -> Table:
    """Return the table in a CSV or Parquet file."""
    return read_parquet(path) if starts_with(path, b"PAR1") else read_csv(path)
