"""Times of calls and of rounds: with a zone, as a datetime or as text, recorded in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, Controller, Log
from soqo.errors import ArgumentError

HOUR_EAST = timezone(timedelta(hours=1))


def times_of(path: Path) -> Any:
    """Return the times of the actions in a journal."""
    return Log.read(path).time


def test_a_time_is_recorded_in_utc_whatever_its_zone(tmp_path: Path) -> None:
    given: list[Any] = [
        datetime(2026, 3, 1, 13, 0, 0, 250_000, tzinfo=HOUR_EAST),
        "2026-03-01T12:00:01.5Z",
        "2026-03-01T07:00:02-05:00",
        datetime(1950, 1, 1, tzinfo=UTC),  # before 1970
        None,
    ]
    with Controller(FTM(), [0.0], journal=tmp_path / "journal") as controller:
        for time in given:
            controller.act([1.0], time=time)
            controller.observe(0.5, time=time)
    expected = ["2026-03-01T12:00:00.250", "2026-03-01T12:00:01.500", "2026-03-01T12:00:02", "1950-01-01", "NaT"]
    found = times_of(tmp_path / "journal")
    assert found.dtype == np.dtype("datetime64[us]")
    np.testing.assert_array_equal(found, np.array(expected, dtype="datetime64[us]"))


def test_a_journal_without_times_has_none(tmp_path: Path) -> None:
    with Controller(FTM(), [0.0], journal=tmp_path / "journal") as controller:
        controller.act([1.0])
    assert times_of(tmp_path / "journal") is None


def test_timestamps_takes_the_time_of_the_clock_also_after_a_resume(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    before = np.datetime64(datetime.now(UTC).replace(tzinfo=None), "us")
    controller = Controller(FTM(), [0.0], journal=path, timestamps=True)
    controller.act([1.0])
    controller.close()
    with Controller.resume(path) as resumed:
        resumed.act([2.0])
        resumed.act([3.0], time="2001-01-01T00:00:00Z")
    after = np.datetime64(datetime.now(UTC).replace(tzinfo=None), "us")
    first, second, third = times_of(path)
    assert before <= first <= second <= after
    assert third == np.datetime64("2001-01-01", "us")


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ("2026-03-01T12:00:00", "got '2026-03-01T12:00:00', which has no zone"),
        (datetime(2026, 3, 1), "which has no zone"),
        ("yesterday", "ISO 8601 text with one, got 'yesterday'"),
        (1772366400.0, "got float"),
        (np.datetime64("2026-03-01"), "got datetime64"),
    ],
)
def test_a_time_without_a_zone_or_of_another_kind_is_refused_and_changes_nothing(
    time: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "journal"
    controller = Controller(FTM(), [0.0], journal=path)
    written = path.read_bytes()
    with pytest.raises(ArgumentError, match=f"time must be a datetime with a time zone.*{message}"):
        controller.act([1.0], time=time)
    controller.act([1.0])
    with pytest.raises(ArgumentError, match=message):
        controller.observe(0.5, time=time)
    assert controller.open_rounds == (1,)
    assert path.read_bytes().startswith(written)


# ---- logs ---------------------------------------------------------------------------------------------------------

NOON = np.array(["2026-03-29T12:00:00", "2026-03-29T12:05:00"], dtype="datetime64[us]")


def log(time: Any) -> Log:
    return Log(np.ones((2, 1)), np.ones((2, 1)), np.zeros(2), x0=np.zeros(1), time=time)


@pytest.mark.parametrize(
    "time",
    [
        NOON,
        NOON.astype("datetime64[ns]"),
        list(NOON),
        ["2026-03-29T12:00:00Z", "2026-03-29T12:05:00+00:00"],
        ["2026-03-29T14:00:00+02:00", "2026-03-29 07:05:00-05:00"],
        [datetime(2026, 3, 29, 12, 0, tzinfo=UTC), datetime(2026, 3, 29, 13, 5, tzinfo=timezone(timedelta(hours=1)))],
    ],
    ids=["microseconds", "nanoseconds", "scalars", "UTC", "zones", "datetime"],
)
def test_the_same_moments_in_any_form_are_the_same_log(time: Any) -> None:
    found = log(time)
    assert found.time is not None
    assert found.time.dtype == np.dtype("datetime64[us]")
    np.testing.assert_array_equal(found.time, NOON)
    assert found == log(NOON)
    assert hash(found) == hash(log(NOON))


def test_an_unknown_time_is_nat_and_a_log_equals_its_copy() -> None:
    found = log(["2026-03-29T12:00:00Z", None])
    assert found.time is not None
    assert np.isnat(found.time).tolist() == [False, True]
    assert found == log(found.time.copy())
    assert hash(found) == hash(log(found.time.copy()))
    assert found != log(NOON)


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (["2026-03-29T12:00:00Z", "2026-03-29T12:05:00"], r"time\[1\] must have a time zone, such as .*, got '2026"),
        (["noon", None], r"time\[0\] must be a time in ISO 8601, such as .*, got 'noon'"),
        ([datetime(2026, 3, 29), None], r"time\[0\] must have a time zone"),
        ([12.5, None], r"time\[0\] must be a time in ISO 8601.*got 12.5"),
        ("2026-03-29T12:00:00Z", "time must be a sequence of timestamps, got '2026"),
        (NOON[:1], r"time must have shape \(2,\), got \(1,\)"),
    ],
)
def test_invalid_times_are_named(time: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        log(time)


def test_files_hold_iso_8601_in_utc_to_the_microsecond(tmp_path: Path) -> None:
    exact = NOON + np.array([0, 1], dtype="timedelta64[us]")
    text = log(exact).write(tmp_path / "log.csv").read_text()
    assert "2026-03-29T12:05:00.000001Z," in text
    assert Log.read(tmp_path / "log.csv") == log(exact)
    assert "2026-03-29T12:05:00Z," in log(NOON).write(tmp_path / "log.csv").read_text()
    unknown = log(["2026-03-29T12:00:00Z", None])
    assert Log.read(unknown.write(tmp_path / "log.csv")) == unknown
