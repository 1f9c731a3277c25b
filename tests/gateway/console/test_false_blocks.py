"""What labels of a sample say about the right answers that a threshold blocks."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from groundwire.control.verdicts import AnswerReview, CheckFacts, Mark, ReviewVerdict, WorstScore
from groundwire.detection.values import DetectorInfo, Label, Score
from groundwire.gateway.console.false_blocks import FalseBlocks, Share, Support, has_changed

READER = DetectorInfo(name="reader", revision="r1", operating_point="balanced", threshold=0.5)
FACTS = CheckFacts(
    detector="reader",
    revision="r1",
    score="probability",
    threshold=0.5,
    worst=(),
    is_complete=True,
    sample=0.1,
    trace_id="",
    checked_at="2026-03-04T05:06:07.089Z",
)
UNSUPPORTED, CONTRADICTED = (Label.UNSUPPORTED, 2), (Label.CONTRADICTED, 4)
MISSED = Mark(start=0, end=4, label=Label.UNSUPPORTED, verdict=ReviewVerdict.MISSED)


def labelled(
    *groups: tuple[int, bool, float | None],
    start: int = 0,
    **facts: Any,  # noqa: ANN401
) -> Iterator[AnswerReview]:
    """Labels of answers: groups of their number, whether they are right, and their worst score."""
    base = replace(FACTS, **facts)
    for n, is_right, worst in groups:
        for number in range(start, start := start + n):
            event_id = f"{number:06}"
            yield AnswerReview(
                event_id=event_id,
                account="rita",
                tenant="acme",
                marks=() if is_right else (MISSED,),
                facts=replace(base, worst=scores(worst), trace_id=event_id),
            )


def of(reviews: list[AnswerReview], by: DetectorInfo) -> FalseBlocks:
    return FalseBlocks.of(reviews, by, blocking=[UNSUPPORTED], blocks_incomplete=False)


def disputed(n: int, worst: float, *, start: int = 1000) -> list[AnswerReview]:
    """Labels of answers that one reviewer calls right, and another one wrong."""
    right = [*labelled((n, True, worst), start=start)]
    return [*right, *(replace(each, account="anna", marks=(MISSED,)) for each in right)]


def of_requests(reviews: Iterable[AnswerReview], *, of_each: int) -> list[AnswerReview]:
    """The same labels, of requests with so many answers each."""
    return [
        replace(each, facts=replace(each.facts, trace_id=f"{of_each}/{number // of_each}"))
        for number, each in enumerate(reviews)
        if each.facts is not None
    ]


def scores(worst: float | None) -> tuple[WorstScore, ...]:
    return () if worst is None else (WorstScore(*UNSUPPORTED, worst),)


def found(
    *groups: tuple[int, bool, float | None],
    by: DetectorInfo = READER,
    **facts: Any,  # noqa: ANN401
) -> FalseBlocks:
    return of([*labelled(*groups, **facts)], by)


def test_a_budget_holds_from_so_many_right_answers_on() -> None:
    assert found((299, True, None)).support(0.01) is Support.HOLDS
    few = found((298, True, None), (298, False, 0.9))
    assert (few.support(0.01), few.n_more(0.01)) == (Support.OPEN, 2)  # every other one is right
    assert found().support(0.01) is Support.OPEN
    assert few.support(None) is Support.UNSET


def test_the_threshold_that_keeps_a_budget_finds_the_most() -> None:
    labels = found((90, True, None), (10, True, 0.6), (18, False, 0.9), (2, False, 0.55))
    assert labels.support(0.05) is Support.BROKEN
    kept = labels.kept_by(0.05)
    assert kept == 0.601
    assert labels.now.blocked == Share(n=10, of=100)
    assert labels.now.caught == Share(n=20, of=20)
    assert labels.at(kept).blocked == Share(n=0, of=100)
    assert labels.at(kept).caught == Share(n=18, of=20)
    assert labels.kept_by(0.02) is None  # it takes 149 right answers
    assert labels.support(0.09) is Support.AGAINST
    tightened = replace(labels, detector=replace(READER, threshold=kept))
    assert tightened.support(0.05) is Support.HOLDS


def test_intervals_are_those_of_clopper_and_pearson() -> None:
    tenth, none, every = Share(n=10, of=100), Share(n=0, of=10), Share(n=10, of=10)
    assert (tenth.low, tenth.high) == pytest.approx((0.0490, 0.1762), abs=1e-4)
    assert (none.low, none.high) == pytest.approx((0.0, 0.3085), abs=1e-4)
    assert (every.low, every.high) == pytest.approx((0.6915, 1.0), abs=1e-4)


def test_labels_that_say_nothing_of_the_threshold_do_not_count() -> None:
    right, wrong = labelled((2, True, None))
    disputed = [replace(right, account="anna", marks=(MISSED,))]
    changed = (
        replace(FACTS, detector="similarity"),
        replace(FACTS, revision="r2"),
        replace(FACTS, threshold=0.8),
    )
    others = [replace(right, event_id=f"x{n}", facts=each) for n, each in enumerate(changed)]
    labels = of([right, wrong, *disputed, *others], READER)
    assert (len(labels.answers), len(labels.disputed), labels.n_other) == (1, 1, 3)
    stricter = replace(READER, threshold=0.8)
    assert of(others, stricter).n_other == 2


def test_only_findings_whose_label_leads_to_a_block_count() -> None:
    both = (WorstScore(*UNSUPPORTED, 0.9), WorstScore(*CONTRADICTED, 0.6))
    labels = of(
        [
            replace(each, facts=replace(FACTS, worst=both, trace_id=each.event_id))
            for each in labelled((20, True, None))
        ],
        READER,
    )
    assert labels.at(0.8).blocked.n == 20
    of_contradictions = replace(labels, blocking=frozenset({CONTRADICTED}))
    assert of_contradictions.at(0.6).blocked.n == 20
    assert of_contradictions.at(0.7).blocked.n == 0


def test_what_was_not_read_in_full_is_blocked_where_the_policy_says_so() -> None:
    labels = found((80, True, None), is_complete=False)
    assert labels.now.blocked.n == 0
    strict = replace(labels, blocks_incomplete=True)
    assert strict.now.blocked.n == 80
    assert strict.kept_by(0.1) is None


def test_a_budget_does_not_hold_by_leaving_out_what_reviewers_dispute() -> None:
    passing = [*labelled((59, True, None))]
    labels = of([*passing, *disputed(30, 0.9)], READER)
    assert len(labels.disputed) == 30
    assert labels.support(0.05) is Support.DISPUTED
    assert labels.n_disputed_blocked == 30
    assert of(passing, READER).support(0.05) is Support.HOLDS


def test_a_proposed_threshold_keeps_the_budget_if_disputed_answers_are_right_too() -> None:
    passing = [*labelled((270, True, None), (30, True, 0.55))]
    labels = of([*passing, *disputed(5, 0.7), *disputed(5, 0.8, start=2000)], READER)
    assert labels.kept_by(0.01) == 0.801
    saved = replace(labels, detector=replace(READER, threshold=0.801))
    assert saved.support(0.01) is Support.HOLDS
    assert of([*passing, *disputed(5, 1.0)], READER).kept_by(0.01) is None


def test_while_reviewers_disagree_a_threshold_is_proposed_that_needs_no_settling() -> None:
    labels = of([*labelled((299, True, None)), *disputed(20, 0.7)], READER)
    assert (labels.support(0.01), labels.kept_by(0.01)) == (Support.DISPUTED, 0.701)


def test_disputed_answers_count_as_right_by_requests() -> None:
    right = of_requests(labelled((1200, True, None)), of_each=4)
    one = disputed(1, 0.7, start=5000)
    assert of(right, READER).support(0.01) is Support.HOLDS
    assert of([*right, *one], READER).support(0.01) is Support.DISPUTED
    settled = [*right, *labelled((1, True, 0.7), start=5000)]
    assert of(settled, READER).support(0.01) is Support.OPEN


def test_shares_and_intervals_count_one_answer_of_each_request() -> None:
    blocked = of_requests(labelled((16, True, 0.9), start=1000), of_each=16)
    wrong = of_requests(labelled((8, False, 0.9), start=2000), of_each=2)
    labels = of([*labelled((300, True, None)), *blocked, *wrong], READER)
    assert labels.now.blocked == Share(n=1, of=301)
    assert labels.now.caught == Share(n=4, of=4)
    assert labels.support(0.02) is Support.AGAINST  # of all answers, 16 of 316 are blocked
    assert labels.support(0.06) is Support.HOLDS


def test_which_answer_of_a_request_counts_is_drawn_and_stays_the_same() -> None:
    both = [*labelled((100, True, None)), *labelled((100, True, 0.9), start=100)]
    pairs = [
        replace(each, facts=replace(each.facts, trace_id=str(number % 100)))
        for number, each in enumerate(both)
        if each.facts is not None
    ]
    blocked = of(pairs, READER).now.blocked
    assert blocked.of == 100
    assert 30 < blocked.n < 70
    assert of(pairs[::-1], READER).now.blocked == blocked


def test_a_score_that_equals_the_threshold_as_float32_is_blocked() -> None:
    score = float(np.float32(0.7))
    at = replace(READER, threshold=0.7)
    labels = found((299, True, score), by=at)
    assert labels.now.blocked == Share(n=299, of=299)
    assert labels.support(0.01) is Support.BROKEN
    assert labels.kept_by(0.01) == 0.701


def test_answers_that_were_drawn_at_another_rate_than_the_newest_do_not_count() -> None:
    older, newer = labelled((300, True, None), sample=1.0), labelled((3, True, 0.9), start=300)
    labels = of([*older, *newer], READER)
    assert (len(labels.answers), labels.n_other) == (3, 300)
    assert labels.support(0.05) is Support.BROKEN


def test_the_answers_to_one_request_count_once_in_what_is_needed() -> None:
    labels = of(of_requests(labelled((100, True, None)), of_each=4), READER)
    assert labels.support(0.05) is Support.OPEN
    assert labels.n_more(0.05) == (59 - 25) * 4


def test_a_similarity_is_blocked_below_its_threshold() -> None:
    cosine = DetectorInfo(
        name="similarity", revision="r1", operating_point="custom", threshold=0.7,
        score=Score.SIMILARITY,
    )  # fmt: skip
    facts = {"detector": "similarity", "score": "similarity", "threshold": 0.7}
    labels = found((80, True, 0.9), (20, True, 0.6), (9, False, 0.2), by=cosine, **facts)
    assert labels.support(0.05) is Support.BROKEN
    assert labels.kept_by(0.05) == 0.6  # below it
    assert labels.at(0.6).caught == Share(n=9, of=9)


def test_the_newest_labels_can_break_a_budget() -> None:
    good, bad = (80, True, None), (20, True, 0.9)

    def warnings(labels: FalseBlocks, budget: float) -> list[str]:
        return [*labels.warnings(budget, labels.support(budget))]

    assert warnings(found(good, good), 0.05) == []
    (broke,) = warnings(found(good, bad), 0.05)
    assert broke.startswith("The 25 newest labelled answers broke the budget")
    (alone,) = warnings(found((900, True, None), (240, True, None), (60, True, 0.9)), 0.1)
    assert alone.startswith("Of the 300 newest labelled answers alone")
    assert warnings(found(), 0.05) == []


def test_a_change_of_traffic_is_more_than_chance() -> None:
    before = Share(n=40, of=1000)
    assert has_changed(before, Share(n=90, of=1000))
    assert not has_changed(before, Share(n=50, of=1000))
    assert not has_changed(before, Share(n=0, of=0))
    assert not has_changed(Share(n=0, of=500), Share(n=0, of=500))
