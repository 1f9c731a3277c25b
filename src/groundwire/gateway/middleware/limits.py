"""Limits on requests: on their number at a time, and on the size and depth of bodies."""

import json
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.detection.rows import refuse_constant
from groundwire.gateway.http.caller import OPEN
from groundwire.gateway.http.problems import Problem, as_problem, invalid_json, too_large
from groundwire.gateway.middleware.guard import Guard


class RequestLimits(Guard):
    """Refuses requests over the limits before they are processed, or while the body is received.

    Requests for probes, metrics and the OpenAPI document (:data:`.caller.OPEN`) have no limits, and
    are not counted.

    Attributes:
        n_requests: The number of requests in flight that are counted.
    """

    def __init__(
        self, app: ASGIApp, *, max_requests: int, max_body_bytes: int, is_fixed: bool = False
    ) -> None:
        """Wrap an app.

        Args:
            app: Answers requests within the limits.
            max_requests: Limit on the requests that are answered at a time.
            max_body_bytes: Limit on the bytes of a body.
            is_fixed: Whether no setting can raise these limits; errors then name no setting.
        """
        super().__init__(app)
        self._max_requests, self._max_body_bytes = max_requests, max_body_bytes
        self._is_fixed = is_fixed
        self.n_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on to the app, or refuse it."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        self.n_requests += 1
        try:
            await super().__call__(scope, self._counting(receive), send)
        finally:
            self.n_requests -= 1

    async def check(self, scope: Scope) -> None:
        """Check the number of requests, and the declared length of a body.

        Raises:
            Problem: If a limit is exceeded.
        """
        if self.n_requests > self._max_requests:
            raise too_many(self._max_requests, is_fixed=self._is_fixed)
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._max_body_bytes:
            raise too_large(self._max_body_bytes, int(length[:20]), is_fixed=self._is_fixed)

    def _counting(self, receive: Receive) -> Receive:
        """Return a ``receive`` that raises a problem once the body has too many bytes.

        The check of Content-Length is not enough, because the header may be missing or wrong.
        """
        n_bytes = 0

        async def receive_counted() -> Message:
            nonlocal n_bytes
            message = await receive()
            if message["type"] == "http.request":
                n_bytes += len(message.get("body", b""))
                if n_bytes > self._max_body_bytes:
                    raise too_large(self._max_body_bytes, None, is_fixed=self._is_fixed)
            return message

        return receive_counted


def too_many(limit: int, *, is_fixed: bool = False) -> Problem:
    """Return the problem of too many requests at a time.

    ``is_fixed`` says that no setting can raise the limit; the problem then names no setting.
    """
    raised = "" if is_fixed else ", or raise gateway.max_requests"
    return Problem.named("too_many_requests_at_a_time", limit=limit, raised=raised)


def parse_json(
    body: bytes, object_pairs_hook: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None
) -> Any:  # noqa: ANN401 - JSON
    """Parse JSON from an untrusted client.

    ``object_pairs_hook`` makes a dictionary from the key-value pairs of a JSON object, as for
    :func:`json.loads`.

    Raises:
        Problem: If the body is not valid JSON, or nested too deeply. ``NaN``, ``Infinity`` and
            integers of thousands of digits are refused too.
    """
    try:
        text = body.decode("utf-8-sig")
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=object_pairs_hook)
    except UnicodeDecodeError as error:
        raise invalid_json(f"byte {error.start:,} is not UTF-8") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno:,}, column {error.colno:,}"
        raise invalid_json(f"{error.msg.lower()} at {where}") from error
    except RecursionError as error:
        raise as_problem(error) from error
    except ValueError as error:
        raise invalid_json("it has a number that cannot be read") from error
