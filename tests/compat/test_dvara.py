"""DVARA's terms for the results of checks: its documented rules."""

import pytest

from groundwire.compat.dvara import GroundingResult
from groundwire.detector import Detector
from tests.fakes import FixedDetector

TOWER = "The Eiffel Tower stands in Paris and is 330 metres tall."
INVENTED = "Nobody knows where the old captain lived."


@pytest.fixture(scope="module")
def similarity() -> Detector:
    """The detector that compares hashed words, as DVARA 1.0 does."""
    return Detector.load("similarity:hash", operating_point=0.7)


def check(detector: Detector | FixedDetector, answer: str, *sources: str) -> GroundingResult:
    return GroundingResult.of(detector.detect(sources=list(sources), answer=answer))


def test_an_answer_taken_from_a_source_is_grounded(similarity: Detector) -> None:
    result = check(similarity, TOWER, "Bread is made of flour.", TOWER)
    assert result.grounded
    assert result.ungrounded_claims == ()
    assert result.overall_similarity == 1
    assert result.confidence == pytest.approx(0.3 / 0.7)  # |1 - 0.7| / max(0.7, 0.3)


def test_a_sentence_like_no_source_is_ungrounded(similarity: Detector) -> None:
    result = check(similarity, f"{TOWER} {INVENTED}", TOWER)
    assert not result.grounded
    assert result.ungrounded_claims == (INVENTED,)


def test_overall_similarity_is_the_mean_of_each_claims_best_source(similarity: Detector) -> None:
    sources = [TOWER, "Bread is made of flour."]
    detection = similarity.detect(sources=sources, answer=f"{TOWER} {INVENTED}")
    (one, other) = (claim.similarity for claim in detection.claims)
    assert one == 1
    assert other is not None
    assert GroundingResult.of(detection).overall_similarity == pytest.approx((1 + other) / 2)


def test_sentences_of_fewer_than_five_words_are_dropped(similarity: Detector) -> None:
    assert check(similarity, f"{TOWER} Nobody lives there anymore.", TOWER).grounded
    assert not check(similarity, f"{TOWER} Nobody lives there any more.", TOWER).grounded


def test_if_nothing_remains_the_answer_is_grounded(similarity: Detector) -> None:
    result = check(similarity, "Yes. It is tall.", TOWER)
    assert (result.grounded, result.confidence) == (True, 1.0)
    assert (result.ungrounded_claims, result.overall_similarity) == ((), 1.0)


def test_the_threshold_is_strict(similarity: Detector) -> None:
    answer = "The Eiffel Tower stands in Paris, in France."
    exact = check(similarity, answer, TOWER).overall_similarity
    at = Detector.load("similarity:hash", operating_point=exact)
    above = Detector.load("similarity:hash", operating_point=exact + 1e-6)
    assert check(at, answer, TOWER).grounded
    assert not check(above, answer, TOWER).grounded


def test_the_embedding_is_deterministic(similarity: Detector) -> None:
    other, answer = Detector.load("similarity:hash", operating_point=0.7), f"{TOWER} {INVENTED}"
    assert check(similarity, answer, TOWER) == check(other, answer, TOWER)


def test_with_a_reader_confidence_is_the_probability_of_what_was_found() -> None:
    result = check(FixedDetector(unsupported=["WRONG"]), "It is WRONG.", TOWER)
    assert (result.grounded, result.confidence) == (False, 0.97)
    assert result.overall_similarity == pytest.approx(0.03)  # mean P(supported)


def test_with_a_reader_that_finds_nothing_confidence_is_what_is_left_of_doubt() -> None:
    result = check(FixedDetector(unsupported=["WRONG"]), "It is right.", TOWER)
    assert (result.grounded, result.confidence) == (True, 0.98)
    assert result.overall_similarity == pytest.approx(0.98)
