"""All actions, streamed and not, in every dialect, before a scripted upstream."""

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.gateway.chats import SOURCES, WRONG, Gateway, gateway, unmarked, without_ids
from tests.gateway.dialects.spoken import (
    ALL,
    QUESTION,
    Messages,
    Responses,
    Spoken,
    data_of,
    named,
)
from tests.gateway.wire import Script, eventually

pytestmark = pytest.mark.merge

GOOD = ["The tower ", "is in Paris. It is 330", " metres tall."]
BAD = ["The tower ", "is in Paris. It was built", f" in {WRONG}. It ", "is tall."]
PASSED = "The tower is in Paris."
MODES = {
    "block": "check: {action: block}",
    "deferred": "check: {action: block}\ngateway: {release: deferred}",
    "settled": "check: {action: block}\naudit: {durability: before_response}",
    "header": "check: {action: header}",
    "body": "check: {action: body}",
    "body deferred": "check: {action: body}\ngateway: {release: deferred}",
    "flag": "check: {action: flag}",
}
EACH = pytest.mark.parametrize("spoken", ALL, ids=lambda each: each.path)
WITHHELD = pytest.mark.parametrize("mode", ["block", "deferred", "settled"])
RESPONSES, MESSAGES = Responses(), Messages()
OTHERS = [RESPONSES, MESSAGES]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gateway]]:
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(gateway(tmp_path_factory.mktemp("gateway"), yaml))
            for mode, yaml in MODES.items()
        }


def user(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def streamed(own: Gateway, spoken: Spoken, events: list[bytes]) -> bytes:
    own.upstream.script(Script.sse(events))
    with own.asking(spoken.request(stream=True), path=spoken.path) as answer:
        assert answer.status_code == 200
        return answer.read()


@EACH
@pytest.mark.parametrize("mode", MODES)
def test_a_right_answer_is_what_the_upstream_said_byte_for_byte(
    running: dict[str, Gateway], mode: str, spoken: Spoken
) -> None:
    own, said = running[mode], spoken.body("".join(GOOD))
    own.upstream.script(Script.json(said))
    answer = own.post_to(spoken.path, spoken.request())
    assert answer.content == json.dumps(said).encode()
    assert answer.headers["content-type"] == "application/json"
    events = spoken.events(GOOD)
    got = streamed(own, spoken, events)
    assert spoken.text_of(got) == "".join(GOOD)
    marks = spoken.marks_of(got)
    assert (None if marks is None else marks["outcome"]) == (None if mode == "flag" else "grounded")
    if mode not in ("block", "settled"):
        assert unmarked(data_of(got)) == data_of(b"".join(events))


@EACH
@WITHHELD
def test_a_wrong_answer_is_refused(running: dict[str, Gateway], mode: str, spoken: Spoken) -> None:
    own = running[mode]
    own.upstream.script(Script.json(spoken.body("".join(BAD))))
    answer = own.post_to(spoken.path, spoken.request())
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "hallucination_detected")
    assert ("type" in answer.json()) == (spoken.path == "messages")
    got = streamed(own, spoken, spoken.events(BAD))
    assert WRONG.encode() not in without_ids(got)
    assert spoken.is_refused(data_of(got))
    assert spoken.text_of(got).strip() == ("" if mode == "deferred" else PASSED)
    marks = spoken.marks_of(got)
    assert marks is not None
    assert (marks["code"], "headers" in marks) == ("hallucination_detected", False)


@EACH
def test_a_wrong_answer_is_marked(running: dict[str, Gateway], spoken: Spoken) -> None:
    own, said = running["header"], spoken.body("".join(BAD))
    own.upstream.script(Script.json(said))
    answer = own.post_to(spoken.path, spoken.request())
    assert answer.json() == said
    assert answer.headers["x-vsr-hallucination-spans"] == WRONG
    got = streamed(own, spoken, spoken.events(BAD))
    assert spoken.text_of(got) == "".join(BAD)
    marks = spoken.marks_of(got)
    assert marks is not None
    assert marks["headers"]["x-vsr-hallucination-spans"] == WRONG


