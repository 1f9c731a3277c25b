"""What holds for any text, however it arrives."""

import re
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.segment import (
    MAX_CLAIM_CHARS,
    Segment,
    Segmenter,
    parse_citations,
    segment,
)
from groundwire.text.segment.citations import MAX_CITED_IDS
from tests.text.segment.pieces import claims, streamed, texts

ENUMERATOR = re.compile(r"\W*(?:[0-9]{1,3}|[a-z]|[ivx]{2,5})[.)]\s")
FENCE = re.compile(r"\W*(?:`{3,40}|~{3,40})\s*[^\s`]*\s*")


@given(texts, st.data())
def test_any_way_of_cutting_a_text_gives_the_same_segments(text: str, data: st.DataObject) -> None:
    segmenter = Segmenter()
    found: list[Segment] = []
    position = 0
    while position < len(text):
        size = data.draw(st.integers(min_value=1, max_value=max(1, len(text) // 3)))
        found += segmenter.feed(text[position : position + size])
        position += size
    assert tuple(found + segmenter.finish()) == segment(text)
    assert segmenter.text == text


@given(texts)
def test_one_character_at_a_time_gives_the_same_segments(text: str) -> None:
    assert tuple(streamed(text, 1)) == segment(text)


@given(texts, texts)
def test_what_is_committed_stands_whatever_follows(text: str, rest: str) -> None:
    committed = Segmenter().feed(text)
    assert segment(text + rest)[: len(committed)] == tuple(committed)


def gaps(text: str) -> Iterator[str]:
    position = 0
    for found in segment(text):
        yield text[position : found.start]
        position = found.end
    yield text[position:]


@given(texts)
def test_segments_are_sorted_disjoint_trimmed_and_not_too_long(text: str) -> None:
    position = 0
    for found in segment(text):
        piece = text[found.start : found.end]
        assert position <= found.start < found.end <= len(text)
        assert piece == piece.strip()
        assert any(char.isalnum() for char in piece)
        assert len(piece) <= MAX_CLAIM_CHARS
        position = found.end
    rebuilt = [gap + claim for gap, claim in zip(gaps(text), [*claims(text), ""], strict=True)]
    assert "".join(rebuilt) == text


@given(texts)
def test_gaps_hold_no_letters_or_digits_but_enumerators_and_fence_words(text: str) -> None:
    for gap in gaps(text):
        for line in gap.splitlines():
            marks = ENUMERATOR.sub("", line + " ", count=1)
            if any(char.isalnum() for char in marks):
                assert FENCE.fullmatch(line), (line, text)


@given(texts)
def test_citations_lie_in_their_segment_and_read_the_same_alone(text: str) -> None:
    for found in segment(text):
        for citation in found.citations:
            assert found.start <= citation.start < citation.end <= found.end
            assert text[citation.start] == "["
            assert 1 <= len(citation.ids) <= MAX_CITED_IDS
        if found.citations:
            assert parse_citations(text, found.start, found.end) == found.citations
