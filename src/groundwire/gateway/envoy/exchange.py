"""One request and its response, on their way through Envoy and through the gateway's app."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeAlias
from urllib.parse import unquote

import grpc
from starlette.types import ASGIApp, Message

from groundwire.gateway.envoy import messages as proto
from groundwire.gateway.envoy.reply import EnvoyReply
from groundwire.gateway.middleware.auth import OWN_HEADER
from groundwire.gateway.paths import AZURE, PREFIX
from groundwire.gateway.upstream import UpstreamReply
from groundwire.gateway.upstream.asking import UpstreamRequest
from groundwire.gateway.upstream.headers import HOP_BY_HOP, going_up

#: A message of protobuf, or a context of gRPC; neither package has types.
Untyped: TypeAlias = Any

#: The headers that say which endpoint a request is for.
_NAMES = {b":method", b":path"}
_NEEDED = (
    "Groundwire needs all request headers, the processing_mode request_body_mode: BUFFERED, and "
    "response_body_mode: BUFFERED or FULL_DUPLEX_STREAMED, without observability_mode."
)
#: Headers that stay as Envoy has them; most are about a connection or a host.
_OF_ENVOY = HOP_BY_HOP | {
    *("alt-svc", "date", "host", "public-key-pins", "strict-transport-security")
}
#: Limit on the bytes of a streamed response's body in one message to Envoy.
_PIECE_BYTES = 2**16


class EnvoyExchange:
    """A request and its response, on their way through Envoy and through the gateway's app.

    The exchange calls the gateway's app once, with Envoy in the place of both client and upstream:
    the app gets the request and the model's response from Envoy, and sends its response to Envoy.
    """

    def __init__(self, app: ASGIApp, context: Untyped) -> None:
        loop = asyncio.get_running_loop()
        self._app, self._context, self._writing = app, context, asyncio.Lock()
        self._requested: asyncio.Future[bytes | None] = loop.create_future()
        self._replied: asyncio.Future[EnvoyReply] = loop.create_future()
        # Names of Envoy's messages that the app still has to answer. An empty name ends the wait
        # for a name when the exchange is over.
        self._turns: asyncio.Queue[str] = asyncio.Queue()
        self._ended, self._gone = asyncio.Event(), asyncio.Event()
        self._is_duplex = self._has_trailers = self._has_body = False
        self._is_read = self._is_relayed = self._is_streamed = self._is_complete = False
        self._start: Message = {}
        self._pieces: list[bytes] = []
        self._given: proto.Pairs = []

    async def run(self, messages: AsyncIterator[Untyped]) -> None:
        """Answer Envoy's messages.

        The call ends in a gRPC error if Envoy's modes or its first headers cannot be used, if a
        message cannot be read, or if the response is not complete at the end.
        """
        first = await anext(aiter(messages))
        modes = first.protocol_config
        self._is_duplex = modes.response_body_mode == proto.FULL_DUPLEX_STREAMED
        headers = proto.pairs_of(first.request_headers)
        is_known = self._is_duplex or modes.response_body_mode == proto.BUFFERED
        is_known &= modes.request_body_mode == proto.BUFFERED
        if not is_known or not dict(headers).keys() >= _NAMES:
            await self._context.abort(grpc.StatusCode.FAILED_PRECONDITION, _NEEDED)
        scope = self._scope(headers)
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
        if is_misread or not self._is_complete:  # by default, Envoy answers with an error then
            await self._context.abort(grpc.StatusCode.INTERNAL, "The response is not complete.")

    def _scope(self, headers: proto.Pairs) -> dict[str, Any]:
        pseudo = dict(headers)
        self._given = [pair for pair in headers if not pair[0].startswith(b":")]
        path, _, query = pseudo[b":path"].partition(b"?")
        if not (path.startswith(PREFIX) or AZURE.match(path)):
            path = b"/v1/"  # not an endpoint: clients of Envoy must not reach probes and metrics
        plain = [(b"host", pseudo.get(b":authority", b"")), *self._given]
        for name, value in self._context.invocation_metadata() or ():
            if name.encode() == OWN_HEADER:  # Envoy's own key takes precedence over a client's
                plain = [pair for pair in plain if pair[0] != OWN_HEADER]
                plain.append((OWN_HEADER, value.encode()))
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": pseudo[b":method"].decode("latin-1"),
            "scheme": "http",
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": query,
            "headers": plain,
            "state": {"ask_upstream": self._ask},
        }

    # Messages from Envoy.

    async def _read(self, first: Untyped, messages: AsyncIterator[Untyped]) -> None:
        await self._take(first)
        async for message in messages:
            await self._take(message)

    async def _take(self, message: Untyped) -> None:
        field, value = message.ListFields()[0]
        match field.name:
            case "request_headers" if not value.end_of_stream:
                await self._write(request_headers={})
            case "request_headers" | "request_body":
                self._turns.put_nowait(field.name)
                self._requested.set_result(getattr(value, "body", b""))
            case "response_headers":
                reply, self._has_body = EnvoyReply(proto.pairs_of(value)), not value.end_of_stream
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
        """Tell the app that its client is gone.

        The app then stops waiting for the model's response; this method ends all other waits.
        """
        self._gone.set()
        self._ended.set()
        self._turns.put_nowait("")
        if not self._requested.done():
            self._requested.set_result(None)

    # Messages from and to the app.

    async def _receive(self) -> Message:
        if not self._is_read:
            self._is_read = True
            if (body := await self._requested) is not None:
                return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _ask(self, asked: UpstreamRequest) -> UpstreamReply:
        """Let Envoy send the request to the model, and return the response."""
        passes, accept = asked.passes_authorization, asked.accept_encoding
        up = going_up(
            asked.headers, api_key=None, passes_authorization=passes, accept_encoding=accept
        )
        new = [(name.encode(), value.encode("latin-1")) for name, value in up]
        keep = _OF_ENVOY | {"content-length"}
        changes, body = proto.header_changes(self._given, new, keep=keep), asked.body
        changed = None
        if body != self._requested.result():
            changed = {"body": body}
            length = {"key": "content-length", "raw_value": str(len(body)).encode()}
            changes["set_headers"].append({"header": length, "append_action": proto.OVERWRITE})
        await self._write(**{await self._turns.get(): proto.part(changes, changed)})
        # Without the shield, cancelling this task would also cancel the future, which other methods
        # use.
        return await asyncio.shield(self._replied)

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            # If the app's status is that of the model's response, the app is sending that response.
            # The app's own refusals have another status, or come before the model's response.
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
            await self._write(response_body=proto.part({}, {"streamed_response": piece}))
        if is_last:
            await self._ended.wait()  # for Envoy, the model's response has to end first
            last = proto.part({}, {"streamed_response": {"body": b"", "end_of_stream": True}})
            trailers: dict[str, Any] = {"response_trailers": {}}
            await self._write(**trailers if self._has_trailers else {"response_body": last})

    async def _finish(self, body: bytes) -> None:
        awaited = await self._turns.get()
        if self._is_relayed:
            await self._write(**{awaited: self._changed({"body": body})})
            return
        if self._replied.done():
            await self._replied.result().close()  # an unread queue would fill up and block Envoy
        status = {"code": self._start["status"]}
        headers = proto.header_changes([], self._start["headers"])
        await self._write(immediate_response={"status": status, "headers": headers, "body": body})

    def _changed(self, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the changes that turn the model's response into the response of the app."""
        given, own = self._replied.result().given, self._start["headers"]
        return proto.part(proto.header_changes(given, own, keep=_OF_ENVOY), body)

    async def _write(self, **message: Any) -> None:  # noqa: ANN401 - fields of a message
        """Send a message to Envoy; do nothing if Envoy is gone."""
        async with self._writing:
            if not (self._gone.is_set() or self._context.cancelled()):
                await self._context.write(proto.ProcessingResponse(**message))