@EACH
@pytest.mark.parametrize("mode", ["body", "body deferred"])
def test_a_wrong_answer_has_a_warning(
    running: dict[str, Gateway], mode: str, spoken: Spoken
) -> None:
    own = running[mode]
    own.upstream.script(Script.json(spoken.body("".join(BAD))))
    text = spoken.text_of_body(own.post_to(spoken.path, spoken.request()).json())
    assert text.startswith("[Hallucination Warning] ")
    assert text.endswith("\n\n" + "".join(BAD))
    got = spoken.text_of(streamed(own, spoken, spoken.events(BAD)))
    if mode == "body deferred":
        assert got == text
    else:
        assert got.startswith("".join(BAD) + "\n\n[Hallucination Warning] ")


@EACH
def test_a_wrong_answer_is_recorded_and_leaves_as_it_came(
    running: dict[str, Gateway], spoken: Spoken
) -> None:
    own, events = running["flag"], spoken.events(BAD)
    before = own.metric("groundwire_checks_total", outcome="hallucinated")
    assert streamed(own, spoken, events) == b"".join(events)
    eventually(lambda: own.metric("groundwire_checks_total", outcome="hallucinated") == before + 1)


@EACH
@pytest.mark.parametrize("mode", MODES)
def test_an_error_of_the_upstream_stays_its_own(
    running: dict[str, Gateway], mode: str, spoken: Spoken
) -> None:
    own = running[mode]
    error: dict[str, Any] = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
    }
    if spoken.path != "messages":
        error.pop("type")
    for status in (200, 529):
        own.upstream.script(Script.json(error, status=status))
        answer = own.post_to(spoken.path, spoken.request())
        assert (answer.status_code, answer.json()) == (status, error)


FAILED: dict[str, dict[str, Any]] = {
    "messages": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "responses": {"type": "error", "code": "server_error", "message": "Overloaded", "param": None},
}


@pytest.mark.parametrize("spoken", OTHERS, ids=lambda each: each.path)
@pytest.mark.parametrize("mode", MODES)
def test_an_error_in_a_stream_stays_the_upstreams(
    running: dict[str, Gateway], mode: str, spoken: Spoken
) -> None:
    events = [*spoken.events(GOOD)[:6], b": x\n\n"]
    last = dict(FAILED[spoken.path])
    if spoken.path == "responses":
        last["sequence_number"] = 6
    events.append(f"event: error\ndata: {json.dumps(last)}\n\n".encode())
    got = data_of(streamed(running[mode], spoken, events))
    assert {key: got[-1][key] for key in FAILED[spoken.path]} == FAILED[spoken.path]
    assert "".join(spoken.pieces_of(got)) in "".join(GOOD)


@EACH
def test_what_is_ours_stays_here_and_all_else_goes_up(
    running: dict[str, Gateway], spoken: Spoken
) -> None:
    own = running["block"]
    own.upstream.script(Script.json(spoken.body("".join(GOOD))))
    own.post_to(spoken.path, spoken.request(odd={"a": [1]}))
    seen = own.upstream.requests[-1]
    assert (seen.path, seen.json()["odd"]) == (f"/v1/{spoken.path}", {"a": [1]})
    assert "metadata" not in seen.json()
    assert SOURCES[0].encode() not in seen.body


ASKED = {"type": "text", "text": QUESTION}
FILE = "data:text/plain;base64," + base64.b64encode(SOURCES[0].encode()).decode()
#: The conversation of a request, by the evidence in it: shapes that only one dialect has.
EVIDENCE: dict[str, tuple[Spoken, list[dict[str, Any]]]] = {
    "document": (
        MESSAGES,
        [user({"type": "document", "source": {"type": "text", "data": SOURCES[0]}}, ASKED)],
    ),
    "search_result": (
        MESSAGES,
        [
            user(
                {
                    "type": "search_result",
                    "source": "u",
                    "title": "Tower",
                    "content": [{"type": "text", "text": SOURCES[0]}],
                },
                ASKED,
            )
        ],
    ),
    "tool_result": (
        MESSAGES,
        [
            user(ASKED),
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "look_up", "input": {}}],
            },
            user({"type": "tool_result", "tool_use_id": "t1", "content": SOURCES[0]}),
        ],
    ),
    "function_call_output": (
        RESPONSES,
        [
            {"role": "user", "content": QUESTION},
            {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": SOURCES[0]},
        ],
    ),
    "file_search_call": (
        RESPONSES,
        [
            {"role": "user", "content": QUESTION},
            {"type": "file_search_call", "id": "f1", "results": [{"text": SOURCES[0]}]},
        ],
    ),
    "input_file": (
        RESPONSES,
        [
            user(
                {"type": "input_file", "file_data": FILE, "filename": "tower.txt"},
                {"type": "input_text", "text": QUESTION},
            )
        ],
    ),
}


