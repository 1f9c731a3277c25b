"""The clients of OpenAI and Anthropic, wrapped, before a scripted server."""

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel

import groundwire
from groundwire import Detector, Pipeline
from groundwire.compat.clients import AnswerWithheldError
from groundwire.compat.verdict import HostVerdict
from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.gateway.completions import DONE, completion, event
from tests.gateway.dialects.spoken import Chat, Messages, Responses, Spoken, named
from tests.gateway.wire import Script, ScriptedUpstream

pytestmark = pytest.mark.merge
pytest.importorskip("openai", minversion="3.0")

ASKED: Any = [
    {"role": "system", "content": f"Answer by the context.\n\n<context>\n{TOWER}\n</context>"},
    {"role": "user", "content": QUESTION},
]
PROMPT: Any = {"model": "m", "messages": ASKED}


@pytest.fixture
def server() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as started:
        yield started


@pytest.fixture(scope="module")
def pipeline(detector: Detector) -> Pipeline:
    return Pipeline(detector)


#: Connections of the clients, which a fixture closes.
OPENED: list[Any] = []


@pytest.fixture(autouse=True)
def closes() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def settings(server: ScriptedUpstream, package: Any) -> dict[str, Any]:  # noqa: ANN401
    # No certificates are read: that takes longer than a test.
    plain = package.DefaultHttpxClient(timeout=20, verify=False)
    OPENED.append(plain)
    url = server.url if package is openai else server.url.removesuffix("/v1")
    return {"base_url": url, "api_key": "k", "http_client": plain, "max_retries": 0}


def openai_client(server: ScriptedUpstream) -> openai.OpenAI:
    return openai.OpenAI(**settings(server, openai))


def anthropic_client(server: ScriptedUpstream) -> anthropic.Anthropic:
    return anthropic.Anthropic(**settings(server, anthropic))


def async_openai(server: ScriptedUpstream) -> openai.AsyncOpenAI:
    plain = openai.DefaultAsyncHttpxClient(timeout=20, verify=False)
    return openai.AsyncOpenAI(**settings(server, openai) | {"http_client": plain})


def ask(server: ScriptedUpstream, api: Spoken, *, stream: bool = False, **options: Any) -> Any:  # noqa: ANN401
    """Ask a wrapped client; the request goes through the package's own method."""
    if isinstance(api, Messages):
        claude = groundwire.wrap(anthropic_client(server), **options)
        user: Any = [{"role": "user", "content": QUESTION}]
        asked: Any = {"model": "m", "max_tokens": 9, "system": ASKED[0]["content"]}
        return claude.messages.create(**asked, messages=user, stream=stream)
    client: Any = groundwire.wrap(openai_client(server), **options)
    if isinstance(api, Chat):
        return client.chat.completions.create(**PROMPT, stream=stream)
    return client.responses.create(model="m", input=ASKED, stream=stream)


APIS = [Chat(), Responses(), Messages()]
apis = pytest.mark.parametrize("api", APIS, ids=lambda api: api.path)


@apis
@pytest.mark.shows(
    "Clients of OpenAI and Anthropic", evidence="messages, results of tools of the request"
)
def test_a_response_has_its_verdict(
    server: ScriptedUpstream, pipeline: Pipeline, api: Spoken
) -> None:
    server.script(Script.json(api.body(RIGHT)), Script.json(api.body(WRONG)))
    right = ask(server, api, pipeline=pipeline)
    wrong = ask(server, api, pipeline=pipeline)
    assert right.groundwire.passed is True
    assert wrong.groundwire.passed is False
    assert "500" in wrong.groundwire.reason
    assert "groundwire" not in wrong.model_dump()


@apis
def test_an_unsupported_answer_is_an_error_if_blocked(
    server: ScriptedUpstream, pipeline: Pipeline, api: Spoken
) -> None:
    server.script(Script.json(api.body(RIGHT)), Script.json(api.body(WRONG)))
    assert ask(server, api, pipeline=pipeline, block=True).groundwire.passed
    with pytest.raises(AnswerWithheldError, match="500") as caught:
        ask(server, api, pipeline=pipeline, block=True)
    assert caught.value.verdict.status == "failed"
    assert caught.value.response is not None


@apis
@pytest.mark.shows(
    "Clients of OpenAI and Anthropic",
    stream="words leave before the check; the verdict comes at the end",
)
def test_a_stream_is_checked_at_its_end(
    server: ScriptedUpstream, pipeline: Pipeline, api: Spoken
) -> None:
    pieces = [f"{word} " for word in WRONG.split()]
    server.otherwise(Script.sse(api.events(pieces)))
    stream = ask(server, api, stream=True, pipeline=pipeline)
    assert list(stream)
    assert stream.groundwire.passed is False
    blocked = ask(server, api, stream=True, pipeline=pipeline, block=True)
    seen = [next(blocked) for _ in pieces]
    assert len(seen) == len(pieces)
    with pytest.raises(AnswerWithheldError, match="500"):
        list(blocked)


