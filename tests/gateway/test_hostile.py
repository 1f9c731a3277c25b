"""What hostile clients, upstreams and models do to the gateway, and what they do not get."""

import gzip
import itertools
import json
import logging
import socket
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any

import brotli
import httpx2 as httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire import Detector
from groundwire.conversation import Said
from tests.fixed_judge import FixedJudge, RecordingJudge
from tests.gateway.chats import (
    KEY,
    SOURCES,
    WRONG,
    Gateway,
    events_of,
    finish_of,
    fixed,
    gateway,
    request,
    text_of,
    without_ids,
)
from tests.gateway.wire import (
    DONE,
    End,
    Gate,
    Piece,
    Script,
    chunk,
    completion,
    event,
    eventually,
    split,
    stream_events,
)

pytestmark = pytest.mark.slow

BLOCK = "check: {action: block}"
MODES = {
    "sentence": BLOCK,
    "deferred": f"{BLOCK}\ngateway: {{release: deferred}}",
    "header": "check: {action: header}",
    "body": "check: {action: body}",
    "log": "check: {action: log}",
}
HELD = pytest.mark.parametrize("mode", ["sentence", "deferred"])
EVERY = pytest.mark.parametrize("mode", MODES)
BAD = f"It is in Paris. It was built in {WRONG}. It is tall."
#: Stands where nobody judges it; whoever sees it was told what was withheld.
SMUGGLED = "SMUGGLED"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gateway]]:
    """A gateway for each mode, for tests that put many requests to it."""
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(gateway(tmp_path_factory.mktemp(mode), yaml))
            for mode, yaml in MODES.items()
        }


def told(own: Gateway, script: Script, **more: object) -> bytes:
    """All bytes that a client gets of a stream; one that breaks off is what it was until then."""
    own.upstream.script(script)
    pieces: list[bytes] = []
    with own.asking(request(stream=True, **more)) as answer, suppress(httpx.RemoteProtocolError):
        pieces.extend(answer.iter_raw())
    return b"".join(pieces)


def said(text: str, **more: object) -> bytes:
    return event(chunk({"content": text}, **more))  # type: ignore[arg-type]


def end(reason: str = "stop", index: int = 0) -> bytes:
    return event(chunk({}, finish=reason, index=index))


def is_idle(own: Gateway) -> bool:
    """Whether no request is being answered, but for the one that asks."""
    return own.metric("groundwire_in_flight") == 1


# No character at or after the first sentence that is withheld is ever delivered.

SENTENCES = [
    "It is in Paris.",
    "It is 330 metres tall!",
    "Élodie 😀 likes it.",
    "王明住在上海。",
    "data: [DONE]",
    "Is it? Yes.",
    "It cost 1,234.5 francs",
    "- one\n- two",
    "See e.g. Mr. Eiffel.",
    f"It was built in {WRONG}.",
    f"{WRONG}",
]
JOINTS = [" ", "\n\n", "\n", "\r\n", "  ", "", "\u2028"]
answers = st.lists(
    st.tuples(st.sampled_from(SENTENCES), st.sampled_from(JOINTS)), min_size=1, max_size=8
).map(lambda pairs: "".join(itertools.chain.from_iterable(pairs)))


