"""The official ``openai`` client, unchanged, before the gateway and a scripted upstream."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI
from openai.types.chat import ChatCompletionChunk
from pydantic import BaseModel

from tests.gateway.chats import KEY, SOURCES, WRONG, Gateway, gateway, without_ids
from tests.gateway.wire import (
    DONE,
    End,
    Gate,
    Script,
    chunk,
    completion,
    event,
    eventually,
    stream_events,
)

pytestmark = pytest.mark.merge

# Older clients have neither the helpers for streams nor the errors that are tested here.
pytest.importorskip("openai", minversion="3.0")

GOOD = "The Eiffel Tower was built from 1887 to 1889."
BAD = f"The Eiffel Tower was built in {WRONG}."
#: A true sentence, a false one, a true one.
MIXED = ["The tower ", "is in Paris. ", f"It was built in {WRONG}", ". It is ", "330 metres tall."]
PASSED = "The tower is in Paris."
BLOCK = "check: {action: block}"
HEADER = "check: {action: header}"

GROUNDED = {"metadata": {"grounding.sources": SOURCES}}


@contextmanager
def client(own: Gateway, **settings: Any) -> Iterator[OpenAI]:  # noqa: ANN401 - of the client
    """The client as an application has it: a base URL, a key, and nothing else."""
    ours: dict[str, Any] = {"base_url": own.url, "api_key": KEY, "timeout": 20}
    # No certificates are read: that takes longer than a test.
    plain = DefaultHttpxClient(base_url=own.url, timeout=20, verify=False)
    with OpenAI(**(ours | settings), http_client=plain) as made:
        yield made


def async_client(own: Gateway) -> AsyncOpenAI:
    """The same for asynchronous code."""
    plain = DefaultAsyncHttpxClient(timeout=20, verify=False)
    return AsyncOpenAI(base_url=own.url, api_key=KEY, http_client=plain)


def asking(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - of the client
    """Arguments of ``create``; sources go where DVARA's clients put them."""
    return {
        "model": "scripted-1",
        "messages": [{"role": "user", "content": "When was the Eiffel Tower built?"}],
        "extra_body": GROUNDED,
        **more,
    }


def text_of(chunks: list[ChatCompletionChunk], index: int = 0) -> str:
    choices = (choice for each in chunks for choice in each.choices if choice.index == index)
    return "".join(choice.delta.content or "" for choice in choices)


def finish_of(chunks: list[ChatCompletionChunk], index: int = 0) -> str | None:
    reasons = [
        choice.finish_reason for each in chunks for choice in each.choices if choice.index == index
    ]
    return reasons[-1]


def extension_of(found: ChatCompletionChunk) -> dict[str, Any]:
    """What the gateway adds: the client keeps fields that it does not know."""
    said = (found.model_extra or {})["groundwire"]
    assert isinstance(said, dict)
    return said


# Answers at once.


@pytest.mark.parametrize("action", ["log", "header", "block"])
def test_an_answer_that_is_grounded_is_what_the_upstream_said(tmp_path: Path, action: str) -> None:
    said = completion(GOOD, service_tier="default")
    with gateway(tmp_path, f"check: {{action: {action}}}") as own, client(own) as openai_client:
        own.upstream.script(Script.json(said))
        answer = openai_client.chat.completions.create(**asking())
        seen = own.upstream.requests[0].json()
    assert answer.choices[0].message.content == GOOD
    assert answer.to_dict() == said
    assert "metadata" not in seen


def test_headers_are_read_from_the_raw_response(tmp_path: Path) -> None:
    with gateway(tmp_path, HEADER) as own, client(own) as openai_client:
        own.upstream.script(Script.json(completion(BAD)))
        raw = openai_client.chat.completions.with_raw_response.create(**asking())
        assert raw.headers["x-vsr-hallucination-detected"] == "true"
        assert raw.headers["x-vsr-hallucination-spans"] == WRONG
        assert raw.headers["x-groundwire-outcome"] == "hallucinated"
        assert raw.headers["x-trace-id"]
        assert raw.parse().choices[0].message.content == BAD


def test_a_warning_stands_before_the_text(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: body}") as own, client(own) as openai_client:
        own.upstream.script(Script.json(completion(BAD)))
        answer = openai_client.chat.completions.create(**asking())
    text = answer.choices[0].message.content or ""
    assert text.startswith("[Hallucination Warning] ")
    assert text.endswith(f"\n\n{BAD}")


