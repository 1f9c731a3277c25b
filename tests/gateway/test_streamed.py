import asyncio
import logging
import socket
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from groundwire.gateway.http.streamed import (
    ClientGoneError,
    Streamed,
    until_disconnect,
)
from groundwire.gateway.upstream import Breakage, UpstreamBrokenError
from tests.gateway.client import fetch
from tests.gateway.conftest import Running
from tests.gateway.wire import PATIENCE_S

pytestmark = pytest.mark.merge

Endpoint = Callable[[Request], Any]


def app(endpoint: Endpoint) -> Starlette:
    return Starlette(routes=[Route("/{path:path}", endpoint, methods=["GET", "POST", "HEAD"])])


def connected(url: str, request: bytes = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") -> socket.socket:
    """A connection on which a request was sent."""
    host, port = url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
    connection.sendall(request)
    return connection


def read_until(connection: socket.socket, end: bytes) -> bytes:
    data = b""
    while end not in data:
        piece = connection.recv(65536)
        assert piece, f"closed after {data!r}"
        data += piece
    return data


class Watched:
    """An iterator of pieces that tells when it was closed."""

    def __init__(self, *pieces: bytes, then: Callable[[], Any] | None = None) -> None:
        self.pieces, self.then = pieces, then
        self.n_given = 0
        self.was_closed = threading.Event()

    async def chunks(self) -> AsyncGenerator[bytes]:
        try:
            for piece in self.pieces:
                self.n_given += 1
                yield piece
            if self.then is not None:
                await self.then()
        finally:
            self.was_closed.set()


async def forever() -> None:
    await asyncio.Event().wait()


def test_pieces_are_sent_as_they_come_and_headers_as_they_are(running: Running) -> None:
    watched = Watched(b"a", b"", b"bc")
    headers = [("Set-Cookie", "a=1"), ("set-cookie", "b=2"), ("x-name", "Jos\xc3\xa9")]

    async def endpoint(request: Request) -> Response:
        del request
        return Streamed(watched.chunks(), status=207, headers=headers)

    reply = fetch(running(app(endpoint)))
    assert (reply.status, reply.body) == (207, b"abc")
    assert reply.headers.get_all("set-cookie") == ["a=1", "b=2"]
    assert reply.headers["x-name"] == "Jos\xc3\xa9"
    assert reply.headers["transfer-encoding"] == "chunked"
    assert watched.was_closed.is_set()


def test_with_a_length_the_body_is_not_chunked(running: Running) -> None:
    async def endpoint(request: Request) -> Response:
        del request
        return Streamed(Watched(b"ab", b"c").chunks(), headers=[("content-length", "3")])

    url = running(app(endpoint))
    reply = fetch(url)
    assert (reply.headers["content-length"], reply.body) == ("3", b"abc")
    assert "transfer-encoding" not in reply.headers
    assert fetch(url, method="HEAD").headers["content-length"] == "3"


@pytest.mark.parametrize("then", [forever, None])
def test_a_client_that_leaves_ends_the_iterator(
    running: Running, then: Callable[[], Any] | None
) -> None:
    # Either it waits for more that never comes, or it has so much that sending has to wait.
    watched = Watched(*([b"first"] if then else [b"x" * 1_000_000] * 100), then=then)

    async def endpoint(request: Request) -> Response:
        del request
        return Streamed(watched.chunks())

    with closing(connected(running(app(endpoint)))) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        assert not watched.was_closed.is_set()
    assert watched.was_closed.wait(PATIENCE_S)
    assert watched.n_given < 100


def test_a_client_that_resets_ends_the_iterator(running: Running) -> None:
    watched = Watched(b"first", then=forever)

    async def endpoint(request: Request) -> Response:
        del request
        return Streamed(watched.chunks())

    with closing(connected(running(app(endpoint)))) as connection:
        read_until(connection, b"first")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    assert watched.was_closed.wait(PATIENCE_S)


def test_a_slow_client_makes_the_iterator_wait(running: Running) -> None:
    watched = Watched(*[b"x" * 100_000] * 1000)

    async def endpoint(request: Request) -> Response:
        del request
        return Streamed(watched.chunks())

    with closing(connected(running(app(endpoint)))) as connection:
        read_until(connection, b"200")
        before = -1
        while before != (before := watched.n_given):
            threading.Event().wait(0.2)
        # What the sockets hold, and a piece: far from the thousand.
        assert watched.n_given < 200
        end = b""
        while not end.endswith(b"0\r\n\r\n"):
            end = end[-4:] + connection.recv(1_000_000)
    assert watched.was_closed.wait(PATIENCE_S)
    assert watched.n_given == 1000


def test_a_client_that_takes_nothing_for_too_long_is_gone(running: Running) -> None:
    watched = Watched(*[b"x" * 1_000_000] * 100)

    async def endpoint(request: Request) -> Response:
        del request
        return Streamed(watched.chunks(), stall_timeout_s=0.2)

    with closing(connected(running(app(endpoint)))):
        assert watched.was_closed.wait(PATIENCE_S)
    assert watched.n_given < 100


def test_an_upstream_that_breaks_off_breaks_the_response_off(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> None:
        raise UpstreamBrokenError("a", Breakage.RESET, 5)

    async def endpoint(request: Request) -> Response:
        del request
        return Streamed(Watched(b"first", then=broken).chunks())

    with (
        caplog.at_level(logging.WARNING, "groundwire"),
        closing(connected(running(app(endpoint)))) as connection,
    ):
        data = read_until(connection, b"first\r\n")
        while piece := connection.recv(65536):
            data += piece
    assert data.endswith(b"first\r\n")  # without the last chunk, of no bytes
    assert "broke off after 5 bytes: the connection was reset" in caplog.text


def test_a_client_that_leaves_before_the_response_cancels_what_makes_it(running: Running) -> None:
    is_working, was_cancelled, was_raised = (threading.Event() for _ in range(3))

    async def work() -> str:
        is_working.set()
        try:
            await forever()
        finally:
            was_cancelled.set()
        return "never"

    async def endpoint(request: Request) -> Response:
        await request.body()
        try:
            return PlainTextResponse(await until_disconnect(request, work()))
        except ClientGoneError:
            was_raised.set()
            return Response()

    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    with closing(connected(running(app(endpoint)), request)):
        assert is_working.wait(PATIENCE_S)
    assert was_raised.wait(PATIENCE_S)
    assert was_cancelled.is_set()


def test_what_is_made_for_a_client_that_stays_is_returned_or_raised(running: Running) -> None:
    async def work(path: str) -> str:
        if path == "/bad":
            raise ValueError("no")
        return "done"

    async def endpoint(request: Request) -> Response:
        try:
            return PlainTextResponse(await until_disconnect(request, work(request.url.path)))
        except ValueError as error:
            return PlainTextResponse(str(error), status_code=400)

    url = running(app(endpoint))
    assert fetch(url, method="POST", body=b"unread" * 100_000).body == b"done"
    assert fetch(f"{url}/bad").body == b"no"


async def _never() -> Message:
    await forever()
    raise AssertionError


@pytest.mark.asyncio
async def test_a_server_that_raises_as_it_sends_ends_the_iterator() -> None:
    watched = Watched(b"a", then=forever)

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            raise OSError("gone")

    await Streamed(watched.chunks())({"type": "http"}, _never, send)
    assert watched.was_closed.is_set()


@pytest.mark.asyncio
async def test_what_was_never_begun_is_let_go_of_too() -> None:
    watched, has_ended = Watched(b"a"), asyncio.Event()

    async def send(message: Message) -> None:
        raise OSError("gone before the first byte")

    async def ended() -> None:
        has_ended.set()

    await Streamed(watched.chunks(), ended=ended)({"type": "http"}, _never, send)
    assert has_ended.is_set()
    assert watched.n_given == 0


@pytest.mark.asyncio
async def test_cancelling_the_response_closes_the_iterator_first() -> None:
    watched, sent = Watched(b"a", then=forever), asyncio.Event()

    async def send(message: Message) -> None:
        if message.get("body"):
            sent.set()

    response = asyncio.ensure_future(Streamed(watched.chunks())({"type": "http"}, _never, send))
    await sent.wait()
    response.cancel()
    with pytest.raises(asyncio.CancelledError):
        await response
    assert watched.was_closed.is_set()


@pytest.mark.asyncio
async def test_what_an_iterator_raises_of_its_own_is_raised() -> None:
    async def fail() -> None:
        raise KeyError("bug")

    async def send(message: Message) -> None:
        del message

    with pytest.raises(KeyError, match="bug"):
        await Streamed(Watched(b"a", then=fail).chunks())({"type": "http"}, _never, send)
