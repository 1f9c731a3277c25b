"""Streams and bodies of odd shapes."""

import gzip
import zlib

import pytest

from tests.gateway.chats import WRONG, Gateway, events_of, finish_of, request, text_of, without_ids
from tests.gateway.hostile.modes import BAD, EVERY, HELD, end, is_idle, said, told
from tests.gateway.wire import (
    DONE,
    Piece,
    Script,
    chunk,
    completion,
    event,
    eventually,
    split,
    stream_events,
)

pytestmark = pytest.mark.nightly


def choices(*indexes: object, text: str = "It is here. ") -> bytes:
    return event({"choices": [{"index": each, "delta": {"content": text}} for each in indexes]})


ODD: dict[str, tuple[list[Piece], str]] = {
    # What stands there, and whether it is "whole" (delivered) or "refused" where text is held.
    "roles alone": ([event(chunk({"role": "assistant"})), end(), DONE], "whole"),
    "a delta that is null": (
        [event({"choices": [{"index": 0, "delta": None}]}), said("Yes."), end(), DONE],
        "whole",
    ),
    "no choices": ([event({"choices": []}), said("Yes."), end(), DONE], "whole"),
    "choices that are null": ([event({"choices": None}), said("Yes."), end(), DONE], "whole"),
    "no index": ([choices(None), end(), DONE], "whole"),
    "two of the same index": ([choices(0, 0), end(), DONE], "whole"),
    "a negative index": ([choices(-1), end(index=-1), DONE], "whole"),
    "a huge index": ([choices(10**30), end(index=10**30), DONE], "whole"),
    "an index in words": ([choices("0"), end(), DONE], "refused"),
    "an index that is a fraction": ([choices(0.5), end(), DONE], "refused"),
    "an index that is true": ([choices(True), end(), DONE], "refused"),
    "thousands of choices": ([choices(*range(5000)), DONE], "refused"),
    "choices that are none": ([event({"choices": {"0": 1}}), DONE], "refused"),
    "a choice that is none": ([event({"choices": [1]}), DONE], "refused"),
    "a delta that is none": ([event({"choices": [{"delta": ["Yes."]}]}), DONE], "refused"),
    "content in parts": (
        [event(chunk({"content": [{"type": "text", "text": "Yes."}]})), end(), DONE],
        "whole",
    ),
    "names of events": ([b"event: x\n" + said("Yes."), end(), DONE], "whole"),
    "line ends of CR alone": (
        [said("Yes. ").replace(b"\n", b"\r"), end().replace(b"\n", b"\r"), DONE],
        "whole",
    ),
    "a mix of line ends": (
        [said("Yes. ").replace(b"\n\n", b"\r\n\r"), end().replace(b"\n\n", b"\n\r\n"), DONE],
        "whole",
    ),
    "a BOM": ([b"\xef\xbb\xbf" + said("Yes."), end(), DONE], "whole"),
    "usage in every chunk": (
        [said("Yes.", usage={"total_tokens": 1}), end(), DONE],
        "whole",
    ),
    "bytes that are no UTF-8": ([said("Yes.").replace(b"Yes", b"Y\xffs"), end(), DONE], "whole"),
    "keys that are no UTF-8": ([said("Yes.").replace(b"e", b"\xff"), end(), DONE], "refused"),
    "a deep chunk": ([b"data: " + b"[" * 100_000 + b"\n\n", DONE], "refused"),
    "a number that is too long": ([b"data: " + b"1" * 5000 + b"\n\n", DONE], "refused"),
    "no end of the last event": ([said("Yes."), end().rstrip(b"\n")], "whole"),
    "an end without DONE": ([said("Yes."), end()], "whole"),
    "DONE without an end": ([said("Yes."), DONE], "whole"),
    "nothing but DONE": ([DONE], "whole"),
    "half an event": ([said("Yes."), b'data: {"choices": [{"ind'], "refused"),
}


