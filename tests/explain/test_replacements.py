"""What may stand in the place of a wrong span."""

import pytest

from groundwire.detection.comparison.aligned_span import Held
from groundwire.explain.replacements import deletions, quotes, replacements
from tests.explain.marked import claim


def held(marked: str, *lines: str) -> Held:
    found, span = claim(marked, *lines)
    return Held.of(span, found, found.evidence)


def best(marked: str, *lines: str) -> str | None:
    """Return the claim with its best replacement."""
    place = held(marked, *lines)
    found = replacements(place)
    return found[0].applied(place.claim.text) if found else None


def without(marked: str) -> list[str]:
    """Return the claim with each deletion."""
    place = held(marked, "Another line.")
    return [each.applied(place.claim.text) for each in deletions(place)]


@pytest.mark.parametrize(
    ("marked", "line", "repaired"),
    [
        ("The tower is ⟦500 m⟧ tall.", "The tower is 330 m tall.", "The tower is 330 m tall."),
        (
            "It was built in ⟦1950⟧.",
            "It was built from 1887 to 1889.",
            "It was built in 1887 to 1889.",
        ),
        ("He is ⟦28⟧ now.", "The 25-year-old is there now.", "He is 25 now."),
        ("A ⟦five⟧-year-old won.", "Ann, 11, won.", "A 11-year-old won."),
        ("It costs ⟦$35⟧ a year.", "cost a year: 60", "It costs $60 a year."),
        ("It closes on ⟦Monday⟧.", "It closes on Sunday.", "It closes on Sunday."),
        ("He sang with ⟦Ann Lee⟧.", "He sang with Bo Dahl.", "He sang with Bo Dahl."),
        ("⟦Ann⟧ won the race.", "Bo won the race.", "Bo won the race."),
        (
            "Send the address ⟦by phone⟧.",
            "He sends the address in writing.",
            "Send the address in writing.",
        ),
        ("Prices ⟦increased⟧ in May.", "Prices decreased in May.", "Prices decreased in May."),
        ("Dogs ⟦are⟧ allowed.", "No dogs are allowed in.", "Dogs are not allowed."),
        ("Dogs ⟦are not⟧ allowed.", "Dogs are allowed here.", "Dogs are allowed."),
    ],
)
def test_words_of_the_evidence_stand_in_the_place_of_wrong_ones(
    marked: str, line: str, repaired: str
) -> None:
    assert best(marked, line) == repaired


@pytest.mark.parametrize(
    ("marked", "line"),
    [
        ("It is ⟦500 m⟧ tall.", "It weighs 9 kg."),
        ("It has ⟦12 million⟧ users.", "Users pay 12 lakh."),
        ("It stands ⟦beside⟧ a park.", "The park has no tower."),
    ],
)
def test_a_value_of_another_kind_does_not(marked: str, line: str) -> None:
    assert best(marked, line) is None


def test_a_value_beside_the_same_words_is_better() -> None:
    line = "A pass costs $90 in summer, and a ticket costs $12."
    assert best("In summer a pass costs ⟦$15⟧.", line) == "In summer a pass costs $90."


def test_a_replacement_has_its_place_in_the_source() -> None:
    line = "The tower is 330 m tall."
    place = replacements(held("The tower is ⟦500 m⟧ tall.", line))[0].place
    assert place is not None
    assert line[place.start : place.end] == place.text == "330 m"


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("The shop is old (built in ⟦1950⟧).", "The shop is old."),
        ("The shop, ⟦a former bank⟧, is old.", "The shop, is old."),
        ("The shop is old, and ⟦it was a bank⟧.", "The shop is old."),
        ("The shop is old because ⟦nobody cares⟧ [1].", "The shop is old [1]."),
        ("In ⟦1950⟧, the shop was sold.", "The shop was sold."),
    ],
)
def test_a_clause_is_taken_out_where_the_rest_stands(marked: str, expected: str) -> None:
    assert expected in without(marked)


@pytest.mark.parametrize("marked", ["The ⟦shop⟧ is old.", "It lies between Bonn and ⟦Rome⟧."])
def test_nothing_is_taken_out_that_the_rest_needs(marked: str) -> None:
    assert without(marked) == []


def test_a_sentence_of_the_evidence_may_stand_for_the_whole_claim() -> None:
    line = "Newcomers need not have read the book."
    place = held("People must have read ⟦the book⟧.", "Ann Lee", line)
    (found,) = quotes(place)
    assert (found.start, found.end) == (0, len(place.claim.text))
    assert (found.text, found.place) == (line, place.lines[1].place)


@pytest.mark.parametrize(
    "line", ["They need not have read the book.", "Book club: read the book", "Bread is good here."]
)
def test_a_sentence_that_leans_on_others_or_is_none_does_not(line: str) -> None:
    assert quotes(held("People must have read ⟦the book⟧.", line)) == []
