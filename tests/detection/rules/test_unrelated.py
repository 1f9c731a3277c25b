"""Claims that have no word in common with their evidence."""

import pytest

from groundwire.detection.rules import ConflictKind
from groundwire.detection.rules.unrelated import unrelated
from groundwire.detection.values import Label
from tests.detection.rules.against import findings, told_by

BILLING = "Invoices are sent on the first of the month. Payment is due after 30 days."


@pytest.mark.parametrize(
    "claim",
    [
        "The office is closed on Mondays.",
        "The tower was painted green by a local artist!",
        "Our lifts are inspected every spring.",
    ],
)
def test_a_claim_about_something_else_is_found_as_a_whole(claim: str) -> None:
    assert told_by(unrelated, claim, BILLING) == [(ConflictKind.UNRELATED, claim[:-1])]


@pytest.mark.parametrize(
    "claim",
    [
        "The monthly bill is mailed on day one, with payment later.",  # a word in common
        "The office invoices its tenants on Mondays.",
        "It depends.",  # too little to be about anything
        "Is the office closed on Mondays?",
        "**Office hours and holidays of the team:**",
        "I hope this helps you with the question!",
        "If there is more to ask, feel free to write.",
        "The opening hours of the office are not mentioned anywhere.",
        "Das Büro ist am Montag geschlossen.",
    ],
)
def test_what_shares_a_word_or_claims_nothing_is_left_alone(claim: str) -> None:
    assert told_by(unrelated, claim, BILLING) == []


def test_evidence_in_another_language_shares_no_word_either() -> None:
    german = "Rechnungen werden am Ersten des Monats verschickt."
    assert told_by(unrelated, "The office is closed on Mondays.", german) == []


def test_names_of_fields_count_as_words() -> None:
    record = '{"RestaurantsTakeOut": true, "name": "Zizzi", "about": "the best of its kind"}'
    assert told_by(unrelated, "Takeout is also offered by all the places here.", record) == []


def test_it_is_unsupported_whatever_the_model_says() -> None:
    (found,) = findings("The office is closed on Mondays.", BILLING).conflicts
    assert (found.label, found.stands_alone) == (Label.UNSUPPORTED, True)
