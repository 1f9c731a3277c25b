"""A scripted upstream at the wire: what it sends, byte by byte, and what it saw.

It speaks HTTP/1.1 on raw sockets, so that it can do what no framework would: reset a connection
in the middle of an answer, claim a wrong length, send one byte at a time. It runs in a thread with
an event loop of its own, for tests that are asynchronous and those that are not::

    with ScriptedUpstream() as upstream:
        upstream.script(Script.json(completion("Paris.")))
        ...  # send a request to upstream.url
        assert upstream.requests[0].json()["model"] == "m"
"""

import asyncio
import contextlib
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.gateway.completions import DONE, chunk, completion, event, stream_events
from tests.gateway.script import (
    End,
    Framing,
    Gate,
    Headers,
    Pause,
    Piece,
    Script,
    encoded,
)

__all__ = [
    "DONE",
    "PATIENCE_S",
    "End",
    "Framing",
    "Gate",
    "Pause",
    "Piece",
    "Recorded",
    "Script",
    "ScriptedUpstream",
    "chunk",
    "completion",
    "event",
    "eventually",
    "split",
    "stream_events",
]

#: No wait of a test is longer, in seconds: what hangs, fails.
PATIENCE_S = 10.0


@dataclass(slots=True, kw_only=True)
class Recorded:
    """A request that the upstream saw, and what became of it.

    Attributes:
        connection: Number of the connection it came on, from 0.
        headers: In order, names as written.
        body: What was read of it so far, without chunking.
        n_sent: Bytes of the answer's body that were handed to the operating system.
        was_read: Set once the request was read to its end.
        was_answered: Set once the answer was sent to its end, whatever end that is.
        was_abandoned: Set if the client closed before that.
    """

    method: str
    target: str
    headers: Headers
    connection: int
    body: bytes = b""
    n_sent: int = 0
    was_read: threading.Event = field(default_factory=threading.Event)
    was_answered: threading.Event = field(default_factory=threading.Event)
    was_abandoned: threading.Event = field(default_factory=threading.Event)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query, as written."""
        return self.target.partition("?")[2]

    def header(self, name: str) -> str | None:
        """The first header of a name, or ``None``."""
        return next(iter(self.all(name)), None)

    def all(self, name: str) -> list[str]:
        """All headers of a name."""
        return [value for each, value in self.headers if each.lower() == name.lower()]

    def json(self) -> Any:  # noqa: ANN401 - whatever was sent
        """The body as JSON data."""
        return json.loads(self.body)


Chooser = Callable[[Recorded], Script]

_UNSCRIPTED = Script.error(599, "No script is left for this request.")


class ScriptedUpstream:
    """An upstream that does what it is told, one script a request."""

    def __init__(self, *, port: int = 0) -> None:
        self._scripts: deque[Script] = deque()
        self._otherwise: Chooser = lambda _: _UNSCRIPTED
        self._requests: list[Recorded] = []
        self._loop = asyncio.new_event_loop()
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = int(self._socket.getsockname()[1])
        self._n_connections = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="scripted upstream", daemon=True)
        self._is_ready = threading.Event()
        self._stop = asyncio.Event()

    @property
    def url(self) -> str:
        """Its base URL, with ``/v1``."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> tuple[Recorded, ...]:
        """What it saw so far, in order; the last may not be read to its end."""
        return tuple(self._requests)

    @property
    def n_connections(self) -> int:
        """Connections that were opened so far."""
        return self._n_connections

    @property
    def n_open(self) -> int:
        """Connections that are open now."""
        return len(self._tasks)

    def script(self, *scripts: Script) -> None:
        """Answer the next requests so, one after the other."""
        self._scripts.extend(scripts)

    def otherwise(self, script: Script | Chooser) -> None:
        """Answer requests without a script of their own so; a function sees the request."""
        self._otherwise = (lambda _: script) if isinstance(script, Script) else script

    def wait_for(self, n_requests: int) -> tuple[Recorded, ...]:
        """Wait until so many requests were read to their end (or as far as their script says)."""
        eventually(lambda: sum(each.was_read.is_set() for each in self.requests) >= n_requests)
        return self.requests

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._is_ready.wait(PATIENCE_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and listen no more."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(PATIENCE_S)
            assert not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connected, sock=self._socket)
        self._is_ready.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # What a transport closes, it closes in the next turn of the loop.
        await asyncio.sleep(0)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        number, self._n_connections = self._n_connections, self._n_connections + 1
        try:
            while await self._exchange(reader, writer, number):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> bool:
        """One request and its answer; whether the connection goes on."""
        request = await _read_head(reader, number)
        if request is None:
            return False
        # The script is chosen with the head alone where it answers before the body.
        script = self._scripts[0] if self._scripts else None
        self._requests.append(request)
        if script is None or script.reads_body:
            await _read_body(request, reader, writer)
        request.was_read.set()
        script = self._scripts.popleft() if self._scripts else self._otherwise(request)
        answering = asyncio.ensure_future(_answer(script, request, writer))
        watching = asyncio.ensure_future(_watch(reader, reads_more=not script.reads_body))
        try:
            await asyncio.wait({answering, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() and not request.was_answered.is_set():
                request.was_abandoned.set()
                return False
            return answering.done() and answering.result()
        except ConnectionError:
            request.was_abandoned.set()
            return False
        finally:
            for task in (answering, watching):
                task.cancel()
            await asyncio.gather(answering, watching, return_exceptions=True)


async def _read_head(reader: asyncio.StreamReader, number: int) -> Recorded | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = tuple((name, value.strip()) for name, _, value in pairs)
    return Recorded(method=method, target=target, headers=headers, connection=number)


async def _read_body(
    request: Recorded, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    if (request.header("expect") or "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in (request.header("transfer-encoding") or ""):
        while size := int((await reader.readline()).partition(b";")[0], 16):
            request.body += (await reader.readexactly(size + 2))[:-2]
        while (await reader.readline()).strip():
            pass
        return
    missing = int(request.header("content-length") or 0)
    while missing:
        got = await reader.read(min(missing, 65536))
        if not got:
            raise asyncio.IncompleteReadError(b"", missing)
        request.body += got
        missing -= len(got)


async def _watch(reader: asyncio.StreamReader, *, reads_more: bool) -> None:
    """Until the client closes."""
    if not reads_more:
        # A client sends nothing before it has its answer; what is read here is the end.
        while not reader.at_eof() and reader.exception() is None:
            await asyncio.sleep(0.002)
        return
    with contextlib.suppress(ConnectionError):
        while await reader.read(65536):
            pass


async def _answer(script: Script, request: Recorded, writer: asyncio.StreamWriter) -> bool:
    for wait in script.before:
        await _hold(wait)
    if script.hangs_at_once:
        await asyncio.Event().wait()
    if script.raw is not None:
        await _write(script, writer, script.raw)
    else:
        pieces = tuple(encoded(script.body, script.encoding))
        await _write(script, writer, _head(script, pieces))
        if request.method != "HEAD" and script.status not in {204, 304}:
            await _send_body(script, request, writer, pieces)
    return await _end(script, request, writer)


async def _send_body(
    script: Script, request: Recorded, writer: asyncio.StreamWriter, pieces: Iterable[Piece]
) -> None:
    is_chunked = script.framing is Framing.CHUNKED
    for piece in pieces:
        if not isinstance(piece, bytes):
            await _hold(piece)
        elif piece:
            framed = b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece
            # In parts, so that n_sent tells how far a client that does not read lets us come.
            for start in range(0, len(framed), 65536):
                part = framed[start : start + 65536]
                await _write(script, writer, part)
                request.n_sent += len(part)
    if is_chunked and script.end is End.FINISH:
        await _write(script, writer, b"0\r\n\r\n")


async def _write(script: Script, writer: asyncio.StreamWriter, data: bytes) -> None:
    step = script.drip or max(1, len(data))
    for start in range(0, len(data), step):
        writer.write(data[start : start + step])
        await writer.drain()
        if script.drip:
            await asyncio.sleep(0)


async def _end(script: Script, request: Recorded, writer: asyncio.StreamWriter) -> bool:
    if script.end is End.HANG:
        await asyncio.Event().wait()
    request.was_answered.set()
    if script.end is End.RESET:
        # A little later, so that what was sent is read before the reset is.
        await asyncio.sleep(0.02)
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
    elif script.end is End.CLOSE or script.framing is Framing.NONE or script.raw is not None:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    else:
        return True
    return False


async def _hold(wait: Piece) -> None:
    if isinstance(wait, Pause):
        await asyncio.sleep(wait.seconds)
    elif isinstance(wait, Gate):
        while not wait.is_open:
            await asyncio.sleep(0.002)


def _head(script: Script, pieces: Iterable[Piece]) -> bytes:
    length = sum(len(piece) for piece in pieces if isinstance(piece, bytes))
    headers = list(script.headers)
    if script.encoding:
        headers.append(("Content-Encoding", script.encoding))
    if script.framing is Framing.CHUNKED:
        headers.append(("Transfer-Encoding", "chunked"))
    elif script.framing is Framing.LENGTH and script.status not in {204, 304}:
        claimed = length if script.claimed_length is None else script.claimed_length
        headers.append(("Content-Length", str(claimed)))
    lines = [f"HTTP/1.1 {script.status} {script.reason}", *(f"{n}: {v}" for n, v in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def eventually(holds: Callable[[], bool], *, within_s: float = PATIENCE_S) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: If it does not in time.
    """
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {within_s} s"
        time.sleep(0.002)


def split(data: bytes, *, every: int) -> tuple[bytes, ...]:
    """Pieces of so many bytes, through characters and events."""
    return tuple(data[start : start + every] for start in range(0, len(data), every))
