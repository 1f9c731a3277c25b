"""Chat completions that are not streamed."""

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from groundwire import Detector
from tests.fixed_judge import FixedJudge
from tests.gateway.chats import KEY, WRONG, Gateway, gateway, request, without_ids
from tests.gateway.wire import End, Framing, Gate, Script, completion, eventually

pytestmark = pytest.mark.merge

GOOD = "The Eiffel Tower was built from 1887 to 1889."
BAD = f"The Eiffel Tower was built in {WRONG}."


def test_under_log_the_response_is_the_upstreams_byte_for_byte(tmp_path: Path) -> None:
    raw = json.dumps(completion(BAD, unknown={"a": 1.50})).encode() + b"\n "
    with gateway(tmp_path) as own:
        own.upstream.script(Script.json(None, body=(raw,)))
        response = own.post(request())
        assert (response.status_code, response.content) == (200, raw)
        (event,) = own.wait_for_events(1)
    assert event["type"] == "HALLUCINATION_DETECTED"
    assert event["payload"]["ungrounded_claims"] == [BAD]
    assert event["trace_id"] == response.headers["x-trace-id"]


@pytest.mark.parametrize(("action", "answer"), [("log", GOOD), ("header", GOOD), ("block", BAD)])
def test_who_asks_is_told_what_was_taken_for_evidence(
    tmp_path: Path, action: str, answer: str
) -> None:
    said = {"role": "user", "content": f"<context>{GOOD}</context> When was it built?"}
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(Script.json(completion(answer)), Script.json(completion(answer)))
        body = {**request(), "metadata": None, "messages": [said]}
        told = own.post(body, headers={"x-groundwire-debug": "true"})
        assert told.headers["x-groundwire-evidence"] == "context messages[0].content[9:54]"
        assert "x-groundwire-evidence" not in own.post(body).headers


def test_a_grounded_answer_leaves_no_event(tmp_path: Path) -> None:
    with gateway(tmp_path) as own:
        own.upstream.script(Script.json(completion(GOOD)))
        own.post(request())
        eventually(lambda: own.metric("groundwire_checks_total", outcome="grounded") == 1)
        eventually(
            lambda: own.metric("gateway_grounding_check_total", grounded="true", action="LOG") == 1
        )
        assert own.events() == []


def test_block_answers_with_the_documented_envelope_and_no_word_of_the_answer(
    tmp_path: Path,
) -> None:
    with gateway(tmp_path, "check: {action: block}") as own:
        own.upstream.script(Script.json(completion(f"{BAD} {BAD}")), Script.json(completion(GOOD)))
        refused, passed = own.post(request()), own.post(request())
        (event,) = own.wait_for_events(1)
        eventually(
            lambda: (
                own.metric("gateway_grounding_check_total", grounded="false", action="BLOCK") == 1
            )
        )
    assert refused.status_code == 403
    error = refused.json()["error"]
    assert error == {
        "type": "guardrail_violation",
        "code": "hallucination_detected",
        "message": "Response blocked: hallucination detected (2 ungrounded claims)",
        "trace_id": refused.headers["x-trace-id"],
        "param": None,
    }
    assert WRONG not in without_ids(refused.text)
    assert event["payload"]["action"] == "block"
    assert (passed.status_code, passed.json()) == (200, completion(GOOD))


def test_header_adds_headers_and_leaves_the_body(tmp_path: Path) -> None:
    raw = json.dumps(completion(BAD)).encode()
    with gateway(tmp_path, "check: {action: header}") as own:
        own.upstream.script(Script.json(None, body=(raw,)))
        response = own.post(request())
    assert response.content == raw
    assert response.headers["x-vsr-hallucination-detected"] == "true"
    assert response.headers["x-vsr-hallucination-spans"] == WRONG
    assert response.headers["x-groundwire-outcome"] == "hallucinated"


def test_a_warning_stands_before_content_that_is_one_part(tmp_path: Path) -> None:
    part = {"type": "text", "text": BAD, "x": 1}
    answer = completion("")
    answer["choices"][0]["message"] = {"role": "assistant", "content": part}
    with gateway(tmp_path, "check: {action: body}") as own:
        own.upstream.script(Script.json(answer))
        warning, kept = own.post(request()).json()["choices"][0]["message"]["content"]
    assert (warning["type"], kept) == ("text", part)
    assert warning["text"].startswith("[Hallucination Warning] ")


