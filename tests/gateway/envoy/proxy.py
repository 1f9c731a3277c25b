"""A client of ``ext_proc`` that follows Envoy's rules, with all messages of Envoy's protocol."""

import asyncio
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc

with warnings.catch_warnings():  # its messages are made in a way that pydantic deprecates
    warnings.simplefilter("ignore")
    from envoy_data_plane.envoy.config.core.v3 import HeaderMap, HeaderValue
    from envoy_data_plane.envoy.extensions.filters.http.ext_proc.v3 import (
        ProcessingModeBodySendMode as Mode,
    )
    from envoy_data_plane.envoy.service.ext_proc.v3 import (
        CommonResponse,
        HttpBody,
        HttpHeaders,
        HttpTrailers,
        ImmediateResponse,
        ProcessingRequest,
        ProcessingResponse,
        ProtocolConfiguration,
    )

__all__ = [
    "BUFFERED",
    "DUPLEX",
    "STREAMED",
    "Answer",
    "Envoy",
    "HttpBody",
    "ProcessingRequest",
    "Seen",
]

METHOD = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
BUFFERED, DUPLEX, STREAMED = Mode.BUFFERED, Mode.FULL_DUPLEX_STREAMED, Mode.STREAMED


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the model behind Envoy answers.

    Attributes:
        pieces: Of the body.
        gate: The last piece is not sent before this is set; ``None``: all are sent at once.
        has_trailers: Whether trailers end the body.
    """

    pieces: Sequence[bytes]
    status: int = 200
    content_type: str = "application/json"
    gate: asyncio.Event | None = None
    has_trailers: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Seen:
    """What the client and the model have got.

    Attributes:
        asked: The headers and the body that the model has got; ``None``: it was not asked.
        status: Of the response to the client; 0: it has not begun.
        body: Of the response to the client, as far as it has come.
        is_complete: Whether the response has ended.
        failure: How the call ended if that was an error.
    """

    asked: tuple[dict[str, str], bytes] | None = None
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_complete: bool = False
    failure: grpc.StatusCode | None = None

    @property
    def json(self) -> Any:  # noqa: ANN401
        """The body of the response."""
        return json.loads(self.body)


class Envoy:
    """Carries one request and its response, and asks the external processor about both."""

    def __init__(self, port: int, *, mode: Mode, key: str | None) -> None:
        """Prepare an exchange.

        Args:
            port: Of the external processor.
            mode: The ``response_body_mode``.
            key: The ``initial_metadata`` of the filter has this key; ``None``: it has none.
        """
        self._port, self._mode = port, mode
        self._metadata = () if key is None else (("x-groundwire-key", key),)
        self.seen = Seen()

    async def carry(
        self, body: bytes, answer: Answer, *, path: str = "/v1/chat/completions", **headers: str
    ) -> Seen:
        """Carry a request to the model, and its answer to the client."""
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self._port}") as channel:
            self._call = channel.stream_stream(
                METHOD,
                request_serializer=bytes,
                response_deserializer=ProcessingResponse.parse,
            )(metadata=self._metadata)
            try:
                await self._carry(body, answer, path, {**headers, "accept-encoding": "gzip"})
                await self._call.done_writing()
                assert await self._call.read() is grpc.aio.EOF
                if self.seen.status == 0 and self.seen.failure is None:
                    self._pass_all(body, answer)  # a regular end lets everything pass
            except grpc.aio.AioRpcError as error:
                self.seen.failure = error.code()
        return self.seen

    def _pass_all(self, body: bytes, answer: Answer) -> None:
        self.seen = Seen(({}, body), answer.status, _own(answer), b"".join(answer.pieces), True)

    async def send(self, *messages: ProcessingRequest) -> grpc.StatusCode:
        """Send messages in any order, and return how the call ends."""
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self._port}") as channel:
            call = channel.stream_stream(METHOD, request_serializer=bytes)(metadata=self._metadata)
            try:
                for each in messages:
                    await call.write(each)
                await call.done_writing()
                while await call.read() is not grpc.aio.EOF:
                    pass
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                pass  # the call has ended
            code: grpc.StatusCode = await call.code()
            return code

    async def _carry(
        self, body: bytes, answer: Answer, path: str, headers: Mapping[str, str]
    ) -> None:
        sent = {":method": "POST", ":path": path, ":authority": "models.example", **headers}
        sent |= {"content-type": "application/json", "content-length": str(len(body))}
        reply = await self._ask(self.first(sent))
        if reply is None:
            return
        assert reply.request_headers is not None
        sent = _changed(sent, reply.request_headers.response)
        whole = HttpBody(body=body, end_of_stream=True)
        reply = await self._ask(ProcessingRequest(request_body=whole))
        if reply is None:
            return
        assert reply.request_body is not None
        common = reply.request_body.response
        sent = _changed(sent, common)
        if common is not None and common.body_mutation is not None:
            assert common.body_mutation.body is not None
            body = common.body_mutation.body
        assert sent.get("content-length") in (None, str(len(body))), "Envoy refuses the change"
        self.seen.asked = (sent, body)
        await (self._buffered if self._mode == BUFFERED else self._duplex)(answer)

    def first(self, headers: Mapping[str, str]) -> ProcessingRequest:
        """The first message: headers, if there are any, and the modes of the filter."""
        modes = ProtocolConfiguration(request_body_mode=BUFFERED, response_body_mode=self._mode)
        found = HttpHeaders(headers=_headers(headers)) if headers else None
        return ProcessingRequest(request_headers=found, protocol_config=modes)

    async def _buffered(self, answer: Answer) -> None:
        body = b"".join(answer.pieces)
        headers = {"content-length": str(len(body)), **_own(answer)}
        reply = await self._ask(ProcessingRequest(response_headers=_response(answer, headers)))
        if reply is None:
            return
        assert reply.response_headers is not None
        headers = _changed(headers, reply.response_headers.response)
        whole = HttpBody(body=body, end_of_stream=not answer.has_trailers)
        reply = await self._ask(ProcessingRequest(response_body=whole))
        if reply is None:
            return
        assert reply.response_body is not None
        common = reply.response_body.response
        headers = _changed(headers, common)
        if common is not None and common.body_mutation is not None:
            assert common.body_mutation.body is not None
            body = common.body_mutation.body
        assert headers.get("content-length") in (None, str(len(body))), "Envoy refuses the change"
        self.seen.status, self.seen.headers, self.seen.body = answer.status, headers, body
        self.seen.is_complete = True

    async def _duplex(self, answer: Answer) -> None:
        """Send the body as it comes, and pass on what comes back, at the same time."""
        sending = asyncio.create_task(self._send(answer))
        try:
            while not self.seen.is_complete:
                reply = await self._read()
                if reply is None:
                    return
                self._take(reply, answer)
        finally:
            if answer.gate is not None and not answer.gate.is_set():
                sending.cancel()
            await asyncio.wait({sending})  # gRPC ends a call whose write is cancelled

    async def _send(self, answer: Answer) -> None:
        headers = _response(answer, _own(answer))
        await self._call.write(ProcessingRequest(response_headers=headers))
        for n, piece in enumerate(answer.pieces, 1):
            is_last = n == len(answer.pieces)
            if is_last and answer.gate is not None:
                await answer.gate.wait()
            ends = is_last and not answer.has_trailers
            body = HttpBody(body=piece, end_of_stream=ends)
            await self._call.write(ProcessingRequest(response_body=body))
        if answer.has_trailers:
            await self._call.write(ProcessingRequest(response_trailers=HttpTrailers()))

    def _take(self, reply: ProcessingResponse, answer: Answer) -> None:
        if reply.response_headers is not None:
            assert self.seen.status == 0, "a spurious message"
            self.seen.status = answer.status
            self.seen.headers = _changed(_own(answer), reply.response_headers.response)
        elif reply.response_body is not None:
            assert self.seen.status, "a spurious message"
            common = reply.response_body.response
            assert common is not None
            assert common.body_mutation is not None
            streamed = common.body_mutation.streamed_response
            assert streamed is not None
            self.seen.body += streamed.body
            assert not (streamed.end_of_stream and answer.has_trailers)
            self.seen.is_complete = streamed.end_of_stream
        else:
            assert reply.response_trailers is not None
            assert answer.has_trailers
            self.seen.is_complete = True

    async def _ask(self, message: ProcessingRequest) -> ProcessingResponse | None:
        await self._call.write(message)
        return await self._read()

    async def _read(self) -> ProcessingResponse | None:
        """The next message; ``None`` if it ends the exchange."""
        reply = await self._call.read()
        if reply is grpc.aio.EOF:
            code = await self._call.code()
            self.seen.failure = None if code is grpc.StatusCode.OK else code
            return None
        assert isinstance(reply, ProcessingResponse)
        if reply.immediate_response is None:
            return reply
        self._stop(reply.immediate_response)
        return None

    def _stop(self, reply: ImmediateResponse) -> None:
        assert reply.status is not None
        assert self.seen.status == 0, "Envoy would reset the response that has begun"
        self.seen.status, self.seen.body = int(reply.status.code), reply.body
        common = CommonResponse(header_mutation=reply.headers)
        self.seen.headers = _changed({"content-type": "text/plain"}, common)
        self.seen.is_complete = True


def _own(answer: Answer) -> dict[str, str]:
    return {"content-type": answer.content_type, **answer.headers}


def _response(answer: Answer, headers: Mapping[str, str]) -> HttpHeaders:
    return HttpHeaders(headers=_headers({":status": str(answer.status), **headers}))


def _headers(pairs: Mapping[str, str]) -> HeaderMap:
    """Headers as Envoy sends them: with the value as bytes."""
    return HeaderMap(
        headers=[HeaderValue(key=key, raw_value=value.encode()) for key, value in pairs.items()]
    )


def _changed(headers: Mapping[str, str], common: CommonResponse | None) -> dict[str, str]:
    """Headers with the changes of an answer, which must overwrite."""
    mutation = None if common is None else common.header_mutation
    if mutation is None:
        return dict(headers)
    kept = {key: value for key, value in headers.items() if key not in mutation.remove_headers}
    for each in mutation.set_headers:
        assert each.append_action.name == "OVERWRITE_IF_EXISTS_OR_ADD"
        assert each.header is not None
        kept[each.header.key] = each.header.raw_value.decode()
    return kept
