"""Repairs: what is changed, what falls back, and that only grounded answers are returned."""

import json

import pytest

from groundwire import Detector, repair
from groundwire.detection.values import Outcome, Reason
from groundwire.engine.models import BASE_PACKAGE
from tests.fakes import FixedDetector

pytest.importorskip(BASE_PACKAGE, reason="pip install ./models/reader-base")
pytestmark = pytest.mark.merge

TOWER = "The tower is 330 m tall and was opened in 1889."


def test_a_wrong_value_becomes_that_of_the_evidence(detector: Detector) -> None:
    answer = "The tower was opened in 1950."
    found = repair(detector, sources=[TOWER], answer=answer)
    assert found.answer == "The tower was opened in 1889."
    (edit,) = found.edits
    assert (edit.old, edit.new, answer[edit.start : edit.end]) == ("1950", "1889", "1950")
    assert [TOWER[place.start : place.end] for place in edit.evidence] == ["1889"]
    assert found.after is not None
    assert found.after.outcome is Outcome.GROUNDED


def test_the_main_example_of_the_readme_is_repaired_as_it_says() -> None:
    source = (
        "The Eiffel Tower was built 1887-1889 and is 330 meters tall. It stands in Paris, France."
    )
    answer = "It was built in 1950 and stands 500 meters tall in Paris, France."
    with Detector.load("reader-base", threads=1) as base:
        question = "When was the Eiffel Tower built?"
        found = repair(base, sources=[source], answer=answer, question=question)
    assert found.answer == "It was built in 1887-1889 and stands 330 meters tall in Paris, France."


def test_a_wrong_name_becomes_that_of_the_evidence() -> None:
    detector = FixedDetector(contradicted=["Anna Berger", "Anna Schmidt", "Peter"])
    source = "Maria Schmidt wrote the report in May. Peter Novak checked it."
    found = repair(detector, sources=[source], answer="Anna Berger wrote the report in May.")
    assert found.answer == "Maria Schmidt wrote the report in May."


def test_two_mistakes_in_a_claim_are_two_changes() -> None:
    detector = FixedDetector(contradicted=["1950", "500 m"])
    answer = "The tower was opened in 1950 and is 500 m tall."
    found = repair(detector, sources=[TOWER], answer=answer)
    assert found.answer == "The tower was opened in 1889 and is 330 m tall."
    assert [(edit.old, edit.new) for edit in found.edits] == [("1950", "1889"), ("500 m", "330 m")]


def test_a_range_with_both_ends_marked_is_replaced_as_a_whole() -> None:
    detector = FixedDetector(contradicted=["1950", "1952"])
    source = "The tower was built between 1887 and 1889."
    found = repair(detector, sources=[source], answer="The tower was built between 1950 and 1952.")
    assert found.answer == source
    assert len(found.edits) == 1


def test_a_range_stays_if_one_of_its_ends_may_follow_from_other_numbers() -> None:
    detector = FixedDetector(contradicted=["$120", "$150"])
    sources = ["A seat is $12 per month.", "Plans cost between $200 and $300 in total."]
    answer = "With 10 seats, it costs between $120 and $150."
    assert repair(detector, sources=sources, answer=answer).edits == ()


def test_a_word_is_not_replaced_by_another_form_of_it() -> None:
    detector = FixedDetector(contradicted=["fungi"])
    source = "The fungus grows in spring."
    found = repair(detector, sources=[source], answer="The fungi grows in spring.")
    assert found.edits == ()


def test_a_line_about_something_else_replaces_nothing_but_a_part_of_a_date() -> None:
    detector = FixedDetector(contradicted=["ten hours", "20 May 2024"])
    source, answer = "Its half-life is five hours.", "Caffeine is cleared after ten hours."
    assert repair(detector, sources=[source], answer=answer).edits == ()
    related = source.replace("Its", "Caffeine's")
    found = repair(detector, sources=[related], answer=answer)
    assert found.answer == "Caffeine is cleared after five hours."
    found = repair(detector, sources=["Due: 10 May 2024."], answer="It starts on 20 May 2024.")
    assert found.answer == "It starts on 10 May 2024."


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [("1,879 m (6,165 ft)", "500 m", "1,879 m"), ("Maria Schmidt", "Anna Berger", "Maria Schmidt")],
)
def test_a_value_may_stand_alone_in_its_line(line: str, old: str, new: str) -> None:
    answer = "The tower by Anna Berger has a height of 500 m."
    found = repair(FixedDetector(contradicted=[old]), sources=[line], answer=answer)
    assert found.answer == answer.replace(old, new)


