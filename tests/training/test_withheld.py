"""Evidence taken away."""

import random

import pytest

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.slots import DOUBTFUL, MarkedAnswer
from groundwire_training.sets import LabelledContext
from groundwire_training.withheld import withheld

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LEFT = "Visitors reach the harbour lighthouse by a narrow wooden bridge."
GONE = "Engineers from Bergen restored its copper lantern during 1954."
RESTS_ON_GONE = "Bergen engineers restored the copper lantern during the fifties."
RESTS_ON_LEFT = "A narrow wooden bridge brings visitors to the harbour lighthouse."


def record(*answers: MarkedAnswer, source: str = f"{LEFT} {GONE}") -> LabelledContext:
    return LabelledContext("1", "QA", read_sources([source]), None, answers)


def test_a_sentence_that_lost_its_evidence_is_doubted_and_the_rest_stays() -> None:
    answer = MarkedAnswer(f"{RESTS_ON_LEFT} {RESTS_ON_GONE}", ())
    start = len(RESTS_ON_LEFT) + 1
    found = set()
    for seed in range(10):
        made = withheld(record(answer), random.Random(seed))
        assert made is not None
        (source,) = made.sources
        found.add((source.text.strip(), made.answers[0].doubts))
    assert found == {
        (LEFT, ((start, start + len(RESTS_ON_GONE), 1),)),
        (GONE, ((0, len(RESTS_ON_LEFT), 1),)),
    }


def test_other_answers_are_judged_by_what_is_left() -> None:
    both = "The bridge to the harbour lighthouse is wooden, and Bergen engineers restored lanterns."
    made = withheld(
        record(MarkedAnswer(RESTS_ON_GONE, ()), MarkedAnswer(both, ())), random.Random(1)
    )
    assert made is not None
    first, other = made.answers
    assert [label for *_, label in first.doubts] == [1]
    assert [label for *_, label in other.doubts] in ([], [DOUBTFUL])


def test_what_is_marked_stays_marked_and_its_other_words_are_not_judged() -> None:
    wrong = MarkedAnswer(RESTS_ON_GONE.replace("Bergen", "Oslo"), ((0, 4, 2),))
    made = withheld(record(MarkedAnswer(RESTS_ON_GONE, ()), wrong), random.Random(0))
    assert made is not None
    assert made.answers[1].spans == wrong.spans
    assert [label for *_, label in made.answers[1].doubts] == [DOUBTFUL]


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ('{"lantern": "copper", "restored": "engineers, Bergen, 1954"}', RESTS_ON_GONE),
        (GONE, RESTS_ON_GONE),
        (f"{LEFT} {GONE}", "Nobody knows anything about mountain railways in Switzerland."),
        (f"{LEFT} {GONE} {GONE} {GONE} {GONE} {GONE}", RESTS_ON_GONE),
        (f"{LEFT} {GONE}", "It is copper."),
    ],
    ids=["data", "nothing left", "no evidence", "said all over", "too short to tell"],
)
def test_where_it_cannot_be_sure_it_leaves_a_record_as_it_is(source: str, answer: str) -> None:
    assert withheld(record(MarkedAnswer(answer, ()), source=source), random.Random(0)) is None
