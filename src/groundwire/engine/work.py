"""Counters of what a model was really asked to do: tests and benchmarks count work."""

from collections import Counter
from threading import Lock


class Work:
    """Counts what was really done: passages and sentences read, second looks, word pieces."""

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