@pytest.mark.parametrize("kind", EVIDENCE)
def test_the_evidence_of_a_dialect_is_what_its_answers_are_held_against(
    running: dict[str, Gateway], kind: str
) -> None:
    own, (spoken, items) = running["block"], EVIDENCE[kind]
    key = "input" if spoken is RESPONSES else "messages"
    asking = {"model": "scripted-1", "max_tokens": 99, key: items}
    for pieces, status in ((GOOD, 200), (BAD, 403)):
        own.upstream.script(Script.json(spoken.body("".join(pieces))))
        answer = own.post_to(spoken.path, asking)
        assert answer.status_code == status
    assert answer.json()["error"]["code"] == "hallucination_detected"


def test_thinking_and_calls_wait_for_the_verdict_and_keep_their_place(
    running: dict[str, Gateway],
) -> None:
    own = running["block"]
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    call = {"type": "tool_use", "id": "t1", "name": "look_up", "input": {}}
    start, end = MESSAGES.data(BAD)[:1], MESSAGES.data(BAD)[-2:]
    for pieces in (GOOD, BAD):
        events = [
            *start,
            {"type": "content_block_start", "index": 0, "content_block": thought},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "thinking_delta", "thinking": f"Was it {WRONG}?"},
            },
            {"type": "content_block_stop", "index": 0},
            *MESSAGES.block(1, pieces),
            {"type": "content_block_start", "index": 2, "content_block": call},
            {
                "type": "content_block_delta",
                "index": 2,
                "delta": {"type": "input_json_delta", "partial_json": f'{{"year": {WRONG}}}'},
            },
            {"type": "content_block_stop", "index": 2},
            *end,
        ]
        got = streamed(own, MESSAGES, [named(each) for each in events])
        if pieces is GOOD:
            *_, last, _ = found = data_of(got)
            assert last.pop("groundwire")["outcome"] == "grounded"
            assert found == events
        else:
            assert WRONG.encode() not in without_ids(got)
            assert MESSAGES.is_refused(data_of(got))


def test_an_item_of_reasoning_without_text_holds_nothing_up(running: dict[str, Gateway]) -> None:
    item = {"id": "rs_1", "type": "reasoning", "summary": []}
    events = RESPONSES.data(BAD)
    for each in events[2:]:
        if "output_index" in each:
            each["output_index"] = 1
    events[2:2] = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]
    events[-1]["response"]["output"].insert(0, item)
    numbered = [named({**each, "sequence_number": n}) for n, each in enumerate(events)]
    got = streamed(running["block"], RESPONSES, numbered)
    assert RESPONSES.text_of(got).strip() == PASSED
    assert RESPONSES.is_refused(data_of(got))
    warned = data_of(streamed(running["body deferred"], RESPONSES, numbered))
    assert [each.get("output_index") for each in warned if each["type"][-10:] == "item.added"] == [
        *(0, 1, 2)
    ]
    items = warned[-1]["response"]["output"]
    assert [each["sequence_number"] for each in warned] == list(range(len(warned)))
    assert items[1]["content"][0]["text"].startswith("[Hallucination Warning] ")


