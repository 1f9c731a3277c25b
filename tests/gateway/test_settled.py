"""With ``audit.durability: before_response``, who has a whole response has it on record."""

import asyncio
import json
import sqlite3
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import httpx2 as httpx
import pytest

from groundwire.config import Config
from groundwire.control.audit.events import Disposition, StreamSummary
from groundwire.control.audit.log import AuditLog
from groundwire.gateway.chat.recording import Recorder, StreamReport
from groundwire.gateway.services import Services
from groundwire.gateway.verifying import Verifications
from tests.control.audit.trails import KEY, ListSink
from tests.control.audit.trails import event as about
from tests.gateway import chats
from tests.gateway.admin.plane import plane
from tests.gateway.answers import HEADER, checked
from tests.gateway.chats import WRONG, events_of, finish_of, request, text_of, without_ids
from tests.gateway.native_app import SomeServices, fixed_pipeline
from tests.gateway.settled import ENDS, GIVES_UP_S, GRACE_S, ask, watched
from tests.gateway.wire import (
    DONE,
    PATIENCE_S,
    End,
    Gate,
    Piece,
    Script,
    chunk,
    completion,
    event,
    eventually,
    stream_events,
)

pytestmark = pytest.mark.merge

BEFORE = "audit: {durability: before_response}\n"
REFUSING = "audit: {durability: before_response, on_failure: refuse}\n"
GOOD = ["The tower ", "was built ", "in 1887. ", "It is 330 ", "metres tall."]
BAD = ["The tower ", "is in Paris. ", f"It was built in {WRONG}", ". It is ", "330 metres tall."]

ACTIONS = ("log", "flag", "header", "body", "block")
#: Action, and when text leaves.
MODES = [*((action, "sentence") for action in ACTIONS), ("body", "deferred"), ("block", "deferred")]


def yaml(action: str, release: str = "sentence", more: str = BEFORE) -> str:
    return f"{more}check: {{action: {action}}}\ngateway: {{release: {release}}}\n"


def said(text: str, index: int = 0) -> bytes:
    return event(chunk({"content": text}, index=index))


def end(index: int = 0) -> bytes:
    return event(chunk({}, finish="stop", index=index))


# The end of a response waits.


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("action", ACTIONS)
def test_no_byte_of_a_whole_response_leaves_before_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, n: int
) -> None:
    with watched(tmp_path, yaml(action), monkeypatch) as (own, sink):
        own.upstream.script(Script.json(completion("".join(BAD), n=n)))
        client = ask(own, sink, request())
        raw = json.loads(client.wait())
    assert (sink.early, sink.before) == ([], b"")
    assert [each["action"] for each in sink.payloads] == [action] * n
    assert client.status == (403 if action == "block" else 200)
    assert "error" in raw if action == "block" else len(raw["choices"]) == n


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(("action", "release"), MODES)
def test_no_end_of_a_stream_leaves_before_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, release: str, n: int
) -> None:
    with watched(tmp_path, yaml(action, release), monkeypatch) as (own, sink):
        own.upstream.script(Script.sse(stream_events(BAD, n=n, usage=True)))
        client = ask(own, sink, request(stream=True, n=n))
        events = events_of(client.wait())
    assert sink.early == []
    assert events[-1] == "[DONE]"
    expected = {"block": "content_filter"}.get(action, "stop")
    assert finish_of(events) == expected
    types = [each["type"] for each in sink.payloads]
    # A refused answer ends the stream; the other ones may have been checked by then.
    least = 1 if (action, release) == ("block", "sentence") else n
    assert least <= types.count("HALLUCINATION_DETECTED_STREAMING") <= n
    withheld = action == "block" or release == "deferred"
    assert types.count("STREAMING_ENFORCEMENT_SUMMARY") == int(withheld)


@pytest.mark.parametrize(("action", "release"), [*MODES[:5]])
def test_text_does_not_wait_for_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, release: str
) -> None:
    text = GOOD if action == "block" else BAD
    with watched(tmp_path, yaml(action, release), monkeypatch) as (own, sink):
        own.upstream.script(Script.sse(stream_events(text)))
        client = ask(own, sink, request(stream=True))
        events = events_of(client.wait())
    assert sink.before is not None
    assert text_of(events_of(sink.before)).startswith("".join(text))
    assert text_of(events).startswith("".join(text))


