"""All actions, streamed and not, in every dialect, before a scripted upstream."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.gateway.chats import SOURCES, WRONG, Gateway, gateway, unmarked, without_ids
from tests.gateway.dialects.spoken import ALL, Spoken, data_of
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
OTHERS = [each for each in ALL if each.path not in ("chat/completions", "completions")]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gateway]]:
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(gateway(tmp_path_factory.mktemp("gateway"), yaml))
            for mode, yaml in MODES.items()
        }


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