def test_body_puts_a_warning_before_every_answer_that_needs_one(tmp_path: Path) -> None:
    answer = completion(BAD, n=2, unknown=1)
    answer["choices"][1] = {**answer["choices"][1], "message": {"content": GOOD, "x": 1}}
    with gateway(tmp_path, "check: {action: body}") as own:
        own.upstream.script(Script.json(answer))
        response = own.post(request())
    first, second = response.json()["choices"]
    assert first["message"]["content"].startswith("[Hallucination Warning] ")
    assert first["message"]["content"].endswith(f"\n\n{BAD}")
    assert second["message"] == {"content": GOOD, "x": 1}
    assert response.json()["unknown"] == 1


def test_one_bad_answer_of_several_blocks_all(tmp_path: Path) -> None:
    answer = completion(GOOD, n=2)
    answer["choices"][1] = {**answer["choices"][1], "message": {"content": BAD}}
    with gateway(tmp_path, "check: {action: block}") as own:
        own.upstream.script(Script.json(answer))
        response = own.post(request())
    assert response.status_code == 403
    assert GOOD not in response.text


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]},
        {"content": None, "refusal": f"I will not say {WRONG}."},
        {"content": ""},
    ],
)
def test_answers_without_text_pass_unchecked(tmp_path: Path, message: dict[str, object]) -> None:
    answer = completion("")
    answer["choices"][0]["message"] = message
    with gateway(tmp_path, "check: {action: block}") as own:
        own.upstream.script(Script.json(answer))
        assert own.post(request()).json() == answer
        eventually(lambda: own.metric("groundwire_checks_total", outcome="skipped") == 1)


def test_sources_stay_here_and_all_else_goes_on_byte_for_byte(tmp_path: Path) -> None:
    raw = (
        b'{"model":"m", "x":1.50,"metadata":{"user":"u","grounding.sources":["s"]} ,"messages":[]}'
    )
    with gateway(tmp_path) as own:
        own.upstream.script(Script.json(completion(GOOD)), Script.json(completion(GOOD)))
        own.post(raw)
        own.post(b'{"messages":[],"metadata":{"grounding.sources":["s"]},"n":1}')
        first, second = own.upstream.requests
    assert first.body == b'{"model":"m","x":1.50,"metadata":{"user": "u"},"messages":[]}'
    assert second.body == b'{"messages":[],"n":1}'


def test_a_request_without_sources_goes_on_untouched(tmp_path: Path) -> None:
    raw = b' {"messages" : [], "metadata": {"user":"u"}}\n'
    with gateway(tmp_path) as own:
        own.upstream.script(Script.json(completion(GOOD)))
        own.post(raw)
        assert own.upstream.requests[0].body == raw


def test_sources_can_be_sent_on(tmp_path: Path) -> None:
    with gateway(tmp_path, "gateway: {forwards_sources: true}") as own:
        own.upstream.script(Script.json(completion(GOOD)))
        own.post(request())
        assert own.upstream.requests[0].json() == request()


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
@pytest.mark.parametrize("action", ["log", "block"])
def test_errors_of_the_upstream_are_relayed(tmp_path: Path, status: int, action: str) -> None:
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        script = Script.error(status, "told", headers=(("Retry-After", "7"), ("X-Own", "a")))
        own.upstream.script(script)
        response = own.post(request())
    assert response.status_code == status
    assert response.content == script.body[0]
    assert (response.headers["retry-after"], response.headers["x-own"]) == ("7", "a")


@pytest.mark.parametrize("action", ["log", "header", "block"])
def test_an_error_of_the_upstream_with_status_200_is_relayed(tmp_path: Path, action: str) -> None:
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        script = Script.json({"error": {"message": "overloaded"}, "choices": None})
        own.upstream.script(script)
        response = own.post(request())
        eventually(lambda: own.metric("groundwire_upstream_failures_total", kind="error") == 1)
        assert own.metric("groundwire_refusals_total") == 0
        assert own.events() == []
    assert (response.status_code, response.content) == (200, script.body[0])
    assert "x-groundwire-outcome" not in response.headers


def test_text_beside_an_error_of_the_upstream_is_withheld(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: block}") as own:
        own.upstream.script(Script.json({"error": {"message": "overloaded"}, "text": BAD}))
        response = own.post(request())
    assert response.status_code == 403
    assert BAD not in response.text


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_what_is_compressed_unasked_stays_so_and_is_checked(tmp_path: Path, encoding: str) -> None:
    with gateway(tmp_path, "check: {action: header}") as own:
        own.upstream.script(Script.json(completion(BAD), encoding=encoding))
        response = own.post(request(), headers={"Accept-Encoding": f"{encoding}, zstd"})
        seen = own.upstream.requests[0].header("accept-encoding")
    assert response.headers["content-encoding"] == encoding
    assert response.json() == completion(BAD)
    assert response.headers["x-vsr-hallucination-detected"] == "true"
    assert seen == "identity"


