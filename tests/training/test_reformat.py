"""The same values written in other ways."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire.text.quantities import Match, QuantityIndex, quantities
from groundwire_training.reformat import reformatted


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Nothing here needs the folder's PyTorch."""


def ways(text: str) -> set[str]:
    return {
        reformatted(MarkedAnswer(text, ()), random.Random(seed), share=1.0).text
        for seed in range(40)
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It has 12345 seats.", "It has 12,345 seats."),
        ("It has 12,345 seats.", "It has 12345 seats."),
        ("About 5 percent left.", "About 5% left."),
        ("About 5% left.", "About 5 percent left."),
        ("It is 330 metres tall.", "It is 330 m tall."),
        ("It is 5.5 kilometers away.", "It is 5.5 km away."),
        ("It is 5.5 km away.", "It is 5.5 kilometres away."),
        ("It holds 12GB.", "It holds 12 gigabytes."),
        ("It opens at 10 AM.", "It opens at 10:00."),
        ("It closes at 4:30 p.m. daily.", "It closes at 16:30 daily."),
        ("It closes at 16:30.", "It closes at 4:30 PM."),
        ("On January 5 it rained.", "On 5 January it rained."),
        ("On January 5, 2020 it rained.", "On 2020-01-05 it rained."),
        ("On 5 January 2020 it rained.", "On January 5, 2020 it rained."),
        ("It has 3 rooms.", "It has three rooms."),
        ("It has three rooms.", "It has 3 rooms."),
        ("It has 3 rooms.", "It has **3** rooms."),
    ],
)
def test_a_value_in_another_format(text: str, expected: str) -> None:
    # Bold takes the same place in some orders, and is the exception.
    assert expected in ways(text) | {
        reformatted(MarkedAnswer(text, ()), random.Random(seed)).text for seed in range(200)
    }


@pytest.mark.parametrize(
    "text",
    [
        "In 1984 it fell.",
        "See page 3.",
        "Version 3.12 is out.",
        "Call 555-1234.",
        "It was Twenty-two.",
    ],
)
def test_what_may_mean_something_else_is_left_or_only_bold(text: str) -> None:
    assert {way.replace("*", "") for way in ways(text)} == {text}


def test_what_is_marked_stays_and_ranges_move_along() -> None:
    answer = MarkedAnswer("In 12345 cases 7 percent of 9,876 failed.", ((15, 24, 2), (28, 33, 1)))
    for seed in range(30):
        again = reformatted(answer, random.Random(seed), share=1.0)
        assert [again.text[s:e] for s, e, _ in again.spans] == ["7 percent", "9,876"]
    assert "12,345" in "".join(
        reformatted(answer, random.Random(seed), share=1.0).text for seed in range(30)
    )


@given(
    st.sampled_from(
        [
            "12,345 people",
            "5 percent",
            "10 AM",
            "4:30 PM",
            "January 5, 2020",
            "5 January 2020",
            "3 cups",
        ]
    ),
    st.integers(0, 1000),
)
def test_the_value_stays_the_same(value: str, seed: int) -> None:
    index = QuantityIndex.of(quantities(f"It was {value} then."))
    again = reformatted(MarkedAnswer(f"It was {value} then.", ()), random.Random(seed), share=1.0)
    found = [index.match(quantity) for quantity in quantities(again.text.replace("*", ""))]
    assert found
    assert set(found) <= {Match.EQUAL, Match.TIME_EQUAL, Match.DATE_EQUAL}
