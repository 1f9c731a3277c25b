"""Answers of endpoints, kept in this process so that the same call is not made twice."""

import hashlib
import secrets
from threading import Lock

from cachetools import LRUCache

from groundwire.verify.verifier import Readout

#: Calls that are kept; the least recently used goes first.
MAX_CALLS = 4096

# The key of the hashes belongs to this process, so a cache key reveals no API key.
_SALT = secrets.token_bytes(32)


class CallCache:
    """A bounded cache of calls; safe to share between threads. Prompts are not kept."""

    def __init__(self, max_calls: int = MAX_CALLS) -> None:
        self._kept: LRUCache[bytes, tuple[Readout, ...]] = LRUCache(max_calls)
        self._lock = Lock()

    def get(self, key: bytes) -> tuple[Readout, ...] | None:
        """The answers of a call, if it is kept."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: bytes, readouts: tuple[Readout, ...]) -> None:
        """Keep the answers of a call."""
        with self._lock:
            self._kept[key] = readouts

    def clear(self) -> None:
        """Forget all calls."""
        with self._lock:
            self._kept.clear()


#: The cache that all verifications of this process share.
SHARED = CallCache()


def key_of(*parts: object) -> bytes:
    """A key made of all parts that an answer depends on. It reveals nothing about them."""
    return hashlib.blake2b(repr(parts).encode(), key=_SALT, digest_size=32).digest()
