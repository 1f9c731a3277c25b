"""A client of the demo: asks over HTTP, and notes what comes back and when."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 60.0
DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """A request: what is sent, and where to."""

    path: str
    body: Mapping[str, Any]

    @property
    def streams(self) -> bool:
        """Whether the answer is to be streamed."""
        return self.body.get("stream") is True


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """An event of a stream.

    Attributes:
        at_s: When it was read, in seconds since the request.
        data: What it says; ``None`` at the end.
    """

    at_s: float
    data: Mapping[str, Any] | None

    @property
    def text(self) -> str:
        """What a user reads of it."""
        choices = () if self.data is None else self.data.get("choices", ())
        return "".join(choice["delta"].get("content") or "" for choice in choices)

    @property
    def finish(self) -> str | None:
        """Why the answer ends, if it does."""
        choices = () if self.data is None else self.data.get("choices", ())
        return next((c["finish_reason"] for c in choices if c.get("finish_reason")), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReply:
    """What came back.

    Attributes:
        status: Of the response.
        headers: Its headers, names in lower case.
        began_s: When the headers were there, in seconds since the request.
        ended_s: The same of the last byte.
        data: The body as JSON data; ``None`` of a stream.
        arrivals: The events of a stream.
    """

    status: int
    headers: Mapping[str, str]
    began_s: float
    ended_s: float
    data: Any
    arrivals: tuple[Arrival, ...]

    @property
    def text(self) -> str:
        """What a user reads."""
        if self.data is None:
            return "".join(each.text for each in self.arrivals)
        choices = self.data.get("choices") or [{"message": {"content": ""}}]
        return str(choices[0]["message"]["content"])

    @property
    def error(self) -> Mapping[str, Any]:
        """The error in the body; empty if it is none."""
        found = self.data.get("error") if isinstance(self.data, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def finish(self) -> str | None:
        """Why a stream ended, in the words of its last choice."""
        return next((each.finish for each in reversed(self.arrivals) if each.finish), None)

    @property
    def extension(self) -> Mapping[str, Any]:
        """What stands under ``groundwire`` in a stream; empty if nothing does."""
        data = (each.data or {} for each in reversed(self.arrivals))
        return next((each["groundwire"] for each in data if "groundwire" in each), {})


class ArrivalListener:
    """Is told what comes as it comes; this one does nothing about it."""

    def began(self, status: int, headers: Mapping[str, str], at_s: float) -> None:
        """The headers are there, so many seconds after the request."""

    def arrived(self, arrival: Arrival) -> None:
        """An event of a stream is there."""


def ask(url: str, request: DemoRequest, *, key: str, listener: ArrivalListener) -> DemoReply:
    """Send a request, and read what comes as it comes.

    Args:
        url: Of the gateway.
        request: What is sent.
        key: Of the gateway.
        listener: Is told what comes.

    Raises:
        OSError: If the connection breaks off.
        http.client.HTTPException: If what comes is no HTTP.
        ValueError: If what comes is no JSON.
    """
    connection = HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_S)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    start = perf_counter()
    try:
        connection.request("POST", request.path, json.dumps(request.body).encode(), headers)
        response = connection.getresponse()
        began_s, data, arrivals = perf_counter() - start, None, []
        received = {name.lower(): value for name, value in response.getheaders()}
        listener.began(response.status, received, began_s)
        if response.headers.get_content_type() == "text/event-stream":
            for arrival in _arrivals(response, start):
                arrivals.append(arrival)
                listener.arrived(arrival)
        else:
            data = json.loads(response.read())
        return DemoReply(
            status=response.status,
            headers=received,
            began_s=began_s,
            ended_s=perf_counter() - start,
            data=data,
            arrivals=tuple(arrivals),
        )
    finally:
        connection.close()


def fetch_text(url: str) -> str:
    """What is at an open address, such as the metrics.

    Raises:
        OSError: If the connection breaks off.
        http.client.HTTPException: If what comes is no HTTP.
    """
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=TIMEOUT_S)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def _arrivals(response: HTTPResponse, start: float) -> Iterator[Arrival]:
    while line := response.readline():
        kind, _, said = line.decode().rstrip("\r\n").partition(": ")
        if kind == "data":
            data = None if said == DONE else json.loads(said)
            yield Arrival(at_s=perf_counter() - start, data=data)
