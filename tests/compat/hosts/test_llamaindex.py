"""LlamaIndex's query engines and batch runner with the evaluator."""

import asyncio
from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore:asyncio_module:DeprecationWarning"),
]
needs("llama_index", extra="llama-index")

from llama_index.core import Document, SummaryIndex
from llama_index.core.evaluation import BatchEvalRunner, EvaluationResult
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

from groundwire.compat.llamaindex import GroundednessEvaluator


class ScriptedLLM(CustomLLM):
    """A language model that always says the same."""

    says: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text=self.says)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        yield CompletionResponse(text=self.says, delta=self.says)


def engine(says: str, *texts: str) -> Any:
    index = SummaryIndex.from_documents([Document(text=each) for each in texts])
    return index.as_query_engine(llm=ScriptedLLM(says=says))


def evaluated(says: str, *texts: str) -> EvaluationResult:
    names = snippet("LlamaIndex", query_engine=engine(says, *texts), question=QUESTION)
    result = names["result"]
    assert isinstance(result, EvaluationResult)
    return result


@pytest.mark.shows("LlamaIndex", evidence="source nodes of the response")
def test_a_wrong_response_does_not_pass_and_says_why() -> None:
    result = evaluated(WRONG, TOWER)
    assert (result.passing, result.score, result.invalid_result) == (False, 0, False)
    assert "330 metres" in (result.feedback or "")


def test_a_right_response_passes() -> None:
    result = evaluated(RIGHT, TOWER)
    assert (result.passing, result.score, result.response) == (True, 1, RIGHT)


@pytest.mark.shows("LlamaIndex", unchecked="`invalid_result`, with `invalid_reason`")
def test_a_response_without_contexts_is_an_invalid_result() -> None:
    for result in (
        GroundednessEvaluator().evaluate(query=QUESTION, response=RIGHT, contexts=[]),
        GroundednessEvaluator().evaluate(query=QUESTION, response=RIGHT),
        GroundednessEvaluator().evaluate(query=QUESTION, contexts=[TOWER]),
    ):
        assert (result.passing, result.score, result.invalid_result) == (None, None, True)
        assert result.invalid_reason


@pytest.mark.shows("LlamaIndex", evidence="contexts")
def test_the_batch_runner_runs_it() -> None:
    runner = BatchEvalRunner({"groundedness": GroundednessEvaluator()}, workers=2)
    found = asyncio.run(
        runner.aevaluate_response_strs(
            queries=[QUESTION] * 2, response_strs=[RIGHT, WRONG], contexts_list=[[TOWER]] * 2
        )
    )
    assert [each.passing for each in found["groundedness"]] == [True, False]


@pytest.mark.shows("LlamaIndex", stream="evaluated after it was shown")
def test_a_streamed_response_is_evaluated_once_it_is_there() -> None:
    index = SummaryIndex.from_documents([Document(text=TOWER)])
    streaming = index.as_query_engine(llm=ScriptedLLM(says=WRONG), streaming=True)
    response = streaming.query(QUESTION).get_response()
    assert GroundednessEvaluator().evaluate_response(QUESTION, response).passing is False
