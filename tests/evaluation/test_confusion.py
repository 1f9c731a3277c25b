"""What a detector made of labelled answers."""

import pytest

from groundwire import Detector
from groundwire.evaluation.metrics import Overlap
from tests.evaluation.labelled import labelled
from tests.evaluation.results import compared, unchecked
from tests.fakes import FixedDetector
from tests.fixed_judge import FixedJudge


def test_a_verdict_is_held_against_what_people_marked() -> None:
    detector = FixedDetector(unsupported=["big city"])
    (judged,) = compared(detector, [labelled("Paris is a big city.", "a big")])
    assert judged.is_hallucinated
    assert judged.is_flagged
    assert judged.probability == 0.97
    assert judged.characters == judged.pairs == Overlap(both=3, predicted=8, gold=5)
    assert judged.is_complete
    assert not judged.error


def test_a_check_that_fails_is_a_row_that_says_so() -> None:
    detector = FixedDetector(fails_on="bad", unsupported=["wrong"])
    failed, found = compared(detector, [labelled("A bad one.", "bad"), labelled("It is wrong.")])
    assert failed.error == "DetectionError: The detector failed on 'bad'."
    assert (failed.is_flagged, failed.probability, failed.is_complete) == (False, 0, False)
    assert failed.characters == Overlap(both=0, predicted=0, gold=3)
    assert found.is_flagged


def test_an_answer_of_which_nothing_was_judged_has_no_verdict() -> None:
    with Detector(FixedJudge(doubtful={}, cannot_read="Unlesbar")) as detector:
        none, some, bare = compared(
            detector,
            [
                labelled("Unlesbar ist das."),
                labelled("It is good. Unlesbar ist das."),
                unchecked("It is good."),
            ],
        )
    assert [row.is_unchecked for row in (none, some, bare)] == [True, False, True]
    assert [row.has_verdict for row in (none, some, bare)] == [False, True, False]


def test_a_check_that_failed_is_not_told_twice() -> None:
    (failed,) = compared(FixedDetector(fails_on="bad"), [labelled("A bad one.")])
    assert (failed.has_verdict, failed.is_unchecked) == (False, False)


def test_the_highest_probability_of_a_claim_is_that_of_the_answer() -> None:
    with Detector(FixedJudge(doubtful={"odd": 0.4, "wrong": 0.8})) as detector:
        below, above = compared(
            detector,
            [labelled("It is good. It is odd."), labelled("It is wrong. It is odd.")],
        )
    assert below.probability == pytest.approx(0.4)
    assert not below.is_flagged
    assert above.probability == pytest.approx(0.8)
    assert above.is_flagged


def test_of_a_detector_that_compares_the_least_similar_claim_counts() -> None:
    with Detector.load("similarity:hash", threads=1) as detector:
        (judged,) = compared(
            detector,
            [labelled("Paris is a big old city. Nobody knows where the old captain lived. Yes.")],
        )
        verdict = detector.detect(
            sources=labelled("x").example.sources,
            answer="Nobody knows where the old captain lived.",
        )
    assert verdict.similarity is not None
    assert judged.probability == pytest.approx(1 - verdict.similarity)
    assert judged.is_flagged
    assert not judged.is_complete  # "Yes." is not compared


def test_of_the_claims_that_nobody_marked_those_that_pass_are_counted() -> None:
    with Detector(FixedJudge(doubtful={"odd": 0.9}, cannot_read="Unlesbar")) as detector:
        answer = labelled("It is odd. It is good. It is wrong. Unlesbar ist das.", "wrong")
        (judged,) = compared(detector, [answer])
    # What was not judged has not passed.
    assert (judged.n_clean_claims, judged.n_clean_passed) == (3, 1)


def test_what_was_not_read_is_not_complete() -> None:
    with Detector(FixedJudge(doubtful={}, cannot_read="Unlesbar")) as detector:
        (judged,) = compared(detector, [labelled("It is good. Unlesbar ist das.")])
    assert not judged.is_complete
    assert not judged.error


def test_an_answer_that_shares_no_word_with_its_sources_was_read_and_has_a_verdict() -> None:
    with Detector(FixedJudge(doubtful={})) as detector:
        (judged,) = compared(detector, [labelled("Trains arrive hourly.")])
    assert judged.has_verdict
    assert not judged.is_flagged
    assert not judged.is_complete
