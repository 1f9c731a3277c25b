"""Threads and caches that one or several detectors use."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from groundwire.detection.passages import CutSource
from groundwire.engine.cache import ByteCache
from groundwire.engine.scheduler import Turns


class SharedResources:
    """Threads, a scheduler and caches. Whoever creates this object must also close it.

    Attributes:
        threads: How many texts are read at a time.
        workers: Threads that read claims side by side.
        turns: Scheduler that limits how many texts the models read at a time.
        cache: Encoded texts: attention keys and values for the reader, vectors for the similarity
            detector. The cache keys name the tenant and the model, so no tenant and no model gets
            an entry of another.
        sources: Sources that were cut into passages. Its cache keys name tenant and model too.
    """

    def __init__(
        self, threads: int, *, cache: ByteCache[Any], sources: ByteCache[CutSource]
    ) -> None:
        self.threads = threads
        # One more than the model runs allowed at a time, to prepare the next claim meanwhile.
        self.workers = ThreadPoolExecutor(threads + 1, "groundwire")
        self.turns = Turns(threads)
        self.cache, self.sources = cache, sources
        self.is_closed = False

    @classmethod
    def of(cls, threads: int, *, cache_mb: float, ttl_s: float) -> Self:
        """Make threads and caches; ``cache_mb`` is the size of both caches in 1,000,000 bytes."""
        budget = int(cache_mb * 1e6)
        # A source's word pieces take a hundredth of the memory of its attention keys and values, so
        # a tenth of the budget is enough.
        for_sources = budget // 10
        return cls(
            threads,
            cache=ByteCache(budget - for_sources, ttl_s=ttl_s),
            sources=ByteCache(for_sources, ttl_s=ttl_s),
        )

    def close(self) -> None:
        """Take no more work, and wait for the work that has begun."""
        self.is_closed = True
        self.turns.close()
        self.workers.shutdown()
