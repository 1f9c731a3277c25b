"""Envoy's ext_proc: what of a response reaches the client, in both body modes, over real gRPC."""

import asyncio
import gzip
import json
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2 as httpx
import pytest

from groundwire.config import parse
from groundwire.errors import ConfigError, MissingExtraError
from groundwire.gateway.app import create_app
from tests.gateway.completions import completion, stream_events
from tests.gateway.integrations.conftest import KEY, chat
from tests.gateway.native_app import fixed_pipeline
from tests.gateway.serving import serving
from tests.gateway.wire import eventually

grpc = pytest.importorskip("grpc", reason="the extra envoy is not installed")
pytest.importorskip("envoy_data_plane", reason="has the messages of Envoy, for its side")

from groundwire.gateway.envoy import messages  # noqa: E402
from groundwire.pipeline import Pipeline  # noqa: E402
from tests.gateway.chats import fixed  # noqa: E402
from tests.gateway.envoy.proxy import (  # noqa: E402
    BUFFERED,
    DUPLEX,
    STREAMED,
    Answer,
    Envoy,
    HttpBody,
    ProcessingRequest,
    Seen,
)

pytestmark = pytest.mark.merge

RIGHT, WRONG = "It is right.", "It is wrong."
EVENTS = "text/event-stream"
GZIP: dict[str, Any] = {"content-encoding": "gzip"}
MODES = pytest.mark.parametrize("mode", [BUFFERED, DUPLEX], ids=["buffered", "duplex"])

_CONFIG = f"""
gateway: {{ext_proc_port: 0}}
check: {{action: block}}
tenants:
  acme: {{keys: [{KEY}]}}
  marks: {{keys: [{KEY}2], action: body}}
  strict: {{keys: [{KEY}3], unverified_action: block}}
  deferred: {{keys: [{KEY}4], release: deferred}}
"""


@dataclass
class Processor:
    """A gateway that serves Envoy; it doubts the word ``wrong``."""

    port: int
    url: str
    runner: asyncio.Runner

    def n_requests(self) -> int:
        """The number of requests that the gateway is working on, without this one."""
        found = re.search(
            r"^groundwire_in_flight (\d+)", httpx.get(f"{self.url}/metrics").text, re.M
        )
        assert found
        return int(found[1]) - 1

    def carry(
        self,
        answer: Answer | str,
        *,
        mode: Any = BUFFERED,  # noqa: ANN401
        asked: dict[str, Any] | bytes | None = None,
        key: str | None = KEY,
        then: Callable[[Envoy, Answer], Awaitable[None]] | None = None,
        **more: Any,  # noqa: ANN401
    ) -> Seen:
        """What the client and the model get for a request with evidence.

        Args:
            answer: Of the model; a text is that of a chat completion.
            mode: The ``response_body_mode``.
            asked: The request.
            key: That Envoy sends.
            then: Runs beside the exchange.
            more: The path, and headers of the request.
        """
        given = Answer(pieces=[whole(answer)]) if isinstance(answer, str) else answer
        request = chat(RIGHT) if asked is None else asked
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        envoy = Envoy(self.port, mode=mode, key=key)

        async def both() -> Seen:
            carrying = asyncio.create_task(envoy.carry(body, given, **more))
            if then is not None:
                await then(envoy, given)
            return await carrying

        return self.runner.run(asyncio.wait_for(both(), 30))


@pytest.fixture(scope="module")
def processor() -> Iterator[Processor]:
    config = parse(_CONFIG, name="groundwire.yaml", environ={})
    with fixed_pipeline(tenants=config.tenants, policy=config.policy) as pipeline:
        app = create_app(config, pipeline=pipeline)
        with serving(app) as url, asyncio.Runner() as runner:
            yield Processor(app.state.ext_proc_port, url, runner)


def whole(text: str) -> bytes:
    return json.dumps(completion(text)).encode()


