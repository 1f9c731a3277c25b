"""The thread that writes the audit log: it links what waits, and tries until it is kept."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from groundwire.control.audit.chain import Chain, ended
from groundwire.control.audit.event import AuditEvent
from groundwire.control.audit.queue import EventQueue, QueuedEvent
from groundwire.control.audit.record import AuditRecord, Draft
from groundwire.control.audit.sinks import Sink
from groundwire.errors import GroundwireError

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Characters that are written at once; one record may have more.
MAX_CHARS = 4_000_000


class Writing:
    """What the thread does, and what is counted of it.

    Attributes:
        gives_up: Set when nothing is to be tried again.
        n_failures: Attempts that failed.
        failing_since: When the first attempt failed of those since the last that did not, by the
            monotonic clock; ``None`` if the last did not.
    """

    def __init__(
        self,
        sink: Sink,
        chain: Chain,
        queue: EventQueue,
        *,
        backoff_s: tuple[float, float],
        tell: Callable[[Sequence[QueuedEvent]], None],
    ) -> None:
        """Begin nothing yet.

        Args:
            sink: What keeps records.
            chain: What links them.
            queue: Where events wait.
            backoff_s: How long to wait after a failure: at first, and at most; it doubles.
            tell: Called with what was kept.
        """
        self._sink, self._chain, self._queue = sink, chain, queue
        self._backoff_s, self._tell = backoff_s, tell
        # Linked and not kept yet: they stand at the front of the queue.
        self._linked: list[AuditRecord] = []
        self.gives_up = threading.Event()
        self._counting = threading.Lock()
        self._written: Counter[str] = Counter()
        self.n_failures = 0
        self.failing_since: float | None = None

    @property
    def written(self) -> Mapping[str, int]:
        """Records that were kept, by type."""
        with self._counting:
            return dict(self._written)

    def run(self, n_lost: Callable[[], int]) -> None:
        """Write until the queue ends, or until it is given up.

        Args:
            n_lost: How many events were lost when it ends.
        """
        at = datetime.now(UTC)
        heads = self._tried(self._sink.heads)
        if heads is not None:
            # It stands before all that came while the heads were read.
            self._queue.put_first(_own(replace(self._chain.started(heads), timestamp=at)))
            self._write_all()
        if heads is not None and not self.gives_up.is_set():
            self._queue.put(_own(ended(n_lost=n_lost())))
            self._write_all()
        self._sink.close()

    def _write_all(self) -> None:
        while batch := self._queue.next():
            records = self._link(batch)
            if self._tried(partial(self._append, records)) is None:
                return
            self._linked = self._linked[len(records) :]
            if self._queue.remove(len(records)):
                with self._counting:
                    self._written.update(record.type for record in records)
                self._tell(batch[: len(records)])

    def _link(self, batch: Sequence[QueuedEvent]) -> Sequence[AuditRecord]:
        """The records of a batch, or of its beginning if they are long."""
        n_chars = 0
        for index, entry in enumerate(batch):
            if index == len(self._linked):
                self._linked.append(self._chain.add(entry.draft))
            n_chars += len(entry.draft.line) + entry.n_detail_chars
            if n_chars > MAX_CHARS:
                return self._linked[: index + 1]
        return self._linked[: len(batch)]

    def _append(self, records: Sequence[AuditRecord]) -> bool:
        self._sink.append(records)
        return True

    def _tried(self, do: Callable[[], T]) -> T | None:
        """What it returns, however often it takes; ``None`` if that is given up."""
        pause_s = 0.0
        while not self.gives_up.is_set():
            try:
                result = do()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
                self._note(error)
                pause_s = min(max(2 * pause_s, self._backoff_s[0]), self._backoff_s[1])
                self.gives_up.wait(pause_s)
            else:
                self.failing_since = None
                return result
        return None

    def _note(self, error: Exception) -> None:
        if self.failing_since is None:
            self.failing_since = time.monotonic()
        self.n_failures += 1
        # Ours say what to do; others may quote what was to be written.
        problem = error if isinstance(error, GroundwireError) else type(error).__name__
        log.warning("The audit log cannot be written, %d wait: %s", len(self._queue), problem)


def _own(event: AuditEvent) -> QueuedEvent:
    return QueuedEvent(Draft.of(event), is_own=True)
