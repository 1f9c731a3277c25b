"""Moments as the tables have them: whole microseconds since 1970 in UTC."""

import time
from datetime import UTC, datetime, timedelta

_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """The moment that it is."""
    return time.time_ns() // 1000


def to_datetime(moment: int) -> datetime:
    """A moment as a date and a time of day, in UTC.

    Raises:
        OverflowError: If it is outside of the years 1 to 9999.
    """
    # Not fromtimestamp, whose float has no room for all microseconds.
    return _START + timedelta(microseconds=moment)


def of_datetime(value: datetime) -> int:
    """The moment of a date and a time of day in any time zone.

    Raises:
        ValueError: If it has no time zone: it could be any of some fifty moments.
    """
    if value.utcoffset() is None:
        raise ValueError("a moment needs a time zone, such as UTC")
    return (value - _START) // _MICROSECOND