def streamed(*texts: str, **more: Any) -> Answer:  # noqa: ANN401
    return Answer(pieces=stream_events(texts), content_type=EVENTS, **more)


def text_of(body: bytes) -> str:
    """The text in the events of a stream."""
    events = [
        line.removeprefix(b"data: ") for line in body.split(b"\n") if line.startswith(b"data")
    ]
    chunks = [json.loads(each) for each in events if each != b"[DONE]"]
    return "".join(
        choice["delta"].get("content") or "" for each in chunks for choice in each["choices"]
    )


@pytest.mark.shows("Envoy", evidence="the request, then the response")
@MODES
def test_a_right_answer_is_untouched(processor: Processor, mode: Any) -> None:  # noqa: ANN401
    seen = processor.carry(RIGHT, mode=mode)
    assert (seen.status, seen.body, seen.is_complete) == (200, whole(RIGHT), True)
    assert seen.headers["content-type"] == "application/json"
    assert seen.asked is not None
    headers, body = seen.asked
    assert json.loads(body) == chat(RIGHT)
    assert headers["accept-encoding"] == "identity"


@MODES
def test_a_wrong_answer_is_refused(processor: Processor, mode: Any) -> None:  # noqa: ANN401
    seen = processor.carry(WRONG, mode=mode)
    assert (seen.status, seen.json["error"]["code"]) == (403, "hallucination_detected")
    assert seen.headers["content-type"] == "application/json"
    assert b"wrong" not in seen.body


@pytest.mark.shows("Envoy", unchecked="the header `x-groundwire-outcome`, or status 403 by policy")
@MODES
def test_an_answer_without_evidence_is_marked_or_refused(
    processor: Processor,
    mode: Any,  # noqa: ANN401
) -> None:
    seen = processor.carry(WRONG, mode=mode, asked=chat())
    assert (seen.status, seen.body) == (200, whole(WRONG))
    assert seen.headers["x-groundwire-outcome"] == "unverified"
    seen = processor.carry(WRONG, mode=mode, asked=chat(), key=f"{KEY}3")
    assert (seen.status, seen.json["error"]["code"]) == (403, "response_unverified")


@MODES
@pytest.mark.parametrize("body", [whole(RIGHT)[:-9], b"", b"\xff", b"[" * 10**5])
def test_a_response_that_cannot_be_read_is_marked_as_unchecked_or_refused(
    processor: Processor,
    mode: Any,  # noqa: ANN401
    body: bytes,
) -> None:
    answer = Answer(pieces=[body])
    seen = processor.carry(answer, mode=mode)
    assert (seen.status, seen.json["error"]["code"]) == (403, "check_failed")
    seen = processor.carry(answer, mode=mode, key=f"{KEY}2")
    assert (seen.status, seen.body) == (200, body)
    assert seen.headers["x-groundwire-outcome"] == "unavailable"


@MODES
def test_a_warning_stands_in_front_of_a_wrong_answer(processor: Processor, mode: Any) -> None:  # noqa: ANN401
    seen = processor.carry(WRONG, mode=mode, key=f"{KEY}2")
    text = seen.json["choices"][0]["message"]["content"]
    assert seen.status == 200
    assert text != WRONG
    assert text.endswith(WRONG)


@MODES
def test_a_compressed_response_is_read(processor: Processor, mode: Any) -> None:  # noqa: ANN401
    packed = Answer(pieces=[gzip.compress(whole(WRONG))], headers={"content-encoding": "gzip"})
    assert processor.carry(packed, mode=mode).status == 403
    seen = processor.carry(packed, mode=mode, key=f"{KEY}2")
    assert "content-encoding" not in seen.headers
    assert seen.json["choices"][0]["message"]["content"].endswith(WRONG)


@MODES
def test_an_error_of_the_model_is_passed_on(processor: Processor, mode: Any) -> None:  # noqa: ANN401
    error = b'{"error": {"message": "busy"}}'
    seen = processor.carry(Answer(pieces=[error], status=429), mode=mode)
    assert (seen.status, seen.body) == (429, error)


