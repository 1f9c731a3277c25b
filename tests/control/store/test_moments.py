"""Moments as the tables have them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.control.store import moments


def test_a_moment_is_in_microseconds_since_1970_in_utc() -> None:
    assert moments.of_datetime(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)) == 1_000_005
    assert moments.to_datetime(1_000_005) == datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)


@given(st.datetimes(timezones=st.timezones()))
def test_no_microsecond_is_lost_on_the_way(value: datetime) -> None:
    assert moments.to_datetime(moments.of_datetime(value)) == value.astimezone(UTC)


def test_a_moment_is_the_same_in_every_time_zone() -> None:
    east = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert moments.of_datetime(east) == moments.of_datetime(datetime(2026, 1, 1, tzinfo=UTC))


def test_a_time_without_a_time_zone_is_no_moment() -> None:
    with pytest.raises(ValueError, match="needs a time zone"):
        moments.of_datetime(datetime(2026, 1, 1))
