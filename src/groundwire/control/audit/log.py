"""The audit log: takes events from coroutines, and writes them in a task of its own.

A full queue drops no event: most callers wait for room in it, and rare events are added beyond its
size. Events that cannot be written stay in the queue, and the log tries again until it is closed.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from groundwire.control.audit.chain import Chain, ended
from groundwire.control.audit.event import AuditEvent
from groundwire.control.audit.record import AuditRecord, Draft
from groundwire.control.audit.sinks import Sink
from groundwire.errors import GroundwireError

log = logging.getLogger(__name__)

T = TypeVar("T")

#: If more characters of details (all findings about an answer) than this wait in the queue, further
#: events are queued without details, so that details do not fill the memory while nothing can
#: be written.
MAX_DETAIL_CHARS = 64_000_000
#: ``MAX_BATCH`` is the highest number of events in one write. No event is added to a write that has
#: more than ``MAX_BATCH_CHARS`` characters.
MAX_BATCH, MAX_BATCH_CHARS = 1000, 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStats:
    """Counters of an audit log since it was made.

    Attributes:
        written: Type of an event → number of events of this type that were written.
        n_failures: The number of calls to the sink that failed.
        n_lost: The number of events that were given up: the log was not open, or was closed before
            they could be written, or they were not valid.
        depth: The number of events that wait in the queue now.
        n_without_detail: The number of events that lost their detail because of
            :data:`MAX_DETAIL_CHARS`.
    """

    written: Mapping[str, int]
    n_failures: int
    n_lost: int
    depth: int
    n_without_detail: int = 0


class AuditLog:
    """Writes events to a sink as one chain, in the order in which they come.

    All coroutines that use the log must run in the event loop that opened it.
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
        """Prepare the log; :meth:`open` starts it.

        Args:
            sink: The place for the records; with ``None``, all events are dropped.
            key: The key that signs the records.
            queue_size: The number of waiting events, including those being written, at which the
                queue is full.
            keeps_details: Whether the details of events (all findings about an answer) are kept.
            linger_s: Limit in seconds on the time that the log waits for further events before a
                write. A call of :meth:`settle` ends the wait, and so does a full batch.
            patience_s: Limit in seconds on the time that :meth:`settle` waits for a write.
            backoff_s: The first pause after a failure, and the longest pause, in seconds. The pause
                doubles with each further failure.
        """
        self._sink, self._chain = sink, Chain.new(key)
        self._queue_size, self._keeps_details = queue_size, keeps_details
        self._linger_s, self._patience_s, self._backoff_s = linger_s, patience_s, backoff_s
        # Events that are not written yet, including those being written.
        self._waiting: deque[Draft] = deque()
        self._n_detail_chars = 0
        # The number of events that were queued, and how many of these were written or given up.
        self._n_added = self._n_done = 0
        self._written: Counter[str] = Counter()
        self._n_failures = self._n_lost = self._n_without_detail = 0
        self._failing_since: float | None = None
        self._is_open = False
        # `_some` tells the task to look at the queue, and `_hurry` to write now. `_moved` is
        # notified whenever events leave the queue.
        self._some, self._hurry, self._moved = asyncio.Event(), asyncio.Event(), asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    @property
    def stats(self) -> AuditStats:
        """The counters of the log."""
        return AuditStats(
            written=dict(self._written),
            n_failures=self._n_failures,
            n_lost=self._n_lost,
            depth=len(self._waiting),
            n_without_detail=self._n_without_detail,
        )

    @property
    def is_failing(self) -> bool:
        """Whether the last call to the sink failed, or the queue is full."""
        return self._failing_since is not None or len(self._waiting) >= self._queue_size

    async def open(self) -> None:
        """Begin to take events; with a sink, start the task that writes them."""
        self._is_open = True
        if self._sink is not None:
            self._task = asyncio.create_task(self._run(self._sink), name="audit log")

    def add(self, *events: AuditEvent) -> None:
        """Queue events without waiting, even if the queue is full; for rare events."""
        for event in events:
            self._add(event)

    async def write(self, *events: AuditEvent) -> None:
        """Queue events, and wait until the queue has room for them.

        Errors are only logged. If the caller is cancelled, the events stay in the queue.
        """
        self.add(*events)
        await self._until_placed(self._n_added)

    async def settle(self, events: Sequence[AuditEvent]) -> bool:
        """Queue events, and wait until they are written. Errors are only logged.

        Callers that wait at the same time can share a write. They wait at most ``patience_s``
        seconds for the write, counted from the first failure if writing is failing already. But
        they always wait for room in the queue, since otherwise the queue could grow without limit.

        Returns:
            Whether all events are written; also true if there is no sink, or no event. If false, an
            open log still tries to write the valid events.
        """
        began, n_lost = time.monotonic(), self._n_lost
        self.add(*events)
        number, is_lost = self._n_added, self._n_lost > n_lost
        if self._sink is None or not events:
            return True
        self._hurry.set()
        await self._until_placed(number)
        since = min(began, self._failing_since or began)
        try:
            async with asyncio.timeout(since + self._patience_s - time.monotonic()):
                await self._until(lambda: self._n_done >= number)
        except TimeoutError:
            return False
        return not is_lost and self._task is not None and not self._task.cancelled()

    async def close(self, *, timeout_s: float = 30.0) -> int:
        """Write the waiting events, and close the log.

        Events that still wait after ``timeout_s`` seconds are given up.

        Returns:
            The number of events that were given up since the log was made.
        """
        self._is_open = False
        self._some.set()
        self._hurry.set()
        if self._task is not None:
            _, running = await asyncio.wait([self._task], timeout=timeout_s)
            for task in running:
                task.cancel()
            await asyncio.wait([self._task])
            if self._waiting:
                self._lose(len(self._waiting), "they could not be written in time")
                await self._remove(len(self._waiting))
        return self._n_lost

    # Methods that queue events, wait for the task, and count lost events.

    def _add(self, event: AuditEvent) -> None:
        if self._sink is None:
            return
        if not self._is_open:
            self._lose(1, "the log is not open")
            return
        if event.detail is not None and not self._keeps_details:
            event = replace(event, detail=None)
        try:
            draft = Draft.of(event)
        except Exception as error:  # noqa: BLE001 - an invalid event must not fail a request
            self._lose(1, type(error).__name__)
            return
        if draft.detail is not None and self._n_detail_chars > MAX_DETAIL_CHARS:
            self._n_without_detail += 1
            draft = replace(draft, detail=None)
        self._waiting.append(draft)
        self._n_detail_chars += len(draft.detail or "")
        self._n_added += 1
        self._some.set()
        if len(self._waiting) >= min(MAX_BATCH, self._queue_size):
            self._hurry.set()

    async def _until_placed(self, number: int) -> None:
        await self._until(lambda: number - self._n_done <= self._queue_size)

    async def _until(self, condition: Callable[[], bool]) -> None:
        if not condition():
            async with self._moved:
                await self._moved.wait_for(condition)

    def _lose(self, n_events: int, why: str) -> None:
        self._n_lost += n_events
        log.error("%d audit events are lost: %s", n_events, why)

    # Methods of the task that writes.

    async def _run(self, sink: Sink) -> None:
        try:
            started_at = datetime.now(UTC)
            heads = await self._tried(sink.heads)
            # Callers may add events while the ends of other chains are read. The first record of
            # the chain must not be dated after these events.
            await self._write_own(sink, replace(self._chain.started(heads), timestamp=started_at))
            while batch := await self._next():
                await self._append(sink, [self._chain.add(draft) for draft in batch])
                await self._remove(len(batch))
            await self._write_own(sink, ended(n_lost=self._n_lost))
        finally:
            await sink.close()

    async def _next(self) -> Sequence[Draft]:
        """Wait for events, and return a batch, which stays in the queue.

        The batch is empty if the log is closed and nothing waits.
        """
        if not self._waiting and self._is_open:
            self._some.clear()
            await self._some.wait()
        if self._linger_s and self._is_open:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self._linger_s)
        self._hurry.clear()
        batch, n_chars = list[Draft](), 0
        for draft in self._waiting:
            if len(batch) == MAX_BATCH or n_chars > MAX_BATCH_CHARS:
                break
            batch.append(draft)
            n_chars += len(draft.line) + len(draft.detail or "")
        return batch

    async def _write_own(self, sink: Sink, event: AuditEvent) -> None:
        """Write an event about the chain itself, which was not queued."""
        await self._append(sink, [self._chain.link(event)])

    async def _append(self, sink: Sink, records: Sequence[AuditRecord]) -> None:
        await self._tried(partial(sink.append, records))
        self._written.update(record.type for record in records)

    async def _remove(self, n_events: int) -> None:
        for _ in range(n_events):
            self._n_detail_chars -= len(self._waiting.popleft().detail or "")
        self._n_done += n_events
        async with self._moved:
            self._moved.notify_all()

    async def _tried(self, do: Callable[[], Awaitable[T]]) -> T:
        """Call a function until it succeeds, with a pause after each failure."""
        pause_s = 0.0
        while True:
            try:
                result = await do()
            except Exception as error:  # noqa: BLE001 - after any error, try again
                self._note(error)
                pause_s = min(max(2 * pause_s, self._backoff_s[0]), self._backoff_s[1])
                await asyncio.sleep(pause_s)
            else:
                self._failing_since = None
                return result

    def _note(self, error: Exception) -> None:
        if self._failing_since is None:
            self._failing_since = time.monotonic()
        self._n_failures += 1
        # Groundwire's errors say what to do. Of other errors only the type is logged, since their
        # messages may quote the records.
        problem = error if isinstance(error, GroundwireError) else type(error).__name__
        log.warning("The audit log cannot be written, %d wait: %s", len(self._waiting), problem)
