"""A response of an upstream, whose body can be read while it is received."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import aiohttp

from groundwire.gateway.http.problems import Problem
from groundwire.gateway.upstream.errors import Breakage, UpstreamBrokenError
from groundwire.gateway.upstream.headers import coming_back

#: Seconds between two examinations of the connection for an error, while no bytes arrive.
_LOOK_S = 1.0


class UpstreamReply:
    """A response of an upstream. Read its body to the end, or call :meth:`close`.

    Attributes:
        status: Status of the response, 200 to 599.
        headers: The headers that the caller may see, with names in lower case.
        upstream: Name of the upstream.
    """

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        *,
        upstream: str,
        idle_timeout_s: float,
        broke: Callable[[Breakage], None],
    ) -> None:
        """Take over a response.

        Args:
            response: A response whose body was not read yet.
            upstream: Name of the upstream.
            idle_timeout_s: Limit on the seconds between two pieces of the body.
            broke: Called with the kind of breakage if the body breaks off.
        """
        self.status = response.status
        self.headers = coming_back(response.raw_headers, status=response.status)
        self.upstream, self._response = upstream, response
        self._idle_timeout_s, self._broke, self._n_bytes = idle_timeout_s, broke, 0
        # The response forgets its connection when the body ends, but _ended needs the protocol
        # object of the connection.
        connection = response.connection
        self._protocol = None if connection is None else connection.protocol

    def header(self, name: str) -> str | None:
        """Return the value of the first header with this name, or ``None``."""
        return next((value for each, value in self.headers if each == name.lower()), None)

    @property
    def content_encoding(self) -> str:
        """The value of Content-Encoding, for :class:`.coding.Decoder`; empty if there is none."""
        return ", ".join(value for name, value in self.headers if name == "content-encoding")

    async def read(self, max_bytes: int) -> bytes:
        """Return the whole body, still in its content coding, and close the reply.

        Raises:
            Problem: 502, if the body has more than ``max_bytes``; the request is aborted then.
            UpstreamBrokenError: If the body breaks off.
        """
        length = self.header("content-length") or ""
        pieces: list[bytes] = []
        try:
            if length.isdecimal() and int(length) > max_bytes:
                raise _too_large(self.upstream, max_bytes)
            while piece := await self._next():
                pieces.append(piece)
                if self._n_bytes > max_bytes:
                    raise _too_large(self.upstream, max_bytes)
        finally:
            await self.close()
        return b"".join(pieces)

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the pieces of the body as they arrive, still in the body's content coding.

        Once the generator has begun, the reply is closed when the generator ends for any reason.

        Raises:
            UpstreamBrokenError: If the body breaks off.
        """
        try:
            while piece := await self._next():
                yield piece
        finally:
            await self.close()

    async def close(self) -> None:
        """Abort the request if its response is not complete. A second call does nothing."""
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            # The transport's close() would wait until the whole request is sent; abort() does not.
            connection.transport.abort()
        self._response.close()

    async def _next(self) -> bytes:
        """Return the next piece of the body; empty at the end of the body."""
        if rest := self._rest():
            self._n_bytes += len(rest)
            return rest
        waited_s = 0.0
        while waited_s < self._idle_timeout_s:
            step_s = min(_LOOK_S, self._idle_timeout_s - waited_s)
            try:
                piece = await self._piece(step_s)
            except TimeoutError:
                waited_s += step_s
                if self._protocol is not None and self._protocol.exception() is not None:
                    # aiohttp stores an error in the framing of a body only in the protocol object.
                    raise self._broken(Breakage.INCOMPLETE) from None
            except (aiohttp.ClientError, OSError) as error:
                raise self._broken(_kind(error)) from error
            else:
                self._n_bytes += len(piece)
                if not piece:
                    self._ended()
                return piece
        raise self._broken(Breakage.TIMEOUT)

    def _rest(self) -> bytes:
        """Return the bytes that had arrived, but were still unread, when the body broke off.

        The result is empty if the body has not broken off, or nothing is left. aiohttp's public
        functions raise the error of the break in place of returning these bytes.
        """
        content = self._response.content
        if content.exception() is None or not content._buffer:
            return b""
        return content._read_nowait(-1)

    async def _piece(self, timeout_s: float) -> bytes:
        content = self._response.content
        piece = content.read_nowait()
        if piece or content.at_eof():
            return piece  # nothing to wait for, so no timer is needed
        async with asyncio.timeout(timeout_s):
            return await content.readany()

    def _ended(self) -> None:
        # A body that has no length and is not chunked ends when its connection closes. aiohttp then
        # reports a reset of the connection as a regular end, but the protocol object has the error.
        error = None if self._protocol is None else self._protocol.exception()
        has_length = self.header("content-length") is not None
        is_chunked = "transfer-encoding" in self._response.headers
        if not has_length and not is_chunked and isinstance(error, OSError):
            raise self._broken(Breakage.RESET) from error

    def _broken(self, kind: Breakage) -> UpstreamBrokenError:
        self._broke(kind)
        return UpstreamBrokenError(self.upstream, kind, self._n_bytes)


def _kind(error: Exception) -> Breakage:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ConnectionResetError):
            return Breakage.RESET
        seen = seen.__cause__
    # For a reset within a chunked body, aiohttp names the error only in its message.
    return Breakage.RESET if "ConnectionResetError" in str(error) else Breakage.INCOMPLETE


def _too_large(upstream: str, max_bytes: int) -> Problem:
    return Problem.named("upstream_too_large", upstream=upstream, max_bytes=max_bytes)
