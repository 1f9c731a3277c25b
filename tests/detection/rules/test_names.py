"""Which words of a claim and of a line are names, and what stands beside them."""

import pytest

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.comparison.counterpart import alike, neighbours
from groundwire.detection.rules.names import (
    is_abbreviated,
    is_name,
    names_in,
    names_of_line,
    stems_of,
)
from tests.detection.rules.against import basis_of


def names(claim: str, source: str = "nothing of it") -> list[str]:
    return [name.text for name in names_in(ComparedText(claim), basis_of(source))]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("The tower stands in Paris.", ["Paris"]),
        ("It was designed by Otto Wagner in Vienna.", ["Otto Wagner", "Vienna"]),
        ("It opens in May on a Monday, or on Tuesdays.", []),
        ("Soil: Use a light one.", []),  # the colon has the capital letter
        ("The Answer is in the Passage, at 5 PM.", []),
        ("Paris", ["Paris"]),  # it is all that is said
    ],
)
def test_names_are_what_is_written_with_a_capital_letter_for_no_other_reason(
    claim: str, expected: list[str]
) -> None:
    assert names(claim) == expected


def test_the_first_word_is_a_name_if_the_evidence_writes_it_so_alone() -> None:
    assert names("Bread is cheap.", "The firm of Bread went broke.") == ["Bread"]
    assert names("Bread is cheap.", "Bread is what? A bread is a loaf.") == []
    assert names("Bread is cheap.") == []


def test_the_first_word_of_a_line_may_be_a_name() -> None:
    assert [name.text for name in names_of_line(ComparedText("Bread met Ruiz."))] == [
        "Bread",
        "Ruiz",
    ]
    assert [name.text for name in names_of_line(ComparedText("Finally he met Ruiz."))] == ["Ruiz"]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("World Health Organization", "The WHO said so.", True),
        ("United States", "The U.S. said so.", True),
        ("United States", "The bus stops.", False),
        ("UK", "In the United Kingdom it rains.", True),
        ("HR", "At the House of Representatives it rains.", True),
        ("UK", "In Ukraine it rains. United they fall, kings and all.", False),
        ("Vienna", "V is a letter.", False),
    ],
)
def test_initials_stand_for_a_name_and_a_name_for_its_initials(
    name: str, source: str, *, expected: bool
) -> None:
    (found,) = names_in(ComparedText(f"It is said by the {name}."), basis_of(source))
    assert is_abbreviated(found, basis_of(source)) is expected


def test_the_same_words_beside_two_names_speak_for_one_in_the_place_of_the_other() -> None:
    claim, line = (
        ComparedText("It was designed by Wagner in spring."),
        ComparedText("Wood, designed by Loos."),
    )
    (ours,), theirs = names_in(claim, basis_of("no")), names_of_line(line)[-1]
    assert (ours.text, theirs.text) == ("Wagner", "Loos")
    assert neighbours(claim, ours) == ("by", "in")
    assert neighbours(line, theirs) == ("by", "")
    assert stems_of(claim, ours) == {"wagne"}
    assert alike(claim, ours, line, theirs) == 0.75  # "by" right before, and near it "designed"


def test_days_are_no_names() -> None:
    paris, monday, months = ComparedText("Paris Monday Mays").words
    assert [is_name(word) for word in (paris, monday, months)] == [True, False, False]
