"""What frameworks send and get when they ask for data: each right answer passes, no wrong one."""

from collections.abc import Sequence
from typing import Any

import pytest

from groundwire.detection.values import Outcome
from groundwire.gateway.chat.dialect import Dialect
from groundwire.gateway.dialects.chat_completions import ChatCompletions
from groundwire.gateway.dialects.messages import Messages
from groundwire.gateway.dialects.responses import Responses
from tests.gateway.chats import SOURCES, WRONG
from tests.pipeline.chats import piped

CHAT, MESSAGES, RESPONSES = ChatCompletions(), Messages(), Responses()
ASKED = [{"role": "user", "content": f"Context: {SOURCES[0]}\n\nQuestion: When was it built?"}]
SCHEMA = {"type": "object", "properties": {"built": {"type": "string"}}}
YEARS = {"type": "string", "enum": ["1887 to 1889", WRONG]}


def function(name: str, description: str = "") -> dict[str, Any]:
    """A tool of chat completions."""
    own = {"name": name, "description": description, "parameters": SCHEMA}
    return {"type": "function", "function": own}


def asking(*tools: dict[str, Any], choice: object = "required", **more: object) -> dict[str, Any]:
    """A request of chat completions with tools."""
    return {"messages": ASKED, "tools": list(tools), "tool_choice": choice, **more}


def looked_up(*tools: dict[str, Any], name: str) -> dict[str, Any]:
    """The same, where the evidence is the result of a tool."""
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "content": SOURCES[0]}
    return asking(*tools, messages=[{"role": "user", "content": "When?"}, said, result])


def chat_call(name: str, arguments: object) -> dict[str, Any]:
    """A completion that calls a tool."""
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}


def chat_text(text: str) -> dict[str, Any]:
    """A completion that is a text."""
    return {"choices": [{"message": {"content": text}}]}


def use(name: str, built: str) -> dict[str, Any]:
    """A message of Anthropic's that calls a tool."""
    return {"content": [{"type": "tool_use", "id": "t", "name": name, "input": {"built": built}}]}


def schema_of(**properties: object) -> dict[str, Any]:
    """The text format of a request to Responses."""
    return {
        "format": {
            "type": "json_schema",
            "name": "response",
            "schema": SCHEMA | {"properties": properties},
        }
    }


def response(text: str) -> dict[str, Any]:
    """A response that is a text."""
    return {"output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}]}


EXTRACTED = "Correctly extracted `Tower` with all the required parameters with correct types"
ENDS = "The final response which ends this conversation"
JSON_TOOL = {"name": "json", "description": "Respond with a JSON object.", "input_schema": SCHEMA}
WEATHER = {"name": "weather", "input_schema": {}}
DOCUMENT = {"type": "document", "source": {"type": "text", "data": SOURCES[0]}}
OBJECT = {"response_format": {"type": "json_object"}}

#: Name → its dialect, its request, how an answer is written, and where the finding stands.
CASES: dict[str, tuple[Dialect, dict[str, Any], Any, Sequence[str]]] = {
    "instructor, parallel": (
        CHAT,
        asking(function("Tower", EXTRACTED), function("Bridge", EXTRACTED), choice="auto"),
        lambda built: chat_call("Tower", f'{{"built": "{built}"}}'),
        ["/built"],
    ),
    "instructor, list": (
        CHAT,
        asking(function("IterableTower"), choice=function("IterableTower")),
        lambda built: chat_call("IterableTower", f'{{"tasks": [{{"built": "{built}"}}]}}'),
        ["/tasks/0/built"],
    ),
    "pydantic-ai, with tools": (
        CHAT,
        looked_up(function("search"), function("final_result"), name="search"),
        lambda built: chat_call("final_result", f'{{"response": ["{built}"]}}'),
        ["/response/0"],
    ),
    "pydantic-ai, outputs with names": (
        CHAT,
        asking(function("return_tower", f"Tower: {ENDS}"), function("return_bridge", ENDS)),
        lambda built: chat_call("return_tower", f'{{"built": "{built}"}}'),
        ["/built"],
    ),
    "LangChain, ToolStrategy": (
        CHAT,
        looked_up(function("get_tower"), function("TowerFacts"), name="get_tower"),
        lambda built: chat_call("TowerFacts", f'{{"built": "{built}"}}'),
        ["/built"],
    ),
    "LangChain, json_mode": (
        CHAT,
        {"messages": ASKED, **OBJECT},
        lambda built: chat_text(f'{{"{built}": "built"}}'),
        [f"/{WRONG}"],
    ),
    "Strands": (
        CHAT,
        asking(
            function("tower", "IMPORTANT: This StructuredOutputTool should only be invoked as..."),
            function("search"),
        ),
        lambda built: chat_call("tower", {"built": built}),
        ["/built"],
    ),
    "AI SDK, object": (
        RESPONSES,
        {"input": ASKED, "text": schema_of(built={"type": "string"})},
        lambda built: response(f'{{"built": "{built}"}}'),
        ["/built"],
    ),
    "AI SDK, enum": (
        RESPONSES,
        {"input": ASKED, "text": schema_of(result=YEARS)},
        lambda built: response(f'{{"result": "{built}"}}'),
        ["/result"],
    ),
    "AI SDK, Anthropic with tools": (
        MESSAGES,
        {"messages": ASKED, "tools": [WEATHER, JSON_TOOL], "tool_choice": {"type": "any"}},
        lambda built: use("json", built),
        ["/built"],
    ),
    "Anthropic, tool as output": (
        MESSAGES,
        {
            "messages": [{"role": "user", "content": [DOCUMENT]}],
            "tools": [{"name": "record_summary", "input_schema": SCHEMA}],
            "tool_choice": {"type": "tool", "name": "record_summary"},
        },
        lambda built: use("record_summary", f"It was built in {built}."),
        ["/built"],
    ),
    "Responses, custom tool": (
        RESPONSES,
        {
            "input": ASKED,
            "tools": [{"type": "custom", "name": "answer"}, {"type": "custom", "name": "search"}],
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "custom", "name": "answer"}],
            },
        },
        lambda built: {
            "output": [{"type": "custom_tool_call", "name": "answer", "input": f"In {built}."}]
        },
        [""],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_right_answer_is_grounded_and_a_wrong_one_found(name: str) -> None:
    dialect, body, written, pointers = CASES[name]
    with piped() as pipeline:
        context = pipeline.open(dialect.conversation({"model": "m", **body}))
        (right,) = dialect.answers(written("1887 to 1889"))
        assert pipeline.check(context, right).outcome is Outcome.GROUNDED
        (wrong,) = dialect.answers(written(WRONG))
        found = pipeline.check(context, wrong)
    assert (found.outcome, list(found.pointers)) == (Outcome.HALLUCINATED, pointers)
