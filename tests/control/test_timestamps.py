"""Timestamps of a log are moments in UTC, whatever zone they were given in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import Log
from soqo.errors import ArgumentError

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
