"""A client whose own share of the time is small: one socket, blocking, and a parser of its own."""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

_TIMEOUT_S = 60.0
_READ_BYTES = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response and when it came, in seconds of the clock that processes share.

    Attributes:
        status: Of HTTP.
        headers: Names in lower case.
        body: All of it.
        asked_at: When the request was sent.
        first_at: When the first byte of the body was there.
        last_at: When the last one was.
        arrivals: After each piece: when it came, and how many bytes of the body there were.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    asked_at: float
    first_at: float
    last_at: float
    arrivals: tuple[tuple[float, int], ...]

    @property
    def took_ms(self) -> float:
        """From the request to the last byte."""
        return 1000 * (self.last_at - self.asked_at)

    @property
    def first_ms(self) -> float:
        """From the request to the first byte of the body."""
        return 1000 * (self.first_at - self.asked_at)


class Client:
    """One connection that is kept."""

    def __init__(self, port: int, *, key: str | None = None) -> None:
        """Connect to a port of this machine.

        Args:
            port: Where.
            key: What to send as Authorization.
        """
        self._port, self._key = port, key
        self._socket = self._connect()

    def _connect(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self._port), timeout=_TIMEOUT_S)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def get(self, path: str) -> Response:
        """GET."""
        return self._exchange(self._request("GET", path, b""))

    def post(self, path: str, body: object) -> Response:
        """POST JSON."""
        return self.send(self.prepared(path, body))

    def prepared(self, path: str, body: object) -> bytes:
        """The bytes of a POST, to be sent any number of times."""
        return self._request("POST", path, json.dumps(body).encode())

    def send(self, request: bytes) -> Response:
        """Send such bytes, and have all of the response."""
        return self._exchange(request)

    def start(self, request: bytes) -> socket.socket:
        """Send such bytes, and have the socket, to be left at will."""
        self._socket.sendall(request)
        return self._socket

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nAccept: */*\r\n"
        if self._key is not None:
            head += f"Authorization: Bearer {self._key}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body

    def _exchange(self, request: bytes) -> Response:
        asked_at = perf_counter()
        self._socket.sendall(request)
        raw = b""
        while (end := raw.find(b"\r\n\r\n")) < 0:
            raw += self._receive()
        status, headers = _head(raw[:end])
        body = _Body(headers)
        body.take(raw[end + 4 :], perf_counter())
        while not body.is_complete:
            data = self._receive()
            body.take(data, perf_counter())
        if headers.get("connection", "").lower() == "close":
            self._socket.close()
            self._socket = self._connect()
        return Response(
            status=status,
            headers=headers,
            body=bytes(body.data),
            asked_at=asked_at,
            first_at=body.arrivals[0][0] if body.arrivals else body.last_at,
            last_at=body.last_at,
            arrivals=tuple(body.arrivals),
        )

    def _receive(self) -> bytes:
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionError("the server closed the connection within a response")
        return data


def _head(raw: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = raw.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split(" ", 2)[1]), {name.lower(): value.strip() for name, _, value in pairs}


class _Body:
    """A body as it comes, with a length or in chunks."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._is_chunked = "chunked" in headers.get("transfer-encoding", "")
        self._length = int(headers.get("content-length", 0))
        self._wire = bytearray()
        self.data, self.arrivals = bytearray(), list[tuple[float, int]]()
        self.is_complete = not self._is_chunked and self._length == 0
        self.last_at = 0.0

    def take(self, data: bytes, at: float) -> None:
        if self._is_chunked:
            self._wire += data
            self._unchunk()
        else:
            self.data += data
            self.is_complete = len(self.data) >= self._length
        self.last_at = at
        if self.data and (not self.arrivals or self.arrivals[-1][1] < len(self.data)):
            self.arrivals.append((at, len(self.data)))

    def _unchunk(self) -> None:
        while (end := self._wire.find(b"\r\n")) >= 0:
            size = int(self._wire[:end], 16)
            if len(self._wire) < end + 2 + size + 2:
                return
            self.data += self._wire[end + 2 : end + 2 + size]
            del self._wire[: end + 2 + size + 2]
            if size == 0:
                self.is_complete = True
                return


def events_of(body: bytes) -> list[Any]:
    """The events of a stream, as data; comments are left out."""
    blocks = (block.removeprefix(b"data: ") for block in body.split(b"\n\n") if block)
    return [b if b == b"[DONE]" else json.loads(b) for b in blocks if not b.startswith(b":")]