def test_words_with_combining_marks_stay_whole() -> None:
    detector, town = FixedDetector(contradicted=["Berlin"]), "Poznan\u0301"
    found = repair(detector, sources=[f"It stands in {town}."], answer="It stands in Berlin.")
    assert found.answer == f"It stands in {town}."


def test_a_claim_with_four_mistakes_is_not_mended() -> None:
    detector = FixedDetector(contradicted=["1950", "500 m", "castle", "burnt"])
    found = repair(detector, sources=[TOWER], answer="The castle burnt in 1950 and is 500 m tall.")
    assert found.edits == ()


def test_an_answer_without_a_mistake_is_not_changed(detector: Detector) -> None:
    found = repair(detector, sources=[TOWER], answer="The tower was opened in 1889.")
    assert (found.before.outcome, found.after, found.edits) == (Outcome.GROUNDED, None, ())
    assert found.answer == "The tower was opened in 1889."


def test_without_evidence_nothing_is_changed() -> None:
    found = repair(FixedDetector(contradicted=["1950"]), sources=[], answer="It opened in 1950.")
    assert (found.before.outcome, found.edits) == (Outcome.UNVERIFIED, ())


def test_nothing_is_changed_if_nothing_fits() -> None:
    detector = FixedDetector(contradicted=["red"])
    found = repair(detector, sources=["Ann likes tea."], answer="The roof is red.")
    assert (found.after, found.edits, found.answer) == (None, (), "The roof is red.")


def test_no_value_is_chosen_if_two_fit_as_well() -> None:
    detector = FixedDetector(contradicted=["1950"])
    lines = ["The tower was opened in 1889.", "The tower was opened in 1891."]
    found = repair(detector, sources=lines, answer="The tower was opened in 1950.")
    assert found.edits == ()


@pytest.mark.parametrize(
    "detector",
    [
        FixedDetector(contradicted=["1950", "1889"]),
        FixedDetector(contradicted=["1950"], fails_on="1889"),
        FixedDetector(contradicted=["1950"], reasons={Reason.UNREAD_EVIDENCE: 1}),
    ],
)
def test_only_a_grounded_answer_is_returned(detector: FixedDetector) -> None:
    source, answer = "It was opened in 1889.", "Opened in 1950."
    found = repair(detector, sources=[source], answer=answer)
    assert (found.after, found.edits, found.answer) == (None, (), answer)


def test_a_value_within_another_one_is_another_value() -> None:
    sources = ["The tower has 3 floors.", "The tower has 33 floors."]
    detector = FixedDetector(contradicted=["12"])
    assert repair(detector, sources=sources, answer="The tower has 12 floors.").edits == ()


@pytest.mark.parametrize(
    ("source", "answer", "marked"),
    [
        (
            "The Team plan costs $12 per seat per month.",
            "With 10 seats, the Team plan is $120 per month.",
            "$120",
        ),
        (
            "Expenses above $500 require approval by a director.",
            "Your $750 expense requires approval by a director.",
            "$750",
        ),
        (
            "The certificate expires on 12 May 2026 and was issued for 90 days.",
            "The certificate was issued on 11 February 2026.",
            "11 February 2026",
        ),
    ],
)
def test_what_may_follow_from_the_evidence_is_left_as_it_is(
    source: str, answer: str, marked: str
) -> None:
    found = repair(FixedDetector(contradicted=[marked]), sources=[source], answer=answer)
    assert found.before.outcome is Outcome.HALLUCINATED
    assert found.edits == ()


@pytest.mark.parametrize(
    ("source", "answer", "marked", "right"),
    [
        ("The plan costs $12 per seat.", "The plan costs $15 per seat.", "$15", "$12"),
        ("Orders above $500 are free.", "Orders above $750 are free.", "$750", "$500"),
    ],
)
def test_a_value_that_nothing_explains_is_replaced(
    source: str, answer: str, marked: str, right: str
) -> None:
    found = repair(FixedDetector(contradicted=[marked]), sources=[source], answer=answer)
    assert found.answer == answer.replace(marked, right)


def test_without_probabilities_nothing_is_changed() -> None:
    detector = Detector.load("similarity:hash", threads=1)
    answer = "Penguins paint the tower every spring with pink honey."
    found = repair(detector, sources=[TOWER], answer=answer)
    assert (found.before.outcome, found.edits) == (Outcome.HALLUCINATED, ())


@pytest.mark.parametrize("answer", ["The tower was opened in 1950.", "The roof is red."])
def test_a_repair_is_json(detector: Detector, answer: str) -> None:
    data = repair(detector, sources=[TOWER], answer=answer).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert list(data) == ["answer", "before", "after", "edits"]
