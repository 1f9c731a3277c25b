"""Weave's ``Evaluation`` with the scorer; nothing is sent to Weights & Biases."""

import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),  # of what Weave itself uses
]
needs("weave", extra="weave")
os.environ.setdefault("WEAVE_DISABLED", "true")  # read when it is imported

with warnings.catch_warnings(action="ignore"):  # of what it imports itself
    import weave


@pytest.fixture(autouse=True)
def client() -> Iterator[None]:
    weave.init("groundwire/tests")
    yield
    weave.finish()


@weave.op
def scripted(says: Any) -> Any:
    """A model that says what stands in its row."""
    return says


def evaluated(*rows: dict[str, Any]) -> Any:
    """What the snippet of the page says of rows."""
    return snippet("Weave", dataset=list(rows), model=scripted)["summary"]["Groundedness"]


def row(says: Any, **evidence: Any) -> dict[str, Any]:
    return {"question": QUESTION, "says": says, **evidence}


@pytest.mark.shows("Weave", evidence="columns of a row")
def test_the_outputs_that_the_row_supports_are_counted() -> None:
    summary = evaluated(row(WRONG, context=[TOWER]), row(RIGHT, context=[TOWER]))
    assert summary["passed"] == {"true_count": 1, "true_fraction": 0.5}
    assert summary["score"] == {"mean": 0.5}


@pytest.mark.shows("Weave", unchecked="neither `passed` nor `score`")
def test_an_output_without_evidence_counts_neither_way() -> None:
    summary = evaluated(row(RIGHT), row(WRONG, context=[TOWER]))
    assert summary["passed"] == {"true_count": 0, "true_fraction": 0}
    assert evaluated(row(RIGHT, context=[])) is None


@pytest.mark.shows("Weave", evidence="sources in the output")
def test_an_output_can_have_its_own_sources() -> None:
    for answer, count in ((WRONG, 0), (RIGHT, 1)):
        summary = evaluated(row({"answer": answer, "contexts": [TOWER]}))
        assert summary["passed"]["true_count"] == count


def test_a_score_says_why() -> None:
    names = snippet("Weave", dataset=[row(WRONG, context=[TOWER])], model=scripted)
    results = names["asyncio"].run(names["evaluation"].get_eval_results(scripted))
    (found,) = [each["scores"]["Groundedness"] for each in results.rows]
    assert (found["passed"], found["status"]) == (False, "failed")
    assert "330 metres" in found["reason"]