@MODES
def test_a_refusal_and_an_error_of_the_model_with_its_status_do_not_mix(
    processor: Processor,
    mode: Any,  # noqa: ANN401
) -> None:
    asked = {"model": "m", "messages": 7}  # the model is asked before this is known
    seen = processor.carry(Answer(pieces=[b"wrong"], status=400), mode=mode, asked=asked)
    assert seen.failure is None
    assert (seen.status, seen.json["error"]["code"]) == (400, "invalid_conversation")


@pytest.mark.parametrize("has_trailers", [False, True])
def test_a_right_stream_arrives_whole(processor: Processor, *, has_trailers: bool) -> None:
    answer = streamed("It is ", "right.", has_trailers=has_trailers)
    seen = processor.carry(answer, mode=DUPLEX)
    assert (seen.status, text_of(seen.body)) == (200, RIGHT)
    assert seen.is_complete
    seen = processor.carry(answer, mode=BUFFERED)
    assert (seen.status, text_of(seen.body)) == (200, RIGHT)


@pytest.mark.shows("Envoy", stream="held by sentence, or to the end")
def test_a_stream_is_held_by_sentence_and_ends_before_the_wrong_one(processor: Processor) -> None:
    async def until_the_first(envoy: Envoy, answer: Answer) -> None:
        while "right" not in text_of(envoy.seen.body):
            await asyncio.sleep(0.01)
        assert not envoy.seen.is_complete
        assert answer.gate is not None
        answer.gate.set()

    answer = streamed(f"{RIGHT} ", "It is ", "wrong. ", RIGHT, gate=asyncio.Event())
    seen = processor.carry(answer, mode=DUPLEX, then=until_the_first)
    assert text_of(seen.body).strip() == RIGHT
    assert b"hallucination" in seen.body
    assert b"wrong" not in seen.body
    assert seen.is_complete


def test_a_deferred_stream_shows_nothing_before_its_end(processor: Processor) -> None:
    async def after_a_while(envoy: Envoy, answer: Answer) -> None:
        while not envoy.seen.status:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        assert b"It is" not in envoy.seen.body
        assert answer.gate is not None
        answer.gate.set()

    for last, expected in ((RIGHT, f"{RIGHT} {RIGHT}"), (WRONG, "")):
        answer = streamed(f"{RIGHT} ", last, gate=asyncio.Event())
        seen = processor.carry(answer, mode=DUPLEX, key=f"{KEY}4", then=after_a_while)
        assert text_of(seen.body) == expected
        assert seen.is_complete


def test_a_wrong_stream_that_envoy_buffers_is_cut_before_the_wrong_sentence(
    processor: Processor,
) -> None:
    seen = processor.carry(streamed(f"{RIGHT} ", WRONG), mode=BUFFERED)
    assert text_of(seen.body).strip() == RIGHT
    assert b"hallucination" in seen.body
    assert b"wrong" not in seen.body


def test_evidence_in_the_metadata_is_not_sent_on_to_the_model(processor: Processor) -> None:
    asked = {**chat(), "metadata": {"grounding.sources": [RIGHT], "own": "kept"}}
    assert processor.carry(WRONG, asked=asked).status == 403
    seen = processor.carry(RIGHT, asked=gzip.compress(json.dumps(asked).encode()), **GZIP)
    assert (seen.status, seen.body) == (200, whole(RIGHT))
    assert seen.asked is not None
    headers, body = seen.asked
    assert json.loads(body)["metadata"] == {"own": "kept"}
    assert "content-encoding" not in headers


