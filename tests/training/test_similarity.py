"""Thresholds of the similarity detector are chosen as the reader's are, and told honestly."""

import numpy as np
import pytest

pytest.importorskip("torch")

from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.sets import LabelledContext
from groundwire_training.similarity import (
    Compared,
    choose,
    compare,
    cross_fitted,
    open_comparer,
    table,
)

pytestmark = pytest.mark.torch

TOWER = "The Eiffel Tower stands in Paris and is 330 metres tall."
INVENTED = "Nobody knows where the old captain lived."


def answer(n: int, *similarities: float, is_wrong: bool) -> Compared:
    return Compared(
        context=str(n),
        task="QA",
        answer=MarkedAnswer("x" * 100, ((0, 10, 1),) if is_wrong else ()),
        similarities=np.array(similarities),
        ranges=tuple((10 * i, 10 * i + 10) for i in range(len(similarities))),
    )


def told_apart() -> list[Compared]:
    wrong = [answer(n, 0.31, 0.9, is_wrong=True) for n in range(20)]
    return [*wrong, *(answer(n + 100, 0.62, 0.9, is_wrong=False) for n in range(20))]


def test_answers_are_compared_as_the_detector_does(record: LabelledContext) -> None:
    (found,) = compare(open_comparer("similarity:hash", 1), [record])
    # The others have fewer than five words.
    assert [record.answers[0].text[a:b] for a, b in found.ranges] == [
        "The tower is 330 metres tall.",
        "It opened in 1989, in May.",
    ]
    assert found.lowest == found.similarities.min()
    assert found.is_hallucinated


def test_an_answer_without_claims_is_like_its_sources() -> None:
    assert answer(0, is_wrong=True).lowest == 1


def test_characters_are_those_of_claims_below_the_threshold() -> None:
    assert answer(0, 0.3, 0.9, is_wrong=True).characters(0.5) == (10, 10, 10)
    assert answer(0, 0.5, 0.5, is_wrong=True).characters(0.5) == (0, 0, 10)


def test_thresholds_lie_between_what_can_be_told_apart() -> None:
    points = choose(told_apart())
    assert list(points) == ["precision", "balanced", "recall"]
    assert all(0.31 < point <= 0.62 for point in points.values())
    assert points["precision"] <= points["balanced"] <= points["recall"]


def test_a_precision_that_finds_nothing_is_left_out() -> None:
    mixed = [answer(n, 0.01 * (n % 50), is_wrong=n < 50) for n in range(100)]
    assert list(choose(mixed)) == ["balanced", "recall"]


def test_each_answer_is_judged_by_the_others() -> None:
    compared = told_apart()
    thresholds = cross_fitted(compared, "balanced")
    assert len(thresholds) == len(compared)
    (*_, line) = table(compared, thresholds).splitlines()
    assert line.split()[:3] == ["all", "40", "50.0%"]
    assert "100.0 (- to -)" in line
