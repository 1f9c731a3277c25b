"""Keeps the messages of requests for hosts that send the answers in a later call."""

import json
from typing import Any, TypeAlias, cast

from cachetools import TTLCache
from fastapi import Request

from groundwire.gateway.middleware.state import caller
from groundwire.gateway.native.running import to_json

#: ``_KEPT_S`` is the number of seconds for which messages are kept. ``_KEPT_BYTES`` is the limit on
#: the bytes of all kept messages together; each call counts ``_EACH_BYTES`` in addition.
_KEPT_S, _KEPT_BYTES, _EACH_BYTES = 600.0, 64 * 2**20, 1024
_MAX_ID_CHARS = 256

#: Tenant, host and call id → the messages, as JSON.
_Kept: TypeAlias = "TTLCache[tuple[str, str, str], bytes]"


def keep(request: Request, host: str, call_id: str, messages: list[Any]) -> None:
    """Keep the messages of a call, in place of those of an earlier call with the same id.

    The messages are kept in memory, so both calls of a host must reach the same process. Nothing is
    kept if there are no messages, or the messages or the id are too long.
    """
    kept, key, written = _kept(request), (caller(request).tenant, host, call_id), to_json(messages)
    kept.pop(key, None)
    is_small = len(written) + _EACH_BYTES <= _KEPT_BYTES and len(call_id) <= _MAX_ID_CHARS
    if messages and is_small:
        kept[key] = written


def find(request: Request, host: str, call_id: str | None) -> dict[str, Any] | None:
    """Return a chat request with the kept messages of a call; ``None`` if none are kept."""
    written = _kept(request).get((caller(request).tenant, host, call_id or ""))
    return None if written is None else {"messages": json.loads(written)}


def _kept(request: Request) -> _Kept:
    state = request.app.state
    if not hasattr(state, "kept_requests"):
        state.kept_requests = TTLCache(
            _KEPT_BYTES, _KEPT_S, getsizeof=lambda written: len(written) + _EACH_BYTES
        )
    return cast("_Kept", state.kept_requests)
