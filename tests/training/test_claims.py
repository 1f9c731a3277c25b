"""Claims that were judged as a whole."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from groundwire.detection.evidence import WordWeights
from groundwire.engine.tokenizer import WordPieces
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training import data
from groundwire_training.claims import SETS, claims, judged
from groundwire_training.loop import loss_of
from groundwire_training.model import Group, Reader
from groundwire_training.recipe import Recipe
from groundwire_training.sets import LabelledContext

from .conftest import write

pytestmark = pytest.mark.torch


def test_a_supported_sentence_has_nothing_to_mark() -> None:
    assert judged([("It opened in 1889.", 0)]) == [MarkedAnswer("It opened in 1889.", ())]


def test_a_few_words_that_differ_from_a_supported_sentence_are_the_span() -> None:
    _, wrong = judged([("The tower opened in May 1889.", 0), ("The tower opened in June 1889.", 2)])
    assert wrong == MarkedAnswer("The tower opened in June 1889.", ((20, 24, 2),))


@pytest.mark.parametrize(
    "right",
    ["Few people liked the tower at first.", "A tower closed in June 1889."],
    ids=["other words", "two places"],
)
def test_elsewhere_the_sentence_has_the_label_and_no_word_has(right: str) -> None:
    _, wrong = judged([(right, 0), ("The tower opened in June 1889.", 1)])
    assert wrong == MarkedAnswer("The tower opened in June 1889.", (), ((0, 30, 1),))


def test_claims_are_grouped_by_premise_and_other_parts_are_left_out(tmp_path: Path) -> None:
    row = {"context": "The tower opened.", "split": "train"}
    rows = [
        {**row, "id": "1", "answer": "It opened.", "label": "entailment"},
        {**row, "id": "2", "answer": "Nobody ever came.", "label": "neutral"},
        {**row, "id": "3", "answer": "It is open.", "label": "entailment", "split": "test"},
        {**row, "id": "4", "answer": "A lake.", "label": "contradiction", "context": "A bridge."},
    ]
    for name in SETS:
        write(tmp_path / f"{name}.jsonl.gz", rows if name == "nli/infotabs" else [])
    first, second = claims(tmp_path)
    assert (first.id, first.task, first.question) == ("1", "claims-infotabs", None)
    assert first.answers == (
        MarkedAnswer("It opened.", ()),
        MarkedAnswer("Nobody ever came.", (), ((0, 17, 1),)),
    )
    assert second.answers == (MarkedAnswer("A lake.", (), ((0, 7, 2),)),)


def group_of(record: LabelledContext, pieces: WordPieces, words: WordWeights) -> Group:
    evidence = data.evidence_of(record, pieces, words)
    sentences = data.sentences_of(record, evidence, pieces)
    asked = pieces.encode(record.question or "").ids
    return data.group_of(sentences, evidence.passages, asked, pieces)


def test_a_claim_judged_as_a_whole_teaches_its_sentence_and_its_worst_piece(
    record: LabelledContext, pieces: WordPieces, words: WordWeights
) -> None:
    right, wrong = (
        MarkedAnswer("It is open.", ()),
        MarkedAnswer("It is a bridge.", (), ((0, 15, 2),)),
    )
    group = group_of(replace(record, answers=(right, wrong)), pieces, words)
    assert group.sentence_labels.tolist() == [0, 2]
    real = group.labels != data.IGNORED
    assert set(group.labels[real & (group.sentence == 0)].tolist()) == {0}
    assert set(group.labels[real & (group.sentence == 1)].tolist()) == {data.UNKNOWN}

    alone = group_of(replace(record, answers=(wrong,)), pieces, words)
    torch.manual_seed(0)
    model = Reader()
    loss = loss_of(model, alone, replace(Recipe(), sentence_weight=0.0, worst_weight=1.0))
    loss.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(loss)
    assert model.head.bias.grad is not None
    # To be less sure of "supported" is the way down.
    assert model.head.bias.grad[0] > 0 > model.head.bias.grad[2]


def test_of_several_sentences_nobody_said_which_is_wrong(
    record: LabelledContext, pieces: WordPieces, words: WordWeights
) -> None:
    wrong = MarkedAnswer("It is a bridge. It is open.", (), ((0, 27, 1),))
    group = group_of(replace(record, answers=(wrong,)), pieces, words)
    assert group.sentence_labels.tolist() == [data.IGNORED] * 2
    assert float(loss_of(Reader(), group, Recipe()).detach()) == 0.0
