"""Which form of answer a request asks for: JSON, or the arguments of a tool."""

from typing import Any

import pytest

from groundwire.pipeline.conversation.answer_form import read_form
from groundwire.pipeline.conversation.request import read_request

SCHEMA = {"type": "object", "properties": {"built": {"type": "string"}}}


def tools(*names: str) -> list[dict[str, Any]]:
    functions = [{"name": name, "parameters": SCHEMA} for name in names]
    return [{"type": "function", "function": function} for function in functions]


@pytest.mark.parametrize(
    "body",
    [
        {"tool_choice": {"type": "function", "function": {"name": "Tower"}}},
        {"tool_choice": {"type": "tool", "name": "Tower"}},
        {"tool_choice": "required"},
        {"tool_choice": "any"},
        {"tool_choice": {"type": "any"}},
        {"tools": None, "functions": [{"name": "Tower"}], "function_call": {"name": "Tower"}},
        {"tools": [{"type": "custom", "name": "Tower"}], "tool_choice": "required"},
        {
            "tools": [{"type": "custom", "custom": {"name": "Tower"}}],
            "tool_choice": {"type": "custom", "custom": {"name": "Tower"}},
        },
        {
            "tools": tools("Tower", "search"),
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": tools("Tower")},
            },
        },
        {
            "tools": tools("Tower", "search"),
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "Tower"}],
            },
        },
        # Frameworks give the tool for a type of output the name of its class.
        {
            "tools": tools("search", "Tower", "GetTower"),
            "tool_choice": "required",
            "messages": [{"role": "tool", "content": "{}"}],
        },
    ],
)
def test_a_tool_that_the_model_has_to_call_returns_the_output(body: dict[str, Any]) -> None:
    assert set(read_form({"tools": tools("Tower"), **body}).final_tools) == {"Tower"}


@pytest.mark.parametrize(
    "body",
    [
        {"tools": tools("search")},
        {"tools": tools("search"), "tool_choice": "auto"},
        {"tools": tools("search", "book"), "tool_choice": "required"},
        # It was called before, and its results are there: it searches again.
        {
            "tools": tools("search"),
            "tool_choice": "required",
            "messages": [{"role": "tool", "content": "{}"}],
        },
        {
            "tools": tools("search"),
            "tool_choice": "required",
            "input": [{"type": "function_call_output", "output": "{}"}],
        },
        {
            "tools": tools("search"),
            "tool_choice": {"type": "any"},
            "messages": [{"role": "user", "content": [{"type": "tool_result"}]}],
        },
        {
            "tools": tools("search"),
            "tool_choice": "required",
            "input": [{"type": "custom_tool_call_output", "output": "{}"}],
        },
        {
            "tools": tools("search"),
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": tools("search")},
        },
        {"tools": tools("Tower"), "tool_choice": "auto"},
        {"tools": tools("GetWeather", "Search", "Docs_read"), "tool_choice": "required"},
        {"tools": 1, "tool_choice": 1, "response_format": 1},
        {"tools": 1, "tool_choice": {"type": "allowed_tools", "allowed_tools": 1, "tools": 1}},
    ],
)
def test_a_tool_that_the_model_may_call_is_an_ordinary_one(body: dict[str, Any]) -> None:
    assert read_form(body).final_tools == {}


def test_frameworks_and_settings_name_tools_that_return_the_output() -> None:
    body = {"tools": tools("search", "final_result", "final_result_Tower", "final_answer", "done")}
    form = read_form(body, final_tools=frozenset({"done"}))
    assert set(form.final_tools) == {"final_result", "final_result_Tower", "final_answer", "done"}
    assert form.final_tools["done"] == SCHEMA


@pytest.mark.parametrize(
    "description",
    [
        "Fruit: The final response which ends this conversation",
        "Correctly extracted `Tower` with all the required parameters with correct types",
        "IMPORTANT: This StructuredOutputTool should only be invoked as the last and final tool.",
        "Respond with a JSON object.",
    ],
)
def test_frameworks_describe_tools_that_return_the_output(description: str) -> None:
    tool = {"name": "return_fruit", "description": description, "input_schema": SCHEMA}
    assert read_form({"tools": [*tools("search"), tool]}).final_tools == {"return_fruit": SCHEMA}


def test_a_response_format_asks_for_json() -> None:
    assert read_form({"response_format": {"type": "json_object"}}).is_json
    flat = {"type": "json_schema", "schema": SCHEMA}
    asked: dict[str, Any] = {"type": "json_schema", "json_schema": {"schema": SCHEMA}}
    for body in (
        {"response_format": flat},
        {"response_format": asked},
        {"text": {"format": flat}},
        {"output_config": {"format": flat}},
        {"output_format": flat},
    ):
        assert read_form(body).schema == SCHEMA
    assert not read_form({"response_format": {"type": "text"}}).is_json


def test_what_is_replied_to_a_final_output_is_no_evidence() -> None:
    call = {"id": "c", "function": {"name": "Tower", "arguments": "{}"}}
    body = {
        "tools": tools("Tower"),
        "tool_choice": {"type": "function", "function": {"name": "Tower"}},
        "messages": [
            {"role": "user", "content": "When was it built?"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "Validation Error: built is missing"},
        ],
    }
    assert read_request(body).sources == ()
