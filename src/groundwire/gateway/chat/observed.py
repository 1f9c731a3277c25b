"""Relays a stream unchanged, and checks its answers at the same time."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from groundwire.errors import GroundwireError
from groundwire.gateway.chat.answer_checks import AnswerChecks
from groundwire.gateway.chat.chunks import UnreadableChunkError
from groundwire.gateway.chat.dialect import Dialect
from groundwire.gateway.chat.reading import TURN, ChunkReader
from groundwire.gateway.chat.recording import StreamReport
from groundwire.gateway.http.coding import CodingError
from groundwire.gateway.http.sse import EventTooLargeError
from groundwire.gateway.upstream import UpstreamReply

log = logging.getLogger(__name__)

#: Errors that mean that a stream cannot be read to its end.
UNREADABLE = (CodingError, EventTooLargeError, UnreadableChunkError)


class ObservedStream:
    """Relays a stream byte for byte, and checks its answers.

    The client gets the upstream's bytes even if the check fails.
    """

    def __init__(
        self,
        reply: UpstreamReply,
        answers: AnswerChecks,
        *,
        dialect: Dialect,
        conclude: Callable[[Coroutine[Any, Any, StreamReport]], object],
    ) -> None:
        """Prepare to relay a stream; nothing is read yet.

        Once the response has ended or the client has left, ``conclude`` is called with a coroutine
        that finishes the check and returns the report.
        """
        self._reply, self._answers, self._conclude = reply, answers, conclude
        self._reader: ChunkReader | None = None
        self._is_upstream_error = self._is_done = False
        try:
            self._reader = ChunkReader(reply.content_encoding, dialect.reader(), path=dialect.path)
        except CodingError as error:
            self._give_up(error)

    async def events(self) -> AsyncGenerator[bytes]:
        """Yield the bytes of the stream as they arrive.

        Raises:
            UpstreamBrokenError: If the upstream breaks off.
        """
        async for data in self._reply.chunks():
            await self._read(data)  # read first: the client may leave once it has the last bytes
            yield data
        await self._read()

    async def close(self) -> None:
        """Start to record the stream, and close the reply; call this once, at the end."""
        self._conclude(self._report())
        await self._reply.close()

    async def _read(self, data: bytes | None = None) -> None:
        """Read the next bytes for the check, or the end of the stream if ``data`` is ``None``."""
        if self._reader is None:
            return
        try:
            events = self._reader.finish() if data is None else self._reader.feed(data)
            for n, read in enumerate(events, 1):
                if n % TURN == 0:
                    await asyncio.sleep(0)
                if read.is_unreadable or (read.chunk is not None and read.chunk.is_unread):
                    self._answers.lose()
                self._is_done |= read.is_end
                self._is_upstream_error |= read.chunk is not None and read.chunk.is_error
                for part in read.chunk.parts if read.chunk else ():
                    self._answers[part.index].take(part)
        except UNREADABLE as error:
            self._give_up(error)

    def _give_up(self, error: GroundwireError) -> None:
        log.warning("A stream cannot be read to its end: %s", type(error).__name__)
        self._reader = None
        self._answers.lose()

    async def _report(self) -> StreamReport:
        if not self._is_done or self._is_upstream_error:
            self._answers.break_off()
        checked = await self._answers.finish()
        self._answers.close()
        return StreamReport(answers=checked, is_upstream_error=self._is_upstream_error)
