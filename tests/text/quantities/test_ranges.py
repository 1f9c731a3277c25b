"""What the two ends of a range share."""

import pytest

from groundwire.text.quantities import quantities
from tests.text.quantities.stated import values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1887-1889", [(1887.0, None), (1889.0, None)]),
        ("10-12 km", [(10_000.0, "m"), (12_000.0, "m")]),
        ("10 to 12 percent", [(10.0, "%"), (12.0, "%")]),
        ("between 2 and 3 million", [(2e6, None), (3e6, None)]),
        ("$5-10 million", [(5e6, "usd"), (1e7, "usd")]),
        ("$10-15", [(10.0, "usd"), (15.0, "usd")]),
        ("$1 or 50 cents", [(1.0, "usd"), (0.5, "usd")]),
    ],
)
def test_the_ends_of_a_range_share_unit_and_magnitude(
    text: str, expected: list[tuple[float, str | None]]
) -> None:
    assert [(q.value, q.unit) for q in quantities(text)] == expected


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("16:30-21:0", [16.5, 21]),
        ("9-11 PM", [21, 23]),
        ("from 9 to 5 PM", [9, 17]),
        ("11:30-2 PM", [11.5, 14]),
        ("9 PM - 12 AM", [21, 0]),
    ],
)
def test_the_ends_of_opening_hours_are_two_times(text: str, hours: list[float]) -> None:
    assert values(text) == [hour * 60 for hour in hours]


def test_the_days_of_a_range_share_the_month() -> None:
    expected = [(2015, 3, 29), (2015, 3, 31)]
    assert values("29-31 March 2015") == values("March 29-31, 2015") == expected
