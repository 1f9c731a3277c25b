"""The response of a model behind Envoy."""

import asyncio

from groundwire.gateway.envoy.messages import Pairs
from groundwire.gateway.upstream import UpstreamReply
from groundwire.gateway.upstream.headers import coming_back

#: Limit on the pieces of a response's body that wait until the app reads them.
_MAX_WAITING = 16


class EnvoyReply(UpstreamReply):
    """The response of a model behind Envoy, whose body comes in pieces.

    Attributes:
        given: All headers of the response except pseudo-headers such as ``:status``.
    """

    def __init__(self, headers: Pairs) -> None:
        self.status = int(dict(headers)[b":status"])
        self.given = [pair for pair in headers if not pair[0].startswith(b":")]
        self.headers = coming_back(self.given, status=self.status)
        self.upstream = "envoy"
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(_MAX_WAITING)
        self._n_bytes, self._is_over = 0, False

    async def feed(self, piece: bytes) -> None:
        """Queue the next piece of the body, or its end (no bytes); wait while the queue is full.

        Pieces are dropped after :meth:`close`, and once the end has been read.
        """
        if not self._is_over:
            await self._pieces.put(piece)

    async def close(self) -> None:
        """Drop the rest of the body unread, so that :meth:`feed` no longer waits for a reader."""
        self._is_over = True
        while not self._pieces.empty():
            self._pieces.get_nowait()

    async def _next(self) -> bytes:
        piece = b"" if self._is_over else await self._pieces.get()
        self._is_over = not piece
        self._n_bytes += len(piece)
        return piece
