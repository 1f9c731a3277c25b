"""One claim with a few lines alone."""

import random

import pytest

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.alone import alone
from groundwire_training.sets import LabelledContext, draw

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

ANNOTATED = (
    "The pool opens at {{6:30||7:15||conflict}}. "
    "It holds {{240 swimmers||240 swimmers in two halls||baseless}}."
)
SOURCE = (
    "Opening hours\n\nThe pool opens at 6:30. Dogs stay outside. It holds 240 swimmers at once."
)
STRANGER = LabelledContext(
    "2", "slots", (), None, (MarkedAnswer("Nine bakers sell their bread here.", ()),)
)


def drawn(annotated: str = ANNOTATED, source: str = SOURCE) -> list[LabelledContext]:
    record = LabelledContext("1", "slots", read_sources([source]), "When?", (), annotated)
    found = []
    for seed in range(60):
        rng = random.Random(seed)
        found.append(alone(draw(record, 4, rng, one_slot_share=0.5), rng, [STRANGER]))
    return [record for record in found if record is not None]


def test_every_answer_is_the_same_sentence_with_its_own_spans() -> None:
    records = drawn()
    first = {answer.text for record in records for answer in record.answers}
    assert first == {
        "The pool opens at 6:30.",
        "The pool opens at 7:15.",
        "It holds 240 swimmers.",
        "It holds 240 swimmers in two halls.",
        "Nine bakers sell their bread here.",
    }
    marked = {
        answer.text[start:end]
        for record in records
        for answer in record.answers
        for start, end, _ in answer.spans
    }
    assert marked == {"7:15", "240 swimmers in two halls", "Nine bakers sell their bread here."}


def test_lines_hold_what_the_faithful_sentence_needs() -> None:
    for record in drawn():
        lines = [source.text for source in record.sources]
        needed = "opens" if "opens" in record.answers[0].text else "holds"
        assert any(needed in line for line in lines)
        assert all(line in SOURCE for line in lines)
        assert record.question is None
        assert not record.answers[0].spans


def test_evidence_in_many_places_makes_no_claim() -> None:
    words = ["abbot", "baker", "clerk", "draper", "enamel", "farmer", "glover", "hatter"]
    listed = f"The town had an {', a '.join(words)}."
    lines = " ".join(f"There was one {word} in it." for word in words)
    assert drawn(listed, lines) == []


def test_a_sentence_on_the_same_is_no_stranger() -> None:
    record = draw(
        LabelledContext("1", "slots", read_sources([SOURCE]), None, (), ANNOTATED),
        4,
        random.Random(0),
    )
    same = LabelledContext(
        "2", "slots", (), None, (MarkedAnswer("The pool holds many swimmers.", ()),)
    )
    found = alone(record, random.Random(0), [same])
    assert found is not None
    assert same.answers[0].text not in {answer.text for answer in found.answers}
