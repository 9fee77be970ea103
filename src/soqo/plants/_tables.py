"""Traces of wind and load: CSV files, and the part of a trace that each run gets."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from soqo.errors import ArgumentError, FileFormatError
from soqo.typing import Array


def read_columns(path: str | os.PathLike[str], names: Sequence[str]) -> list[Array]:
    """Return some columns of a CSV file with a header; every cell must be a finite number.

    Raises
    ------
    FileFormatError
        If a column is missing, or a cell is not a finite number; the message names the line.
    """
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        header = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = header
        missing = [name for name in names if name not in header]
        if missing:
            raise FileFormatError(f"{path} must have the columns {', '.join(names)}, got {', '.join(header) or 'none'}")
        rows = []
        for row in reader:
            try:
                values = [float(row[name]) for name in names]
            except (TypeError, ValueError):
                values = [np.nan]
            if not np.isfinite(values).all():
                cells = ", ".join(f"{name} = {row[name]!r}" for name in names)
                raise FileFormatError(f"{path}, line {reader.line_num}: expected finite numbers, got {cells}")
            rows.append(values)
    if not rows:
        raise FileFormatError(f"{path} must have at least one row below its header")
    return [np.array(column) for column in zip(*rows, strict=True)]


def window_of_run(length: int, rounds: int, run: int, runs: int) -> slice:
    """Return the rounds of a trace that a run gets: the windows of all runs are spread evenly over the trace.

    Examples
    --------
    >>> window_of_run(100, 40, 1, 2)
    slice(60, 100, None)
    """
    spare = length - rounds
    if spare < 0:
        raise ArgumentError(f"rounds must be at most {length}, the length of the trace, got {rounds}")
    first = spare * run // max(1, runs - 1)
    return slice(first, first + rounds)
