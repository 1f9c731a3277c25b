"""The evidence of a claim as rules read it."""

import json

import pytest

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.rules.basis import (
    Switch,
    content_in,
    is_field,
    overlap,
    states,
    stating,
    stems_in,
)
from groundwire.text.quantities import quantities
from tests.detection.rules.against import basis_of, basis_of_lines


def test_equal_lines_count_once_and_each_is_read_once() -> None:
    basis = basis_of_lines(["One.", "Two.", "One."])
    assert basis.readings == ("One.", "Two.")
    assert basis.text("One.") is basis.text("One.")


def test_lines_are_found_by_words_as_they_are_written() -> None:
    basis = basis_of_lines(["Paris is old.", "In paris?", "Rome"])
    assert [line.text for line in basis.lines_with("Paris")] == ["Paris is old."]


def test_a_claim_may_be_a_line_word_for_word() -> None:
    basis = basis_of_lines(["It is false that it rains."])
    assert basis.has_line(" It is false that it rains")
    assert not basis.has_line("it rains.")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("Italian", True), ("cats", True), ("CAT", True), ("itch", False), ("Rome", False)],
)
def test_a_word_stands_there_in_doubt(word: str, *, expected: bool) -> None:
    assert basis_of_lines(["A cat from Italy"]).has(ComparedText(word).words[0]) is expected


def test_a_word_is_written_just_so() -> None:
    basis = basis_of_lines(["A cat of the U.S."])
    assert basis.writes("cat")
    assert not basis.writes("Cat")
    assert not basis.writes("ca")
    assert basis.writes("U.S")  # no pattern


def test_fields_that_say_yes_or_no_are_switches() -> None:
    data = {"attributes": {"OutdoorSeating": False}, "wifi": True, "pets": "no", "rooms": 4}
    assert basis_of(json.dumps(data)).switches == (
        Switch(("outdoor", "seating"), is_on=False),
        Switch(("wifi",), is_on=True),
        Switch(("pets",), is_on=False),
    )


def test_rows_are_cells_by_column() -> None:
    assert basis_of("| A | B |\n|---|---|\n| x | y z |").rows == ({"A": "x", "B": "y z"},)
    assert basis_of_lines(["It rains; it pours.", "Note: it rains; it pours."]).rows == ()
    assert basis_of_lines(["A: at 9:30; B: "]).rows == ({"A": "at 9:30", "B": ""},)


def test_a_field_states_nothing_in_a_sentence() -> None:
    assert is_field("hours Monday: 9-5")
    assert not is_field("It opens at 9:30.")


def test_lines_that_state_a_quantity_write_the_same_figures() -> None:
    basis = basis_of_lines(["It is 42 km.", "It is 42 miles.", "It is 142 km.", "42,000 m"])
    claim = ComparedText("All 42 km of it.")
    (quantity,) = claim.quantities
    assert [line.text for line in stating(basis, claim, quantity)] == ["It is 42 km.", "42,000 m"]


def test_one_quantity_says_what_another_does() -> None:
    (km,), (m,), (mile,) = map(quantities, ["42 km", "42,000 m", "42 miles"])
    assert states(km, m)
    assert not states(km, mile)


def test_overlap_is_the_share_of_the_claims_words() -> None:
    assert overlap(
        ComparedText("wild red cats"), ComparedText("cats sleep, wild dogs too")
    ) == pytest.approx(2 / 3)
    assert (
        overlap(
            ComparedText("wild red cats"), ComparedText("cats"), without=frozenset({"wild", "red"})
        )
        == 1
    )
    assert overlap(ComparedText("it is"), ComparedText("it is")) == 0


def test_content_words_lie_within_a_place() -> None:
    text = ComparedText("The old cats of Rome sleep")
    assert [word.text for word in content_in(text, 4, 20)] == ["old", "cats", "Rome"]
    assert [word.text for word in content_in(text, 5, 19)] == ["cats"]
    assert stems_in(text, 0, 3) == frozenset()
