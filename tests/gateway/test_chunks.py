"""What is read of a chunk, and what of it may leave when."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.gateway.chat.chunks import Chunk, Halves, UnreadableChunkError, chunk_of, event_data
from groundwire.gateway.chat.hold_buffer import HeldAnswer, HeldStream
from groundwire.gateway.http.sse import EventSplitter, ServerSentEvent, encode
from groundwire.pipeline.conversation.response import ToolCall
from groundwire.pipeline.conversation.streamed_calls import JoinedCalls

#: Where other dialects have their text.
TEXTS = ("content", "text", "delta", "message", "output_text")
HEAD = {"id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "m"}


def chunk(delta: dict[str, Any], *, index: int = 0, **more: object) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": None, **more}
    return {**HEAD, "choices": [choice]}


def read(data: object) -> Chunk:
    return chunk_of(event_data(json.dumps(data)))


def held(*chunks: dict[str, Any], withholds: bool = True) -> HeldStream:
    stream = HeldStream(HEAD, trace_id="t1", withholds=withholds)
    for data in chunks:
        stream.take(ServerSentEvent.of(encode(data)), read(data))
    return stream


def rest(answer: HeldAnswer, **more: Any) -> list[bytes]:  # noqa: ANN401
    """All that has not left."""
    return answer.settle() + answer.finish(**more)


def told(events: list[bytes]) -> list[dict[str, Any]]:
    splitter = EventSplitter(max_event_bytes=1 << 20)
    return [json.loads(event.data or "") for event in splitter.feed(b"".join(events))]


def text(events: list[bytes], index: int = 0) -> str:
    return "".join(
        choice["delta"].get("content") or ""
        for data in told(events)
        for choice in data["choices"]
        if choice["index"] == index
    )


def test_text_refusal_calls_and_the_end_are_told_apart() -> None:
    (part,) = read(chunk({"content": "Paris"})).parts
    assert (part.text, part.refusal, part.calls_tools, part.finish) == ("Paris", "", False, None)
    assert read(chunk({"refusal": "No."})).parts[0].refusal == "No."
    assert read(chunk({"tool_calls": [{"index": 0}]})).parts[0].calls_tools
    assert read(chunk({}, finish_reason="stop")).parts[0].finish == "stop"


def test_content_in_parts_is_one_text_and_what_is_no_text_is_counted() -> None:
    parts = [{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}, {"type": "image"}]
    (part,) = read(chunk({"content": parts})).parts
    assert (part.text, part.n_skipped) == ("Paris", 1)


def test_sound_is_something_that_nobody_reads() -> None:
    assert read(chunk({"audio": {"transcript": "Paris"}})).parts[0].n_skipped == 1


@pytest.mark.parametrize(
    "data",
    [
        "[]",
        "{",
        "nul",
        '{"choices": {}}',
        '{"choices": ["x"]}',
        '{"choices": [{"delta": "x"}]}',
        '{"choices": [{"message": {"content": "x"}}]}',
        '{"choices": [{"text": "x"}]}',
        '{"type": "response.output_text.delta", "delta": "x"}',
        '{"type": "content_block_delta", "index": 0}',
        '{"response": "x", "done": false}',
        '{"choices": null, "answer": "x"}',
        *(f'{{"choices": [], "{name}": "x"}}' for name in TEXTS),
        *(f'{{"choices": [{{"delta": {{}}}}], "{name}": "x"}}' for name in TEXTS),
        *(f'{{"usage": {{}}, "{name}": {{"content": "x"}}}}' for name in TEXTS),
        "[" * 100_000,
    ],
)
def test_what_is_no_chunk_is_refused_without_a_word_of_it(data: str) -> None:
    with pytest.raises(UnreadableChunkError) as caught:
        chunk_of(event_data(data))
    assert len(str(caught.value)) < 250


def test_an_event_without_choices_is_about_no_answer() -> None:
    assert read({"error": {"message": "overloaded"}}).is_error
    assert read({**HEAD, "choices": [], "usage": {"total_tokens": 3}}).parts == ()
    assert read({**HEAD, "choices": [], "obfuscation": "x", "content": ""}).parts == ()
    assert read({**HEAD, "choices": None, "prompt_filter_results": []}).parts == ()
    assert read({**HEAD, "usage": {"total_tokens": 3}}).parts == read(HEAD).parts == ()


def test_half_a_character_waits_for_the_other_half() -> None:
    halves = Halves()
    first = halves.join(read(chunk({"content": "a\ud83d"})))
    second = halves.join(read(chunk({"content": "\ude00b"})))
    assert [first.parts[0].text, second.parts[0].text] == ["a", "😀b"]
    assert {first.is_as_sent, second.is_as_sent} == {False}
    assert halves.join(plain := read(chunk({"content": "c"}))) is plain


def test_nothing_of_a_text_leaves_before_it_is_cleared() -> None:
    stream = held(chunk({"role": "assistant", "content": ""}), chunk({"content": "One. Two."}))
    answer = stream.answer(0)
    assert told(answer.clear(0)) == [chunk({"role": "assistant", "content": ""})]
    assert text(answer.clear(4)) == "One."
    assert answer.clear(4) == []
    assert text(answer.clear()) == " Two."


@pytest.mark.parametrize("place", ["chunk", "choice", "delta"])
@pytest.mark.parametrize("prose", ["It was built", {"text": "It was"}, ["It", "was built"]])
def test_prose_beside_a_text_does_not_leave_with_it(place: str, prose: object) -> None:
    fields = {
        "chunk": (*HEAD, "usage", "obfuscation", "system_fingerprint", "service_tier", "provider"),
        "choice": ("finish_reason", "logprobs", "stop_reason", "content_filter_results", "any"),
        "delta": ("role", "refusal", "name", "reasoning", "annotations", "any"),
    }
    for field in fields[place]:
        data = chunk({"content": "One."})
        parts = {"chunk": data, "choice": data["choices"][0]}
        parts["delta"] = parts["choice"]["delta"]
        parts[place][field] = prose
        sent = b"".join(held(chunk({"content": ""}), data).answer(0).clear())
        assert b"One." in sent
        assert b"It was" not in sent, field
        assert b"was built" not in sent, field


def test_what_leaves_as_a_whole_leaves_as_it_came() -> None:
    raw = b'data:  {"choices" : [{"index":0,"delta":{"content":"One."},"x":1.0}]}\r\n\r\n'
    stream = HeldStream(HEAD, trace_id="t1", withholds=True)
    event = ServerSentEvent.of(raw)
    stream.take(event, chunk_of(event_data(event.data or "")))
    assert stream.answer(0).clear() == [raw]


def test_probabilities_of_words_wait_for_the_last_of_them() -> None:
    data = chunk({"content": "One. Two."}, logprobs={"content": [{"token": "One. Two."}]})
    answer = held(data).answer(0)
    first, second = told(answer.clear(4)), told(answer.clear())
    assert first[0]["choices"][0]["logprobs"] is None
    assert second[0]["choices"][0]["logprobs"] == {"content": [{"token": "One. Two."}]}


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "Hm."},
        {"refusal": "No."},
        {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
        {"audio": {"transcript": "Paris"}},
        {"anything": "else"},
    ],
)
def test_what_is_never_judged_waits_for_the_whole_answer(delta: dict[str, Any]) -> None:
    stream = held(chunk({"content": "One."}), chunk(delta), chunk({}, finish_reason="stop"))
    answer = stream.answer(0)
    assert text(cleared := answer.clear()) == "One."
    assert told(cleared) == [chunk({"content": "One."})]
    assert told(rest(answer)) == [chunk(delta), chunk({}, finish_reason="stop")]


def test_text_beside_the_end_leaves_before_it() -> None:
    answer = held(chunk({"content": "One."}, finish_reason="stop")).answer(0)
    assert text(answer.clear()) == "One."
    (last,) = told(rest(answer))
    assert last["choices"][0]["finish_reason"] == "stop"
    assert not last["choices"][0]["delta"]


def test_without_withholding_only_the_end_waits() -> None:
    calls = {"tool_calls": [{"index": 0}]}
    stream = held(chunk(calls), chunk({}, finish_reason="tool_calls"), withholds=False)
    assert told(stream.answer(0).clear()) == [chunk(calls)]
    marked = told(rest(stream.answer(0), extension={"outcome": "skipped"}))
    assert marked == [
        {**chunk({}, finish_reason="tool_calls"), "groundwire": {"outcome": "skipped"}}
    ]


def test_a_warning_stands_after_the_text_or_in_front() -> None:
    data = (chunk({"content": "One."}), chunk({}, finish_reason="stop"))
    assert text(held(*data).answer(0).settle(warning="Mind.")) == "One.\n\nMind."
    in_front = held(*data).answer(0).settle(warning="Mind.", in_front=True)
    assert text(in_front) == "Mind.\n\nOne."


def test_answers_in_one_event_are_told_apart() -> None:
    both = {
        **HEAD,
        "choices": [
            {"index": i, "delta": {"content": said}, "finish_reason": None}
            for i, said in enumerate(("One.", "Two."))
        ],
    }
    stream = held(both)
    assert text(stream.answer(1).clear(), 1) == "Two."
    assert text(stream.answer(0).clear(), 0) == "One."


def test_what_is_about_no_answer_stands_before_or_after_all() -> None:
    before = {**HEAD, "choices": [], "prompt_filter_results": []}
    usage = {**HEAD, "choices": [], "usage": {"total_tokens": 3}}
    stream = held(before, chunk({"content": "One."}), usage)
    assert told(stream.front()) == [before]
    assert told(stream.tail(is_done=False)) == [usage]
    assert stream.usage == {"total_tokens": 3}


def test_what_is_about_no_answer_leaves_without_what_nobody_has_read() -> None:
    usage = {**HEAD, "choices": [], "usage": {"total_tokens": 3}}
    assert told(held({**usage, "response": "In 1950."}).front()) == [usage]
    assert told(held({**HEAD, "choices": [], "response": "In 1950."}).front()) == []
    assert told(held({"usage": {"total_tokens": 3}}).front()) == [
        {"usage": {"total_tokens": 3}, "choices": []}
    ]


def test_what_is_held_is_counted_and_what_has_left_is_not() -> None:
    before = {**HEAD, "choices": [], "prompt_filter_results": []}
    stream = held(before, chunk({"content": "One. Two."}), chunk({"reasoning_content": "Hm."}))
    stream.front()
    assert stream.n_held == 12
    stream.answer(0).clear(4)
    assert stream.n_held == 8
    stream.answer(0).clear()
    rest(stream.answer(0))
    assert (stream.n_held, stream.n_bytes) == (0, 0)


def test_arguments_of_calls_are_put_together() -> None:
    calls = [
        {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": '{"a":'}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": " 1}"}}]},
    ]
    joined = JoinedCalls()
    for call in calls:
        joined.take(read(chunk(call)).parts[0].calls, 100)
    assert joined.calls == (
        ToolCall(name="f", arguments='{"a": 1}'),
        ToolCall(name="", arguments="{}"),
    )


@given(
    st.lists(st.text(max_size=6), max_size=8),
    st.lists(st.integers(0, 50), max_size=6),
)
def test_all_of_a_text_leaves_once_and_none_of_it_early(said: list[str], upto: list[int]) -> None:
    whole = "".join(said)
    answer = held(*(chunk({"content": each}) for each in said)).answer(0)
    gone = ""
    for position in sorted(upto):
        gone += text(answer.clear(position))
        assert gone == whole[:position]
    assert gone + text(answer.settle()) == whole