def test_several_answers_arrive_in_their_order(tmp_path: Path) -> None:
    said = completion(GOOD, n=2)
    said["choices"][1]["message"] = {"role": "assistant", "content": "It is 330 metres tall."}
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.json(said))
        answer = openai_client.chat.completions.create(**asking(n=2))
        assert own.upstream.requests[0].json()["n"] == 2
    assert [each.message.content for each in answer.choices] == [GOOD, "It is 330 metres tall."]


TOOL = {
    "type": "function",
    "function": {"name": "landmark", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "landmark", "arguments": "{}"}}


@pytest.mark.parametrize("action", ["header", "block"])
def test_a_call_of_a_tool_passes(tmp_path: Path, action: str) -> None:
    said = completion(None, finish="tool_calls")
    said["choices"][0]["message"]["tool_calls"] = [CALL]
    with gateway(tmp_path, f"check: {{action: {action}}}") as own, client(own) as openai_client:
        own.upstream.script(Script.json(said))
        answer = openai_client.chat.completions.create(**asking(tools=[TOOL]))
        assert own.upstream.requests[0].json()["tools"] == [TOOL]
    (call,) = answer.choices[0].message.tool_calls or []
    assert call.to_dict() == CALL
    assert answer.choices[0].finish_reason == "tool_calls"


def test_results_of_tools_are_what_the_answer_is_held_against(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "When was the Eiffel Tower built?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"built": "1887-1889"}'},
    ]
    with gateway(tmp_path, HEADER) as own, client(own) as openai_client:
        own.upstream.script(Script.json(completion(BAD)))
        raw = openai_client.chat.completions.with_raw_response.create(
            **asking(messages=messages, extra_body=None)
        )
    assert raw.headers["x-groundwire-outcome"] == "hallucinated"


def test_log_probabilities_arrive_as_they_were(tmp_path: Path) -> None:
    said = completion(GOOD)
    token = {"token": "The", "logprob": -0.25, "bytes": [84, 104, 101], "top_logprobs": []}
    said["choices"][0]["logprobs"] = {"content": [token], "refusal": None}
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.json(said))
        answer = openai_client.chat.completions.create(**asking(logprobs=True, top_logprobs=0))
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.to_dict()["content"] == [token]


def test_structured_answers_are_parsed(tmp_path: Path) -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.json(completion('{"built": "1887-1889"}')))
        answer = openai_client.chat.completions.parse(**asking(response_format=schema))
    assert json.loads(answer.choices[0].message.content or "") == {"built": "1887-1889"}


# Streams.


@pytest.mark.parametrize("yaml", ["", HEADER, BLOCK, f"{BLOCK}\ngateway: {{release: deferred}}"])
def test_a_grounded_stream_arrives_whole(tmp_path: Path, yaml: str) -> None:
    pieces = ["The tower ", "was built ", "in 1887. ", "It is 330 ", "metres tall."]
    with gateway(tmp_path, yaml) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(stream_events(pieces, usage=True)))
        with openai_client.chat.completions.create(
            **asking(stream=True, stream_options={"include_usage": True})
        ) as stream:
            chunks = list(stream)
        assert own.upstream.requests[0].json()["stream_options"] == {"include_usage": True}
    assert text_of(chunks) == "".join(pieces)
    assert finish_of(chunks) == "stop"
    assert (chunks[-1].choices, chunks[-1].usage and chunks[-1].usage.total_tokens) == ([], 21)


def test_a_refused_stream_ends_with_content_filter_and_says_why(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(stream_events(MIXED)))
        raw = openai_client.chat.completions.with_raw_response.create(**asking(stream=True))
        chunks = list(raw.parse())
    assert text_of(chunks).strip() == PASSED
    assert finish_of(chunks) == "content_filter"
    said = extension_of(chunks[-1])
    assert (said["type"], said["code"]) == ("guardrail_violation", "hallucination_detected")
    assert said["trace_id"] == raw.headers["x-trace-id"]
    assert all(WRONG not in without_ids(each.to_json()) for each in chunks)


