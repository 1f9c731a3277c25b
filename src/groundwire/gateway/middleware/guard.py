"""Base class of middleware that admits or refuses requests before they are processed."""

from starlette.types import ASGIApp, Receive, Scope, Send

from groundwire.gateway.http.problems import Problem, problem_response
from groundwire.gateway.middleware.state import trace_id


class Guard:
    """Middleware that refuses each request for which :meth:`check` raises a problem."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def check(self, scope: Scope) -> None:
        """Raise a problem if the request must not pass on to the app; subclasses implement this.

        Raises:
            Problem: If the request is refused; the client gets this problem.
        """
        raise NotImplementedError

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on to the app, or refuse it."""
        if scope["type"] == "http":
            try:
                await self.check(scope)
            except Problem as problem:
                response = problem_response(problem, trace_id=trace_id(scope), path=scope["path"])
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)
