"""Dates, and which of their parts are stated."""

import pytest

from groundwire.text.quantities import QuantityKind, quantities
from tests.text.quantities.stated import values


@pytest.mark.parametrize(
    "text",
    [
        "March 31, 1945",
        "March 31st, 1945",
        "31 March 1945",
        "31st of March 1945",
        "Mar. 31, 1945",
        "1945-03-31",
        "03/31/1945",
        "31.03.1945",
        "31 march 1945",
    ],
)
def test_a_date_may_be_written_in_many_ways(text: str) -> None:
    assert [(q.kind, q.value, q.end) for q in quantities(text)] == [
        (QuantityKind.DATE, (1945, 3, 31), len(text))
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Mar. 31", (None, 3, 31)),
        ("March 1945", (1945, 3, None)),
        ("July 20", (None, 7, 20)),
        ("July 2020", (2020, 7, None)),
        ("4th of July", (None, 7, 4)),
    ],
)
def test_what_a_date_does_not_state_is_none(text: str, value: object) -> None:
    assert values(text) == [value]


def test_a_date_and_a_time_together_are_two_quantities() -> None:
    assert values("2022-07-25 05:07") == values("2022-07-25T05:07Z") == [(2022, 7, 25), 307.0]


def test_may_is_a_month_only_where_a_date_stands() -> None:
    assert values("May 5") == [(None, 5, 5)]
    assert values("8 may be enough") == [8.0]
