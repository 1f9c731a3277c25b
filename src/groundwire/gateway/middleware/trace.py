"""Gives each request a trace id, adds the id to the response, and catches errors of the app."""

import logging
import re
import traceback
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.control.keys import holds_key
from groundwire.gateway.http.problems import as_problem, problem_response
from groundwire.gateway.logs import TRACE_ID

log = logging.getLogger(__name__)

HEADER = "X-Trace-ID"

_NAME = HEADER.lower().encode()
_PARENT = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_TAKEN = re.compile(rb"[A-Za-z0-9_-]{1,64}")


class Tracing:
    """Middleware that gives requests a trace id, and logs and answers errors of the app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer a request; pass on other events, such as those of the lifespan."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        trace_id = trace_id_of(scope)
        scope.setdefault("state", {})["trace_id"] = trace_id
        TRACE_ID.set(trace_id)  # for this request's task, and the tasks that it starts
        has_started = False

        async def send_traced(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                MutableHeaders(scope=message)[HEADER] = trace_id
            await send(message)

        try:
            await self._app(scope, receive, send_traced)
        except Exception as error:  # noqa: BLE001 - sent to the client and logged
            log_failure(error, trace_id)
            if not has_started:
                reply = problem_response(as_problem(error), trace_id=trace_id, path=scope["path"])
                await reply(scope, receive, send_traced)
            # If the response has started, its end is never sent, so the server closes the
            # connection, and the client can tell that the response is incomplete.


def trace_id_of(scope: Scope) -> str:
    """Return the trace id of a request: the client's own, or a new one.

    The client's own id is in X-Trace-ID, or else in ``traceparent``
    (https://www.w3.org/TR/trace-context/). An invalid id, or one that holds a key, is not used.
    """
    given = [bytes(value) for name, value in scope["headers"] if name == _NAME]
    if len(given) == 1 and _TAKEN.fullmatch(given[0]):
        taken = given[0].decode("ascii")
        if not holds_key(taken):  # trace ids are logged, but keys must not be
            return taken
    parents = [bytes(value) for name, value in scope["headers"] if name == b"traceparent"]
    parent = _PARENT.match(parents[0]) if len(parents) == 1 else None
    return parent[1].decode("ascii") if parent and parent[1].strip(b"0") else uuid4().hex


def log_failure(error: BaseException, trace_id: str) -> None:
    """Log the class of an error, or of its cause if it has one, and its place in the code.

    The message is left out, because it may quote a user.
    """
    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    log.error("Request %s failed: %s%s", trace_id, type(cause).__name__, where)
