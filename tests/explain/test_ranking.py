"""Ranking of replacements by the cross-encoder's states: what is read, and what goes wrong."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.engine.models import BASE_PACKAGE, READER_BASE, find_model, find_reader
from groundwire.errors import CorruptModelError, ModelError
from groundwire.explain.ranking import RANKING_FILE, Ranker, compared, shipped_ranker

pytest.importorskip(BASE_PACKAGE, reason="pip install ./models/reader-base")
pytestmark = pytest.mark.merge


def held(claim: str, span: str, *lines: str) -> Held:
    start = claim.index(span)
    return Held(ComparedText(claim), start, start + len(span), tuple(map(ComparedText, lines)))


def test_each_word_has_a_state_and_rows_of_zeros_are_between_texts() -> None:
    states = shipped_ranker().states(held("It is tall.", "tall", "It is low.", "—", "Yes."), "")
    assert [bool(row.any()) for row in states.claim] == [False, True, True, True, False]
    found = [bool(row.any()) for row in states.lines]
    assert found == [False, True, True, True, False, False, True, False]


def test_a_question_changes_the_states() -> None:
    ranker, span = shipped_ranker(), held("It is tall.", "tall", "It is low.")
    one, other = ranker.states(span, ""), ranker.states(span, "How tall is the new tower?")
    assert one.claim.shape == other.claim.shape
    assert not np.allclose(one.claim, other.claim)


def test_of_long_texts_the_first_word_pieces_are_read() -> None:
    claim, line = "red " * 200, "blue " * 200
    states = shipped_ranker().states(held(claim.strip(), "red", line, line), "")
    assert np.flatnonzero(states.claim.any(1)).max() == 120
    n_read = int(states.lines.any(1).sum())
    assert n_read == 310
    assert not states.lines[-1].any()


def test_the_best_replacement_comes_first() -> None:
    span = held("It opened in 1950.", "1950", "The bridge is 42 km long.", "It opened in 1889.")
    ranked = shipped_ranker().ranked(span, "")
    assert (ranked[0][0].old, ranked[0][0].text) == ("1950", "1889")
    scores = [score for _, score in ranked]
    assert scores == sorted(scores, reverse=True)


def test_without_evidence_nothing_is_ranked() -> None:
    assert shipped_ranker().ranked(held("It is tall.", "tall"), "") == []


def test_words_are_compared_with_their_neighbours() -> None:
    ours, theirs = compared(np.array([[7, 8, 2, 3]]))
    assert ours.T.tolist() == [[2, 3, 1, 4]]
    assert theirs.T.tolist() == [[7, 8, 6, 9]]


def test_a_reader_without_weights_for_repairs_says_what_to_install() -> None:
    with pytest.raises(ModelError, match=r"pip install \./models/reader-base"):
        Ranker.load(find_model().folder)


def test_damaged_weights_are_told(tmp_path: Path) -> None:
    base = find_reader(READER_BASE)
    assert base is not None
    folder = tmp_path / "own"
    shutil.copytree(base.folder, folder)
    (folder / RANKING_FILE).write_bytes(b"version https://git-lfs.github.com/spec/v1")
    with pytest.raises(CorruptModelError, match=RANKING_FILE):
        Ranker.load(folder)
