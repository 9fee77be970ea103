"""Logs in files and data frames: what is written is what is read, columns are found, and an error names the line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from soqo import GLIDE, Controller, Log
from soqo.errors import ArgumentError, FileFormatError, SoqoError

RNG = np.random.default_rng(0)
V = np.cumsum(RNG.standard_normal((7, 2)), axis=0)
TIME = np.datetime64("2026-03-01T00:00:00", "us") + 300 * np.arange(7).astype("timedelta64[s]")

LOGS = {
    "plain": Log(V, V / 3.0, RNG.random(7), x0=np.array([0.1, 0.2])),
    "complete": Log(
        V,
        V / 3.0,
        np.where(np.arange(7) % 3, RNG.random(7), np.nan),
        x0=np.array([0.1, 0.2]),
        low=np.array([-np.inf, -40.0]),
        high=np.array(50.0),
        switching_weight=np.array([[2.0, 0.5], [0.5, 1.0 / 3.0]]),
        horizon=100,
        time=TIME,
        actuators=["zone 1, north", 'the "other"'],
        units=["degC", "m³/h"],
    ),
    "of a plant": Log(
        V,
        V / 3.0,
        RNG.random(7),
        x0=np.array([0.1, 0.2]),
        rate=np.array([2.0, np.inf]),
        period=np.array([360.0, np.inf]),
        factor=RNG.random(7),
        unit=0.5 + RNG.random(7),
        active=RNG.random((7, 2)) > 0.3,
        at=V / 4.0,
        covariates=np.where(np.arange(7)[:, None] % 3, RNG.random((7, 3)), np.nan),
    ),
    "one actuator": Log(V[:, :1], V[:, :1], RNG.random(7), x0=np.array([0.0]), units="kW", actuators=["fan"], low=-9.0),
}


def same(one: Log, other: Log) -> bool:
    """Equality of logs, where a limit that is a number may have become an array without axes."""
    arrays = ("v", "x", "y", "x0", "low", "high", "rate", "period", "switching_weight", "time")
    for name in (*arrays, "factor", "unit", "active", "at", "covariates"):
        first, second = getattr(one, name), getattr(other, name)
        if (first is None) != (second is None):
            return False
        if first is not None:
            np.testing.assert_array_equal(first, second, err_msg=name)
    return (one.horizon, one.actuators, one.units) == (other.horizon, other.actuators, other.units)


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_read_returns_what_was_written_to_the_last_digit(name: str, suffix: str, tmp_path: Path) -> None:
    path = LOGS[name].write(tmp_path / f"log{suffix}")
    assert path == tmp_path / f"log{suffix}"
    assert same(Log.read(path), LOGS[name])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]  # no temporary file


@pytest.mark.parametrize("name", LOGS)
def test_a_data_frame_gives_the_log_it_was_made_from(name: str) -> None:
    frame = LOGS[name].to_dataframe()
    assert list(frame.index) == list(range(1, 8))
    assert same(Log.from_dataframe(frame), LOGS[name])
    frame.loc[1, "y"] = 99.0
    assert LOGS[name].y[0] != 99.0  # the frame is a copy


def test_the_frame_has_aware_timestamps_and_pandas_reads_the_csv_file(tmp_path: Path) -> None:
    log = LOGS["complete"]
    frame = log.to_dataframe()
    assert str(frame["time"].dt.tz) == "UTC"
    path = log.write(tmp_path / "log.csv")
    read = pd.read_csv(path, comment="#", parse_dates=["time"])
    assert list(read.columns) == list(frame.columns)
    np.testing.assert_array_equal(read["y"], log.y)
    assert (read["time"].to_numpy() == frame["time"].to_numpy()).all()


def test_rows_of_a_frame_do_not_begin_at_the_x0_of_the_whole() -> None:
    log = LOGS["complete"]
    part = Log.from_dataframe(log.to_dataframe().iloc[3:])
    np.testing.assert_array_equal(part.x0, log.x[3])
    np.testing.assert_array_equal(part.switching_weight, log.switching_weight)
    anew = Log.from_dataframe(log.to_dataframe().iloc[3:].reset_index(drop=True), x0=log.x[2])
    np.testing.assert_array_equal(anew.x0, log.x[2])


def test_arguments_take_the_place_of_what_a_file_holds(tmp_path: Path) -> None:
    path = LOGS["complete"].write(tmp_path / "log.csv")
    given: dict[str, Any] = {"x0": [5.0, 6.0], "low": -99.0, "high": 98.0, "switching_weight": 3.0, "units": "K"}
    log = Log.read(path, **given, horizon=7, actuators=LOGS["complete"].actuators)
    assert {name: np.asarray(getattr(log, name)).tolist() for name in given} == given
    assert log.horizon == 7
    one: dict[str, Any] = {"x0": [0.1], "low": 0.0, "switching_weight": 2.0, "units": "K"}  # for one of two actuators
    assert Log.read(path, actuators=["zone 1, north"], **one).dim == 1
    with pytest.raises(ArgumentError, match=r"^switching_weight must be positive, got -1"):
        Log.read(path, switching_weight=-1.0)
    with pytest.raises(TypeError, match="weight"):
        Log.read(path, weight=1.0)  # type: ignore[call-arg]


def test_times_of_a_frame_are_in_a_column_or_in_the_index() -> None:
    table = {"v_1": [1.0, 2.0], "x_1": [1.0, 2.0], "y": [0.0, 0.0]}
    stamps = pd.DatetimeIndex(["2026-03-01 01:00", "2026-03-01 02:00"], tz="Europe/Zurich")
    expected = np.array(["2026-03-01T00:00", "2026-03-01T01:00"], dtype="datetime64[us]")
    for frame in (
        pd.DataFrame(table, index=stamps),
        pd.DataFrame({**table, "time": stamps}),
        pd.DataFrame({**table, "time": ["2026-03-01T01:00:00+01:00", "2026-03-01T01:00:00Z"]}),
    ):
        log = Log.from_dataframe(frame)
        assert log.time is not None
        np.testing.assert_array_equal(log.time, expected)
    for frame in (
        pd.DataFrame(table, index=stamps.tz_localize(None)),
        pd.DataFrame({**table, "time": stamps.tz_localize(None)}),
    ):
        with pytest.raises(ArgumentError, match=r"row .*, column time: the cell must have a time zone.*tz_localize"):
            Log.from_dataframe(frame)
    with pytest.raises(ArgumentError, match="row 1, column time: the cell must have a time zone"):
        Log.from_dataframe(pd.DataFrame({**table, "time": ["2026-03-01T01:00:00Z", "2026-03-01T01:00:00"]}))


def test_missing_values_of_pandas_are_missing_readings() -> None:
    frame = pd.DataFrame({"v_1": [1, 2], "x_1": [1, 2], "y": pd.array([1, None], dtype="Int64")})
    np.testing.assert_array_equal(Log.from_dataframe(frame).y, [1.0, np.nan])


def test_from_dataframe_refuses_other_tables() -> None:
    with pytest.raises(ArgumentError, match=r"frame must be a pandas\.DataFrame, got dict"):
        Log.from_dataframe({"v_1": [1.0]})  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_journal_exports_to_both_formats(suffix: str, tmp_path: Path) -> None:
    with Controller(GLIDE(), [0.0, 0.0], high=5.0, switching_weight=[1.0, 4.0], journal=tmp_path / "j") as controller:
        for v in V:
            controller.act(v)
            controller.observe(0.5)
    log = Log.read(tmp_path / "j")
    assert same(Log.read(log.write(tmp_path / f"log{suffix}")), log)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there must be a header such as v_1,x_1,y, and there is none"),
        ("# only\n# comments\n", "there must be a header"),
        ("v_1,x_1,y\n", "there must be at least one round"),
        ("v_1,x_1,y\n1,2\n", "line 2: a row must have 3 cells, got 2"),
        ("# low = [1,\nv_1,x_1,y\n1,2,3\n", r"line 1: low must be a value in JSON, got '\[1,'"),
        ("# low = 1\n\nv_1,x_1,y\n1,2,3\n\n1,two,3\n", "line 6, column x_1: the cell must be a number, got 'two'"),
        ("# x0 = [1.0, 2.0]\nv_1,x_1,y\n1,2,3\n", r"log\.csv: x0 must have shape \(1,\), got \(2,\)"),
        ('v_1,x_1,y\n"1,2,3\n', "not valid CSV"),
        ("time,v_1,x_1,y\n2026-03-01,1,2,3\n", "line 2, column time: the cell must have a time zone"),
        ("v_1;x_1;y\n1;2;3\n", "line 1: the cells must be separated by commas, got v_1;x_1;y"),
    ],
)
def test_a_csv_error_names_the_file_and_the_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message) as caught:
        Log.read(path)
    assert str(caught.value).startswith(str(path))


def test_comments_that_are_no_settings_and_a_byte_order_mark_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes("# plant 7, week 12\n# switching_weight = 4\nv_1, x_1 ,y\r\n1,2,3\r\n".encode("utf-8-sig"))
    log = Log.read(path)
    assert (log.switching_weight, log.x.tolist()) == (4, [[2.0]])


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(FileFormatError, match="is not a valid Parquet file"):
        Log.read(tmp_path / "log.parquet")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="must be a journal, a Parquet file, or a CSV file in UTF-8"):
        Log.read(tmp_path / "bytes")
    Controller(GLIDE(), [0.0]).save(tmp_path / "saved")
    with pytest.raises(FileFormatError, match="is a saved controller, which holds no rounds"):
        Log.read(tmp_path / "saved")
    for name in ("log.txt", "log"):
        with pytest.raises(ArgumentError, match=rf"path must end with \.csv or \.parquet, got {name}"):
            LOGS["plain"].write(tmp_path / name)
    Controller(GLIDE(), [0.0], journal=tmp_path / "live.csv")
    with pytest.raises(ArgumentError, match="path must not be a journal"):
        LOGS["plain"].write(tmp_path / "live.csv")


def test_csv_needs_no_pandas_and_parquet_names_the_extra(tmp_path: Path) -> None:
    path = LOGS["complete"].write(tmp_path / "log.csv")
    code = f"""
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None  # as if they were not installed
import soqo
log = soqo.Log.read({str(path)!r})
log.write({str(path)!r})
for call in (log.to_dataframe, lambda: log.write({str(tmp_path / "log.parquet")!r})):
    try:
        call()
    except soqo.errors.MissingExtraError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["pandas", "pyarrow"]
    assert all(line.endswith('pip install "soqo[lab]"') for line in lines)
    assert same(Log.read(path), LOGS["complete"])


def test_the_comments_of_a_csv_file_are_json(tmp_path: Path) -> None:
    lines = LOGS["complete"].write(tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()
    found = {
        name: json.loads(value)
        for name, _, value in (line[2:].partition(" = ") for line in lines if line.startswith("# ") and "=" in line)
    }
    assert found["low"] == [-np.inf, -40.0]
    assert found["high"] == 50.0
    assert found["horizon"] == 100
    assert found["units"] == ["degC", "m³/h"]


# ---- columns ---------------------------------------------------------------------------------------------------------

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
        ({"v_2": [3.0, None]}, {}, "(row 1|line 3), column v_2: the cell must be a finite number, and is empty"),
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
            "(row 1|line 3), column covariate_2: the cell must be finite, or empty in the whole row, and is empty",
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
    with pytest.raises(SoqoError, match="the columns must have different names, got 'x_1' twice"):
        Log.read(tmp_path / "log.csv")
