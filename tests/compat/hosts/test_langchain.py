"""LangChain's agents with the middleware, and LangSmith's ``evaluate`` with the evaluator."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore:'upload_runs' parameter is in beta"),
]
needs("langchain", extra="langchain")

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall
from langsmith import evaluate
from langsmith.schemas import Example

from groundwire.compat.langchain import METADATA, GroundednessMiddleware
from groundwire.compat.verdict import WITHHELD


class ScriptedModel(GenericFakeChatModel):
    """LangChain's fake model; it takes tools, and notes what it was asked."""

    asked: list[list[BaseMessage]] = []  # noqa: RUF012 - a field of pydantic

    def bind_tools(self, *_: Any, **__: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.asked.append(messages)
        return super()._generate(messages, *args, **kwargs)


def landmark(name: str) -> str:
    """Look up a landmark."""
    return TOWER


CALL = AIMessage("", tool_calls=[ToolCall(name="landmark", args={"name": "it"}, id="call_1")])
PROMPT = f"Answer from the context.\n\nContext:\n{TOWER}"


def agent(*says: str | AIMessage, prompt: str | None = None, **settings: Any) -> Any:
    model = ScriptedModel(messages=scripted(says), asked=[])
    middleware = [GroundednessMiddleware(**settings)]
    return create_agent(model, [landmark], system_prompt=prompt, middleware=middleware), model


def scripted(says: tuple[str | AIMessage, ...]) -> Iterator[AIMessage]:
    return iter([AIMessage(each) if isinstance(each, str) else each for each in says])


def last(*says: str | AIMessage, question: str = QUESTION, **settings: Any) -> AIMessage:
    made, _ = agent(*says, **settings)
    message = made.invoke({"messages": [("user", question)]})["messages"][-1]
    assert isinstance(message, AIMessage)
    return message


def status(message: AIMessage) -> str:
    return str(message.response_metadata[METADATA]["status"])


@pytest.mark.shows("LangChain", evidence="results of tools")
def test_an_answer_that_contradicts_the_result_of_a_tool_is_withheld() -> None:
    message = last(CALL, WRONG)
    assert (message.text, status(message)) == (WITHHELD, "failed")
    assert "500 metres" not in str(message)


def test_an_answer_that_the_result_of_a_tool_supports_is_untouched() -> None:
    message = last(CALL, RIGHT)
    assert (message.text, status(message)) == (RIGHT, "passed")


@pytest.mark.shows("LangChain", evidence="system prompt")
def test_the_system_prompt_can_be_the_evidence() -> None:
    assert status(last(WRONG, prompt=PROMPT)) == "failed"
    assert status(last(RIGHT, prompt=PROMPT)) == "passed"


@pytest.mark.shows("LangChain", unchecked="the status `not checked` in `response_metadata`")
def test_an_answer_without_evidence_is_not_checked() -> None:
    message = last(WRONG)
    assert (message.text, status(message)) == (WRONG, "not checked")
    assert last(WRONG, block_unchecked=True).text == WITHHELD


def test_a_greeting_is_never_withheld() -> None:
    message = last("You're welcome!", question="Thanks!", block_unchecked=True)
    assert message.text == "You're welcome!"


def test_a_flagged_answer_keeps_its_text_and_says_why() -> None:
    message = last(CALL, WRONG, action="flag")
    assert message.text == WRONG
    assert "330 metres" in message.response_metadata[METADATA]["reason"]


def test_the_model_is_asked_again_with_the_reason() -> None:
    model = ScriptedModel(messages=scripted((CALL, WRONG, RIGHT)), asked=[])
    made = snippet("LangChain", model=model, tools=[landmark])["agent"]
    messages = made.invoke({"messages": [("user", QUESTION)]})["messages"]
    assert messages[-1].text == RIGHT
    assert WRONG not in str(messages)
    assert "330 metres" in model.asked[-1][-1].text


def test_an_answer_that_is_no_better_is_withheld() -> None:
    assert last(CALL, WRONG, WRONG, action="retry").text == WITHHELD


def test_asynchronous_agents_are_checked_too() -> None:
    made, _ = agent(CALL, WRONG, RIGHT, action="retry")
    found = asyncio.run(made.ainvoke({"messages": [("user", QUESTION)]}))
    assert found["messages"][-1].text == RIGHT
    made, _ = agent(CALL, WRONG)
    found = asyncio.run(made.ainvoke({"messages": [("user", QUESTION)]}))
    assert found["messages"][-1].text == WITHHELD


@pytest.mark.shows("LangChain", stream="tokens leave before the check; updates do not")
def test_a_stream_of_messages_shows_the_words_before_the_check() -> None:
    question = {"messages": [("user", QUESTION)]}
    shown = agent(WRONG, prompt=PROMPT)[0].stream(question, stream_mode="messages")
    assert "500 metres" in "".join(chunk.text for chunk, _ in shown)
    updates = agent(WRONG, prompt=PROMPT)[0].stream(question, stream_mode="updates")
    assert "500 metres" not in str(list(updates))


def rows(outputs: dict[str, Any]) -> list[Any]:
    example = Example(
        id=uuid4(), inputs={"question": QUESTION}, dataset_id=uuid4(), created_at=datetime.now(UTC)
    )
    evaluators = snippet("LangSmith")["evaluators"]
    found = evaluate(lambda _: outputs, data=[example], evaluators=evaluators, upload_results=False)
    return [each for row in found for each in row["evaluation_results"]["results"]]


@pytest.mark.shows(
    "LangSmith", evidence="documents in the outputs", unchecked="no score, the value `not checked`"
)
@pytest.mark.parametrize(
    ("answer", "documents", "score", "value"),
    [
        (WRONG, [Document(TOWER)], 0, "failed"),
        (RIGHT, [Document(TOWER)], 1, "passed"),
        (WRONG, [], None, "not checked"),
    ],
)
def test_langsmith_scores_an_answer_by_its_documents(
    answer: str, documents: list[Document], score: float | None, value: str
) -> None:
    (found,) = rows({"answer": answer, "documents": documents})
    assert (found.key, found.score, found.value) == ("groundedness", score, value)
    assert found.comment


@pytest.mark.shows("LangSmith", evidence="messages in the outputs")
def test_langsmith_scores_the_last_message_by_the_others() -> None:
    messages = [SystemMessage(PROMPT), ("user", QUESTION), AIMessage(WRONG)]
    (found,) = rows({"messages": messages})
    assert (found.score, "330 metres" in found.comment) == (0, True)