def test_what_headers_can_no_longer_say_is_read_from_the_last_chunk(tmp_path: Path) -> None:
    with gateway(tmp_path, HEADER) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(stream_events(MIXED)))
        with openai_client.chat.completions.create(**asking(stream=True)) as stream:
            chunks = list(stream)
    assert text_of(chunks) == "".join(MIXED)
    said = extension_of(chunks[-1])
    assert said["headers"]["x-vsr-hallucination-spans"] == WRONG


def test_answers_that_are_streamed_side_by_side_are_told_apart(tmp_path: Path) -> None:
    pieces = ["The tower ", "is in Paris. ", "It is 330 ", "metres tall."]
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(stream_events(pieces, n=2)))
        with openai_client.chat.completions.create(**asking(stream=True, n=2)) as stream:
            chunks = list(stream)
    assert [text_of(chunks, index) for index in (0, 1)] == ["".join(pieces)] * 2
    assert [finish_of(chunks, index) for index in (0, 1)] == ["stop"] * 2


def call_events() -> list[bytes]:
    """A call of a tool, in pieces."""
    begin = {"index": 0, **CALL, "function": {"name": "landmark", "arguments": ""}}
    rest = {"index": 0, "function": {"arguments": "{}"}}
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [begin]},
        {"tool_calls": [rest]},
    ]
    return [*(event(chunk(each)) for each in deltas), event(chunk({}, finish="tool_calls")), DONE]


@pytest.mark.parametrize("yaml", [HEADER, BLOCK, f"{BLOCK}\ngateway: {{release: deferred}}"])
def test_the_stream_helper_puts_a_call_of_a_tool_together(tmp_path: Path, yaml: str) -> None:
    with gateway(tmp_path, yaml) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(call_events()))
        with openai_client.chat.completions.stream(**asking(tools=[TOOL])) as stream:
            answer = stream.get_final_completion()
    (call,) = answer.choices[0].message.tool_calls or []
    assert (call.id, call.function.name, call.function.arguments) == ("call_1", "landmark", "{}")


@pytest.mark.parametrize("yaml", ["", HEADER, BLOCK, f"{BLOCK}\ngateway: {{release: deferred}}"])
def test_the_stream_helper_puts_a_text_together(tmp_path: Path, yaml: str) -> None:
    pieces = ["The tower ", "is in Paris. ", "It is 330 ", "metres tall."]
    with gateway(tmp_path, yaml) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(stream_events(pieces, usage=True)))
        with openai_client.chat.completions.stream(**asking()) as stream:
            deltas = [each.delta for each in stream if each.type == "content.delta"]
            answer = stream.get_final_completion()
    assert "".join(deltas) == answer.choices[0].message.content == "".join(pieces)
    assert answer.usage is not None
    assert answer.usage.total_tokens == 21


def test_the_stream_helper_says_that_a_refused_stream_was_filtered(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(stream_events(MIXED)))
        with openai_client.chat.completions.stream(**asking()) as stream:
            stream.until_done()
            with pytest.raises(openai.ContentFilterFinishReasonError):
                stream.get_final_completion()
            (choice,) = stream.current_completion_snapshot.choices
    assert (choice.message.content or "").strip() == PASSED
    assert choice.finish_reason == "content_filter"


class Built(BaseModel):
    """When something was built."""

    built: str


@pytest.mark.parametrize(
    ("said", "action", "outcome"),
    [("from 1887 to 1889", "block", "grounded"), (WRONG, "body", "hallucinated")],
)
def test_a_structured_answer_that_may_pass_is_parsed(
    tmp_path: Path, said: str, action: str, outcome: str
) -> None:
    with gateway(tmp_path, f"check: {{action: {action}}}") as own, client(own) as openai_client:
        own.upstream.script(Script.json(completion(json.dumps({"built": said}))))
        answer = openai_client.chat.completions.parse(**asking(response_format=Built))
        assert answer.choices[0].message.parsed == Built(built=said)
        assert own.metric("groundwire_checks_total", outcome=outcome) == 1


def test_a_structured_answer_that_was_refused_is_not_parsed(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(stream_events([f'{{"built": "in {WRONG}"}}'])))
        with (
            openai_client.chat.completions.stream(**asking(response_format=Built)) as stream,
            pytest.raises(openai.ContentFilterFinishReasonError),
        ):
            stream.until_done()


