"""Answers of a word or two."""

import pytest

from groundwire.detection.rules import Basis, find
from groundwire.text.lines import lines_of
from groundwire.text.quantities import QuantityIndex
from tests.detection.rules import against

SOURCE = (
    "Canberra is the capital of Australia. Sydney is its largest city. Perth is not the capital."
)


def settled(claim: str, question: str) -> list[str]:
    lines = [line.reading for line in lines_of(SOURCE)]
    found = find(claim, lines, Basis(lines, QuantityIndex.of(()), question))
    return [claim[start:end] for start, end in found.settled]


@pytest.mark.parametrize(
    ("claim", "question", "words"),
    [
        ("Canberra", "What is the capital of Australia?", ["Canberra"]),
        ("Canberra.", "What is the capital of Australia?", ["Canberra"]),
        ("Sydney", "What is the capital of Australia?", []),  # stands in another line
        ("Perth", "What is the capital of Western Australia?", []),  # which says that it is not
        ("Canberra", "Which one?", []),  # asks about nothing that a line could be known by
        ("Canberra", "", []),
        ("It may be Canberra, some say.", "What is the capital of Australia?", []),  # no short one
        ("...", "What is the capital of Australia?", []),
    ],
)
def test_a_short_answer_follows_if_a_line_has_it_with_what_is_asked(
    claim: str, question: str, words: list[str]
) -> None:
    assert settled(claim, question) == words


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It is 330 m tall.", "The tower is 330 metres tall and stands in Paris."),
        ("The train goes from Porto to Faro.", "The train goes from Porto by Lisbon to Faro."),
        ("The fee is 10 for children.", "The fee is 10 for children and 20 for adults."),
        ("Guests leave before 11 am.", "All guests have to leave the rooms before 11 am."),
    ],
)
def test_a_claim_follows_if_a_line_has_all_of_its_words(claim: str, source: str) -> None:
    assert against.settled(claim, source) == [claim.rstrip(".")]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Guests leave after 11 am.", "Guests leave before 11 am."),
        ("The fee is under 50 euros.", "The fee is over 50 euros."),
        ("The alarm turns off.", "The alarm turns on."),
        ("Guests must pay in cash.", "Guests may pay in cash."),
        ("The comet was a broken moon.", "The comet could be a broken moon."),
        ("The pool opens unless it rains.", "The pool opens when it rains."),
        ("The train goes from Faro to Porto.", "The train goes from Porto to Faro."),
        ("The moon is nearer than the sun.", "The sun is nearer than the moon."),
        ("The fee is 20 for children.", "The fee is 20 for adults and 10 for children."),
        ("They won three games.", "They won two of three games."),
    ],
)
def test_the_same_words_that_may_say_something_else_settle_nothing(claim: str, source: str) -> None:
    assert against.settled(claim, source) == []
