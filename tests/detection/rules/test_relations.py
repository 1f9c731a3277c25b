"""Who did what to whom, and whose a value is."""

import pytest

from groundwire.detection.rules import ConflictKind
from groundwire.detection.rules.relations import owners, roles
from tests.detection.rules.against import told_by

RIVERS = "The Yenisei is 3,500 km long. The Lena is 4,300 km long."


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


def test_a_value_of_another_name_is_wrong_where_its_own_has_one() -> None:
    claim = "The Yenisei is 4,300 km long."
    assert told_by(owners, claim, RIVERS) == [(ConflictKind.ENTITY, "4,300 km")]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The Lena is 4,300 km long.", RIVERS),
        ("The Yenisei is 4,300 km long.", "The Lena and the Yenisei are 4,300 km long."),
        ("The Yenisei is 4,300 km long.", "The Yenisei is deep. The Lena is 4,300 km long."),
        ("The Yenisei is 4,300 km long.", "The Yenisei is 3,500 km wide. It is 4,300 km long."),
        ("The Yenisei has four banks.", "The Yenisei has three banks. The Lena has four banks."),
    ],
)
def test_a_value_that_may_be_its_own_is_left_alone(claim: str, source: str) -> None:
    assert told_by(owners, claim, source) == []
