"""No character at or after the first sentence that is withheld is ever delivered."""

import itertools
import json
from collections.abc import Sequence

import httpx2 as httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.pipeline.conversation.response import Said
from tests.gateway.chats import SOURCES, WRONG, Gateway, events_of, fixed, request, without_ids
from tests.gateway.hostile.modes import HELD, MODES, end, told
from tests.gateway.wire import (
    DONE,
    End,
    Script,
    chunk,
    completion,
    event,
    eventually,
    stream_events,
)
from tests.tiers import costly

pytestmark = pytest.mark.nightly


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
    costly(0.4), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
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


@settings(quick, max_examples=costly(0.25).max_examples)
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
        text = httpx.get(own.url.removesuffix("/v1") + "/metrics", timeout=20, verify=False).text
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