@EVERY
@pytest.mark.parametrize("shape", ODD)
def test_a_stream_of_an_odd_shape_ends_and_is_what_it_was_or_refused(
    running: dict[str, Gateway], mode: str, shape: str
) -> None:
    own = running[mode]
    pieces, expected = ODD[shape]
    raw = b"".join(each for each in pieces if isinstance(each, bytes))
    got = told(own, Script.sse(pieces))
    if mode == "log":
        assert got == raw
    elif mode in ("header", "body"):
        pass  # it ended
    elif expected == "refused":
        events = events_of(got)
        assert finish_of(events) == "content_filter"
        assert text_of(events).strip() in ("", "Yes.")
        assert len(events[-2]["choices"]) <= 128
    else:
        assert b"content_filter" not in got
        assert got.count(b"Yes") == raw.count(b"Yes")
        assert got.count(b"It is here.") == raw.count(b"It is here.")
    eventually(lambda: is_idle(own))


@EVERY
def test_an_event_of_10_mb_and_a_drip_of_single_bytes_are_read(
    running: dict[str, Gateway], mode: str
) -> None:
    big = said("", padding="x" * 10_000_000)
    got = told(running[mode], Script.sse([big, said("Yes."), end(), DONE]))
    assert text_of(events_of(got)) == "Yes."
    got = told(running[mode], Script.sse(stream_events(["It is ", "here."]), drip=1))
    assert text_of(events_of(got)) == "It is here."


@HELD
def test_an_event_without_end_is_refused(running: dict[str, Gateway], mode: str) -> None:
    endless = b"data: " + b"x" * (17 * 2**20)
    got = told(running[mode], Script.sse([said("Yes. "), endless]))
    assert finish_of(events_of(got)) == "content_filter"


@HELD
@pytest.mark.parametrize("unit", [b": c\n\n", b"data: {}\n\n", b"\0"])
def test_a_bomb_is_refused(running: dict[str, Gateway], mode: str, unit: bytes) -> None:
    plain = unit * (300 * 2**20 // len(unit)) if unit == b"\0" else unit * 20_000
    packed = gzip.compress(plain, 1)
    headers = (("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip"))
    own = running[mode]
    got = told(own, Script.sse([packed], headers=headers))
    assert finish_of(events_of(got)) == "content_filter"
    own.upstream.script(Script.json(None, body=(packed,), headers=headers[1:]))
    assert own.post(request()).json()["error"]["code"] == "check_failed"


def test_json_to_a_streaming_request_and_a_stream_to_one_that_is_not_are_checked(
    running: dict[str, Gateway],
) -> None:
    own = running["sentence"]
    own.upstream.script(
        Script.json(completion(BAD)),
        Script.sse(stream_events([BAD])),
        Script.sse(stream_events([BAD]), headers=(("Content-Type", "application/json"),)),
        Script.json(completion(BAD), headers=(("Content-Type", "text/event-stream"),)),
    )
    responses = [own.post(request(stream=stream)) for stream in (True, False, True, False)]
    assert [each.status_code for each in responses] == [403, 200, 403, 200]
    assert all(WRONG not in without_ids(each.text) for each in responses)
    assert [finish_of(events_of(responses[i].content)) for i in (1, 3)] == ["content_filter"] * 2


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": [{"message": {"content": "In 1950.", "content": "Yes."}}]}',
        b'{"choices": [{"message": {"content": ""}, "text": "In 1950."}]}',
        b'{"choices": [{"message": {"content": ""}, "delta": {"content": "In 1950."}}]}',
        b'{"content": [{"type": "text", "text": "In 1950."}]}',
        b'{"choices": [{"message": {"content": "Yes."}}]} {"choices": "In 1950."}',
    ],
)
def test_a_body_that_readers_take_for_different_texts_is_withheld(
    running: dict[str, Gateway], body: bytes
) -> None:
    own = running["sentence"]
    own.upstream.script(Script.json(None, body=(body,)))
    response = own.post(request())
    assert (response.status_code, WRONG in response.text) == (403, False)


def test_compressed_events_may_be_cut_anywhere(running: dict[str, Gateway]) -> None:
    packed = zlib.compress(b"".join(stream_events(["It is ", "here."])))
    headers = (("Content-Type", "text/event-stream"), ("Content-Encoding", "deflate"))
    script = Script.sse(split(packed, every=1), headers=headers)
    assert text_of(events_of(told(running["sentence"], script))) == "It is here."
