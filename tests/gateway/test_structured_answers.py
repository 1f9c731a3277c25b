"""Structured answers at the gateway: arguments of a tool that returns the output, and JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.chats import WRONG, events_of, gateway, request, text_of, without_ids
from tests.gateway.wire import DONE, Script, chunk, completion, event, eventually, stream_events

pytestmark = pytest.mark.merge

RIGHT = '{"built": "1887 to 1889", "height": 330}'
BAD = f'{{"height": 330, "built": {WRONG}}}'
TOOLS = [{"type": "function", "function": {"name": "Tower", "parameters": {}}}]
FORCED: dict[str, Any] = {
    "tools": TOOLS,
    "tool_choice": {"type": "function", "function": {"name": "Tower"}},
}
JSON: dict[str, Any] = {"response_format": {"type": "json_object"}}
RELEASES = ("sentence", "deferred")


def calling(arguments: str) -> dict[str, Any]:
    """A completion that calls the tool."""
    call = {"id": "c", "type": "function", "function": {"name": "Tower", "arguments": arguments}}
    answer = completion("")
    answer["choices"][0] |= {
        "message": {"role": "assistant", "content": None, "tool_calls": [call]},
        "finish_reason": "tool_calls",
    }
    return answer


def call_events(arguments: str, *, finish: str = "tool_calls") -> list[bytes]:
    """The same as a stream, a few characters at a time."""
    first = {"index": 0, "id": "c", "type": "function", "function": {"name": "Tower"}}
    pieces = [arguments[i : i + 7] for i in range(0, len(arguments), 7)]
    calls = [first, *({"index": 0, "function": {"arguments": piece}} for piece in pieces)]
    return [
        event(chunk({"role": "assistant", "content": None})),
        *(event(chunk({"tool_calls": [call]})) for call in calls),
        event(chunk({}, finish=finish)),
        DONE,
    ]


def arguments_of(events: list[Any]) -> str:
    """The arguments that a client puts together."""
    return "".join(
        call["function"].get("arguments", "")
        for each in events
        if isinstance(each, dict)
        for choice in each["choices"]
        for call in choice["delta"].get("tool_calls", ())
    )


@pytest.mark.parametrize(
    ("script", "form"),
    [
        (Script.json(calling(BAD)), FORCED),
        (Script.json(completion(BAD)), JSON),
    ],
)
def test_a_wrong_one_is_refused_or_marked_and_never_changed(
    tmp_path: Path, script: Script, form: dict[str, Any]
) -> None:
    with gateway(tmp_path, "check: {action: block}") as own:
        own.upstream.script(script)
        response = own.post(request(**form))
        assert response.status_code == 403
        assert response.json()["error"]["code"] == "hallucination_detected"
        assert WRONG not in without_ids(response.text)
    for action in ("header", "body"):
        with gateway(tmp_path, f"check: {{action: {action}}}") as own:
            own.upstream.script(script)
            response = own.post(request(**form))
            found = own.wait_for_events(1)[-1]["payload"]
        assert response.content == b"".join(part for part in script.body if isinstance(part, bytes))
        assert response.headers["x-vsr-hallucination-spans"] == WRONG
        assert response.headers["x-groundwire-pointers"] == "/built"
        assert found["unsupported_pointers"] == ["/built"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("form", [FORCED, JSON])
def test_nothing_of_a_wrong_one_leaves_in_a_stream(
    tmp_path: Path, release: str, form: dict[str, Any]
) -> None:
    said = call_events(BAD) if form is FORCED else stream_events([BAD[:9], BAD[9:30], BAD[30:]])
    with gateway(tmp_path, f"check: {{action: block}}\ngateway: {{release: {release}}}") as own:
        own.upstream.script(Script.sse(said))
        events = own.stream(**form)
    text = without_ids(json.dumps(events))
    assert WRONG not in text
    assert "height" not in text
    assert events[-2]["groundwire"]["code"] == "hallucination_detected"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("form", [FORCED, JSON])
def test_a_right_one_arrives_as_it_was(tmp_path: Path, release: str, form: dict[str, Any]) -> None:
    said = call_events(RIGHT) if form is FORCED else stream_events([RIGHT[:9], RIGHT[9:]])
    with gateway(tmp_path, f"check: {{action: block}}\ngateway: {{release: {release}}}") as own:
        own.upstream.script(Script.sse(said))
        events = own.stream(**form)
    assert arguments_of(events) == (RIGHT if form is FORCED else "")
    assert text_of(events) == (RIGHT if form is JSON else "")
    assert events[-2]["groundwire"]["outcome"] == "grounded"


def test_a_stream_is_marked_where_text_is_not_held(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: body}") as own:
        own.upstream.script(Script.sse(call_events(BAD)))
        events = own.stream(**FORCED)
    assert arguments_of(events) == BAD
    (marks,) = [each["groundwire"] for each in events if "groundwire" in each]
    assert (marks["action"], marks["headers"]["x-groundwire-pointers"]) == ("header", "/built")


def test_a_call_after_the_end_of_an_answer_does_not_slip_through(tmp_path: Path) -> None:
    late = event(chunk({"tool_calls": [{"index": 0, "function": {"arguments": BAD}}]}))
    said = [*call_events(RIGHT)[:-1], late, DONE]
    with gateway(tmp_path, "check: {action: block}") as own:
        own.upstream.script(Script.sse(said))
        assert WRONG not in without_ids(json.dumps(own.stream(**FORCED)))


@pytest.mark.parametrize("streams", [False, True])
def test_an_ordinary_call_of_a_tool_passes(tmp_path: Path, streams: bool) -> None:
    with gateway(tmp_path, "check: {action: block}") as own:
        own.upstream.script(Script.sse(call_events(BAD)) if streams else Script.json(calling(BAD)))
        response = own.post(request(tools=TOOLS, stream=streams))
        eventually(lambda: own.metric("groundwire_checks_total", outcome="skipped") == 1)
    if streams:
        assert arguments_of(events_of(response.content)) == BAD
    else:
        assert response.json() == calling(BAD)
