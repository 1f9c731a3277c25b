"""Answers cut where people's and the detector's marks begin and end."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from groundwire.evaluation.reports.words import WordMark, cut

Range = tuple[int, int]
TEXT = "in 1950 by Eve"

ranges = st.lists(
    st.tuples(st.integers(0, len(TEXT)), st.integers(0, len(TEXT))).map(
        lambda ends: (min(ends), max(ends))
    ),
    max_size=5,
)


def test_what_both_marked_is_found() -> None:
    assert list(cut(TEXT, [(3, 7)], [(3, 7)])) == [
        ("in ", None),
        ("1950", WordMark.FOUND),
        (" by Eve", None),
    ]


def test_what_one_side_marked_is_missed_or_extra() -> None:
    assert list(cut(TEXT, [(8, 14)], [(0, 2)])) == [
        ("in", WordMark.EXTRA),
        (" 1950 ", None),
        ("by Eve", WordMark.MISSED),
    ]


def test_marks_that_overlap_are_cut_where_they_meet() -> None:
    assert list(cut(TEXT, [(3, 10)], [(0, 7)])) == [
        ("in ", WordMark.EXTRA),
        ("1950", WordMark.FOUND),
        (" by", WordMark.MISSED),
        (" Eve", None),
    ]


def test_ranges_of_one_side_that_overlap_are_one_mark() -> None:
    assert list(cut(TEXT, [(3, 7), (5, 10)], [])) == [
        ("in ", None),
        ("1950 by", WordMark.MISSED),
        (" Eve", None),
    ]


def test_outer_white_space_of_a_range_is_no_mark() -> None:
    assert list(cut(TEXT, [(2, 8)], [(3, 7)]))[1] == ("1950", WordMark.FOUND)


def test_an_empty_answer_has_no_pieces() -> None:
    assert list(cut("", [], [])) == []


@given(ranges, ranges)
def test_the_pieces_are_the_answer_and_neighbours_differ(
    gold: list[Range], predicted: list[Range]
) -> None:
    pieces = list(cut(TEXT, gold, predicted))
    assert "".join(text for text, _ in pieces) == TEXT
    assert all(text for text, _ in pieces)
    assert all(a[1] is not b[1] for a, b in pairwise(pieces))


@given(ranges, ranges)
def test_a_character_has_the_mark_of_the_sides_that_hold_it(
    gold: list[Range], predicted: list[Range]
) -> None:
    pieces = list(cut(TEXT, gold, predicted))
    marks = [mark for text, mark in pieces for _ in text]
    for i, mark in enumerate(marks):
        sides = (_holds(gold, i), _holds(predicted, i))
        assert (
            mark
            is {
                (True, True): WordMark.FOUND,
                (True, False): WordMark.MISSED,
                (False, True): WordMark.EXTRA,
                (False, False): None,
            }[sides]
        )


def _holds(ranges_: list[Range], i: int) -> bool:
    """Character by character: within a range, between its first and last visible character."""
    return any(
        start <= i < end and TEXT[start : i + 1].strip() and TEXT[i:end].strip()
        for start, end in ranges_
    )
