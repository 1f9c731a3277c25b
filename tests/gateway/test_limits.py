"""What is too much is refused, with its numbers."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette

from groundwire.config import parse
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.limits import parse_json
from groundwire.gateway.server import MAX_HEAD_BYTES, LimitedProtocol
from tests.gateway.client import PATIENCE_S, Reply, fetch
from tests.gateway.conftest import Running
from tests.gateway.keys import KEY
from tests.gateway.shell import shell, state

AUTHORIZED = {"Authorization": f"Bearer {KEY}"}


def app() -> Starlette:
    return shell(
        parse(f"gateway: {{api_key: {KEY}, max_body_bytes: 1000, max_requests: 2}}", name="")
    )


@pytest.fixture
def url(running: Running) -> str:
    return running(app())


def test_a_body_may_have_as_many_bytes_as_the_limit(url: str) -> None:
    reply = fetch(f"{url}/v1/a", method="POST", headers=AUTHORIZED, body=b"x" * 1000)
    assert reply.json()["n_bytes"] == 1000


def test_one_with_more_is_refused_by_its_length(url: str) -> None:
    reply = fetch(f"{url}/v1/a", method="POST", headers=AUTHORIZED, body=b"x" * 1001)
    assert reply.status == 413
    assert reply.error["code"] == "body_too_large"
    assert reply.error["message"] == (
        "The body of a request may have 1,000 bytes, and this one has 1,001."
    )


def test_a_large_one_is_answered_and_not_cut_off(url: str) -> None:
    reply = fetch(f"{url}/v1/a", method="POST", headers=AUTHORIZED, body=b"x" * 5_000_000)
    assert reply.status == 413


def test_one_without_length_is_counted_as_it_comes(url: str) -> None:
    pieces = iter([b"x" * 500, b"x" * 500, b"x"])
    reply = fetch(f"{url}/v1/a", method="POST", headers=AUTHORIZED, body=pieces)
    assert (reply.status, reply.error["code"]) == (413, "body_too_large")
    exact = fetch(f"{url}/v1/a", method="POST", headers=AUTHORIZED, body=iter([b"x" * 500] * 2))
    assert exact.json()["n_bytes"] == 1000


def test_more_requests_at_a_time_are_told_to_come_back(running: Running) -> None:
    slow = app()
    shared = state(slow)
    url = running(slow)
    replies: list[Reply] = []
    threads = [
        threading.Thread(
            target=lambda: replies.append(fetch(f"{url}/v1/slow", headers=AUTHORIZED)), daemon=True
        )
        for _ in range(2)
    ]
    for each in threads:
        each.start()
    deadline = time.monotonic() + PATIENCE_S
    while shared.n_waiting < 2:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    refused = fetch(f"{url}/v1/a", headers=AUTHORIZED)
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert refused.error["code"] == "too_many_requests_at_a_time"
    assert fetch(f"{url}/livez").status == 200
    shared.let_go.set()
    for each in threads:
        each.join(PATIENCE_S)
    assert [reply.status for reply in replies] == [200, 200]
    assert fetch(f"{url}/v1/a", headers=AUTHORIZED).status == 200


# JSON.


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The body is no JSON: expecting value at line 1, column 1."),
        (b"{", "expecting property name"),
        (b'{"a": NaN}', "it has a number that cannot be read"),
        (b'{"a": -Infinity}', "it has a number that cannot be read"),
        (b'{"a": ' + b"9" * 5000 + b"}", "it has a number that cannot be read"),
        (b'"\xff"', "byte 1 is not UTF-8"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(url: str, body: bytes, message: str) -> None:
    reply = fetch(f"{url}/v1/json", method="POST", headers=AUTHORIZED, body=body[:1000])
    if len(body) <= 1000:
        assert reply.status == 400
        assert message in reply.error["message"]
    with pytest.raises(Problem) as caught:
        parse_json(body)
    assert (caught.value.status, caught.value.code) == (400, "invalid_json")
    assert message in caught.value.message


@pytest.mark.parametrize(
    "body", [b"[" * 500_000, b'{"a":' * 500_000, b"[" * 500_000 + b"]" * 500_000]
)
def test_what_is_too_deep_is_refused(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        parse_json(body)
    assert caught.value.status == 400
    assert caught.value.code in ("too_deep", "invalid_json")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(Problem):
        parse_json(body)


# Heads.


def head(url: str, pieces: Iterator[bytes]) -> bytes:
    """The first bytes of the response to a head that goes on and on."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            return connection.recv(1000)
        except ConnectionResetError:
            return b""


