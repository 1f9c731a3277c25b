"""Mistakes made by program."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.corrupt import (
    KINDS,
    Edit,
    Grounds,
    applied,
    corrupt,
    draw_corrupted,
    false_premise,
)
from groundwire_training.sets import LabelledContext

SOURCE = (
    "The tower of Arles is 330 m tall and drew 2.1 million visitors in 1995. "
    "Its lift, designed by Maria Keller, opened on March 5, 1990. "
    "The director, Paul Jonas, said tickets cost $1,250 per day. "
    "It is open from 9:00 am to 5 PM on Friday. It does not offer parking. "
    "The first floor may close before the summer."
)
ANSWER = (
    "The tower drew 2.1 million visitors in 1995. It is 330 m tall. "
    "According to Paul Jonas, tickets cost $1,250 per day. The lift designed by Maria Keller "
    "opened on March 5, 1990. It is open from 9:00 am to 5 PM on Friday. "
    "The tower does not offer parking. The first floor may close before the summer."
)
STRANGER = LabelledContext(
    id="2",
    task="QA",
    sources=read_sources(["The actor Lena Ortiz lives in Quito. Mr. Tom Varga said so in Quito."]),
    question=None,
    answers=(
        MarkedAnswer("Lena Ortiz filmed seventeen comedies near Quito during the autumn.", ()),
    ),
)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Nothing here needs PyTorch, which the other tests of this folder set up."""
    return iter(())


def corrupted(answer: str, source: str, *, kind: str, seed: int = 0) -> MarkedAnswer:
    grounds = Grounds([source], [STRANGER])
    wrong = corrupt(MarkedAnswer(answer, ()), grounds, random.Random(seed), kind=kind)
    assert wrong is not None
    return wrong


def marked(answer: MarkedAnswer) -> list[str]:
    return [answer.text[start:end] for start, end, _ in answer.spans]


def outside(answer: MarkedAnswer) -> list[str]:
    """The text between the spans."""
    at, parts = 0, []
    for start, end, _ in sorted(answer.spans):
        parts.append(answer.text[at:start])
        at = end
    return [*parts, answer.text[at:]]


def test_an_edit_is_marked_and_moves_the_spans_behind_it() -> None:
    answer = MarkedAnswer("red or blue or green", ((7, 11, 1),))
    wrong = applied(answer, [Edit(0, 3, "orange"), Edit(15, 20, "grey", 1)])
    assert wrong == MarkedAnswer("orange or blue or grey", ((0, 6, 2), (10, 14, 1), (18, 22, 1)))


def test_a_number_keeps_its_form() -> None:
    for seed in range(20):
        (wrong,) = marked(corrupted("It cost $1,250.", SOURCE, kind="number", seed=seed))
        assert wrong != "1,250"
        assert "," in wrong or float(wrong) < 1000


def test_a_number_near_an_inequality_falsifies_it() -> None:
    for seed in range(20):
        wrong = corrupted("It has over 40 rooms.", "It has 40 rooms.", kind="number", seed=seed)
        assert int(marked(wrong)[0]) > 40


def test_a_number_that_the_sources_lack_is_left_alone() -> None:
    grounds = Grounds(["It has 40 rooms."])
    assert (
        corrupt(MarkedAnswer("It has 50 rooms.", ()), grounds, random.Random(0), kind="number")
        is None
    )


def test_a_magnitude_is_marked_with_its_number() -> None:
    source = "It drew 2.1 million people."
    found = {marked(corrupted(source, source, kind="number", seed=seed))[0] for seed in range(30)}
    assert found & {"2.1 billion", "2.1 trillion"}


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("It opened in 1995.", "It opened in "),
        ("It opens at 5 PM.", "It opens at "),
        ("It shuts on Friday.", "It shuts on "),
        ("It dates from March 5, 1990.", "It dates from "),
    ],
)
def test_another_date_is_marked(answer: str, kept: str) -> None:
    wrong = corrupted(answer, SOURCE, kind="date")
    assert wrong.text.startswith(kept)
    assert wrong.text != answer
    assert marked(wrong)[0] not in answer or marked(wrong)[0] == "5"


def test_one_end_of_a_range_of_weekdays_stays() -> None:
    grounds = Grounds(["Open Monday to Friday."])
    answer = MarkedAnswer("It is open Monday to Friday.", ())
    assert corrupt(answer, grounds, random.Random(0), kind="date") is None


def test_the_half_of_the_day_keeps_its_form() -> None:
    text = "It opens at 9 a.m. today."
    found = {corrupted(text, text, kind="date", seed=seed).text for seed in range(20)}
    assert "It opens at 9 p.m. today." in found


def test_a_unit_is_marked_alone() -> None:
    wrong = corrupted("It lies 5 km away.", "It is 5 km away.", kind="unit")
    assert wrong == MarkedAnswer("It lies 5 miles away.", ((10, 15, 2),))


def test_a_unit_that_the_sources_use_too_is_left_alone() -> None:
    grounds = Grounds(["It is 5 km (3.1 miles) away."])
    answer = MarkedAnswer("It lies 5 km away.", ())
    assert corrupt(answer, grounds, random.Random(0), kind="unit") is None


