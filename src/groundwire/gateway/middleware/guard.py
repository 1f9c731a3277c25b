"""Base of the layers that admit or refuse requests before they are processed."""

from starlette.types import ASGIApp, Receive, Scope, Send

from groundwire.gateway.http.problems import Problem, problem_response
from groundwire.gateway.middleware.state import trace_id


class Guard:
    """A layer whose :meth:`check` raises a problem for requests that are refused."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def check(self, scope: Scope) -> None:
        """Return if a request may pass.

        Raises:
            Problem: If it may not.
        """
        raise NotImplementedError

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or refuse it."""
        if scope["type"] == "http":
            try:
                await self.check(scope)
            except Problem as problem:
                response = problem_response(problem, trace_id=trace_id(scope))
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)
