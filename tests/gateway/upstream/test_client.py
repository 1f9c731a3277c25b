import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from groundwire.config import parse
from groundwire.config.upstreams import Upstream
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.upstream import UpstreamReply, Upstreams
from tests.gateway.upstream.asking import MAX_BYTES, Observed, ask, asking, until
from tests.gateway.wire import Gate, Script, ScriptedUpstream, completion

pytestmark = [pytest.mark.merge, pytest.mark.asyncio]

OK = Script.json(completion("Paris."))


@pytest.fixture
def servers() -> Iterator[tuple[ScriptedUpstream, ScriptedUpstream]]:
    with ExitStack() as stack:
        yield stack.enter_context(ScriptedUpstream()), stack.enter_context(ScriptedUpstream())


@pytest.fixture
def server(servers: tuple[ScriptedUpstream, ScriptedUpstream]) -> ScriptedUpstream:
    return servers[0]


@pytest.fixture
def other(servers: tuple[ScriptedUpstream, ScriptedUpstream]) -> ScriptedUpstream:
    return servers[1]


@pytest.fixture
def nobody() -> Iterator[str]:
    """The URL of a port at which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"


async def answered(upstreams: Upstreams, **changes: Any) -> UpstreamReply:  # noqa: ANN401
    """A reply that was read to its end."""
    reply = await ask(upstreams, **changes)
    await reply.read(MAX_BYTES)
    return reply


# What is sent.


async def test_a_request_goes_up_as_it_came(server: ScriptedUpstream) -> None:
    server.script(OK)
    async with asking(server) as upstreams:
        headers = [("x-a", "1"), ("x-a", "2"), ("accept", "text/event-stream")]
        reply = await ask(
            upstreams, path="a%2Fb/c", query="q=%20&r", headers=headers, body=b"\x00{ raw"
        )
        await reply.close()
    request = server.requests[0]
    assert (request.method, request.target) == ("POST", "/v1/a%2Fb/c?q=%20&r")
    assert request.headers == (
        ("Host", f"127.0.0.1:{server.port}"),
        *headers,
        ("Content-Length", "6"),
    )
    assert request.body == b"\x00{ raw"


async def test_the_client_adds_nothing_of_its_own(server: ScriptedUpstream) -> None:
    server.script(OK)
    async with asking(server) as upstreams:
        reply = await ask(upstreams, method="GET", headers=[], body=b"")
        await reply.close()
    assert [name for name, _ in server.requests[0].headers] == ["Host"]


async def test_the_key_of_the_upstream_stands_in_place_of_the_callers(
    server: ScriptedUpstream,
) -> None:
    server.otherwise(OK)
    config = parse(f"upstream: {{url: '{server.url}/', api_key: sk-up}}", name="groundwire.yaml")
    async with Upstreams(config.upstreams, config.upstream) as upstreams:
        for passes in (False, True):
            headers = [("Authorization", "Bearer gw_or_own")]
            await (await ask(upstreams, headers=headers, passes_authorization=passes)).close()
    assert [each.all("authorization") for each in server.requests] == [
        ["Bearer sk-up"],
        ["Bearer gw_or_own"],
    ]
    assert server.requests[0].target == "/v1/chat/completions"


async def test_bytes_beyond_ascii_in_a_header_stay_as_they_are(server: ScriptedUpstream) -> None:
    server.script(OK.but(headers=(("X-Name", "Jos\xc3\xa9"), ("X-Raw", "\xe9"))))
    async with asking(server) as upstreams:
        reply = await ask(upstreams, headers=[("X-Name", "Jos\xc3\xa9")])
        await reply.close()
    assert server.requests[0].header("x-name") == "Jos\xc3\xa9"
    assert (reply.header("x-name"), reply.header("x-raw")) == ("Jos\xc3\xa9", "\xe9")


async def test_no_cookie_is_kept(server: ScriptedUpstream) -> None:
    server.otherwise(OK.but(headers=(("Set-Cookie", "a=1; Path=/"),)))
    async with asking(server) as upstreams:
        for _ in range(2):
            reply = await ask(upstreams)
            await reply.read(MAX_BYTES)
            assert reply.header("set-cookie") == "a=1; Path=/"
    assert server.requests[1].header("cookie") is None


async def test_a_redirect_is_a_response_like_others(server: ScriptedUpstream) -> None:
    server.script(Script(status=307, headers=(("Location", "http://169.254.169.254/"),)))
    async with asking(server) as upstreams:
        reply = await ask(upstreams)
        await reply.read(MAX_BYTES)
    assert (reply.status, reply.header("location")) == (307, "http://169.254.169.254/")
    assert len(server.requests) == 1


async def test_a_proxy_of_the_environment_is_not_used(
    server: ScriptedUpstream, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", nobody)
    server.script(OK)
    async with asking(server) as upstreams:
        assert (await (await ask(upstreams)).read(MAX_BYTES)).startswith(b"{")


async def test_connections_are_kept(server: ScriptedUpstream) -> None:
    server.otherwise(OK)
    async with asking(server) as upstreams:
        for _ in range(3):
            await (await ask(upstreams)).read(MAX_BYTES)
    assert server.n_connections == 1


async def test_a_kept_connection_that_was_closed_costs_nobody_an_error(
    server: ScriptedUpstream,
) -> None:
    # The upstream says nothing of closing, and closes once the next request is on its way.
    server.script(OK, Script(raw=b""), OK)
    async with asking(server) as upstreams:
        for _ in range(2):
            assert (await (await ask(upstreams)).read(MAX_BYTES)).startswith(b"{")
        assert upstreams.states() == {"a": "up"}


# Who answers.


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_another_upstream_is_asked_where_one_has_trouble(
    server: ScriptedUpstream, other: ScriptedUpstream, status: int
) -> None:
    server.script(Script.error(status))
    other.script(OK)
    observed = Observed()
    async with asking(server, other, observer=observed) as upstreams:
        reply = await ask(upstreams)
        assert (reply.status, reply.upstream) == (200, "b")
        await reply.read(MAX_BYTES)
    assert server.requests[0].body == other.requests[0].body
    assert observed.answered == ["a", "b"]
    assert observed.failed == ([] if status == 429 else [("a", "status")])


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 409, 413, 422, 501])
async def test_other_statuses_are_relayed_at_once(
    server: ScriptedUpstream, other: ScriptedUpstream, status: int
) -> None:
    server.script(Script.error(status))
    async with asking(server, other) as upstreams:
        reply = await ask(upstreams)
        await reply.read(MAX_BYTES)
    assert reply.status == status
    assert other.requests == ()


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_of_a_single_upstream_every_status_is_relayed(
    server: ScriptedUpstream, status: int
) -> None:
    server.otherwise(Script.error(status, "as it is"))
    async with asking(server) as upstreams:
        for _ in range(5):  # also when it counts as down
            reply = await ask(upstreams)
            assert reply.status == status
            assert b"as it is" in await reply.read(MAX_BYTES)
    assert len(server.requests) == 5


async def test_of_two_that_have_trouble_the_last_response_is_the_one(
    server: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    server.script(Script.error(503))
    other.script(Script.error(429, "later"))
    async with asking(server, other) as upstreams:
        reply = await ask(upstreams)
        assert reply.status == 429
        assert b"later" in await reply.read(MAX_BYTES)


async def test_a_response_is_better_than_none(server: ScriptedUpstream, nobody: str) -> None:
    server.script(Script.error(503, "busy"))
    async with asking(server, nobody) as upstreams:
        reply = await ask(upstreams)
        assert reply.status == 503
        assert b"busy" in await reply.read(MAX_BYTES)


async def test_another_upstream_is_asked_where_one_cannot_be_reached(
    server: ScriptedUpstream, nobody: str
) -> None:
    server.script(OK)
    observed = Observed()
    async with asking(nobody, server, observer=observed) as upstreams:
        reply = await ask(upstreams)
        await reply.read(MAX_BYTES)
    assert reply.upstream == "b"
    assert observed.failed == [("a", "connect")]


async def test_where_nobody_can_be_reached_that_is_said(nobody: str) -> None:
    async with asking(nobody, nobody) as upstreams:
        with pytest.raises(Problem) as caught:
            await ask(upstreams)
    assert (caught.value.status, caught.value.code) == (502, "upstream_unreachable")
    assert "'b'" in caught.value.message
    assert nobody not in caught.value.message


@pytest.mark.parametrize("raw", [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 2x0 OK\r\n\r\n", b""])
async def test_what_is_no_response_is_not_relayed(
    server: ScriptedUpstream, other: ScriptedUpstream, raw: bytes
) -> None:
    server.otherwise(Script(raw=raw))
    other.script(OK)
    async with asking(server, other) as upstreams:
        assert (await answered(upstreams)).upstream == "b"
    async with asking(server) as upstreams:
        with pytest.raises(Problem) as caught:
            await ask(upstreams)
    assert caught.value.status == 502


@pytest.mark.parametrize("status", [600, 999])
async def test_a_status_that_cannot_be_relayed_is_a_problem(
    server: ScriptedUpstream, status: int
) -> None:
    server.script(Script(status=status))
    async with asking(server) as upstreams:
        with pytest.raises(Problem) as caught:
            await ask(upstreams)
    assert (caught.value.status, caught.value.code) == (502, "upstream_invalid")


async def test_an_upstream_that_says_nothing_is_late_and_nobody_else_is_asked(
    server: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    server.script(Script(hangs_at_once=True))
    observed = Observed()
    async with asking(server, other, response_timeout_s=0.1, observer=observed) as upstreams:
        with pytest.raises(Problem) as caught:
            await ask(upstreams)
        await until(server.requests[0].was_abandoned.is_set)
    assert (caught.value.status, caught.value.code) == (504, "upstream_timeout")
    assert caught.value.headers == {"x-should-retry": "false"}
    assert other.requests == ()
    assert observed.failed == [("a", "timeout")]


async def test_without_upstreams_there_is_none() -> None:
    async with asking() as upstreams:
        with pytest.raises(Problem, match="no_upstream"):
            await ask(upstreams)


async def test_a_model_that_nobody_serves_is_not_found(server: ScriptedUpstream) -> None:
    upstream = Upstream(name="a", url=server.url, models=("gpt-*",))
    async with Upstreams([upstream], asking()._settings) as upstreams:
        with pytest.raises(Problem) as caught:
            await ask(upstreams, model="llama" + "x" * 1000)
    assert (caught.value.status, caught.value.code) == (404, "model_not_found")
    assert len(caught.value.message) < 200


# Health.


async def test_an_upstream_that_is_down_is_left_alone_and_then_tried_by_one_request(
    server: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    now = [0.0]
    server.script(*[Script.error(500)] * 2, OK)
    other.otherwise(OK)
    async with asking(
        server, other, max_failures=2, cooldown_s=15.0, clock=lambda: now[0]
    ) as upstreams:
        for _ in range(4):
            await (await ask(upstreams)).read(MAX_BYTES)
        assert len(server.requests) == 2
        assert upstreams.states() == {"a": "down", "b": "up"}
        now[0] = 15.0
        first = await ask(upstreams)
        await first.read(MAX_BYTES)
        assert first.upstream == "a"
        assert upstreams.states() == {"a": "up", "b": "up"}


async def test_while_one_request_tries_an_upstream_others_go_elsewhere(
    server: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    now, gate = [0.0], Gate()
    server.script(Script.error(500), OK.but(before=(gate,)))
    other.otherwise(OK)
    async with asking(
        server, other, max_failures=1, cooldown_s=15.0, clock=lambda: now[0]
    ) as upstreams:
        await (await ask(upstreams)).close()
        now[0] = 15.0
        trial = asyncio.create_task(ask(upstreams))
        await until(lambda: len(server.requests) == 2)
        meanwhile = await ask(upstreams)
        assert meanwhile.upstream == "b"
        await meanwhile.close()
        gate.open()
        assert (await trial).upstream == "a"
        await (await trial).close()


async def test_if_all_are_down_they_are_asked_nonetheless(
    server: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    server.script(Script.error(500), OK)
    other.otherwise(Script.error(500))
    async with asking(server, other, max_failures=1) as upstreams:
        assert (await answered(upstreams)).status == 500
        assert upstreams.states() == {"a": "down", "b": "down"}
        assert (await answered(upstreams)).status == 200


async def test_that_an_upstream_went_down_and_came_up_is_logged_without_what_was_sent(
    server: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    server.script(Script.error(500, "secret"), OK)
    async with asking(server, max_failures=1) as upstreams:
        for _ in range(2):
            await (await ask(upstreams, body=b'{"model": "m", "prompt": "secret"}')).close()
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "upstream a is down after 1 failures in a row, the last: status",
        "upstream a is up again",
    ]


# Who leaves.


async def test_cancelling_a_request_that_waits_closes_its_connection(
    server: ScriptedUpstream,
) -> None:
    server.script(Script(hangs_at_once=True))
    async with asking(server) as upstreams:
        asked = asyncio.create_task(ask(upstreams))
        await until(lambda: len(server.requests) == 1)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await until(server.requests[0].was_abandoned.is_set)
        assert upstreams.states() == {"a": "up"}


async def test_a_response_that_is_given_up_for_another_is_closed(
    server: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    server.script(Script.error(503).but(body=(b"{", Gate()), claimed_length=100))
    other.script(OK)
    async with asking(server, other) as upstreams:
        assert (await answered(upstreams)).upstream == "b"
        await until(server.requests[0].was_abandoned.is_set)
