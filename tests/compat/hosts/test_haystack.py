"""Haystack's pipelines with the components."""

import math
from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = pytest.mark.nightly
needs("haystack", extra="haystack")

from haystack import Document, Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

from groundwire import Pipeline as Groundwire
from groundwire.compat.haystack import GroundednessChecker, GroundednessEvaluator

TEMPLATE = "Documents: {% for each in documents %}{{ each.content }}{% endfor %} {{ query }}"


def checked(says: str, *texts: str) -> dict[str, Any]:
    """Run a pipeline with a retriever, a prompt, a generator, and the checker of the page."""
    store = InMemoryDocumentStore()
    store.write_documents([Document(content=each) for each in texts])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    pipeline.add_component("prompt", ChatPromptBuilder([ChatMessage.from_user(TEMPLATE)]))
    pipeline.add_component("llm", MockChatGenerator(says))
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.messages")
    snippet("Haystack", pipeline=pipeline)
    query = {"query": QUESTION}
    found = pipeline.run({"retriever": query, "prompt": query, "checker": query})
    checker = found["checker"]
    assert isinstance(checker, dict)
    return checker


def texts_of(found: dict[str, Any]) -> dict[str, list[str]]:
    return {key: [each.text for each in found[key]] for key in ("passed", "failed", "not_checked")}


@pytest.mark.shows("Haystack", evidence="documents")
def test_a_wrong_reply_is_set_apart() -> None:
    found = checked(WRONG, TOWER)
    assert texts_of(found) == {"passed": [], "failed": [WRONG], "not_checked": []}
    assert "330 metres" in found["verdicts"][0]["reason"]


def test_a_right_reply_goes_on() -> None:
    found = checked(RIGHT, TOWER)
    assert texts_of(found) == {"passed": [RIGHT], "failed": [], "not_checked": []}


@pytest.mark.shows("Haystack", unchecked="the output `not_checked` of the checker")
def test_a_reply_without_documents_is_not_checked() -> None:
    assert texts_of(checked(RIGHT)) == {"passed": [], "failed": [], "not_checked": [RIGHT]}


@pytest.mark.shows(
    "Haystack", evidence="contexts", unchecked="NaN and the status `error` of the evaluator"
)
def test_the_evaluator_leaves_unchecked_answers_out_of_the_mean() -> None:
    pipeline = Pipeline()
    pipeline.add_component("evaluator", GroundednessEvaluator())
    found = pipeline.run(
        {
            "questions": [QUESTION] * 3,
            "contexts": [[TOWER], [TOWER], []],
            "predicted_answers": [RIGHT, WRONG, RIGHT],
        }
    )["evaluator"]
    assert found["score"] == 0.5
    assert found["individual_scores"][:2] == [1, 0]
    assert math.isnan(found["individual_scores"][2])
    assert [each["status"] for each in found["results"]] == ["evaluated", "evaluated", "error"]


def test_a_pipeline_with_the_checker_can_be_written_and_read() -> None:
    pipeline = Pipeline()
    pipeline.add_component("checker", GroundednessChecker())
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["groundwire.compat.haystack"])
    assert isinstance(again.get_component("checker"), GroundednessChecker)


def test_a_component_with_a_pipeline_of_its_own_is_not_written() -> None:
    with Groundwire.load() as own, pytest.raises(ValueError, match="cannot be written"):
        GroundednessChecker(own).to_dict()
