"""Counts requests to the admin plane, in a family of their own: they are none of the users'."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.counting import CLIENT_LEFT


class CountingAdmins:
    """Counts each request once it has ended."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = CLIENT_LEFT

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        finally:
            self._metrics.admin_request_ended(scope["path"], status=status)
