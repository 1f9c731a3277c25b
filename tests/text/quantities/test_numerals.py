"""Numbers in digits and in letters."""

import pytest

from tests.text.quantities.stated import found, values


@pytest.mark.parametrize("text", ["1234", "1,234", "1\u00a0234", "1\u202f234", "1234.0", "1.234k"])
def test_a_number_may_be_grouped_in_several_ways(text: str) -> None:
    assert values(text) == [1234.0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.5", 3.5),
        (".5", 0.5),
        ("-5", -5.0),
        ("−7.5", -7.5),
        ("1e6", 1e6),
        ("1/2", 0.5),
        ("1 1/2", 1.5),
        ("2½", 2.5),
        ("4th", 4.0),
        ("1990s", 1990.0),
        ("1.2 million", 1.2e6),
        ("8.3 million", 8_300_000.0),  # as a product 8,300,000.000000001
        ("1.2M", 1.2e6),
        ("4K", 4000.0),
        ("5bn", 5e9),
        ("three hundred thousand", 300_000.0),
        ("two hundred and five", 205.0),
        ("twenty-five", 25.0),
        ("a dozen", 12.0),
        ("two-thirds", 2 / 3),
    ],
)
def test_a_number_is_read_as_its_value(text: str, value: float) -> None:
    assert values(text) == [value]


def test_a_hyphen_after_a_word_or_a_number_is_no_minus() -> None:
    assert values("pre-1990, 10-12, top-5") == [1990.0, 10.0, 12.0, 5.0]


@pytest.mark.parametrize(
    "text", ["one of them", "No one came", "one day", "first and second", "the twenty-fifth"]
)
def test_one_alone_and_ordinal_words_are_no_quantities(text: str) -> None:
    assert found(text) == []


def test_one_with_a_unit_or_a_star_is_a_quantity() -> None:
    assert found("one hour, one star") == [("one hour", 3600.0, "s"), ("one", 1.0, None)]


def test_more_than_thirty_digits_are_no_quantity() -> None:
    assert found("9" * 30) != []
    assert found("9" * 31) == []
