"""Claims that say the opposite of their evidence, or give it a higher rank."""

import pytest

from groundwire.detection.rules import ConflictKind
from groundwire.detection.rules.statements import (
    negations,
    ranks,
)
from tests.detection.rules.against import told, told_by

NEGATION = ConflictKind.NEGATION


@pytest.mark.parametrize(
    ("claim", "source", "words"),
    [
        ("The pool is not heated in winter.", "The pool is heated in winter.",
         "not heated in winter"),
        ("The pool is heated in winter.", "The pool isn't heated in winter.", "heated in winter"),
        ("The warranty covers accidental damage.",
         "The warranty does not cover accidental damage.", "covers accidental damage"),
        ("Parking costs extra at the hotel.", "Parking does not cost extra at the hotel.",
         "costs extra at the hotel"),
        ("Morning classes start before noon.", "Morning classes do not start before noon.",
         "start before noon"),
    ],
)  # fmt: skip
def test_a_not_on_one_side_alone_is_wrong(claim: str, source: str, words: str) -> None:
    assert told_by(negations, claim, source) == [(NEGATION, words)]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("If the pool is not heated, guests swim less.", "The pool is heated."),
        ("The pool is not heated in winter.", "The pool is heated in winter if guests ask."),
        ("The text does not mention whether the pool is heated.", "The pool is heated."),
        ("I cannot find that the pool is heated in winter.", "The pool is heated in winter."),
        ("The pool is unheated in winter.", "The pool is not heated in winter."),
        ("Smoking is prohibited in the hall.", "Smoking is not allowed in the hall."),
        ("The pool is not only heated in winter.", "The pool is heated in winter."),
        ("The fee is not more than 5 euros.", "The fee is 5 euros."),
        ("Some of the rooms do not have a balcony.", "Not all rooms have a balcony."),
        ("Members are not charged a fee.", "Non-members are charged a fee of $5."),
        ("Most rooms have no balcony.", "Some rooms have a balcony; most rooms do not."),
        ("Most rooms have no balcony.", "Some rooms have a balcony; most do not."),
        ("The shop is not open in the winter months.", "The shop is closed in the winter months."),
        ("The pool is not heated in winter.", '{"pool heated in winter": "by gas"}'),
        ("The pool is not heated in winter.", "The sauna is heated; guests bring towels."),
        ("Aaron Hernandez, the player, was in jail.", "Life was not easy for Aaron Hernandez."),
        ("Using a large spoon, dip the eggs.", "Do not scratch the pan using a large spoon."),
    ],
)
def test_conditions_refusals_and_other_ways_to_say_it_are_left_alone(
    claim: str, source: str
) -> None:
    assert told_by(negations, claim, source) == []


def test_one_line_that_agrees_is_enough() -> None:
    source = "The pool is heated in winter. The pool is not heated in winter."
    assert told_by(negations, "The pool is not heated in winter.", source) == []


@pytest.mark.parametrize(
    ("claim", "source", "words"),
    [
        ("The shop is open on Sundays.", "The shop is closed on Sundays.", "open"),
        ("Lee lost the election.", "Lee won the election.", "lost"),
        ("Mary is younger than John.", "Mary is older than John.", "younger"),
    ],
)
def test_an_opposite_in_the_same_place_is_wrong_of_a_short_claim(
    claim: str, source: str, words: str
) -> None:
    assert told_by(negations, claim, source) == [(NEGATION, words)]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Mary is younger than John.", "John is older than Mary."),
        ("Bob bought the old boat from Alice.", "Alice sold the old boat to Bob."),
        ("The village of Arl lies below the lake.", "The lake lies above the village of Arl."),
        ("The shop is open in winter.", "The shop is closed in summer."),
    ],
)
def test_opposites_between_changed_sides_say_the_same(claim: str, source: str) -> None:
    assert told(claim, source) == []


@pytest.mark.parametrize(
    "source",
    [
        "It is the second tallest tower in the county.",
        "It is one of the tallest towers in the county.",
        "It is among the tallest towers in the county.",
    ],
)
def test_the_first_of_what_is_not_is_wrong(source: str) -> None:
    claim = "It is the tallest tower in the county."
    assert told_by(ranks, claim, source) == [(ConflictKind.RANK, "tallest")]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It is the second tallest tower.", "It is the second tallest tower."),
        ("It is the tallest tower in the county.",
         "It is the tallest tower in the county, and the second tallest in the land."),
        ("It is the tallest tower in the county.", "It is one of the widest towers there."),
        ("The forest is dense.", "It is one of the forests that are dense."),
        ("He is one of the town's best-loved sons.", "He is one of the best-loved sons of Leeds."),
        ("It is among China's largest firms.", "It is one of the largest firms of China."),
    ],
)  # fmt: skip
def test_other_ranks_are_left_alone(claim: str, source: str) -> None:
    assert told_by(ranks, claim, source) == []
