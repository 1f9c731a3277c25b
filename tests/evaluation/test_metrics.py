"""Scores of answers and of characters."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.evaluation.metrics import (
    AnswerCounts,
    Overlap,
    Ranking,
    count_characters,
    count_pairs,
    f1_of,
)

TEXT = "Paris has 9 million inhabitants."


def ranges(longest: int = len(TEXT)) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Ranges of the text that may overlap."""
    ends = st.tuples(st.integers(0, longest), st.integers(0, longest))
    return st.lists(ends.map(lambda pair: (min(pair), max(pair))), max_size=5)


# Answers.


def test_answers_are_counted_once_each() -> None:
    counts = AnswerCounts.of([1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 1, 0, 0, 0])
    assert counts == AnswerCounts(n=7, n_both=2, n_flagged=3, n_hallucinated=3)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(2 / 3)
    assert counts.f1 == pytest.approx(2 / 3)
    assert counts.false_positive_rate == 1 / 4


def test_flagging_everything_has_the_f1_published_for_ragtruth() -> None:
    # 943 of the 2,700 test answers are hallucinated (https://arxiv.org/abs/2401.00396).
    counts = AnswerCounts(n=2700, n_both=0, n_flagged=0, n_hallucinated=943)
    assert round(100 * counts.flag_all_f1, 1) == 51.8


def test_precision_falls_with_prevalence() -> None:
    # Recall 0.8, false-positive rate 0.1: of 1,000 answers, 50 bad, 40 are found and 95 are not so.
    counts = AnswerCounts(n=200, n_both=80, n_flagged=90, n_hallucinated=100)
    assert counts.precision_at(0.05) == pytest.approx(40 / (40 + 95))
    assert counts.precision_at(0.5) == pytest.approx(counts.precision)


def test_what_is_not_defined_is_no_number() -> None:
    nothing_flagged = AnswerCounts.of([False, False], [True, True])
    assert isnan(nothing_flagged.precision)
    assert isnan(nothing_flagged.false_positive_rate)
    assert nothing_flagged.recall == nothing_flagged.f1 == 0
    assert isnan(AnswerCounts.of([False], [False]).f1)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shapes are \(1,\) and \(2,\)"):
        AnswerCounts.of([True], [True, False])


# Ranking.


def test_a_tie_counts_half() -> None:
    assert Ranking.of([0.5, 0.5], [True, False]).auroc() == 0.5
    assert Ranking.of([0.9, 0.5, 0.5, 0.1], [True, True, False, False]).auroc() == 7 / 8


def test_precision_is_read_where_a_tie_ends() -> None:
    # All three are one step, whatever the order they are given in.
    for labels in ([True, False, False], [False, False, True]):
        ranking = Ranking.of([0.5] * 3, labels)
        assert ranking.average_precisions(np.ones(3)) == pytest.approx(1 / 3)


def test_a_perfect_order_is_1_and_its_reverse_0() -> None:
    assert Ranking.of([0.9, 0.8, 0.2], [True, True, False]).auroc() == 1
    assert Ranking.of([0.1, 0.2, 0.8], [True, True, False]).auroc() == 0


@pytest.mark.parametrize("labels", [[True, True], [False, False]])
def test_answers_of_one_kind_have_no_auroc(labels: list[bool]) -> None:
    assert isnan(Ranking.of([0.1, 0.2], labels).auroc())


def test_without_answers_nothing_is_defined() -> None:
    ranking = Ranking.of([], [])
    assert isnan(ranking.auroc())
    assert isnan(ranking.average_precisions(np.ones(0)))


def test_a_weight_is_how_often_an_answer_counts() -> None:
    once = Ranking.of([0.9, 0.4, 0.4, 0.1], [True, False, True, False])
    weights = np.array([1.0, 2.0, 0.0, 3.0])
    repeated = Ranking.of([0.9, 0.4, 0.4, 0.1, 0.1, 0.1], [True, *[False] * 5])
    assert once.aurocs(weights) == repeated.auroc()
    assert once.average_precisions(weights) == repeated.average_precisions(np.ones(6))


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="score 1 is not a number"):
        Ranking.of([0.5, float("nan")], [True, False])


# Characters.


def test_shared_characters_count_once_and_outer_white_space_never() -> None:
    # Marked "has 9" and "9 million" of 13 characters together; found " 9 ", which is one.
    found = count_characters([(9, 12)], [(6, 11), (10, 19)], TEXT)
    assert found == Overlap(both=1, predicted=1, gold=13)


def test_lettucedetect_counts_what_two_spans_share_twice() -> None:
    pairs = count_pairs([(9, 12)], [(6, 11), (10, 19)])
    assert pairs == Overlap(both=4, predicted=3, gold=14)
    assert pairs.both > pairs.predicted  # a precision above 1


def test_a_range_outside_its_text_is_refused() -> None:
    with pytest.raises(ValueError, match="the range 0-99 is not in a text of 32 characters"):
        count_characters([(0, 99)], [], TEXT)


def test_intersection_over_union_of_nothing_and_nothing_is_1() -> None:
    none = Overlap(both=0, predicted=0, gold=0)
    half = Overlap(both=2, predicted=3, gold=3)
    assert (none.iou, half.iou) == (1, 0.5)


def test_f1_of_many_sums_is_that_of_each() -> None:
    first, second, third = f1_of([[1, 2, 4], [0, 1, 1], [0, 0, 0]])
    assert first == pytest.approx(2 * 1 / (2 + 4))
    assert second == 0
    assert isnan(third)


@given(ranges(), ranges())
def test_characters_are_those_of_the_sets(
    predicted: list[tuple[int, int]], gold: list[tuple[int, int]]
) -> None:
    def characters(spans: list[tuple[int, int]]) -> set[int]:
        trimmed = set()
        for start, end in spans:
            inside = [i for i in range(start, end) if not TEXT[i].isspace()]
            trimmed |= set(range(inside[0], inside[-1] + 1)) if inside else set()
        return trimmed

    marked, wanted = characters(predicted), characters(gold)
    found = count_characters(predicted, gold, TEXT)
    assert found == (len(marked & wanted), len(marked), len(wanted))


@given(ranges())
def test_disjoint_trimmed_spans_score_alike_in_both_ways(spans: list[tuple[int, int]]) -> None:
    disjoint, last = [], 0
    for start, end in sorted(spans):
        if start >= last and TEXT[start:end] == TEXT[start:end].strip() != "":
            disjoint.append((start, end))
            last = end
    assert count_characters(disjoint, disjoint, TEXT) == count_pairs(disjoint, disjoint)
