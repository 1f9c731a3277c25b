"""From labelled answers to tensors."""

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from groundwire.engine.features import NEUTRAL, TABLE_ROWS
from groundwire.engine.tokenizer import WordPieces
from groundwire.evidence import WordWeights
from groundwire.example import read_sources
from groundwire.training import data, sets
from groundwire.training.data import labels_of
from groundwire.training.sets import Marked, Record, draw, render_slots

pytestmark = pytest.mark.torch

SLOTS = "It opened in {{1889||1989||conflict}} in {{Paris|| Lyon ||extra}}."


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


# Slot-annotated answers.


def test_a_faithful_answer_takes_the_first_text_of_each_slot() -> None:
    assert render_slots(SLOTS, frozenset()) == Marked("It opened in 1889 in Paris.", ())


def test_what_is_put_in_is_marked_without_outer_white_space() -> None:
    answer = render_slots(SLOTS, frozenset({1}))
    assert answer.text == "It opened in 1889 in  Lyon ."
    assert answer.spans == ((22, 26, 1),)
    assert answer.text[22:26] == "Lyon"


def test_a_conflict_is_contradicted_all_else_unsupported() -> None:
    answer = render_slots(SLOTS, frozenset({0, 1}))
    assert [(answer.text[s:e], label) for s, e, label in answer.spans] == [("1989", 2), ("Lyon", 1)]


def test_what_is_taken_away_leaves_nothing_to_mark() -> None:
    assert render_slots("It is {{not ||||omission}}red.", frozenset({0})) == Marked(
        "It is red.", ()
    )


def test_slots_are_counted() -> None:
    assert [sets.n_slots(text) for text in (SLOTS, "None.", "")] == [2, 0, 0]


def slot_record(slots: str) -> Record:
    return Record("1", "slots-x", (), None, (render_slots(slots, frozenset()),), slots)


def test_variants_are_drawn_anew_each_time_and_one_is_faithful() -> None:
    drawn = draw(slot_record(SLOTS), 5, random.Random(1))
    assert len(drawn.answers) == 5
    assert drawn.answers[0].spans == ()
    assert all(answer.spans for answer in drawn.answers[1:])
    assert draw(slot_record(SLOTS), 5, random.Random(1)) == drawn
    assert draw(slot_record(SLOTS), 5, random.Random(2)) != drawn


def test_without_slots_there_is_one_answer() -> None:
    assert len(draw(slot_record("Plain."), 5, random.Random(1)).answers) == 1


def test_of_many_answers_some_are_drawn() -> None:
    answers = tuple(Marked(f"Answer {i}.", ()) for i in range(6))
    record = Record("1", "QA", (), None, answers)
    drawn = draw(record, 4, random.Random(1)).answers
    assert len(set(drawn)) == 4
    assert set(drawn) <= set(answers)
    assert set(draw(record, 9, random.Random(1)).answers) == set(answers)


# Files.


def test_answers_to_one_context_are_one_record(tmp_path: Path) -> None:
    spans = [
        {"start": 3, "end": 7, "label": "Evident Conflict"},
        {"start": 9, "end": 10, "label": "Subtle Baseless Info"},
    ]
    row = {"context_id": "a", "task": "QA", "context": "The tower.", "question": "What?"}
    path = write(
        tmp_path / "train.jsonl.gz",
        [
            {**row, "answer": "It opened.", "spans": spans},
            {**row, "context_id": "b", "answer": "Other.", "spans": []},
            {**row, "answer": "It did.", "spans": []},
        ],
    )
    first, second = sets.ragtruth(path)
    assert (first.id, first.task, first.question) == ("a", "QA", "What?")
    assert first.sources == read_sources(["The tower."])
    assert first.answers == (
        Marked("It opened.", ((3, 7, 2), (9, 10, 1))),
        Marked("It did.", ()),
    )
    assert [answer.text for answer in second.answers] == ["Other."]


def test_slot_records_keep_their_slots(tmp_path: Path) -> None:
    row = {"id": "x", "domain": "law", "context": ["One.", "Two."], "question": None}
    (record,) = sets.slots(write(tmp_path / "train.jsonl.gz", [{**row, "answer": SLOTS}]))
    assert record.task == "slots-law"
    assert [source.text for source in record.sources] == ["One.", "Two."]
    assert record.slots == SLOTS
    assert record.answers == (Marked("It opened in 1889 in Paris.", ()),)


# Labels.


def test_a_word_piece_has_the_label_of_the_span_it_shares_a_character_with() -> None:
    offsets = np.array([[0, 2], [3, 6], [6, 9], [10, 12], [12, 12]], np.int32)
    assert labels_of(offsets, [(4, 7, 1)]) == [0, 1, 1, 0, 0]


def test_offsets_count_from_the_sentence_and_spans_from_the_answer() -> None:
    offsets = np.array([[0, 2], [3, 6]], np.int32)
    assert labels_of(offsets, [(23, 26, 2)], start=20) == [0, 2]


def test_where_spans_overlap_the_graver_label_counts() -> None:
    offsets = np.array([[0, 4], [4, 8]], np.int32)
    assert labels_of(offsets, [(0, 8, 1), (2, 4, 2)]) == [2, 1]


def test_touching_is_not_sharing() -> None:
    assert labels_of(np.array([[0, 4]], np.int32), [(4, 8, 1)]) == [0]


# Sentences and groups.


def test_sentences_are_cut_labelled_and_matched_as_the_detector_does(
    record: Record, pieces: WordPieces, words: WordWeights
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
    assert all(s.reads == tuple(range(len(evidence.passages))) for s in sentences)
    assert all(s.features.shape == (len(s.ids), 4) for s in sentences)


def test_a_group_holds_every_piece_in_its_place(
    record: Record, pieces: WordPieces, words: WordWeights
) -> None:
    two = Record("1", "QA", record.sources, record.question, record.answers * 2)
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
