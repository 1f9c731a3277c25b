from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.detection.closest_lines import closest_lines
from groundwire.detection.evidence import Evidence, Query, WordWeights
from groundwire.detection.example import read_sources
from groundwire.detection.passages import cut_source
from groundwire.engine.tokenizer import WordPieces

TOWER = "The tower stands in Paris. It is 330 metres tall. It was built by Eiffel from 1887 on."
BRIDGE = "The bridge stands in Porto. It is 395 metres long."


@pytest.fixture(scope="session")
def words(model_folder: Path) -> WordWeights:
    return WordWeights.load(model_folder)


def chosen(
    claim: str,
    sources: Sequence[str],
    pieces: WordPieces,
    words: WordWeights,
    *,
    budget: int = 100,
) -> list[list[str]]:
    evidence = Evidence.of(read_sources(list(sources)), partial(cut_source, pieces=pieces), words)
    query = Query.of(pieces.encode(claim).ids)
    everything = range(len(evidence.passages))
    excerpts = closest_lines(evidence, query, everything, budget=budget)
    texts = {
        tuple(pieces.encode(line.reading).ids.tolist()): line.reading
        for passage in evidence.passages
        for line in passage.lines
    }
    return [[texts[tuple(line.tolist())] for line in excerpt.lines] for excerpt in excerpts]


def test_the_line_with_most_in_common_is_read_where_there_is_room_for_one(
    pieces: WordPieces, words: WordWeights
) -> None:
    found = chosen("It is 300 metres tall.", [TOWER, BRIDGE], pieces, words, budget=9)
    assert found == [["It is 330 metres tall."]]


def test_a_claim_of_two_facts_gets_a_line_for_each(pieces: WordPieces, words: WordWeights) -> None:
    claim = "Built by Eiffel, the tower is 330 metres tall."
    (found,) = chosen(claim, [TOWER], pieces, words, budget=22)
    assert found == ["It is 330 metres tall.", "It was built by Eiffel from 1887 on."]


def test_a_line_that_stands_twice_is_read_once(pieces: WordPieces, words: WordWeights) -> None:
    found = chosen("The tower stands in Paris.", [f"{TOWER} {TOWER}"], pieces, words)
    assert [line for excerpt in found for line in excerpt].count("The tower stands in Paris.") == 1


def test_a_line_that_adds_nothing_is_not_read(pieces: WordPieces, words: WordWeights) -> None:
    source = f"{TOWER} Bring warm clothes in January."
    (found,) = chosen("The tower stands in Paris.", [source], pieces, words)
    assert "The tower stands in Paris." in found
    assert "Bring warm clothes in January." not in found


def test_lines_stand_in_reading_order(pieces: WordPieces, words: WordWeights) -> None:
    (found,) = chosen("Eiffel built it 330 metres tall in Paris.", [TOWER], pieces, words)
    assert " ".join(found) == TOWER


def test_a_line_longer_than_the_budget_is_cut(pieces: WordPieces, words: WordWeights) -> None:
    evidence = Evidence.of(read_sources([TOWER]), partial(cut_source, pieces=pieces), words)
    query = Query.of(pieces.encode("Paris").ids)
    (excerpt,) = closest_lines(evidence, query, [0], budget=3)
    assert len(excerpt.ids) == 3


def test_without_lines_nothing_is_chosen(pieces: WordPieces, words: WordWeights) -> None:
    assert chosen("It is tall.", [], pieces, words) == []


@given(order=st.permutations([TOWER, BRIDGE, "It rains.", "The tower is old."]))
def test_the_order_of_the_sources_has_no_influence(
    order: list[str], pieces: WordPieces, words: WordWeights
) -> None:
    claim = "The tower in Paris is 330 metres tall."
    assert chosen(claim, order, pieces, words) == chosen(claim, sorted(order), pieces, words)


@given(budget=st.integers(8, 60))
def test_no_more_pieces_are_read_than_the_budget(
    budget: int, pieces: WordPieces, words: WordWeights
) -> None:
    evidence = Evidence.of(read_sources([TOWER, BRIDGE]), partial(cut_source, pieces=pieces), words)
    query = Query.of(pieces.encode("The tower and the bridge were built in Paris.").ids)
    excerpts = closest_lines(evidence, query, range(len(evidence.passages)), budget=budget)
    assert sum(len(excerpt.ids) for excerpt in excerpts) <= budget
    assert all(np.all(excerpt.ids >= 0) for excerpt in excerpts)
