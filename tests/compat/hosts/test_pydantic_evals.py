"""pydantic-evals with the evaluator."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = pytest.mark.nightly
needs("pydantic_evals", extra="pydantic-evals")

from pydantic_evals import Case, Dataset


def evaluated(dataset: Dataset[Any, Any, Any], task: Callable[[Any], Any]) -> Any:
    async def answer(inputs: Any) -> Any:
        return task(inputs)

    return asyncio.run(dataset.evaluate(answer, progress=False))


@pytest.mark.shows(
    "pydantic-evals",
    evidence="inputs of a case",
    unchecked="the label `not checked`, without assertion and score",
)
def test_a_dataset_gets_assertions_scores_and_labels() -> None:
    cases = [
        Case(name="wrong", inputs={"question": QUESTION, "answer": WRONG, "context": [TOWER]}),
        Case(name="right", inputs={"question": QUESTION, "answer": RIGHT, "context": [TOWER]}),
        Case(name="without", inputs={"question": QUESTION, "answer": RIGHT}),
    ]
    evaluators = snippet("pydantic-evals")["evaluators"]
    dataset: Dataset[Any, Any, Any] = Dataset(name="tower", cases=cases, evaluators=evaluators)
    report = evaluated(dataset, lambda inputs: inputs["answer"])
    wrong, right, without = report.cases
    assert wrong.assertions["grounded"].value is False
    assert "330 metres" in str(wrong.assertions["grounded"].reason)
    assert (right.assertions["grounded"].value, right.scores["groundedness"].value) == (True, 1)
    assert (without.assertions, without.scores) == ({}, {})
    assert without.labels["groundedness"].value == "not checked"


@pytest.mark.shows("pydantic-evals", evidence="metadata of a case")
def test_sources_and_answers_can_have_keys_of_their_own() -> None:
    from groundwire.compat.pydantic_evals import Groundedness

    case = Case(name="own", inputs=QUESTION, metadata={"facts": TOWER})
    dataset: Dataset[Any, Any, Any] = Dataset(
        name="tower", cases=[case], evaluators=[Groundedness(sources="facts", answer="said")]
    )
    report = evaluated(dataset, lambda _: {"said": WRONG})
    assert report.cases[0].assertions["grounded"].value is False
