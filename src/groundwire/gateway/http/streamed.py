"""Responses that are sent while they are produced, and end when the client disconnects.

Starlette's own relies on the server raising as it sends to a client that is gone, or cancels the
task that sends; either way an iterator that waits for nothing at that moment is left to the garbage
collector, and with it the connection to an upstream that goes on writing. Here the iterator is
closed in any case, by the task that ran it, before the response ends.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from time import monotonic
from typing import Any, TypeVar

from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from groundwire.errors import GroundwireError

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

#: A function that waits until the client is gone.
Gone = Callable[[], Awaitable[None]]

#: A client that takes nothing for so long is gone, in seconds.
STALL_TIMEOUT_S = 120.0


class ClientGoneError(ClientDisconnect):
    """The client left before it had its response, so no error can be sent to it."""


def gone_response() -> Response:
    """The response for a client that is gone; its status 499 stands in metrics."""
    return Response(status_code=499)


class Streamed(Response):
    """A response whose body comes from an iterator.

    A piece is asked for when the one before was handed to the server's socket, so a slow client
    makes the iterator wait, and nothing is buffered. When the client leaves, what the iterator
    waits for is cancelled. However it ends, the iterator is closed: its ``finally`` blocks have run
    when the response ends.

    If an upstream's body breaks off, so does this one: the connection is closed without the end of
    the body, so that no client takes what it has for the whole.
    """

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        *,
        status: int = 200,
        headers: Iterable[tuple[str, str]] = (),
        ended: Callable[[], Awaitable[None]] | None = None,
        gone: Gone | None = None,
        stall_timeout_s: float = STALL_TIMEOUT_S,
        background: BackgroundTask | None = None,
    ) -> None:
        """Make the response; nothing is sent yet.

        Args:
            chunks: Pieces of the body; empty ones are left out.
            status: Status of the response.
            headers: One character a byte; repeated ones are kept. Content-Length, if it is there,
                has to be true; without it, the body is chunked.
            ended: Runs once the response has ended, whatever happened. A generator that was never
                begun has no ``finally`` block to run, and so cannot let go of what it was made of.
            gone: Waits until the client is gone, where the request's body is read while the
                response is sent, so that nobody else may ask the server for messages; ``None``:
                the server is asked.
            stall_timeout_s: A client that takes nothing for so long is gone.
            background: Runs after ``ended``, if nothing was raised.
        """
        self.status_code = status
        self.raw_headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
        ]
        self.background = background
        self._chunks = chunks
        self._ended = ended
        self._gone = gone
        self._stall_timeout_s = stall_timeout_s
        self._gave_at: float | None = None  # when the piece that still waits was sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        gone = self._gone or (lambda: disconnected(receive))
        sending = asyncio.create_task(self._send(send), name="send a stream")
        watching = asyncio.create_task(_quietly(gone), name="watch for a client to leave")
        try:
            await self._until_over(sending, watching)
        finally:
            watching.cancel()
            # A task that is cancelled still closes the iterator, which may take a moment.
            is_complete = sending.done()
            sending.cancel()
            await asyncio.wait({sending, watching})
            if self._ended is not None:
                await self._ended()
        if is_complete:
            self._end(sending)
        elif not sending.cancelled() and (error := sending.exception()) is not None:
            _log.warning("a stream that nobody reads ended in %s", type(error).__name__)
        if self.background is not None:
            await self.background()

    async def _until_over(self, *tasks: "asyncio.Task[None]") -> None:
        """Wait until one of the tasks has ended, or the client has taken nothing for too long."""
        while (left_s := self._left_s()) > 0:
            # One timer serves the whole response: one for each piece costs more than sending it.
            done, _ = await asyncio.wait(tasks, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return
        _log.info("a client took nothing for %g s", self._stall_timeout_s)

    def _left_s(self) -> float:
        """Return the seconds that the client has left to accept the pending bytes."""
        waited_s = 0.0 if self._gave_at is None else monotonic() - self._gave_at
        return self._stall_timeout_s - waited_s

    def _end(self, sending: "asyncio.Task[None]") -> None:
        try:
            sending.result()
        except GroundwireError as error:
            # Not raised, because an error handler would try to send a response, and it is too late
            # for one. Errors that end a body never quote it, so they can be logged.
            _log.warning("%s", error)
        except ClientGoneError as error:
            _log.info("a client left (%s)", type(error.__cause__).__name__)

    async def _send(self, send: Send) -> None:
        try:
            await self._give(
                send,
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                },
            )
            async for chunk in self._chunks:
                if chunk:
                    body = {"type": "http.response.body", "body": chunk, "more_body": True}
                    await self._give(send, body)
                    # Sending to a client that is gone never waits, so no other task would run that
                    # could stop this one.
                    await asyncio.sleep(0)
            await self._give(send, {"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            close = getattr(self._chunks, "aclose", None)
            if close is not None:
                await close()

    async def _give(self, send: Send, message: dict[str, Any]) -> None:
        self._gave_at = monotonic()
        try:
            await send(message)
        except OSError as error:  # the error of servers when the client has left
            raise ClientGoneError from error
        finally:
            self._gave_at = None


async def until_disconnect(
    request: Request, coroutine: Coroutine[Any, Any, _Result], *, gone: Gone | None = None
) -> _Result:
    """Run a coroutine while the client is there; if it leaves, the coroutine is cancelled.

    Args:
        request: The request. Any part of its body that was not read yet is discarded.
        coroutine: Has ended when this returns or raises.
        gone: As for :class:`Streamed`: where ``coroutine`` reads the body of the request.

    Raises:
        ClientGoneError: If the client left before the coroutine had ended.
    """
    watch = gone or (lambda: disconnected(request.receive))
    working = asyncio.create_task(coroutine, name="answer a request")
    watching = asyncio.create_task(_quietly(watch), name="watch for a client to leave")
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGoneError
        return working.result()
    finally:
        watching.cancel()
        working.cancel()
        await asyncio.wait({working, watching})


async def disconnected(receive: Receive) -> None:
    """Wait until the client disconnects; whatever else it sends is ignored."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _quietly(gone: Gone) -> None:
    try:
        await gone()
    except Exception as error:  # noqa: BLE001 - of a client that cannot be watched, we know nothing
        _log.info("a client cannot be watched (%s)", type(error).__name__)
