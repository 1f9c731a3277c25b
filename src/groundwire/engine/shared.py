"""Threads and caches that one or several detectors use."""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from hashlib import blake2b
from typing import Any, Self, TypeVar

from groundwire.detection.example import Source
from groundwire.detection.passages import PASSAGE_RULES, CutSource, cut_source
from groundwire.engine.cache import ByteCache, Sized
from groundwire.engine.scheduler import Turns
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.writing_system import is_readable

V = TypeVar("V", bound=Sized)
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class SharedResources:
    """Threads, a scheduler and caches. Whoever creates this object must also close it.

    Attributes:
        threads: Limit on the texts that models read at a time.
        workers: Threads that read claims and passages in parallel.
        turns: Scheduler that limits how many threads run a model at a time.
        cache: Encoded texts: attention keys and values for the reader, vectors for the similarity
            detector. Each key has the tenant and the model, so tenants and models do not share
            entries.
        sources: Sources that were cut into passages. Their keys have the tenant and the model too.
    """

    def __init__(
        self, threads: int, *, cache: ByteCache[Any], sources: ByteCache[CutSource]
    ) -> None:
        self.threads = threads
        # There is one thread more than can run models at a time: it can prepare the next claim.
        self.workers = ThreadPoolExecutor(threads + 1, "groundwire")
        self.turns = Turns(threads)
        self.cache, self.sources = cache, sources
        self.is_closed = False

    @classmethod
    def of(cls, threads: int, *, cache_mb: float, ttl_s: float) -> Self:
        """Make threads and caches; ``cache_mb`` is the total size of the caches, in 10^6 bytes."""
        budget = int(cache_mb * 1e6)
        # A tenth is enough for sources: the word pieces of a source take far less memory than its
        # attention keys and values.
        for_sources = budget // 10
        return cls(
            threads,
            cache=ByteCache(budget - for_sources, ttl_s=ttl_s),
            sources=ByteCache(for_sources, ttl_s=ttl_s),
        )

    def with_caches(self, cache: ByteCache[Any], sources: ByteCache[CutSource]) -> Self:
        """Return an object with the same threads and scheduler, and other caches."""
        other = copy(self)
        other.cache, other.sources = cache, sources
        return other

    def cut(
        self,
        source: Source,
        *,
        pieces: WordPieces,
        owner: Hashable,
        reads: Callable[[str], bool] = is_readable,
    ) -> CutSource:
        """Cut a source into passages, or return the passages from the cache.

        ``owner`` names the tenant and the model; it is part of the cache key. ``reads`` returns
        whether the model can read a line.
        """
        text = blake2b(repr((source.title, source.text)).encode(), digest_size=16).digest()
        return self.sources.get(
            (owner, PASSAGE_RULES, text), lambda: cut_source(source, pieces, reads=reads)
        )

    def map(self, job: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
        """Return the result of a job for each item; the jobs run in parallel."""
        return list(map(job, items) if len(items) < 2 else self.workers.map(job, items))

    def read(self, key: Hashable, compute: Callable[[], V]) -> V:
        """Return the value of a text, such as its vector; compute the value if it is not cached.

        The computation comes before texts that are read ahead (:meth:`.Turns.answer`).
        """

        def on_turn() -> V:
            with self.turns.answer():
                return compute()

        found: V = self.cache.get(key, on_turn)
        return found

    def read_ahead(
        self, key: Hashable, compute: Callable[[], V], *, is_wanted: Callable[[], bool]
    ) -> V | None:
        """Compute and cache the value of a text before the check of an answer asks for it.

        The result is ``None`` if the value is cached or being computed, or if ``is_wanted`` returns
        false when the turn of this computation comes.
        """
        if not self.cache.lacks(key):
            return None
        with self.turns.source():
            # ``is_wanted`` is called only now, because the answer may have been finished while this
            # thread waited for its turn.
            return self.cache.read_ahead(key, compute) if is_wanted() else None

    def close(self) -> None:
        """Stop the threads: drop background jobs that have not begun, and finish all other jobs."""
        self.is_closed = True
        self.turns.close()
        self.workers.shutdown()