def test_under_log_a_stream_is_still_the_upstreams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [b": hello\n\n", *stream_events(BAD, usage=True)]
    with watched(tmp_path, yaml("log"), monkeypatch) as (own, sink):
        own.upstream.script(Script.sse(script))
        assert ask(own, sink, request(stream=True)).wait() == b"".join(script)


def test_the_end_of_an_answer_waits_for_the_records_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    first: list[Piece] = [said("It is tall. "), end(), said("It is in Paris. And", 1)]
    with watched(tmp_path, yaml("block"), monkeypatch) as (own, sink):
        own.upstream.script(Script.sse([*first, gate, end(1), DONE]))
        client = ask(own, sink, request(stream=True, n=2))
        eventually(lambda: b"Paris" in client.raw)
        assert not client.ended.is_set()
        gate.open()
        events = events_of(client.wait())
    assert sink.early == []
    assert [finish_of(events, index) for index in (0, 1)] == ["stop", "stop"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_grounded_answer_has_no_record_to_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    with watched(tmp_path, yaml("header"), monkeypatch) as (own, sink):
        sink.is_broken = True
        answer = Script.sse(stream_events(GOOD)) if stream else Script.json(completion(GOOD[0]))
        own.upstream.script(answer)
        client = ask(own, sink, request(stream=stream))
        client.wait()
    assert (client.status, sink.payloads) == (200, [])


def test_where_nothing_is_done_nothing_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    with watched(tmp_path, yaml("none"), monkeypatch) as (own, sink):
        own.upstream.script(Script.sse([*stream_events(BAD), gate]))
        client = ask(own, sink, request(stream=True))
        assert client.ended.wait(10)  # while the upstream goes on
        gate.open()
        client.wait()


# Whatever else ends it.


@pytest.mark.parametrize("fault", [End.RESET, End.CLOSE, End.FINISH])
@pytest.mark.parametrize("action", ["log", "header", "block"])
def test_if_the_upstream_breaks_off_its_end_waits_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, fault: End
) -> None:
    with watched(tmp_path, yaml(action), monkeypatch) as (own, sink):
        own.upstream.script(Script.sse([*map(said, BAD[:4])], end=fault))
        client = ask(own, sink, request(stream=True))
        raw = client.wait()
    assert sink.early == []
    assert [each["type"] for each in sink.payloads][-1] == (
        "STREAMING_ENFORCEMENT_SUMMARY" if action == "block" else "HALLUCINATION_DETECTED_STREAMING"
    )
    assert (b"content_filter" in raw) is (action == "block")
    if action != "block" and fault is not End.FINISH:
        assert raw.endswith(b"(breaks off)")


@pytest.mark.parametrize("action", ["header", "block"])
def test_a_check_that_fails_is_on_record_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    more = f"{BEFORE}detector: {{max_answer_chars: 10}}\n"
    with watched(tmp_path, yaml(action, more=more), monkeypatch) as (own, sink):
        own.upstream.script(Script.sse([b"data: {garbage\n\n", *stream_events(GOOD)]))
        ask(own, sink, request(stream=True)).wait()
    assert sink.early == []
    assert sink.payloads


@pytest.mark.parametrize("action", ["log", "block"])
def test_of_a_client_that_leaves_there_is_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    with watched(tmp_path, yaml(action), monkeypatch) as (own, sink):
        own.upstream.script(Script.sse([*map(said, BAD), Gate()]))
        if action == "log":
            with own.asking(request(stream=True)) as response:
                assert next(response.iter_raw())
            assert own.upstream.requests[0].was_abandoned.wait(10)
        else:
            ask(own, sink, request(stream=True)).wait()
        eventually(lambda: bool(sink.payloads))
    types = [each["type"] for each in sink.payloads]
    assert len(set(types)) == len(types)


