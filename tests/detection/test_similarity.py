"""The rule of DVARA's grounding guardrail: claims, their nearest source, a strict threshold."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from groundwire.detection.similarity import (
    MIN_WORDS,
    THRESHOLD,
    confidence,
    is_compared,
    is_ungrounded,
    nearest,
    overall,
)

similarities = st.lists(st.floats(-1, 1), max_size=6)
thresholds = st.floats(0.01, 1)
vectors = st.lists(
    st.lists(st.integers(-9, 9), min_size=4, max_size=4).filter(any), min_size=1, max_size=5
)


def units(rows: list[list[int]]) -> NDArray[np.float32]:
    found = np.array(rows, np.float64)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


# Which sentences are claims.


def test_the_documented_numbers_are_five_words_and_a_threshold_of_0_7() -> None:
    assert (MIN_WORDS, THRESHOLD) == (5, 0.7)


@pytest.mark.parametrize(
    ("sentence", "counts"),
    [
        ("one two three four five", True),
        ("one two three four", False),
        ("Yes.", False),
        ("a\tb\nc  d e", True),
        ("well-known words-with-hyphens are-one word", False),
        ("", False),
    ],
)
def test_words_are_what_stands_between_white_space(sentence: str, counts: bool) -> None:
    assert is_compared(sentence) is counts


# Similarity of a claim.


def test_the_nearest_source_counts() -> None:
    claim = units([[1, 0, 0, 0]])[0]
    assert nearest(claim, units([[0, 1, 0, 0], [3, 4, 0, 0], [1, 1, 1, 1]])) == (0.6, 1)


def test_of_equally_near_sources_the_first_is_named() -> None:
    claim = units([[1, 0, 0, 0]])[0]
    assert nearest(claim, units([[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])) == (1.0, 1)


def test_a_text_that_says_nothing_is_like_none() -> None:
    assert nearest(np.zeros(4, np.float32), units([[1, 0, 0, 0]])) == (0.0, 0)


def test_what_is_no_number_is_not_taken_for_one() -> None:
    sources = units([[1, 0, 0, 0], [0, 1, 0, 0]])
    sources[1] = np.nan
    similarity, _ = nearest(units([[1, 0, 0, 0]])[0], sources)
    assert np.isnan(similarity)


@given(vectors, vectors)
def test_a_similarity_is_between_minus_one_and_one(
    claims: list[list[int]], sources: list[list[int]]
) -> None:
    for claim in units(claims):
        assert -1 <= nearest(claim, units(sources))[0] <= 1


@given(vectors, vectors, st.randoms(use_true_random=False))
def test_order_and_repetition_of_sources_change_nothing(
    claims: list[list[int]], sources: list[list[int]], random: Random
) -> None:
    shuffled = [*sources, *sources[:2]]
    random.shuffle(shuffled)
    for claim in units(claims):
        assert nearest(claim, units(shuffled))[0] == nearest(claim, units(sources))[0]


@given(vectors, vectors, vectors)
def test_another_source_never_lowers_a_similarity(
    claims: list[list[int]], sources: list[list[int]], more: list[list[int]]
) -> None:
    for claim in units(claims):
        before, after = nearest(claim, units(sources))[0], nearest(claim, units(sources + more))[0]
        assert after >= before


# The threshold.


def test_a_claim_at_the_threshold_is_grounded() -> None:
    assert not is_ungrounded(0.7, 0.7)
    assert is_ungrounded(0.699999, 0.7)


@given(st.floats(-1, 1), thresholds, thresholds)
def test_a_higher_threshold_never_grounds_more(similarity: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert is_ungrounded(similarity, low) <= is_ungrounded(similarity, high)


# What is said of the answer.


def test_overall_similarity_is_the_mean_of_the_maxima() -> None:
    assert overall([0.9, 0.5, 0.1]) == pytest.approx(0.5)


def test_nothing_to_compare_is_sure_and_similar() -> None:
    assert overall([]) == 1
    assert confidence([], 0.7) == 1


def test_confidence_is_the_mean_distance_from_the_threshold() -> None:
    # |0.9 - 0.7| = 0.2 and |0.35 - 0.7| = 0.35, over max(0.7, 0.3).
    assert confidence([0.9, 0.35], 0.7) == pytest.approx((0.2 / 0.7 + 0.35 / 0.7) / 2)


def test_confidence_is_clipped() -> None:
    assert confidence([-1.0], 0.7) == 1


@given(similarities, thresholds)
def test_confidence_is_a_share(values: list[float], threshold: float) -> None:
    assert 0 <= confidence(values, threshold) <= 1
