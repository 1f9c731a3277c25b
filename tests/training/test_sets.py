"""Labelled answers from files: slots, judged answers, and edits."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.slots import MarkedAnswer, n_slots, render_slots
from groundwire_training import sets
from groundwire_training.sets import (
    LabelledContext,
    both_ways,
    changed_words,
    draw,
    edits,
    shares_text,
)
from tests.training.conftest import write

SLOTS = "It opened in {{1889||1989||conflict}} in {{Paris|| Lyon ||extra}}."


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Nothing here needs PyTorch, which the other tests of this folder set up."""
    return iter(())


# Slot-annotated answers.


def test_a_faithful_answer_takes_the_first_text_of_each_slot() -> None:
    assert render_slots(SLOTS, frozenset()) == MarkedAnswer("It opened in 1889 in Paris.", ())


def test_what_is_put_in_is_marked_without_outer_white_space() -> None:
    answer = render_slots(SLOTS, frozenset({1}))
    assert answer.text == "It opened in 1889 in  Lyon ."
    assert answer.spans == ((22, 26, 1),)
    assert answer.text[22:26] == "Lyon"


def test_a_conflict_is_contradicted_all_else_unsupported() -> None:
    answer = render_slots(SLOTS, frozenset({0, 1}))
    assert [(answer.text[s:e], label) for s, e, label in answer.spans] == [("1989", 2), ("Lyon", 1)]


def test_what_is_taken_away_leaves_nothing_to_mark() -> None:
    assert render_slots("It is {{not ||||omission}}red.", frozenset({0})) == MarkedAnswer(
        "It is red.", ()
    )


def test_slots_are_counted() -> None:
    assert [n_slots(text) for text in (SLOTS, "None.", "")] == [2, 0, 0]


def slot_record(slots: str) -> LabelledContext:
    return LabelledContext("1", "slots-x", (), None, (render_slots(slots, frozenset()),), slots)


def test_of_two_complementary_answers_each_slot_is_wrong_in_one() -> None:
    slots = (
        "{{Red||Blue||conflict}}. It has {{two||six||conflict}} ends, {{both||all||subtle}} cut."
    )
    for seed in range(9):
        one, other = both_ways(slot_record(slots), random.Random(seed)).answers
        for right, wrong in (("Red", "Blue"), ("two", "six"), ("both", "all")):
            assert (right in one.text) != (right in other.text)
            assert (wrong in one.text) != (wrong in other.text)
        assert len(one.spans) + len(other.spans) == 3


def test_variants_are_drawn_anew_each_time_and_one_is_faithful() -> None:
    drawn = draw(slot_record(SLOTS), 5, random.Random(1))
    assert len(drawn.answers) == 5
    assert drawn.answers[0].spans == ()
    assert all(answer.spans for answer in drawn.answers[1:])
    assert draw(slot_record(SLOTS), 5, random.Random(1)) == drawn
    assert draw(slot_record(SLOTS), 5, random.Random(2)) != drawn


def test_without_slots_there_is_one_answer() -> None:
    assert len(draw(slot_record("Plain."), 5, random.Random(1)).answers) == 1


def test_another_answer_takes_the_place_of_the_last_unless_that_is_the_only_one() -> None:
    one, two, new = (MarkedAnswer(f"Answer {i}.", ()) for i in range(3))
    record = LabelledContext("1", "QA", (), None, (one, two))
    assert record.with_last(new).answers == (one, new)
    assert replace(record, answers=(one,)).with_last(new).answers == (one, new)


def test_of_many_answers_some_are_drawn() -> None:
    answers = tuple(MarkedAnswer(f"Answer {i}.", ()) for i in range(6))
    record = LabelledContext("1", "QA", (), None, answers)
    drawn = draw(record, 4, random.Random(1)).answers
    assert len(set(drawn)) == 4
    assert set(drawn) <= set(answers)
    assert set(draw(record, 9, random.Random(1)).answers) == set(answers)


# Files.


