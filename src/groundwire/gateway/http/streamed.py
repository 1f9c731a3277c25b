"""Responses that are sent while they are produced, and end when the client disconnects.

Starlette's own streaming response does not close the iterator of its body if the client disconnects
at a moment when the iterator waits for nothing. The upstream behind the iterator then goes on
writing. Here the iterator is closed before the response ends.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from time import monotonic
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from groundwire.errors import GroundwireError

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

#: Seconds after which a client that accepts no bytes counts as gone.
STALL_TIMEOUT_S = 120.0


class ClientGoneError(ClientDisconnect):
    """The client left before the end of its response, so no error can be sent to it."""


def encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Return headers as ASGI wants them: names in lower case, one byte for each character."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]


class Streamed(Response):
    """A response whose body comes from an iterator.

    The iterator is asked for the next piece once the server has taken the previous one, so a slow
    client makes the iterator wait, and nothing is buffered. If the client leaves, the iterator is
    cancelled. The iterator is closed before the response ends.

    If the body of the upstream breaks off, the connection to the client is closed without the end
    of the body, so that the client can tell that the body is incomplete.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        *,
        status: int = 200,
        headers: Iterable[tuple[str, str]] = (),
        ended: Callable[[], Awaitable[None]] | None = None,
        stall_timeout_s: float = STALL_TIMEOUT_S,
    ) -> None:
        """Make the response; nothing is sent yet.

        Args:
            chunks: Pieces of the body; empty ones are left out.
            status: Status of the response.
            headers: Headers of the response, one character for each byte; repeated ones are kept.
                Content-Length, if given, must be correct.
            ended: Called once the response has ended, in any case. It has to release what
                ``chunks`` uses: a generator that never started runs no ``finally`` block.
            stall_timeout_s: Seconds after which a client that accepts no bytes counts as gone.
        """
        self.status_code = status
        self.raw_headers = encoded(headers)
        self.background = None
        self._chunks, self._stall_timeout_s = chunks, stall_timeout_s
        self._ended = ended
        # The time at which the server got the piece that it is sending now; ``None`` while it sends
        # nothing.
        self._gave_at: float | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        sending = asyncio.create_task(self._send(send), name="send a stream")
        watching = asyncio.create_task(_disconnected(receive), name="watch for a client to leave")
        try:
            await self._until_over(sending, watching)
        finally:
            watching.cancel()
            is_complete = sending.done()  # before cancel(): a cancelled task is done, too
            sending.cancel()
            # The cancelled task still has to close the iterator, which may take a moment.
            await asyncio.wait({sending, watching})
            if self._ended is not None:
                await self._ended()
        if is_complete:
            self._end(sending)
        elif not sending.cancelled() and (error := sending.exception()) is not None:
            _log.warning("a stream that nobody reads ended in %s", type(error).__name__)

    async def _until_over(self, *tasks: "asyncio.Task[None]") -> None:
        """Wait until a task has ended, or the client has accepted no bytes for too long."""
        while (left_s := self._left_s()) > 0:
            # One timer serves many pieces, since a timer for each piece would take more time than
            # sending the piece.
            done, _ = await asyncio.wait(tasks, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return
        _log.info("a client took nothing for %g s", self._stall_timeout_s)

    def _left_s(self) -> float:
        """Return the seconds that are left for the client to accept the bytes being sent."""
        waited_s = 0.0 if self._gave_at is None else monotonic() - self._gave_at
        return self._stall_timeout_s - waited_s

    def _end(self, sending: "asyncio.Task[None]") -> None:
        try:
            sending.result()
        except GroundwireError as error:
            # The error is not raised: an error handler would try to send a second response.
            # Messages of these errors never quote the body, so they can be logged.
            _log.warning("%s", error)
        except ClientGoneError as error:
            _log.info("a client left (%s)", type(error.__cause__).__name__)

    async def _send(self, send: Send) -> None:
        async with aclosing(self._chunks) as chunks:
            head = {"status": self.status_code, "headers": self.raw_headers}
            await self._give(send, {"type": "http.response.start", **head})
            async for chunk in chunks:
                if chunk:
                    piece = {"type": "http.response.body", "body": chunk, "more_body": True}
                    await self._give(send, piece)
                    # Sending to a client that is gone does not wait. This pause lets the event loop
                    # run the code that cancels this task.
                    await asyncio.sleep(0)
            await self._give(send, {"type": "http.response.body", "body": b"", "more_body": False})

    async def _give(self, send: Send, message: dict[str, Any]) -> None:
        self._gave_at = monotonic()
        try:
            await send(message)
        except OSError as error:  # servers raise this error if the client has left
            raise ClientGoneError from error
        finally:
            self._gave_at = None


async def until_disconnect(request: Request, work: Awaitable[_Result]) -> _Result:
    """Return the result of work for a client; cancel the work if the client leaves.

    The work is done or cancelled when this function ends. The rest of the request's body is
    discarded.

    Raises:
        ClientGoneError: If the client left, or could not be watched, before the work had ended.
        Exception: Any exception of the work.
    """
    working = asyncio.ensure_future(work)
    watching = asyncio.create_task(
        _disconnected(request.receive), name="watch for a client to leave"
    )
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGoneError
        return working.result()
    finally:
        watching.cancel()
        working.cancel()
        await asyncio.wait({working, watching})


async def _disconnected(receive: Receive) -> None:
    """Wait until the client disconnects or cannot be watched; anything that it sends is ignored."""
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except Exception as error:  # noqa: BLE001 - any error means that the client cannot be watched
        _log.info("a client cannot be watched (%s)", type(error).__name__)
