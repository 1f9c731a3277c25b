"""Match features: what programs compare exactly and small encoders do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from groundwire.engine.features import CODES, NEUTRAL, TABLE_ROWS, longest_runs, match_features
from groundwire.engine.tokenizer import WordPieces
from groundwire.example import Source
from groundwire.passages import Passage, cut_source
from groundwire.quantities import Match

Ids = NDArray[np.int32]


def ids_of(text: str) -> Ids:
    """A letter a piece: what runs are, can be read off."""
    return np.array([ord(letter) for letter in text], np.int32)


def runs(claim: str, *texts: str) -> list[int]:
    """Runs of a claim through texts; ``/`` marks where a line begins."""
    starts = []
    for text in texts:
        lines = [len(line) for line in text.split("/")]
        starts.append(np.cumsum([0, *lines[:-1]]).astype(np.intp))
    plain = [ids_of(text.replace("/", "")) for text in texts]
    found: list[int] = longest_runs(ids_of(claim), plain, starts).tolist()
    return found


def by_trying(claim: str, texts: list[str]) -> list[int]:
    """The same by trying every stretch of the claim in every line."""
    lines = [line for text in texts for line in text.split("/")]
    found = [0] * len(claim)
    for start in range(len(claim)):
        for end in range(start + 1, len(claim) + 1):
            if any(claim[start:end] in line for line in lines):
                for i in range(start, end):
                    found[i] = max(found[i], end - start)
    return found


def test_a_run_is_as_long_as_what_stands_there_word_for_word() -> None:
    assert runs("abcxbc", "zabcz") == [3, 3, 3, 0, 2, 2]


def test_of_several_runs_the_longest_counts() -> None:
    assert runs("abc", "abz", "zbcz", "abcd") == [3, 3, 3]


def test_a_run_ends_where_a_line_does() -> None:
    assert runs("abcd", "ab/cd") == [2, 2, 2, 2]
    assert runs("abcd", "zab/cdz", "bc") == [2, 2, 2, 2]


def test_a_run_ends_where_a_passage_does() -> None:
    assert runs("abcd", "ab", "cd") == [2, 2, 2, 2]


def test_what_stands_nowhere_has_no_run() -> None:
    assert runs("xyz", "abc") == [0, 0, 0]
    assert runs("abc") == [0, 0, 0]
    assert runs("abc", "") == [0, 0, 0]
    assert runs("", "abc") == []


@settings(max_examples=300)
@given(
    claim=st.text("abc", max_size=12),
    texts=st.lists(st.text("abc/", max_size=14), max_size=4),
)
def test_runs_are_those_found_by_trying(claim: str, texts: list[str]) -> None:
    assert runs(claim, *texts) == by_trying(claim, texts)


# The four codes of a real claim.


class Coder:
    """Codes of a claim against sources, each one passage."""

    def __init__(self, pieces: WordPieces) -> None:
        self.pieces = pieces

    def passages(self, *sources: str, title: str | None = None) -> list[Passage]:
        cut = [cut_source(Source(text=text, title=title), self.pieces) for text in sources]
        return [passage for source in cut for passage in source.passages]

    def __call__(
        self, claim: str, *sources: str, question: str = "", title: str | None = None
    ) -> NDArray[np.int64]:
        """Codes, counted from 0 in each column."""
        found = self.pieces.encode(claim)
        codes = match_features(
            found.ids,
            found.offsets,
            claim,
            passages=self.passages(*sources, title=title),
            question_ids=np.unique(self.pieces.encode(question).ids),
            unknown_id=100,
        )
        assert codes.shape == (len(found), 4)
        return np.asarray(codes - np.array(NEUTRAL))


@pytest.fixture(scope="module")
def codes(pieces: WordPieces) -> Coder:
    return Coder(pieces)


def test_runs_end_at_the_ends_of_sentences_of_a_source(codes: Coder) -> None:
    claim = "the red tower the blue bridge"
    together = codes(claim, "We saw the red tower the blue bridge.")
    apart = codes(claim, "We saw the red tower. The blue bridge fell.")
    assert together[:, 0].tolist() == [6] * 6
    assert apart[:, 0].tolist() == [3] * 6


def test_a_run_does_not_begin_in_the_breadcrumb(codes: Coder) -> None:
    assert codes("castle tower opened", "Tower opened.", title="Castle")[:, 0].tolist() == [0, 2, 2]


def test_long_runs_share_one_code(codes: Coder) -> None:
    claim = "one two three four five six seven eight nine ten " * 3
    assert codes(claim, claim)[:, 0].tolist() == [CODES - 1] * 30


def test_membership_adds_up_passage_question_and_breadcrumb(codes: Coder) -> None:
    found = codes(
        "horse tower opened castle when",
        "The tower opened.",
        question="When was the tower painted?",
        title="Castle tower",
    )
    assert found[:, 1].tolist() == [0, 1 + 2 + 4, 1, 4, 2]


def test_kinds_are_word_digit_capital_and_sign(codes: Coder) -> None:
    assert codes("tower Paris 1889 .", "x")[:, 2].tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("claim", "source", "match"),
    [
        ("330 metres", "It is 330 m tall.", Match.EQUAL),
        ("1,234", "1234 people came.", Match.EQUAL),
        ("500 metres", "It is 330 m tall.", Match.ABSENT),
        ("330 kg", "It is 330 m tall.", Match.UNIT_DIFFERS),
        ("4:30 PM", "Doors open at 16:30.", Match.TIME_EQUAL),
        ("4:30 PM", "Doors open at 17:30.", Match.TIME_ABSENT),
        ("5 March 1990", "On March 5, 1990 it closed.", Match.DATE_EQUAL),
    ],
)
def test_a_quantity_is_compared_by_what_it_means(
    codes: Coder, claim: str, source: str, match: Match
) -> None:
    found = codes(f"it was {claim} .", source)[:, 3].tolist()
    assert set(found[2:-1]) == {int(match)}
    assert found[0] == found[1] == found[-1] == int(Match.NONE)


def test_quantities_of_all_passages_count(codes: Coder) -> None:
    found = codes("it cost 29 euros in 2019 .", "The price was 29 euros.", "That was in 2019.")
    assert int(Match.ABSENT) not in found[:, 3]
    assert set(found[:, 3]) > {int(Match.NONE)}


def test_without_passages_there_is_nothing_to_match(codes: Coder) -> None:
    found = codes("Paris is big")
    assert found[:, 0].tolist() == found[:, 1].tolist() == [0, 0, 0]


@settings(max_examples=60)
@given(claim=st.text(max_size=60), source=st.text(max_size=60), question=st.text(max_size=20))
def test_every_code_has_its_row_in_the_table(
    codes: Coder, claim: str, source: str, question: str
) -> None:
    found = codes(claim, source, claim[:20], question=question)
    assert ((found >= 0) & (found < CODES)).all()
    assert max(NEUTRAL) + CODES == TABLE_ROWS - 1


@settings(max_examples=60)
@given(st.text(max_size=60))
def test_the_features_of_a_text_do_not_depend_on_the_order_of_passages(
    codes: Coder, claim: str
) -> None:
    sources = ["The tower is 330 m tall.", claim[:30], "Doors open at nine."]
    assert (codes(claim, *sources) == codes(claim, *reversed(sources))).all()
