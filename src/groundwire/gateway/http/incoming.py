"""The body of a request, which can be forwarded while it is received."""

import asyncio

from starlette.requests import Request
from starlette.types import Receive

from groundwire.gateway.http.problems import too_large
from groundwire.gateway.http.streamed import ClientGoneError, disconnected


class Incoming:
    """The body of a request, piece by piece; it notices when the client disconnects.

    The server sends pieces and the disconnection as messages, and only one task at a time may
    receive them. While the body is read, its reader notices the disconnection; afterwards
    :meth:`gone` does.
    """

    def __init__(self, request: Request) -> None:
        self._receive: Receive = request.receive
        self._is_complete = False
        self._is_gone = False
        self._was_left = asyncio.Event()

    def __aiter__(self) -> "Incoming":
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece of the body; it may be empty.

        Raises:
            ClientGoneError: If the client left before the end of the body.
        """
        if self._is_complete:
            raise StopAsyncIteration
        try:
            message = await self._receive()
        except BaseException:
            self.leave()
            raise
        if message["type"] == "http.disconnect":
            self._is_gone = True
            self.leave()
            raise ClientGoneError
        if not message.get("more_body", False):
            self._is_complete = True
            self.leave()
        return bytes(message.get("body", b""))

    async def read(self, max_bytes: int) -> bytes:
        """Return the whole body.

        Raises:
            Problem: 413, if the body has more than ``max_bytes``.
            ClientGoneError: If the client left before the end of the body.
        """
        pieces, n_bytes = [], 0
        async for piece in self:
            n_bytes += len(piece)
            if n_bytes > max_bytes:
                raise too_large(max_bytes, None)
            pieces.append(piece)
        return b"".join(pieces)

    def leave(self) -> None:
        """Record that nobody reads the body any more, so that :meth:`gone` may receive messages."""
        self._was_left.set()

    async def gone(self) -> None:
        """Wait until nobody reads the body any more, and then until the client is gone."""
        await self._was_left.wait()
        if not self._is_gone:
            await disconnected(self._receive)
            self._is_gone = True
