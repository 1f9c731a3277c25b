"""Encodes single texts into the keys and values that claims attend to, and caches them."""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from groundwire.engine.cache import ByteCache
from groundwire.engine.roles import TextRole
from groundwire.engine.runtime import KeysValues, ReaderGraph
from groundwire.engine.scheduler import Turns, run_beside
from groundwire.engine.tokenizer import WordPieces
from groundwire.engine.work import Work


class EncodedTexts:
    """Encodes and caches texts of one tenant with one reader; safe to share between threads."""

    def __init__(
        self,
        graph: ReaderGraph,
        pieces: WordPieces,
        *,
        namespace: Hashable,
        cache: ByteCache[KeysValues],
        workers: ThreadPoolExecutor,
        turns: Turns,
        counter: Work,
    ) -> None:
        """Set up the model and the cache; no text is encoded yet.

        Args:
            graph: The reader's graph.
            pieces: The reader's tokenizer, for the special tokens.
            namespace: First part of each cache key: tenant, and versions of weights and rules.
            cache: Cache of encoded texts.
            workers: Threads that encode passages side by side.
            turns: Scheduler that limits how many texts the model reads at a time.
            counter: Counts the texts and word pieces that the model reads.
        """
        self._graph, self._pieces, self._namespace = graph, pieces, namespace
        self._cache, self._workers, self._turns = cache, workers, turns
        self._counter = counter

    def encode(self, role: TextRole, ids: NDArray[np.int32]) -> KeysValues:
        """Return the keys and values of a text, from the cache or from a run of the model."""

        def compute() -> KeysValues:
            with self._turns.answer():
                return self._compute(role, ids)

        return self._cache.get(self._key(role, ids), compute)

    def encode_passages(self, passages: Sequence[NDArray[np.int32]]) -> list[KeysValues]:
        """Return the keys and values of passages; uncached passages are read side by side."""
        jobs = [partial(self.encode, TextRole.SOURCE, ids) for ids in passages]
        missing = [
            place
            for place, ids in enumerate(passages)
            if self._cache.lacks(self._key(TextRole.SOURCE, ids))
        ]
        # The first missing passage is read by this thread, below.
        results = {place: run_beside(self._workers, jobs[place]) for place in missing[1:]}
        return [results.get(place, job)() for place, job in enumerate(jobs)]

    def encode_ahead(self, ids: NDArray[np.int32], *, is_wanted: Callable[[], bool]) -> None:
        """Encode a passage before an answer asks for it, if it is not cached and still wanted."""
        key = self._key(TextRole.SOURCE, ids)
        if self._cache.lacks(key):
            with self._turns.source():
                # Ask only now: the answer may have been finished while this thread waited.
                if is_wanted():
                    self._cache.read_ahead(key, partial(self._compute, TextRole.SOURCE, ids))

    def _compute(self, role: TextRole, ids: NDArray[np.int32]) -> KeysValues:
        self._counter.add(texts_read=1, pieces_read=len(ids))
        return self._graph.read_source(self._pieces.with_specials(ids), role)

    def _key(self, role: TextRole, ids: NDArray[np.int32]) -> Hashable:
        return (self._namespace, int(role), blake2b(ids.tobytes(), digest_size=16).digest())
