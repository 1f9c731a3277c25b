"""The messages of requests whose answers a host sends later, in a call of its own."""

import json
from typing import Any

from cachetools import TTLCache
from fastapi import Request

from groundwire.gateway.middleware.state import caller
from groundwire.gateway.native.running import to_json

#: The most seconds that messages are kept to wait for their answers, and the most bytes of all kept
#: messages, with so many bytes more for each request.
_KEPT_S, _KEPT_BYTES, _EACH_BYTES = 600.0, 64 * 2**20, 1024
_MAX_ID_CHARS = 256


class KeptRequests:
    """The messages of requests whose answers have not come yet, by tenant, host and call id.

    They are kept in memory, so both calls of a host must reach the same process.
    """

    def __init__(self) -> None:
        self._kept: TTLCache[tuple[str, str, str], bytes] = TTLCache(
            _KEPT_BYTES, _KEPT_S, getsizeof=lambda written: len(written) + _EACH_BYTES
        )

    def keep(self, request: Request, host: str, call_id: str, messages: list[Any]) -> None:
        """Keep the messages of a call in place of those of an earlier call with its id.

        Messages or an id that exceed the limits are not kept, nor is an empty list.
        """
        key, written = (caller(request).tenant, host, call_id), to_json(messages)
        self._kept.pop(key, None)
        is_small = len(written) + _EACH_BYTES <= _KEPT_BYTES and len(call_id) <= _MAX_ID_CHARS
        if messages and is_small:
            self._kept[key] = written

    def find(self, request: Request, host: str, call_id: str | None) -> dict[str, Any] | None:
        """Return a chat request with the messages of a call; ``None`` if they are not known."""
        written = self._kept.get((caller(request).tenant, host, call_id or ""))
        return None if written is None else {"messages": json.loads(written)}


def kept_requests(request: Request) -> KeptRequests:
    """Return the kept messages of the app that a request is for."""
    state = request.app.state
    if not hasattr(state, "kept_requests"):
        state.kept_requests = KeptRequests()
    found: KeptRequests = state.kept_requests
    return found
