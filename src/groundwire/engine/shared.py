"""What detectors compute with: threads, turns and one cache. Several detectors may share it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from groundwire.detection.passages import CutSource
from groundwire.engine.cache import ByteCache
from groundwire.engine.scheduler import Turns


class SharedResources:
    """Threads, turns and a cache. Whoever made it closes it.

    Attributes:
        threads: How many texts are read at a time.
        workers: Threads that read claims side by side.
        turns: Whose turn it is to read.
        cache: Of what was read. Judges keep values of their own kinds in it, under keys that begin
            with the tenant and name the model, so none finds what another has kept.
        sources: Of sources that were cut into passages, likewise.
    """

    def __init__(
        self, threads: int, *, cache: ByteCache[Any], sources: ByteCache[CutSource]
    ) -> None:
        self.threads = threads
        # One more than there are turns, to prepare what it will read while the others read.
        self.workers = ThreadPoolExecutor(threads + 1, "groundwire")
        self.turns = Turns(threads)
        self.cache, self.sources = cache, sources
        self.is_closed = False

    @classmethod
    def of(cls, threads: int, *, cache_mb: float, ttl_s: float) -> Self:
        """With a cache of so many megabytes, of 1,000,000 bytes."""
        budget = int(cache_mb * 1e6)
        # Word pieces of a source take a hundredth of its keys and values.
        for_sources = budget // 10
        return cls(
            threads,
            cache=ByteCache(budget - for_sources, ttl_s=ttl_s),
            sources=ByteCache(for_sources, ttl_s=ttl_s),
        )

    def close(self) -> None:
        """Take no more work, and wait for what is under way."""
        self.is_closed = True
        self.turns.close()
        self.workers.shutdown()
