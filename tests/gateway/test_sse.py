"""Events come out as they went in, however the bytes are cut."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.gateway.http.sse import EventSplitter, EventTooLargeError, ServerSentEvent, encode

END = st.sampled_from(["\n", "\r\n", "\r"])
LINE = st.sampled_from(["data: {}", "data:{}", "data", ": note", "event: x", "data: é中😀"])


def split(data: bytes, *cuts: int) -> tuple[list[ServerSentEvent], bytes]:
    splitter = EventSplitter(max_event_bytes=1 << 20)
    events: list[ServerSentEvent] = []
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        events += splitter.feed(data[start:end])
    return events, splitter.finish()


def test_an_event_ends_with_a_blank_line_of_any_kind() -> None:
    events, rest = split(b"data: 1\n\ndata: 2\r\n\r\ndata: 3\r\rdata: 4\r\n\ndata: 5")
    assert [event.data for event in events] == ["1", "2", "3", "4"]
    assert rest == b"data: 5"


def test_a_line_end_of_two_characters_is_one_line_end() -> None:
    assert split(b"data: 1\r\ndata: 2\r\n\r\n")[0] == [
        ServerSentEvent(b"data: 1\r\ndata: 2\r\n\r\n", "1\n2")
    ]


def test_one_space_after_the_colon_is_not_part_of_the_value() -> None:
    assert ServerSentEvent.of(b"data:  a\n\n").data == " a"
    assert ServerSentEvent.of(b"data:a\n\n").data == "a"
    assert ServerSentEvent.of(b"data\n\n").data == ""


def test_comments_and_other_fields_have_no_data() -> None:
    assert ServerSentEvent.of(b": note\nevent: ping\n\n").data is None


def test_a_byte_order_mark_is_no_part_of_the_first_field() -> None:
    assert ServerSentEvent.of(b"\xef\xbb\xbfdata: 1\n\n").data == "1"


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    assert ServerSentEvent.of(b"data: \xff\n\n").data == "\N{REPLACEMENT CHARACTER}"


@given(st.lists(st.tuples(LINE, END), max_size=12), st.data())
def test_no_byte_is_lost_and_cuts_change_nothing(
    lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    raw = "".join(line + end for line, end in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    events, rest = split(raw, *cuts)
    whole, _ = split(raw)
    assert b"".join(event.raw for event in events) + rest == raw
    told = [event.data for event in events if event.data is not None]
    assert told == [event.data for event in whole if event.data is not None]


def test_an_event_without_end_is_refused() -> None:
    splitter = EventSplitter(max_event_bytes=10)
    splitter.feed(b"data: 1234")
    with pytest.raises(EventTooLargeError, match="more than 10 bytes"):
        splitter.feed(b"5")


def test_searching_goes_on_where_it_stopped() -> None:
    splitter = EventSplitter(max_event_bytes=1 << 20)
    for _ in range(50_000):  # with a search from the start each time this takes minutes
        assert splitter.feed(b"data: x ") == []
    assert len(splitter.feed(b"\n\n")) == 1


@given(st.text())
def test_what_is_encoded_is_one_event_whatever_the_text(text: str) -> None:
    raw = encode({"text": text, "half": "\ud800"})
    events, rest = split(raw)
    assert (len(events), rest) == (1, b"")
    assert json.loads(events[0].data or "") == {"text": text, "half": "\ud800"}
