r"""Logs as CSV files (with the standard library alone), data frames and Parquet files (pandas, pyarrow).

A CSV file may begin with comments that hold what has no column, each a name and a value in JSON::

    # switching_weight = [1.0, 25.0]
    # units = "degC"
    time,v_1,v_2,x_1,x_2,y
    2026-03-01T00:00:00Z,21.5,20.0,21.1,20.0,0.8

A data frame holds the same in ``attrs["soqo"]``, which pandas writes to Parquet files.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._control.log_columns import SETTINGS, collect, find_columns, to_columns
from soqo._control.timestamps import TimeArray, format_times, utc_time
from soqo._foundation.optional_imports import require_extra
from soqo._storage.atomic import replacing
from soqo.errors import ArgumentError, FileFormatError
from soqo.typing import Array

if TYPE_CHECKING:
    import pandas

PARQUET_MAGIC = b"PAR1"

_FLAGS = {"true": "1", "false": "0"}
"""How other programs write whether an actuator is active."""

_ROUND = "round"
"""The name of the index of a data frame. The position x0 belongs to a frame that begins with round 1."""


# ---- CSV -----------------------------------------------------------------------------------------------------------


def read_csv(path: Path, actuators: Sequence[str] | None) -> dict[str, Any]:
    """Return the arguments of a log in a CSV file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path} must be a journal, a Parquet file, or a CSV file in UTF-8, and is none of them ({error})"
        ) from error
    settings, start = _read_comments(text, path)
    rows = _read_rows(text, start, path)
    if not rows:
        raise FileFormatError(f"{path} must have a header such as v_1,x_1,y, and has none")
    (line, header), *body = rows
    names = [name.strip() for name in header]
    wanted = actuators if actuators is not None else settings.pop("actuators", None)
    try:
        columns = find_columns(names, wanted)
    except ArgumentError as error:
        advice = "; the cells must be separated by commas" if any(set(";\t") & set(name) for name in names) else ""
        raise FileFormatError(f"{path}, line {line}: {error}{advice}") from None
    for at, cells in body:
        if len(cells) != len(names):
            raise FileFormatError(f"{path}, line {at}: a row must have {len(names)} cells, got {len(cells)}")
    index = {name: k for k, name in enumerate(names)}

    def place(name: str, row: int) -> str:
        return f"{path}, line {body[row][0]}, column {name}"

    def numbers(name: str) -> Array:
        found = np.empty(len(body))
        for row, (_, cells) in enumerate(body):
            cell = cells[index[name]].strip()
            if name.startswith("active_"):
                cell = _FLAGS.get(cell.lower(), cell)
            try:
                found[row] = float(cell) if cell else math.nan
            except ValueError:
                raise FileFormatError(f"{place(name, row)}: the cell must be a number, got {cell!r}") from None
        return found

    try:
        fields = collect(columns, numbers, place)
    except ArgumentError as error:
        message = str(error)
        raise FileFormatError(message if message.startswith(str(path)) else f"{path}: {message}") from None
    if columns.has_time:
        fields["time"] = np.array(
            [_parse_time(cells[index["time"]], place("time", row)) for row, (_, cells) in enumerate(body)]
        )
    return {**settings, **fields}


def write_csv(path: Path, fields: Mapping[str, Any]) -> None:
    """Write the arguments of a log to a CSV file, atomically. Reading the file gives the same numbers."""
    text = io.StringIO(newline="")
    text.write("# soqo log\n")
    for name, value in plain_settings(fields).items():
        text.write(f"# {name} = {json.dumps(value)}\n")
    columns = {name: values.tolist() for name, values in to_columns(fields).items()}
    for name, values in columns.items():
        if name == "y" or name.startswith("covariate_"):
            columns[name] = ["" if math.isnan(value) else value for value in values]
        if name.startswith("active_"):
            columns[name] = [int(value) for value in values]
    if fields["time"] is not None:
        columns = {"time": format_times(fields["time"]), **columns}
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    with replacing(path) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8", newline="")


def _read_comments(text: str, path: Path) -> tuple[dict[str, Any], int]:
    """Return the settings in the comments before the header, and the number of lines that they take."""
    settings: dict[str, Any] = {}
    number = 0
    for number, line in enumerate(text.splitlines()):
        if not line.lstrip().startswith("#"):
            return settings, number
        name, _, value = (part.strip() for part in line.lstrip(" #").partition("="))
        if name in SETTINGS:
            try:
                settings[name] = json.loads(value)
            except ValueError as error:
                message = f"{path}, line {number + 1}: {name} must be a value in JSON, got {value!r} ({error})"
                raise FileFormatError(message) from None
    return settings, number + 1


