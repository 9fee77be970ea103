"""Estimates of A from readings in a CSV file."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from soqo._foundation.arguments import choice
from soqo._foundation.frozen_dataclasses import Value
from soqo.errors import ArgumentError, FileFormatError
from soqo.estimators import Estimate, Status, psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.estimators.sdp import (
    check_data,
    effective_radius,
    least_absolute_deviations_bound,
    least_squares_bound,
    trace_bound,
)
from soqo.typing import Array, ArrayLike

_Method = Literal["trace_min", "least_absolute_deviations", "least_squares"]

METHODS: tuple[_Method, ...] = get_args(_Method)
"""The methods of :func:`fit`."""

_DEFAULT_RADIUS = 1.05
"""The default radius of trace_min, relative to the smallest one for which there is a solution."""


@dataclass(frozen=True)
class Fit(Value):
    """An estimate and its certificate, recomputed from the data.

    Attributes
    ----------
    method : str
        The method.
    estimate : Estimate
        The estimate.
    radius : float or None
        The radius of ``trace_min``.
    bound : float
        A lower bound that is recomputed from the data and the estimate's multipliers.
    bounded : str
        The quantity that it bounds: the objective of the method or, if no matrix fits within the radius, the smallest
        radius for which one does.
    """

    method: str
    estimate: Estimate
    radius: float | None
    bound: float
    bounded: str


def fit(Z: ArrayLike, y: ArrayLike, *, method: _Method = "trace_min", radius: float | None = None) -> Fit:
    """Estimate A from readings y_i of about 1/2 z_i'A z_i.

    Parameters
    ----------
    Z : array_like, shape (m, d)
        The displacements z_i.
    y : array_like, shape (m,)
        The readings.
    method : {"trace_min", "least_absolute_deviations", "least_squares"}
        :func:`soqo.trace_min`, :func:`soqo.psd_least_absolute_deviations` or :func:`soqo.psd_least_squares`.
    radius : float, optional
        The radius of ``trace_min``, by default 1.05 times the smallest one for which there is a solution.

    Returns
    -------
    Fit
        The estimate, and a lower bound on its objective that is recomputed from the data.

    Examples
    --------
    >>> found = fit([[1.0], [2.0], [3.0]], [1.0, 4.0, 9.5])
    >>> found.radius.__round__(3), found.estimate.rank, bool(found.bound <= found.estimate.primal)
    (0.292, 1, True)
    """
    if choice("method", method, METHODS) != "trace_min" and radius is not None:
        raise ArgumentError(f"radius must be None for {method}, which has none, got {radius}")
    if method == "least_absolute_deviations":
        estimate = psd_least_absolute_deviations(Z, y)
        bound = least_absolute_deviations_bound(Z, y, multipliers=estimate.multipliers)
        return Fit(method, estimate, None, bound, "the sum of absolute deviations")
    if method == "least_squares":
        estimate = psd_least_squares(Z, y)
        bound = least_squares_bound(Z, y, multipliers=estimate.multipliers)
        return Fit(method, estimate, None, bound, "half the sum of squares")
    used = _DEFAULT_RADIUS * psd_least_absolute_deviations(Z, y).residual if radius is None else radius
    Z, y = check_data(Z, y)
    estimate = trace_min(Z, y, used)
    with np.errstate(over="ignore"):
        used = effective_radius(y, used)
    if estimate.status is Status.INFEASIBLE:
        bound = least_absolute_deviations_bound(Z, y, multipliers=estimate.multipliers)
        return Fit(method, estimate, used, bound, "the smallest feasible radius")
    bound = trace_bound(Z, y, radius=used, multipliers=estimate.multipliers)
    return Fit(method, estimate, used, bound, "the trace")


def read_readings(path: str | os.PathLike[str]) -> tuple[Array, Array]:
    r"""Read a CSV file with the columns z1, ..., zd and y, which a header names in any order.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Z : Array, shape (m, d)
        The displacements.
    y : Array, shape (m,)
        The readings.

    Raises
    ------
    FileFormatError
        It names the file, the line, the column and the expected content.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "log.csv").write_text("z1,z2,y\n1,0,0.5\n0,2,4.0")
    ...     Z, y = read_readings(f"{folder}/log.csv")
    >>> Z.shape, y
    ((2, 2), array([0.5, 4. ]))
    """
    source = Path(path)
    try:
        with source.open(newline="", encoding="utf-8-sig") as file:
            rows = list(_numbered_rows(csv.reader(file, strict=True), source))
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
    data = [_parse_row(source, at, columns, cells) for at, cells in rows[1:]]
    table = np.array([[row[name] for name in names] for row in data])
    return table[:, :-1], table[:, -1]


def _numbered_rows(reader: Any, source: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with their line numbers."""
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise FileFormatError(f"{source}, line {reader.line_num}: not valid CSV: {error}") from error


def _parse_row(source: Path, line: int, columns: list[str], cells: list[str]) -> dict[str, float]:
    """Return a row's numbers by column."""
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
            raise FileFormatError(
                f"{source}, line {line}, column {name}: the cell must be a finite number, got {cell!r}"
            )
    return found