def pieces_of(text: str, cuts: Sequence[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in itertools.pairwise(places)]


def cut_at(raw: bytes, cuts: Sequence[int]) -> list[bytes]:
    places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    return [raw[start:end] for start, end in itertools.pairwise(places)]


def read_as_clients_do(raw: bytes) -> str:
    """The text of a stream whose chunks may be damaged, of all that has a place in it."""
    chunks = (each for each in events_of(raw) if isinstance(each, dict))
    choices = (choice for each in chunks for choice in each.get("choices") or ())
    deltas = (choice.get("delta") or {} for choice in choices)
    return "".join(Said.of(delta.get("content")).text for delta in deltas)


def first_withheld(text: str) -> int:
    """Where the first sentence begins that is blocked; the end of the text if none is."""
    if not text.strip():
        return len(text)
    with fixed() as detector:
        claims = detector.detect(sources=SOURCES, answer=text).claims
    return min((claim.start for claim in claims if claim.spans), default=len(text))


def dressed(piece: str, dress: str) -> bytes:
    """A piece of text, with something beside it that says the same."""
    data = chunk({"content": piece})
    choice = data["choices"][0]
    if dress == "logprobs":
        choice["logprobs"] = {"content": [{"token": piece, "logprob": -1.0}]}
    elif dress == "token ids":
        choice["token_texts"] = [piece]
    elif dress == "reasoning":
        choice["delta"]["reasoning_content"] = piece
    elif dress == "parts":
        choice["delta"]["content"] = [{"type": "text", "text": piece}]
    elif dress == "usage":
        data["usage"] = {"total_tokens": 1}
    elif dress == "comment":
        return b": " + json.dumps(piece).encode() + b"\r\n" + event(data)
    return event(data)


DRESSES = ["", "", "logprobs", "token ids", "reasoning", "parts", "usage", "comment"]
quick = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@HELD
@quick
@given(
    text=answers,
    pieces=st.lists(st.integers(0, 500), max_size=12),
    dress=st.sampled_from(DRESSES),
    cuts=st.lists(st.integers(0, 5000), max_size=6),
    fault=st.none() | st.tuples(st.integers(0, 5000), st.sampled_from(End)),
    garbage=st.none() | st.tuples(st.integers(0, 5000), st.binary(min_size=1, max_size=9)),
)
def test_nothing_is_delivered_from_the_first_withheld_sentence_on(
    running: dict[str, Gateway],
    mode: str,
    text: str,
    pieces: list[int],
    dress: str,
    cuts: list[int],
    fault: tuple[int, End] | None,
    garbage: tuple[int, bytes] | None,
) -> None:
    events = [dressed(piece, dress) for piece in pieces_of(text, pieces)]
    raw = b"".join([event(chunk({"role": "assistant"})), *events, end(), DONE])
    how = End.FINISH
    if garbage is not None:
        at = garbage[0] % len(raw)
        raw = raw[:at] + garbage[1] + raw[at:]
    if fault is not None and fault[1] is not End.HANG:
        raw, how = raw[: fault[0] % len(raw)], fault[1]
    got = told(running[mode], Script.sse(cut_at(raw, cuts), end=how))
    delivered = read_as_clients_do(got)
    if garbage is None:
        limit = first_withheld(text)
        assert text.startswith(delivered)
        assert len(delivered) <= limit
        assert limit < len(text) or fault is not None or delivered == text
        assert limit == len(text) or WRONG in text[:limit] or WRONG.encode() not in without_ids(got)
    else:
        # What the garbage made of the text, it was judged as.
        assert first_withheld(delivered) == len(delivered)
    assert got.endswith(DONE) or b'"stop"' in got


@settings(quick, max_examples=25)
@given(
    text=answers,
    pieces=st.lists(st.integers(0, 500), max_size=12),
    mode=st.sampled_from(list(MODES)),
)
def test_what_is_recorded_of_a_stream_is_what_is_recorded_of_the_text_at_rest(
    running: dict[str, Gateway], text: str, pieces: list[int], mode: str
) -> None:
    own = running[mode]

    def counted(way: str) -> dict[str, float]:
        text = httpx.get(own.url.removesuffix("/v1") + "/metrics", timeout=20).text
        lines = (line for line in text.splitlines() if line.startswith("groundwire_checks_total{"))
        pairs = (line.rpartition(" ") for line in lines if f'mode="{way}"' in line)
        return {labels.replace(way, ""): float(value) for labels, _, value in pairs}

    def recorded(way: str, before: dict[str, float]) -> str:
        eventually(lambda: sum(counted(way).values()) == sum(before.values()) + 1)
        after = counted(way)
        return next(key for key in after if after[key] > before.get(key, 0))

    before = counted("stream")
    told(own, Script.sse(stream_events(pieces_of(text, pieces))))
    of_stream = recorded("stream", before)
    before = counted("complete")
    own.upstream.script(Script.json(completion(text)))
    own.post(request())
    assert of_stream == recorded("complete", before)


# Upstreams that say things where nobody looks.

PLACES: dict[str, list[Piece]] = {
    "a comment": [b": " + SMUGGLED.encode() + b"\n\n"],
    "a comment within an event": [b": " + SMUGGLED.encode() + b"\n" + said("It is.")],
    "the id of an event": [b"id: " + SMUGGLED.encode() + b"\n" + said("It is.")],
    "the name of an event": [b"event: " + SMUGGLED.encode() + b"\n" + said("It is.")],
    "a line that is no field": [SMUGGLED.encode() + b"\n\n"],
    "a body of JSON": [json.dumps(completion(SMUGGLED)).encode() + b"\n\n"],
    "a chunk without choices": [event({"type": "delta", "text": SMUGGLED})],
    "choices in capitals": [event({"Choices": [{"Delta": {"Content": SMUGGLED}}]})],
    "an error": [event({"error": {"message": SMUGGLED}})],
    "an error beside choices": [event({"choices": [], "error": {"message": SMUGGLED}})],
    "a message": [event({"choices": [{"index": 0, "message": {"content": SMUGGLED}}]})],
    "a text": [event({"choices": [{"index": 0, "text": SMUGGLED}]})],
    "reasoning": [event(chunk({"reasoning": SMUGGLED, "content": "It is."}))],
    "a refusal": [event(chunk({"refusal": SMUGGLED, "content": "It is."}))],
    "sound": [event(chunk({"audio": {"transcript": SMUGGLED}, "content": "It is."}))],
    "a call beside text": [
        event(chunk({"tool_calls": [{"index": 0, "x": SMUGGLED}], "content": "It is."}))
    ],
    "a part beside text": [
        event(
            chunk(
                {
                    "content": [
                        {"type": "text", "text": "It is."},
                        {"type": "thinking", "thinking": SMUGGLED},
                        {"type": "refusal", "refusal": SMUGGLED},
                    ]
                }
            )
        )
    ],
    "a key that stands twice": [
        said("It is.").replace(b'"content"', b'"content": "SMUGGLED", "content"')
    ],
    "probabilities of no text": [
        event(
            {
                **chunk({"content": ""}),
                "choices": [
                    {
                        "index": 0,
                        "delta": {"content": ""},
                        "logprobs": {"content": [{"token": SMUGGLED}]},
                    }
                ],
            }
        )
    ],
    "what is said of a piece that is cut": [
        event(
            {
                "choices": [
                    {"index": 0, "delta": {"content": f"It is. In {WRONG}"}, "words": [SMUGGLED]}
                ],
                "words": SMUGGLED,
            }
        )
    ],
}


@HELD
@pytest.mark.parametrize("place", PLACES)
def test_what_stands_beside_the_text_does_not_leave_before_the_answer_has_passed(
    running: dict[str, Gateway], mode: str, place: str
) -> None:
    script = [said("It is here. "), *PLACES[place], said(f" In {WRONG}. More."), end(), DONE]
    got = told(running[mode], Script.sse(script))
    assert SMUGGLED.encode() not in got
    assert WRONG.encode() not in without_ids(got)
    assert finish_of(events_of(got)) == "content_filter"


@HELD
@pytest.mark.parametrize("slow", [False, True])
def test_text_after_the_end_of_an_answer_does_not_leave_unjudged(
    tmp_path: Path, mode: str, *, slow: bool
) -> None:
    gate = Gate()
    script: list[Piece] = [said("It is here."), end(), *([gate] if slow else [])]
    script += [said(f" In {WRONG}."), end(), DONE]
    with gateway(tmp_path, MODES[mode]) as own:
        own.upstream.script(Script.sse(script))
        with own.asking(request(stream=True)) as response:
            incoming = response.iter_raw()
            got = b""
            while slow and mode == "sentence" and b'"stop"' not in got:
                got += next(incoming)
            gate.open()
            got += b"".join(incoming)
    assert WRONG.encode() not in without_ids(got)
    assert text_of(events_of(got)) in ("", "It is here.")


class WaitingJudge(FixedJudge):
    """A judge that says when it was asked, and waits."""

    asked, goes_on = threading.Event(), threading.Event()

    def open(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        reading = super().open(*args, **kwargs)
        read = reading.read

        def read_later(*claims: Any) -> Any:  # noqa: ANN401
            self.asked.set()
            assert self.goes_on.wait(10)
            return read(*claims)

        reading.read = read_later  # type: ignore[assignment, method-assign]
        return reading


@HELD
def test_text_that_comes_while_the_end_is_judged_does_not_leave_with_it(
    tmp_path: Path, mode: str
) -> None:
    judge, gate = WaitingJudge(doubtful={WRONG: 0.9}), Gate()
    judge.asked.clear()
    judge.goes_on.clear()
    script: list[Piece] = [said("It is here."), end(), gate, said(f" In {WRONG}."), DONE]
    with gateway(tmp_path, MODES[mode], detector=Detector(judge)) as own:
        own.upstream.script(Script.sse(script))
        with own.asking(request(stream=True)) as response:
            assert mode == "deferred" or judge.asked.wait(10)
            gate.open()
            (seen,) = own.upstream.requests
            eventually(lambda: seen.was_answered.is_set() or seen.was_abandoned.is_set())
            sleep(0.2)  # until it is read
            judge.goes_on.set()
            got = response.read()
    assert WRONG.encode() not in without_ids(got)


@HELD
@pytest.mark.parametrize("place", [name for name in PLACES if "choices" in name or "error" in name])
def test_what_is_no_chunk_does_not_leave_in_front_of_an_answer(
    running: dict[str, Gateway], mode: str, place: str
) -> None:
    script = [*PLACES[place], said(f"It is here. In {WRONG}. More."), end(), DONE]
    assert SMUGGLED.encode() not in told(running[mode], Script.sse(script))


@EVERY
def test_what_comes_after_the_end_and_is_no_text_arrives(
    running: dict[str, Gateway], mode: str
) -> None:
    usage = {"total_tokens": 3}
    late = {**chunk({"role": "assistant", "content": ""}), "usage": usage}
    script = [said("It is here."), end(), end(), event(late), DONE]
    events = events_of(told(running[mode], Script.sse(script)))
    assert text_of(events) == "It is here."
    assert [each.get("usage") for each in events[:-1]].count(usage) == 1
    assert events[-1] == "[DONE]"


@HELD
def test_text_after_done_is_not_read(running: dict[str, Gateway], mode: str) -> None:
    script = [said("It is here."), end(), DONE, said(SMUGGLED), DONE]
    got = told(running[mode], Script.sse(script))
    assert text_of(events_of(got)) == "It is here."
    assert got.count(b"[DONE]") == 1


@EVERY
def test_an_upstream_cannot_mark_its_own_answers(running: dict[str, Gateway], mode: str) -> None:
    forged = {"outcome": "grounded", "action": "none"}
    script = Script.sse(
        [said("It is here."), event({**chunk({}, finish="stop"), "groundwire": forged}), DONE],
        headers=(
            ("Content-Type", "text/event-stream"),
            ("X-Groundwire-Outcome", "grounded"),
            ("X-VSR-Fact-Check-Needed", "true"),
        ),
    )
    own = running[mode]
    own.upstream.script(script)
    with own.asking(request(stream=True)) as response:
        got = response.read()
    assert not [name for name in response.headers if name.startswith(("x-vsr", "x-groundwire"))]
    if mode != "log":  # where a stream is the upstream's, byte for byte, nothing in it is ours
        assert b"groundwire" not in got


# Streams of odd shapes.


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
    "bytes that are no UTF-8": ([said("Yes.").replace(b"e", b"\xff"), end(), DONE], "whole"),
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
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("unit", [b": c\n\n", b"data: {}\n\n", b"\0"])
def test_a_bomb_is_refused(
    running: dict[str, Gateway], mode: str, coding: str, unit: bytes
) -> None:
    plain = unit * (300 * 2**20 // len(unit)) if unit == b"\0" else unit * 20_000
    packed = gzip.compress(plain, 1) if coding == "gzip" else brotli.compress(plain, quality=1)
    headers = (("Content-Type", "text/event-stream"), ("Content-Encoding", coding))
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


# Models that write what machines read.

NASTY = [
    "One.\r\nX-Evil: 1\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    'One.\n\ndata: {"choices":[{"index":0,"delta":{"content":"evil"}}]}\n\n',
    "One.\n\ndata: [DONE]\n\n",
    "\x1b]0;evil\x07\x1b[2J One.\x00\x7f\x9b31m",
    "One.\u2028data: [DONE]\u2029\x85data: {}\x0b\x0c\x1c\x1d\x1e",
    "\ufeffOne.\u202eevil\u200b",
    "%0d%0aX-Evil: 1; , \t",
    "😀" * 400,
]


@EVERY
@pytest.mark.parametrize("text", NASTY)
def test_what_a_model_writes_stays_its_text(
    running: dict[str, Gateway], mode: str, text: str
) -> None:
    own = running[mode]
    got = told(own, Script.sse(stream_events([*text, "", " It is."])))
    events = events_of(got)
    assert text_of(events) == f"{text} It is."
    assert events.count("[DONE]") == 1
    if mode in ("sentence", "deferred"):  # readers who divide lines wherever Unicode does
        assert all(
            line.startswith(("data: ", ":")) or not line for line in got.decode().splitlines()
        ) or not any(each in text for each in "\u2028\u2029\x85")
    own.upstream.script(Script.json(completion(text)))
    response = own.post(request())
    assert response.json()["choices"][0]["message"]["content"] == text
    assert "x-evil" not in response.headers


class Doubting(dict[str, float]):
    """Doubts every word."""

    def get(self, key: str, default: Any = None) -> float:  # noqa: ANN401
        del key, default
        return 0.9


@pytest.mark.parametrize("text", NASTY)
def test_spans_in_headers_events_and_warnings_are_text(tmp_path: Path, text: str) -> None:
    yaml = "check: {action: %s, include_details: true}"
    answer = f"Evil {text} evil"
    for action in ("header", "body"):
        folder = tmp_path / action
        folder.mkdir()
        detector = Detector(FixedJudge(doubtful=Doubting()))
        with gateway(folder, yaml % action, detector=detector) as own:
            own.upstream.script(
                Script.json(completion(answer)), Script.sse(stream_events([answer]))
            )
            response = own.post(request())
            events = own.stream()
            n_events = len(own.wait_for_events(2))
        names = [name for name, _ in response.headers.multi_items()]
        assert len(names) == len(set(names))
        assert "x-evil" not in names
        spans = response.headers.get("x-vsr-hallucination-spans", "")
        assert len(spans) <= 500
        assert spans.isascii()
        assert spans.isprintable()
        assert events.count("[DONE]") == 1
        assert n_events == 2  # each on one line
        if action == "body" and "\0" not in text:  # which no detector reads
            warning = response.json()["choices"][0]["message"]["content"].partition("\n\n")[0]
            assert warning.startswith("[Hallucination Warning]")
            assert warning.isprintable()


def test_names_and_ids_of_a_client_reach_no_header_and_no_log_line_as_they_are(
    tmp_path: Path,
) -> None:
    evil = "m\r\nX-Evil: 1\x1b[2J"
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.otherwise(Script.json(completion(BAD)))
        response = own.post(request(model=evil), headers={"X-Trace-ID": "a b<script>"})
        assert response.status_code == 403
        assert "x-evil" not in response.headers
        assert response.headers["x-trace-id"].isalnum()
        long = own.post(request(), headers={"X-Trace-ID": "a" * 65})
        assert long.headers["x-trace-id"] != "a" * 65
        assert all(len(line.splitlines()) == 1 for line in own.audit.read_text().split("\n")[:-1])


# Clients that leave, stall, or send too much.


@contextmanager
def connected(own: Gateway, *, receive_buffer: int | None = None) -> Iterator[socket.socket]:
    host, _, port = own.url.removeprefix("http://").removesuffix("/v1").partition(":")
    with socket.socket() as client:
        if receive_buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(20)
        client.connect((host, int(port)))
        yield client


def head(body: bytes, **more: str) -> bytes:
    lines = {
        "Host": "gateway",
        "Authorization": f"Bearer {KEY}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    said = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"POST /v1/chat/completions HTTP/1.1\r\n{said}\r\n".encode()


@EVERY
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("stage", ["head", "body", "asked", "answered", "within"])
def test_a_client_may_leave_at_any_stage_and_nothing_stays(
    tmp_path: Path, mode: str, stage: str, *, stream: bool
) -> None:
    body = json.dumps(request(stream=stream)).encode()
    gate, later = Gate(), Gate()
    whole = json.dumps(completion("It is here. " * 9)).encode()
    first: bytes = said("It is here. And") if stream else whole[:-5]
    pieces: tuple[Piece, ...] = (gate, first, later, DONE if stream else whole[-5:])
    script = (
        Script.sse(pieces)
        if stream
        else Script.json(None, body=(first, later, whole[-5:]), claimed_length=len(whole))
    )
    if stage == "asked":
        script = script.but(before=(Gate(),))
    with gateway(tmp_path, MODES[mode]) as own:
        own.upstream.script(*([script] if stage not in ("head", "body") else []))
        with connected(own) as client:
            if stage == "head":
                client.sendall(head(body)[:40])
            elif stage == "body":
                client.sendall(head(body) + body[:-9])
            else:
                client.sendall(head(body) + body)
                own.upstream.wait_for(1)
            if stage == "within":
                gate.open()
                eventually(lambda: own.upstream.requests[0].n_sent > 0)
        eventually(lambda: is_idle(own))
        if stage not in ("head", "body"):
            assert own.upstream.requests[0].was_abandoned.wait(10)
        else:
            assert own.upstream.requests == ()
        if stage == "within" and stream and mode in ("sentence", "deferred"):
            (found,) = own.wait_for_events(1)
            assert found["payload"]["disposition"] == "cancelled"
        # It goes on to serve.
        own.upstream.script(Script.json(completion("It is here.")))
        assert own.post(request()).status_code == 200


@pytest.mark.parametrize("mode", ["sentence", "header", "log"])
def test_a_client_that_reads_nothing_makes_the_upstream_wait(tmp_path: Path, mode: str) -> None:
    body = json.dumps(request(stream=True)).encode()
    piece = said("It is here. " * 50)
    with gateway(tmp_path, MODES[mode]) as own:
        own.upstream.script(Script.sse([piece * 100] * 300))
        with connected(own, receive_buffer=4096) as client:
            client.sendall(head(body) + body)
            (seen,) = own.upstream.wait_for(1)
            before = -1

            def is_stuck() -> bool:
                nonlocal before
                was, before = before, seen.n_sent
                if was != before:
                    sleep(0.5)
                return was == before > 0

            eventually(is_stuck, within_s=60)
            assert seen.n_sent < len(piece) * 100 * 300
        assert seen.was_abandoned.wait(10)
        eventually(lambda: is_idle(own))


REQUESTS: dict[str, tuple[bytes, dict[str, str], int]] = {
    "a bomb of gzip": (gzip.compress(b" " * 2**26), {"Content-Encoding": "gzip"}, 415),
    "a bomb of brotli": (brotli.compress(b" " * 2**26), {"Content-Encoding": "br"}, 415),
    "damaged gzip": (b"gzip?", {"Content-Encoding": "gzip"}, 415),
    "an unknown coding": (b"{}", {"Content-Encoding": "zstd"}, 415),
    "codings upon codings": (b"{}", {"Content-Encoding": ",".join(["gzip"] * 50)}, 415),
    "too much": (b" " * (33_554_432 + 1), {}, 413),
    "depth": (b'{"messages": ' + b"[" * 200_000, {}, 400),
    "depth in a field": (
        b'{"messages": [], "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        {},
        400,
    ),
    "a long number": (b'{"messages": [], "n": ' + b"9" * 10_000 + b"}", {}, 400),
    "half a character": (
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
        {},
        400,
    ),
    "no JSON": (b"messages=1", {}, 400),
    "nothing": (b"", {}, 400),
    "a number": (b"1e999", {}, 400),
}


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_that_is_too_much_is_refused_and_told_why(
    running: dict[str, Gateway], what: str
) -> None:
    body, headers, status = REQUESTS[what]
    own = running["sentence"]
    own.upstream.otherwise(Script.json(completion("Yes.")))
    response = own.post(body, headers=headers)
    assert response.status_code == status, response.text
    assert response.json()["error"]["code"]
    eventually(lambda: is_idle(own))


def test_heads_that_are_too_large_are_refused(running: dict[str, Gateway]) -> None:
    own = running["log"]
    for more in ({"X_Long": "a" * 1_000_000}, {f"X_{n}": "a" * 50 for n in range(20_000)}):
        with connected(own) as client:
            try:
                client.sendall(head(b"", **more))
                answer = client.recv(65536)
            except ConnectionError:
                answer = b""
            assert answer == b"" or answer.split(b" ")[1] in (b"400", b"401", b"431", b"413")
    eventually(lambda: is_idle(own))


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", 400, "invalid_http"),  # TLS
        (b"GET /livez HTTP/1.1\r\nno header\r\n\r\n", 400, "invalid_http"),
        (b"GET /livez HTTP/1.1\r\nX-Long: " + b"a" * 70_000, 431, "head_too_large"),
    ],
)
def test_what_is_no_request_gets_an_error_like_all_others(
    running: dict[str, Gateway], sent: bytes, status: int, code: str
) -> None:
    with connected(running["log"]) as client:
        client.sendall(sent)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    lines, _, body = answer.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert lines.startswith(b"HTTP/1.1 %d " % status)
    assert error["code"] == code
    assert error["next_step"]
    assert f"\r\nx-trace-id: {error['trace_id']}\r\n".encode() in lines


# Logs and errors.


def test_nothing_of_prompts_answers_sources_and_keys_is_in_logs_or_errors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    marks = {"PROMPTMARK", "ANSWERMARK", "SOURCEMARK", "TOOLMARK", "upstreamkeymark", KEY}
    judge = RecordingJudge(doubtful={WRONG: 0.9})
    failing = RecordingJudge(doubtful={}, fails=True)
    body = request(
        messages=[
            {"role": "user", "content": "PROMPTMARK?"},
            {"role": "tool", "tool_call_id": "1", "content": "TOOLMARK"},
        ],
        metadata={"grounding.sources": ["SOURCEMARK it is.", 3, "\ud800SOURCEMARK"]},
    )
    plain = {**body, "metadata": {"grounding.sources": ["SOURCEMARK it is."]}}
    answer = f"ANSWERMARK is here. It was {WRONG}."
    scripts = [
        Script.json(completion(answer)),
        Script.json(None, body=(b'{"choices": "ANSWERMARK',)),
        Script.json(completion("ANSWERMARK \ud800")),
        Script.error(500, "ANSWERMARK"),
        Script.sse(stream_events([answer])),
        Script.sse([said("ANSWERMARK"), b"data: {ANSWERMARK\n\n", DONE]),
        Script.sse([said("ANSWERMARK")], end=End.RESET),
        Script.sse([said("ANSWERMARK")], encoding="gzip", end=End.CLOSE),
        Script.sse([said("ANSWERMARK")], headers=(("Content-Type", "text/event-stream"),
                                                  ("Content-Encoding", "gzip"))),
        Script(raw=b"ANSWERMARK\r\n\r\n"),
        Script.json(None, claimed_length=99, body=(b"ANSWERMARK",), end=End.CLOSE),
    ]  # fmt: skip
    told: list[str] = []
    for mode, own_judge in itertools.product(("sentence", "log", "header"), (judge, failing)):
        folder = tmp_path / f"{mode}-{own_judge.fails}"
        folder.mkdir()
        yaml = f"{MODES[mode]}\nupstream: {{api_key: upstreamkeymark}}"
        with gateway(folder, yaml, detector=Detector(own_judge)) as own:
            for script, given in itertools.product(scripts, (plain, body)):
                own.upstream.script(script)
                try:
                    response = own.post({**given, "stream": b"data" in bytes_of(script)})
                except Exception:  # noqa: BLE001 - a relayed stream that broke off
                    continue
                if response.status_code >= 400 and response.status_code != 500:
                    told.append(response.text)
            told.append(own.post(b'{"PROMPTMARK').text)
            told.append(own.post(b'{"messages": "PROMPTMARK"}').text)
            wrong = {"Authorization": f"Bearer {KEY}PROMPTMARK"}
            told.append(own.post(plain, headers=wrong).text)
    captured = capfd.readouterr()
    ours = (each for each in caplog.records if not each.name.startswith(("httpx", "httpcore")))
    logged = "\n".join(f"{each.getMessage()} {each.exc_text or ''}" for each in ours)
    everything = logged + captured.out + captured.err + "".join(told)
    assert logged
    assert not [mark for mark in marks if mark in everything]
    assert WRONG not in without_ids(everything)


def bytes_of(script: Script) -> bytes:
    return b"".join(each for each in script.body if isinstance(each, bytes))


# A machine that is too busy.


def test_a_request_does_not_wait_for_ever_for_a_thread(tmp_path: Path) -> None:
    class Stuck(FixedJudge):
        def open(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            eventually(lambda: bool(freed), within_s=20)
            return super().open(*args, **kwargs)

    freed: list[bool] = []
    yaml = f"{BLOCK}\ngateway: {{check_timeout_s: 0.1}}\ndetector: {{threads: 1}}"
    try:
        with gateway(tmp_path, yaml, detector=Detector(Stuck(doubtful={}))) as own:
            own.upstream.otherwise(Script.json(completion("It is here.")))
            codes = [own.post(request()).json()["error"]["code"] for _ in range(4)]
            freed.append(True)
            eventually(lambda: all(each.was_answered.is_set() or each.was_abandoned.is_set()
                                   for each in own.upstream.requests))  # fmt: skip
    finally:
        freed.append(True)
    assert set(codes) == {"check_failed"}


def test_a_reply_that_nobody_takes_is_closed(tmp_path: Path) -> None:
    """The request turns out to be none while its upstream already answers."""
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.otherwise(Script.sse([said("Yes."), Gate()]))
        for _ in range(5):
            response = own.post(b'{"messages": [{"role": "user", "content": "\\ud800"}]}')
            assert response.status_code == 400
        assert all(each.was_abandoned.wait(10) for each in own.upstream.requests)


def test_compressed_events_may_be_cut_anywhere(running: dict[str, Gateway]) -> None:
    packed = zlib.compress(b"".join(stream_events(["It is ", "here."])))
    headers = (("Content-Type", "text/event-stream"), ("Content-Encoding", "deflate"))
    script = Script.sse(split(packed, every=1), headers=headers)
    assert text_of(events_of(told(running["sentence"], script))) == "It is here."
