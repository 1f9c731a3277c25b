"""Ragas's own scoring with the metric."""

import math

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = pytest.mark.nightly
needs("ragas", extra="ragas")

from groundwire.compat.ragas import Groundedness


@pytest.mark.shows("Ragas", evidence="`retrieved_contexts`", unchecked="NaN, with the reason")
def test_a_batch_gets_scores_and_reasons() -> None:
    rows = [
        {"user_input": QUESTION, "response": answer, "retrieved_contexts": contexts}
        for answer, contexts in ((WRONG, [TOWER]), (RIGHT, [TOWER]), (RIGHT, []))
    ]
    wrong, right, without = snippet("Ragas")["metric"].batch_score(rows)
    assert (wrong.value, right.value) == (0, 1)
    assert "330 metres" in wrong.reason
    assert math.isnan(without.value)
    assert without.reason.startswith("Not checked")


def test_one_response_is_scored() -> None:
    assert Groundedness().score(response=RIGHT, retrieved_contexts=[TOWER]).value == 1
