"""The queue between those who hand over events and the thread that writes them."""

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from groundwire.control.audit.record import Draft

#: Events that are written at once, at most.
MAX_BATCH = 1000


@dataclass(slots=True, eq=False)
class QueuedEvent:
    """An event in the queue.

    Attributes:
        draft: What is written of it.
        is_own: Whether it is of the log itself, and takes nobody's place.
        settled: Told whether it and all before it are on disk; somebody waits for that.
        placed: Told once it is in the queue, and all before it are; it had to wait for a place.
    """

    draft: Draft
    is_own: bool = False
    settled: "asyncio.Future[bool] | None" = None
    placed: "asyncio.Future[None] | None" = None

    @property
    def n_detail_chars(self) -> int:
        """How long its detail is."""
        return 0 if self.draft.detail is None else len(self.draft.detail)

    @property
    def is_urgent(self) -> bool:
        """Whether it is to be written at once; others wait a moment for company."""
        return self.is_own or self.settled is not None


class EventQueue:
    """Entries in their order. Any thread may call it."""

    def __init__(self, *, linger_s: float, n_places: int) -> None:
        """Make it.

        Args:
            linger_s: How long entries wait for others, so that they are written together; not if
                somebody waits for one, if there are enough, or at the end.
            n_places: How many there can be: nothing waits for more.
        """
        self._linger_s, self._n_enough = linger_s, min(MAX_BATCH, n_places)
        self._changed = threading.Condition()
        self._entries: deque[QueuedEvent] = deque()
        self._n_urgent = self._n_detail_chars = 0
        self._is_ending = False

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def n_detail_chars(self) -> int:
        """Characters of all details in it."""
        return self._n_detail_chars

    def put(self, entry: QueuedEvent) -> None:
        """Add an entry at the end."""
        with self._changed:
            self._entries.append(entry)
            self._count(entry, 1)
            if len(self._entries) == 1 or self._is_due():
                self._changed.notify()

    def put_first(self, entry: QueuedEvent) -> None:
        """Add an entry before all others."""
        with self._changed:
            self._entries.appendleft(entry)
            self._count(entry, 1)

    def next(self) -> list[QueuedEvent]:
        """What is to be written next, once it is time; it stays in the queue. Nothing: the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries or self._is_ending)
            if not self._is_due():
                self._changed.wait_for(self._is_due, timeout=self._linger_s)
            return list(islice(self._entries, MAX_BATCH))

    def remove(self, n_entries: int) -> bool:
        """Remove so many from the front; not, if the queue was emptied meanwhile."""
        with self._changed:
            if len(self._entries) < n_entries:
                return False
            for _ in range(n_entries):
                self._count(self._entries.popleft(), -1)
            return True

    def end(self) -> None:
        """Nothing is to be waited for any more."""
        with self._changed:
            self._is_ending = True
            self._changed.notify()

    def clear(self) -> Sequence[QueuedEvent]:
        """Remove all of them."""
        with self._changed:
            entries = tuple(self._entries)
            self._entries.clear()
            self._n_urgent = self._n_detail_chars = 0
            return entries

    def _is_due(self) -> bool:
        return self._is_ending or self._n_urgent > 0 or len(self._entries) >= self._n_enough

    def _count(self, entry: QueuedEvent, sign: int) -> None:
        self._n_urgent += sign * entry.is_urgent
        self._n_detail_chars += sign * entry.n_detail_chars
