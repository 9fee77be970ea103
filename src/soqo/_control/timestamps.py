"""Times of calls: from a datetime or an ISO 8601 text with a zone to microseconds since 1970 in UTC, and back."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from soqo.errors import ArgumentError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


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
