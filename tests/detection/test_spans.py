"""The reduction of word piece scores to spans, row by row and against the plain reference."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.detection.spans import (
    FlaggedSpan,
    Offsets,
    Reduction,
    Scores,
    keep,
    reduce_tokens,
    trim,
    whole_words,
)
from groundwire.errors import DetectionError, SettingError
from tests.detection.plain_reduction import reduce_tokens_plain

Pieces = list[tuple[int, int]]

WHITE_SPACE = " \t\n\x1c\x1d\x1e\x1f\x85\u00a0\u2003\u2028\u2029\u3000"
LOOKS_LIKE_IT = "\u200b\ufeff\u2060\u180e"  # invisible, but str.isspace says no
ALPHABET = WHITE_SPACE + LOOKS_LIKE_IT + "ab.é中😀"


def both(
    offsets: Offsets, scores: Scores, text: str, threshold: float = 0.95, allow_zero: bool = False
) -> Reduction:
    """Reduce on both paths, and hold them to the same result."""
    plain = reduce_tokens_plain(offsets, scores, text, threshold=threshold, allow_zero=allow_zero)
    fast = reduce_tokens(offsets, scores, text, threshold=threshold, allow_zero=allow_zero)
    assert fast == plain
    arrays = reduce_tokens(
        np.array(offsets, dtype=np.int32).reshape(-1, 2),
        np.array(scores, dtype=np.float64),
        text,
        threshold=threshold,
        allow_zero=allow_zero,
    )
    assert arrays == plain
    return plain


def words(text: str) -> Pieces:
    """Offsets of the words of a text, without the white space between them."""
    starts = [0, *(i + 1 for i, character in enumerate(text) if character == " ")]
    return [(start, start + len(text[start:].split(" ")[0])) for start in starts]


def found(text: str, scores: list[float], threshold: float = 0.95) -> list[str]:
    return [text[s.start : s.end] for s in both(words(text), scores, text, threshold).spans]


def test_nothing_at_the_threshold_is_no_span_and_the_maximum_is_told() -> None:
    reduction = both([(0, 3), (4, 12), (13, 17)], [0.1, 0.2, 0.05], "The official said")
    assert reduction == Reduction((), 0, 0.2)


def test_one_flagged_word_is_one_span() -> None:
    reduction = both(words("Paris Berlin Rome"), [0.1, 0.99, 0.1], "Paris Berlin Rome")
    assert reduction == Reduction((FlaggedSpan(6, 12, 0.99),), 1, 0.99)


def test_white_space_between_flagged_words_is_bridged_and_the_highest_score_stays() -> None:
    text = "offers takeout seating"
    assert both(words(text), [0.98, 0.97, 0.1], text).spans == (FlaggedSpan(0, 14, 0.98),)


def test_a_supported_word_splits_two_spans() -> None:
    assert found("wrong ok wrong", [0.99, 0.1, 0.99]) == ["wrong", "wrong"]


def test_a_piece_without_width_is_never_flagged_but_its_score_is_the_maximum() -> None:
    assert both([(0, 0)], [0.99], "a") == Reduction((), 0, 0.99)
    assert both([(0, 0), (0, 1)], [0.99, 0.5], "a") == Reduction((), 0, 0.99)


def test_a_score_exactly_at_the_threshold_is_flagged() -> None:
    assert both([(0, 1)], [0.95], "a").n_flagged == 1
    assert both([(0, 1)], [0.9499], "a").n_flagged == 0


@pytest.mark.parametrize("threshold", [0.95, 0.1, 0.3, 0.7, 1 / 3, 0.5, 1.0])
def test_a_single_precision_score_at_the_threshold_is_flagged_on_both_paths(
    threshold: float,
) -> None:
    single = np.array([threshold], dtype=np.float32)
    below = np.nextafter(single, np.float32(0))
    for scores, n_flagged in ((single, 1), (below, 0)):
        as_array = reduce_tokens([(0, 1)], scores, "a", threshold=threshold)
        as_list = reduce_tokens_plain([(0, 1)], scores.tolist(), "a", threshold=threshold)
        assert as_array == as_list
        assert as_array.n_flagged == n_flagged


def test_flagged_words_at_the_end_are_one_span() -> None:
    assert found("Paris is wrong here", [0.1, 0.2, 0.99, 0.96]) == ["wrong here"]


def test_visible_text_splits_and_an_unflagged_space_does_not() -> None:
    pieces = [(0, 2), (2, 3), (3, 5), (5, 6), (6, 8)]
    reduction = both(pieces, [0.99, 0.1, 0.97, 0.1, 0.96], "ab.cd ef")
    assert reduction.spans == (FlaggedSpan(0, 2, 0.99), FlaggedSpan(3, 8, 0.97))


def test_touching_and_overlapping_pieces_join_and_the_last_one_sets_the_end() -> None:
    assert both([(0, 2), (2, 4)], [0.96, 0.97], "abcd").spans == (FlaggedSpan(0, 4, 0.97),)
    assert both([(0, 4), (1, 2)], [0.99, 0.97], "abcd").spans == (FlaggedSpan(0, 2, 0.99),)


@pytest.mark.parametrize("space", WHITE_SPACE)
def test_every_character_that_python_calls_a_space_is_bridged(space: str) -> None:
    assert both([(0, 1), (2, 3)], [0.99, 0.99], f"a{space}b").spans == (FlaggedSpan(0, 3, 0.99),)


@pytest.mark.parametrize("character", LOOKS_LIKE_IT)
def test_an_invisible_character_that_is_no_space_splits(character: str) -> None:
    assert len(both([(0, 1), (2, 3)], [0.99, 0.99], f"a{character}b").spans) == 2


def test_no_pieces_are_no_spans() -> None:
    assert both([], [], "") == Reduction((), 0, 0.0)


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.5, float("nan")])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(SettingError, match=r"threshold = .* must be in \(0, 1\]"):
        reduce_tokens([(0, 1)], [0.5], "a", threshold=threshold)


def test_a_threshold_of_zero_flags_everything_where_it_is_allowed() -> None:
    assert both([(0, 1), (1, 2)], [0.0, 0.5], "ab", 0.0, allow_zero=True).n_flagged == 2


@pytest.mark.parametrize("kind", [list, np.float32, np.float64])
def test_a_score_that_is_no_number_fails_and_is_never_read_as_supported(kind) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    scores: Scores = [0.1, float("nan"), 0.99]
    if kind is not list:
        scores = np.array(scores, dtype=kind)
    with pytest.raises(DetectionError, match="score of word piece 1 is not a number"):
        reduce_tokens([(0, 1), (1, 2), (2, 3)], scores, "abc", threshold=0.95)


def test_offsets_and_scores_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 offsets and 1 scores"):
        reduce_tokens([(0, 1), (1, 2)], [0.5], "ab", threshold=0.95)


@pytest.mark.merge
def test_the_fast_path_is_the_plain_one_on_20000_random_cases() -> None:
    rng = random.Random(20_000)
    thresholds = (0.95, 0.5, 0.3, 0.1, 1.0, 1e-3)
    n_spans = 0
    for case in range(20_000):
        text = "".join(rng.choices(ALPHABET, k=rng.randint(0, 24)))
        n_tokens = rng.randint(0, 12)
        # A third ascending and disjoint, a third ascending but overlapping, a third in any order.
        bounds = [rng.randint(0, len(text) + 1) for _ in range(2 * n_tokens)]
        if case % 3 == 0:
            bounds.sort()
        offsets = list(zip(bounds[::2], bounds[1::2], strict=True))
        if case % 3 == 1:
            offsets.sort()
        threshold = rng.choice(thresholds)
        scores = [rng.choice((rng.random(), threshold, 0.0, 1.0)) for _ in range(n_tokens)]
        single = np.array(scores, dtype=np.float32)
        pieces = np.array(offsets, dtype=np.int32).reshape(-1, 2)
        plain = both(offsets, scores, text, threshold)
        n_spans += len(plain.spans)
        assert reduce_tokens(pieces, single, text, threshold=threshold) == reduce_tokens_plain(
            offsets, single.tolist(), text, threshold=threshold
        )
    assert n_spans > 20_000  # the cases are not all empty


@st.composite
def scored_text(draw: st.DrawFn) -> tuple[str, Pieces, list[float]]:
    """A text, with pieces that ascend and may touch or overlap as a byte tokenizer's do."""
    text = draw(st.text(ALPHABET, min_size=1, max_size=30))
    position = st.integers(0, len(text))
    offsets = draw(st.lists(st.tuples(position, position), max_size=12).map(sorted))
    scores = draw(
        st.lists(
            st.one_of(st.floats(0, 1), st.sampled_from((0.5, 0.95))),
            min_size=len(offsets),
            max_size=len(offsets),
        )
    )
    return text, offsets, scores