def test_a_path_of_azures_names_the_model(running: dict[str, Gateway]) -> None:
    own = running["block"]
    chat = ALL[0].request()
    del chat["model"]
    own.upstream.script(Script.json(ALL[0].body("".join(GOOD))))
    url = own.url.removesuffix("/v1")
    headers = {"api-key": own.headers["Authorization"].removeprefix("Bearer ")}
    answer = httpx.post(
        f"{url}/openai/deployments/tower/chat/completions?api-version=1",
        json=chat,
        headers=headers,
        timeout=20,
        verify=False,
    )
    assert answer.status_code == 200
    seen = own.upstream.requests[-1]
    assert (seen.path, seen.query) == ("/v1/chat/completions", "api-version=1")
    assert (seen.json()["model"], seen.header("api-key")) == ("tower", None)


@pytest.mark.parametrize("path", ["embeddings", "deployments/tower/embeddings", "v1/embeddings"])
def test_other_endpoints_of_azures_are_relayed(running: dict[str, Gateway], path: str) -> None:
    own = running["block"]
    own.upstream.script(Script.json({"data": []}))
    url = own.url.removesuffix("/v1")
    answer = httpx.post(
        f"{url}/openai/{path}", json={}, headers=own.headers, timeout=20, verify=False
    )
    assert answer.json() == {"data": []}
    assert own.upstream.requests[-1].path == "/v1/embeddings"


def test_the_key_of_an_upstream_goes_in_the_header_of_its_api(tmp_path: Path) -> None:
    yaml = "upstream: {api_key: sk-up}\ncheck: {action: block}"
    with gateway(tmp_path, yaml) as own:
        for spoken, name, value in (
            (MESSAGES, "x-api-key", "sk-up"),
            (RESPONSES, "x-api-key", None),
        ):
            own.upstream.script(Script.json(spoken.body("".join(GOOD))))
            own.post_to(spoken.path, spoken.request())
            seen = own.upstream.requests[-1]
            assert (seen.header(name), seen.header("authorization")) == (value, "Bearer sk-up")


# Answers that break off, within a word that would be marked.

REASONS = {
    "chat/completions": [(b'"stop"', b'"length"')],
    "completions": [(b'"stop"', b'"length"')],
    "messages": [(b'"end_turn"', b'"max_tokens"')],
    "responses": [
        (b"response.completed", b"response.incomplete"),
        (b'"status": "completed"', b'"status": "incomplete"'),
    ],
}
CUT = ["The tower ", "is in Paris. It was built in", f" {WRONG}"]


def broken_off(spoken: Spoken, raw: bytes) -> bytes:
    for old, new in REASONS[spoken.path]:
        raw = raw.replace(old, new)
    return raw


@EACH
@pytest.mark.parametrize("mode", ["block", "deferred", "header"])
def test_the_word_at_which_an_answer_breaks_off_is_not_marked(
    running: dict[str, Gateway], mode: str, spoken: Spoken
) -> None:
    own, body = running[mode], json.dumps(spoken.body("".join(CUT))).encode()
    own.upstream.script(Script.json(json.loads(broken_off(spoken, body))))
    answer = own.post_to(spoken.path, spoken.request())
    assert (answer.status_code, answer.headers["x-groundwire-outcome"]) == (200, "partial")
    got = streamed(own, spoken, [broken_off(spoken, each) for each in spoken.events(CUT)])
    assert spoken.text_of(got) == "".join(CUT)
    marks = spoken.marks_of(got)
    assert marks is not None
    assert marks["outcome"] == "partial"
    own.upstream.script(Script.json(spoken.body("".join(CUT))))
    whole = own.post_to(spoken.path, spoken.request())
    assert (whole.status_code == 403) is (mode != "header")


@EACH
def test_so_it_is_if_the_upstream_dies(running: dict[str, Gateway], spoken: Spoken) -> None:
    events = spoken.events(CUT)
    last = next(i for i, each in enumerate(events) if WRONG.encode() in each)
    got = streamed(running["header"], spoken, events[: last + 1])
    marks = spoken.marks_of(got)
    assert spoken.text_of(got) == "".join(CUT)
    # The other dialects have marks on an event that never came.
    is_told = "completions" in spoken.path
    assert (marks and marks["outcome"]) == ("partial" if is_told else None)
