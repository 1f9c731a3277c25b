"""What the form of a text says about whether it may claim nothing."""

import pytest

from groundwire.detection.asides.known_words import KnownWords
from groundwire.detection.asides.remarks import may_be_remark

KNOWN = KnownWords(["The plant in Ulm makes pumps."], "Who runs it?")


@pytest.mark.parametrize(
    "text",
    [
        "Good luck with your project!",
        "Cheers!",
        "Let me know if you have questions about Ulm.",
        "I have kept this short.\n*Tell me if you want more.*",
        "We’re always here to help.",
        "Here are the rules:",
        "Hi there 👋",
        "Should I order 2 pumps?",  # a question claims nothing
    ],
)
def test_a_text_that_ends_like_one_may_be_a_remark(text: str) -> None:
    assert may_be_remark(text, KNOWN)


@pytest.mark.parametrize(
    "text",
    [
        "Sydney",  # may be the whole answer
        "Not reimbursed",
        "The red lamp",
        "The red lamp.",
        "Here are the facts about the plant in Hamburg:",
        "Below is an overview of the five plants:",
        "Thanks for asking about the 90 pumps!",
        "The guide is at docs.example.org/guide as you asked",
        "Run it with the option max_weight if you like",
    ],
)
def test_a_fragment_a_new_name_a_number_and_an_address_are_claims(text: str) -> None:
    assert not may_be_remark(text, KNOWN)
