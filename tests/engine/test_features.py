"""Match features: what programs compare exactly and small encoders do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from groundwire.detection.example import Source
from groundwire.detection.passages import Passage, cut_source
from groundwire.engine.features import (
    CODES,
    N_FEATURES,
    NEUTRAL,
    TABLE_ROWS,
    line_support,
    longest_runs,
    match_features,
)
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.quantities import Match

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


# The codes of a real claim.


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
            idf=np.ones(40_000, np.float32),
            unknown_id=100,
        )
        assert codes.shape == (len(found), N_FEATURES)
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


def support(code: int) -> tuple[int, int]:
    """What the best line with the piece holds of its neighbours, and how far it is behind."""
    return divmod(code - 1, 4)


def test_a_name_is_told_from_one_that_stands_in_another_line(codes: Coder) -> None:
    source = "Bob Meyer founded Acme Tools in Oslo. Alice lives in Rome."
    right = codes("Bob founded Acme Tools in Oslo", source)[:, 4].tolist()
    wrong = codes("Alice founded Acme Tools in Oslo", source)[:, 4].tolist()
    assert support(right[0]) == (4, 0)
    level, behind = support(wrong[0])
    assert level < 4
    assert behind == 3
    assert wrong[1:] == right[1:]  # what stands there stands there, whoever did it


def test_lines_are_weighed_across_passages(codes: Coder) -> None:
    found = codes("Bob founded Acme Tools in Oslo", "Bob lives here.", "Acme Tools began in Oslo.")
    assert support(found[0, 4])[1] == 3
    assert support(found[2, 4])[1] == 0


def test_what_stands_in_no_line_says_how_well_its_neighbours_are_known(codes: Coder) -> None:
    known = codes("Carol founded Acme Tools in Oslo", "Bob founded Acme Tools in Oslo.")[0, 4]
    unknown = codes("Carol sailed past icebergs", "Bob founded Acme Tools in Oslo.")[0, 4]
    assert (known, unknown) == (23, 21)


def test_the_same_piece_again_is_no_neighbour(codes: Coder) -> None:
    assert codes("Oslo Oslo Oslo", "Oslo.")[:, 4].tolist() == [0, 0, 0]


def test_rare_neighbours_weigh_more(pieces: WordPieces) -> None:
    ids = pieces.encode("Rome zebra the").ids
    passages = Coder(pieces).passages("Rome the. Zebra is.")
    flat = np.ones(40_000, np.float32)
    rare = np.where(np.arange(40_000) == ids[1], 9, 1).astype(np.float32)
    assert line_support(ids, passages, flat)[0] == 1 + 4 * 3
    assert line_support(ids, passages, rare)[0] == 1 + 4 * 0 + 3


def by_counting(ids: Ids, lines: list[set[int]]) -> list[int]:
    """Line support, piece by piece and line by line, all words weighing the same."""
    found = []
    for i, piece in enumerate(ids.tolist()):
        near = [
            other for j, other in enumerate(ids.tolist()) if abs(i - j) <= 12 and other != piece
        ]
        shares = [sum(other in line for other in near) / len(near) for line in lines if near]
        own = [share for share, line in zip(shares, lines, strict=False) if piece in line]
        if not shares:
            found.append(0)
        elif not own:
            found.append(21 + sum(round(max(shares), 4) >= level for level in (0.3, 0.55)))
        else:
            held = sum(round(max(own), 4) >= level for level in (0.15, 0.3, 0.45, 0.65))
            gap = round(max(shares) - max(own), 4)
            found.append(1 + 4 * held + sum(gap >= level for level in (0.02, 0.1, 0.25)))
    return found


@settings(max_examples=100)
@given(
    claim=st.lists(st.sampled_from(["red", "tower", "opened", "Bob", "in", "Oslo"]), max_size=20),
    lines=st.lists(
        st.lists(st.sampled_from(["red", "tower", "Bob", "Oslo"]), min_size=1, max_size=5),
        min_size=1,
        max_size=4,
    ),
)
def test_support_is_what_counting_finds(
    pieces: WordPieces, claim: list[str], lines: list[list[str]]
) -> None:
    ids = pieces.encode(" ".join(claim)).ids
    passages = Coder(pieces).passages("\n\n".join(" ".join(line) for line in lines))
    held = [
        set(passage.ids[a:b].tolist())
        for passage in passages
        for a, b in zip(
            passage.line_starts, [*passage.line_starts[1:], len(passage.ids)], strict=True
        )
    ]
    found = line_support(ids, passages, np.ones(40_000, np.float32))
    assert found.tolist() == by_counting(ids, held)


def test_fields_say_yes_no_or_nothing(codes: Coder) -> None:
    record = "{'OutdoorSeating': False, 'Delivery': True, 'Music': {'live': None, 'band': True}}"
    found = codes("it offers outdoor seating delivery live music band noise", record)[:, 5].tolist()
    assert found == [8, 8, 2, 2, 1, 4, 4 + 1, 1, 8]


def test_without_such_fields_nothing_is_said_about_fields(codes: Coder) -> None:
    assert set(codes("seating is free", "Seating is offered: ask. Noise: quiet.")[:, 5]) == {0}


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
