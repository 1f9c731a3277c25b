"""The evidence of a claim as rules read it."""

import pytest

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.rules.basis import is_field, overlap
from tests.detection.rules.against import basis_of, basis_of_lines


def test_equal_lines_count_once_and_each_is_read_once() -> None:
    basis = basis_of_lines(["One.", "Two.", "One."])
    assert basis.readings == ("One.", "Two.")
    assert basis.text("One.") is basis.text("One.")


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


def test_rows_are_cells_by_column() -> None:
    assert basis_of("| A | B |\n|---|---|\n| x | y z |").rows == ({"A": "x", "B": "y z"},)
    assert basis_of_lines(["It rains; it pours.", "Note: it rains; it pours."]).rows == ()
    assert basis_of_lines(["A: at 9:30; B: "]).rows == ({"A": "at 9:30", "B": ""},)


def test_a_field_states_nothing_in_a_sentence() -> None:
    assert is_field("hours Monday: 9-5")
    assert not is_field("It opens at 9:30.")


def test_overlap_is_the_share_of_the_claims_words() -> None:
    assert overlap(
        ComparedText("wild red cats"), ComparedText("cats sleep, wild dogs too")
    ) == pytest.approx(2 / 3)
    assert overlap(ComparedText("it is"), ComparedText("it is")) == 0
