"""DVARA's grounding guardrail: its documented rules, and its own tests of the detector."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from groundwire.compat.dvara import GROUNDED, GroundingDetector, GroundingResult
from groundwire.detection.values import Detection, DetectorInfo, Outcome, Reason, Score
from groundwire.errors import DetectionError, SettingError
from tests.fakes import FIXED, FixedDetector

TOWER = "The Eiffel Tower stands in Paris and is 330 metres tall."
INVENTED = "Nobody knows where the old captain lived."


@dataclass
class Recorder:
    """A detector that remembers which sources reached it."""

    fails: bool = False
    info: DetectorInfo = FIXED
    seen: list[Sequence[str]] = field(default_factory=list)

    def detect(self, *, sources: Sequence[str], answer: str) -> Detection:
        self.seen.append(sources)
        if self.fails:
            raise DetectionError("It holds the answer: " + answer)
        return FixedDetector(unsupported=["WRONG"]).detect(sources=sources, answer=answer)


@pytest.fixture(scope="module")
def grounding() -> GroundingDetector:
    return GroundingDetector.load()


def check(grounding: GroundingDetector, answer: str, *sources: str) -> GroundingResult:
    result = grounding.detect(answer, list(sources))
    assert result is not None
    return result


# The algorithm.


def test_an_answer_taken_from_a_source_is_grounded(grounding: GroundingDetector) -> None:
    result = check(grounding, TOWER, "Bread is made of flour.", TOWER)
    assert result.grounded
    assert result.ungrounded_claims == ()
    assert result.overall_similarity == 1
    assert result.confidence == pytest.approx(0.3 / 0.7)  # |1 - 0.7| / max(0.7, 0.3)


def test_a_sentence_like_no_source_is_ungrounded(grounding: GroundingDetector) -> None:
    result = check(grounding, f"{TOWER} {INVENTED}", TOWER)
    assert not result.grounded
    assert result.ungrounded_claims == (INVENTED,)


def test_overall_similarity_is_the_mean_of_each_claims_best_source(
    grounding: GroundingDetector,
) -> None:
    result = check(grounding, f"{TOWER} {INVENTED}", TOWER, "Bread is made of flour.")
    assert result.detection is not None
    (one, other) = (claim.similarity for claim in result.detection.claims)
    assert one == 1
    assert other is not None
    assert result.overall_similarity == pytest.approx((1 + other) / 2)


def test_sentences_of_fewer_than_five_words_are_dropped(grounding: GroundingDetector) -> None:
    assert check(grounding, f"{TOWER} Nobody lives there anymore.", TOWER).grounded
    assert not check(grounding, f"{TOWER} Nobody lives there any more.", TOWER).grounded


def test_if_nothing_remains_the_answer_is_grounded(grounding: GroundingDetector) -> None:
    result = check(grounding, "Yes. It is tall.", TOWER)
    assert (result.grounded, result.confidence) == (True, 1.0)
    assert (result.ungrounded_claims, result.overall_similarity) == ((), 1.0)
    assert result.detection is not None
    assert result.detection.outcome is Outcome.PARTIAL


def test_grounded_is_true_1_no_claims_1() -> None:
    assert (GROUNDED.grounded, GROUNDED.confidence) == (True, 1.0)
    assert (GROUNDED.ungrounded_claims, GROUNDED.overall_similarity) == ((), 1.0)


def test_the_threshold_is_strict_and_0_7_by_default(grounding: GroundingDetector) -> None:
    assert grounding.detector.info.threshold == 0.7
    assert grounding.detector.info.score is Score.SIMILARITY
    answer = "The Eiffel Tower stands in Paris, in France."
    exact = check(grounding, answer, TOWER).overall_similarity
    at = GroundingDetector.load(similarity_threshold=exact)
    above = GroundingDetector.load(similarity_threshold=exact + 1e-6)
    assert check(at, answer, TOWER).grounded
    assert not check(above, answer, TOWER).grounded


def test_the_embedding_is_deterministic(grounding: GroundingDetector) -> None:
    answer = f"{TOWER} {INVENTED}"
    assert check(grounding, answer, TOWER) == check(GroundingDetector.load(), answer, TOWER)


@pytest.mark.parametrize("threshold", [0, -0.1, 1.1])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(SettingError, match="similarity_threshold"):
        GroundingDetector.load(similarity_threshold=threshold)


# Which sources reach the detector.


@pytest.mark.parametrize("sources", [None, [], "a text", {"a": "b"}, [1, None, {"text": "x"}]])
def test_without_sources_the_detector_is_not_called(sources: object) -> None:
    recorder = Recorder()
    assert GroundingDetector(recorder).detect(TOWER, sources) is None
    assert recorder.seen == []


def test_a_message_without_text_does_not_call_the_detector() -> None:
    recorder = Recorder()
    assert GroundingDetector(recorder).detect(" ", [TOWER]) is None
    assert recorder.seen == []


def test_of_four_sources_two_reach_the_detector_if_two_are_allowed() -> None:
    recorder = Recorder()
    result = GroundingDetector(recorder, max_sources=2).detect(TOWER, ["a", "b", "c", "d"])
    assert recorder.seen == [("a", "b")]
    assert result is not None
    assert result.detection is not None
    assert result.detection.coverage.reasons[Reason.DROPPED_OVER_CAP] == 2


def test_a_source_over_the_length_does_not_reach_the_detector() -> None:
    recorder = Recorder()
    long = "a text of more than ten characters"
    result = GroundingDetector(recorder, max_source_length=10).detect(TOWER, ["short", long])
    assert recorder.seen == [("short",)]
    assert result is not None
    assert result.grounded
    assert result.detection is not None
    assert result.detection.outcome is Outcome.PARTIAL
    assert result.detection.coverage.reasons[Reason.DROPPED_LONG] == 1


def test_length_is_looked_at_before_the_number_and_what_is_no_text_before_both() -> None:
    recorder = Recorder()
    grounding = GroundingDetector(recorder, max_sources=2, max_source_length=5)
    grounding.detect(TOWER, [7, "too long", "a", None, "b", "c"])
    assert recorder.seen == [("a", "b")]


def test_all_sources_over_the_limits_are_no_sources() -> None:
    recorder = Recorder()
    assert GroundingDetector(recorder, max_source_length=3).detect(TOWER, ["long one"]) is None
    assert recorder.seen == []


def test_the_default_limits_are_50_sources_of_10000_characters() -> None:
    recorder = Recorder()
    GroundingDetector(recorder).detect(TOWER, ["x" * 10_000] * 60 + ["x" * 10_001])
    assert len(recorder.seen[0]) == 50


# When the check fails.


def test_a_check_that_fails_lets_the_answer_pass_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        result = GroundingDetector(Recorder(fails=True)).detect("A secret. " + TOWER, [TOWER])
    assert result == GROUNDED
    assert result.detection is None
    assert "was not checked, the answer passes: DetectionError" in caplog.text
    assert "secret" not in caplog.text


# With a detector of probabilities.


def test_with_a_reader_confidence_is_the_probability_of_what_was_found() -> None:
    result = GroundingDetector(Recorder()).detect("It is WRONG.", [TOWER])
    assert result is not None
    assert (result.grounded, result.confidence) == (False, 0.97)
    assert result.overall_similarity == pytest.approx(0.03)  # mean P(supported)


def test_with_a_reader_that_finds_nothing_confidence_is_what_is_left_of_doubt() -> None:
    result = GroundingDetector(Recorder()).detect("It is right.", [TOWER])
    assert result is not None
    assert (result.grounded, result.confidence) == (True, 0.98)
    assert result.overall_similarity == pytest.approx(0.98)
