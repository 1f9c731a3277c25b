"""Caches the answers of endpoints in this process, so that the same call is not made twice."""

import hashlib
import secrets
from threading import Lock

from cachetools import LRUCache

from groundwire.verify.verifier import Readout

#: Maximum number of calls in a cache; beyond it, the least recently used call is dropped.
MAX_CALLS = 4096

# Cache keys are hashed with a random secret of this process, so they reveal no API key.
_SALT = secrets.token_bytes(32)


class CallCache:
    """Caches answers of a limited number of calls; no prompts are kept. Threads may share it."""

    def __init__(self, max_calls: int = MAX_CALLS) -> None:
        self._kept: LRUCache[bytes, tuple[Readout, ...]] = LRUCache(max_calls)
        self._lock = Lock()

    def get(self, key: bytes) -> tuple[Readout, ...] | None:
        """Return the answers of a call; ``None`` if they are not in the cache."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: bytes, readouts: tuple[Readout, ...]) -> None:
        """Store the answers of a call."""
        with self._lock:
            self._kept[key] = readouts

    def clear(self) -> None:
        """Forget all calls."""
        with self._lock:
            self._kept.clear()


#: The cache that all verifications of this process share.
SHARED = CallCache()


def key_of(*parts: object) -> bytes:
    """Return a cache key for a call; it reveals nothing about the parts.

    Args:
        parts: All values that the answer depends on, such as tenant, model and prompt.
    """
    return hashlib.blake2b(repr(parts).encode(), key=_SALT, digest_size=32).digest()
