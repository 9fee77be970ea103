"""Readings from a file, and what they say about A."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soqo._arguments import choice
from soqo.errors import ArgumentError, FileFormatError
from soqo.estimators._estimate import Estimate, Status
from soqo.estimators.sdp._least_squares import least_squares_bound, psd_least_squares
from soqo.estimators.sdp._trace_min import (
    least_absolute_deviations_bound,
    psd_least_absolute_deviations,
    trace_bound,
    trace_min,
)
from soqo.typing import Array

__all__ = ["METHODS", "Fit", "fit", "read_readings"]

METHODS = ("trace_min", "psd_least_absolute_deviations", "psd")

WIDER = 1.05
"""The radius of trace_min where none is given, in units of the smallest one that has a solution."""


@dataclass(frozen=True, eq=False)
class Fit:
    """An estimate, and its certificate checked anew.

    Attributes
    ----------
    method : str
    estimate : Estimate
    radius : float or None
        That of ``trace_min``.
    bound : float
        A lower bound that is recomputed from the data and the estimate's multipliers.
    bounded : str
        What it is a bound of: that which the method minimizes; or, where no matrix fits within the radius, the smallest
        radius for which one does.
    """

    method: str
    estimate: Estimate
    radius: float | None
    bound: float
    bounded: str


def fit(Z: Any, y: Any, method: str = "trace_min", radius: float | None = None) -> Fit:
    """Estimate A from readings y_i of about 1/2 z_i'A z_i.

    Parameters
    ----------
    Z : array_like, shape (m, d)
    y : array_like, shape (m,)
    method : {"trace_min", "psd_least_absolute_deviations", "psd"}
        :func:`soqo.trace_min`, :func:`soqo.psd_least_absolute_deviations` or :func:`soqo.psd_least_squares`.
    radius : float, optional
        For ``trace_min``; 1.05 times the smallest that has a solution if None.

    Examples
    --------
    >>> found = fit([[1.0], [2.0], [3.0]], [1.0, 4.0, 9.5])
    >>> found.radius.__round__(3), found.estimate.rank, bool(found.bound <= found.estimate.primal)
    (0.292, 1, True)
    """
    if choice("method", method, METHODS) != "trace_min" and radius is not None:
        raise ArgumentError(f"radius must be left out for {method}, which has none, got {radius}")
    if method == "psd_least_absolute_deviations":
        estimate = psd_least_absolute_deviations(Z, y)
        bound = least_absolute_deviations_bound(Z, y, estimate.multipliers)
        return Fit(method, estimate, None, bound, "the sum of absolute deviations")
    if method == "psd":
        estimate = psd_least_squares(Z, y)
        bound = least_squares_bound(Z, y, estimate.multipliers)
        return Fit(method, estimate, None, bound, "half the sum of squares")
    kept = WIDER * psd_least_absolute_deviations(Z, y).residual if radius is None else radius
    estimate = trace_min(Z, y, kept)
    if estimate.status is Status.INFEASIBLE:
        bound = least_absolute_deviations_bound(Z, y, estimate.multipliers)
        return Fit(method, estimate, kept, bound, "the smallest radius that would do")
    bound = trace_bound(Z, y, kept, estimate.multipliers)
    return Fit(method, estimate, kept, bound, "the trace")


def read_readings(path: str | os.PathLike[str]) -> tuple[Array, Array]:
    """Read a CSV file with the columns z1, ..., zd and y, and a header that names them in any order.

    Returns
    -------
    Z : Array, shape (m, d)
    y : Array, shape (m,)

    Raises
    ------
    FileFormatError
        It names the file, the line, the column, and what was expected.
    """
    source = Path(path)
    try:
        with source.open(newline="", encoding="utf-8-sig") as file:
            rows = list(numbered(csv.reader(file, strict=True), source))
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{source} must be a CSV file in UTF-8: {error}") from error
    if not rows:
        raise FileFormatError(f"{source} must have a header z1, ..., zd, y, and is empty")
    line, header = rows[0]
    columns = [name.strip() for name in header]
    names = [*(f"z{k}" for k in range(1, len(columns))), "y"]
    if len(columns) < 2 or sorted(columns) != sorted(names):
        raise FileFormatError(f"{source}, line {line}: the header must be z1, ..., zd, y, got {', '.join(columns)}")
    if len(rows) == 1:
        raise FileFormatError(f"{source} must have at least one reading below its header")
    data = [numbers_of(source, at, columns, cells) for at, cells in rows[1:]]
    table = np.array([[row[name] for name in names] for row in data])
    return table[:, :-1], table[:, -1]


def numbered(reader: Any, source: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, with their lines."""
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise FileFormatError(f"{source}, line {reader.line_num}: no CSV: {error}") from error


def numbers_of(source: Path, line: int, columns: list[str], cells: list[str]) -> dict[str, float]:
    """A row's numbers by column."""
    if len(cells) != len(columns):
        raise FileFormatError(
            f"{source}, line {line}: a row must have {len(columns)} columns ({', '.join(columns)}), got {len(cells)}"
        )
    found = {}
    for name, cell in zip(columns, cells, strict=True):
        try:
            found[name] = float(cell)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise FileFormatError(f"{source}, line {line}, column {name}: it must be a finite number, got {cell!r}")
    return found
