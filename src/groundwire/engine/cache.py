"""A cache bounded in bytes: it drops the least recently used entry if full; entries expire."""

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Generic, Protocol, TypeVar

from cachetools import TTLCache


class Sized(Protocol):
    """A value with a size in bytes."""

    @property
    def nbytes(self) -> int: ...  # noqa: D102


V = TypeVar("V", bound=Sized)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """Counts of a cache since it was made, its entries and their bytes now, and its limit."""

    hits: int
    misses: int
    evictions: int
    entries: int
    bytes: int
    max_bytes: int


class _Store(TTLCache[Hashable, V]):
    """A ``TTLCache`` of cachetools that also counts the entries dropped to make room."""

    evictions = 0

    def popitem(self) -> tuple[Hashable, V]:
        self.evictions += 1
        return super().popitem()


class ByteCache(Generic[V]):
    """Keeps values by key, up to a total size in bytes; safe to share between threads.

    A value that several threads ask for at once is computed once. A value larger than the whole
    cache is not kept.
    """

    def __init__(
        self, max_bytes: int, *, ttl_s: float = 3600.0, timer: Callable[[], float] = time.monotonic
    ) -> None:
        """Make an empty cache.

        Args:
            max_bytes: Limit on the sum of the values' ``nbytes``.
            ttl_s: Seconds after which an entry expires.
            timer: Function that returns the time in seconds.
        """
        self._store: _Store[V] = _Store(max_bytes, ttl_s, timer, getsizeof=lambda v: v.nbytes)
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._in_flight: dict[Hashable, Future[V]] = {}
        self._hits = self._misses = 0

    def get(self, key: Hashable, compute: Callable[[], V]) -> V:
        """Return the value of a key; ``compute`` is called only if the value is not in the cache.

        While one thread computes a value, other threads that ask for it wait. An error of
        ``compute`` is raised in all these threads.
        """
        with self._lock:
            found = self._store.get(key)
            waiting = self._in_flight.get(key)
            if found is None and waiting is None:
                mine = self._begin(key)
            else:
                self._hits += 1
        if found is not None:
            return found
        return self._compute(key, compute, mine) if waiting is None else waiting.result()

    def lacks(self, key: Hashable) -> bool:
        """Return whether the value of a key is neither cached nor being computed."""
        with self._lock:
            return key not in self._store and key not in self._in_flight

    def read_ahead(self, key: Hashable, compute: Callable[[], V]) -> V | None:
        """Compute and cache a value, and return it.

        The result is ``None`` if the value is cached already or another thread is computing it.
        """
        with self._lock:
            if key in self._store or key in self._in_flight:
                return None
            mine = self._begin(key)
        return self._compute(key, compute, mine)

    def _begin(self, key: Hashable) -> Future[V]:
        self._misses += 1
        mine: Future[V] = Future()
        self._in_flight[key] = mine
        return mine

    def _compute(self, key: Hashable, compute: Callable[[], V], mine: Future[V]) -> V:
        try:
            value = compute()
            if value.nbytes <= self._max_bytes:
                with self._lock:
                    self._store[key] = value
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            # The key is removed after an error too, so that the next call computes the value again.
            with self._lock:
                del self._in_flight[key]
        mine.set_result(value)
        return value

    def clear(self) -> None:
        """Drop all entries; the counters keep their values."""
        with self._lock:
            self._store.clear()

    @property
    def stats(self) -> CacheStats:
        """The counters of the cache and its present contents, without expired entries."""
        with self._lock:
            self._store.expire()
            return CacheStats(
                hits=self._hits,
                misses=self._misses,
                evictions=self._store.evictions,
                entries=len(self._store),
                bytes=int(self._store.currsize),
                max_bytes=self._max_bytes,
            )
