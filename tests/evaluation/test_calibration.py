"""Whether it is so as often as probabilities say."""

from math import isnan, nan

import pytest

from groundwire.evaluation.calibration import Bin, brier, reliability

SAID = [0.05, 0.15, 0.15, 0.85, 1.0]
SO = [False, True, False, True, True]


def test_each_bin_tells_what_was_said_and_what_was_so() -> None:
    low, _, _, high = reliability(SAID, SO, n_bins=4).bins
    assert (low.low, low.high, low.n) == (0, 0.25, 3)
    assert low.confidence == pytest.approx(0.35 / 3)
    assert low.frequency == pytest.approx(1 / 3)
    assert (high.n, high.frequency) == (2, 1)
    assert high.confidence == pytest.approx(0.925)


def test_the_error_is_weighted_by_the_size_of_bins() -> None:
    error = (3 * (1 / 3 - 0.35 / 3) + 2 * 0.075) / 5
    assert reliability(SAID, SO, n_bins=4).ece == pytest.approx(error)


def test_an_edge_belongs_to_the_bin_above_and_1_to_the_last() -> None:
    assert [part.n for part in reliability([0.0, 0.5, 1.0], [0, 0, 1], n_bins=2).bins] == [1, 2]
    tenths = [i / 10 for i in range(10)]
    assert [part.n for part in reliability(tenths, [0] * 10).bins] == [1] * 10


def test_an_empty_bin_has_neither_confidence_nor_frequency() -> None:
    empty = reliability([0.9], [True], n_bins=2).bins[0]
    assert repr(empty) == repr(Bin(low=0.0, high=0.5, n=0, confidence=nan, frequency=nan))


def test_low_probabilities_can_be_left_out() -> None:
    kept = reliability(SAID, SO, lowest=0.1)
    assert kept.n == 4
    assert kept.ece == reliability(SAID[1:], SO[1:]).ece
    assert reliability([0.1], [True], lowest=0.1).n == 1
    assert brier(SAID, SO, lowest=0.1) == brier(SAID[1:], SO[1:])


def test_the_base_rate_has_no_skill_and_certainty_about_the_truth_has_all() -> None:
    assert brier([0.25] * 4, [1, 0, 0, 0]).skill == pytest.approx(0)
    assert brier([1, 0, 0, 0], [1, 0, 0, 0]).skill == 1
    assert brier([0, 1, 1, 1], [1, 0, 0, 0]).skill < 0


def test_where_it_was_always_so_there_is_no_skill_to_have() -> None:
    assert isnan(brier([0.9, 0.8], [True, True]).skill)


def test_of_nothing_nothing_is_defined() -> None:
    assert isnan(reliability([], []).ece)
    assert isnan(brier([0.05], [False], lowest=0.1).score)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, nan])
def test_only_probabilities_are_taken(wrong: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        brier([wrong], [True])