def test_a_body_that_is_changed_is_sent_plain(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: body}") as own:
        own.upstream.script(Script.json(completion(BAD), encoding="gzip"))
        response = own.post(request(), headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in response.headers
    assert "Warning" in response.json()["choices"][0]["message"]["content"]


def test_a_compressed_request_is_read(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: header}") as own:
        own.upstream.script(Script.json(completion(BAD)))
        raw = gzip.compress(json.dumps(request()).encode())
        response = own.post(raw, headers={"Content-Encoding": "gzip"})
        seen = own.upstream.requests[0]
    assert response.headers["x-groundwire-outcome"] == "hallucinated"
    assert (seen.header("content-encoding"), seen.json()["model"]) == (None, "scripted-1")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "invalid_json"),
        (b"[]", "invalid_conversation"),
        (b'{"messages": 1}', "invalid_conversation"),
        (b"[" * 100_000, "too_deep"),
        (b'{"messages": [], "x": NaN}', "invalid_json"),
        (b"\xff", "invalid_json"),
    ],
)
def test_what_is_no_request_is_refused_and_told_why(tmp_path: Path, body: bytes, code: str) -> None:
    with gateway(tmp_path) as own:
        response = own.post(body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == code


@pytest.mark.parametrize(
    "script",
    [
        Script.json(None, body=(b'{"choices": [{"message": {"content": "1950',)),
        Script.json({"choices": 1}),
        Script.json(["1950"]),
        Script.json(completion(BAD), headers=(("Content-Encoding", "gzip"),)),
        Script.json(completion(BAD), headers=(("Content-Encoding", "zstd"),)),
        Script.json(None, body=(b"[" * 100_000,)),
    ],
)
def test_a_response_that_cannot_be_read_passes_under_log_and_not_under_block(
    tmp_path: Path, script: Script
) -> None:
    with gateway(tmp_path) as own:
        own.upstream.script(script)
        with own.asking(request()) as response:
            assert b"".join(response.iter_raw()) == script.body[0]
        (event,) = own.wait_for_events(1)
        assert (event["type"], event["payload"]["outcome"]) == ("CHECK_INCOMPLETE", "unavailable")
    folder = tmp_path / "block"
    folder.mkdir()
    with gateway(folder, "check: {action: block}") as own:
        own.upstream.script(script)
        refused = own.post(request())
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "check_failed")
    assert WRONG not in without_ids(refused.text)


@pytest.mark.parametrize("end", [End.RESET, End.CLOSE])
@pytest.mark.parametrize("action", ["header", "block"])
def test_a_response_that_breaks_off_before_it_is_checked_is_a_502(
    tmp_path: Path, action: str, end: End
) -> None:
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(Script.json(completion(BAD), claimed_length=9999, end=end))
        response = own.post(request())
    assert response.status_code == 502
    assert response.json()["error"]["code"] == "upstream_incomplete"
    assert WRONG not in without_ids(response.text)


@pytest.mark.parametrize(
    ("n_kept", "outcome", "found"),
    [
        (None, "hallucinated", "HALLUCINATION_DETECTED"),
        (100, "unavailable", "CHECK_INCOMPLETE"),
    ],
)
def test_of_a_client_that_leaves_what_it_got_is_on_record(
    tmp_path: Path, n_kept: int | None, outcome: str, found: str
) -> None:
    raw = json.dumps(completion(BAD)).encode()
    body = (raw[:n_kept], Gate(), raw[len(raw[:n_kept]) :])
    with gateway(tmp_path) as own:
        own.upstream.script(Script.json(None, body=body, framing=Framing.CHUNKED))
        with own.asking(request()) as response:
            incoming, seen = response.iter_raw(), b""
            while len(seen) < len(body[0]):
                seen += next(incoming)
        assert seen == body[0]
        assert own.upstream.requests[0].was_abandoned.wait(10)
        (event,) = own.wait_for_events(1)
        eventually(lambda: own.metric("groundwire_checks_total", outcome=outcome) == 1)
    assert event["type"] == found


def test_of_a_client_that_leaves_before_it_got_anything_nothing_is(tmp_path: Path) -> None:
    with gateway(tmp_path) as own:
        own.upstream.script(
            Script.json(None, body=(Gate(),), framing=Framing.CHUNKED), Script.json(completion(BAD))
        )
        with own.asking(request()):
            own.upstream.wait_for(1)
        assert own.upstream.requests[0].was_abandoned.wait(10)
        own.post(request())
        (event,) = own.wait_for_events(1)
    assert event["type"] == "HALLUCINATION_DETECTED"


