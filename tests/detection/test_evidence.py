"""Evidence: how sources become passages, and which of them a claim is read with."""

import random
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from groundwire.detection.evidence import (
    FIRST_FLOOR,
    SECOND_FLOOR,
    SELECTED_PIECES,
    SOURCE_FLOOR,
    Evidence,
    Query,
    WordWeights,
)
from groundwire.detection.example import Source, SourceLike, read_sources
from groundwire.detection.passages import BREADCRUMB_PIECES, PASSAGE_PIECES, Passage, cut_source
from groundwire.detection.values import Reason
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.lines import lines_of
from tests.tiers import costly

NOUNS = ["tower", "bridge", "museum", "river", "harbour", "station", "garden", "library"]
VERBS = ["opened", "closed", "moved", "burned", "grew", "shrank", "reopened", "collapsed"]


def sentence(rng: random.Random, n_words: int = 12) -> str:
    """A sentence of about so many words; hardly any two are equal."""
    words = [rng.choice(NOUNS) if i % 3 else rng.choice(VERBS) for i in range(n_words)]
    return f"The {' '.join(words)} in {rng.randrange(1000, 2999)}."


def prose(seed: int, n_sentences: int, n_words: int = 12) -> str:
    rng = random.Random(seed)
    return " ".join(sentence(rng, n_words) for _ in range(n_sentences))


class Cutter:
    """Builds evidence with the reader's tables."""

    def __init__(self, pieces: WordPieces, words: WordWeights) -> None:
        self.pieces, self.words = pieces, words

    def __call__(self, *sources: SourceLike) -> Evidence:
        return Evidence.of(
            read_sources(sources), partial(cut_source, pieces=self.pieces), self.words
        )

    def query(self, text: str) -> Query:
        return Query.of(self.pieces.encode(text).ids)

    def read(self, passage: Passage) -> str:
        """What a passage says after its breadcrumb."""
        return " | ".join(line.reading for line in passage.lines)

    def crumb(self, passage: Passage) -> str:
        ids: list[int] = passage.ids[: passage.n_breadcrumb].tolist()
        return str(self.pieces._tokenizer.decode(ids))

    def best(self, evidence: Evidence, text: str) -> Passage:
        return evidence.passages[int(evidence.rank(self.query(text))[0])]


@pytest.fixture(scope="module")
def cut(pieces: WordPieces, words: WordWeights) -> Cutter:
    return Cutter(pieces, words)


def passages_in_order(evidence: Evidence) -> list[Passage]:
    """Of a single source, in reading order."""
    return sorted(
        evidence.passages, key=lambda p: (p.lines[0].start, p.lines[-1].end, p.line_starts[0])
    )


# Passages.


def test_a_short_source_is_one_passage(cut: Cutter) -> None:
    (passage,) = cut("The tower is 330 m tall. It stands in Paris.").passages
    assert cut.read(passage) == "The tower is 330 m tall. | It stands in Paris."
    assert [(line.start, line.end) for line in passage.lines] == [(0, 24), (25, 44)]
    assert (passage.n_breadcrumb, passage.n_own_chars) == (0, 43)


def test_a_title_and_the_headings_lead_each_passage_and_are_no_part_of_its_offsets(
    cut: Cutter,
) -> None:
    text = "# Setup\n\n## Windows\n\nRun the installer twice."
    evidence = cut({"text": text, "title": "Handbook"})
    passage = cut.best(evidence, "Run the installer twice.")
    assert cut.crumb(passage) == "handbook > setup > windows"
    line = passage.lines[-1]
    assert text[line.start : line.end] == "Run the installer twice."
    assert passage.lines[0].first == passage.n_breadcrumb


def test_fields_of_data_carry_their_path(cut: Cutter) -> None:
    (passage,) = cut({"hotel": {"name": "Astra", "rooms": 12}}).passages
    assert cut.read(passage) == "hotel name: Astra | hotel rooms: 12"


def test_rows_of_a_table_carry_its_header(cut: Cutter) -> None:
    evidence = cut("| Name | Price |\n| --- | --- |\n| Foo | $49 |\n| Bar | $7 |")
    assert "Name: Foo; Price: $49" in cut.read(cut.best(evidence, "Foo costs $49."))


