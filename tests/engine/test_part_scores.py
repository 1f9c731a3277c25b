import numpy as np
import pytest

from groundwire.engine.part_scores import Calibration, CrossWeights, PartScores, least_supported
from groundwire.engine.runtime import RawScores

SURE = np.array([[2.0, 0.0, 0.0]], np.float32)
UNSURE = np.array([[0.0, 1.0, 0.0]], np.float32)


def test_the_more_favourable_look_counts_for_each_piece_and_for_the_whole() -> None:
    logits = np.concatenate([UNSURE, SURE])
    first = PartScores(logits, np.array([0.0, 1.0, 0.0], np.float32), (0, 1))
    second = PartScores(logits[::-1], np.array([1.0, 0.0, 0.0], np.float32), (0, 2))
    for found in (first.piecewise_best(second), second.piecewise_best(first)):
        assert found.logits.tolist() == [*SURE.tolist(), *SURE.tolist()]
        assert found.sentence.tolist() == [1.0, 0.0, 0.0]
        assert set(found.chosen) == {0, 1, 2}


def test_logits_of_two_models_add_up_and_the_cross_encoder_judges_the_whole() -> None:
    look = PartScores(SURE, SURE[0], (3,))
    mixed = look.mixed_with(RawScores(UNSURE, UNSURE[0]), CrossWeights(pieces=2.0, claim=1.0))
    assert mixed.logits.tolist() == [[2.0, 3.0, 0.0]]
    assert mixed.sentence.tolist() == UNSURE[0].tolist()
    assert mixed.chosen == (3,)


def test_without_a_cross_encoder_a_look_stays_as_it_is() -> None:
    look = PartScores(SURE, SURE[0], (3,))
    assert look.mixed_with(None, CrossWeights()) is look


def test_of_a_claim_in_parts_the_least_supported_counts() -> None:
    looks = [PartScores(SURE, SURE[0], ()), PartScores(UNSURE, UNSURE[0], ())]
    assert least_supported(looks).tolist() == UNSURE[0].tolist()


def test_probabilities_follow_from_logits() -> None:
    labels = Calibration().labels(np.log(np.array([[1, 1, 2], [3, 1, 0.5]], np.float32)))
    assert labels.dtype == np.float32
    np.testing.assert_allclose(labels, [[1 / 4, 1 / 4, 1 / 2], [6 / 9, 2 / 9, 1 / 9]], rtol=1e-6)


def test_calibration_scales_and_shifts_the_odds() -> None:
    logits = np.log(np.array([[1, 1, 1]], np.float32))  # the odds of "not supported" are 2
    (labels,) = Calibration(scale=2.0, offset=float(np.log(3))).labels(logits)
    np.testing.assert_allclose(labels, [1 / 13, 6 / 13, 6 / 13], rtol=1e-6)


@pytest.mark.filterwarnings("error")
def test_the_surest_logits_give_nought_and_one() -> None:
    most = np.float32(3e38)
    labels = Calibration().labels(np.array([[most, -most, -most], [-most, most, 0]], np.float32))
    assert labels.tolist() == [[1, 0, 0], [0, 1, 0]]
