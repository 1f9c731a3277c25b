"""A queue of events for the client, with many writers and one reader."""

import asyncio
from collections import deque
from collections.abc import Iterable

from groundwire.gateway.http.sse import KEEP_ALIVE

#: While more events than this wait for the client, no more bytes are read from the upstream.
_ROOM = 256


class Outbox:
    """A queue of events for the client.

    Adding events never waits. Events are sent in the order in which they were added.

    Attributes:
        is_sealed: Whether the queue drops new events, except for the last events from :meth:`end`.
        is_drained: Whether the reader has got all events, and the end after them.
    """

    def __init__(self) -> None:
        self._events: deque[bytes] = deque()
        self.is_sealed = self.is_drained = self._is_ended = False
        self._failure: Exception | None = None
        self._has_some, self._has_room = asyncio.Event(), asyncio.Event()
        self._has_room.set()

    def put(self, events: Iterable[bytes]) -> None:
        """Add events; a sealed queue drops them."""
        if not self.is_sealed:
            self._add(events)

    def seal(self) -> None:
        """Drop all further events, except for those of :meth:`end`."""
        self.is_sealed = True
        self._has_room.set()

    def end(self, last: Iterable[bytes] = (), failure: Exception | None = None) -> None:
        """Add the last events and end the queue; only the first call counts.

        If there is a ``failure``, :meth:`get` raises it after all events.
        """
        if not self._is_ended:
            self.seal()
            self._add(last)
            self._is_ended, self._failure = True, failure
            self._has_some.set()

    async def room(self) -> None:
        """Wait until the queue has room, so that a slow client slows the upstream too."""
        await self._has_room.wait()

    async def get(self, keepalive_s: float | None) -> bytes | None:
        """Take all waiting events, joined; return ``None`` once the queue has ended and is empty.

        If no event arrives within ``keepalive_s`` (``None``: no limit), return a comment that keeps
        the connection open.

        Raises:
            Exception: The failure with which the queue has ended.
        """
        while not self._events:
            if self._is_ended:
                self.is_drained = True
                if self._failure is not None:
                    raise self._failure
                return None
            self._has_some.clear()
            try:
                async with asyncio.timeout(keepalive_s):
                    await self._has_some.wait()
            except TimeoutError:
                return KEEP_ALIVE
        events = b"".join(self._events)
        self._events.clear()
        self._has_room.set()
        return events

    def _add(self, events: Iterable[bytes]) -> None:
        self._events += events
        if self._events:
            self._has_some.set()
        if len(self._events) > _ROOM and not self.is_sealed:
            self._has_room.clear()