def test_answers_to_one_context_are_one_record(tmp_path: Path) -> None:
    spans = [
        {"start": 3, "end": 7, "label": "Evident Conflict"},
        {"start": 9, "end": 10, "label": "Subtle Baseless Info"},
    ]
    row = {"context_id": "a", "task": "QA", "context": "The tower.", "question": "What?"}
    path = write(
        tmp_path / "train.jsonl.gz",
        [
            {**row, "answer": "It opened.", "spans": spans},
            {**row, "context_id": "b", "answer": "Other.", "spans": []},
            {**row, "answer": "It did.", "spans": []},
        ],
    )
    first, second = sets.ragtruth(path)
    assert (first.id, first.task, first.question) == ("a", "QA", "What?")
    assert first.sources == read_sources(["The tower."])
    assert first.answers == (
        MarkedAnswer("It opened.", ((3, 7, 2), (9, 10, 1))),
        MarkedAnswer("It did.", ()),
    )
    assert [answer.text for answer in second.answers] == ["Other."]


def test_slot_records_keep_their_slots(tmp_path: Path) -> None:
    row = {"id": "x", "domain": "law", "context": ["One.", "Two."], "question": None}
    (record,) = sets.slots(write(tmp_path / "train.jsonl.gz", [{**row, "answer": SLOTS}]))
    assert record.task == "slots-law"
    assert [source.text for source in record.sources] == ["One.", "Two."]
    assert record.slots == SLOTS
    assert record.answers == (MarkedAnswer("It opened in 1889 in Paris.", ()),)


# Edits: a mistake beside its correction.

ARTICLE = "The tower of Arles is 330 m tall. Maria Keller opened it in 1889 for the city."
RIGHT = "Maria Keller opened the tall tower in 1889 ."
WRONG = "Paul Jonas opened the tall tower in 1889 ."


def bump(wrong: str, *, right: str = RIGHT, kind: str = "Intrinsic Entity Error") -> list[Any]:
    """A reference summary and the same with an error, as BUMP has them."""
    shared = {"context": ARTICLE, "question": None, "error_type": kind}
    return [
        {**shared, "id": "bump1-0-ref", "answer": right, "label": "consistent"},
        {
            **shared,
            "id": "bump1-0-edit",
            "answer": wrong,
            "original_answer": right,
            "label": "inconsistent",
        },
    ]


def defacto(answer: str, *, right: str, extrinsic: bool = False) -> dict[str, Any]:
    """A model's summary and what a person made of it, as DeFacto has them."""
    return {
        "id": "defacto-train-1",
        "context": ARTICLE,
        "question": None,
        "answer": answer,
        "label": "inconsistent" if right else "consistent",
        "intrinsic": bool(right) and not extrinsic,
        "extrinsic": extrinsic,
        "feedback": {"summary": right, "evidence": "", "instruction_list": []},
    }


def answers_of(path: Path, *rows: dict[str, Any]) -> tuple[MarkedAnswer, ...]:
    (record,) = edits(write(path / "edits.jsonl.gz", rows))
    return record.answers


def marked(answer: MarkedAnswer) -> list[tuple[str, int]]:
    return [(answer.text[start:end], label) for start, end, label in answer.spans]


def test_the_words_that_an_error_put_in_are_the_span(tmp_path: Path) -> None:
    right, wrong = answers_of(tmp_path, *bump(WRONG))
    assert right == MarkedAnswer(RIGHT, ())
    assert (wrong.text, marked(wrong)) == (WRONG, [("Paul Jonas", 2)])


def test_the_words_that_a_person_took_out_are_the_span(tmp_path: Path) -> None:
    row = defacto("The tower opened in May 1889.", right="The tower opened in 1889.")
    wrong, right = answers_of(tmp_path, row)
    assert marked(wrong) == [("May", 2)]
    assert right == MarkedAnswer("The tower opened in 1889.", ())


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("Intrinsic Predicate Error", 2),
        ("Coreference Error", 2),
        ("Other", 2),
        ("Extrinsic Circumstance Error", 1),
        ("Extrinsic Entity", 1),
    ],
)
def test_what_the_article_does_not_mention_is_unsupported(
    tmp_path: Path, kind: str, label: int
) -> None:
    _, wrong = answers_of(tmp_path, *bump(WRONG, kind=kind))
    assert marked(wrong) == [("Paul Jonas", label)]


@pytest.mark.parametrize(("extrinsic", "label"), [(True, 1), (False, 2)])
def test_people_said_whether_it_comes_from_outside(
    tmp_path: Path, extrinsic: bool, label: int
) -> None:
    row = defacto("It opened in May 1889.", right="It opened in 1889.", extrinsic=extrinsic)
    assert marked(answers_of(tmp_path, row)[0]) == [("May", label)]


