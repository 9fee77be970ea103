"""The columns of a log in a table: numbered or named, in any order, beside others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from soqo import Log
from soqo.errors import SoqoError

TABLE = {"v_1": [1.0, 2.0], "v_2": [3.0, 4.0], "x_1": [5.0, 6.0], "x_2": [7.0, 8.0], "y": [0.5, 0.25]}

Reader = Callable[..., Log]


def read_frame(table: Mapping[str, Sequence[Any]], folder: Path, **options: Any) -> Log:  # noqa: ARG001 (a Reader)
    return Log.from_dataframe(pd.DataFrame(table), **options)


def read_file(table: Mapping[str, Sequence[Any]], folder: Path, **options: Any) -> Log:
    body = zip(*table.values(), strict=True)
    rows = [",".join(table), *(",".join("" if cell is None else str(cell) for cell in row) for row in body)]
    (folder / "log.csv").write_text("\n".join(rows))
    return Log.read(folder / "log.csv", **options)


def read_parquet(table: Mapping[str, Sequence[Any]], folder: Path, **options: Any) -> Log:
    pd.DataFrame(table).to_parquet(folder / "log.parquet")
    return Log.read(folder / "log.parquet", **options)


@pytest.fixture(params=[read_frame, read_file, read_parquet], ids=["frame", "CSV", "Parquet"])
def read(request: pytest.FixtureRequest) -> Reader:
    reader: Reader = request.param
    return reader


def test_numbered_columns_are_found_in_any_order_beside_others(read: Reader, tmp_path: Path) -> None:
    table = {"weather": [9.0, 9.0], **dict(reversed(TABLE.items()))}
    log = read(table, tmp_path)
    np.testing.assert_array_equal(log.v, [[1.0, 3.0], [2.0, 4.0]])
    np.testing.assert_array_equal(log.x, [[5.0, 7.0], [6.0, 8.0]])
    np.testing.assert_array_equal(log.y, [0.5, 0.25])
    np.testing.assert_array_equal(log.x0, log.x[0])  # as if the plant had not moved in the first round
    assert log.actuators is None


def test_eleven_actuators_are_in_the_order_of_their_numbers(read: Reader, tmp_path: Path) -> None:
    names = sorted(str(k) for k in range(1, 12))  # 1, 10, 11, 2, ...
    table = {f"{kind}_{name}": [float(name)] for kind in "vx" for name in names}
    np.testing.assert_array_equal(read({**table, "y": [0.0]}, tmp_path).v, [np.arange(1.0, 12.0)])


def test_names_of_actuators_take_the_place_of_numbers(read: Reader, tmp_path: Path) -> None:
    names = {"1": "zone b", "2": "zone a"}
    table = {name if name == "y" else f"{name[:2]}{names[name[2:]]}": cells for name, cells in TABLE.items()}
    log = read(table, tmp_path)
    assert log.actuators == ("zone b", "zone a")
    np.testing.assert_array_equal(log.v, [[1.0, 3.0], [2.0, 4.0]])
    chosen = read(table, tmp_path, actuators=["zone a"])
    assert chosen.actuators == ("zone a",)
    np.testing.assert_array_equal(chosen.v, [[3.0], [4.0]])
    assert read(TABLE, tmp_path, actuators=["left", "right"]).actuators == ("left", "right")


def test_applied_positions_replace_those_of_x_where_they_are_given(read: Reader, tmp_path: Path) -> None:
    log = read({**TABLE, "applied_2": [None, 8.5]}, tmp_path)
    np.testing.assert_array_equal(log.x, [[5.0, 7.0], [6.0, 8.5]])


def test_columns_of_plants_have_defaults_where_cells_are_empty(read: Reader, tmp_path: Path) -> None:
    more = {"at_1": [5.5, None], "active_2": [0, None], "factor": [None, 0.0], "unit": [2.0, None]}
    log = read({**TABLE, **more}, tmp_path)
    np.testing.assert_array_equal(log.at, [[5.5, 7.0], [6.0, 8.0]])
    np.testing.assert_array_equal(log.active, [[True, False], [True, True]])
    np.testing.assert_array_equal(log.factor, [1.0, 0.0])
    np.testing.assert_array_equal(log.unit, [2.0, 1.0])
    np.testing.assert_array_equal(log.v, [[1.0, 7.0], [2.0, 4.0]])  # of an actuator that was out, x
    flags = read({**TABLE, "active_1": [True, False]}, tmp_path)
    np.testing.assert_array_equal(flags.active, [[True, True], [False, True]])


def test_covariates_are_numbered_and_may_be_missing_in_a_row(read: Reader, tmp_path: Path) -> None:
    log = read({**TABLE, "covariate_2": [3.0, None], "covariate_1": [1.0, None], "covariate_load": [0, 0]}, tmp_path)
    np.testing.assert_array_equal(log.covariates, [[1.0, 3.0], [np.nan, np.nan]])
    assert read({**TABLE, "covariate_load": [0, 0]}, tmp_path).covariates is None


def test_an_empty_cell_of_y_is_no_reading(read: Reader, tmp_path: Path) -> None:
    np.testing.assert_array_equal(read({**TABLE, "y": [0.5, None]}, tmp_path).y, [0.5, np.nan])


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({"y": None}, {}, "the column y is missing; there are v_1, v_2, x_1, x_2"),
        ({"x_2": None}, {}, "the column x_2 is missing; select columns with actuators=; there are v_1, v_2, x_1, y"),
        ({"v_2": None}, {}, "the column x_2 has no column v_2 beside it"),
        ({"v_1": None, "v_2": None}, {}, "there must be columns v_1, x_1 and y, got x_1, x_2, y"),
        ({}, {"actuators": ["a", "b", "c"]}, "actuators must name columns among v_1, v_2, got"),
        ({"v_2": [3.0, None]}, {}, "(row 1|line 3), column v_2: the cell must be a finite number, got an empty one"),
        ({"x_1": [5.0, np.inf]}, {}, "(row 1|line 3), column x_1: the cell must be a finite number, got inf"),
        ({"y": [-np.inf, 0.0]}, {}, "(row 0|line 2), column y: the cell must be finite, or empty for no reading"),
        ({"applied_1": [np.inf, None]}, {}, "(row 0|line 2), column applied_1: the cell must be finite, or empty"),
        (
            {"at_1": [np.inf, None]},
            {},
            "(row 0|line 2), column at_1: the cell must be finite, or empty for the position",
        ),
        ({"active_2": [1, 2]}, {}, "(row 1|line 3), column active_2: the cell must be 0 or 1, or empty for 1, got 2.0"),
        ({"factor": [1.0, -1.0]}, {}, "(row 1|line 3), column factor: the cell must be at least 0, or empty for 1"),
        ({"unit": [0.0, 1.0]}, {}, "(row 0|line 2), column unit: the cell must be above 0, or empty for 1, got 0.0"),
        ({"covariate_2": [0.0, 1.0]}, {}, "the column covariate_1 is missing; there are v_1"),
        (
            {"covariate_1": [0.0, 1.0], "covariate_2": [0.0, None]},
            {},
            "(row 1|line 3), column covariate_2: the cell must be a finite number, or empty in all columns",
        ),
        ({"x_1": ["5", "high"]}, {}, "(row 1|line 3), column x_1: the cell must be a number, got 'high'"),
        ({name: [] for name in TABLE}, {}, "there must be at least one round, got none"),
    ],
)
def test_an_error_names_the_column_and_the_row(
    read: Reader, tmp_path: Path, changed: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    table = {name: cells for name, cells in {**TABLE, **changed}.items() if cells is not None}
    with pytest.raises(SoqoError, match=message):
        read(table, tmp_path, **options)


def test_a_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("v_1,x_1,x_1,y\n1,2,3,4\n")
    with pytest.raises(SoqoError, match="line 1: the columns must have different names, got 'x_1' twice"):
        Log.read(tmp_path / "log.csv")
