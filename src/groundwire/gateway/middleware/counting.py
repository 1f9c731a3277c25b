"""Counts requests: how many are being answered, how they ended, how long they took."""

import time
from collections.abc import Callable
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Of a client that left before it was answered; the custom of web servers.
CLIENT_LEFT = 499


class Ended(Protocol):
    """Counts a request that has ended."""

    def __call__(self, path: str, /, *, status: int, seconds: float) -> None: ...  # noqa: D102


class Counting:
    """Counts each request in and out, whatever happens between."""

    def __init__(self, app: ASGIApp, *, began: Callable[[], None], ended: Ended) -> None:
        """Stand before an app.

        Args:
            app: Answers requests.
            began: Counts a request in.
            ended: Counts it out.
        """
        self._app, self._began, self._ended = app, began, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, has_left, is_complete = CLIENT_LEFT, False, False

        async def send_noted(message: Message) -> None:
            nonlocal status, is_complete
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            if message["type"] == "http.response.body":
                is_complete = not message.get("more_body", False)

        async def receive_noted() -> Message:
            nonlocal has_left
            message = await receive()
            has_left = has_left or (message["type"] == "http.disconnect" and not is_complete)
            return message

        started = time.perf_counter()
        self._began()
        try:
            await self._app(scope, receive_noted, send_noted)
        finally:
            self._ended(
                scope["path"],
                status=CLIENT_LEFT if has_left else status,
                seconds=time.perf_counter() - started,
            )
