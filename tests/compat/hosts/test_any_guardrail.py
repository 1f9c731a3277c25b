"""any-guardrail's ``evaluate`` with the guardrail."""

from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = pytest.mark.nightly
needs("any_guardrail", extra="any-guardrail")


def evaluated(answer: str, passages: Any) -> Any:
    """The output of the page's snippet, and what it says of the category."""
    names = snippet("any-guardrail", question=QUESTION, answer=answer, passages=passages)
    output = names["output"]
    (category,) = output.categories
    assert category.name == "hallucination"
    return output, category.triggered


@pytest.mark.shows("any-guardrail", evidence="`context`")
@pytest.mark.parametrize("passages", [[TOWER], TOWER])
def test_an_answer_is_valid_if_the_context_supports_it(passages: Any) -> None:
    output, triggered = evaluated(RIGHT, passages)
    assert (output.valid, triggered, output.score, output.spans) == (True, False, 0, [])
    output, triggered = evaluated(WRONG, passages)
    assert (output.valid, triggered, output.score) == (False, True, 1)
    assert "330 metres" in output.explanation
    (span,) = output.spans
    assert (WRONG[span.start : span.end], span.text) == ("500 metres", "500 metres")


@pytest.mark.shows("any-guardrail", unchecked="not valid, and `triggered=None` in `categories`")
@pytest.mark.parametrize("passages", [[], None])
def test_an_answer_without_context_is_not_valid(passages: Any) -> None:
    output, triggered = evaluated(RIGHT, passages)
    assert (output.valid, triggered, output.score) == (False, None, None)
    assert output.explanation.startswith("Not checked: ")


def test_an_answer_that_claims_nothing_is_valid() -> None:
    output, triggered = evaluated("You're welcome!", [TOWER])
    assert (output.valid, triggered, output.score) == (True, None, None)