@pytest.mark.shows(
    "Clients of OpenAI and Anthropic", unchecked="the status `not checked` of the verdict"
)
def test_without_evidence_an_answer_is_not_checked(
    server: ScriptedUpstream, pipeline: Pipeline
) -> None:
    server.otherwise(Script.json(completion(RIGHT)))
    asked: Any = {"model": "m", "messages": ASKED[1:]}
    client = groundwire.wrap(openai_client(server), block=True, pipeline=pipeline)
    said: Any = client.chat.completions.create(**asked)
    assert said.groundwire.status == "not checked"
    strict = groundwire.wrap(
        openai_client(server), block=True, block_unchecked=True, pipeline=pipeline
    )
    with pytest.raises(AnswerWithheldError, match="no evidence"):
        strict.chat.completions.create(**asked)


def test_the_worst_choice_counts_and_tool_calls_are_no_answer(
    server: ScriptedUpstream, pipeline: Pipeline
) -> None:
    two = completion(RIGHT, n=2)
    two["choices"][1] = {**two["choices"][1], "message": {"role": "assistant", "content": WRONG}}
    call = completion(None)
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": "1", "type": "function", "function": function}]
    call["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": calls}
    server.script(Script.json(two), Script.json(call))
    client = groundwire.wrap(openai_client(server), block_unchecked=True, pipeline=pipeline)
    said: Any = client.chat.completions.create(**PROMPT)
    assert said.groundwire.passed is False
    called: Any = client.chat.completions.create(**PROMPT)
    assert not called.groundwire.is_due


