"""Counts requests: how many are being answered, how they ended, how long they took."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.gateway.metrics import Metrics

#: Of a client that left before it was answered; the custom of web servers.
CLIENT_LEFT = 499


class Counting:
    """Counts each request in and out, whatever happens between."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

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
        self._metrics.request_began()
        try:
            await self._app(scope, receive_noted, send_noted)
        finally:
            self._metrics.request_ended(
                scope["path"],
                status=CLIENT_LEFT if has_left else status,
                seconds=time.perf_counter() - started,
            )
