import asyncio
import gzip
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import pytest

from groundwire.gateway.http.problems import Problem
from groundwire.gateway.upstream import Breakage, UpstreamBrokenError
from tests.gateway.upstream.asking import MAX_BYTES, Observed, ask, asking, until
from tests.gateway.wire import (
    End,
    Framing,
    Gate,
    Pause,
    Script,
    ScriptedUpstream,
    completion,
    split,
    stream_events,
)

pytestmark = [pytest.mark.merge, pytest.mark.asyncio]

EVENTS = stream_events(["Der Eiffelturm ", "ist 330 m", " hoch – ja. 🗼"])
STREAM = Script.sse(EVENTS)


@pytest.fixture
def server() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as upstream:
        yield upstream


async def whole(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in chunks])


@pytest.mark.parametrize("framing", list(Framing))
@pytest.mark.parametrize("drip", [None, 1, 7])
async def test_a_stream_arrives_as_it_was_sent(
    server: ScriptedUpstream, framing: Framing, drip: int | None
) -> None:
    server.script(STREAM.but(framing=framing, drip=drip))
    async with asking(server) as upstreams:
        reply = await ask(upstreams)
        assert reply.header("Content-Type") == "text/event-stream; charset=utf-8"
        assert await whole(reply.chunks()) == b"".join(EVENTS)


async def test_pieces_come_while_the_upstream_still_writes(server: ScriptedUpstream) -> None:
    gate = Gate()
    server.script(STREAM.but(body=(EVENTS[0], gate, *EVENTS[1:])))
    async with asking(server) as upstreams:
        chunks = (await ask(upstreams)).chunks()
        assert await anext(chunks) == EVENTS[0]
        gate.open()
        assert await whole(chunks) == b"".join(EVENTS[1:])


async def test_a_compressed_body_stays_compressed(server: ScriptedUpstream) -> None:
    server.script(Script.json(completion("Paris."), encoding="gzip"))
    async with asking(server) as upstreams:
        reply = await ask(upstreams)
        body = await reply.read(MAX_BYTES)
    assert reply.header("content-encoding") == "gzip"
    assert reply.header("content-length") == str(len(body))
    assert b"Paris" not in body


async def test_a_coding_that_nobody_knows_is_relayed_too(server: ScriptedUpstream) -> None:
    server.script(Script(headers=(("Content-Encoding", "zstd"),), body=(b"\x28\xb5\x2f\xfd",)))
    async with asking(server) as upstreams:
        assert await (await ask(upstreams)).read(MAX_BYTES) == b"\x28\xb5\x2f\xfd"


async def test_a_huge_chunk_arrives(server: ScriptedUpstream) -> None:
    huge = b"x" * 5_000_000
    server.script(STREAM.but(body=(huge,)))
    async with asking(server) as upstreams:
        assert await (await ask(upstreams)).read(MAX_BYTES) == huge


async def test_split_characters_and_events_are_not_touched(server: ScriptedUpstream) -> None:
    server.script(STREAM.but(body=split(b"".join(EVENTS), every=5)))
    async with asking(server) as upstreams:
        assert await whole((await ask(upstreams)).chunks()) == b"".join(EVENTS)


@pytest.mark.parametrize("framing", list(Framing))
async def test_a_reset_is_no_end(server: ScriptedUpstream, framing: Framing) -> None:
    script = STREAM.but(framing=framing, end=End.RESET, claimed_length=100_000)
    server.script(script)
    observed = Observed()
    async with asking(server, observer=observed) as upstreams:
        reply = await ask(upstreams)
        with pytest.raises(UpstreamBrokenError, match="the connection was reset") as caught:
            await whole(reply.chunks())
    assert caught.value.kind is Breakage.RESET
    assert observed.failed == [("a", "reset")]


@pytest.mark.parametrize("framing", [Framing.CHUNKED, Framing.LENGTH])
async def test_a_connection_that_is_closed_too_early_is_no_end(
    server: ScriptedUpstream, framing: Framing
) -> None:
    server.script(STREAM.but(framing=framing, end=End.CLOSE, claimed_length=100_000))
    async with asking(server) as upstreams:
        reply = await ask(upstreams)
        with pytest.raises(UpstreamBrokenError) as caught:
            await reply.read(MAX_BYTES)
    assert caught.value.kind is Breakage.INCOMPLETE
    assert caught.value.n_bytes == len(b"".join(EVENTS))
    assert caught.value.problem().status == 502