def test_log_probabilities_of_a_stream_arrive_with_their_text(tmp_path: Path) -> None:
    token = {"token": GOOD, "logprob": -0.5, "bytes": None, "top_logprobs": []}
    said = chunk({"content": GOOD})
    said["choices"][0]["logprobs"] = {"content": [token], "refusal": None}
    script = [event(said), event(chunk({}, finish="stop")), DONE]
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(script))
        with openai_client.chat.completions.create(**asking(stream=True, logprobs=True)) as stream:
            found = [choice.logprobs for each in stream for choice in each.choices]
    assert [each.to_dict()["content"] for each in found if each is not None] == [[token]]


def test_a_client_that_closes_a_stream_ends_the_upstream(tmp_path: Path) -> None:
    for number, yaml in enumerate(["", HEADER, BLOCK]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with gateway(folder, yaml) as own, client(own) as openai_client:
            events = stream_events([*MIXED[:2], "It is tall. "], done=False)[:-1]
            own.upstream.script(Script.sse(events, end=End.HANG))
            with openai_client.chat.completions.create(**asking(stream=True)) as stream:
                assert next(each for each in stream if text_of([each]))
            (asked,) = own.upstream.requests
            eventually(asked.was_abandoned.is_set)


def test_a_stream_that_breaks_off_under_log_breaks_off(tmp_path: Path) -> None:
    with gateway(tmp_path) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(stream_events(MIXED)[:3], end=End.RESET))
        with (
            openai_client.chat.completions.create(**asking(stream=True)) as stream,
            pytest.raises(openai.APIConnectionError),
        ):
            list(stream)


def test_a_stream_that_breaks_off_under_block_is_filtered(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.sse(stream_events(["It is in"])[:2], end=End.RESET))
        with openai_client.chat.completions.create(**asking(stream=True)) as stream:
            chunks = list(stream)
    assert (text_of(chunks), finish_of(chunks)) == ("", "content_filter")
    assert extension_of(chunks[-1])["code"] == "stream_incomplete_ungrounded"


# Errors.


