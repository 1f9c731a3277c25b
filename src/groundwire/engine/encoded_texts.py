"""Encodes single texts into attention keys and values, which claims attend to, and caches them."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from groundwire.engine.roles import TextRole
from groundwire.engine.runtime import KeysValues, ReaderGraph
from groundwire.engine.scheduler import run_beside
from groundwire.engine.shared import SharedResources
from groundwire.engine.tokenizer import WordPieces
from groundwire.engine.work import Work


class EncodedTexts:
    """Encodes and caches texts of one tenant with one reader; safe to share between threads."""

    def __init__(
        self,
        graph: ReaderGraph,
        pieces: WordPieces,
        *,
        shared: SharedResources,
        namespace: Hashable,
        counter: Work,
    ) -> None:
        """Prepare to encode texts.

        ``namespace`` names the tenant and the model. It is part of each cache key, so that tenants
        do not share entries.
        """
        self._graph, self._pieces, self._namespace = graph, pieces, namespace
        self._shared, self._counter = shared, counter

    def encode(self, role: TextRole, ids: NDArray[np.int32]) -> KeysValues:
        """Return the keys and values of a text, from the cache or from the model."""
        return self._shared.read(self._key(role, ids), partial(self._compute, role, ids))

    def encode_passages(self, passages: Sequence[NDArray[np.int32]]) -> list[KeysValues]:
        """Return the keys and values of passages; encode those not in the cache in parallel."""
        jobs = [partial(self.encode, TextRole.SOURCE, ids) for ids in passages]
        missing = [
            place
            for place, ids in enumerate(passages)
            if self._shared.cache.lacks(self._key(TextRole.SOURCE, ids))
        ]
        # This thread encodes the first missing passage itself, in the list below.
        results = {place: run_beside(self._shared.workers, jobs[place]) for place in missing[1:]}
        return [results.get(place, job)() for place, job in enumerate(jobs)]

    def encode_ahead(self, ids: NDArray[np.int32], *, is_wanted: Callable[[], bool]) -> None:
        """Encode a passage, and cache the result, before a claim needs it.

        Nothing is done if the passage is cached or being encoded already, or if ``is_wanted``
        returns false when the model is free for the passage.
        """
        compute = partial(self._compute, TextRole.SOURCE, ids)
        self._shared.read_ahead(self._key(TextRole.SOURCE, ids), compute, is_wanted=is_wanted)

    def _compute(self, role: TextRole, ids: NDArray[np.int32]) -> KeysValues:
        self._counter.add(texts_read=1, pieces_read=len(ids))
        return self._graph.read_source(self._pieces.with_specials(ids), role)

    def _key(self, role: TextRole, ids: NDArray[np.int32]) -> Hashable:
        return (self._namespace, int(role), blake2b(ids.tobytes(), digest_size=16).digest())
