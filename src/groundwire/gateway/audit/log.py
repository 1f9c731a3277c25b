"""The audit log: takes events from coroutines, and has a thread that writes them.

Nothing is dropped: when the queue is full, ``write`` waits; what cannot be written is kept, in
order, and tried again until the log is closed.
"""

import asyncio
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self, TypeAlias

from groundwire.gateway.audit.event import AuditEvent
from groundwire.gateway.audit.sinks import FileSink, PartlyAppendedError, Sink, StdoutSink

log = logging.getLogger(__name__)

#: The type of an event, and its line.
_Entry: TypeAlias = tuple[str, bytes]

_MAX_BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStats:
    """Counters since the log was made.

    Attributes:
        written: Events that were written, by type.
        n_failures: Attempts that failed.
        n_lost: Events that were given up: when the log was closed before they could be written, or
            that came after that.
        depth: Events that wait now.
    """

    written: Mapping[str, int]
    n_failures: int
    n_lost: int
    depth: int


class AuditLog:
    """Writes events to a sink, in the order they come.

    All coroutines that use it run in the event loop that opened it.
    """

    def __init__(
        self,
        sink: Sink | None,
        *,
        queue_size: int = 10_000,
        backoff_s: tuple[float, float] = (0.1, 5.0),
    ) -> None:
        """Make a log; :meth:`open` starts it.

        Args:
            sink: Where lines go; ``None``: nowhere, for a gateway without audit log.
            queue_size: Events that may wait, those that are being written included.
            backoff_s: How long to wait after a failure: at first, and at most; it doubles.
        """
        self._sink, self._backoff_s = sink, backoff_s
        self._changed = threading.Condition()
        # Under the condition's lock, for the thread and the event loop share them.
        self._entries: deque[_Entry] = deque()
        self._written: Counter[str] = Counter()
        self._n_failures = self._n_lost = 0
        self._is_ending = False
        # Of the event loop alone.
        self._room = asyncio.Semaphore(queue_size)
        self._late: set[asyncio.Task[None]] = set()
        self._is_open = False
        self._ended = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gives_up = threading.Event()

    @classmethod
    def at(cls, path: str | Path, *, queue_size: int = 10_000) -> Self:
        """A log in a file, or with ``"-"`` on the standard output.

        Raises:
            SettingError: If the file cannot be written.
        """
        sink = StdoutSink() if str(path) == "-" else FileSink(path)
        return cls(sink, queue_size=queue_size)

    @property
    def stats(self) -> AuditStats:
        """The counters, read at one moment."""
        with self._changed:
            return AuditStats(
                written=dict(self._written),
                n_failures=self._n_failures,
                n_lost=self._n_lost,
                depth=len(self._entries) + len(self._late),
            )

    async def open(self) -> None:
        """Start to write."""
        self._loop, self._is_open = asyncio.get_running_loop(), True
        if self._sink is None:
            self._ended.set()
            return
        # A daemon: a disk that hangs must not keep the process from ending.
        args = (self._sink,)
        threading.Thread(target=self._run, args=args, name="groundwire-audit", daemon=True).start()

    async def write(self, event: AuditEvent) -> None:
        """Hand over an event; waits if the queue is full, and raises nothing.

        If the caller is cancelled while it waits, the event is written all the same.
        """
        if self._sink is None:
            return
        try:
            entry = (str(event.type), event.to_line())
        except Exception as error:  # noqa: BLE001 - an event must not decide what a client gets
            self._lose(1, type(error).__name__)
            return
        if not self._is_open:
            self._lose(1, "the log is not open")
        elif self._room.locked():
            late = asyncio.ensure_future(self._put_late(entry))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
            await asyncio.shield(late)
        else:
            await self._room.acquire()  # does not suspend: there is room
            self._put(entry)

    async def settle(self, events: Sequence[AuditEvent]) -> bool:
        """Hand over events, and wait until they are on disk.

        Returns:
            Whether they are; if not, they are tried again all the same, unless the log is closed.
        """
        for event in events:
            await self.write(event)
        return not self.is_failing

    @property
    def is_failing(self) -> bool:
        """Whether records cannot be written now: the last attempt failed, or the queue is full."""
        return self._room.locked()

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
                    self._end()
                    await self._ended.wait()
            except TimeoutError:
                await self._give_up()
        return self.stats.n_lost

    # In the event loop.

    async def _put_late(self, entry: _Entry) -> None:
        await self._room.acquire()
        if self._gives_up.is_set():
            self._lose(1, "the log is closed")
        else:
            self._put(entry)

    def _put(self, entry: _Entry) -> None:
        with self._changed:
            self._entries.append(entry)
            self._changed.notify()

    def _end(self) -> None:
        with self._changed:
            self._is_ending = True
            self._changed.notify()

    async def _give_up(self) -> None:
        self._gives_up.set()
        self._end()
        with self._changed:
            left = len(self._entries)
            self._entries.clear()
        if left:
            self._lose(left, "they could not be written in time")
        self._release(len(self._late))
        while self._late:
            await asyncio.wait(self._late)

    def _lose(self, n_events: int, why: str) -> None:
        with self._changed:
            self._n_lost += n_events
        log.error("%d audit events are lost: %s", n_events, why)

    def _release(self, n_places: int) -> None:
        for _ in range(n_places):
            self._room.release()

    # In the thread.

    def _run(self, sink: Sink) -> None:
        pause_s = 0.0
        while batch := self._next():
            n_written = self._append(sink, [line for _, line in batch])
            self._account(batch[:n_written])
            if n_written == len(batch):
                pause_s = 0.0
            else:
                pause_s = min(max(2 * pause_s, self._backoff_s[0]), self._backoff_s[1])
                self._gives_up.wait(pause_s)
        self._tell(self._ended.set)

    def _next(self) -> list[_Entry]:
        """What is to be written next; it stays in the queue until it is. Nothing: the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries or self._is_ending)
            return list(islice(self._entries, _MAX_BATCH))

    def _append(self, sink: Sink, lines: Sequence[bytes]) -> int:
        """How many lines were written."""
        try:
            sink.append(lines)
            return len(lines)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
            with self._changed:
                self._n_failures += 1
                depth = len(self._entries)
            cause = error.__cause__ or error
            log.warning("The audit log cannot be written, %d wait: %s", depth, type(cause).__name__)
            return error.n_lines if isinstance(error, PartlyAppendedError) else 0

    def _account(self, written: Sequence[_Entry]) -> None:
        with self._changed:
            if self._gives_up.is_set():
                return  # they are counted as lost, and the queue is empty
            for type_, _ in written:
                self._entries.popleft()
                self._written[type_] += 1
        self._tell(self._release, len(written))

    def _tell(self, callback: Callable[..., None], *arguments: int) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(callback, *arguments)