def test_a_blocked_answer_is_a_permission_error_and_is_not_asked_for_again(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own, client(own, max_retries=5) as openai_client:
        own.upstream.otherwise(Script.json(completion(BAD)))
        with pytest.raises(openai.PermissionDeniedError) as caught:
            openai_client.chat.completions.create(**asking())
        assert len(own.upstream.requests) == 1
    error = caught.value
    assert (error.status_code, error.code) == (403, "hallucination_detected")
    assert error.type == "guardrail_violation"
    assert isinstance(error.body, dict)
    assert error.body["trace_id"] == error.response.headers["x-trace-id"]
    assert WRONG not in without_ids(str(error))


def test_a_wrong_key_is_an_authentication_error(tmp_path: Path) -> None:
    with gateway(tmp_path) as own, client(own, api_key="gw_wrong") as openai_client:
        with pytest.raises(openai.AuthenticationError) as caught:
            openai_client.chat.completions.create(**asking())
        assert own.upstream.requests == ()
    assert caught.value.code == "invalid_api_key"


@pytest.mark.parametrize("action", ["log", "block"])
def test_a_rate_limit_of_the_upstream_is_tried_again_as_it_says(
    tmp_path: Path, action: str
) -> None:
    limited = Script.error(429, "slow down", headers=(("Retry-After-Ms", "1"),))
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        with client(own, max_retries=1) as openai_client:
            own.upstream.script(limited, Script.json(completion(GOOD)))
            answer = openai_client.chat.completions.create(**asking())
            assert answer.choices[0].message.content == GOOD
        with client(own, max_retries=0) as openai_client:
            own.upstream.script(limited)
            with pytest.raises(openai.RateLimitError, match="slow down"):
                openai_client.chat.completions.create(**asking())
        assert len(own.upstream.requests) == 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (422, openai.UnprocessableEntityError),
        (500, openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_errors_of_the_upstream_are_those_of_the_client(
    tmp_path: Path, status: int, kind: type[openai.APIStatusError], streams: bool
) -> None:
    with gateway(tmp_path, BLOCK) as own, client(own, max_retries=0) as openai_client:
        own.upstream.script(Script.error(status, "told by the upstream"))
        with pytest.raises(kind, match="told by the upstream"):
            openai_client.chat.completions.create(**asking(stream=streams))


def test_what_is_no_request_is_a_bad_request(tmp_path: Path) -> None:
    with gateway(tmp_path) as own, client(own) as openai_client:
        with pytest.raises(openai.BadRequestError) as caught:
            openai_client.chat.completions.create(**asking(messages="none"))
        assert caught.value.code == "invalid_conversation"


#: Chats that are answered later: nobody checks them.
BATCH: dict[str, Any] = {
    "input_file_id": "f",
    "endpoint": "/v1/chat/completions",
    "completion_window": "24h",
}


def test_an_endpoint_that_is_refused_is_a_permission_error(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        with pytest.raises(openai.PermissionDeniedError) as caught:
            openai_client.batches.create(**BATCH)
        assert caught.value.code == "unchecked_endpoint"
        assert own.upstream.requests == ()


# Everything else.


def test_models_are_listed(tmp_path: Path) -> None:
    model = {"id": "scripted-1", "object": "model", "created": 1, "owned_by": "us"}
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.json({"object": "list", "data": [model]}), Script.json(model))
        assert [each.id for each in openai_client.models.list()] == ["scripted-1"]
        assert openai_client.models.retrieve("scripted-1").owned_by == "us"
        assert [each.target for each in own.upstream.requests] == [
            "/v1/models",
            "/v1/models/scripted-1",
        ]


def test_embeddings_pass_through(tmp_path: Path) -> None:
    item = {"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}
    with gateway(tmp_path, BLOCK) as own, client(own) as openai_client:
        own.upstream.script(Script.json({"object": "list", "model": "e", "data": [item]}))
        found = openai_client.embeddings.create(model="e", input=["a"], encoding_format="float")
        assert own.upstream.requests[0].json()["input"] == ["a"]
    assert found.data[0].embedding == [0.5, -0.25]


def test_an_unchecked_endpoint_passes_with_a_mark_where_nothing_is_blocked(tmp_path: Path) -> None:
    said = {"id": "r", "object": "batch", "status": "validating", "created_at": 1, **BATCH}
    with gateway(tmp_path) as own, client(own) as openai_client:
        own.upstream.script(Script.json(said))
        raw = openai_client.batches.with_raw_response.create(**BATCH)
    assert raw.headers["x-groundwire-checked"] == "false"
    assert raw.parse().id == "r"


# The client that is asynchronous.


async def _ask(own: Gateway) -> tuple[str | None, list[ChatCompletionChunk], str]:
    async with async_client(own) as made:
        answer = await made.chat.completions.create(**asking())
        async with await made.chat.completions.create(**asking(stream=True)) as stream:
            chunks = [each async for each in stream]
        with pytest.raises(openai.PermissionDeniedError) as caught:
            await made.chat.completions.create(**asking())
    return answer.choices[0].message.content, chunks, str(caught.value.code)


def test_the_asynchronous_client_gets_the_same(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(
            Script.json(completion(GOOD)),
            Script.sse(stream_events(MIXED)),
            Script.json(completion(BAD)),
        )
        text, chunks, code = asyncio.run(_ask(own))
    assert (text, code) == (GOOD, "hallucination_detected")
    assert (text_of(chunks).strip(), finish_of(chunks)) == (PASSED, "content_filter")


async def _ask_many(own: Gateway, n: int) -> list[str]:
    async def ask_one(made: AsyncOpenAI) -> str:
        async with await made.chat.completions.create(**asking(stream=True)) as stream:
            return text_of([each async for each in stream])

    async with async_client(own) as made:
        return list(await asyncio.gather(*(ask_one(made) for _ in range(n))))


def test_many_streams_at_a_time_do_not_mix(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.otherwise(Script.sse(stream_events(MIXED)))
        texts = asyncio.run(_ask_many(own, 16))
    assert {text.strip() for text in texts} == {PASSED}


async def _cancel(own: Gateway, gate: Gate) -> None:
    async with async_client(own) as made:
        asking_ = asyncio.create_task(made.chat.completions.create(**asking()))
        while not own.upstream.requests:
            await asyncio.sleep(0.005)
        asking_.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking_
        await asyncio.to_thread(eventually, own.upstream.requests[0].was_abandoned.is_set)
        gate.open()


def test_a_call_that_is_cancelled_ends_the_upstream(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own:
        gate = Gate()
        own.upstream.script(Script.json(completion(GOOD), before=(gate,)))
        asyncio.run(_cancel(own, gate))
