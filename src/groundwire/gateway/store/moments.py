"""Moments as tables hold them: whole microseconds since 1970, in UTC."""

from datetime import UTC, datetime, timedelta
from time import time_ns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """This moment, by the machine's clock."""
    return time_ns() // 1000


def to_datetime(moment: int) -> datetime:
    """A moment as a date in UTC.

    >>> to_datetime(1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    return _EPOCH + timedelta(microseconds=moment)


def of_datetime(date: datetime) -> int:
    """A date with a time zone as a moment."""
    return (date - _EPOCH) // _MICROSECOND
