"""Readers and holders of the dialects alone: what leaves of a stream, event by event."""

import itertools
import json
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.gateway.chat.blocks import HeldBlocks
from groundwire.gateway.chat.dialect import Dialect
from groundwire.gateway.chat.hold_buffer import HeldAnswer
from groundwire.gateway.chat.reading import ChunkReader
from groundwire.gateway.dialects.completions import Completions
from groundwire.gateway.dialects.messages import Messages
from groundwire.gateway.dialects.responses import Responses
from groundwire.gateway.http.refusals import RefusalCode, refused
from groundwire.pipeline.conversation.request import read_request
from tests.gateway.dialects import spoken as said
from tests.gateway.dialects.spoken import Spoken, data_of
from tests.gateway.dialects.test_hostile_shapes import events_in, shape

PAIRS: list[tuple[Dialect, Spoken]] = [
    (Completions(), said.Legacy()),
    (Responses(), said.Responses()),
    (Messages(), said.Messages()),
]
EACH = pytest.mark.parametrize(("dialect", "spoken"), PAIRS, ids=lambda each: each.path)


def left(dialect: Dialect, raw: Sequence[bytes], upto: int, *, passes: bool) -> bytes:
    """All that leaves of a stream of which text may leave up to an offset, and then all or none."""
    held = dialect.held(model="m", trace_id="t1", withholds=True)
    reader = ChunkReader("", dialect.reader(), path=dialect.path)
    out, is_done = [], False
    for read in itertools.chain(*map(reader.feed, raw), reader.finish()):
        if read.is_unreadable:
            passes = False
            break
        is_done |= read.is_end
        if read.chunk is None:
            continue
        held.take(read.event, read.chunk)
        out += held.front()
        for part in read.chunk.parts:
            out += held.answer(part.index).clear(upto)
        if is_done:
            break
    if passes:
        answers: list[HeldAnswer | HeldBlocks] = [*held.answers.values()]
        for each in answers:
            out += [*each.settle(), *each.finish()]
        return b"".join([*out, *held.tail(is_done=is_done)])
    problem = refused(RefusalCode.STREAM_ERROR)
    last = held.refusal(problem, passed=set())
    return b"".join([*out, *last])


@EACH
@given(
    pieces=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5),
    upto=st.integers(0, 30),
)
def test_a_stream_leaves_whole_or_up_to_where_it_may(
    dialect: Dialect, spoken: Spoken, pieces: list[str], upto: int
) -> None:
    events, text = spoken.events(pieces), "".join(pieces)
    passed = left(dialect, events, upto, passes=True)
    assert spoken.text_of(passed) == text
    withheld = left(dialect, events, upto, passes=False)
    assert spoken.text_of(withheld) == text[:upto]
    assert spoken.is_refused(data_of(withheld))
    assert (spoken.marks_of(withheld) or {})["code"] == "stream_error"


@EACH
def test_a_stream_that_passes_in_one_go_leaves_byte_for_byte(
    dialect: Dialect, spoken: Spoken
) -> None:
    events = spoken.events(["The tower is ", "330 m 😀 tall."])
    assert left(dialect, events, 10**6, passes=True) == b"".join(events)


@pytest.mark.parametrize(("dialect", "spoken"), PAIRS[1:], ids=["responses", "messages"])
def test_a_block_of_which_nothing_leaves_is_never_opened(dialect: Dialect, spoken: Spoken) -> None:
    # Clients that parse JSON as it streams would fail on an empty text.
    events = spoken.events(["{", "}"])
    opening = ("content_block_start", "output_item.added", "content_part.added")
    closing = ("content_block_stop", "output_item.done", "content_part.done")
    for upto, is_opened in {0: False, 1: True}.items():
        raw = left(dialect, events, upto, passes=False).decode()
        n_opened, n_closed = (sum(map(raw.count, names)) for names in (opening, closing))
        assert (n_opened > 0) is is_opened
        assert n_opened == n_closed


@EACH
@pytest.mark.parametrize("passes", [False, True])
def test_hostile_shapes_never_fail_and_leave_events_that_can_be_read(
    dialect: Dialect, spoken: Spoken, passes: bool
) -> None:
    # The gateway is put to many more of them, in test_hostile_shapes.py.
    for seed in range(24):
        raw = [each for each in shape(random.Random(seed), spoken).body if isinstance(each, bytes)]
        for upto in (0, 20, 10**6):
            for each in events_in(left(dialect, raw, upto, passes=passes)):
                assert each == "[DONE]" or isinstance(json.loads(each), dict)


@EACH
def test_half_a_character_waits_for_the_other(dialect: Dialect, spoken: Spoken) -> None:
    raw = b"".join(spoken.events(["A 😀 B"])).decode()
    whole = "😀"
    halves = [raw.replace(whole, "\\ud83d\\ude00").encode()]
    assert spoken.text_of(left(dialect, halves, 10**6, passes=True)) == "A 😀 B"


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (Responses(), {"prompt": {"id": "pmpt_1"}}),
        (Responses(), {"input": "Hi", "messages": 1}),
        (Messages(), {"messages": [], "input": 1}),
        (Completions(), {"prompt": ["a", "b"]}),
        (Completions(), {"prompt": [1, 2], "messages": 1, "input": 1}),
    ],
)
def test_what_a_request_is_read_as_is_a_conversation(
    dialect: Dialect, body: dict[str, object]
) -> None:
    assert not read_request(dialect.conversation(body)).offered


@pytest.mark.parametrize("choice", [{"index": 0}, {"index": 0, "text": None}])
def test_a_warning_of_a_completion_without_text_stands_alone(choice: dict[str, object]) -> None:
    warned = Completions().with_warnings({"choices": [choice]}, ["Beware."])
    assert warned["choices"] == [{"index": 0, "text": "Beware.\n\n"}]
