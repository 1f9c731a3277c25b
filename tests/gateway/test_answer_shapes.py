"""Answers that stand where a client may not look first: each is checked, or told to be unread."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.gateway.chats import SOURCES, WRONG, Gateway, gateway, request, without_ids
from tests.gateway.dialects.spoken import named
from tests.gateway.wire import DONE, Script, chunk, completion, event

pytestmark = pytest.mark.merge

RIGHT = '{"height": 330, "built": "1887 to 1889"}'
BAD = f'{{"height": 330, "built": {WRONG}}}'
FUNCTION = {"type": "function", "function": {"name": "Tower", "parameters": {}}}
SEARCH = {"type": "function", "function": {"name": "search", "parameters": {}}}
CUSTOM = {"type": "custom", "custom": {"name": "Tower"}}
NAMED: dict[str, Any] = {"tools": [FUNCTION], "tool_choice": FUNCTION}
ALLOWED: dict[str, Any] = {
    "tools": [FUNCTION, SEARCH],
    "tool_choice": {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": [FUNCTION]},
    },
}
JSON: dict[str, Any] = {"response_format": {"type": "json_object"}}
MODES = {
    "block": "check: {action: block}",
    "header": "check: {action: header}",
    "strict": "check: {preset: strict}",
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gateway]]:
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(gateway(tmp_path_factory.mktemp("gateway"), yaml))
            for mode, yaml in MODES.items()
        }


def message(**fields: object) -> dict[str, Any]:
    """A completion with such a message."""
    answer = completion("")
    answer["choices"][0]["message"] = {"role": "assistant", "content": None, **fields}
    return answer


def pieces(*deltas: dict[str, Any], finish: str = "stop") -> list[bytes]:
    """A stream of such deltas."""
    return [*(event(chunk(each)) for each in deltas), event(chunk({}, finish=finish)), DONE]


def function(arguments: object) -> dict[str, Any]:
    """Calls of a function."""
    return {"tool_calls": [{"index": 0, "function": {"name": "Tower", "arguments": arguments}}]}


def custom(said: str) -> dict[str, Any]:
    """Calls of a custom tool."""
    call = {"index": 0, "type": "custom", "custom": {"name": "Tower", "input": said}}
    return {"tool_calls": [call]}


@pytest.mark.parametrize(
    ("form", "right", "bad"),
    [
        (NAMED, function(json.loads(RIGHT)), function(json.loads(BAD))),
        (ALLOWED, function(RIGHT), function(BAD)),
        (
            {"tools": [FUNCTION, SEARCH], "tool_choice": "required"},
            function(RIGHT),
            function(BAD),
        ),
        (
            {"tools": [CUSTOM], "tool_choice": CUSTOM},
            custom("It is 330 metres tall."),
            custom(f"It was built in {WRONG}."),
        ),
        (
            JSON,
            {"content": '{"330 metres tall": true}'},
            {"content": f'{{"Built in {WRONG}": true}}'},
        ),
    ],
    ids=["object", "allowed", "required", "custom", "keys"],
)
def test_an_answer_in_another_shape_is_checked(
    running: dict[str, Gateway], form: dict[str, Any], right: dict[str, Any], bad: dict[str, Any]
) -> None:
    own = running["block"]
    for said, is_right in ((right, True), (bad, False)):
        own.upstream.script(Script.json(message(**said)))
        answer = own.post(request(**form))
        assert answer.status_code == (200 if is_right else 403)
        own.upstream.script(Script.sse(pieces(said)))
        events = own.stream(**form)
        outcome = events[-2]["groundwire"]["outcome"]
        assert outcome == ("grounded" if is_right else "hallucinated")
        assert is_right or WRONG not in without_ids(json.dumps(events))


@pytest.mark.parametrize(
    "said",
    [
        {"reasoning_content": f"It was built in {WRONG}."},
        {"reasoning": f"It was built in {WRONG}."},
        {"content": "It is 330 metres tall.", "refusal": f"It was built in {WRONG}."},
    ],
)
def test_what_a_client_may_show_unread_is_marked_and_does_not_pass_strict(
    running: dict[str, Gateway], said: dict[str, Any]
) -> None:
    own = running["header"]
    own.upstream.script(Script.json(message(**said)))
    answer = own.post(request())
    assert answer.headers["x-groundwire-outcome"] == "partial"
    own.upstream.script(Script.sse(pieces(said)))
    assert own.stream()[-2]["groundwire"]["outcome"] == "partial"
    own = running["strict"]
    own.upstream.script(Script.json(message(**said)))
    assert own.post(request()).status_code == 403
    own.upstream.script(Script.sse(pieces(said)))
    assert WRONG not in without_ids(json.dumps(own.stream()))


def test_reasoning_before_an_answer_or_a_call_passes_and_is_told_to_be_unread(
    running: dict[str, Gateway],
) -> None:
    own = running["strict"]
    for said in ({"content": "It is 330 metres tall."}, function(RIGHT)):
        said = {"reasoning": "Let me see.", **said}
        own.upstream.script(Script.json(message(**said)))
        answer = own.post(request(tools=[SEARCH]))
        assert (answer.status_code, answer.headers["x-groundwire-unread"]) == (200, "reasoning")
        own.upstream.script(Script.sse(pieces(said)))
        assert own.stream(tools=[SEARCH])[-2]["groundwire"]["unread"] == ["reasoning"]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("path", ["messages", "responses"])
def test_an_answer_of_reasoning_alone_does_not_pass_strict_in_other_dialects(
    running: dict[str, Gateway], path: str, streams: bool
) -> None:
    thought = f"It was built in {WRONG}."
    if path == "messages":
        block = {"type": "thinking", "thinking": thought, "signature": "s"}
        head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
        whole = {**head, "content": [block], "stop_reason": "end_turn"}
        said: list[dict[str, Any]] = [
            {"type": "message_start", "message": head},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ]
        body = {"messages": request()["messages"], "max_tokens": 99}
    else:
        summary = [{"type": "summary_text", "text": thought}]
        item = {"type": "reasoning", "id": "r", "summary": summary}
        head = {"id": "r", "object": "response", "status": "in_progress", "output": []}
        whole = {**head, "status": "completed", "output": [item]}
        said = [
            {"type": "response.created", "response": head},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]
        body = {"input": "When was the Eiffel Tower built?"}
    body |= {"model": "m", "stream": streams, "metadata": request()["metadata"]}
    script = Script.sse([named(each) for each in said]) if streams else Script.json(whole)
    own = running["strict"]
    own.upstream.script(script)
    answer = own.post_to(path, body)
    assert streams or answer.status_code == 403
    assert WRONG not in without_ids(answer.text)


CUSTOM_CALL = {"type": "custom_tool_call", "id": "ctc", "call_id": "c", "name": "Tower"}


@pytest.mark.parametrize("shape", ["whole", "pieces", "done", "end"])
@pytest.mark.parametrize("is_right", [True, False])
def test_a_custom_tool_of_responses_returns_an_answer(
    running: dict[str, Gateway], shape: str, is_right: bool
) -> None:
    text = "It is 330 metres tall." if is_right else f"It was built in {WRONG}."
    item = {**CUSTOM_CALL, "input": text}
    head = {"id": "r", "object": "response", "status": "in_progress", "output": []}
    whole = {**head, "status": "completed", "output": [item]}
    at = {"item_id": "ctc", "output_index": 0}
    kind = "response.custom_tool_call_input"
    added = {"type": "response.output_item.added", "output_index": 0}
    steps: dict[str, list[dict[str, Any]]] = {
        "pieces": [
            {**added, "item": {**CUSTOM_CALL, "input": ""}},
            *({"type": f"{kind}.delta", **at, "delta": each} for each in (text[:9], text[9:])),
            {"type": f"{kind}.done", **at, "input": text},
        ],
        "done": [{**added, "item": CUSTOM_CALL}, {"type": f"{kind}.done", **at, "input": text}],
        "end": [],
    }
    said: list[dict[str, Any]] = [
        {"type": "response.created", "response": head},
        *steps.get(shape, []),
        {"type": "response.completed", "response": whole},
    ]
    body = {
        "model": "m",
        "input": "When was the Eiffel Tower built?",
        "metadata": {"grounding.sources": json.dumps(SOURCES)},
        "tools": [{"type": "custom", "name": "Tower"}],
        "tool_choice": {"type": "custom", "name": "Tower"},
        "stream": shape != "whole",
    }
    own = running["block"]
    own.upstream.script(
        Script.json(whole) if shape == "whole" else Script.sse([named(each) for each in said])
    )
    answer = own.post_to("responses", body)
    assert shape != "whole" or answer.status_code == (200 if is_right else 403)
    assert (text in answer.text) is is_right


PDF = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JV"}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}


@pytest.mark.parametrize("part", [PDF, IMAGE])
def test_a_document_that_cannot_be_read_is_lost_evidence(
    running: dict[str, Gateway], part: dict[str, Any]
) -> None:
    fact = "Context: The Eiffel Tower is 330 metres tall.\n\nQuestion: How tall is it?"
    parts = [part, {"type": "text", "text": fact}]
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": parts}]}
    own = running["header"]
    own.upstream.script(Script.json(completion("It is 330 metres tall.")))
    assert own.post(body).headers["x-groundwire-outcome"] == "partial"
    own.upstream.script(Script.json(completion(f"It is {WRONG} metres tall.")))
    assert own.post(body).headers["x-groundwire-outcome"] == "hallucinated"


def test_a_message_of_the_role_context_is_evidence(running: dict[str, Gateway]) -> None:
    messages = [{"role": "context", "content": SOURCES[0]}, *request()["messages"]]
    own = running["block"]
    own.upstream.script(Script.json(completion("It is 330 metres tall.")))
    answer = own.post({"model": "scripted-1", "messages": messages})
    assert answer.headers["x-groundwire-outcome"] == "grounded"
    own.upstream.script(Script.json(completion(f"It was built in {WRONG}.")))
    assert own.post({"model": "scripted-1", "messages": messages}).status_code == 403


def test_what_streams_hold_at_their_end_alone_is_read(running: dict[str, Gateway]) -> None:
    own = running["block"]
    call = {"type": "function_call", "call_id": "c", "name": "Tower", "arguments": BAD}
    whole = {"id": "r", "object": "response", "status": "completed", "output": [call]}
    own.upstream.script(Script.sse([named({"type": "response.completed", "response": whole})]))
    body = {"model": "m", "input": "When?", "stream": True, "metadata": request()["metadata"]}
    tool = {"type": "function", "name": "Tower", "parameters": {}}
    answer = own.post_to("responses", {**body, "tools": [tool], "tool_choice": "required"})
    assert WRONG not in without_ids(answer.text)