@MODES
@pytest.mark.parametrize(
    ("asked", "key", "status"),
    [
        (chat(RIGHT), f"{KEY[:-4]}none", 401),
        (chat(RIGHT), None, 401),
        (b"{", KEY, 400),
        (b"", KEY, 400),
        (b"[" * 10**5, KEY, 400),
        (b" " * 33_554_433, KEY, 413),
    ],
    ids=["unknown key", "no key", "no JSON", "empty", "deep", "large"],
)
def test_the_model_is_not_asked_what_the_gateway_refuses(
    processor: Processor,
    mode: Any,  # noqa: ANN401
    asked: dict[str, Any] | bytes,
    key: str | None,
    status: int,
) -> None:
    seen = processor.carry(RIGHT, mode=mode, asked=asked, key=key)
    assert (seen.status, seen.asked) == (status, None)
    assert "error" in seen.json


def test_the_key_that_envoy_was_given_wins_over_that_of_a_client(processor: Processor) -> None:
    theirs: dict[str, Any] = {"x-groundwire-key": f"{KEY}3"}
    seen = processor.carry(WRONG, asked=chat(), **theirs)
    assert seen.status == 200  # it is refused for the other tenant
    assert seen.asked is not None
    assert "x-groundwire-key" not in seen.asked[0]
    assert processor.carry(WRONG, asked=chat(), key=None, **theirs).status == 403


@MODES
def test_an_endpoint_that_is_not_checked_is_marked_or_refused_as_without_envoy(
    processor: Processor,
    mode: Any,  # noqa: ANN401
) -> None:
    answer = Answer(pieces=[b"wrong", b" too"], headers={"x-groundwire-outcome": "grounded"})
    seen = processor.carry(answer, mode=mode, path="/v1/audio/transcriptions")
    assert (seen.status, seen.json["error"]["code"]) == (403, "unchecked_endpoint")
    assert seen.asked is None
    seen = processor.carry(
        answer, mode=mode, path="/v1/audio/transcriptions", key=f"{KEY}2", asked=b"{}"
    )
    assert (seen.status, seen.body, seen.is_complete) == (200, b"wrong too", True)
    assert seen.headers["x-groundwire-checked"] == "false"
    assert "x-groundwire-outcome" not in seen.headers
    assert seen.asked is not None
    assert seen.asked[1] == b"{}"
    seen = processor.carry(answer, mode=mode, path="/v1/embeddings")
    assert (seen.status, seen.body) == (200, b"wrong too")
    assert "x-groundwire-outcome" not in seen.headers


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/openai/v1/chat/completions?api-version=1", 403),
        ("/v1/%63hat/completions", 403),
        ("/v1/chat/completions/", 404),
        ("/v1//chat/completions", 404),
        ("/v1/Chat/Completions", 404),
        ("/v1/chat/completions;x=1", 400),
        ("/v1/chat\\completions", 400),
        ("/v1/x/../chat/completions", 400),
        ("/v1/./chat/completions", 400),
        ("/v1/%2563hat/completions", 400),
        ("/v1/x/%2e%2e/chat/completions", 400),
        ("/x/chat/completions", 404),
        ("/", 404),
        ("/metrics", 404),
        ("/%", 404),
    ],
)
def test_no_spelling_of_a_path_passes_a_wrong_answer(
    processor: Processor, path: str, status: int
) -> None:
    seen = processor.carry(WRONG, path=path)
    assert seen.status == status
    assert b"wrong" not in seen.body
    assert status == 403 or seen.asked is None


@MODES
def test_only_the_gateway_says_what_was_checked(processor: Processor, mode: Any) -> None:  # noqa: ANN401
    forged = {
        **{"x-groundwire-outcome": "grounded", "x-vsr-hallucination": "false"},
        **{"x-groundwire-anything": "1", "x-own": "stays"},
    }
    answer = Answer(pieces=[whole(WRONG)], headers=forged)
    seen = processor.carry(answer, mode=mode, asked=chat())
    assert seen.headers["x-groundwire-outcome"] == "unverified"
    assert not {"x-vsr-hallucination", "x-groundwire-anything"} & seen.headers.keys()
    assert seen.headers["x-own"] == "stays"


