"""The cases written by hand are well-formed, and the embedded model passes enough of them."""

from collections import Counter

import pytest

from groundwire import Detector
from tests.cases.case import (
    Case,
    Result,
    blind,
    by_kind,
    further,
    must_pass,
    report,
    run,
    totals,
    unseen,
)
from tests.fixed_judge import FixedJudge

#: The shares of cases that must pass at least: of the further cases, and of those by another
#: author. Both are shares reached so far, so that a loss is noticed. The first was 0.85 while rules
#: found replaced names, items and words: nine of the further cases were found by these rules alone.
LEAST_SHARE, LEAST_UNSEEN_SHARE = 0.78, 0.55

ALL = [*must_pass(), *further(), *unseen(), *blind()]


@pytest.mark.parametrize("case", must_pass(), ids=lambda case: case.id)
def test_the_documented_examples_pass(detector: Detector, case: Case) -> None:
    assert run(detector, case).problems == ()


@pytest.mark.merge
def test_no_fewer_of_the_further_cases_pass_than_did(detector: Detector) -> None:
    for cases, least in ((further(), LEAST_SHARE), (unseen(), LEAST_UNSEEN_SHARE)):
        results = [run(detector, case) for case in cases]
        n_passed = sum(not result.problems for result in results)
        assert n_passed >= least * len(results), "\n" + report(results)
    counted = [run(detector, case) for case in blind()]
    n_passed = sum(not result.problems for result in counted)
    assert n_passed >= LEAST_UNSEEN_SHARE * len(counted), totals(counted)


# The cases themselves.


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_a_case_is_well_formed(case: Case) -> None:
    assert 1 <= len(case.sources) <= 4
    assert all(text.strip() for text in (*case.sources, case.answer))
    for part in (*case.marked, *case.clean):
        assert case.answer.count(part) == 1, f"{part!r} stands not exactly once in the answer"
    for marked in case.marked:
        for clean in case.clean:
            assert marked not in clean
            assert clean not in marked
    assert case.marked or not case.clean  # a faithful answer names no clean parts: all is clean


def test_the_cases_are_many_and_balanced() -> None:
    assert [id_ for id_, n in Counter(case.id for case in ALL).items() if n > 1] == []
    cases = [*further(), *unseen()]
    assert len(further()) >= 80
    assert 0.4 <= sum(case.is_faithful for case in cases) / len(cases) <= 0.6
    assert {k: n for k, n in Counter(case.kind for case in cases).items() if n < 5} == {}
    assert len(blind()) == 100
    assert sum(case.is_faithful for case in blind()) == 45


# What passes.


CASE = Case(
    id="red-house",
    kind="colours",
    sources=("The house is blue and has a garden.",),
    answer="The house is red. It has a garden.",
    marked=("is red",),
    clean=("It has a garden.",),
)


@pytest.mark.parametrize(
    ("doubtful", "problems"),
    [
        ({"red": 0.9}, ()),
        ({"house": 0.9, "is": 0.9, "red": 0.9}, ()),  # other words may be flagged
        ({}, ("missed 'is red'",)),
        ({"house": 0.9}, ("missed 'is red'",)),
        ({"red": 0.9, "garden": 0.9}, ("wrongly flagged 'garden'",)),
        ({"garden": 0.9}, ("missed 'is red'", "wrongly flagged 'garden'")),
    ],
)
def test_a_case_passes_if_each_marked_part_is_flagged_and_no_clean_one(
    doubtful: dict[str, float], problems: tuple[str, ...]
) -> None:
    assert run(Detector(FixedJudge(doubtful=doubtful)), CASE).problems == problems


def test_nothing_may_be_flagged_in_a_faithful_answer() -> None:
    case = Case(id="blue-house", kind="colours", sources=CASE.sources, answer="It is blue.")
    assert run(Detector(FixedJudge(doubtful={})), case).problems == ()
    assert run(Detector(FixedJudge(doubtful={"is": 0.9})), case).problems == (
        "wrongly flagged 'is'",
    )


def test_the_report_counts_by_class_and_names_what_failed() -> None:
    results = [
        Result(case=CASE, problems=("missed 'is red'",)),
        Result(case=CASE, problems=()),
    ]
    assert list(by_kind(results)) == ["colours"]
    assert report(results, verbose=True).splitlines() == [
        "colours: 1 of 2 (50%)",
        "  red-house: missed 'is red'",
        "    'The house is red. It has a garden.'",
        "with a slip: 1 of 2 (50%)",
        "all: 1 of 2 (50%)",
    ]
