"""Answers that are JSON stay JSON under the action ``body``: they are marked beside their text."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.chats import WRONG, finish_of, gateway, request, text_of
from tests.gateway.wire import Script, completion, stream_events

pytestmark = pytest.mark.merge

APPEND = "check: {action: body}"
PREPEND = f"{APPEND}\ngateway: {{release: deferred}}"
DATA = {"name": "Eiffel Tower", "built": f"It was built in {WRONG}."}
OBJECT = json.dumps(DATA, indent=1)
#: The request may say that it wants JSON; if it does not, the text is looked at.
SILENT: dict[str, Any] = {}
BY_MODE = {"response_format": {"type": "json_object"}}
BY_SCHEMA = {"response_format": {"type": "json_schema", "json_schema": {"name": "tower"}}}


@pytest.mark.parametrize("more", [SILENT, BY_MODE, BY_SCHEMA])
def test_json_that_is_not_streamed_is_marked_by_headers(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    raw = json.dumps(completion(OBJECT)).encode()
    with gateway(tmp_path, APPEND) as own:
        own.upstream.script(Script.json(None, body=(raw,)))
        response = own.post(request(**more))
        (event,) = own.wait_for_events(1)
    assert json.loads(response.json()["choices"][0]["message"]["content"]) == DATA
    assert response.content == raw
    assert response.headers["x-vsr-hallucination-spans"] == WRONG
    assert response.headers["x-groundwire-action"] == event["payload"]["action"] == "header"


@pytest.mark.parametrize("yaml", [APPEND, PREPEND])
@pytest.mark.parametrize("more", [SILENT, BY_MODE])
def test_json_that_is_streamed_is_marked_on_the_last_chunk(
    tmp_path: Path, yaml: str, more: dict[str, Any]
) -> None:
    with gateway(tmp_path, yaml) as own:
        own.upstream.script(Script.sse(stream_events([OBJECT[:20], OBJECT[20:]])))
        events = own.stream(**more)
    assert json.loads(text_of(events)) == DATA
    assert finish_of(events) == "stop"
    (marks,) = [event["groundwire"] for event in events if "groundwire" in event]
    assert marks["headers"]["x-vsr-hallucination-spans"] == WRONG


def test_json_whose_end_was_not_read_gets_no_warning_behind_it(tmp_path: Path) -> None:
    yaml = f"{APPEND}\ngateway: {{max_held_chars: {len(OBJECT) - 1}}}"
    with gateway(tmp_path, yaml) as own:
        own.upstream.script(Script.sse(stream_events([OBJECT])))
        assert json.loads(text_of(own.stream())) == DATA


def test_of_two_answers_the_one_that_is_no_json_has_its_warning(tmp_path: Path) -> None:
    answer = completion(OBJECT, n=2)
    answer["choices"][1] = {**answer["choices"][1], "message": {"content": f"In {WRONG}."}}
    with gateway(tmp_path, APPEND) as own:
        own.upstream.script(Script.json(answer))
        response = own.post(request())
    first, second = (each["message"]["content"] for each in response.json()["choices"])
    assert json.loads(first) == DATA
    assert second.startswith("[Hallucination Warning] ")
    assert response.headers["x-vsr-hallucination-spans"] == WRONG