@MODES
@pytest.mark.parametrize(
    "name", ["authorization", "x-api-key", "api-key", "ocp-apim-subscription-key"]
)
def test_a_key_of_the_gateway_never_reaches_the_model(
    processor: Processor,
    mode: Any,  # noqa: ANN401
    name: str,
) -> None:
    value = f"Bearer {KEY}" if name == "authorization" else KEY
    own: dict[str, Any] = {name: value, "x-http-method-override": "GET", "cookie": "a=b"}
    seen = processor.carry(RIGHT, mode=mode, key=None, **own)
    assert seen.status == 200
    assert seen.asked is not None
    assert not own.keys() & seen.asked[0].keys()
    assert KEY not in str(seen.asked)


def test_a_key_of_the_model_goes_on(processor: Processor) -> None:
    seen = processor.carry(RIGHT, authorization="Bearer sk-1")
    assert seen.asked is not None
    assert seen.asked[0]["authorization"] == "Bearer sk-1"


def test_a_body_mode_that_would_let_text_pass_is_an_error(processor: Processor) -> None:
    seen = processor.carry(WRONG, mode=STREAMED)
    assert (seen.status, seen.failure) == (0, grpc.StatusCode.FAILED_PRECONDITION)


def test_messages_out_of_order_are_an_error_and_never_a_pass(processor: Processor) -> None:
    envoy = Envoy(processor.port, mode=BUFFERED, key=KEY)
    first = envoy.first({":method": "POST", ":path": "/v1/chat/completions"})
    body = ProcessingRequest(request_body=HttpBody(body=b"{", end_of_stream=True))
    answer = ProcessingRequest(response_body=HttpBody(body=whole(WRONG), end_of_stream=True))
    nameless = envoy.first({"x": "y"})
    for sent in (
        [envoy.first({}), body],  # without headers, nothing tells a chat from other requests
        [nameless, body],
        [first, answer],
        [first, body, body],
        [first, first],
        [ProcessingRequest()],
    ):
        code = processor.runner.run(asyncio.wait_for(envoy.send(*sent), 30))
        assert code is not grpc.StatusCode.OK


def test_many_exchanges_at_a_time_do_not_mix(processor: Processor) -> None:
    async def one(text: str, mode: Any) -> tuple[str, int]:  # noqa: ANN401
        envoy = Envoy(processor.port, mode=mode, key=KEY)
        body = json.dumps(chat(RIGHT)).encode()
        return text, (await envoy.carry(body, Answer(pieces=[whole(text)]))).status

    async def all_of() -> list[tuple[str, int]]:
        pairs = [(text, mode) for text in (RIGHT, WRONG) for mode in (BUFFERED, DUPLEX)] * 8
        return await asyncio.gather(*(one(*pair) for pair in pairs))

    found = processor.runner.run(asyncio.wait_for(all_of(), 60))
    assert set(found) == {(RIGHT, 200), (WRONG, 403)}


def test_an_exchange_that_envoy_gives_up_ends_and_leaves_nothing(processor: Processor) -> None:
    async def give_up() -> None:
        envoy = Envoy(processor.port, mode=DUPLEX, key=KEY)
        answer = streamed(f"{RIGHT} ", RIGHT, gate=asyncio.Event())
        carrying = asyncio.create_task(envoy.carry(json.dumps(chat(RIGHT)).encode(), answer))
        while "right" not in text_of(envoy.seen.body):
            await asyncio.sleep(0.01)
        carrying.cancel()
        await asyncio.wait({carrying})

    processor.runner.run(asyncio.wait_for(give_up(), 30))
    eventually(lambda: processor.n_requests() == 0)
    assert processor.carry(WRONG, mode=DUPLEX).status == 403  # it still answers


