"""Chat completions that are streamed: what leaves, when, and what is recorded."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from groundwire import Detector
from groundwire.gateway.chat.answer_checks import MAX_ANSWERS
from tests.fixed_judge import FixedJudge
from tests.gateway.chats import (
    WRONG,
    Gateway,
    events_of,
    finish_of,
    fixed,
    gateway,
    request,
    text_of,
    unmarked,
    without_ids,
)
from tests.gateway.wire import (
    DONE,
    End,
    Gate,
    Pause,
    Piece,
    Script,
    chunk,
    completion,
    event,
    eventually,
    split,
    stream_events,
)

pytestmark = pytest.mark.merge

GOOD = ["The tower ", "was built ", "in 1887. ", "It is 330 ", "metres tall."]
BAD = ["The tower ", "is in Paris. ", f"It was built in {WRONG}", ". It is ", "330 metres tall."]
BLOCK = "check: {action: block}"
DEFERRED = "check: {action: block}\ngateway: {release: deferred}"


def role() -> bytes:
    return event(chunk({"role": "assistant", "content": ""}))


def said(text: str, index: int = 0) -> bytes:
    return event(chunk({"content": text}, index=index))


def all_of(pieces: list[str]) -> list[bytes]:
    return [said(piece) for piece in pieces]


def end(reason: str = "stop") -> bytes:
    return event(chunk({}, finish=reason))


def bytes_of(piece: Piece) -> bytes:
    assert isinstance(piece, bytes)
    return piece


def summary(own: Gateway) -> dict[str, Any]:
    """The payload of the event that each stream whose text is held leaves."""

    def found() -> list[dict[str, Any]]:
        return [e for e in own.events() if e["type"] == "STREAMING_ENFORCEMENT_SUMMARY"]

    eventually(lambda: len(found()) == 1)
    payload = found()[0]["payload"]
    assert isinstance(payload, dict)
    return payload


# Nothing waits under log and flag.


@pytest.mark.parametrize("action", ["log", "flag"])
def test_under_log_and_flag_a_stream_is_the_upstreams_byte_for_byte(
    tmp_path: Path, action: str
) -> None:
    script = [b": hello\n\n", b"event: x\r\nid: 1\r\n", *stream_events(BAD, usage=True), b"\n"]
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(Script.sse(script))
        with own.asking(request(stream=True)) as response:
            assert response.read() == b"".join(script)
        (event_,) = own.wait_for_events(1)
        eventually(lambda: own.metric("groundwire_checks_total", mode="stream") == 1)
        assert own.metric("gateway_grounding_check_total") == 0
    assert event_["type"] == "HALLUCINATION_DETECTED_STREAMING"
    assert event_["payload"]["source"] == "streaming_response"
    assert "message" not in event_["payload"]


def test_under_log_each_piece_leaves_before_the_next_comes(tmp_path: Path) -> None:
    gates = [Gate() for _ in BAD]
    pieces = [piece for pair in zip(gates, all_of(BAD), strict=True) for piece in pair]
    with gateway(tmp_path) as own:
        last = Gate()
        own.upstream.script(Script.sse([role(), *pieces, last, end(), DONE]))
        with own.asking(request(stream=True)) as response:
            incoming = response.iter_raw()
            seen, expected = b"", role()
            for gate, piece in zip(gates, BAD, strict=True):
                gate.open()
                expected += said(piece)
                while len(seen) < len(expected):
                    seen += next(incoming)
                assert seen == expected  # and the next waits for its gate
            last.open()
            assert b"".join(incoming) == end() + DONE


def test_a_compressed_stream_is_relayed_as_it_is_and_checked(tmp_path: Path) -> None:
    with gateway(tmp_path) as own:
        own.upstream.script(Script.sse(stream_events(BAD), encoding="gzip"))
        headers = {**own.headers, "Accept-Encoding": "gzip"}
        response = httpx.post(
            f"{own.url}/chat/completions",
            json=request(stream=True),
            headers=headers,
            timeout=20,
            verify=False,
        )
        assert response.headers["content-encoding"] == "gzip"
        assert text_of(events_of(response.content)) == "".join(BAD)
        assert own.wait_for_events(1)[0]["payload"]["ungrounded_claim_count"] == 1


# Marks: text passes at once, the end of an answer carries them.


def test_what_headers_can_no_longer_say_stands_on_the_last_chunk(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: header}") as own:
        own.upstream.script(Script.sse(stream_events(BAD, usage=True)))
        events = own.stream()
    *_, last, usage, done = events
    assert text_of(events) == "".join(BAD)
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["groundwire"]["outcome"] == "hallucinated"
    assert last["groundwire"]["headers"]["x-vsr-hallucination-spans"] == WRONG
    assert usage["usage"]["total_tokens"] == 21
    assert done == "[DONE]"


def test_text_does_not_wait_for_marks(tmp_path: Path) -> None:
    gate = Gate()
    with gateway(tmp_path, "check: {action: header}") as own:
        own.upstream.script(Script.sse([role(), said(f"In {WRONG}"), gate, end(), DONE]))
        with own.asking(request(stream=True)) as response:
            incoming = response.iter_raw()
            seen = b""
            while WRONG.encode() not in without_ids(seen):
                seen += next(incoming)
            gate.open()
            assert b"groundwire" in b"".join(incoming)


def test_a_grounded_stream_says_at_its_end_that_it_is(tmp_path: Path) -> None:
    script = stream_events(GOOD)
    with gateway(tmp_path, "check: {action: header}") as own:
        own.upstream.script(Script.sse(script))
        events = own.stream()
    assert unmarked(events) == events_of(b"".join(script))
    marks = events[-2]["groundwire"]
    assert (marks["outcome"], marks["action"], marks["headers"]) == ("grounded", "none", {})


def test_a_body_warning_is_the_last_delta(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: body}") as own:
        own.upstream.script(Script.sse(stream_events(BAD)))
        events = own.stream()
    text = text_of(events)
    assert text.startswith("".join(BAD) + "\n\n[Hallucination Warning] ")
    assert finish_of(events) == "stop"


def test_a_body_warning_stands_in_front_if_the_answer_is_deferred(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: body}\ngateway: {release: deferred}") as own:
        own.upstream.script(Script.sse(stream_events(BAD)))
        text = text_of(own.stream())
    assert text.startswith("[Hallucination Warning] ")
    assert text.endswith("\n\n" + "".join(BAD))


# Block, sentence by sentence.


def test_a_sentence_leaves_once_it_is_judged_and_not_before(tmp_path: Path) -> None:
    first, second = Gate(), Gate()
    script: list[Piece] = [role(), said("It is in Par"), first, said("is. And"), second]
    script += [said(" more."), end(), DONE]
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse(script))
        with own.asking(request(stream=True)) as response:
            incoming = response.iter_raw()
            assert text_of(events_of(next(incoming))) == ""
            first.open()
            seen = b""
            while b"Par" not in seen:
                seen += next(incoming)
            while "It is in Paris." not in text_of(events_of(seen)):
                seen += next(incoming)
            assert "And" not in text_of(events_of(seen))
            second.open()
            events = events_of(seen + b"".join(incoming))
    assert text_of(events) == "It is in Paris. And more."
    assert finish_of(events) == "stop"


def test_a_finding_ends_the_stream_and_the_upstream(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse([role(), *all_of(BAD), Gate(), end(), DONE]))
        events = own.stream()
        own.upstream.requests[0].was_abandoned.wait(10)
        assert own.upstream.requests[0].was_abandoned.is_set()
        payload = summary(own)
        found = own.events()[0]
        eventually(
            lambda: own.metric("groundwire_refusals_total", code="hallucination_detected") == 1
        )
    *_, last, done = events
    assert text_of(events).strip() == "The tower is in Paris."
    assert last["choices"] == [
        {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "content_filter"}
    ]
    assert last["id"] == "chatcmpl-scripted"
    assert last["groundwire"]["code"] == "hallucination_detected"
    assert WRONG not in without_ids(json.dumps(events))
    assert done == "[DONE]"
    assert (payload["release"], payload["disposition"]) == ("sentence", "refused")
    assert found["type"] == "HALLUCINATION_DETECTED_STREAMING"
    assert found["payload"]["message"] == "Streaming response contains 1 ungrounded claim(s)"


@pytest.mark.parametrize("release", ["sentence", "deferred"])
def test_a_grounded_stream_arrives_whole(tmp_path: Path, release: str) -> None:
    script = stream_events(GOOD, usage=True, service_tier="x")
    with gateway(tmp_path, f"{BLOCK}\ngateway: {{release: {release}}}") as own:
        own.upstream.script(Script.sse(script))
        events = own.stream()
        assert summary(own)["disposition"] == "delivered"
    assert text_of(events) == "".join(GOOD)
    assert finish_of(events) == "stop"
    assert events[-2]["usage"]["total_tokens"] == 21
    assert events[-1] == "[DONE]"
    if release == "deferred":
        assert unmarked(events) == events_of(b"".join(script))


@pytest.mark.parametrize("size", [1, 3, 7])
def test_characters_and_events_may_be_cut_anywhere(tmp_path: Path, size: int) -> None:
    text = ["Élodie 😀 lives ", "in Berlin. ", "王明住在上海。", "Sí."]
    raw = b"".join(stream_events(text))
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse(split(raw, every=size)))
        assert text_of(own.stream()) == "".join(text)


def test_half_characters_are_put_together(tmp_path: Path) -> None:
    text = ("\\ud83d", "\\ude00 Yes.")
    halves = [
        f'data: {{"choices":[{{"index":0,"delta":{{"content":"{t}"}}}}]}}\n\n'.encode()
        for t in text
    ]
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse([*halves, end(), DONE]))
        assert text_of(own.stream()) == "😀 Yes."


def test_answers_side_by_side_are_judged_apart_and_blocked_together(tmp_path: Path) -> None:
    script: list[Piece] = [
        said("It is in Paris. ", index=0),
        said(f"It was built in {WRONG}. ", index=1),
        said("It is tall. ", index=0),
        said("And more.", index=1),
        Gate(),
    ]
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse(script))
        events = own.stream(n=2)
    assert text_of(events, 1) == ""
    assert (finish_of(events, 0), finish_of(events, 1)) == ("content_filter", "content_filter")


def test_probabilities_of_words_do_not_tell_what_is_withheld(tmp_path: Path) -> None:
    text = f"It is in Paris. It was built in {WRONG}. More."
    data = chunk({"content": text})
    data["choices"][0]["logprobs"] = {"content": [{"token": text, "logprob": -1}]}
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse([event(data), end(), DONE]))
        events = own.stream()
    assert text_of(events).strip() == "It is in Paris."
    assert WRONG not in without_ids(json.dumps(events))


@pytest.mark.parametrize("release", ["sentence", "deferred"])
@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "refusal"])
def test_what_is_not_judged_waits_for_what_is(tmp_path: Path, release: str, key: str) -> None:
    script = [role(), event(chunk({key: f"Surely {WRONG}."})), *all_of(BAD), end(), DONE]
    with gateway(tmp_path, f"{BLOCK}\ngateway: {{release: {release}}}") as own:
        own.upstream.script(Script.sse(script))
        assert WRONG not in without_ids(json.dumps(own.stream()))


@pytest.mark.parametrize("release", ["sentence", "deferred"])
def test_calls_of_tools_pass(tmp_path: Path, release: str) -> None:
    call = {"index": 0, "id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}
    script = [role(), event(chunk({"tool_calls": [call]})), end("tool_calls"), DONE]
    with gateway(tmp_path, f"{BLOCK}\ngateway: {{release: {release}}}") as own:
        own.upstream.script(Script.sse(script))
        events = own.stream()
        eventually(lambda: own.metric("groundwire_checks_total", outcome="skipped") == 1)
    assert unmarked(events) == events_of(b"".join(script))
    assert events[-2]["groundwire"]["outcome"] == "skipped"


def test_a_refusal_passes(tmp_path: Path) -> None:
    script = [role(), event(chunk({"refusal": "I will not."})), end(), DONE]
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse(script))
        assert unmarked(own.stream()) == events_of(b"".join(script))


def test_an_empty_answer_passes(tmp_path: Path) -> None:
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse([role(), end(), DONE]))
        assert unmarked(own.stream()) == events_of(role() + end() + DONE)


def test_what_comes_after_the_finish_reason_and_is_no_text_arrives(tmp_path: Path) -> None:
    usage = {"total_tokens": 3}
    late = event({**chunk({"role": "assistant", "content": ""}), "usage": usage})
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse([said("It is here."), end(), end(), late, DONE]))
        events = own.stream()
    assert [each.get("usage") for each in events[:-1]].count(usage) == 1
    assert (text_of(events), events[-1]) == ("It is here.", "[DONE]")


def test_while_text_is_held_comments_keep_the_connection_open(tmp_path: Path) -> None:
    gate = Gate()
    yaml = "check: {action: block}\ngateway: {release: deferred, keepalive_s: 0.02}"
    with gateway(tmp_path, yaml) as own:
        own.upstream.script(Script.sse([role(), *all_of(GOOD), gate, end(), DONE]))
        with own.asking(request(stream=True)) as response:
            incoming = response.iter_raw()
            assert next(incoming) == b": keep-alive\n\n"
            gate.open()
            rest = b"".join(incoming)
    assert text_of(events_of(rest)) == "".join(GOOD)


# Faults: no character of a flagged or unjudged sentence leaves, whatever fails.

FAULTS = {
    "reset": Script.sse([role(), *all_of(BAD[:2]), said("Unjudged")], end=End.RESET),
    "closed": Script.sse(
        [role(), *all_of(BAD[:2]), said("Unjudged"), Pause(0.05)], end=End.CLOSE
    ),
    "ended without an end": Script.sse([role(), *all_of(BAD[:2]), said("Unjudged")]),
    "no JSON": Script.sse([role(), *all_of(BAD[:2]), b"data: {Unjudged\n\n", end(), DONE]),
    "no chunk": Script.sse([role(), *all_of(BAD[:2]), b'data: ["Unjudged"]\n\n', end(), DONE]),
    "no SSE": Script.sse([role(), *all_of(BAD[:2]), b"<html>Unjudged</html>"]),
    "no gzip": Script.sse(
        [role(), *all_of(BAD[:2]), said("Unjudged")], headers=(
            ("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip"))
    ),
    "nothing": Script.sse([]),
}  # fmt: skip


@pytest.mark.parametrize("release", ["sentence", "deferred"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_upstream_lets_nothing_out(tmp_path: Path, fault: str, release: str) -> None:
    with gateway(tmp_path, f"{BLOCK}\ngateway: {{release: {release}}}") as own:
        own.upstream.script(FAULTS[fault])
        events = own.stream()
        payload = summary(own)
    text = text_of(events).strip()
    assert text in ({""} if release == "deferred" else {"", "The tower is in Paris."})
    assert "Unjudged" not in json.dumps(events)
    assert finish_of(events) == "content_filter"
    assert events[-1] == "[DONE]"
    assert payload["disposition"] == "refused"
    assert payload["code"] in ("stream_incomplete_ungrounded", "stream_error")
    assert payload["delivered_chars"] == len(text_of(events))


@pytest.mark.parametrize("release", ["sentence", "deferred"])
@pytest.mark.parametrize("name", [b"", b"event: error\n"])
def test_an_error_of_the_upstream_leaves_as_it_is_without_the_text_that_is_held(
    tmp_path: Path, release: str, name: bytes
) -> None:
    failed = name + b'data: {"error": {"message": "overloaded"}}\n\n'
    with gateway(tmp_path, f"{BLOCK}\ngateway: {{release: {release}}}") as own:
        own.upstream.script(Script.sse([role(), *all_of(BAD[:2]), said("Unjudged"), failed]))
        with own.asking(request(stream=True)) as response:
            raw = response.read()
        payload = summary(own)
        eventually(lambda: own.metric("groundwire_upstream_failures_total", kind="error") == 1)
    assert raw.endswith(failed)
    assert b"Unjudged" not in raw
    assert b"content_filter" not in raw
    assert text_of(events_of(raw.removesuffix(failed))).strip() in {
        "",
        "The tower is in Paris.",
    }
    assert payload["disposition"] == "upstream_error"
    assert "code" not in payload


def test_an_error_of_the_upstream_beside_text_leaves_alone(tmp_path: Path) -> None:
    both = {**chunk({"content": "Unjudged"}), "error": {"message": "overloaded"}, "x": "Unjudged"}
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse([role(), event(both)]))
        events = own.stream()
    assert events[-1]["error"] == {"message": "overloaded"}
    assert "Unjudged" not in json.dumps(events)


@pytest.mark.parametrize("fault", ["reset", "closed"])
@pytest.mark.parametrize("action", ["log", "header"])
def test_without_block_a_fault_of_the_upstream_is_relayed(
    tmp_path: Path, action: str, fault: str
) -> None:
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(FAULTS[fault])
        with own.asking(request(stream=True)) as response:
            pieces: list[bytes] = []
            with pytest.raises(httpx.RemoteProtocolError):
                pieces.extend(response.iter_raw())
        eventually(lambda: own.metric("groundwire_checks_total", mode="stream") == 1)
    assert text_of(events_of(b"".join(pieces))) == "".join(BAD[:2]) + "Unjudged"


@pytest.mark.parametrize("action", ["log", "header"])
def test_without_block_what_cannot_be_read_is_relayed_and_on_record(
    tmp_path: Path, action: str
) -> None:
    script = [role(), said("It is tall. "), b"data: {garbage\n\n", said("Yes."), end(), DONE]
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(Script.sse(script))
        with own.asking(request(stream=True)) as response:
            assert b"data: {garbage\n\n" in response.read()
        (found,) = own.wait_for_events(1)
    assert (found["type"], found["payload"]["outcome"]) == ("CHECK_INCOMPLETE", "partial")


#: Streams of which no event can be read, and which a client may read nevertheless.
FOREIGN = {
    "a message in place of the delta": Script.sse(
        [event({"choices": [{"index": 0, "message": {"content": f"In {WRONG}."}}]}), DONE]
    ),
    "no stream": Script.sse([json.dumps(completion(f"In {WRONG}.")).encode()]),
    "no JSON": Script.sse([f"data: {{In {WRONG}}}\n\n".encode(), DONE]),
    "another dialect": Script.sse(
        [event({"type": "response.output_text.delta", "delta": f"In {WRONG}."}), DONE]
    ),
    "text beside the choices": Script.sse(
        [event({**chunk(None), "content": f"In {WRONG}."}), DONE]
    ),
    "an unknown coding": Script.sse(
        [said(f"In {WRONG}."), DONE], headers=(
            ("Content-Type", "text/event-stream"), ("Content-Encoding", "zstd"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("action", ["log", "flag"])
@pytest.mark.parametrize("foreign", FOREIGN)
def test_under_log_and_flag_a_stream_of_which_nothing_can_be_read_is_relayed_and_on_record(
    tmp_path: Path, foreign: str, action: str
) -> None:
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(script := FOREIGN[foreign])
        with own.asking(request(stream=True)) as response:
            assert b"".join(response.iter_raw()) == b"".join(map(bytes_of, script.body))
        (found,) = own.wait_for_events(1)
        eventually(lambda: own.metric("groundwire_checks_total", mode="stream") == 1)
    assert (found["type"], found["payload"]["outcome"]) == ("CHECK_INCOMPLETE", "partial")


@pytest.mark.parametrize("action", ["header", "body"])
@pytest.mark.parametrize("foreign", FOREIGN)
def test_the_end_of_a_stream_of_which_nothing_can_be_read_says_so(
    tmp_path: Path, foreign: str, action: str
) -> None:
    pieces: list[bytes] = []
    breaks_off = foreign == "an unknown coding"  # nobody here could say what it says
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(script := FOREIGN[foreign])
        ended = pytest.raises(httpx.RemoteProtocolError) if breaks_off else nullcontext()
        with own.asking(request(stream=True)) as response, ended:
            pieces.extend(response.iter_raw())
        (found,) = own.wait_for_events(1)
        eventually(lambda: own.metric("groundwire_checks_total", mode="stream") == 1)
    first = b"" if breaks_off else bytes_of(script.body[0])
    raw = b"".join(pieces)
    assert raw.startswith(first)
    last, *done = events_of(raw.removeprefix(first).lstrip())
    assert done in ([], ["[DONE]"])
    assert last["groundwire"]["outcome"] == "partial"
    assert (found["type"], found["payload"]["outcome"]) == ("CHECK_INCOMPLETE", "partial")


@pytest.mark.parametrize("release", ["sentence", "deferred"])
@pytest.mark.parametrize("foreign", FOREIGN)
def test_nothing_leaves_of_a_stream_of_which_nothing_can_be_read_under_block(
    tmp_path: Path, foreign: str, release: str
) -> None:
    with gateway(tmp_path, f"{BLOCK}\ngateway: {{release: {release}}}") as own:
        own.upstream.script(FOREIGN[foreign])
        events = own.stream()
        payload = summary(own)
    assert WRONG not in without_ids(json.dumps(events))
    assert (text_of(events), finish_of(events)) == ("", "content_filter")
    assert (payload["disposition"], payload["delivered_chars"]) == ("refused", 0)


def test_under_log_more_answers_than_can_be_checked_are_relayed_too(tmp_path: Path) -> None:
    script = [*(said("It is tall.", index) for index in range(1, MAX_ANSWERS + 2)), DONE]
    with gateway(tmp_path) as own:
        own.upstream.script(Script.sse(script))
        with own.asking(request(stream=True)) as response:
            assert response.read() == b"".join(script)
        events = own.wait_for_events(MAX_ANSWERS)
    assert {each["payload"]["outcome"] for each in events} == {"partial"}


class FailingJudge(FixedJudge):
    """A judge that fails on every claim."""

    def open(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        raise RuntimeError(WRONG)


@pytest.mark.parametrize("release", ["sentence", "deferred"])
def test_a_detector_that_fails_lets_nothing_out_under_block(tmp_path: Path, release: str) -> None:
    detector = Detector(FailingJudge(doubtful={}))
    yaml = f"{BLOCK}\ngateway: {{release: {release}}}"
    with gateway(tmp_path, yaml, detector=detector) as own:
        own.upstream.script(Script.sse(stream_events(GOOD)))
        events = own.stream()
        payload = summary(own)
    assert text_of(events) == ""
    assert finish_of(events) == "content_filter"
    assert payload["scan_failed"] is True


def test_a_detector_that_fails_changes_nothing_under_log(tmp_path: Path) -> None:
    script = stream_events(GOOD)
    with gateway(tmp_path, detector=Detector(FailingJudge(doubtful={}))) as own:
        own.upstream.script(Script.sse(script))
        with own.asking(request(stream=True)) as response:
            assert response.read() == b"".join(script)
        (found,) = own.wait_for_events(1)
    assert found["payload"]["outcome"] == "unavailable"


def test_on_error_allow_lets_a_failed_check_pass_under_block(tmp_path: Path) -> None:
    detector = Detector(FailingJudge(doubtful={}))
    with gateway(tmp_path, "check: {action: block, on_error: allow}", detector=detector) as own:
        own.upstream.script(Script.sse(stream_events(GOOD)))
        events = own.stream()
    assert (text_of(events), finish_of(events)) == ("".join(GOOD), "stop")


def test_a_client_that_leaves_gets_nothing_more_and_ends_the_upstream(tmp_path: Path) -> None:
    with gateway(tmp_path, DEFERRED) as own:
        own.upstream.script(Script.sse([role(), *all_of(BAD), Gate()]))
        with own.asking(request(stream=True)):
            own.upstream.wait_for(1)
        assert own.upstream.requests[0].was_abandoned.wait(10)
        payload = summary(own)
        assert [each["type"] for each in own.events()] == ["STREAMING_ENFORCEMENT_SUMMARY"]
    assert payload["disposition"] == "cancelled"
    assert payload["delivered_chars"] == 0


@pytest.mark.parametrize("action", ["log", "header"])
def test_of_a_client_that_leaves_what_it_got_is_on_record(tmp_path: Path, action: str) -> None:
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(Script.sse([role(), *all_of(BAD), Gate()]))
        with own.asking(request(stream=True)) as response:
            incoming = response.iter_raw()
            seen = b""
            while b"330" not in seen:
                seen += next(incoming)
        assert own.upstream.requests[0].was_abandoned.wait(10)
        (found,) = own.wait_for_events(1)
    assert found["type"] == "HALLUCINATION_DETECTED_STREAMING"


def test_text_over_the_bound_is_refused_if_it_is_held(tmp_path: Path) -> None:
    yaml = "check: {action: block}\ngateway: {release: deferred, max_held_chars: 100}"
    with gateway(tmp_path, yaml) as own:
        own.upstream.otherwise(Script.sse(stream_events(["tall " * 20])))
        assert text_of(own.stream()) == "tall " * 20
        own.upstream.otherwise(Script.sse(stream_events(["a" * 101])))
        events = own.stream()
        eventually(lambda: len(own.events()) == 2)
        payload = own.events()[1]["payload"]
    assert text_of(events) == ""
    assert finish_of(events) == "content_filter"
    assert payload["code"] == "stream_too_large_to_scan"
    assert payload["scan_incomplete"] is True


def test_text_over_the_bound_is_delivered_and_checked_in_part_if_it_is_not(tmp_path: Path) -> None:
    with gateway(tmp_path, "gateway: {max_held_chars: 30}") as own:
        own.upstream.script(Script.sse(stream_events(["It is in Paris. ", "It is tall. " * 5])))
        assert len(text_of(own.stream())) == 76
        (found,) = own.wait_for_events(1)
    assert (found["type"], found["payload"]["outcome"]) == ("CHECK_INCOMPLETE", "partial")


def test_arguments_of_tools_that_cannot_be_read_are_withheld_with_what_is_deferred(
    tmp_path: Path,
) -> None:
    call = {"index": 0, "id": "1", "function": {"name": "f", "arguments": '{"a": '}}
    script = [*all_of(GOOD), event(chunk({"tool_calls": [call]})), end("tool_calls"), DONE]
    with gateway(tmp_path, DEFERRED) as own:
        own.upstream.script(Script.sse(script))
        events = own.stream()
        payload = summary(own)
    assert (text_of(events), finish_of(events)) == ("", "content_filter")
    assert events[-2]["groundwire"]["code"] == "stream_tool_arguments_unenforceable"
    assert (payload["delivered_chars"], payload["withheld_chars"]) == (0, len("".join(GOOD)))


def test_text_that_looks_like_an_event_stays_text(tmp_path: Path) -> None:
    text = "One.\n\ndata: [DONE]\n\ndata: {}\r\nevent: x\u2028 Two."
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.script(Script.sse(stream_events(list(text))))
        events = own.stream()
    assert text_of(events) == text
    assert finish_of(events) == "stop"


@pytest.mark.parametrize("on_error", ["block", "allow"])
def test_a_slow_check_is_given_up(on_error: str, tmp_path: Path) -> None:
    class SlowJudge(FixedJudge):
        def open(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            eventually(gate_is_open)
            return super().open(*args, **kwargs)

    opened: list[bool] = []

    def gate_is_open() -> bool:
        return bool(opened)

    yaml = f"check: {{action: block, on_error: {on_error}}}\ngateway: {{check_timeout_s: 0.5}}"
    try:
        with gateway(tmp_path, yaml, detector=Detector(SlowJudge(doubtful={}))) as own:
            own.upstream.script(Script.sse(stream_events(GOOD)))
            events = own.stream()
            opened.append(True)
    finally:
        opened.append(True)
    if on_error == "block":
        assert text_of(events) == ""
        assert finish_of(events) == "content_filter"
    else:
        assert text_of(events) == "".join(GOOD)
        told = [event["groundwire"]["outcome"] for event in events if "groundwire" in event]
        assert told == ["unavailable"]


def test_the_default_detector_of_these_tests_doubts(tmp_path: Path) -> None:
    del tmp_path
    with fixed() as detector:
        assert detector.detect(sources=["x"], answer=f"It was {WRONG}.").spans


def test_no_header_of_the_upstream_carries_text_before_a_verdict(tmp_path: Path) -> None:
    text = "It was built in 1950."
    sent = (("Content-Type", "text/event-stream; charset=utf-8"), ("X-Answer", text), ("X-Id", "1"))
    for action, kept in {"block": None, "header": text}.items():
        with gateway(tmp_path / action, f"check: {{action: {action}}}") as own:
            own.upstream.script(Script.sse(stream_events(GOOD), headers=sent))
            with own.asking(request(stream=True)) as answer:
                answer.read()
            assert (answer.headers.get("x-answer"), answer.headers["x-id"]) == (kept, "1")
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
