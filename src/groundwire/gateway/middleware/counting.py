"""Counts and logs requests: how many are in flight, how they ended, how long they took."""

import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.gateway.http.caller import OPEN
from groundwire.gateway.logs import log_access
from groundwire.gateway.metrics import admin_endpoint_of, endpoint_of

#: The status that is counted and logged if the client left before the response was complete, or if
#: no response began. The number is a convention, not a standard.
CLIENT_LEFT = 499

#: A function to call when a request has ended, such as :meth:`.metrics.Metrics.request_ended`.
Ended = Callable[..., None]


class Counting:
    """Counts the start and the end of each request, even if the app fails, and logs the end."""

    def __init__(self, app: ASGIApp, *, began: Callable[[], None], ended: Ended) -> None:
        """Wrap an app.

        ``began`` is called when a request begins. ``ended`` is called when the request has ended,
        with the path, the status and the duration in seconds.
        """
        self._app, self._began, self._ended = app, began, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on to the app, and count it."""
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
            status, seconds = CLIENT_LEFT if has_left else status, time.perf_counter() - started
            self._ended(scope["path"], status=status, seconds=seconds)
            _log(scope, status, seconds)


def _log(scope: Scope, status: int, seconds: float) -> None:
    """Log a request with the label of its endpoint; its path may hold text of a user."""
    path, state = scope["path"], scope.get("state", {})
    is_admin = path.startswith(("/v1/admin/", "/console"))
    fields = {
        "method": scope["method"],
        "endpoint": admin_endpoint_of(path) if is_admin else endpoint_of(path),
        "status": status,
        "duration_ms": round(seconds * 1000, 1),
        "trace_id": state.get("trace_id"),
    }
    if (caller := state.get("caller")) is not None:
        fields |= {"tenant": caller.tenant, "key_id": caller.key_id}
    if (admin := state.get("admin")) is not None:
        fields |= {"key_id": admin.key_id}
    log_access(fields, is_probe=path in OPEN)