def test_an_answer_in_order_has_no_spans_and_needs_no_correction(tmp_path: Path) -> None:
    assert answers_of(tmp_path, defacto("It is tall.", right="")) == (
        MarkedAnswer("It is tall.", ()),
    )


def test_a_rewritten_answer_says_nothing_about_words(tmp_path: Path) -> None:
    row = defacto("Nobody knows who made it.", right="Maria Keller opened the tower.")
    assert edits(write(tmp_path / "edits.jsonl.gz", [row])) == []


def test_where_words_were_only_left_out_there_is_nothing_to_mark(tmp_path: Path) -> None:
    row = defacto("It opened in 1889.", right="It opened in Arles in 1889.")
    assert edits(write(tmp_path / "edits.jsonl.gz", [row])) == []


def test_an_error_without_a_correction_is_left_out(tmp_path: Path) -> None:
    row = {**defacto("It opened in May.", right=""), "label": "inconsistent"}
    for feedback in ({"summary": ""}, None):
        path = write(tmp_path / "edits.jsonl.gz", [{**row, "feedback": feedback}])
        assert edits(path) == []


def test_answers_to_one_article_are_one_record_and_each_is_there_once(tmp_path: Path) -> None:
    rows = [*bump(WRONG), *bump(WRONG), *bump(RIGHT.replace("1889", "1989"))]
    other = {**defacto("It is tall.", right=""), "id": "2", "context": "The bridge is tall."}
    first, second = edits(write(tmp_path / "edits.jsonl.gz", [*rows, other]))
    assert [answer.text for answer in first.answers] == [
        RIGHT,
        WRONG,
        "Maria Keller opened the tall tower in 1989 .",
    ]
    assert (first.id, first.task, first.question, first.slots) == (
        "bump1-0-ref",
        "Summary",
        None,
        None,
    )
    assert first.sources == read_sources([ARTICLE])
    assert (second.id, second.answers) == ("2", (MarkedAnswer("It is tall.", ()),))


@pytest.mark.parametrize(
    ("right", "wrong", "changed"),
    [
        ("It is red.", "It is red.", []),
        ("It is red.", "it IS Red.", []),
        ("It is red.", "It  is\nred .", []),
        ("It is red.", "It is blue.", ["blue"]),
        ("It is red.", "It is very, very red.", ["very, very"]),
        ("He sold a car to Ann.", "She sold a car to Bob.", ["She", "Bob"]),
        ("It is not red.", "It is red.", []),
        ("", "It is.", ["It is."]),
        ("It is.", "", []),
        # "İ" has two letters in lower case, the second of which is no letter of a word.
        ("İzmir is big.", "İzmir is very big.", ["very"]),
    ],
)
def test_words_are_compared_in_their_order(right: str, wrong: str, changed: list[str]) -> None:
    assert [wrong[start:end] for start, end in changed_words(right, wrong)] == changed


def test_an_article_is_known_again_under_another_headline() -> None:
    article = "The council voted on Tuesday to close the old harbour bridge for repairs until June."
    held = [LabelledContext("1", "Summary", read_sources([article]), None, ())]
    others = [
        LabelledContext(
            "2", "Summary", read_sources([f"(CNN) -- {article.upper()} More."]), None, ()
        ),
        LabelledContext(
            "3", "Summary", read_sources(["The council voted to close the bridge."]), None, ()
        ),
        LabelledContext("4", "Summary", read_sources(["Rain.", article]), None, ()),
    ]
    assert shares_text(others, held) == [True, False, True]
    assert shares_text(others, []) == [False, False, False]


def test_documents_become_excerpts_and_pipe_tables(tmp_path: Path) -> None:
    page = "\n\n".join(f"Paragraph {n} {{{{< ref >}}}}. {'Words follow. ' * 20}" for n in range(6))
    rows = [
        {"id": "1", "title": "table", "text": "plan#price\nbasic#5\n"},
        {"id": "2", "title": "infobox", "text": '{"city": ["Graz"]}'},
        {"id": "3", "title": "page", "text": page},
    ]
    write(tmp_path / "some.jsonl.gz", rows)
    table, record, *excerpts = (d.sources[0].text for d in sets.documents(tmp_path))
    assert table == "| plan | price |\n| basic | 5 |"
    assert record == '{"city": ["Graz"]}'
    assert len(excerpts) == 2
    assert not any("ref" in text for text in excerpts)
