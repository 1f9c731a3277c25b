"""What is held back of a text that arrives, and what is committed."""

import pytest

from groundwire.text.segment import Segmenter
from tests.text.segment.pieces import claims


@pytest.mark.parametrize(
    "held",
    [
        *["It closed.", "It closed. ", "It closed. [", "It closed. [S0", "It closed. [1](ht"],
        *["It closed.\n", "It closed.\n[1]", "It closed.)", "It closed. i", "It closed.\\"],
        *["Acme Inc. Th", "A `b. C", "It closed.\r", "塔很高。"],
    ],
)
def test_an_ambiguous_end_is_held_back(held: str) -> None:
    assert Segmenter().feed(held) == []


@pytest.mark.parametrize("rest", ["It ", "[S0] I", "\nA", "\n\n", "(T", "- T", "**B"])
def test_a_boundary_is_committed_as_soon_as_the_next_word_shows(rest: str) -> None:
    assert len(Segmenter().feed("It closed. " + rest)) == 1


def test_the_text_so_far_is_at_hand() -> None:
    segmenter = Segmenter()
    segmenter.feed("It ")
    segmenter.feed("closed.")
    assert segmenter.text == "It closed."
    assert Segmenter().text == ""


def test_a_finished_segmenter_takes_no_more_text() -> None:
    segmenter = Segmenter()
    segmenter.feed("It closed.")
    assert len(segmenter.finish()) == 1
    assert segmenter.finish() == []
    with pytest.raises(RuntimeError, match="Make a new Segmenter"):
        segmenter.feed("More.")


@pytest.mark.parametrize("text", ["", " ", "\n\n", "...", "| --- |", "🎉", "``` ```", "- - -"])
def test_a_text_without_letters_and_digits_has_no_claims(text: str) -> None:
    assert claims(text) == []
