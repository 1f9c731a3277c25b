"""Caches the answers of endpoints in this process, so that an equal call need not be made again."""

import hashlib
import secrets
from threading import Lock

from cachetools import LRUCache

from groundwire.verify.verifier import Readout

#: Maximum number of calls in a cache; beyond it, the least recently used call is dropped.
MAX_CALLS = 4096

# Cache keys are hashed with a random secret of this process, so they reveal no API key.
_SALT = secrets.token_bytes(32)


#: The cache of all verifications in this process: it maps the key of a call to the answers of the
#: call, one for each claim. Prompts and costs of the answers are not stored.
SHARED: LRUCache[bytes, tuple[Readout, ...]] = LRUCache(MAX_CALLS)
#: Protects ``SHARED``, because an ``LRUCache`` must not be used by two threads at once.
LOCK = Lock()


def key_of(*parts: object) -> bytes:
    """Return the cache key of a call: a keyed hash of all that the call's answer depends on."""
    return hashlib.blake2b(repr(parts).encode(), key=_SALT, digest_size=32).digest()
