"""What counts as the same."""

import pytest

from groundwire.text.quantities import Match, Quantity, QuantityIndex, QuantityKind
from tests.text.quantities.stated import matches


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("1,234 people", "1234 people"),
        ("two dozen", "24"),
        ("$1.2 million", "1,200,000 dollars"),
        ("330 m", "0.33 km"),
        ("2 hours", "120 minutes"),
        ("5 kg", "5000 g"),
        ("1 mile", "1.61 km"),
        ("100 °F", "38 °C"),
        ("165 degrees", "165°F"),
        ("12 months", "1 year"),
        ("March 31, 1945", "1945"),
        ("March 31, 1945", "31st"),
        ("the 1990s", "1990"),
        ("sleep: 4:23", "4 h 23"),
        ("55 pounds", "£55"),
        ("£55", "55 pounds"),
    ],
)
def test_the_same_amount_in_other_words_is_equal(evidence: str, answer: str) -> None:
    assert matches(evidence, answer) == [Match.EQUAL]


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("5 kg", "5 km"),
        ("$5", "€5"),
        ("20 °C", "20 °F"),
        ("55 pounds", "$55"),
    ],
)
def test_the_same_number_with_another_unit_is_told_apart(evidence: str, answer: str) -> None:
    assert matches(evidence, answer) == [Match.UNIT_DIFFERS]


@pytest.mark.parametrize(
    ("evidence", "answer"), [("5", "5 kg"), ("5 kg", "5"), ("9:0", "9"), ("5 kg and 5", "5 km")]
)
def test_the_same_number_of_which_one_has_no_unit(evidence: str, answer: str) -> None:
    assert matches(evidence, answer) == [Match.UNIT_MISSING]


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("120 in spring, 180 in summer", "300"),
        ("4,401 metres and 4,395 metres", "6 metres"),
        ("50 of 200", "25%"),
        ("3 at $24", "$72"),
        ("from 1872 to 1972", "100 years"),
        ("rose from 40 to 50", "25 percent"),
    ],
)
def test_what_follows_from_two_numbers_is_derived(evidence: str, answer: str) -> None:
    assert matches(evidence, answer) == [Match.DERIVED]


def test_of_many_numbers_nothing_is_derived() -> None:
    few = " and ".join(str(7 * n**3 + 1) for n in range(1, 9))
    many = " and ".join(str(7 * n**3 + 1) for n in range(1, 16))
    assert matches(few, "65") == [Match.DERIVED]  # 8 + 57
    assert matches(many, "65") == [Match.ABSENT]


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("5", "6"),
        ("5", "-5"),
        ("1.60 km", "1.61 km"),  # the same unit: nothing was converted, so nothing was rounded
        ("1 mile", "1.63 km"),
        ("March 31, 1945", "1946"),
        ("", "7"),
    ],
)
def test_another_number_is_absent(evidence: str, answer: str) -> None:
    assert matches(evidence, answer) == [Match.ABSENT]


def test_times_are_compared_as_minutes() -> None:
    assert matches("16:30-21:0", "4:30 PM to 10 PM") == [Match.TIME_EQUAL, Match.TIME_ABSENT]
    assert matches("2022-07-25 05:07:26", "5:07 AM") == [Match.TIME_EQUAL]


@pytest.mark.parametrize(
    ("evidence", "answer", "expected"),
    [
        ("March 31, 1945", "31 March", Match.DATE_EQUAL),
        ("March 31, 1945", "March 1945", Match.DATE_EQUAL),
        ("March 31, 1945", "April 1, 1945", Match.DATE_PARTLY),
        ("March 31", "March 31, 1945", Match.DATE_PARTLY),  # the year is stated nowhere
        ("in 1945", "March 31, 1945", Match.DATE_PARTLY),
        ("May 5 and March 31, 1945", "May 31, 1946", Match.DATE_PARTLY),
        ("March 31, 1945", "May 2, 1946", Match.DATE_ABSENT),
    ],
)
def test_a_date_is_equal_when_every_part_it_states_is(
    evidence: str, answer: str, expected: Match
) -> None:
    assert matches(evidence, answer) == [expected]


def test_the_codes_of_matches_are_fixed() -> None:
    # Weights are trained on them.
    assert {match.name: int(match) for match in Match} == {
        "NONE": 0,
        "EQUAL": 1,
        "UNIT_DIFFERS": 2,
        "ABSENT": 3,
        "TIME_EQUAL": 4,
        "TIME_ABSENT": 5,
        "DATE_EQUAL": 6,
        "DATE_PARTLY": 7,
        "DATE_ABSENT": 8,
        "UNIT_MISSING": 9,
        "DERIVED": 10,
    }


def test_a_quantity_can_be_built_by_hand() -> None:
    index = QuantityIndex.of([Quantity(0, 1, QuantityKind.NUMBER, 5.0, None, 5.0)])
    assert index.match(Quantity(7, 8, QuantityKind.NUMBER, 5.0, None, 5.0)) == Match.EQUAL
