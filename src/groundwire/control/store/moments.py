"""Moments as the tables hold them: whole microseconds since 1970 in UTC."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, Dialect
from sqlalchemy.types import TypeDecorator

_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


def to_datetime(moment: int) -> datetime:
    """Turn a number into a date and a time of day, in UTC.

    Raises:
        OverflowError: If it is outside of the years 1 to 9999.
    """
    # Not fromtimestamp, whose float cannot hold all microseconds.
    return _START + timedelta(microseconds=moment)


def of_datetime(value: datetime) -> int:
    """Turn a date and a time of day, in any time zone, into a number.

    Raises:
        ValueError: If it has no time zone.
    """
    if value.utcoffset() is None:
        raise ValueError("a moment needs a time zone, such as UTC")
    return (value - _START) // _MICROSECOND


class Moment(TypeDecorator[datetime]):
    """The type of a column of moments: every database compares numbers in the same way."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Turn a value into what the database stores."""
        return None if value is None else of_datetime(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Turn what the database stores into a value."""
        return None if value is None else to_datetime(value)
