"""The audit log: takes events from coroutines, and has a thread that writes them.

Nothing is dropped: when the queue is full, ``write`` waits; what cannot be written is kept, in
order, and tried again until the log is closed.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from groundwire.gateway.audit.chain import Chain
from groundwire.gateway.audit.event import AuditEvent
from groundwire.gateway.audit.queue import Entry, EventQueue
from groundwire.gateway.audit.record import Draft
from groundwire.gateway.audit.sinks import Sink
from groundwire.gateway.audit.writing import Writing

log = logging.getLogger(__name__)

#: Characters of details that may wait. Beyond them a record is kept without its detail, so that a
#: database that is away does not fill the memory.
MAX_DETAIL_CHARS = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStats:
    """Counters since the log was made.

    Attributes:
        written: Events that were written, by type.
        n_failures: Attempts that failed.
        n_lost: Events that were given up: when the log was closed before they could be written, or
            that came after that.
        depth: Events that wait now.
        n_without_detail: Events that are kept without their detail, for too much was waiting.
    """

    written: Mapping[str, int]
    n_failures: int
    n_lost: int
    depth: int
    n_without_detail: int = 0


class AuditLog:
    """Writes events to a sink, in the order they come, as one chain.

    All coroutines that use it run in the event loop that opened it.
    """

    def __init__(
        self,
        sink: Sink | None,
        *,
        key: bytes = b"",
        queue_size: int = 10_000,
        keeps_details: bool = True,
        linger_s: float = 0.0,
        patience_s: float = 5.0,
        backoff_s: tuple[float, float] = (0.1, 5.0),
    ) -> None:
        """Make a log; :meth:`open` starts it.

        Args:
            sink: Where records go; ``None``: nowhere, for a gateway without audit log.
            key: What signs them.
            queue_size: Events that may wait, those that are being written included.
            keeps_details: Whether what was found in full is kept.
            linger_s: How long an event waits for others to be written with, if nobody waits for it.
            patience_s: How long :meth:`settle` waits.
            backoff_s: How long to wait after a failure: at first, and at most; it doubles.
        """
        self._sink, self._keeps_details, self._patience_s = sink, keeps_details, patience_s
        self._queue = EventQueue(linger_s=linger_s, n_places=queue_size)
        self._writing: Writing | None = None
        if sink is not None:
            chain = Chain.new(key)
            tell = self._tell_written
            self._writing = Writing(sink, chain, self._queue, backoff_s=backoff_s, tell=tell)
        # Of the event loop alone.
        self._room = asyncio.Semaphore(queue_size)
        self._late: set[asyncio.Task[None]] = set()
        self._is_open = False
        self._ended = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._n_lost = self._n_without_detail = 0

    @property
    def stats(self) -> AuditStats:
        """The counters."""
        writing = self._writing
        return AuditStats(
            written={} if writing is None else writing.written,
            n_failures=0 if writing is None else writing.n_failures,
            n_lost=self._n_lost,
            depth=len(self._queue) + len(self._late),
            n_without_detail=self._n_without_detail,
        )

    @property
    def is_failing(self) -> bool:
        """Whether records cannot be written now: the last attempt failed, or the queue is full."""
        writing = self._writing
        return writing is not None and (writing.failing_since is not None or self._room.locked())

    async def open(self) -> None:
        """Start to write."""
        self._loop, self._is_open = asyncio.get_running_loop(), True
        if self._writing is None:
            self._ended.set()
            return
        # A daemon: a disk that hangs must not keep the process from ending.
        threading.Thread(target=self._run, name="groundwire-audit", daemon=True).start()

    async def write(self, event: AuditEvent) -> None:
        """Hand over an event; waits if the queue is full, and raises nothing.

        If the caller is cancelled while it waits, the event is written all the same.
        """
        entry = self._entry(event)
        late = None if entry is None else await self._hand_over(entry)
        if late is not None:
            await asyncio.shield(late)

    async def settle(self, events: Sequence[AuditEvent]) -> bool:
        """Hand over events, and wait until they are on disk. It raises nothing.

        Whoever waits at the same time shares one write. Once writing has failed for as long as the
        patience lasts, nobody waits any more until it succeeds.

        Returns:
            Whether they are; if not, they are tried again all the same, until the log is closed.
        """
        found = [self._entry(event) for event in events]
        entries = [entry for entry in found if entry is not None]
        if not entries or self._loop is None:
            return self._writing is None or not events
        entries[-1].settled = settled = self._loop.create_future()
        for entry in entries:
            await self._hand_over(entry)
        try:
            async with asyncio.timeout(self._patience_left_s()):
                return await asyncio.shield(settled) and len(entries) == len(events)
        except TimeoutError:
            return False

    async def close(self, *, timeout_s: float = 30.0) -> int:
        """Write what waits, and end.

        Args:
            timeout_s: When to give up what cannot be written.

        Returns:
            How many events were lost since the log was made.
        """
        if self._is_open:
            self._is_open = False
            try:
                async with asyncio.timeout(timeout_s):
                    while self._late:
                        await asyncio.wait(self._late)
                    self._queue.end()
                    await self._ended.wait()
            except TimeoutError:
                await self._give_up()
        return self._n_lost

    # In the event loop.

    def _entry(self, event: AuditEvent) -> Entry | None:
        """What is to be written; ``None`` if nothing is, or can be."""
        if self._writing is None:
            return None
        if not self._is_open:
            self._lose(1, "the log is not open")
            return None
        if not self._keeps_details and event.detail is not None:
            event = replace(event, detail=None)
        try:
            draft = Draft.of(event)
        except Exception as error:  # noqa: BLE001 - an event must not decide what a client gets
            self._lose(1, type(error).__name__)
            return None
        if draft.detail is not None and self._queue.n_detail_chars > MAX_DETAIL_CHARS:
            self._n_without_detail += 1
            draft = draft.without_detail()
        return Entry(draft)

    async def _hand_over(self, entry: Entry) -> "asyncio.Task[None] | None":
        """Put it into the queue; a task that does so later, if there is no room."""
        if not self._room.locked():
            await self._room.acquire()  # does not suspend: there is room
            self._queue.put(entry)
            return None
        late = asyncio.ensure_future(self._put_late(entry))
        self._late.add(late)
        late.add_done_callback(self._late.discard)
        return late

    async def _put_late(self, entry: Entry) -> None:
        await self._room.acquire()
        assert self._writing is not None
        if self._writing.gives_up.is_set():
            self._lose(1, "the log is closed")
            _settle(entry, is_kept=False)
        else:
            self._queue.put(entry)

    def _patience_left_s(self) -> float:
        assert self._writing is not None
        since = self._writing.failing_since
        if since is None:
            return self._patience_s
        return max(since + self._patience_s - time.monotonic(), 0.0)

    async def _give_up(self) -> None:
        assert self._writing is not None
        self._writing.gives_up.set()
        self._queue.end()
        left = self._queue.clear()
        n_events = sum(not entry.is_own for entry in left)
        if n_events:
            self._lose(n_events, "they could not be written in time")
        for entry in left:
            _settle(entry, is_kept=False)
        for _ in range(len(self._late)):
            self._room.release()
        while self._late:
            await asyncio.wait(self._late)

    def _lose(self, n_events: int, why: str) -> None:
        self._n_lost += n_events
        log.error("%d audit events are lost: %s", n_events, why)

    def _on_written(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            _settle(entry, is_kept=True)
            if not entry.is_own:
                self._room.release()

    # In the thread.

    def _run(self) -> None:
        assert self._writing is not None
        try:
            self._writing.run(lambda: self._n_lost)
        finally:
            self._tell(self._ended.set)

    def _tell_written(self, entries: Sequence[Entry]) -> None:
        self._tell(lambda: self._on_written(entries))

    def _tell(self, callback: Callable[[], None]) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(callback)


def _settle(entry: Entry, *, is_kept: bool) -> None:
    if entry.settled is not None and not entry.settled.done():
        entry.settled.set_result(is_kept)