def test_a_request_may_ask_for_more_and_not_for_less(tmp_path: Path) -> None:
    def asking(action: str) -> dict[str, object]:
        metadata = {**request()["metadata"], "grounding.action": action}
        return request(metadata=metadata)

    with gateway(tmp_path, "check: {action: header}") as own:
        own.upstream.otherwise(Script.json(completion(BAD)))
        assert own.post(asking("BLOCK")).status_code == 403
        assert own.post(asking("LOG")).headers["x-vsr-hallucination-detected"] == "true"
        assert own.post(asking("blok")).status_code == 200


def test_keys_of_the_gateway_do_not_reach_the_upstream(tmp_path: Path) -> None:
    with gateway(tmp_path, "upstream: {api_key: sk-upstream}") as own:
        own.upstream.script(Script.json(completion(GOOD)))
        own.post(request())
        (seen,) = own.upstream.requests
    assert seen.all("authorization") == ["Bearer sk-upstream"]
    assert all(KEY not in value for _, value in seen.headers)


def test_a_request_that_is_none_ends_what_was_asked_of_the_upstream(tmp_path: Path) -> None:
    with gateway(tmp_path) as own:
        own.upstream.script(Script.json(completion(GOOD), before=(Gate(),)))
        assert own.post(b'{"messages": 1}').status_code == 400
        eventually(lambda: all(each.was_abandoned.is_set() for each in own.upstream.requests))


class Stuck(FixedJudge):
    """A judge that opens nothing until it may."""

    may_open = threading.Event()

    def open(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        assert self.may_open.wait(20)
        return super().open(*args, **kwargs)


def one_after_another(own: Gateway) -> httpx.Response:
    """Ask once the one before has left: its response is there a little before it has."""
    eventually(lambda: own.metric("groundwire_in_flight") == 1)  # who asks for it
    return own.post(request())


def test_checks_that_nobody_waits_for_do_not_pile_up(tmp_path: Path) -> None:
    yaml = "gateway: {max_requests: 1}"
    with gateway(tmp_path, yaml, detector=Detector(Stuck(doubtful={}))) as own:
        own.upstream.otherwise(Script.json(completion(GOOD)))
        try:
            assert {one_after_another(own).status_code for _ in range(6)} == {200}
            reasons = [each["payload"]["reason"] for each in own.wait_for_events(2)]
            assert set(reasons) == {"OverloadedError"}
        finally:
            Stuck.may_open.set()
        eventually(lambda: own.metric("groundwire_checks_total", outcome="grounded") == 4)


def test_an_error_of_the_upstream_is_no_answer_that_went_unchecked(tmp_path: Path) -> None:
    yaml = "gateway: {max_requests: 1}"
    Stuck.may_open.clear()
    with gateway(tmp_path, yaml, detector=Detector(Stuck(doubtful={}))) as own:
        own.upstream.script(*[Script.json(completion(GOOD))] * 4, Script.error(400))
        try:
            assert [one_after_another(own).status_code for _ in range(5)] == [200] * 4 + [400]
        finally:
            Stuck.may_open.set()
        eventually(lambda: own.metric("groundwire_checks_total", outcome="grounded") == 4)
        assert own.metric("groundwire_checks_total", outcome="unavailable") == 0


SURROGATE = {"role": "user", "content": f"<context>{GOOD} \ud800</context> When was it \ud800?"}


@pytest.mark.parametrize("action", ["log", "flag", "header"])
def test_half_a_character_in_a_request_fails_nothing_where_nothing_is_withheld(
    tmp_path: Path, action: str
) -> None:
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(Script.json(completion(BAD)))
        body = {**request(), "metadata": None, "messages": [{**SURROGATE, "name": "\ud800"}]}
        response = own.post(body)
        assert response.status_code == 200
        assert response.headers["x-groundwire-outcome"] in ("unavailable", "hallucinated")
        assert json.loads(own.upstream.requests[0].body) == body


def test_a_key_that_stands_twice_is_read_alike_by_gateway_and_upstream(tmp_path: Path) -> None:
    first, last = ({"role": "user", "content": f"Context: {each}"} for each in (BAD, GOOD))
    raw = f'{{"model": "m", "messages": [{json.dumps(first)}], "messages": [{json.dumps(last)}]}}'
    with gateway(tmp_path, "check: {action: block}") as own:
        own.upstream.script(Script.json(completion(BAD)))
        assert own.post(raw.encode()).status_code == 403
        assert json.loads(own.upstream.requests[0].body)["messages"] == [last]
        assert own.upstream.requests[0].body.count(b"messages") == 1