def test_another_name_of_the_same_kind_is_marked() -> None:
    source = "The director, Paul Jonas, said so. Years before that, the actor Ana Ruiz left."
    wrong = corrupted("The film was made by Paul Jonas in May.", source, kind="entity", seed=3)
    assert marked(wrong)[0] in ("Ana Ruiz", "Lena Ortiz", "Tom Varga")
    assert wrong.text == f"The film was made by {marked(wrong)[0]} in May."


def test_names_in_data_do_not_take_the_place_of_others() -> None:
    source = str({"owner": "the actor Paul Jonas", "chef": "the actor Ana Ruiz"})
    for seed in range(20):
        wrong = corrupted("It is run by Paul Jonas.", source, kind="entity", seed=seed)
        assert marked(wrong) == ["Lena Ortiz"]


def test_two_figures_change_places_and_both_are_marked() -> None:
    text = "It cost $40 in spring but $65 in autumn."
    assert corrupted(text, text, kind="swap") == MarkedAnswer(
        "It cost $65 in spring but $40 in autumn.", ((8, 11, 2), (26, 29, 2))
    )


@pytest.mark.parametrize(
    ("right", "wrong", "span"),
    [
        ("The door is open.", "The door is not open.", "is not"),
        ("Guests can swim.", "Guests cannot swim.", "cannot"),
        ("The hotel offers a pool.", "The hotel does not offer a pool.", "does not offer"),
        ("It does not offer parking.", "It offers parking.", "offers"),
        ("The lift isn't new.", "The lift is new.", "is"),
        ("He did not pay.", "He did pay.", "did"),
    ],
)
def test_a_negation_comes_or_goes(right: str, wrong: str, span: str) -> None:
    made = corrupted(right, right, kind="negation")
    assert (made.text, marked(made)) == (wrong, [span])


def test_an_opposite_takes_its_article_along() -> None:
    text = "Prices saw an increase of two."
    wrong = corrupted(text, text, kind="opposite")
    assert (wrong.text, marked(wrong)) == ("Prices saw a decrease of two.", ["a decrease"])


def test_lost_doubt_is_unsupported_and_not_contradicted() -> None:
    text = "The floor may close."
    assert corrupted(text, text, kind="opposite") == MarkedAnswer(
        "The floor will close.", ((10, 14, 1),)
    )


def test_a_foreign_sentence_is_marked_whole() -> None:
    wrong = corrupted("It is tall. It is old.", SOURCE, kind="foreign")
    assert marked(wrong) == [STRANGER.answers[0].text]
    assert [label for _, _, label in wrong.spans] == [1]


words = ANSWER.split(" ")
span = st.tuples(st.integers(0, len(words) - 1), st.integers(1, 4), st.sampled_from((1, 2)))


@given(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 999), spans=st.lists(span))
def test_a_mistake_changes_nothing_but_what_it_marks(
    kind: str, seed: int, spans: list[tuple[int, int, int]]
) -> None:
    had, at = [], 0
    for first, n, label in sorted(spans):
        if first >= at:
            start = len(" ".join([*words[:first], ""]))
            had.append((start, start + len(" ".join(words[first : first + n])), label))
            at = first + n
    answer = MarkedAnswer(ANSWER, tuple(had))
    grounds = Grounds([SOURCE], [STRANGER])
    wrong = corrupt(answer, grounds, random.Random(seed), kind=kind)
    assert wrong == corrupt(answer, grounds, random.Random(seed), kind=kind)
    if wrong is None:
        return
    # What was marked still is, word for word, and in the same order.
    left = iter(zip(marked(wrong), (label for *_, label in wrong.spans), strict=True))
    assert all((ANSWER[s:e], label) in left for s, e, label in had)
    assert 1 <= len(wrong.spans) - len(had) <= 2
    assert all(a[1] < b[0] for a, b in zip(wrong.spans, wrong.spans[1:], strict=False))
    assert all(text == text.strip() != "" for text in marked(wrong))
    # What is not marked stands in the answer, in the same order.
    place = 0
    for part in outside(wrong):
        found = ANSWER.find(part.strip(), place)
        assert found >= 0
        place = found + len(part.strip())


def record(*answers: MarkedAnswer) -> LabelledContext:
    return LabelledContext(
        id="1", task="QA", sources=read_sources([SOURCE]), question="How tall?", answers=answers
    )


def test_the_answers_with_the_fewest_spans_are_corrupted() -> None:
    clean, doubtful = (
        MarkedAnswer(ANSWER, ()),
        MarkedAnswer("It is 900 m tall, 2 m wide.", ((6, 11, 2),)),
    )
    made = draw_corrupted(record(doubtful, clean), 1, random.Random(0), [STRANGER])
    assert len(made) == 1
    assert 1 <= len(made[0].spans) <= 4
    assert "parking" in made[0].text


def test_a_false_premise_is_no_evidence_for_the_answer_that_repeats_it() -> None:
    asked = false_premise(record(MarkedAnswer("It is 330 m tall.", ())), random.Random(0))
    assert asked is not None
    faithful, repeated = asked.answers
    assert faithful == MarkedAnswer("It is 330 m tall.", ())
    assert asked.question is not None
    assert f" that i{repeated.text[1:-1]}" in asked.question
    assert repeated.spans
    assert repeated.text != faithful.text
