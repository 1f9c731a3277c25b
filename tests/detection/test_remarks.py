"""What the form of a text says about whether it may claim nothing."""

import pytest

from groundwire.detection.asides.remarks import least_odds


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
    ],
)
def test_a_text_that_ends_like_a_remark_or_speaks_of_you_needs_little_certainty(text: str) -> None:
    assert least_odds(text) == -1


def test_a_question_needs_less() -> None:
    assert least_odds("Should I order 2 pumps?") == least_odds("**Still stuck?**") == -3.3


@pytest.mark.parametrize(
    "text",
    [
        "The red lamp.",
        "Thanks for asking about the 90 pumps!",
        "The town hall would know.",
        "We offer phone support!",
        "You can call us.",
        "You can't return opened items.",
    ],
)
def test_another_sentence_needs_more_certainty(text: str) -> None:
    assert least_odds(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Sydney",  # may be the whole answer
        "Not reimbursed",
        "Yes.",  # states what was asked
        "No!",
        "The red lamp",
        "The guide is at docs.example.org/guide as you asked.",
        "Run it with the option max_weight if you like.",
    ],
)
def test_a_fragment_code_and_an_address_are_claims(text: str) -> None:
    assert least_odds(text) is None