def test_passages_of_a_list_never_share_one(cut: Cutter) -> None:
    evidence = cut("passage 1: The tower is tall.\npassage 2: The bridge is long.")
    assert sorted(cut.read(p) for p in evidence.passages) == [
        "passage 1: The tower is tall.",
        "passage 2: The bridge is long.",
    ]


def test_neighbouring_passages_share_one_sentence(cut: Cutter) -> None:
    passages = passages_in_order(cut(prose(1, 60)))
    assert len(passages) > 3
    for before, after in pairwise(passages):
        assert before.lines[-1].reading == after.lines[0].reading
        assert before.lines[-1].start == after.lines[0].start
        assert before.lines[-2].start < after.lines[0].start


def test_no_overlap_crosses_a_heading(cut: Cutter) -> None:
    passages = passages_in_order(cut("# A\n\nThe tower opened.\n\n# B\n\nThe bridge closed."))
    assert [cut.read(p) for p in passages] == ["A | The tower opened.", "B | The bridge closed."]


def test_a_line_longer_than_a_passage_goes_into_several_and_nothing_of_it_is_lost(
    cut: Cutter,
) -> None:
    text = "codes " + " ".join(f"q{i}x" for i in range(190)) + "."  # one sentence, 572 pieces
    (line,) = lines_of(text[:599])
    evidence = cut(text[:599])
    whole = cut.pieces.encode(line.reading).ids
    assert len(whole) > PASSAGE_PIECES
    assert len(evidence.passages) == -(-len(whole) // PASSAGE_PIECES)
    by_length = sorted(evidence.passages, key=lambda p: len(p.ids), reverse=True)
    held = np.concatenate([p.ids for p in by_length])
    assert sorted(held.tolist()) == sorted(whole.tolist())
    assert (evidence.offered_chars, evidence.indexed_chars) == (599, 599)
    assert sum(p.n_own_chars for p in evidence.passages) == 599


def test_a_long_title_is_cut_and_leaves_room_for_the_text(cut: Cutter) -> None:
    evidence = cut({"text": prose(2, 40), "title": "About " + "zq " * 300})
    assert {p.n_breadcrumb for p in evidence.passages} == {BREADCRUMB_PIECES}
    assert max(len(p.ids) for p in evidence.passages) <= PASSAGE_PIECES


SENTENCES = st.lists(
    st.sampled_from(
        [
            "The tower is 330 m tall.",
            "It stands in Paris, France.",
            "# History",
            "## Later",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            '{"name": "Astra", "rooms": [1, 2]}',
            "passage 1: Doors open at nine.",
            "passage 2: Doors close at six.",
            "Straße, café, 北京 and 😀.",
            "北京是中国的首都。",
            "x" * 300,
            prose(3, 9),
            "codes " + "q9x " * 150,
        ]
    ),
    max_size=12,
)
SOURCES = st.lists(st.builds("\n\n".join, SENTENCES), max_size=4)


@costly(0.6)
@given(texts=SOURCES, title=st.sampled_from([None, "Guide", "An " + "endless title " * 20]))
def test_passages_hold_every_readable_line_and_nothing_is_too_long(
    cut: Cutter, texts: list[str], title: str | None
) -> None:
    sources = [Source(text=text, id=f"d{i}", title=title) for i, text in enumerate(texts)]
    evidence = cut(*sources)
    held, said = set(), set()
    for passage, origin in zip(evidence.passages, evidence.origins, strict=True):
        assert 0 < len(passage.ids) <= PASSAGE_PIECES
        assert passage.n_breadcrumb <= BREADCRUMB_PIECES
        starts = passage.line_starts.tolist()
        assert starts == sorted(starts)
        assert starts[0] == passage.n_breadcrumb
        for line in passage.lines:
            assert 0 <= line.start < line.end <= len(origin.text)
            held.add((origin.text, line.start, line.end))
            said.add(line.reading)
    for text in set(texts):
        for found in lines_of(text):
            if "是" not in found.reading:
                assert (text, found.start, found.end) in held or found.reading in said
    assert sum(p.n_own_chars for p in evidence.passages) <= evidence.indexed_chars
    assert evidence.indexed_chars <= evidence.offered_chars


# What depends on nothing else.


def fingerprint(evidence: Evidence, queries: Sequence[Query]) -> list[object]:
    """All that a claim can see of the evidence, bit for bit."""
    said: list[object] = [
        (p.key, p.ids.tobytes(), tuple(line.reading for line in p.lines)) for p in evidence.passages
    ]
    for query in queries:
        order = evidence.rank(query).tolist()
        selection = evidence.select(query)
        references = evidence.references(query, range(len(evidence.passages)), most=5)
        said += [order, selection.first, selection.second, references]
    return said


@costly(0.4)
@given(texts=st.lists(st.builds("\n\n".join, SENTENCES), min_size=1, max_size=6), data=st.data())
def test_order_and_repetition_of_sources_say_nothing(
    cut: Cutter, texts: list[str], data: st.DataObject
) -> None:
    ids = data.draw(st.permutations("abcdef"))
    sources = [Source(text=text, id=id_) for text, id_ in zip(texts, ids, strict=False)]
    mixed = data.draw(st.permutations(sources + data.draw(st.lists(st.sampled_from(sources)))))
    queries = [cut.query("The tower in Paris is 330 m tall."), cut.query("Doors open at six.")]
    first, second = cut(*sources), cut(*mixed)
    assert fingerprint(first, queries) == fingerprint(second, queries)
    assert first.offered_chars == second.offered_chars
    assert first.indexed_chars == second.indexed_chars
    assert first.reasons == second.reasons


def test_passages_that_only_their_capitals_tell_apart_are_two(cut: Cutter) -> None:
    # The pieces are the same, what is quoted and counted is not: 5 M is a number, 5 m a length.
    one, other = "The tower is 5 M tall.", "the tower is 5 m tall."
    forth, back = cut(one, other), cut(other, one)
    assert len(forth.passages) == 2
    assert [p.key for p in forth.passages] == [p.key for p in back.passages]


def test_of_repeated_sources_the_first_is_named(cut: Cutter) -> None:
    texts = [f"Hall {i} holds {7 * i} boxes." for i in range(12)]
    evidence = cut(*texts, *texts)
    for i in range(12):
        query = cut.query(f"Hall {i} holds {7 * i} boxes.")
        (reference,) = evidence.references(query, evidence.rank(query)[:1].tolist(), most=1)
        assert reference.source_id == f"S{i}"


@costly(0.2)
@given(seed=st.integers(0, 10_000), n_others=st.integers(1, 40))
def test_other_sources_do_not_change_which_of_two_passages_ranks_higher(
    cut: Cutter, seed: int, n_others: int
) -> None:
    mine = [prose(seed + i, 5) for i in range(6)]
    others = [prose(10_000 + seed + i, 5) for i in range(n_others)]
    query = cut.query(sentence(random.Random(seed)))
    alone, among = cut(*mine), cut(*mine, *others)
    order = [alone.passages[i].key for i in alone.rank(query)]
    known = set(order)
    assert [k for i in among.rank(query) if (k := among.passages[i].key) in known] == order


# Ranking, selection, the second look.


def test_the_passage_that_says_it_ranks_first(cut: Cutter) -> None:
    fact = "The observatory on Mount Teide photographed comet Halley in 1986."
    evidence = cut(*(prose(i, 8) for i in range(200)), fact)
    best = cut.best(evidence, "Comet Halley was photographed from Mount Teide.")
    assert cut.read(best) == fact


def test_the_question_helps_where_the_claim_says_it(cut: Cutter) -> None:
    fact = "The observatory on Mount Teide stands at 2390 metres."
    evidence = cut(*(prose(i, 8) for i in range(50)), fact)
    question = cut.pieces.encode("How high is the observatory on Mount Teide?").ids
    claim = cut.pieces.encode("It is at a height of 2,390 m.").ids
    order = evidence.rank(Query.of(claim, question=question))
    assert cut.read(evidence.passages[order[0]]) == fact


def n_read(evidence: Evidence, chosen: Sequence[int]) -> int:
    return sum(evidence.passages[i].n_read for i in chosen)


@costly(0.2)
@given(seed=st.integers(0, 10_000), n_sources=st.integers(1, 12))
def test_a_selection_keeps_to_its_budget(cut: Cutter, seed: int, n_sources: int) -> None:
    evidence = cut(*(prose(seed + i, 12) for i in range(n_sources)))
    query = cut.query(sentence(random.Random(seed)))
    order = evidence.rank(query).tolist()
    scores = evidence.ranked(query)[1]
    assume(scores[-1] >= max(FIRST_FLOOR, SECOND_FLOOR, SOURCE_FLOOR) * scores[0])
    chosen = evidence.select(query)
    assert list(chosen.first) == sorted(chosen.first)
    assert set(chosen.first) == set(order[: len(chosen.first)])
    assert n_read(evidence, chosen.first) <= SELECTED_PIECES
    if len(chosen.first) == len(order):
        assert chosen.second == ()
    else:
        following = order[len(chosen.first)]
        assert n_read(evidence, [*chosen.first, following]) > SELECTED_PIECES
        assert following in chosen.second
        assert order[0] in chosen.second
        assert n_read(evidence, chosen.second) <= SELECTED_PIECES
        assert set(chosen.first) & set(chosen.second) == {order[0]}


FACT = "The harbour tower was built by Maria Olsen in 1887."


def test_text_that_is_beside_the_point_is_not_read_and_moves_nothing(cut: Cutter) -> None:
    beside = ["Recipes for soup need salt, onions and patience.", "A cat sleeps most of the day."]
    query = cut.query("Maria Olsen built the harbour tower.")
    alone, among = cut(FACT), cut(*beside, FACT, *beside)
    chosen = [among.passages[i].key for i in among.select(query).first]
    assert chosen == [alone.passages[i].key for i in alone.select(query).first]
    assert among.select(query).second == ()


def test_what_says_something_about_the_claim_is_read_beside_the_best(cut: Cutter) -> None:
    evidence = cut(FACT, "Maria Olsen also built a bridge near the harbour.")
    assert len(evidence.select(cut.query("Maria Olsen built the harbour tower.")).first) == 2


def test_a_source_needs_more_than_a_passage_of_a_source_that_is_read(cut: Cutter) -> None:
    lesser = "Maria Olsen sold it to a harbour master."
    query = cut.query("Maria Olsen built the harbour tower.")
    filler = prose(7, 40)
    one, two = cut(f"{FACT}\n\n{filler}\n\n{lesser}"), cut(FACT, lesser)
    assert any(lesser in cut.read(one.passages[i]) for i in one.select(query).first)
    assert {cut.read(two.passages[i]) for i in two.select(query).first} == {FACT}
    best, other = two.ranked(query)[1]
    assert FIRST_FLOOR < other / best < SOURCE_FLOOR


def test_a_second_look_takes_more_than_a_first(cut: Cutter) -> None:
    facts = [f"{FACT} Its bell number {i} rings at noon." for i in range(90)]
    weak = [f"The harbour number {i} freezes in winter." for i in range(90)]
    query = cut.query("Maria Olsen built the harbour tower.")
    second = cut(*facts).select(query).second
    assert second
    mixed = cut(*facts[:60], *weak)
    texts = {cut.read(mixed.passages[i]) for i in mixed.select(query).second}
    assert texts.isdisjoint(weak)


def test_at_least_one_passage_is_read_whatever_the_budget(cut: Cutter) -> None:
    evidence = cut(prose(5, 30))
    chosen = evidence.select(cut.query("The tower opened."), budget=10)
    assert len(chosen.first) == 1
    assert len(chosen.second) == 2


def test_a_selection_is_as_large_among_hundreds_of_passages_as_among_ten(cut: Cutter) -> None:
    query = cut.query("The tower reopened in 2019.")
    sizes = []
    for n in (10, 300):
        evidence = cut(*(prose(i, 16) for i in range(n)))
        sizes.append(n_read(evidence, evidence.select(query).first))
    assert SELECTED_PIECES - 256 < sizes[1] <= SELECTED_PIECES
    assert SELECTED_PIECES - 256 < sizes[0] <= SELECTED_PIECES


def test_a_query_without_words_still_ranks_everything_once(cut: Cutter) -> None:
    evidence = cut(prose(1, 30), prose(2, 30))
    order = evidence.rank(Query.of(np.empty(0, np.int32)))
    assert sorted(order.tolist()) == list(range(len(evidence.passages)))


def test_no_sources_give_no_passages_and_an_empty_selection(cut: Cutter) -> None:
    evidence = cut()
    chosen = evidence.select(cut.query("Anything."))
    assert (evidence.passages, chosen.first, chosen.second) == ((), (), ())
    assert evidence.references(cut.query("Anything."), ()) == ()


# References.


@costly(0.4)
@given(texts=SOURCES, claim=st.sampled_from(["Paris 330 m 北京", "rooms: 12 name", "Doors at six"]))
def test_references_quote_the_source_exactly(cut: Cutter, texts: list[str], claim: str) -> None:
    sources = [Source(text=text, id=f"d{i}") for i, text in enumerate(texts)]
    evidence = cut(*sources)
    by_id = {source.id: source for source in sources}
    found = evidence.references(cut.query(claim), range(len(evidence.passages)), most=9)
    assert len(set(found)) == len(found)
    for reference in found:
        assert by_id[reference.source_id].text[reference.start : reference.end] == reference.text


def test_the_best_reference_is_the_line_that_shares_most(cut: Cutter) -> None:
    evidence = cut("The tower is 330 m tall. It stands in Paris. Tickets cost 29 euros.")
    first, *rest = evidence.references(cut.query("Tickets for the tower cost 35 euros."), [0])
    assert first.text == "Tickets cost 29 euros."
    assert [reference.text for reference in rest] == ["The tower is 330 m tall."]


def test_a_line_that_shares_no_word_is_no_reference(cut: Cutter) -> None:
    assert cut("Zebras graze.").references(cut.query("Tickets cost 29"), [0]) == ()


def test_a_line_that_shares_only_a_full_stop_follows_no_better_one(cut: Cutter) -> None:
    evidence = cut("HR-07 Expenses. Receipts are due within 60 days.")
    found = evidence.references(cut.query("Receipts are due within 90 days."), [0])
    assert [reference.text for reference in found] == ["Receipts are due within 60 days."]


# What cannot be read.


def test_lines_in_another_script_are_left_out_and_counted(cut: Cutter) -> None:
    evidence = cut(
        "The tower is tall.\n\n北京是中国的首都。", "Москва стоит на реке.", "It is red."
    )
    assert sorted(cut.read(p) for p in evidence.passages) == ["It is red.", "The tower is tall."]
    assert evidence.offered_chars == 18 + 9 + 21 + 10
    assert evidence.indexed_chars == 18 + 10
    assert evidence.reasons == {Reason.LANGUAGE: 2}


def test_equal_sources_are_offered_once(cut: Cutter) -> None:
    evidence = cut("The tower is tall.", "The tower is tall.", "北京。", "北京。")
    assert evidence.offered_chars == 18 + 3
    assert evidence.reasons == {Reason.LANGUAGE: 1}


@pytest.mark.parametrize("text", ["", " \n", "...", "😀 !!", "\0"])
def test_a_source_without_words_offers_nothing(cut: Cutter, text: str) -> None:
    evidence = cut(text)
    assert (evidence.passages, evidence.offered_chars) == ((), 0)


# The index, against arithmetic.


def test_scores_are_those_of_bm25_over_the_best_the_query_allows(
    cut: Cutter, words: WordWeights
) -> None:
    evidence = cut("tower tower bridge", "bridge", "river museum")
    ids: NDArray[np.int32] = np.unique(cut.pieces.encode("tower bridge garden").ids)
    got = evidence._index.scores(ids, np.ones(3, np.float32))
    for place, passage in enumerate(evidence.passages):
        damping = 1.2 * (1 - 0.4 + 0.4 * len(passage.ids) / 200)
        expected = sum(
            float(words.idf[i]) * (n * 2.2 / (n + damping))
            for i in ids
            if (n := int((passage.ids == i).sum()))
        )
        assert got[place] == pytest.approx(expected / words.idf[ids].astype(float).sum())
