"""Answers of a word or two."""

import pytest

from groundwire.conflicts import Basis, find
from groundwire.lines import lines_of
from groundwire.quantities import QuantityIndex

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