async def test_what_came_before_a_break_is_not_lost(server: ScriptedUpstream) -> None:
    server.script(STREAM.but(end=End.CLOSE))
    async with asking(server) as upstreams:
        chunks = (await ask(upstreams)).chunks()
        await until(server.requests[0].was_answered.is_set)
        await asyncio.sleep(0.1)  # it has long broken off when it is read
        assert await anext(chunks) == b"".join(EVENTS)
        with pytest.raises(UpstreamBrokenError):
            await anext(chunks)


async def test_chunks_that_are_none_are_no_end(server: ScriptedUpstream) -> None:
    chunked = (("Transfer-Encoding", "chunked"),)
    body = (b"5\r\nhello\r\n", Pause(0.1), b"zz\r\n", Gate())
    server.script(Script(headers=chunked, framing=Framing.NONE, body=body))
    async with asking(server) as upstreams:
        reply = await ask(upstreams)
        with pytest.raises(UpstreamBrokenError) as caught:
            await whole(reply.chunks())
    assert caught.value.kind is Breakage.INCOMPLETE


async def test_a_body_of_which_nothing_more_comes_ends_in_time(server: ScriptedUpstream) -> None:
    server.script(STREAM.but(end=End.HANG))
    observed = Observed()
    async with asking(server, idle_timeout_s=0.1, observer=observed) as upstreams:
        reply = await ask(upstreams)
        with pytest.raises(UpstreamBrokenError) as caught:
            await whole(reply.chunks())
        await until(server.requests[0].was_abandoned.is_set)
    assert caught.value.kind is Breakage.TIMEOUT
    assert caught.value.problem().status == 504
    assert observed.failed == [("a", "timeout")]


async def test_a_body_may_take_long_if_something_comes(server: ScriptedUpstream) -> None:
    slow = [piece for event in EVENTS for piece in (event, Pause(0.25))]
    server.script(STREAM.but(body=tuple(slow)))
    async with asking(server, idle_timeout_s=1.0, response_timeout_s=1.0) as upstreams:
        assert await whole((await ask(upstreams)).chunks()) == b"".join(EVENTS)


async def test_a_body_over_the_bound_is_refused_and_given_up(server: ScriptedUpstream) -> None:
    server.script(
        Script(body=(b"x" * 1001,)),
        STREAM.but(body=(b"x" * 1001, Gate())),
        Script(body=(b"x" * 1000,)),
    )
    async with asking(server) as upstreams:
        for _ in range(2):
            reply = await ask(upstreams)
            with pytest.raises(Problem) as caught:
                await reply.read(1000)
            assert (caught.value.status, caught.value.code) == (502, "upstream_too_large")
        await until(server.requests[1].was_abandoned.is_set)
        assert len(await (await ask(upstreams)).read(1000)) == 1000


async def test_closing_a_reply_closes_the_connection_at_once(server: ScriptedUpstream) -> None:
    server.script(STREAM.but(end=End.HANG))
    async with asking(server) as upstreams:
        reply = await ask(upstreams)
        await reply.close()
        await reply.close()
        await until(server.requests[0].was_abandoned.is_set)


async def test_leaving_the_chunks_closes_the_connection(server: ScriptedUpstream) -> None:
    server.script(STREAM.but(end=End.HANG))
    async with asking(server) as upstreams:
        reply = await ask(upstreams)
        async with aclosing(reply.chunks()) as chunks:
            await anext(chunks)
        await until(server.requests[0].was_abandoned.is_set)


async def test_cancelling_a_reader_closes_the_connection(server: ScriptedUpstream) -> None:
    server.script(STREAM.but(end=End.HANG))
    async with asking(server) as upstreams:
        reply = await ask(upstreams)
        reading = asyncio.create_task(reply.read(MAX_BYTES))
        await until(lambda: server.requests[0].n_sent > 0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await until(server.requests[0].was_abandoned.is_set)


async def test_a_reader_who_waits_makes_the_upstream_wait(server: ScriptedUpstream) -> None:
    server.script(STREAM.but(body=(b"x" * 1_000_000,) * 100))
    async with asking(server) as upstreams:
        chunks = (await ask(upstreams)).chunks()
        await anext(chunks)
        before = -1
        while before != (before := server.requests[0].n_sent):
            await asyncio.sleep(0.2)
        # What sockets of both sides hold, and little more: far from the 100 million.
        assert before < 20_000_000
        await chunks.aclose()


async def test_a_reply_that_was_read_leaves_its_connection_to_others(
    server: ScriptedUpstream,
) -> None:
    server.otherwise(Script(body=(gzip.compress(b"x"),)))
    async with asking(server) as upstreams:
        for _ in range(3):
            await whole((await ask(upstreams)).chunks())
    assert server.n_connections == 1
