"""Times of day."""

import pytest

from groundwire.text.quantities import QuantityKind, quantities


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("16:30", 16.5),
        ("4:30 PM", 16.5),
        ("4:30 p.m.", 16.5),
        ("9 PM", 21.0),
        ("9pm", 21.0),
        ("21:0", 21.0),
        ("12 AM", 0.0),
        ("12:15 PM", 12.25),
        ("noon", 12.0),
        ("midnight", 0.0),
        ("0:0", 0.0),
        ("24:00", 0.0),
        ("nine o'clock", 9.0),
        ("one o'clock", 1.0),
        ("one p.m.", 13.0),
    ],
)
def test_a_time_is_its_minute_of_the_day(text: str, hours: float) -> None:
    [quantity] = quantities(text)
    assert (quantity.kind, quantity.value, quantity.end) == (
        QuantityKind.TIME,
        hours * 60,
        len(text),
    )
