"""From labelled answers to tensors."""

import numpy as np
import pytest

pytest.importorskip("torch")

from groundwire.detection.evidence import Query, WordWeights
from groundwire.engine.features import N_FEATURES, NEUTRAL, TABLE_ROWS
from groundwire.engine.tokenizer import WordPieces
from groundwire_training import data
from groundwire_training.data import labels_of
from groundwire_training.sets import LabelledContext

pytestmark = pytest.mark.torch

# Labels.


def test_a_word_piece_has_the_label_of_the_span_it_shares_a_character_with() -> None:
    offsets = np.array([[0, 2], [3, 6], [6, 9], [10, 12], [12, 12]], np.int32)
    assert labels_of(offsets, [(4, 7, 1)]) == [0, 1, 1, 0, 0]


def test_where_spans_overlap_the_graver_label_counts() -> None:
    offsets = np.array([[0, 4], [4, 8]], np.int32)
    assert labels_of(offsets, [(0, 8, 1), (2, 4, 2)]) == [2, 1]


def test_touching_is_not_sharing() -> None:
    assert labels_of(np.array([[0, 4]], np.int32), [(4, 8, 1)]) == [0]


# Sentences and groups.


def test_sentences_are_cut_labelled_and_matched_as_the_detector_does(
    record: LabelledContext, pieces: WordPieces, words: WordWeights
) -> None:
    evidence = data.evidence_of(record, pieces, words)
    sentences = data.sentences_of(record, evidence, pieces)
    text = record.answers[0].text
    said = [text[s.offsets[0, 0] : s.offsets[-1, 1]] for s in sentences]
    assert said == [
        "The tower is 330 metres tall.",
        "It opened in 1989, in May.",
        "Doors open at ten.",
        "It is a bridge.",
        "It is so.",
    ]
    marked = [
        (text[a:b], label)
        for sentence in sentences
        for (a, b), label in zip(sentence.offsets.tolist(), sentence.labels, strict=True)
        if label
    ]
    assert marked == [("1989", 2), ("in", 1), ("May", 1)]
    before = np.empty(0, np.int32)
    for sentence in sentences:
        asked = pieces.encode(record.question or "").ids
        query = Query.of(sentence.ids, question=asked, before=before)
        assert sentence.reads == evidence.select(query).first
        before = sentence.ids
    assert all(s.features.shape == (len(s.ids), N_FEATURES) for s in sentences)


def test_a_group_holds_every_piece_in_its_place(
    record: LabelledContext, pieces: WordPieces, words: WordWeights
) -> None:
    two = LabelledContext("1", "QA", record.sources, record.question, record.answers * 2)
    evidence = data.evidence_of(two, pieces, words)
    sentences = data.sentences_of(two, evidence, pieces)
    question = pieces.encode(two.question or "").ids
    group = data.group_of(sentences, evidence.passages, question, pieces)
    at = 0
    for i, sentence in enumerate(sentences):
        n = len(sentence.ids)
        if i and sentence.answer != sentences[i - 1].answer:
            start, end = group.extents[sentence.answer].tolist()
            assert set(group.sentence[at:start].tolist()) <= {-1}
            assert start % 32 == end % 32 == 0
            at = start
        assert group.ids[at : at + n + 2].tolist() == [
            pieces.cls_id,
            *sentence.ids.tolist(),
            pieces.sep_id,
        ]
        assert group.places[at : at + n + 2].tolist() == list(range(n + 2))
        assert group.labels[at : at + n + 2].tolist() == [-100, *sentence.labels, -100]
        assert group.features[at].tolist() == list(NEUTRAL)
        assert set(group.sentence[at : at + n + 2].tolist()) == {i}
        assert group.sentence_labels[i] == max(sentence.labels)
        at += n + 2
    assert set(group.sentence[at:].tolist()) <= {-1}
    assert set(group.features[at:].flatten().tolist()) <= {TABLE_ROWS - 1}
    assert len(group.ids) % 32 == 0
    # Three sentences before, of the same answer only.
    recalled = [[j for j, known in enumerate(row) if known] for row in group.recalls.tolist()]
    assert recalled[:5] == [[], [0], [0, 1], [0, 1, 2], [1, 2, 3]]
    assert recalled[5:] == [[], [5], [5, 6], [5, 6, 7], [6, 7, 8]]
    assert group.passage_mask.sum().item() == sum(p.n_read for p in evidence.passages)
    asked = [pieces.cls_id, *question.tolist(), pieces.sep_id]
    assert group.question[0, : group.question_length].tolist() == asked
    assert group.question.shape[1] % 32 == 0
