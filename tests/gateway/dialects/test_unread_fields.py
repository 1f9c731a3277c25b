"""Text where nobody looks for it: it never leaves unmarked, and never before it is decided on."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.gateway.chats import WRONG, Gateway, gateway, without_ids
from tests.gateway.dialects.spoken import ALL, Chat, Messages, Responses, Spoken, data_of, named
from tests.gateway.wire import Script, chunk, event

pytestmark = pytest.mark.merge

CHAT, RESPONSES, MESSAGES = Chat(), Responses(), Messages()
ODD = f"It was built in {WRONG}."
GOOD = ["The tower is in Paris. ", "It is 330 metres tall."]
BAD = ["The tower is in Paris. ", f"It was built in {WRONG}."]
MODES = {
    "block": "check: {action: block}",
    "deferred": "check: {action: block}\ngateway: {release: deferred}",
    "strict": "check: {preset: strict}",
    "header": "check: {action: header}",
}
EACH = pytest.mark.parametrize("spoken", ALL, ids=lambda each: each.path)
HELD = pytest.mark.parametrize("mode", ["block", "deferred"])


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


# The event that ends a response says all of it once more.


def call(arguments: str, *, name: str = "look_up", **more: object) -> dict[str, Any]:
    item = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "c1"}
    return {**item, "name": name, "arguments": arguments, **more}


def with_call(arguments: str) -> list[dict[str, Any]]:
    """The data of a stream with a text and a call."""
    begin, end = RESPONSES.data(GOOD)[:-1], RESPONSES.data(GOOD)[-1]
    at = {"item_id": "fc_1", "output_index": 1}
    begin += [
        {"type": "response.output_item.added", "output_index": 1, "item": call("")},
        {"type": "response.function_call_arguments.delta", **at, "delta": arguments},
        {"type": "response.function_call_arguments.done", **at, "arguments": arguments},
        {"type": "response.output_item.done", "output_index": 1, "item": call(arguments)},
    ]
    end["response"]["output"].append(call(arguments))
    return [{**each, "sequence_number": n} for n, each in enumerate([*begin, end])]


WRONG_ENDS: dict[str, dict[str, Any]] = {
    "other arguments": {"1": call(f'{{"year": {WRONG}}}')},
    "another name": {"1": call('{"year": 1889}', name="forget")},
    "an unknown item": {"2": {"type": "odd", "text": ODD}},
    "another text": {"0": RESPONSES.item(RESPONSES.part("".join(GOOD)), RESPONSES.part(ODD))},
    "a refusal": {"0": RESPONSES.item({"type": "refusal", "refusal": ODD})},
}


@pytest.mark.parametrize("kind", ["completed", "incomplete"])
@pytest.mark.parametrize("ending", WRONG_ENDS)
def test_the_end_of_a_response_says_what_was_checked(
    running: dict[str, Gateway], kind: str, ending: str
) -> None:
    events = with_call('{"year": 1889}')
    events[-1]["type"] = f"response.{kind}"
    output = events[-1]["response"]["output"]
    for place, item in WRONG_ENDS[ending].items():
        output[int(place) : int(place) + 1] = [item]
    got = streamed(running["strict"], RESPONSES, [named(each) for each in events])
    assert WRONG.encode() not in without_ids(got)
    assert data_of(got)[-1]["type"] == "response.incomplete"
    assert data_of(got)[-1]["groundwire"]["type"] == "guardrail_violation"


def test_calls_that_only_the_end_tells_of_are_read(running: dict[str, Gateway]) -> None:
    events = RESPONSES.data(GOOD)
    events[-1]["response"]["output"].append(call("{", name="look_up"))
    got = streamed(running["deferred"], RESPONSES, [named(each) for each in events])
    assert data_of(got)[-1]["groundwire"]["code"] == "stream_tool_arguments_unenforceable"


def test_an_end_that_repeats_the_stream_leaves_as_it_came(running: dict[str, Gateway]) -> None:
    events = with_call('{"year": 1889}')
    *_, last = data_of(streamed(running["strict"], RESPONSES, [named(each) for each in events]))
    assert last.pop("groundwire")["outcome"] == "grounded"
    assert last["response"] == events[-1]["response"]


def test_an_upstream_that_fails_says_why_and_nothing_of_what_was_held(
    running: dict[str, Gateway],
) -> None:
    response = RESPONSES.response(RESPONSES.item(RESPONSES.part(ODD)), status="failed")
    error = {"code": "server_error", "message": "The model is overloaded."}
    last = {"response": {**response, "error": error, "instructions": ODD}, "sequence_number": 4}
    events = [*RESPONSES.data(BAD)[:4], {"type": "response.failed", **last}]
    got = streamed(running["block"], RESPONSES, [named(each) for each in events])
    assert data_of(got)[-1]["response"]["error"] == error
    assert WRONG.encode() not in without_ids(got)


# Fields that nobody knows, or that are free text.


def put(spoken: Spoken, events: list[Any], place: str) -> None:
    """Put text somewhere in a stream, before its own text."""
    match spoken.path, place:
        case "responses", "the first event":
            events[0]["response"] |= {"metadata": {"a": ODD}, "instructions": ODD, "odd": ODD}
        case "responses", "an event":
            events[4]["odd"] = ODD
        case "responses", "a part":
            events[3]["part"]["odd"] = ODD
        case "messages", "the first event":
            events[0]["message"] |= {"usage": {"odd": ODD, "input_tokens": 1}, "odd": [ODD]}
        case "messages", "an event":
            events[3]["odd"] = ODD
        case "messages", "a part":
            events[2]["content_block"]["odd"] = ODD
        case _, "the first event":
            events.insert(0, {**events[0], "choices": [], "usage": {"odd": ODD}, "odd": ODD})
        case _, "an event":
            events[1]["odd"] = ODD
        case _:
            events[1]["choices"][0]["odd"] = ODD


PLACES = pytest.mark.parametrize("place", ["the first event", "an event", "a part"])


def with_text_at(spoken: Spoken, place: str, pieces: list[str]) -> list[bytes]:
    events = data_of(b"".join(spoken.events(pieces)))
    put(spoken, events, place)
    write = event if spoken.path.endswith("completions") else named
    return [b"data: [DONE]\n\n" if each is None else write(each) for each in events]


@EACH
@HELD
@PLACES
def test_no_field_of_a_stream_leaves_with_text_before_the_answer_has_passed(
    running: dict[str, Gateway], mode: str, place: str, spoken: Spoken
) -> None:
    got = streamed(running[mode], spoken, with_text_at(spoken, place, BAD))
    assert spoken.is_refused(data_of(got))
    assert WRONG.encode() not in without_ids(got)


@pytest.mark.parametrize("delta", [{}, {"content": ""}, {"role": ODD}])
def test_a_choice_without_text_waits_if_it_says_more(
    running: dict[str, Gateway], delta: dict[str, Any]
) -> None:
    odd = chunk(delta)
    odd["choices"][0]["odd"] = WRONG
    got = streamed(running["block"], CHAT, [event(odd), *CHAT.events(BAD)])
    assert WRONG.encode() not in without_ids(got)
    got = streamed(running["block"], CHAT, [event(odd), *CHAT.events(GOOD)])
    assert CHAT.text_of(got) == "".join(GOOD)
    assert any(each and each["choices"][0].get("odd") for each in data_of(got))


def test_probabilities_of_other_words_wait_for_the_answer(running: dict[str, Gateway]) -> None:
    odd = chunk({"content": "The tower is tall. "})
    odd["choices"][0]["logprobs"] = {"content": [{"token": ODD, "logprob": -1}]}
    events = RESPONSES.data(BAD)
    events[4]["logprobs"] = [{"token": ODD, "logprob": -1}]
    for spoken, said in (
        (CHAT, [event(odd), *CHAT.events(BAD)]),
        (RESPONSES, [named(each) for each in events]),
    ):
        got = streamed(running["block"], spoken, said)
        assert WRONG.encode() not in without_ids(got)
        assert spoken.text_of(got)


@EACH
@PLACES
def test_a_stream_with_text_that_nobody_reads_is_partial(
    running: dict[str, Gateway], place: str, spoken: Spoken
) -> None:
    events = with_text_at(spoken, place, GOOD)
    marks = spoken.marks_of(streamed(running["header"], spoken, events))
    assert marks is not None
    is_known = place == "the first event" and spoken.path == "messages"
    assert marks["outcome"] == "partial" or is_known
    refused = streamed(running["strict"], spoken, events)
    assert (spoken.marks_of(refused) or {})["code"] == "response_partially_checked"


def test_a_sign_of_life_with_text_that_nobody_reads_makes_the_answer_partial(
    running: dict[str, Gateway],
) -> None:
    events = RESPONSES.data(GOOD)
    events.insert(4, {"type": "keepalive", "odd": ODD, "sequence_number": 4})
    got = streamed(running["header"], RESPONSES, [named(each) for each in events])
    assert (RESPONSES.marks_of(got) or {})["outcome"] == "partial"


def inside(spoken: Spoken, place: str, odd: object) -> dict[str, Any]:
    """A body with a field that nobody knows."""
    said = spoken.body("".join(GOOD))
    outer = next(said[name] for name in ("choices", "output", "content") if name in said)[0]
    inner = outer.get("message") or (outer.get("content") or [outer])[0]
    {"a body": said, "an answer": outer, "a message": inner}[place]["odd"] = odd
    return said


@EACH
@pytest.mark.parametrize("place", ["a body", "an answer", "a message"])
def test_a_body_with_text_that_nobody_reads_is_partial(
    running: dict[str, Gateway], place: str, spoken: Spoken
) -> None:
    texts: list[object] = [ODD, {"a": [ODD]}, ["The", "tower"], {ODD: 1}, "塔は"]
    others: list[object] = [7, None, True, "gpt-5.1", {"region": "eu-1", "n": [1, 2]}, []]
    for odd in texts:
        for mode, status in (("block", 200), ("strict", 403)):
            running[mode].upstream.script(Script.json(inside(spoken, place, odd)))
            answer = running[mode].post_to(spoken.path, spoken.request())
            assert answer.status_code == status
            marked = answer.headers["x-groundwire-outcome"] if status == 200 else "partial"
            assert marked == "partial"
    for odd in others:
        running["strict"].upstream.script(Script.json(inside(spoken, place, odd)))
        answer = running["strict"].post_to(spoken.path, spoken.request())
        assert (answer.status_code, answer.json()) == (200, inside(spoken, place, odd))


def test_a_body_of_nothing_but_text_that_nobody_reads_is_withheld(
    running: dict[str, Gateway],
) -> None:
    running["block"].upstream.script(Script.json({"choices": [], "response": ODD}))
    answer = running["block"].post_to("chat/completions", CHAT.request())
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "check_failed")


# Errors.

ERROR = {"message": "The model is overloaded.", "type": "server_error", "code": 503}
ERRORS: dict[str, dict[str, Any]] = {
    "OpenRouter": {"error": ERROR, "user_id": "user_2abc"},
    "null beside it": {"choices": None, "output": None, "content": None, "error": ERROR},
    "FastAPI": {"detail": "Model not found"},
    "FastAPI, validation": {"detail": [{"loc": ["body"], "msg": "Field required"}]},
    "vLLM": {"object": "error", **ERROR, "param": None},
    "Anthropic": {"type": "error", "error": ERROR, "request_id": "req_1"},
    "several": {"errors": [{"message": "No such route."}], "success": False, "result": None},
    "a text": {"error": "The model is overloaded."},
}


@EACH
@HELD
@pytest.mark.parametrize("shape", ERRORS)
def test_an_error_of_the_upstream_is_the_upstreams_in_any_shape(
    running: dict[str, Gateway], mode: str, shape: str, spoken: Spoken
) -> None:
    own, error = running[mode], ERRORS[shape]
    own.upstream.script(Script.json(error))
    answer = own.post_to(spoken.path, spoken.request())
    assert (answer.status_code, answer.json()) == (200, error)
    before = spoken.events(BAD)[: 2 if spoken.path.endswith("completions") else 4]
    for named_so in (b"", b"event: error\n"):
        last = named_so + b"data: " + json.dumps(error).encode() + b"\n\n"
        got = streamed(own, spoken, [*before, last])
        found = next(each for each in reversed(data_of(got)) if each)
        assert {key: found[key] for key in error} == error
        assert WRONG.encode() not in without_ids(got)


@EACH
@pytest.mark.parametrize(
    "beside",
    [
        *({"odd": ODD}, {"content": ODD}, {"output_text": ODD}),
        {"choices": [{"message": {"content": ODD}}]},
    ],
)
def test_text_beside_an_error_is_no_error(
    running: dict[str, Gateway], beside: dict[str, Any], spoken: Spoken
) -> None:
    own, error = running["strict"], {"error": ERROR, **beside}
    own.upstream.script(Script.json(error))
    answer = own.post_to(spoken.path, spoken.request())
    assert answer.status_code == 403
    got = streamed(own, spoken, [b"data: " + json.dumps(error).encode() + b"\n\n"])
    assert WRONG.encode() not in without_ids(got)
