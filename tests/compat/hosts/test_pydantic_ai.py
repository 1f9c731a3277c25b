"""pydantic-ai's agents with the validator."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = pytest.mark.nightly
needs("pydantic_ai", extra="pydantic-ai")

from pydantic_ai import Agent, UnexpectedModelBehavior
from pydantic_ai.messages import ImageUrl, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from groundwire.compat.pydantic_ai import groundedness_validator
from groundwire.compat.verdict import HostVerdict


def scripted(*says: str | ToolCallPart) -> FunctionModel:
    script = iter(says)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = next(script)
        return ModelResponse([TextPart(said) if isinstance(said, str) else said])

    return FunctionModel(answer)


def agent(model: FunctionModel, result: object = TOWER, **settings: Any) -> tuple[Any, list[str]]:
    statuses: list[str] = []

    def note(verdict: HostVerdict) -> None:
        statuses.append(verdict.status)

    made: Agent[None, Any] = Agent(model, **settings)
    made.tool_plain(lambda: result, name="landmark")
    made.output_validator(groundedness_validator(on_verdict=note))
    return made, statuses


def run(made: Agent[None, Any]) -> Any:
    return asyncio.run(made.run(QUESTION))


CALL = ToolCallPart("landmark")


@pytest.mark.shows("pydantic-ai", evidence="results of tools")
def test_the_model_is_asked_again_with_the_reason() -> None:
    made: Agent[None, str] = Agent(scripted(CALL, WRONG, RIGHT))
    made.tool_plain(lambda: TOWER, name="landmark")
    snippet("pydantic-ai", agent=made)
    result = run(made)
    assert result.output == RIGHT
    assert "330 metres" in str(result.all_messages()[-2])


def test_an_output_that_stays_wrong_fails_the_run() -> None:
    made, statuses = agent(scripted(CALL, WRONG, WRONG))
    with pytest.raises(UnexpectedModelBehavior):
        run(made)
    assert statuses == ["failed", "failed"]


def test_a_right_output_is_untouched() -> None:
    made, statuses = agent(scripted(CALL, RIGHT))
    assert (run(made).output, statuses) == (RIGHT, ["passed"])


@pytest.mark.shows("pydantic-ai", unchecked="a verdict with `passed=None` for `on_verdict`")
def test_an_output_without_evidence_is_not_checked() -> None:
    made, statuses = agent(scripted(RIGHT))
    assert (run(made).output, statuses) == (RIGHT, ["not checked"])


def test_unchecked_outputs_can_be_refused() -> None:
    made: Agent[None, str] = Agent(scripted(RIGHT, RIGHT))
    made.output_validator(groundedness_validator(block_unchecked=True))
    with pytest.raises(UnexpectedModelBehavior):
        run(made)


IMAGE = ImageUrl("https://example.org/a.png")


@pytest.mark.parametrize("result", [[TOWER, IMAGE], IMAGE])
def test_evidence_that_is_an_image_is_not_read(result: object) -> None:
    made, statuses = agent(scripted(CALL, RIGHT), result)
    assert (run(made).output, statuses) == (RIGHT, ["not checked"])


@pytest.mark.shows("pydantic-ai", evidence="instructions")
def test_instructions_can_be_the_evidence() -> None:
    facts = f"Answer from the context.\n\nContext:\n{TOWER}"
    made, statuses = agent(scripted(WRONG, RIGHT), instructions=facts)
    assert (run(made).output, statuses) == (RIGHT, ["failed", "passed"])


def test_the_reason_of_an_earlier_retry_is_no_evidence() -> None:
    made, statuses = agent(scripted(CALL, WRONG, WRONG, WRONG), retries=2)
    with pytest.raises(UnexpectedModelBehavior):
        run(made)
    assert statuses == ["failed"] * 3


class Landmark(BaseModel):
    name: str
    height: str


def test_the_fields_of_a_structured_output_are_checked() -> None:
    made, statuses = agent(
        scripted(
            CALL,
            ToolCallPart("final_result", {"name": "Eiffel Tower", "height": "500 metres"}),
            ToolCallPart("final_result", {"name": "Eiffel Tower", "height": "330 metres"}),
        ),
        output_type=Landmark,
    )
    assert run(made).output.height == "330 metres"
    assert statuses == ["failed", "passed"]


@pytest.mark.shows("pydantic-ai", stream="words leave before the check")
def test_a_stream_shows_the_words_before_the_check() -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for word in WRONG.split(" "):
            yield word + " "

    facts = f"Answer from the context.\n\nContext:\n{TOWER}"
    made, statuses = agent(FunctionModel(stream_function=stream), instructions=facts)

    async def show() -> None:
        async with made.run_stream(QUESTION) as result:
            async for text in result.stream_text(delta=False):
                words.append(text)  # noqa: PERF401 - what came before the error counts
            await result.get_output()

    words: list[str] = []
    with pytest.raises(UnexpectedModelBehavior):
        asyncio.run(show())
    assert "500 metres" in words[-1]
    assert statuses == ["failed"]