def test_headers_without_end_are_cut_off(running: Running) -> None:
    url = running(app(), http=LimitedProtocol)
    assert fetch(f"{url}/livez").status == 200
    start = b"GET /livez HTTP/1.1\r\nhost: a\r\n"
    many = iter([start, *(b"x-a: %d\r\n" % n for n in range(100_000))])
    assert b" 200 " not in head(url, many)[:20]
    long = iter([start, b"x-a: ", *([b"x" * 10_000] * 100)])
    assert b" 200 " not in head(url, long)[:20]
    fits = iter([start, b"x-a: " + b"x" * (MAX_HEAD_BYTES // 2), b"\r\n\r\n"])
    assert head(url, fits).startswith(b"HTTP/1.1 200")


def cut(n_first: int, n_all: int) -> type[LimitedProtocol]:
    """A protocol to which so many bytes come in two reads, or in one if the first has none."""

    class Cut(LimitedProtocol):
        _so_far = b""

        def data_received(self, data: bytes) -> None:
            self._so_far += data
            if len(self._so_far) == n_all:
                for piece in filter(None, (self._so_far[:n_first], self._so_far[n_first:])):
                    if not self.transport.is_closing():
                        super().data_received(piece)

    return Cut


@pytest.mark.parametrize(
    ("n_bytes", "status"),
    [(1_000, 200), (MAX_HEAD_BYTES, 200), (MAX_HEAD_BYTES + 10, 431), (100_000, 431)],
)
@pytest.mark.parametrize(
    ("n_first", "is_one_header"), [(0, True), (0, False), (900, True), (-30, False), (-1, True)]
)
def test_a_head_is_measured_however_its_bytes_arrive(
    running: Running, n_bytes: int, n_first: int, status: int, is_one_header: bool
) -> None:
    body = b"\r\n\r\n" * 10_000  # it could end a head, and is large
    start = f"POST /v1/a HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {KEY}\r\n"
    start += f"content-length: {len(body)}\r\n"
    n_left = n_bytes - len(start) - len("\r\n")
    n_others = 0 if is_one_header else n_left // 100 - 1
    start += ("x-a: " + "a" * 93 + "\r\n") * n_others
    whole = f"{start}x-b: {'b' * (n_left - 100 * n_others - 7)}\r\n\r\n".encode()
    assert len(whole) == n_bytes
    protocol = cut(n_first % n_bytes, n_bytes + len(body))
    url = running(shell(parse(f"gateway: {{api_key: {KEY}}}", name="")), http=protocol)
    answer = head(url, iter([whole, body]))
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert (b"head_too_large" in answer) == (status == 431)


def test_the_next_head_of_a_connection_is_measured_too(running: Running) -> None:
    small = b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n"
    large = small.replace(b"host: a", b"host: a\r\nx-a: " + b"a" * MAX_HEAD_BYTES)
    url = running(app(), http=cut(0, len(small + large)))
    assert b"head_too_large" in head(url, iter([small + large]))


@pytest.mark.parametrize("n_bytes", [1_000, MAX_HEAD_BYTES, 200_000, 2_000_000])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_is_no_head_however_its_bytes_arrive(
    running: Running, n_bytes: int, is_chunked: bool
) -> None:
    url = running(shell(parse(f"gateway: {{api_key: {KEY}}}", name="")), http=LimitedProtocol)
    connection = HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    body = b"a" * n_bytes
    for _ in range(2):  # what comes next is a head again
        connection.request(
            "POST",
            "/v1/a",
            iter([body]) if is_chunked else body,
            AUTHORIZED,
            encode_chunked=is_chunked,
        )
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["n_bytes"]) == (200, n_bytes)
    connection.close()
