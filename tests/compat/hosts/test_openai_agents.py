"""The runner of the OpenAI Agents SDK with the guardrail."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = pytest.mark.nightly
needs("agents", extra="openai-agents")

from agents import (
    Agent,
    Model,
    ModelResponse,
    OutputGuardrailTripwireTriggered,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)

from groundwire.compat.openai_agents import Groundedness

set_tracing_disabled(True)


class ScriptedModel(Model):
    """A model that calls a tool, if it has one, and then says a text."""

    def __init__(self, says: str) -> None:
        self.says, self.n_asked = says, 0

    def _output(self, tools: list[Any]) -> list[Any]:
        self.n_asked += 1
        if tools and self.n_asked == 1:
            return [
                ResponseFunctionToolCall(
                    type="function_call", name="landmark", call_id="call_1", arguments="{}"
                )
            ]
        text = ResponseOutputText(type="output_text", text=self.says, annotations=[])
        return [
            ResponseOutputMessage(
                id="msg_1", type="message", role="assistant", status="completed", content=[text]
            )
        ]

    async def get_response(self, *_: Any, tools: list[Any], **__: Any) -> ModelResponse:
        return ModelResponse(output=self._output(tools), usage=Usage(), response_id=None)

    async def stream_response(self, *given: Any, **_: Any) -> AsyncIterator[Any]:
        output = self._output(tools=given[3])
        if isinstance(output[0], ResponseOutputMessage):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta",
                delta=self.says,
                item_id="msg_1",
                output_index=0,
                content_index=0,
                sequence_number=0,
                logprobs=[],
            )
        response = Response(
            id="resp_1",
            created_at=0,
            model="scripted",
            object="response",
            output=output,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=False,
        )
        yield ResponseCompletedEvent(
            type="response.completed", response=response, sequence_number=1
        )


@function_tool
def landmark() -> str:
    """Look up a landmark."""
    return TOWER


def agent(says: str, *, tools: bool = True, **settings: Any) -> Agent:
    if not settings:
        names = snippet(
            "OpenAI Agents", model=ScriptedModel(says), tools=[landmark] if tools else []
        )
        made = names["agent"]
        assert isinstance(made, Agent)
        return made
    grounded = Groundedness(block_unchecked=settings.pop("block_unchecked", False))
    return Agent(
        "guide",
        model=ScriptedModel(says),
        tools=[landmark] if tools else [],
        hooks=grounded,
        output_guardrails=[grounded.guardrail],
        **settings,
    )


def run(made: Agent, question: str = QUESTION) -> Any:
    return asyncio.run(Runner.run(made, question))


def status(result: Any) -> str:
    (found,) = result.output_guardrail_results
    return str(found.output.output_info["status"])


@pytest.mark.shows("OpenAI Agents", evidence="results of tools")
def test_an_output_that_contradicts_the_result_of_a_tool_trips_the_wire() -> None:
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        run(agent(WRONG))
    assert "330 metres" in caught.value.guardrail_result.output.output_info["reason"]


def test_an_output_that_the_result_of_a_tool_supports_is_untouched() -> None:
    result = run(agent(RIGHT))
    assert (result.final_output, status(result)) == (RIGHT, "passed")


@pytest.mark.shows("OpenAI Agents", unchecked="the status `not checked` in `output_info`")
def test_an_output_without_evidence_is_not_checked() -> None:
    result = run(agent(RIGHT, tools=False))
    assert (result.final_output, status(result)) == (RIGHT, "not checked")
    with pytest.raises(OutputGuardrailTripwireTriggered):
        run(agent(RIGHT, tools=False, block_unchecked=True))


@pytest.mark.shows("OpenAI Agents", evidence="instructions")
def test_instructions_can_be_the_evidence() -> None:
    facts = f"Answer from the context.\n\nContext:\n{TOWER}"
    assert status(run(agent(RIGHT, tools=False, instructions=facts))) == "passed"
    with pytest.raises(OutputGuardrailTripwireTriggered):
        run(agent(WRONG, tools=False, instructions=facts))


class Landmark(BaseModel):
    name: str
    height: str


def test_the_fields_of_a_structured_output_are_checked() -> None:
    right, wrong = (f'{{"name": "Eiffel Tower", "height": "{each} metres"}}' for each in (330, 500))
    assert status(run(agent(right, output_type=Landmark))) == "passed"
    with pytest.raises(OutputGuardrailTripwireTriggered):
        run(agent(wrong, output_type=Landmark))


def test_runs_beside_one_another_have_evidence_of_their_own() -> None:
    grounded = Groundedness()

    async def both() -> list[Any]:
        agents = [
            Agent(
                "guide",
                model=ScriptedModel(RIGHT),
                tools=tools,
                hooks=grounded,
                output_guardrails=[grounded.guardrail],
            )
            for tools in ([landmark], [])
        ]
        return await asyncio.gather(*(Runner.run(each, QUESTION) for each in agents))

    assert [status(each) for each in asyncio.run(both())] == ["passed", "not checked"]


@pytest.mark.shows("OpenAI Agents", stream="words leave before the check")
def test_a_stream_shows_the_words_before_the_check() -> None:
    async def show() -> None:
        result = Runner.run_streamed(agent(WRONG), QUESTION)
        async for event in result.stream_events():
            events.append(event)  # noqa: PERF401 - what came before the error counts

    events: list[Any] = []
    with pytest.raises(OutputGuardrailTripwireTriggered):
        asyncio.run(show())
    raw = [each.data for each in events if each.type == "raw_response_event"]
    assert "".join(getattr(each, "delta", "") for each in raw) == WRONG