def test_a_client_that_leaves_while_its_record_is_written_leaves_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, yaml("block"), monkeypatch) as (own, sink):
        sink.may_write.clear()
        own.upstream.script(Script.sse(stream_events(GOOD)))
        with own.asking(request(stream=True)) as response:
            incoming, seen = response.iter_raw(), b""
            while b"tall" not in seen:
                seen += next(incoming)
        eventually(lambda: own.metric("groundwire_requests_total", status_class="4xx") == 1)
        sink.may_write.set()
        eventually(lambda: bool(sink.payloads))
    (summary,) = sink.payloads
    assert summary["type"] == "STREAMING_ENFORCEMENT_SUMMARY"


# What cannot be written.


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("action", ["log", "header", "block"])
def test_by_default_a_response_without_record_leaves_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, stream: bool
) -> None:
    with watched(tmp_path, yaml(action), monkeypatch, patience_s=GIVES_UP_S) as (own, sink):
        sink.is_broken = True
        answer = Script.sse(stream_events(BAD)) if stream else Script.json(completion(BAD[2]))
        own.upstream.script(answer)
        client = ask(own, sink, request(stream=stream))
        client.wait()
        assert client.status == (403 if action == "block" and not stream else 200)
        assert own.metric("groundwire_refusals_total", code="audit_unavailable") == 0
        assert sink.payloads == []
        sink.is_broken = False
        eventually(lambda: bool(sink.payloads))


@pytest.mark.parametrize(("action", "release"), MODES)
def test_a_stream_without_record_is_refused_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, release: str
) -> None:
    text = GOOD if action == "block" else BAD
    settings = yaml(action, release, REFUSING)
    with watched(tmp_path, settings, monkeypatch, patience_s=GIVES_UP_S) as (own, sink):
        sink.is_broken = True
        own.upstream.script(Script.sse(stream_events(text, n=2)))
        client = ask(own, sink, request(stream=True, n=2))
        events = events_of(client.wait())
        eventually(lambda: own.metric("groundwire_refusals_total", code="audit_unavailable") == 1)
        sink.is_broken = False
        eventually(lambda: "AUDIT_UNAVAILABLE" in [each["type"] for each in sink.payloads])
    *_, last, done = events
    assert [each["finish_reason"] for each in last["choices"]] == ["content_filter"] * 2
    assert (last["groundwire"]["code"], last["groundwire"]["type"]) == (
        "audit_unavailable",
        "server_error",
    )
    assert done == "[DONE]"
    assert all(finish_of(events, index) == "content_filter" for index in (0, 1))
    assert "stop" not in json.dumps(events)
    if release == "deferred":
        assert text_of(events) == ""


@pytest.mark.parametrize("action", ACTIONS)
def test_a_whole_response_without_record_is_refused_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    settings = yaml(action, more=REFUSING)
    with watched(tmp_path, settings, monkeypatch, patience_s=GIVES_UP_S) as (own, sink):
        sink.is_broken = True
        own.upstream.script(Script.json(completion("".join(BAD))))
        response = own.post(request())
        codes = {
            code: own.metric("groundwire_refusals_total", code=code)
            for code in ("audit_unavailable", "hallucination_detected")
        }
        sink.is_broken = False
        eventually(lambda: len(sink.payloads) == 2)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.json()["error"]["code"] == "audit_unavailable"
    assert WRONG not in without_ids(response.text)
    assert codes == {"audit_unavailable": 1, "hallucination_detected": 0}
    assert [each["type"] for each in sink.payloads] == [
        "HALLUCINATION_DETECTED",
        "AUDIT_UNAVAILABLE",
    ]


@pytest.mark.parametrize("durability", ["batched", "before_response"])
def test_with_a_full_queue_a_response_waits_for_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str
) -> None:
    settings = f"audit: {{durability: {durability}, queue_size: 1}}\ncheck: {{action: header}}"
    with watched(tmp_path, settings, monkeypatch, patience_s=GIVES_UP_S) as (own, sink):
        sink.is_broken = True
        answer = Script.json(completion("".join(BAD)))
        own.upstream.script(answer)
        assert own.post(request()).status_code == 200
        own.upstream.script(answer)
        client = ask(own, sink, request())
        eventually(lambda: own.metric("groundwire_audit_queue_depth") == 2)
        assert not client.ended.wait(GRACE_S)
        sink.is_broken = False
        client.wait()
        assert client.status == 200
    assert [each["type"] for each in sink.payloads] == ["HALLUCINATION_DETECTED"] * 2


