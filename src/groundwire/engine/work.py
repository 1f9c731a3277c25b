"""Counters of the work of models, such as the number of texts read."""

from collections import Counter
from threading import Lock


class Work:
    """Named counters, such as ``texts_read`` or ``second_looks``; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()

    def add(self, **counts: int) -> None:
        """Add each number to the counter of its name."""
        with self._lock:
            self._counts.update(counts)

    def counts(self) -> dict[str, int]:
        """Return the counts so far, by name."""
        with self._lock:
            return dict(self._counts)
