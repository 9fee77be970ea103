"""Times of calls and rounds: with a zone as arguments, ``datetime64`` in UTC in logs, ISO 8601 text in files."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

import numpy as np

from soqo.errors import ArgumentError

TimeArray: TypeAlias = np.ndarray[Any, np.dtype[np.datetime64]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_UNIT: Literal["us"] = "us"
"""The unit of all timestamps: that of Python's ``datetime``."""


def utc_times(name: str, value: Any) -> TimeArray:
    """Return timestamps as an array of ``datetime64[us]`` in UTC.

    Parameters
    ----------
    name : str
        The name of the argument, for error messages.
    value : array_like
        An array of ``datetime64``, which is taken as UTC, or a sequence of ``datetime`` with a zone, of ISO 8601 texts
        with a zone, and of None or NaT where the time is unknown.

    Examples
    --------
    >>> utc_times("time", ["2026-03-01T01:00:00+01:00", "2026-03-01T00:05:00Z"])
    array(['2026-03-01T00:00:00.000000', '2026-03-01T00:05:00.000000'],
          dtype='datetime64[us]')
    """
    if isinstance(value, np.ndarray) and value.dtype.kind == "M":
        return value.astype(f"datetime64[{_UNIT}]")
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ArgumentError(f"{name} must be a sequence of timestamps, got {value!r}")
    found = []
    for row, item in enumerate(value):
        try:
            found.append(utc_time(item))
        except ArgumentError as error:
            raise ArgumentError(f"{name}[{row}] {error}") from None
    return np.array(found, dtype=f"datetime64[{_UNIT}]")


def utc_time(item: Any) -> np.datetime64:
    """Return one timestamp in UTC; the message of an error continues the name of a cell."""
    if isinstance(item, np.datetime64):
        return item
    if item is None or item != item:  # NaT of pandas
        return np.datetime64("NaT", _UNIT)
    try:
        moment = datetime.fromisoformat(item.strip()) if isinstance(item, str) else item
    except ValueError:
        moment = None
    if not isinstance(moment, datetime):
        raise ArgumentError(f"must be a time in ISO 8601, such as 2026-03-01T12:00:00+01:00, got {item!r}")
    if moment.tzinfo is None:
        raise ArgumentError(
            f"must have a time zone, such as 2026-03-01T12:00:00Z (in pandas: tz_localize), got {str(item)!r}"
        )
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None), _UNIT)


def format_times(times: TimeArray) -> list[str]:
    """Return timestamps as ISO 8601 texts in UTC, and an empty text where the time is unknown.

    Examples
    --------
    >>> format_times(np.array(["2026-03-01T00:00:00", "NaT"], dtype="datetime64[us]"))
    ['2026-03-01T00:00:00Z', '']
    """
    seconds = times.astype("datetime64[s]")
    unknown = np.isnat(times)
    unit: Literal["s", "us"] = "s" if (unknown | (seconds == times)).all() else _UNIT
    texts = np.datetime_as_string(times, unit=unit, timezone="UTC")
    return ["" if missing else str(text) for text, missing in zip(texts, unknown, strict=True)]


def now() -> int:
    """Return the time of the system's clock, in microseconds since 1970."""
    return time.time_ns() // 1000


def to_microseconds(when: datetime | str) -> int:
    """Return a time with a zone, in microseconds since 1970.

    Examples
    --------
    >>> to_microseconds("1970-01-01T01:00:00.5+01:00")
    500000
    """
    expected = "time must be a datetime with a time zone, or an ISO 8601 text with one"
    moment = when
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise ArgumentError(f"{expected}, got {when!r}") from None
    if not isinstance(moment, datetime):
        raise ArgumentError(f"{expected}, got {type(when).__name__}")
    if moment.utcoffset() is None:
        raise ArgumentError(f"{expected}, got {str(when)!r}, which has no zone: add one, such as 'Z' or '+02:00'")
    return (moment - _EPOCH) // _MICROSECOND


def to_text(microseconds: int) -> str:
    """Return a time as ISO 8601 text in UTC.

    Examples
    --------
    >>> to_text(500000)
    '1970-01-01T00:00:00.500000+00:00'
    """
    return (_EPOCH + microseconds * _MICROSECOND).isoformat()