class Height(BaseModel):
    metres: int


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """A chunk of a streamed chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [choice]}


def pieces_of_a_call(*pieces: Any) -> list[bytes]:  # noqa: ANN401
    """A streamed call of the tool ``final_result``, whose name some servers repeat."""
    calls = [
        {"index": 0, "id": "1", "type": "function", "function": {"name": name, "arguments": piece}}
        for name, piece in zip(["final_result", *["", "final_result"] * 9], pieces, strict=False)
    ]
    said = [event(chunk({"tool_calls": [call]})) for call in calls]
    return [*said, event(chunk({}, "tool_calls")), DONE]


@pytest.mark.parametrize("pieces", [['{"metres"', ": 5", "00}"], [{"metres": 500}]])
def test_the_arguments_of_a_final_tool_are_checked_in_a_stream(
    server: ScriptedUpstream, pipeline: Pipeline, pieces: list[Any]
) -> None:
    server.otherwise(Script.sse(pieces_of_a_call(*pieces)))
    tool: Any = {"type": "function", "function": {"name": "final_result", "parameters": {}}}
    client: Any = groundwire.wrap(openai_client(server), pipeline=pipeline)
    forced = {"type": "function", "function": {"name": "final_result"}}
    stream = client.chat.completions.create(**PROMPT, tools=[tool], tool_choice=forced, stream=True)
    assert list(stream)
    assert stream.groundwire.passed is False
    assert "500" in stream.groundwire.reason


def test_the_input_of_a_final_tool_is_checked_in_a_streamed_message(
    server: ScriptedUpstream, pipeline: Pipeline
) -> None:
    api = Messages()
    begun, ping, *_, delta, stop = api.data([])
    block = {"type": "tool_use", "id": "1", "name": "final_result", "input": {}}
    parts = [{"type": "input_json_delta", "partial_json": each} for each in ('{"metres"', ": 500}")]
    said = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": each} for each in parts),
        {"type": "content_block_stop", "index": 0},
    ]
    server.otherwise(Script.sse([named(each) for each in (begun, ping, *said, delta, stop)]))
    client: Any = groundwire.wrap(anthropic_client(server), pipeline=pipeline)
    stream = client.messages.create(
        model="m",
        max_tokens=9,
        system=ASKED[0]["content"],
        messages=[{"role": "user", "content": QUESTION}],
        tools=[{"name": "final_result", "input_schema": {"type": "object"}}],
        tool_choice={"type": "tool", "name": "final_result"},
        stream=True,
    )
    assert list(stream)
    assert stream.groundwire.passed is False
    assert "500" in stream.groundwire.reason


def test_an_odd_stream_of_a_message_is_checked_or_says_that_it_was_not(
    server: ScriptedUpstream, pipeline: Pipeline
) -> None:
    api = Messages()
    begun, ping, block, *pieces, end, delta, stop = api.data([WRONG])
    for first in ([], [{**block, "content_block": {"text": ""}}], [{**block, "index": 7}]):
        data = [begun, ping, *first, *pieces, end, delta, stop]
        server.otherwise(Script.sse([named(each) for each in data]))
        stream = ask(server, api, stream=True, pipeline=pipeline)
        assert list(stream)
        assert stream.groundwire.passed is False
    odd = [{**block, "content_block": "text"}]
    server.otherwise(Script.sse([named(each) for each in (begun, ping, *odd, *pieces, end)]))
    stream = ask(server, api, stream=True, pipeline=pipeline)
    assert list(stream)
    assert stream.groundwire.passed is not True
    assert stream.groundwire.is_due


def test_a_stream_whose_response_fails_is_not_checked(
    server: ScriptedUpstream, pipeline: Pipeline
) -> None:
    api = Responses()
    *said, last = api.data([WRONG])
    failed = {**last, "type": "response.failed", "response": api.response(status="failed")}
    server.otherwise(Script.sse([named(each) for each in (*said, failed)]))
    stream = ask(server, api, stream=True, pipeline=pipeline)
    assert list(stream)
    assert stream.groundwire.status == "not checked"
    strict = ask(server, api, stream=True, pipeline=pipeline, block=True, block_unchecked=True)
    with pytest.raises(AnswerWithheldError, match="ended before its response was complete"):
        list(strict)


def test_parsed_answers_helpers_and_copies_are_checked(
    server: ScriptedUpstream, pipeline: Pipeline
) -> None:
    verdicts: list[HostVerdict] = []
    plain = openai_client(server)
    client = groundwire.wrap(plain, on_verdict=verdicts.append, pipeline=pipeline)
    server.script(
        Script.json(completion('{"metres": 500}')),
        Script.sse(Chat().events([RIGHT])),
        Script.json(completion(WRONG)),
        Script.json(completion(WRONG)),
    )
    parsed: Any = client.chat.completions.parse(**PROMPT, response_format=Height)
    assert parsed.choices[0].message.parsed == Height(metres=500)
    with client.chat.completions.stream(**PROMPT) as stream:
        assert stream.get_final_completion().choices[0].message.content == RIGHT
    client.with_options(timeout=9).chat.completions.create(**PROMPT)
    assert [each.passed for each in verdicts] == [False, True, False]
    assert not hasattr(plain.chat.completions.create(**PROMPT), "groundwire")


def test_raw_responses_are_refused_if_they_were_to_be_blocked(
    server: ScriptedUpstream, pipeline: Pipeline
) -> None:
    server.otherwise(Script.json(completion(WRONG)))
    client = groundwire.wrap(openai_client(server), block=True, pipeline=pipeline)
    with pytest.raises(TypeError, match="raw response"):
        client.chat.completions.with_raw_response.create(**PROMPT)


def test_asynchronous_clients_are_wrapped(server: ScriptedUpstream, pipeline: Pipeline) -> None:
    server.script(Script.json(completion(WRONG)), Script.sse(Chat().events([WRONG])))

    async def asks() -> tuple[Any, Any]:
        async with groundwire.wrap(async_openai(server), pipeline=pipeline) as client:
            said = await client.chat.completions.create(**PROMPT)
            stream = await client.chat.completions.create(**PROMPT, stream=True)
            assert [event async for event in stream]
            return said, stream

    said, stream = asyncio.run(asks())
    assert said.groundwire.passed is stream.groundwire.passed is False


def test_the_asynchronous_client_of_anthropic_is_wrapped(
    server: ScriptedUpstream, pipeline: Pipeline
) -> None:
    api = Messages()
    server.script(Script.json(api.body(WRONG)), Script.sse(api.events([WRONG])))
    plain = anthropic.DefaultAsyncHttpxClient(timeout=20, verify=False)
    own = settings(server, anthropic) | {"http_client": plain}
    asked: Any = {"model": "m", "max_tokens": 9, "system": ASKED[0]["content"]}
    asked["messages"] = [{"role": "user", "content": QUESTION}]

    async def asks() -> tuple[Any, Any]:
        async with groundwire.wrap(anthropic.AsyncAnthropic(**own), pipeline=pipeline) as client:
            said = await client.messages.create(**asked)
            stream = await client.messages.create(**asked, stream=True)
            assert [event async for event in stream]
            return said, stream

    said, stream = asyncio.run(asks())
    assert said.groundwire.passed is stream.groundwire.passed is False


def test_the_client_of_azure_is_wrapped(server: ScriptedUpstream, pipeline: Pipeline) -> None:
    own = {name: each for name, each in settings(server, openai).items() if name != "base_url"}
    azure = openai.AzureOpenAI(
        **own, azure_endpoint=server.url.removesuffix("/v1"), api_version="2024-10-21"
    )
    server.script(Script.json(completion(WRONG)), Script.json(completion(RIGHT)))
    client = groundwire.wrap(azure, pipeline=pipeline)
    wrong, right = (client.chat.completions.create(**PROMPT) for _ in range(2))
    found: list[Any] = [wrong, right]
    assert [each.groundwire.passed for each in found] == [False, True]


def test_other_clients_are_refused() -> None:
    with pytest.raises(TypeError, match=r"builtins\.dict"):
        groundwire.wrap({})
