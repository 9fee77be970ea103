"""Timestamps of rounds: arrays of ``datetime64`` in UTC, and ISO 8601 text with a zone in files."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import numpy as np

from soqo.errors import ArgumentError

TimeArray: TypeAlias = np.ndarray[Any, np.dtype[np.datetime64]]

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
        raise ArgumentError(f"must have a time zone, such as 2026-03-01T12:00:00Z, got {str(item)!r}")
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