def test_the_port_needs_the_extra_and_has_to_be_free(
    processor: Processor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(text: str) -> None:
        config = parse(f"{text}\ntenants: {{acme: {{keys: [{KEY}]}}}}", name="groundwire.yaml")
        app = create_app(config, pipeline=Pipeline(fixed()))
        async with app.router.lifespan_context(app):
            pass

    taken = f"gateway: {{ext_proc_port: {processor.port}}}"
    with pytest.raises(ConfigError, match="ext_proc_port"):
        processor.runner.run(start(taken))
    monkeypatch.setitem(sys.modules, "groundwire.gateway.envoy.processor", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[envoy\]'"):
        processor.runner.run(start(taken))


def test_a_stream_may_be_cut_inside_a_character(processor: Processor) -> None:
    body = b"".join(stream_events(["SIZE: ", RIGHT])).replace(b"SIZE", "Größe".encode())
    pieces = [body[start : start + 1] for start in range(len(body))]
    answer = Answer(pieces=pieces, content_type=EVENTS)
    seen = processor.carry(answer, mode=DUPLEX, key=f"{KEY}2")
    assert text_of(seen.body).endswith(f"Größe: {RIGHT}")


def test_a_header_may_come_as_a_text_or_as_bytes() -> None:
    headers = [{"key": "X-A", "value": "1"}, {"key": "x-b", "raw_value": b"2"}]
    message = messages.ProcessingRequest(request_headers={"headers": {"headers": headers}})
    assert messages.pairs_of(message.request_headers) == [(b"x-a", b"1"), (b"x-b", b"2")]


@pytest.fixture(scope="module")
def small() -> Iterator[Processor]:
    """A gateway that reads little of a response, and takes two requests at a time."""
    limits = "{ext_proc_port: 0, max_response_bytes: 2000, max_requests: 2}"
    config = parse(
        _CONFIG.replace("{ext_proc_port: 0}", limits), name="groundwire.yaml", environ={}
    )
    with fixed_pipeline(tenants=config.tenants, policy=config.policy) as pipeline:
        app = create_app(config, pipeline=pipeline)
        with serving(app) as url, asyncio.Runner() as runner:
            yield Processor(app.state.ext_proc_port, url, runner)


@MODES
def test_a_response_that_is_too_long_to_read_is_no_pass(small: Processor, mode: Any) -> None:  # noqa: ANN401
    seen = small.carry(f"{RIGHT} {WRONG * 400}", mode=mode)
    assert b"wrong" not in seen.body
    assert (seen.status, seen.json["error"]["code"]) == (502, "upstream_too_large")


def test_a_line_without_an_end_is_no_pass(small: Processor) -> None:
    endless = Answer(pieces=[b"data: ", *[b"wrong " * 100] * 50], content_type=EVENTS)
    seen = small.carry(endless, mode=DUPLEX)
    assert b"wrong" not in seen.body


def test_more_exchanges_than_the_gateway_takes_are_refused(small: Processor) -> None:
    async def three() -> list[Seen]:
        gate = asyncio.Event()
        body = json.dumps(chat(RIGHT)).encode()
        exchanges = []
        for _ in range(2):
            envoy = Envoy(small.port, mode=DUPLEX, key=KEY)
            answer = streamed(f"{RIGHT} ", RIGHT, gate=gate)
            exchanges.append(asyncio.create_task(envoy.carry(body, answer)))
            while "right" not in text_of(envoy.seen.body):
                await asyncio.sleep(0.01)
        third = await Envoy(small.port, mode=DUPLEX, key=KEY).carry(body, streamed(RIGHT))
        gate.set()
        return [third, *await asyncio.gather(*exchanges)]

    third, *others = small.runner.run(asyncio.wait_for(three(), 30))
    # A client that still writes when its exchange is refused may see the stream reset instead.
    refusals = (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL)
    assert third.status == 0
    assert third.failure in refusals
    assert all(each.is_complete for each in others)
