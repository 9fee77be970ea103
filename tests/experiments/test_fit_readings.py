"""Readings from a file: errors in it are named, and an estimate has a bound that anyone can check."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from soqo import Status, psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.errors import ArgumentError, FileFormatError
from soqo.experiments import METHODS, fit, read_readings

RNG = np.random.default_rng(3)
A = np.diag([2.0, 0.0, 1.0])
Z = RNG.standard_normal((20, 3))
Y = 0.5 * np.square(Z) @ np.diag(A) + RNG.uniform(-0.1, 0.1, 20)


def write(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_text(text)
    return path


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeff y , z2,z1\n1,2,3\n\n 4,5e0,-6\n")
    rows, readings = read_readings(path)
    np.testing.assert_array_equal(rows, [[3.0, 2.0], [-6.0, 5.0]])
    np.testing.assert_array_equal(readings, [1.0, 4.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " must have a header z1, ..., zd, y, and is empty"),
        ("z1,y\n", " must have at least one reading below its header"),
        ("1,2\n3,4\n", ", line 1: the header must be z1, ..., zd, y, got 1, 2"),
        ("z1,z3,y\n1,2,3\n", ", line 1: the header must be z1, ..., zd, y, got z1, z3, y"),
        ("y\n1\n", ", line 1: the header must be z1, ..., zd, y, got y"),
        ("z1,z1,y\n1,2,3\n", ", line 1: the header must be z1, ..., zd, y, got z1, z1, y"),
        ("z1;y\n1;2\n", ", line 1: the header must be z1, ..., zd, y, got z1;y"),
        ("z1,y\n1,2\n1\n", ", line 3: a row must have 2 columns (z1, y), got 1"),
        ("z1,y\n1,2,3\n", ", line 2: a row must have 2 columns (z1, y), got 3"),
        ("z1,y\n\n1,x\n", ", line 3, column y: the cell must be a finite number, got 'x'"),
        ("z1,y\n,1\n", ", line 2, column z1: the cell must be a finite number, got ''"),
        ("z1,y\n1,inf\n", ", line 2, column y: the cell must be a finite number, got 'inf'"),
        ('z1,y\n1,"2\n', ", line 2: not valid CSV: unexpected end of data"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(FileFormatError, match=f"^{re.escape(str(path) + message)}$"):
        read_readings(path)


def test_a_file_must_be_text(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="must be a CSV file in UTF-8"):
        read_readings(path)


def test_each_method_is_the_public_estimator_and_its_bound_holds() -> None:
    smallest = psd_least_absolute_deviations(Z, Y).residual
    estimates = (trace_min(Z, Y, 1.05 * smallest), psd_least_absolute_deviations(Z, Y), psd_least_squares(Z, Y))
    for method, expected in zip(METHODS, estimates, strict=True):
        found = fit(Z, Y, method=method)
        np.testing.assert_array_equal(found.estimate.matrix, expected.matrix)
        assert found.bound == pytest.approx(expected.dual, rel=1e-9)
        assert found.bound == pytest.approx(expected.primal, rel=1e-5)
        assert found.bound <= expected.primal * (1.0 + 1e-9)
    assert fit(Z, Y).radius == pytest.approx(1.05 * smallest)
    with pytest.raises(
        ArgumentError, match="method must be one of 'trace_min', 'least_absolute_deviations', 'least_squares'"
    ):
        fit(Z, Y, method="ols")  # type: ignore[arg-type]  # on purpose


def test_where_nothing_fits_the_bound_is_of_the_radius() -> None:
    found = fit(Z, Y, radius=0.01)
    assert found.estimate.status is Status.INFEASIBLE
    assert found.bounded == "the smallest feasible radius"
    assert 0.01 < found.bound <= psd_least_absolute_deviations(Z, Y).residual * (1.0 + 1e-9)