def _read_rows(text: str, start: int, path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows that are not blank, with their line numbers."""
    reader = csv.reader(text.splitlines(keepends=True)[start:], strict=True)
    try:
        return [(start + reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {start + reader.line_num}: not valid CSV: {error}") from error


def _parse_time(cell: str, place: str) -> np.datetime64:
    try:
        return utc_time(cell.strip() or None)
    except ArgumentError as error:
        raise FileFormatError(f"{place}: the cell {error}") from None


# ---- data frames and Parquet ---------------------------------------------------------------------------------------


def from_frame(frame: pandas.DataFrame, actuators: Sequence[str] | None) -> dict[str, Any]:
    """Return the arguments of a log in a data frame."""
    pd = require_extra("pandas", "lab")
    if not isinstance(frame, pd.DataFrame):
        raise ArgumentError(f"frame must be a pandas.DataFrame, got {type(frame).__name__}")
    stored = frame.attrs.get("soqo", {})
    settings = {name: stored[name] for name in SETTINGS if name in stored}
    if frame.index.name != _ROUND or not len(frame) or frame.index[0] != 1:
        settings.pop("x0", None)  # rows of a longer log, whose first position this is not
    wanted = actuators if actuators is not None else settings.pop("actuators", None)
    try:
        columns = find_columns([str(name) for name in frame.columns], wanted)
    except ArgumentError as error:
        raise ArgumentError(f"frame: {error}") from None

    def place(name: str, row: int) -> str:
        return f"frame, row {frame.index[row]!r}, column {name}"

    def numbers(name: str) -> Array:
        column = frame[name]
        try:
            return np.array(column.to_numpy(dtype=np.float64, na_value=np.nan), copy=True)
        except (TypeError, ValueError):
            converted = pd.to_numeric(column, errors="coerce")
            row = int(np.argmax((converted.isna() & column.notna()).to_numpy()))
            raise ArgumentError(f"{place(name, row)}: the cell must be a number, got {column.iloc[row]!r}") from None

    fields = collect(columns, numbers, place)
    if columns.has_time:
        fields["time"] = _frame_times(frame["time"], place)
    elif isinstance(frame.index, pd.DatetimeIndex):
        fields["time"] = _frame_times(frame.index.to_series(), lambda _, row: f"frame, row {row} of the index")
    return {**settings, **fields}


def to_frame(fields: Mapping[str, Any]) -> pandas.DataFrame:
    """Return the arguments of a log as a data frame."""
    pd = require_extra("pandas", "lab")
    columns: dict[str, Any] = {}
    if fields["time"] is not None:
        columns["time"] = pd.DatetimeIndex(fields["time"]).tz_localize("UTC")
    columns |= to_columns(fields)
    frame = pd.DataFrame(columns, index=pd.RangeIndex(1, len(fields["y"]) + 1, name=_ROUND))
    frame.attrs["soqo"] = plain_settings(fields)
    return frame  # type: ignore[no-any-return]  # pandas is imported at run time, hence untyped


def read_parquet(path: Path, actuators: Sequence[str] | None) -> dict[str, Any]:
    """Return the arguments of a log in a Parquet file."""
    pd = require_extra("pandas", "lab")
    require_extra("pyarrow", "lab")
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except OSError:
        raise
    except Exception as error:  # pyarrow has several
        raise FileFormatError(f"{path} is not a valid Parquet file: {error}") from error
    try:
        return from_frame(frame, actuators)
    except ArgumentError as error:
        raise FileFormatError(f"{path}: {str(error).removeprefix('frame: ').removeprefix('frame, ')}") from None


def write_parquet(path: Path, fields: Mapping[str, Any]) -> None:
    """Write the arguments of a log to a Parquet file, atomically."""
    require_extra("pyarrow", "lab")
    frame = to_frame(fields)
    with replacing(path) as temporary:
        frame.to_parquet(temporary, engine="pyarrow")


def plain_settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what has no column, as numbers, texts and lists."""
    given = {name: fields[name] for name in SETTINGS if fields[name] is not None}
    return {name: value.tolist() if isinstance(value, np.ndarray) else _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str | int):
        return value
    if isinstance(value, Sequence) and all(isinstance(item, str) for item in value):
        return list(value)
    return np.asarray(value).tolist()


def _frame_times(column: Any, place: Any) -> TimeArray:
    """Return a column of timestamps in UTC."""
    dtype = column.dtype
    if getattr(dtype, "tz", None) is not None:
        return np.asarray(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), dtype="datetime64[us]")
    if getattr(dtype, "kind", "") == "M":
        raise ArgumentError(
            f"{place('time', 0)}: the time must have a zone, got {column.iloc[0]}; for times in UTC use "
            'frame["time"].dt.tz_localize("UTC")'
        )
    found = []
    for row, item in enumerate(column):
        try:
            found.append(utc_time(item))
        except ArgumentError as error:
            raise ArgumentError(f"{place('time', row)}: the cell {error}") from None
    return np.array(found, dtype="datetime64[us]")
