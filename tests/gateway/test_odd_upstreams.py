"""Upstreams that do what few do: redirects, empty finish reasons, late parts, deep nesting."""

from pathlib import Path
from typing import Any

import pytest

from groundwire import Detector
from tests.fixed_judge import FixedJudge
from tests.gateway.chats import (
    WRONG,
    Gateway,
    events_of,
    gateway,
    request,
    text_of,
    without_ids,
)
from tests.gateway.wire import DONE, Pause, Piece, Script, chunk, event, eventually

pytestmark = pytest.mark.merge

GOOD = "It was built in 1887."


def said(text: str, finish: str | None = None) -> bytes:
    return event(chunk({"content": text}, finish=finish))


def told(events: list[Any]) -> Any:  # noqa: ANN401
    """What the gateway says at the end of an answer."""
    return [each["groundwire"] for each in events if "groundwire" in each][-1]


def recorded(own: Gateway, *kinds: str) -> list[dict[str, Any]]:
    return [each for each in own.events() if each["type"] in kinds]


@pytest.mark.parametrize("status", [301, 307, 308])
@pytest.mark.parametrize("yaml", ["", "check: {enabled: false}"])
def test_a_redirect_does_not_send_the_client_past_the_check(
    tmp_path: Path, status: int, yaml: str
) -> None:
    with gateway(tmp_path, yaml) as own:
        place = ("Location", f"{own.upstream.url}/chat/completions")
        own.upstream.script(Script(status=status, headers=(place,)))
        reply = own.post(request())
        assert (reply.status_code, "location" in reply.headers) == (502, False)
        assert reply.json()["error"]["code"] == "upstream_redirects"
        assert len(own.upstream.requests) == 1


@pytest.mark.parametrize("action", ["header", "block"])
def test_a_chunk_with_an_empty_finish_reason_does_not_end_the_answer(
    tmp_path: Path, action: str
) -> None:
    pieces = [said("The tower ", ""), said("was built in 1887.", "")]
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(Script.sse([*pieces, event(chunk({}, finish="stop")), DONE]))
        events = own.stream()
        assert (text_of(events), told(events)["outcome"]) == (
            "The tower was built in 1887.",
            "grounded",
        )
        own.upstream.script(Script.sse(pieces))
        events = own.stream()  # it breaks off
    if action == "header":
        assert told(events)["outcome"] == "partial"
    else:
        assert told(events)["code"] == "stream_incomplete_ungrounded"


@pytest.mark.parametrize(
    "late",
    [
        chunk({"refusal": f"It was built in {WRONG}."}),
        {**chunk({}), "choices": [], "usage": {}, "note": f"It was built in {WRONG}, they say."},
    ],
)
def test_what_cannot_be_read_after_the_finish_reason_counts(
    tmp_path: Path, late: dict[str, Any]
) -> None:
    end = event(chunk({}, finish="stop"))
    with gateway(tmp_path, "check: {action: block, partial_action: block}") as own:
        own.upstream.script(Script.sse([said(GOOD), end, Pause(0.2), event(late), DONE]))
        events = own.stream()
    assert told(events)["outcome"] == "partial"
    assert WRONG not in without_ids(str(events))


@pytest.mark.parametrize("action", ["log", "header", "block"])
def test_an_event_that_is_nested_too_deeply_is_one_that_cannot_be_read(
    tmp_path: Path, action: str
) -> None:
    deep = b'data: {"choices": [{"index": 0, "delta": {"x": ' + b"[" * 900 + b"]" * 900
    script = [said(GOOD), deep + b"}}]}\n\n", event(chunk({}, finish="stop")), DONE]
    with gateway(tmp_path, f"check: {{action: {action}}}") as own:
        own.upstream.script(Script.sse(script))
        with own.asking(request(stream=True)) as response:
            raw = response.read()
    assert (b"[[[[" in raw, b"[DONE]" in raw) == (action != "block", True)
    if action == "block":
        assert told(events_of(raw))["code"] == "stream_error"


def test_a_client_that_leaves_at_the_end_of_an_answer_leaves_its_record(tmp_path: Path) -> None:
    end, usage = event(chunk({}, finish="length")), event({**chunk({}), "choices": [], "usage": {}})
    with gateway(tmp_path, "check: {action: block}\ngateway: {release: sentence}") as own:
        own.upstream.script(Script.sse([said(GOOD), end, Pause(0.5), usage, DONE]))
        with own.asking(request(stream=True)) as response:
            got = b""
            for piece in response.iter_raw():
                got += piece
                if b'"length"' in got:
                    break
        eventually(lambda: bool(recorded(own, "CHECK_INCOMPLETE")))


@pytest.mark.parametrize("action", ["log", "header"])
def test_half_a_word_that_a_leaving_client_got_is_no_finding(tmp_path: Path, action: str) -> None:
    judge = FixedJudge(doubtful={"18": 0.9})
    pieces: list[Piece] = [said("It was built in 18"), Pause(2.0), said("87."), DONE]
    with gateway(tmp_path, f"check: {{action: {action}}}", detector=Detector(judge)) as own:
        own.upstream.script(Script.sse(pieces))
        with own.asking(request(stream=True)) as response:
            next(response.iter_raw())
        eventually(lambda: bool(recorded(own, "CHECK_INCOMPLETE")))
        assert not recorded(own, "HALLUCINATION_DETECTED", "HALLUCINATION_DETECTED_STREAMING")
