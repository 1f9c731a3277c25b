"""Answers of endpoints, kept in this process so that the same call is not made twice."""

import hashlib
import secrets
from collections.abc import Hashable
from threading import Lock

from cachetools import LRUCache

from groundwire.verify.prompts import Prompt
from groundwire.verify.verifier import Readout

#: Calls that are kept; the least recently used goes first.
MAX_CALLS = 4096

# The key of the hashes is this process's own, so that what is kept tells no key to anyone.
_SALT = secrets.token_bytes(32)


class CallCache:
    """A bounded cache of calls; safe to share between threads. Prompts are not kept."""

    def __init__(self, max_calls: int = MAX_CALLS) -> None:
        self._kept: LRUCache[Hashable, tuple[Readout, ...]] = LRUCache(max_calls)
        self._lock = Lock()

    def get(self, key: Hashable) -> tuple[Readout, ...] | None:
        """The answers of a call, if it is kept."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: Hashable, readouts: tuple[Readout, ...]) -> None:
        """Keep the answers of a call."""
        with self._lock:
            self._kept[key] = readouts

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._kept.clear()


#: What all verifications of this process share.
SHARED = CallCache()


def key_of(
    prompt: Prompt,
    *,
    tenant: str,
    base_url: str,
    api_key: str,
    model: str,
    top_logprobs: int,
) -> Hashable:
    """What a call is kept under: whose it is, all that its answer depends on, and no secret."""
    return (
        tenant,
        base_url,
        _digest(api_key),
        model,
        top_logprobs,
        prompt.n,
        _digest(prompt.system, prompt.user),
    )


def _digest(*texts: str) -> bytes:
    digest = hashlib.blake2b(key=_SALT, digest_size=32)
    for text in texts:
        data = text.encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()
