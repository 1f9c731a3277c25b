"""Marks of emphasis and code say nothing; stars that say something stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import Detector
from groundwire.text.emphasis import places_without_emphasis, without_emphasis


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It has **999** seats.", "It has 999 seats."),
        ("***Note***: *two words* and `retry`", "Note: two words and retry"),
        ("$**49** or **40%** off", "$49 or 40% off"),
        ("**12** **March** 2020", "12 March 2020"),
    ],
)
def test_marks_are_left_out(text: str, expected: str) -> None:
    assert without_emphasis(text) == expected


@pytest.mark.parametrize(
    "text", ["3 * 4 = 12", "3*4=12", "2**8", "* an item", "a 5* hotel", "f(*args)", "__init__"]
)
def test_stars_that_mean_something_stay(text: str) -> None:
    assert without_emphasis(text) == text


@given(st.text(alphabet="a1 *`\n", max_size=30))
def test_each_character_that_is_left_says_where_it_stands(text: str) -> None:
    plain, places = without_emphasis(text), places_without_emphasis(text).tolist()
    assert "".join(text[place] for place in places) == plain
    assert places == sorted(set(places))


@given(st.text(alphabet="a1 *`", max_size=30))
def test_letters_and_figures_are_never_left_out(text: str) -> None:
    kept = [c for c in text if c.isalnum()]
    assert [c for c in without_emphasis(text) if c.isalnum()] == kept


def test_a_number_in_bold_is_judged_as_it_is_without(detector: Detector) -> None:
    sources = ["The renovated theatre has 612 seats, 80 fewer than before."]
    plain, bold = (
        detector.detect(sources=sources, answer=f"The theatre has {seats} seats.")
        for seats in ("999", "**999**")
    )
    assert plain.claims[0].probability == bold.claims[0].probability
    assert [span.text for span in plain.spans] == ["999"]
    assert [span.text for span in bold.spans] == ["999"]


def test_marks_in_the_source_change_nothing(detector: Detector) -> None:
    answer = "The theatre has 612 seats and opened in 1931."
    plain, bold = (
        detector.detect(sources=[source], answer=answer)
        for source in (
            "The theatre has 612 seats. It opened in 1928.",
            "The theatre has **612** seats. It opened in *1928*.",
        )
    )
    assert plain.claims[0].probability == bold.claims[0].probability
