"""The table of the documentation has every kind of conflict, each as it is found."""

import re
from pathlib import Path

import pytest

from groundwire.detection.rules import ConflictKind
from tests.detection.rules.against import told

PAGE = Path(__file__).parents[3] / "docs" / "conflicts.md"
_ROW = re.compile(r"^\| `(\w+)` \| (.+\*\*.+) \| (.+) \|$", re.MULTILINE)

if not PAGE.is_file():
    pytest.skip("this is no checkout", allow_module_level=True)


def rows() -> list[tuple[str, str, str]]:
    """Kind, claim and evidence of each row."""
    return _ROW.findall(PAGE.read_text(encoding="utf-8"))


def test_every_kind_is_documented_once() -> None:
    assert [kind for kind, _, _ in rows()] == [str(kind) for kind in ConflictKind]


@pytest.mark.parametrize(("kind", "claim", "evidence"), rows(), ids=lambda value: value[:12])
def test_a_documented_conflict_is_found(kind: str, claim: str, evidence: str) -> None:
    before, wrong, after = claim.split("**")
    data = re.match(r"`(.+?)`", evidence)
    found = told(before + wrong + after, data[1] if data else evidence)
    assert (ConflictKind(kind), wrong) in found