@pytest.mark.parametrize("durability", ["batched", "before_response"])
@pytest.mark.parametrize("stream", [False, True])
def test_while_nothing_can_be_written_what_would_be_checked_is_not_even_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str, stream: bool
) -> None:
    settings = f"audit: {{durability: {durability}, on_failure: refuse}}\ncheck: {{action: header}}"
    with watched(tmp_path, settings, monkeypatch, patience_s=GIVES_UP_S) as (own, sink):
        sink.is_broken = True
        own.upstream.script(Script.json(completion("".join(BAD))))
        own.post(request())
        eventually(lambda: own.metric("groundwire_audit_failures_total") > 0)
        refused = own.post(request(stream=stream))
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "audit_unavailable")
        assert len(own.upstream.requests) == 1
        sink.is_broken = False
        eventually(lambda: own.metric("groundwire_audit_queue_depth") == 0)
        own.upstream.script(Script.json(completion(GOOD[0])))
        assert own.post(request()).status_code == 200


def test_while_nothing_can_be_written_what_is_not_checked_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = f"{REFUSING}check: {{action: header}}\ntenants: {{default: {{enabled: false}}}}"
    asks: dict[str, Any] = {**request()["metadata"], "grounding.enabled": True}
    with watched(tmp_path, settings, monkeypatch, patience_s=GIVES_UP_S) as (own, sink):
        sink.is_broken = True
        own.upstream.otherwise(Script.json(completion("".join(BAD))))
        assert own.post(request(metadata=asks)).status_code == 503
        eventually(lambda: own.metric("groundwire_audit_failures_total") > 0)
        assert own.post(request(metadata=asks)).status_code == 503
        assert own.post(request()).status_code == 200


# Requests that are refused, or that nobody checks.


@pytest.mark.parametrize("action", ["log", "block"])
def test_an_endpoint_that_is_not_checked_is_on_record_before_its_response(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    with watched(tmp_path, yaml(action), monkeypatch) as (own, sink):
        own.upstream.otherwise(Script.json({"choices": []}))
        client = ask(own, sink, {"model": "m", "prompt": "?"}, path="threads")
        client.wait()
    assert client.status == (403 if action == "block" else 200)
    assert (sink.early, [each["type"] for each in sink.payloads]) == ([], ["UNCHECKED_ENDPOINT"])


@pytest.mark.parametrize("action", ["log", "block"])
def test_an_endpoint_that_is_not_checked_needs_its_record_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    settings = yaml(action, more=REFUSING)
    with watched(tmp_path, settings, monkeypatch, patience_s=GIVES_UP_S) as (own, sink):
        sink.is_broken = True
        own.upstream.otherwise(Script.json({"choices": []}))
        for _ in range(2):
            response = own.post_to("threads", {"model": "m", "prompt": "?"})
            assert (response.status_code, response.json()["error"]["code"]) == (
                503,
                "audit_unavailable",
            )
            eventually(lambda: own.metric("groundwire_audit_failures_total") > 0)
        assert own.upstream.requests == ()


# In a real database.


@pytest.mark.parametrize(("action", "release"), MODES)
@pytest.mark.parametrize("stream", [False, True])
def test_who_has_the_end_of_a_response_finds_its_record_in_the_database(
    tmp_path: Path, action: str, release: str, stream: bool
) -> None:
    with plane(tmp_path, yaml(action, release)) as own:
        script = Script.sse(stream_events(BAD)) if stream else Script.json(completion(BAD[2]))
        own.upstream.script(script)
        headers, seen = {"Authorization": f"Bearer {chats.KEY}"}, b""
        with httpx.stream(
            "POST",
            f"{own.url}/v1/chat/completions",
            json=request(stream=stream),
            headers=headers,
            timeout=20,
            verify=False,
        ) as response:
            for piece in response.iter_raw():
                seen += piece
                if any(end in seen for end in ENDS):
                    break
            assert n_recorded(tmp_path, response.headers["x-trace-id"]) >= 1


def n_recorded(folder: Path, trace_id: str) -> int:
    """How many records of a request another process finds now."""
    with closing(sqlite3.connect(folder / "groundwire.db")) as connection:
        query = "SELECT count(*) FROM audit_records WHERE trace_id = ?"
        (found,) = connection.execute(query, (trace_id,)).fetchone()
    return int(found)


# By default nothing waits.


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
def test_under_batched_nothing_waits_for_a_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, stream: bool
) -> None:
    with watched(tmp_path, yaml(action, more=""), monkeypatch) as (own, sink):
        sink.may_write.clear()
        try:
            script = Script.sse(stream_events(BAD)) if stream else Script.json(completion(BAD[2]))
            own.upstream.script(script)
            client = ask(own, sink, request(stream=stream))
            client.wait()
            assert sink.payloads == []
        finally:
            sink.may_write.set()


