"""Clients that take what they are given, or do not."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from groundwire.gateway.http.streamed import Streamed

pytestmark = pytest.mark.asyncio


class Pieces:
    """A body, of which it is known whether it was closed."""

    def __init__(self, pieces: Sequence[bytes], *, pause_s: float = 0) -> None:
        self._pieces, self._pause_s = pieces, pause_s
        self.is_closed = False

    async def give(self) -> AsyncGenerator[bytes]:
        try:
            for piece in self._pieces:
                await asyncio.sleep(self._pause_s)
                yield piece
        finally:
            self.is_closed = True


async def nobody_leaves() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def respond(response: Streamed, *, stalls_at: bytes | None = None) -> list[bytes]:
    """What a client gets; it takes nothing more once it was offered ``stalls_at``."""
    taken: list[bytes] = []

    async def send(message: Any) -> None:  # noqa: ANN401 - of ASGI
        body = message.get("body")
        if body == stalls_at and body is not None:
            await asyncio.Event().wait()
        if body:
            taken.append(body)

    async with asyncio.timeout(10):
        await response({"type": "http"}, nobody_leaves, send)
    return taken


async def test_a_client_that_takes_nothing_for_too_long_is_gone() -> None:
    body = Pieces([b"one", b"two", b"three"])
    taken = await respond(Streamed(body.give(), stall_timeout_s=0.02), stalls_at=b"two")
    assert (taken, body.is_closed) == ([b"one"], True)


async def test_an_upstream_that_is_silent_for_long_is_no_client_that_stalls() -> None:
    body = Pieces([b"one", b"two"], pause_s=0.05)
    taken = await respond(Streamed(body.give(), stall_timeout_s=0.02))
    assert (taken, body.is_closed) == ([b"one", b"two"], True)