@given(scored_text(), st.floats(0, 1, exclude_min=True))
def test_both_paths_agree(case: tuple[str, Pieces, list[float]], threshold: float) -> None:
    text, offsets, scores = case
    both(offsets, scores, text, threshold)


@given(scored_text(), st.floats(0.01, 1))
def test_spans_are_sorted_disjoint_and_scored_at_or_above_the_threshold(
    case: tuple[str, Pieces, list[float]], threshold: float
) -> None:
    text, offsets, scores = case
    reduction = both(offsets, scores, text, threshold)
    for span in reduction.spans:
        assert 0 <= span.start < span.end <= len(text)
        assert np.float32(threshold) <= np.float32(span.score) <= np.float32(reduction.max_score)
    for left, right in itertools.pairwise(reduction.spans):
        between = text[left.end : right.start]
        assert between, "two spans that touch are one"
        assert not between.isspace()


@given(scored_text(), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_higher_threshold_never_flags_more(
    case: tuple[str, Pieces, list[float]], one: float, other: float
) -> None:
    text, offsets, scores = case
    low = both(offsets, scores, text, min(one, other))
    high = both(offsets, scores, text, max(one, other))
    assert high.n_flagged <= low.n_flagged
    disjoint = all(a[1] <= b[0] for a, b in itertools.pairwise(offsets))
    if disjoint:  # an overlap may end a span earlier when its inner piece is flagged too
        assert _characters(high) <= _characters(low)


def _characters(reduction: Reduction) -> set[int]:
    return {i for span in reduction.spans for i in range(span.start, span.end)}


def test_trim_takes_outer_white_space_and_drops_what_is_nothing_else() -> None:
    text = " chef won\x1f \u2028 "
    spans = (FlaggedSpan(0, 11, 0.99), FlaggedSpan(11, 13, 0.98))
    assert trim(spans, text) == (FlaggedSpan(1, 9, 0.99),)
    assert text[1:9] == "chef won"


@given(scored_text(), st.floats(0.01, 1))
def test_trimmed_spans_hold_the_same_visible_text(
    case: tuple[str, Pieces, list[float]], threshold: float
) -> None:
    text, offsets, scores = case
    spans = both(offsets, scores, text, threshold).spans
    trimmed = [text[span.start : span.end] for span in trim(spans, text)]
    visible = [text[span.start : span.end].strip() for span in spans]
    assert trimmed == [words for words in visible if words]


def test_filters_are_off_until_asked_for() -> None:
    text = "in 2019 Michelin"
    spans = (FlaggedSpan(0, 7, 0.6), FlaggedSpan(8, 16, 0.9))
    assert keep(spans, text) == spans
    assert keep(spans, text, min_words=2) == spans[:1]
    assert keep(spans, text, min_probability=0.9) == spans[1:]


# Whole words.


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("It is 21,000 km long.", ["21"], ["21,000"]),
        ("It is 21,000 km long.", ["21", "000 km"], ["21,000 km"]),
        ("At 7:40 in Élodie's flat.", ["40", "odie"], ["7:40", "Élodie's"]),
        ("The Eiffel Tower", ["el"], ["Eiffel"]),
        ("From 1887-1950.", ["1950"], ["1950"]),
        ("王明住在上海。", ["上海"], ["上海"]),
        ("It costs $49.", ["$", "49"], ["$49"]),
        ("wrong , right", ["wrong", ","], ["wrong ,"]),
    ],
)
def test_spans_are_widened_to_whole_words_and_figures(
    text: str, pieces: list[str], expected: list[str]
) -> None:
    found, at = [], 0
    for piece in pieces:
        at = text.index(piece, at)
        found.append(FlaggedSpan(at, at + len(piece), 0.5))
        at += len(piece)
    assert [text[span.start : span.end] for span in whole_words(found, text)] == expected


@given(st.text(alphabet="ab1,.' 王", max_size=20), st.lists(st.booleans(), max_size=20))
def test_widening_keeps_what_was_marked_and_keeps_spans_apart(text: str, marks: list[bool]) -> None:
    offsets = [(i, i + 1) for i in range(len(text))][: len(marks)]
    scores = [float(mark) for mark in marks][: len(offsets)]
    spans = trim(reduce_tokens(offsets, scores, text, threshold=0.5).spans, text)
    widened = whole_words(spans, text)
    for span in spans:
        assert any(w.start <= span.start and span.end <= w.end for w in widened)
    assert all(a.end < b.start for a, b in itertools.pairwise(widened))
    assert whole_words(widened, text) == widened
    assert all(text[w.start : w.end] == text[w.start : w.end].strip() for w in widened)


def test_widening_stays_within_the_claim() -> None:
    text = "It is 21,000 km"
    assert whole_words([FlaggedSpan(9, 12, 0.5)], text, start=9) == (FlaggedSpan(9, 12, 0.5),)
    assert whole_words([FlaggedSpan(6, 8, 0.5)], text, end=9) == (FlaggedSpan(6, 8, 0.5),)
