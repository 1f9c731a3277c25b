"""Sentences of the sources as answers."""

import random

import pytest

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.quoted import quoted
from groundwire_training.sets import LabelledContext

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SOURCE = "Opening hours\n\nThe pool opens at 6:30. Is it heated? It holds 240 swimmers. Yes."


def drawn(*sources: str) -> set[MarkedAnswer | None]:
    record = LabelledContext("1", "QA", read_sources(sources), None, ())
    return {quoted(record, random.Random(seed)) for seed in range(60)}


def test_a_whole_sentence_is_supported_as_it_stands() -> None:
    faithful = {answer.text for answer in drawn(SOURCE) if answer and not answer.spans}
    assert faithful == {"The pool opens at 6:30.", "It holds 240 swimmers."}


def test_a_mistake_that_is_put_in_is_marked() -> None:
    wrong = [answer for answer in drawn(SOURCE) if answer and answer.spans]
    assert wrong
    for answer in wrong:
        assert answer.text not in SOURCE
        assert all(answer.text[start:end] not in SOURCE for start, end, _ in answer.spans)


def test_data_headings_and_fragments_make_no_answer() -> None:
    assert drawn('{"name": "The pool opens at six."}') == {None}
    assert drawn("Opening hours", "and so it ended.", "Why is it so?") == {None}