def test_under_batched_a_record_is_handed_over_without_a_turn_of_the_loop() -> None:
    assert asyncio.run(kept_at_once()) == [True, True, True]


async def kept_at_once() -> list[bool]:
    """Whether records of each kind were kept without waiting for anything."""
    log = AuditLog(ListSink(), key=KEY)
    await log.open()
    with recorder_of(log) as recorder:
        answers = checked(policy=HEADER)
        report = StreamReport(answers=answers, added_s=0.1)
        found = [
            ends_at_once(recorder.complete(answers[0].context, answers, since=0.0)),
            ends_at_once(recorder.native(answers[0].context, answers)),
            ends_at_once(recorder.streamed(answers[0].context, report)),
        ]
    assert await log.close() == 0
    return found


def test_what_a_response_leaves_is_recorded_whole_though_it_is_cancelled() -> None:
    sink = ListSink()
    sink.may_write.clear()
    n_lost = asyncio.run(cancelled_at_a_full_queue(sink))
    assert [each.type for each in sink.records] == [
        "CHAIN_STARTED",
        "UNCHECKED_ENDPOINT",
        "HALLUCINATION_DETECTED_STREAMING",
        "STREAMING_ENFORCEMENT_SUMMARY",
        "CHAIN_ENDED",
    ]
    assert '"lost":0' in sink.records[-1].line
    assert n_lost == 0


async def cancelled_at_a_full_queue(sink: ListSink) -> int:
    """Record a stream; cancel that when the queue is full, and write then. How many are lost."""
    log = AuditLog(sink, key=KEY, queue_size=1)
    await log.open()
    await log.write(about(1))
    with recorder_of(log) as recorder:
        answers = checked(policy=HEADER)
        summary = StreamSummary(
            release="deferred",
            disposition=Disposition.CANCELLED,
            delivered_chars=0,
            withheld_chars=0,
        )
        report = StreamReport(answers=answers, summary=summary, is_client_gone=True)
        recording = asyncio.create_task(recorder.streamed(answers[0].context, report))
        for _ in range(3):
            await asyncio.sleep(0)
        recording.cancel()
        await asyncio.wait({recording}, timeout=PATIENCE_S)
        assert recording.cancelled()
    sink.may_write.set()
    return await log.close(timeout_s=PATIENCE_S)


@contextmanager
def recorder_of(log: AuditLog) -> Iterator[Recorder]:
    """What records into a log, of a gateway with the defaults."""
    with ThreadPoolExecutor(1) as checks, fixed_pipeline() as pipeline:
        some = SomeServices(
            config=Config(),
            pipeline=pipeline,
            checks=checks,
            verifications=Verifications(Config(), pipeline.detector),
            audit=log,
        )
        yield Recorder(cast(Services, some), trace_id="t1")


def ends_at_once(coroutine: Coroutine[Any, Any, object]) -> bool:
    """Whether a coroutine is over once it is begun: it gave no turn to anybody."""
    with closing(coroutine), suppress(StopIteration):
        coroutine.send(None)
        return False
    return True
