"""Converts moments to and from their form in tables: whole microseconds since 1970 in UTC."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, Dialect
from sqlalchemy.types import TypeDecorator

_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    """Return the present moment, in UTC."""
    return datetime.now(UTC)


def to_datetime(moment: int) -> datetime:
    """Turn microseconds since 1970 into a datetime in UTC.

    Raises:
        OverflowError: If the moment is outside of the years 1 to 9999.
    """
    # fromtimestamp is not used: its float cannot hold all microseconds.
    return _START + timedelta(microseconds=moment)


def of_datetime(value: datetime) -> int:
    """Turn a datetime, in any time zone, into microseconds since 1970.

    Raises:
        ValueError: If the datetime has no time zone.
    """
    if value.utcoffset() is None:
        raise ValueError("a moment needs a time zone, such as UTC")
    return (value - _START) // _MICROSECOND


class Moment(TypeDecorator[datetime]):
    """Column type of moments: a datetime, stored as an integer of microseconds since 1970.

    Integers are stored because all databases compare them alike.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Turn a datetime into the integer that the database stores."""
        return None if value is None else of_datetime(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Turn the integer that the database stores into a datetime."""
        return None if value is None else to_datetime(value)
