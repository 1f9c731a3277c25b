"""Who did what to whom."""

import pytest

from groundwire.detection.rules import ConflictKind
from groundwire.detection.rules.relations import roles
from tests.detection.rules.against import told_by


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Ruiz defeated Tanaka", "Tanaka defeated Ruiz in the final."),
        ("Ruiz was defeated by Tanaka", "In 1990, Tanaka was defeated by Ruiz."),
    ],
)
def test_two_names_on_the_other_sides_of_a_verb_are_wrong(claim: str, source: str) -> None:
    assert told_by(roles, f"{claim} in the final.", source) == [(ConflictKind.ROLES, claim)]


@pytest.mark.parametrize("compared", ["is older", "has more patience", "runs faster"])
def test_two_names_on_the_other_sides_of_a_than_are_wrong(compared: str) -> None:
    claim, source = f"Ruiz {compared} than Tanaka", f"Tanaka {compared} than Ruiz."
    assert told_by(roles, claim, source) == [(ConflictKind.ROLES, claim)]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Ruiz defeated Tanaka.", "Ruiz defeated Tanaka."),
        ("Tanaka was defeated by Ruiz.", "Ruiz defeated Tanaka."),
        ("Tanaka met Ruiz in Lima.", "Ruiz met Tanaka in Lima."),
        ("Tanaka and Ruiz defeated Moreau.", "Ruiz and Tanaka defeated Moreau."),
        ("Ruiz defeated Tanaka.", "Tanaka praised Ruiz."),
        ("Ruiz defeated Tanaka.", "Tanaka defeated Moreau, and Moreau defeated Ruiz."),
        ("Metropolis starred Tanaka.", "Tanaka starred in Metropolis."),
        ("Ruiz is less patient than Tanaka.", "Tanaka is more patient than Ruiz."),
        ("Ruiz is older than Tanaka.", "Tanaka is not older than Ruiz."),
    ],
)
def test_another_voice_mutual_verbs_and_other_verbs_are_left_alone(claim: str, source: str) -> None:
    assert told_by(roles, claim, source) == []


def test_days_are_no_names() -> None:
    assert told_by(roles, "Monday followed Sunday.", "Sunday followed Monday.") == []
