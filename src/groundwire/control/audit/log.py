"""The audit log: takes events from coroutines, and has a thread that writes them.

Nothing is dropped: when the queue is full, whoever brings an event stands in line until it has a
place; what cannot be written is kept, in order, and tried again until the log is closed.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from groundwire.control.audit.chain import Chain
from groundwire.control.audit.event import AuditEvent
from groundwire.control.audit.queue import EventQueue, QueuedEvent
from groundwire.control.audit.record import Draft
from groundwire.control.audit.sinks import Sink
from groundwire.control.audit.writing import Writing

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
        depth: Events that wait now, those in line for a place included.
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
        self._n_free = queue_size
        # What waits for a place: nobody stands here while there is one.
        self._line: deque[QueuedEvent] = deque()
        self._n_line_chars = 0
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
            depth=len(self._queue) + len(self._line),
            n_without_detail=self._n_without_detail,
        )

    @property
    def is_failing(self) -> bool:
        """Whether records cannot be written now: the last attempt failed, or the queue is full."""
        writing = self._writing
        return writing is not None and (writing.failing_since is not None or not self._n_free)

    async def open(self) -> None:
        """Start to write."""
        self._loop, self._is_open = asyncio.get_running_loop(), True
        if self._writing is None:
            self._ended.set()
            return
        # A daemon: a disk that hangs must not keep the process from ending.
        threading.Thread(target=self._run, name="groundwire-audit", daemon=True).start()

    def add(self, *events: AuditEvent) -> None:
        """Hand over events, and wait for nothing: only for those that are few by themselves."""
        self._hand_over(self._entries(events))

    async def write(self, *events: AuditEvent) -> None:
        """Hand over events; waits until all have a place in the queue, and raises nothing.

        If the caller is cancelled while it waits, all of them are written all the same.
        """
        placed = self._hand_over(self._entries(events))
        if placed is not None:
            await asyncio.shield(placed)

    async def settle(self, events: Sequence[AuditEvent]) -> bool:
        """Hand over events, and wait until they are on disk. It raises nothing.

        Whoever waits at the same time shares one write. Once writing has failed for as long as the
        patience lasts, nobody waits any more until it succeeds; but all wait for a place in the
        queue, however long that takes, for what waits would have no bound otherwise.

        Returns:
            Whether they are; if not, they are tried again all the same, until the log is closed.
        """
        began, entries = time.monotonic(), self._entries(events)
        if not entries or self._loop is None:
            return self._writing is None or not events
        entries[-1].settled = settled = self._loop.create_future()
        placed = self._hand_over(entries)
        if placed is not None:
            await asyncio.shield(placed)
        try:
            async with asyncio.timeout(self._patience_left_s(began)):
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
                    while self._line:
                        await asyncio.shield(_placed(self._line[-1]))
                    self._queue.end()
                    await self._ended.wait()
            except TimeoutError:
                self._give_up()
        return self._n_lost

    # In the event loop.

    def _entries(self, events: Sequence[AuditEvent]) -> Sequence[QueuedEvent]:
        found = [self._entry(event) for event in events]
        return [entry for entry in found if entry is not None]

    def _entry(self, event: AuditEvent) -> QueuedEvent | None:
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
        n_waiting = self._queue.n_detail_chars + self._n_line_chars
        if draft.detail is not None and n_waiting > MAX_DETAIL_CHARS:
            self._n_without_detail += 1
            draft = draft.without_detail()
        return QueuedEvent(draft)

    def _hand_over(self, entries: Sequence[QueuedEvent]) -> "asyncio.Future[None] | None":
        """Put them into the queue, and into the line what it has no room for.

        Returns:
            Told once all have a place; ``None`` if they have.
        """
        for entry in entries:
            if self._n_free:
                self._put(entry)
            else:
                self._line.append(entry)
                self._n_line_chars += entry.n_detail_chars
        if not entries or not self._line:
            return None
        assert self._loop is not None
        entries[-1].placed = placed = self._loop.create_future()
        return placed

    def _put(self, entry: QueuedEvent) -> None:
        self._n_free -= 1
        self._queue.put(entry)

    def _patience_left_s(self, began: float) -> float:
        assert self._writing is not None
        failing_since = self._writing.failing_since
        since = began if failing_since is None else min(began, failing_since)
        return max(since + self._patience_s - time.monotonic(), 0.0)

    def _give_up(self) -> None:
        assert self._writing is not None
        self._writing.gives_up.set()
        self._queue.end()
        left = [*self._queue.clear(), *self._line]
        self._line.clear()
        self._n_line_chars = 0
        n_events = sum(not entry.is_own for entry in left)
        if n_events:
            self._lose(n_events, "they could not be written in time")
        for entry in left:
            _tell_placed(entry)
            _settle(entry, is_kept=False)

    def _lose(self, n_events: int, why: str) -> None:
        self._n_lost += n_events
        log.error("%d audit events are lost: %s", n_events, why)

    def _on_written(self, entries: Sequence[QueuedEvent]) -> None:
        for entry in entries:
            _settle(entry, is_kept=True)
            self._n_free += not entry.is_own
        while self._n_free and self._line:
            entry = self._line.popleft()
            self._n_line_chars -= entry.n_detail_chars
            self._put(entry)
            _tell_placed(entry)

    # In the thread.

    def _run(self) -> None:
        assert self._writing is not None
        try:
            self._writing.run(lambda: self._n_lost)
        finally:
            self._tell(self._ended.set)

    def _tell_written(self, entries: Sequence[QueuedEvent]) -> None:
        self._tell(lambda: self._on_written(entries))

    def _tell(self, callback: Callable[[], None]) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(callback)


def _settle(entry: QueuedEvent, *, is_kept: bool) -> None:
    if entry.settled is not None and not entry.settled.done():
        entry.settled.set_result(is_kept)


def _placed(entry: QueuedEvent) -> "asyncio.Future[None]":
    """What is told once the last of a call has its place."""
    assert entry.placed is not None
    return entry.placed


def _tell_placed(entry: QueuedEvent) -> None:
    if entry.placed is not None and not entry.placed.done():
        entry.placed.set_result(None)
