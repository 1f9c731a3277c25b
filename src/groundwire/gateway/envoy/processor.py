"""The gRPC service that Envoy asks about each request and its response.

Each exchange becomes a request to the gateway's app, whose upstream is Envoy: the app reads the
request from Envoy, gets the model's response from Envoy, and its own response goes to Envoy. So
keys, policies, marks, refusals, records and streams are the same as without Envoy.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias
from urllib.parse import unquote

import grpc
from starlette.types import ASGIApp, Message

from groundwire.config.tree import Gateway
from groundwire.errors import ConfigError
from groundwire.gateway.dialects import DIALECTS
from groundwire.gateway.envoy.messages import (
    BUFFERED,
    FULL_DUPLEX_STREAMED,
    METHOD,
    OVERWRITE,
    SERVICE,
    ProcessingRequest,
    ProcessingResponse,
)
from groundwire.gateway.middleware.auth import OWN_HEADER
from groundwire.gateway.upstream import UpstreamReply
from groundwire.gateway.upstream.asking import UpstreamRequest
from groundwire.gateway.upstream.headers import coming_back

#: A message of protobuf, or a context of gRPC; neither package has types.
Untyped: TypeAlias = Any
Pairs: TypeAlias = list[tuple[bytes, bytes]]

#: The headers that name the endpoint of a request; without them, all requests would pass unread.
_NAMES = {b":method", b":path"}
_NEEDED = (
    "Groundwire needs all request headers, the processing_mode request_body_mode: BUFFERED, and "
    "response_body_mode: BUFFERED or FULL_DUPLEX_STREAMED, without observability_mode."
)
#: Headers that do not go on to the model: the gateway's key, and the codings of a response, which
#: would be decompressed here.
_KEPT_BACK = {OWN_HEADER.decode(), "accept-encoding"}
#: The most bytes of a message beside its body, of a body in a message of a streamed response, and
#: the most pieces of a response that wait to be read.
_BESIDE_BYTES, _PIECE_BYTES, _MAX_WAITING = 2**20, 2**16, 16


@asynccontextmanager
async def serving(app: ASGIApp, settings: Gateway) -> AsyncIterator[int]:
    """Serve Envoy with an app while the block runs; the value is the port.

    Raises:
        ConfigError: If the port is not available.
    """

    async def process(messages: AsyncIterator[Untyped], context: Untyped) -> None:
        await Exchange(app, context).run(messages)

    largest = max(settings.max_body_bytes, settings.max_response_bytes) + _BESIDE_BYTES
    sizes = ("grpc.max_receive_message_length", "grpc.max_send_message_length")
    server = grpc.aio.server(
        options=[("grpc.so_reuseport", 0), *((each, largest) for each in sizes)]
    )
    handler = grpc.stream_stream_rpc_method_handler(
        process, ProcessingRequest.FromString, ProcessingResponse.SerializeToString
    )
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler})]
    )
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"{host}:{settings.ext_proc_port}"
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        text = f"gateway.ext_proc_port: listening on {address} is not possible."
        raise ConfigError([f"{text} Use another port, or 0 for any free one."]) from error
    await server.start()
    try:
        yield port
    finally:
        await server.stop(settings.shutdown_s)


class EnvoyReply(UpstreamReply):
    """The response of a model behind Envoy, whose body comes in pieces."""

    def __init__(self, headers: Pairs) -> None:
        self.status = int(dict(headers)[b":status"])
        plain = [pair for pair in headers if not pair[0].startswith(b":")]
        self.headers = coming_back(plain, status=self.status)
        self.upstream, self.model = "envoy", None
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(_MAX_WAITING)
        self._n_bytes, self._is_over = 0, False

    async def feed(self, piece: bytes) -> None:
        """Take the next piece of the body, or its end if it is empty. Wait if too many wait."""
        if not self._is_over:
            await self._pieces.put(piece)

    async def close(self) -> None:
        """Drop the rest of the body."""
        self._is_over = True
        while not self._pieces.empty():
            self._pieces.get_nowait()

    async def _next(self) -> bytes:
        piece = b"" if self._is_over else await self._pieces.get()
        self._is_over = not piece
        self._n_bytes += len(piece)
        return piece


class Exchange:
    """A request and its response on their way through Envoy, and through the gateway's app."""

    def __init__(self, app: ASGIApp, context: Untyped) -> None:
        loop = asyncio.get_running_loop()
        self._app, self._context, self._writing = app, context, asyncio.Lock()
        self._requested: asyncio.Future[bytes | None] = loop.create_future()
        self._replied: asyncio.Future[EnvoyReply] = loop.create_future()
        # The messages of which Envoy waits for an answer that the app gives.
        self._turns: asyncio.Queue[str] = asyncio.Queue()
        self._ended, self._gone = asyncio.Event(), asyncio.Event()
        self._is_duplex = self._has_trailers = self._has_body = False
        self._is_read = self._is_relayed = self._is_streamed = self._is_complete = False
        self._start: Message = {}
        self._pieces: list[bytes] = []

    async def run(self, messages: AsyncIterator[Untyped]) -> None:
        """Answer Envoy's messages. An end without an answer lets the rest pass unread."""
        first = await anext(aiter(messages))
        modes = first.protocol_config
        self._is_duplex = modes.response_body_mode == FULL_DUPLEX_STREAMED
        is_known = self._is_duplex or modes.response_body_mode == BUFFERED
        headers = _pairs(first.request_headers)
        if not (
            is_known and modes.request_body_mode == BUFFERED and dict(headers).keys() >= _NAMES
        ):
            await self._context.abort(grpc.StatusCode.FAILED_PRECONDITION, _NEEDED)
        if (scope := self._scope(headers)) is None:
            return
        answering = asyncio.ensure_future(self._app(scope, self._receive, self._send))
        reading = asyncio.create_task(self._read(first, messages))
        try:
            await asyncio.wait({answering, reading}, return_when=asyncio.FIRST_COMPLETED)
            if self._is_complete:
                await asyncio.wait({reading})
        finally:
            self._leave()
            reading.cancel()
            await asyncio.wait({answering, reading})
        is_misread = not reading.cancelled() and reading.exception() is not None
        if is_misread or not self._is_complete:  # with an error, Envoy lets nothing pass
            await self._context.abort(grpc.StatusCode.INTERNAL, "The response is not complete.")

    def _scope(self, headers: Pairs) -> dict[str, Any] | None:
        """Return the request for the app; ``None`` if its response is not checked."""
        pseudo = dict(headers)
        path, _, query = pseudo[b":path"].partition(b"?")
        endpoint = next((each.path for each in DIALECTS if _names(path, each.path)), None)
        if pseudo[b":method"] != b"POST" or endpoint is None:
            return None
        plain = [(b"host", pseudo.get(b":authority", b""))]
        plain += [pair for pair in headers if not pair[0].startswith(b":")]
        for name, value in self._context.invocation_metadata() or ():
            if name.encode() == OWN_HEADER:  # the key that Envoy was given, not that of a client
                plain = [pair for pair in plain if pair[0] != OWN_HEADER]
                plain.append((OWN_HEADER, value.encode()))
        line = {"http_version": "1.1", "method": "POST", "scheme": "http", "query_string": query}
        line |= {"path": f"/v1/{endpoint}", "raw_path": f"/v1/{endpoint}".encode()}
        state = {"ask_upstream": self._ask}
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            **line,
            "headers": plain,
            "state": state,
        }

    # From Envoy.

    async def _read(self, first: Untyped, messages: AsyncIterator[Untyped]) -> None:
        await self._take(first)
        async for message in messages:
            await self._take(message)

    async def _take(self, message: Untyped) -> None:
        field, value = message.ListFields()[0]
        match field.name:
            case "request_headers" if not value.end_of_stream:
                await self._write(request_headers=_part(remove=_KEPT_BACK))
            case "request_headers" | "request_body":
                self._turns.put_nowait(field.name)
                self._requested.set_result(getattr(value, "body", b""))
            case "response_headers":
                reply, self._has_body = EnvoyReply(_pairs(value)), not value.end_of_stream
                if self._is_duplex or not self._has_body:
                    self._turns.put_nowait(field.name)
                else:
                    await self._write(response_headers={})
                self._replied.set_result(reply)
                if not self._has_body:
                    await self._end()
            case "response_body":
                if value.body:
                    await self._replied.result().feed(value.body)
                if not self._is_duplex:
                    self._turns.put_nowait(field.name)
                if value.end_of_stream or not self._is_duplex:
                    await self._end()
            case "response_trailers" if self._is_duplex:
                self._has_trailers = True
                await self._end()
            case name:
                await self._write(**{name: {}})

    async def _end(self) -> None:
        self._ended.set()
        await self._replied.result().feed(b"")

    def _leave(self) -> None:
        """Let the app know that Envoy is gone."""
        self._gone.set()
        self._ended.set()
        self._turns.put_nowait("")
        if not self._requested.done():
            self._requested.set_result(None)

    # From and to the app.

    async def _receive(self) -> Message:
        if not self._is_read:
            self._is_read = True
            if (body := await self._requested) is not None:
                return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _ask(self, asked: UpstreamRequest) -> UpstreamReply:
        """Let Envoy send the request to the model, and return the response."""
        part = {}
        if (body := asked.body) != self._requested.result():
            assert isinstance(body, bytes), "chat requests are read whole"
            length = (b"content-length", str(len(body)).encode())
            part = _part({"body": body}, new=[length], remove={"content-encoding"})
        await self._write(**{await self._turns.get(): part})
        return await self._replied

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            # The app's response is the model's: its refusals have another status, or come before.
            self._is_relayed = (
                self._replied.done() and self._replied.result().status == message["status"]
            )
            self._is_streamed = self._is_duplex and self._has_body and self._is_relayed
            if self._is_streamed:
                await self._write(**{await self._turns.get(): self._changed()})
            return
        body, is_last = message.get("body", b""), not message.get("more_body", False)
        if self._is_streamed:
            await self._stream(body, is_last=is_last)
        else:
            self._pieces.append(body)
            if is_last:
                await self._finish(b"".join(self._pieces))
        self._is_complete |= is_last and not self._gone.is_set()

    async def _stream(self, body: bytes, *, is_last: bool) -> None:
        for start in range(0, len(body), _PIECE_BYTES):
            piece = {"body": body[start : start + _PIECE_BYTES]}
            await self._write(response_body=_part({"streamed_response": piece}))
        if is_last:
            await self._ended.wait()  # Envoy allows no end before that of the model's response
            last = _part({"streamed_response": {"body": b"", "end_of_stream": True}})
            trailers: dict[str, Any] = {"response_trailers": {}}
            await self._write(**trailers if self._has_trailers else {"response_body": last})

    async def _finish(self, body: bytes) -> None:
        awaited = await self._turns.get()
        if self._is_relayed:
            await self._write(**{awaited: self._changed({"body": body})})
            return
        status, headers = {"code": self._start["status"]}, _mutation(self._start["headers"])
        await self._write(immediate_response={"status": status, "headers": headers, "body": body})

    def _changed(self, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the part that makes the model's response that of the app."""
        old = [(n.encode(), v.encode("latin-1")) for n, v in self._replied.result().headers]
        new = [pair for pair in self._start["headers"] if pair not in old]
        names = {name for name, _ in self._start["headers"]}
        return _part(body, new=new, remove={name.decode() for name, _ in old if name not in names})

    async def _write(self, **message: Any) -> None:  # noqa: ANN401 - fields of a message
        """Send a message to Envoy, unless it is gone, which the app learns by :meth:`_receive`."""
        async with self._writing:
            if not (self._gone.is_set() or self._context.cancelled()):
                await self._context.write(ProcessingResponse(**message))


def _names(path: bytes, endpoint: str) -> bool:
    """Return whether a server could take a path for that of an endpoint, after any prefix.

    Case, percent-encoding, doubled slashes, and dots and spaces at the ends of segments make no
    difference.
    """
    words = [each for each in unquote(path.decode("latin-1")).lower().split("/") if each]
    ends = endpoint.split("/")
    return [each.strip(". ") for each in words[-len(ends) :]] == ends


def _pairs(headers: Untyped) -> Pairs:
    found = headers.headers.headers
    return [(each.key.lower().encode(), each.raw_value or each.value.encode()) for each in found]


def _mutation(new: Iterable[tuple[bytes, bytes]], remove: Iterable[str] = ()) -> dict[str, Any]:
    added = [
        {"header": {"key": name.decode(), "raw_value": value}, "append_action": OVERWRITE}
        for name, value in new
    ]
    return {"set_headers": added, "remove_headers": list(remove)}


def _part(
    body: dict[str, Any] | None = None, *, new: Pairs | tuple[()] = (), remove: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the answer to a message with headers or a body, with the changes to make."""
    changed = {"header_mutation": _mutation(new, remove)}
    return {"response": changed if body is None else {**changed, "body_mutation": body}}
