"""Claims made of the sources' own words: what is wrong is marked, what is right is not."""

import random

import pytest

from groundwire.detection.example import read_sources
from groundwire_training.sets import LabelledContext

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SOURCE = (
    "The prize went to Edda Brandt in 1912. She had studied under Otto Hruban, whom "
    "the jury passed over; in 1915 his friend Carl Strass received it."
)
SLOTS = (
    "Edda Brandt won in {{1912||1918||conflict}}. She learned when Otto Hruban taught, long before "
    "Carl Strass, who won it in {{1915||1921||conflict}}{{||, his last year||baseless}}."
)


def record(slots: str = SLOTS) -> LabelledContext:
    return LabelledContext("1", "qa", read_sources([SOURCE]), "Who won?", (), slots)


def test_a_value_answers_a_question_with_a_blank() -> None:
    from groundwire_training.bound import short_answer

    made = short_answer(record(), random.Random(1))
    assert made is not None
    right, *wrong = made.answers
    assert right.text.rstrip(".") in {"1912", "1915"}
    assert right.text.rstrip(".") not in (made.question or "")
    assert not right.spans
    # The slot's wrong text, and the value that belongs elsewhere.
    assert {answer.text.rstrip(".") for answer in wrong} & {"1912", "1915"}
    assert all(a.spans == ((0, len(a.text.rstrip(".")), 2),) for a in wrong)


def test_names_change_places() -> None:
    from groundwire_training.bound import swapped_names

    made = swapped_names(record(), random.Random(1))
    assert made is not None
    right, wrong = made.answers
    assert not right.spans
    assert wrong.text.startswith("She learned when Carl Strass taught, long before Otto Hruban,")
    assert [wrong.text[a:b] for a, b, _ in wrong.spans] == ["Carl Strass", "Otto Hruban"]


def test_a_sentence_gets_the_subject_of_another() -> None:
    from groundwire_training.bound import other_subject

    lease = "The supplier delivers within 14 days. The buyer bears the cost of transport. It rains."
    made = other_subject(
        LabelledContext("1", "docs", read_sources([lease]), None, (), "It is so."), random.Random(1)
    )
    assert made is not None
    right, wrong = made.answers
    assert right.text in lease
    subject = wrong.text[: wrong.spans[0][1]]
    assert {right.text.removesuffix(wrong.text[len(subject) :]), subject} == {
        "The supplier",
        "The buyer",
    }


def test_a_number_is_that_of_something_else() -> None:
    from groundwire_training.bound import other_value

    hotels = "Hotel Alba has 42 rooms, a pool. Hotel Corso has 67 rooms, with parking for 8 cars."
    made = other_value(
        LabelledContext("1", "docs", read_sources([hotels]), None, (), "It is so."),
        random.Random(1),
    )
    assert made is not None
    right, wrong = made.answers
    ((start, end, _),) = wrong.spans
    assert {right.text[start:end], wrong.text[start:end]} == {"42", "67"}
    assert right.text in hotels


def test_names_that_may_change_places_stay() -> None:
    from groundwire_training.bound import swapped_names

    both = "In 1915 the jury knew Otto Hruban and also Carl Strass."
    assert swapped_names(record(both), random.Random(1)) is None


def test_without_a_short_slot_nothing_is_asked() -> None:
    from groundwire_training.bound import short_answer

    assert short_answer(record("Nobody else won{{|| it||baseless}}."), random.Random(1)) is None


def test_a_mistake_is_marked() -> None:
    from groundwire_training.bound import mistaken

    made = mistaken(record(), random.Random(1))
    assert made is not None
    right, *wrong = made.answers
    assert not right.spans
    assert wrong
    assert all(answer.spans and answer.text != right.text for answer in wrong)


def test_a_field_is_told_right_and_with_a_neighbours_value() -> None:
    from groundwire_training.fields import other_field

    rows = ("| Plan | Price | Storage |", "| Basic | 5 | 10 GB |", "| Team | 12 | 99 GB |")
    table = "\n".join((rows[0], "| --- | --- | --- |", *rows[1:]))
    record = LabelledContext("t", "t", read_sources([table]), None, ())
    for seed in range(20):
        found = other_field(record, random.Random(seed))
        assert found is not None
        for right, wrong in zip(found.answers[::2], found.answers[1::2], strict=True):
            ((start, end, _),) = wrong.spans
            plan = "Basic" if "Basic" in wrong.text else "Team"
            row = next(line for line in rows if plan in line)
            assert not right.spans
            column = 2 if "Storage" in wrong.text else 1
            assert wrong.text[start:end] != row.split("|")[column + 1].strip()


def test_a_yes_becomes_a_no() -> None:
    from groundwire_training.fields import other_field

    source = '{"name": "Luma", "attributes": {"OutdoorSeating": false}}'
    record = LabelledContext("r", "r", read_sources([source]), None, ())
    found = other_field(record, random.Random(0))
    assert found is not None
    right, wrong = found.answers
    assert "outdoor seating" in right.text.lower()
    assert right.text != wrong.text
    assert not right.spans
    assert wrong.spans == ((0, len(wrong.text), 2),)


def test_another_wording_changes_what_is_said_or_does_not() -> None:
    from groundwire_training.reworded import other_wording

    source = "Refresh tokens must be stored in a vault. Whether access tokens must be kept is open."
    record = LabelledContext("w", "w", read_sources([source]), None, ())
    found = [other_wording(record, random.Random(seed)) for seed in range(20)]
    rights = {each.answers[0].text for each in found if each}
    wrongs = {each.answers[1].text for each in found if each}
    assert "Refresh tokens have to be stored in a vault." not in wrongs
    assert "Refresh tokens may be stored in a vault." in wrongs
    assert "Refresh tokens must be stored in a vault." in rights
    assert not any("Whether" in text for text in rights | wrongs)


def test_another_sentences_end_is_unsupported() -> None:
    from groundwire_training.reworded import other_end

    source = "The report appears twice a year. The board meets in Vienna after the summer break."
    record = LabelledContext("e", "e", read_sources([source]), None, ())
    found = other_end(record, random.Random(0))
    assert found is not None
    right, wrong = found.answers
    ((start, end, label),) = wrong.spans
    assert right.text == "The report appears twice a year."
    assert wrong.text[start:end] == "after the summer break"
    assert label == 1


def test_a_sentence_that_the_sources_lost_is_unsupported() -> None:
    from groundwire_training.bound import left_out

    source = (
        "Batteries are excluded from every warranty of the manufacturer. "
        "Customers in Norway receive another thirty months by national law. "
        "Repairs happen at certified workshops across southern Germany."
    )
    record = LabelledContext("l", "l", read_sources([source]), None, ())
    found = left_out(record, random.Random(1))
    assert found is not None
    lost = [answer for answer in found.answers if answer.doubts]
    assert [answer.doubts for answer in lost] == [((0, len(lost[0].text), 1),)]
    assert lost[0].text in source
    assert lost[0].text not in found.sources[0].text
