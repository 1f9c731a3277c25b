"""A plain HTTP client for tests: it adds no header that a test did not ask for."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPMessage
from typing import Any
from urllib.parse import urlsplit

PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. Names of headers are in any case."""

    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    def json(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The error of our envelope."""
        found = self.json()["error"]
        assert isinstance(found, dict)
        return found


def fetch(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    body: bytes | Iterator[bytes] | None = None,
    data: object = None,
    host: str | None = None,
) -> Reply:
    """Send one request and read its response, in bounded time.

    Args:
        url: With scheme, host and port.
        method: POST if ``data`` is given.
        headers: As they are sent; a repeated one is sent twice.
        body: Bytes, or pieces of a chunked body.
        data: JSON data, in place of a body.
        host: The header Host, if not that of the URL.
    """
    parts = urlsplit(url)
    assert parts.hostname is not None
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    if data is not None:
        method, body = "POST" if method == "GET" else method, json.dumps(data).encode()
        pairs.append(("Content-Type", "application/json"))
    connection = HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)
    try:
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", parts.netloc if host is None else host)
        for name, value in pairs:
            connection.putheader(name, value)
        _send(connection, body)
        response = connection.getresponse()
        return Reply(response.status, response.headers, response.read())
    finally:
        connection.close()


def _send(connection: HTTPConnection, body: bytes | Iterator[bytes] | None) -> None:
    if body is None or isinstance(body, bytes):
        connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        return
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    for piece in body:
        connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    connection.send(b"0\r\n\r\n")
