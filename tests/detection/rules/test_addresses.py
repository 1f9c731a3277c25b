"""Web and mail addresses that the evidence lacks."""

import pytest

from groundwire.detection.rules import ConflictKind
from groundwire.detection.rules.addresses import addresses
from tests.detection.rules.against import told_by


@pytest.mark.parametrize(
    ("claim", "source", "found"),
    [
        (
            "See https://docs.example.com/time.",
            "See https://portal.example.com/help.",
            ["https://docs.example.com/time"],
        ),
        ("Write to pay@a.example, please.", "Write to hr@a.example.", ["pay@a.example"]),
        ("See https://a.example/help.", "See a.example/help or HTTPS://A.example/HELP", []),
        *(
            (written, "See https://a.example/help.", [])
            for written in (
                "See <https://a.example/help>.",
                "See `https://a.example/help`.",
                "See **https://a.example/help/**.",
                "See [https://a.example/help](https://a.example/help).",
            )
        ),
        ("See <https://a.example/x>.", "See https://b.example.", ["https://a.example/x"]),
        ("It is at the usual address.", "See https://a.example.", []),
    ],
)
def test_an_address_that_stands_nowhere_is_wrong(claim: str, source: str, found: list[str]) -> None:
    assert told_by(addresses, claim, source) == [(ConflictKind.REFERENCE, each) for each in found]
