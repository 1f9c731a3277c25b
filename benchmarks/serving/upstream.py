"""A scripted upstream: a fast HTTP server that answers as a request tells it to.

A chat request may carry ``"script": {"id": ..., "deltas": [...], "per_s": 50}``: what is answered,
and at which pace. Without one, the answer is short and comes at once. ``GET /v1/sent/ID`` tells
when each delta of a script was sent, on the clock that all processes of a machine share, and
``GET /v1/counts`` how many streams began, ended, and were left by their client.

Run it: ``python benchmarks/serving/upstream.py PORT``
"""

import asyncio
import json
import re
import sys
from collections import deque
from functools import partial
from time import perf_counter
from typing import Any, cast

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_SENTENCE = "The tower is 330 metres tall and was built in 1889 ."
#: What is answered without a script: 48 tokens.
DELTAS = [f"{word} " for word in _SENTENCE.split()] * 4
_BURST: dict[str, Any] = {"id": None, "deltas": DELTAS, "per_s": 0}
_KEPT = 2000
_BASE: dict[str, Any] = {"id": "chatcmpl-1", "created": 1, "model": "scripted-1"}


def completion(text: str) -> bytes:
    """A response that is not streamed."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 48, "total_tokens": 57}
    body = {**_BASE, "object": "chat.completion", "choices": [choice], "usage": usage}
    return _whole(json.dumps(body).encode())


def events(deltas: list[str]) -> list[bytes]:
    """The events of a streamed response; the last one has its end with it."""
    made = []
    for n, delta in enumerate(deltas):
        said = {"content": delta} if n else {"role": "assistant", "content": delta}
        made.append(_event({"index": 0, "delta": said, "finish_reason": None}))
    made[-1] += _event({"index": 0, "delta": {}, "finish_reason": "stop"})
    made[-1] += _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"
    return made


def _event(choice: dict[str, Any]) -> bytes:
    data = {**_BASE, "object": "chat.completion.chunk", "choices": [choice]}
    return _chunk(b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _whole(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(body) + body


_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)
_SHORT, _SHORT_EVENTS = completion("".join(DELTAS)), events(DELTAS)


class Counts:
    """What all connections have seen."""

    def __init__(self) -> None:
        self.begun = self.ended = self.left = 0
        self.sent: dict[str, list[float]] = {}
        self._order: deque[str] = deque()

    def keep(self, name: str) -> list[float]:
        """Where the times of a script are noted; the oldest are forgotten."""
        self._order.append(name)
        if len(self._order) > _KEPT:
            self.sent.pop(self._order.popleft(), None)
        return self.sent.setdefault(name, [])

    def to_dict(self) -> dict[str, int]:
        """The counters."""
        return {"begun": self.begun, "ended": self.ended, "left": self.left}


class Connection(asyncio.Protocol):
    """One connection: requests one after the other."""

    def __init__(self, counts: Counts) -> None:
        self._counts, self._buffer = counts, bytearray()
        self._streaming: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Someone connects."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Someone leaves; what is not sent is not sent."""
        del exc
        if self._streaming is not None:
            self._streaming.cancel()
            self._counts.left += 1

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end])
            length = _LENGTH.search(head)
            total = end + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < total:
                return
            body = bytes(self._buffer[end + 4 : total])
            del self._buffer[:total]
            self._answer(head.split(b" ", 2)[1].decode(), body)

    def _answer(self, path: str, body: bytes) -> None:
        if "/sent/" in path:
            name = path.rpartition("/")[2]
            self._transport.write(_whole(json.dumps(self._counts.sent.get(name, [])).encode()))
        elif path.endswith("/counts"):
            self._transport.write(_whole(json.dumps(self._counts.to_dict()).encode()))
        elif not body:
            self._transport.write(_whole(b'{"object":"list","data":[]}'))
        else:
            self._chat(json.loads(body))

    def _chat(self, request: dict[str, Any]) -> None:
        script = request.get("script")
        if not request.get("stream"):
            self._transport.write(completion("".join(script["deltas"])) if script else _SHORT)
            return
        self._transport.write(_STREAM_HEAD)
        self._counts.begun += 1
        pieces = events(script["deltas"]) if script else _SHORT_EVENTS
        script = script or _BURST
        if not script["per_s"]:
            for piece in pieces:
                self._transport.write(piece)
            self._counts.ended += 1
            return
        self._pace(pieces, float(script["per_s"]), self._counts.keep(str(script["id"])))

    def _pace(self, pieces: list[bytes], per_s: float, sent: list[float]) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()

        def send(n: int) -> None:
            sent.append(perf_counter())
            self._transport.write(pieces[n])
            if n + 1 < len(pieces):
                at = began + (n + 2) / per_s
                self._streaming = loop.call_at(at, partial(send, n + 1))
            else:
                self._streaming = None
                self._counts.ended += 1

        self._streaming = loop.call_at(began + 1 / per_s, partial(send, 0))


async def serve(port: int) -> None:
    """Serve until the process is ended."""
    counts = Counts()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(counts), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:  # slower, and the same
        asyncio.run(serve(int(sys.argv[1])))
    else:
        uvloop.run(serve(int(sys.argv[1])))
