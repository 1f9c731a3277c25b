"""Counters of model calls, for tests and benchmarks that count work in place of time."""

from collections import Counter
from threading import Lock


class Work:
    """Counts by name, such as passages read or second looks; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()

    def add(self, **counts: int) -> None:
        """Add to the counts."""
        with self._lock:
            self._counts.update(counts)

    def counts(self) -> dict[str, int]:
        """The counts so far."""
        with self._lock:
            return dict(self._counts)
