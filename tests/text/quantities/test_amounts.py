"""Numbers with their units, currencies and magnitudes."""

import pytest

from groundwire.text.quantities import quantities
from tests.text.quantities.stated import found


@pytest.mark.parametrize(
    "text", ["$5", "US$5", "5 dollars", "USD 5", "5 USD", "$5.00", "500 cents", "5 US dollars"]
)
def test_a_currency_may_stand_before_or_after(text: str) -> None:
    assert found(text) == [(text, 5.0, "usd")]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("5%", 5.0, "%"),
        ("5 per cent", 5.0, "%"),
        ("$1.2 million", 1.2e6, "usd"),
        ("£5m", 5e6, "gbp"),
        ("5 million pounds", 5e6, "gbp"),
        ("five million pounds", 5e6, "gbp"),
        ("thirty-second", 30.0, "s"),
        ("0.33 km", 330.0, "m"),
        ("330-metre", 330.0, "m"),
        ("5kg", 5.0, "kg"),
        ("4 h 23", 15780.0, "s"),
        ("1 hour and 20 minutes", 4800.0, "s"),
        ("5'8\"", 1.7272, "m"),
        ("5 feet 8 inches", 1.7272, "m"),
        ("3 m²", 3.0, "m2"),
        ("2 square kilometres", 2e6, "m2"),
        ("1 litre", 1.0, "l"),
        ("36 km/h", 10.0, "m/s"),
        ("32 °F", 0.0, "°C"),
        ("2 GB", 2e9, "B"),
        ("1 kWh", 3.6e6, "J"),
        ("1.5 MW", 1.5e6, "W"),
    ],
)
def test_an_amount_is_converted_to_its_base_unit(text: str, value: float, unit: str) -> None:
    [quantity] = quantities(text)
    assert (quantity.start, quantity.end, quantity.unit) == (0, len(text), unit)
    assert quantity.value == pytest.approx(value)


def test_words_that_only_look_like_units_are_none() -> None:
    assert found("5 in the morning, 1736 C Street") == [("5", 5.0, None), ("1736", 1736.0, None)]


def test_an_age_is_a_bare_number() -> None:
    assert found("15-year-old, 15 years old, aged 15") == [
        ("15-year-old", 15.0, None),
        ("15 years old", 15.0, None),
        ("15", 15.0, None),
    ]
