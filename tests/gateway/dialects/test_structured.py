"""The arguments of a tool that returns the output, in every dialect that has tools."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest

from tests.gateway.chats import WRONG, Gateway, gateway, without_ids
from tests.gateway.dialects.spoken import Messages, Responses, Spoken, data_of, named
from tests.gateway.wire import Script

pytestmark = pytest.mark.merge

RIGHT = '{"height": 330, "built": "1887 to 1889"}'
BAD = f'{{"height": 330, "built": {WRONG}}}'
MODES = {
    "block": "check: {action: block}",
    "deferred": "check: {action: block}\ngateway: {release: deferred}",
    "header": "check: {action: header}",
}


class ToolMessages(Messages):
    """A message that calls a tool."""

    tool = "Tower"

    form: ClassVar[dict[str, Any]] = {
        "tools": [{"name": "Tower", "input_schema": {}}],
        "tool_choice": {"type": "tool", "name": "Tower"},
    }

    def called(self, arguments: str) -> dict[str, Any]:
        call = {"type": "tool_use", "id": "c", "name": self.tool, "input": json.loads(arguments)}
        return self.message(call, reason="tool_use")

    def events(self, pieces: Any) -> list[bytes]:  # noqa: ANN401
        start = {"type": "tool_use", "id": "c", "name": self.tool, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        events = self.data([])
        events[2:4] = [
            {"type": "content_block_start", "index": 0, "content_block": start},
            *({"type": "content_block_delta", "index": 0, "delta": each} for each in deltas),
            {"type": "content_block_stop", "index": 0},
        ]
        return [named(each) for each in events]

    def arguments_of(self, events: list[Any]) -> str:
        return "".join(each.get("delta", {}).get("partial_json", "") for each in events)


class ToolResponses(Responses):
    """A response that calls a tool."""

    tool = "Tower"

    form: ClassVar[dict[str, Any]] = {
        "tools": [{"type": "function", "name": "Tower", "parameters": {}}],
        "tool_choice": {"type": "function", "name": "Tower"},
    }

    def call(self, arguments: str) -> dict[str, Any]:
        call = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": self.tool}
        return {**call, "status": "completed", "arguments": arguments}

    def called(self, arguments: str) -> dict[str, Any]:
        return self.response(self.call(arguments))

    def events(self, pieces: Any) -> list[bytes]:  # noqa: ANN401
        at, done = {"item_id": "fc_1", "output_index": 0}, self.call("".join(pieces))
        delta = "response.function_call_arguments.delta"
        found = [
            *self.data([])[:2],
            {"type": "response.output_item.added", "output_index": 0, "item": self.call("")},
            *({"type": delta, **at, "delta": piece} for piece in pieces),
            {
                "type": "response.function_call_arguments.done",
                **at,
                "arguments": done["arguments"],
            },
            {"type": "response.output_item.done", "output_index": 0, "item": done},
            {"type": "response.completed", "response": self.response(done)},
        ]
        return [named({**each, "sequence_number": n}) for n, each in enumerate(found)]

    def arguments_of(self, events: list[Any]) -> str:
        return "".join(each["delta"] for each in events if each["type"].endswith("arguments.delta"))


ToolSpoken = ToolMessages | ToolResponses
EACH = pytest.mark.parametrize(
    "spoken", [ToolMessages(), ToolResponses()], ids=lambda each: each.path
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gateway]]:
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(gateway(tmp_path_factory.mktemp("gateway"), yaml))
            for mode, yaml in MODES.items()
        }


def streamed(own: Gateway, spoken: ToolSpoken, arguments: str) -> list[Any]:
    pieces = [arguments[i : i + 7] for i in range(0, len(arguments), 7)]
    own.upstream.script(Script.sse(spoken.events(pieces)))
    with own.asking(spoken.request(stream=True, **spoken.form), path=spoken.path) as answer:
        return data_of(answer.read())


@EACH
@pytest.mark.parametrize("mode", ["block", "deferred"])
def test_nothing_of_wrong_arguments_leaves(
    running: dict[str, Gateway], spoken: ToolSpoken, mode: str
) -> None:
    own = running[mode]
    own.upstream.script(Script.json(spoken.called(BAD)))
    answer = own.post_to(spoken.path, spoken.request(**spoken.form))
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "hallucination_detected")
    events = streamed(own, spoken, BAD)
    assert spoken.is_refused(events)
    assert WRONG not in without_ids(json.dumps(events))
    assert "height" not in json.dumps(events)


@EACH
@pytest.mark.parametrize("mode", MODES)
def test_right_arguments_arrive(running: dict[str, Gateway], spoken: ToolSpoken, mode: str) -> None:
    own = running[mode]
    own.upstream.script(Script.json(spoken.called(RIGHT)))
    assert own.post_to(spoken.path, spoken.request(**spoken.form)).json() == spoken.called(RIGHT)
    assert spoken.arguments_of(streamed(own, spoken, RIGHT)) == RIGHT


@EACH
def test_wrong_arguments_are_marked(running: dict[str, Gateway], spoken: ToolSpoken) -> None:
    own = running["header"]
    own.upstream.script(Script.json(spoken.called(BAD)))
    answer = own.post_to(spoken.path, spoken.request(**spoken.form))
    assert answer.headers["x-groundwire-pointers"] == "/built"
    events = streamed(own, spoken, BAD)
    assert spoken.arguments_of(events) == BAD
    marks = [each["groundwire"] for each in events if "groundwire" in each]
    assert marks[0]["headers"]["x-groundwire-pointers"] == "/built"


def test_a_call_that_is_not_final_passes(running: dict[str, Gateway]) -> None:
    spoken: Spoken
    for spoken in (ToolMessages(), ToolResponses()):
        said = spoken.called(BAD)
        running["block"].upstream.script(Script.json(said))
        request = spoken.request(tools=spoken.form["tools"])
        assert running["block"].post_to(spoken.path, request).json() == said
