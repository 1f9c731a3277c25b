"""What a detector's scores say about an answer as a whole."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.detection.rules import Conflict, ConflictKind
from groundwire.detection.values import Label
from groundwire.engine.scores import (
    SETTLED_BELOW,
    SETTLED_PROBABILITY,
    AnswerCalibration,
    ClaimScores,
    SentenceCalibration,
    combined_probability,
)

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


# What rules find in a claim.


def scored(
    *rows: tuple[float, float, float],
    conflicts: Sequence[Conflict] = (),
    settled: Sequence[tuple[int, int]] = (),
) -> ClaimScores:
    """Word pieces of two characters each, one beside the other."""
    return ClaimScores(
        offsets=np.array([(2 * i, 2 * i + 2) for i in range(len(rows))], np.int32).reshape(-1, 2),
        labels=np.array(rows, np.float32).reshape(-1, 3),
        conflicts=tuple(conflicts),
        settled=tuple(settled),
    )


def conflict(
    start: int,
    end: int,
    probability: float = 0.9,
    *,
    floor: float = 0.0,
    label: Label = Label.CONTRADICTED,
) -> Conflict:
    return Conflict(start, end, ConflictKind.NUMBER, label, probability, floor)


SURE, UNSURE, WRONG = (0.95, 0.04, 0.01), (0.5, 0.375, 0.125), (0.05, 0.85, 0.1)


def judged(scores: ClaimScores) -> list[tuple[float, ...]]:
    return [tuple(round(p, 6) for p in row) for row in scores.with_rules().labels.tolist()]


def test_without_rules_the_scores_are_the_models_own() -> None:
    scores = scored(SURE, WRONG)
    assert scores.with_rules() is scores


def test_a_conflict_raises_the_pieces_that_it_overlaps() -> None:
    scores = scored(SURE, SURE, UNSURE, conflicts=[conflict(3, 6)])
    assert judged(scores) == [SURE, (0.1, 0, 0.9), (0.1, 0, 0.9)]
    unsupported = scored(SURE, conflicts=[conflict(0, 2, label=Label.UNSUPPORTED)])
    assert judged(unsupported) == [(0.1, 0.9, 0)]


def test_rule_and_model_together_are_surer_than_either_and_the_rule_gives_the_label() -> None:
    for row in judged(scored(WRONG, SURE, conflicts=[conflict(0, 4)])):
        assert row == pytest.approx((0.0344, 0, 0.9656), abs=1e-4)


def test_where_the_model_is_surer_than_both_its_scores_stay() -> None:
    surest = (0.002, 0.99, 0.008)
    assert judged(scored(surest, conflicts=[conflict(0, 2)])) == [surest]


@pytest.mark.parametrize(
    ("doubt", "both"), [(0.02, 0.094), (0.5, 0.715), (0.73, 0.850), (0.9, 0.938)]
)
def test_what_both_say_follows_the_fitted_map(doubt: float, both: float) -> None:
    assert combined_probability(doubt) == pytest.approx(both, abs=1e-3)


def test_what_both_say_is_a_probability_at_the_ends() -> None:
    assert 0 <= combined_probability(0.0) < combined_probability(1.0) <= 1


@pytest.mark.parametrize(("floor", "n"), [(0.5, 1), (0.51, 0)])
def test_a_conflict_counts_if_the_most_doubtful_of_its_pieces_reaches_its_floor(
    floor: float, n: int
) -> None:
    scores = scored(SURE, UNSURE, WRONG, conflicts=[conflict(0, 4, floor=floor)])
    assert len(scores.with_rules().conflicts) == n
    assert judged(scores) == ([(0.1, 0, 0.9)] * 2 if n else [SURE, UNSURE]) + [WRONG]


def test_what_one_rule_raised_is_no_doubt_for_another() -> None:
    first, second = conflict(0, 2), conflict(0, 2, 0.95, floor=0.5)
    assert scored(SURE, conflicts=[first, second]).with_rules().conflicts == (first,)


def test_of_two_conflicts_in_one_piece_the_more_probable_counts() -> None:
    both = [conflict(0, 2, 0.8, label=Label.UNSUPPORTED), conflict(0, 2, 0.9)]
    assert judged(scored(SURE, conflicts=both)) == [(0.1, 0, 0.9)]
    assert judged(scored(SURE, conflicts=both[::-1])) == [(0.1, 0, 0.9)]


def test_conflicts_that_count_are_in_reading_order() -> None:
    first, second = conflict(0, 2), conflict(2, 4)
    assert scored(SURE, SURE, conflicts=[second, first]).with_rules().conflicts == (first, second)


def test_a_conflict_beside_all_pieces_does_not_count() -> None:
    scores = scored(SURE, conflicts=[conflict(2, 4)])
    assert (judged(scores), scores.with_rules().conflicts) == ([SURE], ())


def test_what_is_settled_is_hardly_doubtful() -> None:
    (row,) = judged(scored(UNSURE, settled=[(0, 2)]))
    assert row == pytest.approx((0.9, 0.075, 0.025), abs=1e-6)
    assert judged(scored(SURE, settled=[(0, 2)])) == [SURE]  # it is less so on its own


@pytest.mark.parametrize(("highest", "is_settled"), [(0.64, True), (SETTLED_BELOW, False)])
def test_what_the_model_is_sure_of_is_not_settled(highest: float, *, is_settled: bool) -> None:
    doubtful = (1 - highest, highest, 0)
    rows = judged(scored(UNSURE, doubtful, settled=[(0, 4)]))
    # The range as a whole stays, the piece too of which the model is not sure.
    assert [row[0] > 0.89 for row in rows] == [is_settled, is_settled]
    beside = judged(scored(UNSURE, WRONG, settled=[(0, 2)]))
    assert [row[0] > 0.89 for row in beside] == [True, False]


def test_only_pieces_that_lie_in_what_is_settled_are() -> None:
    rows = judged(scored(UNSURE, UNSURE, UNSURE, settled=[(1, 4)]))
    assert [row == UNSURE for row in rows] == [True, False, True]


@pytest.mark.parametrize("floor", [0.0, 0.99])
def test_a_conflict_in_what_is_settled_unsettles_it(floor: float) -> None:
    place = conflict(0, 2, 0.5, floor=floor)
    scores = scored(UNSURE, UNSURE, conflicts=[place], settled=[(0, 4)])
    assert [row[0] > 0.89 for row in judged(scores)] == [False, True]


def test_a_score_that_is_no_number_stays_so() -> None:
    unknown = (math.nan, math.nan, math.nan)
    scores = scored(unknown, unknown, conflicts=[conflict(0, 2)], settled=[(2, 4)])
    assert np.isnan(scores.with_rules().probabilities).all()
    assert scores.with_rules().conflicts == ()


def test_the_models_own_scores_stay_as_they_are() -> None:
    scores = scored(SURE, WRONG, conflicts=[conflict(0, 2)], settled=[(2, 4)])
    scores.with_rules()
    assert scores.labels.tolist() == np.array([SURE, WRONG], np.float32).tolist()


@st.composite
def ruled(draw: st.DrawFn) -> ClaimScores:
    """Any scores, with any conflicts and settled ranges."""
    n = draw(st.integers(0, 6))
    odds = draw(st.lists(st.tuples(*[st.floats(0.001, 1)] * 3), min_size=n, max_size=n))
    ranges = st.tuples(st.integers(0, 12), st.integers(1, 4)).map(lambda r: (r[0], r[0] + r[1]))
    conflicts = st.builds(
        lambda place, probability, floor, label: conflict(
            place[0], place[1], probability, floor=floor, label=label
        ),
        ranges,
        st.floats(0.01, 1),
        shares,
        st.sampled_from([Label.UNSUPPORTED, Label.CONTRADICTED]),
    )
    rows = [(a / (a + b + c), b / (a + b + c), c / (a + b + c)) for a, b, c in odds]
    return scored(
        *rows,
        conflicts=draw(st.lists(conflicts, max_size=4)),
        settled=draw(st.lists(ranges, max_size=3)),
    )


@given(ruled())
def test_whatever_rules_find_three_probabilities_remain(scores: ClaimScores) -> None:
    found = scores.with_rules()
    assert found.labels.dtype == np.float32
    assert found.labels.shape == scores.labels.shape
    assert (found.labels >= 0).all()
    np.testing.assert_allclose(found.labels.sum(axis=1), 1, atol=1e-6)


@given(ruled())
def test_conflicts_only_raise_and_settled_ranges_only_lower(scores: ClaimScores) -> None:
    own = scores.probabilities
    raised = replace(scores, settled=()).with_rules().probabilities
    lowered = replace(scores, conflicts=()).with_rules().probabilities
    assert (raised >= own).all()
    assert (lowered <= own).all()
    both = scores.with_rules().probabilities
    assert ((both == raised) | (both <= np.float32(SETTLED_PROBABILITY) + 1e-6)).all()


@given(ruled(), st.floats(0.01, 1))
def test_one_conflict_more_never_lowers_what_is_not_settled(
    scores: ClaimScores, probability: float
) -> None:
    plain = replace(scores, settled=())
    more = replace(plain, conflicts=(*plain.conflicts, conflict(2, 6, probability)))
    assert (more.with_rules().probabilities >= plain.with_rules().probabilities).all()
