"""What a model writes, as the value of a header."""

import re
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.gateway.http.header_text import MAX_BYTES, header_list

#: Strings that could end a header, a value or an escape.
NASTY = st.sampled_from(
    ["\r\n", "\n", "\r", "%", "%0A", ";", "; ", ",", " ", "...", "é", "😀", "\x00"]
)
TEXTS = st.lists(st.lists(st.text(max_size=30) | NASTY, max_size=6).map("".join), max_size=12)
LONG = st.lists(st.text(alphabet="aé😀 .;%\n", min_size=1, max_size=400), min_size=1, max_size=6)
BOUNDS = st.integers(3, 60) | st.just(MAX_BYTES)


def decoded(value: str) -> list[str]:
    return [unquote_to_bytes(each).decode() for each in value.split("; ")] if value else []


def written(texts: list[str]) -> list[str]:
    return [re.sub("[\ud800-\udfff]", "�", text) for text in texts if text]


def test_the_documented_spans_stay_as_they_are() -> None:
    assert header_list(["1950", "500 meters"]) == "1950; 500 meters"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50 % more", "50 %25 more"),
        ("a;b,c", "a%3Bb%2Cc"),
        ("a\r\nx-evil: 1", "a%0D%0Ax-evil: 1"),
        ("Zürich", "Z%C3%BCrich"),
        ("😀", "%F0%9F%98%80"),
        (" a b ", "%20a b%20"),
        ("\t", "%09"),
        ("\x7f\x00", "%7F%00"),
        ("\ud800", "%EF%BF%BD"),
        ('"quoted"', '"quoted"'),
        ("wait...", "wait..%2E"),
        ("", ""),
    ],
)
def test_what_is_not_plain_is_percent_encoded(text: str, value: str) -> None:
    assert header_list([text]) == value


def test_an_empty_text_leaves_no_separator() -> None:
    assert header_list(["", "a", "", "b", ""]) == "a; b"


def test_a_value_of_exactly_the_length_is_whole() -> None:
    assert header_list(["a" * MAX_BYTES]) == "a" * MAX_BYTES
    assert header_list(["a" * (MAX_BYTES + 1)]) == "a" * (MAX_BYTES - 3) + "..."


def test_a_character_is_written_whole_or_not_at_all() -> None:
    assert header_list(["é" * 10], max_bytes=16) == "%C3%A9%C3%A9..."
    assert header_list(["ab😀"], max_bytes=13) == "ab..."
    assert header_list(["ab😀"], max_bytes=14) == "ab%F0%9F%98%80"


def test_what_is_cut_between_two_texts_shows_that_there_were_more() -> None:
    assert header_list(["abc", "defgh"], max_bytes=8) == "abc; ..."


@given(TEXTS | LONG, BOUNDS)
def test_nothing_but_printable_ascii_without_outer_blanks(texts: list[str], bound: int) -> None:
    value = header_list(texts, max_bytes=bound)
    assert re.fullmatch(r"([!-~]([ -~]*[!-~])?)?", value)
    assert "," not in value


@given(TEXTS | LONG, BOUNDS)
def test_the_length_is_bounded(texts: list[str], bound: int) -> None:
    assert len(header_list(texts, max_bytes=bound).encode("ascii")) <= bound


@given(TEXTS)
def test_what_is_whole_can_be_decoded(texts: list[str]) -> None:
    assert decoded(header_list(texts, max_bytes=10_000)) == written(texts)


@given(TEXTS | LONG, BOUNDS)
def test_three_dots_at_the_end_stand_for_what_was_cut_and_nothing_else(
    texts: list[str], bound: int
) -> None:
    value, whole = header_list(texts, max_bytes=bound), header_list(texts, max_bytes=100_000)
    assert value.endswith("...") == (value != whole)
    if value != whole:
        pieces = value.removesuffix("...").split("; ")
        known = [unquote_to_bytes(piece).decode() for piece in pieces]
        assert known[:-1] == written(texts)[: len(known) - 1]
        assert (*written(texts), "")[len(known) - 1].startswith(known[-1])
