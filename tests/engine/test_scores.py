"""What a detector's scores say about an answer as a whole."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.scores import AnswerCalibration, SentenceCalibration

shares = st.floats(0, 1)
scales, offsets = st.floats(0, 1e6), st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("scale", "offset", "highest", "expected"),
    [
        (1, 0, 0.3, 0.3),
        (1, math.log(3), 0.5, 0.75),  # odds of 1 become 3
        (2, 0, 0.75, 0.9),  # odds of 3 become 9
        (0.5, -math.log(2), 0.8, 0.5),  # odds of 4 become 2, and then 1
        (0, math.log(4), 0.1, 0.8),  # whatever the answer, the odds are 4
    ],
)
def test_odds_are_raised_to_the_scale_and_multiplied(
    scale: float, offset: float, highest: float, expected: float
) -> None:
    assert AnswerCalibration(scale, offset).probability(highest) == pytest.approx(expected)


@given(scales, offsets, shares, shares)
def test_a_more_doubtful_answer_never_gets_less(
    scale: float, offset: float, one: float, other: float
) -> None:
    calibration = AnswerCalibration(scale, offset)
    low, high = sorted([one, other])
    assert 0 <= calibration.probability(low) <= calibration.probability(high) <= 1


@pytest.mark.parametrize("scale", [1, 60, 1e6])
def test_the_surest_scores_have_a_probability_however_steep_the_map(scale: float) -> None:
    calibration = AnswerCalibration(scale, 0)
    assert calibration.probability(0) == pytest.approx(0, abs=2e-6)
    assert calibration.probability(1) == pytest.approx(1, abs=2e-6)


def test_what_float32_rounds_to_one_is_no_surer_than_its_last_digit() -> None:
    calibration = AnswerCalibration(1, 0)
    assert calibration.probability(1) == calibration.probability(1 - 1e-7) == 1 - 1e-6


# Claims as a whole.


def entailment(*odds: float, **numbers: float) -> tuple[float, float, float]:
    calibration = SentenceCalibration(**numbers)
    found = calibration.entailment(np.log(np.array(odds, np.float32)))
    return found.entailment, found.neutral, found.contradiction


def test_three_logits_become_three_probabilities() -> None:
    assert entailment(2, 1, 1) == (0.5, 0.25, 0.25)


def test_a_scale_flattens_all_three_and_an_offset_moves_one() -> None:
    assert entailment(16, 1, 1, scale=0.25) == (0.5, 0.25, 0.25)
    assert entailment(1, 1, 1, unsupported=math.log(2)) == (0.25, 0.5, 0.25)
    assert entailment(1, 1, 1, contradicted=math.log(2)) == (0.25, 0.25, 0.5)


def test_a_map_that_changes_nothing_says_that_it_is_none() -> None:
    logits = np.zeros(3, np.float32)
    assert not SentenceCalibration().entailment(logits).is_calibrated
    assert SentenceCalibration(scale=0.9).entailment(logits).is_calibrated


@pytest.mark.filterwarnings("error")
def test_the_surest_logits_do_not_overflow() -> None:
    most = np.float32(3e38)
    found = SentenceCalibration().entailment(np.array([-most, most, 0], np.float32))
    assert (found.entailment, found.neutral, found.contradiction) == (0, 1, 0)
