"""Routes that accept bodies only as JSON in UTF-8, and the check of content types.

FastAPI alone would also accept ``NaN``, and JSON in UTF-16.
"""

import asyncio
from collections.abc import Callable, Coroutine
from email.message import Message
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.limits import parse_json

#: Bodies with more bytes than this are parsed in a thread, so that other requests need not wait.
_LARGE_BYTES = 65_536

JSON = "application/json"

#: Tags by which pydantic tells the models of a body apart, see
#: :mod:`groundwire.gateway.native.models`.
SHAPES = ("<answer and sources>", "<request and response>", "<messages>")


class JsonRequest(Request):
    """A request whose body is parsed strictly as JSON."""

    async def json(self) -> Any:  # noqa: ANN401 - JSON
        """Return the body as data.

        Raises:
            Problem: If the body is not valid JSON, or is nested too deeply.
        """
        if not hasattr(self, "_json"):
            body = await self.body()
            is_large = len(body) > _LARGE_BYTES
            self._json = await asyncio.to_thread(parse_json, body) if is_large else parse_json(body)
        return self._json


class NativeRoute(APIRoute):
    """A route that reads bodies strictly as JSON.

    Attributes:
        body_timeout_s: Seconds that a client has to send the body; ``None``: the route sets no
            limit.
    """

    body_timeout_s: float | None = None

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that reads the body strictly as JSON before FastAPI validates it."""
        handle = super().get_route_handler()

        async def read_and_handle(request: Request) -> Response:
            _require_json(request)
            strict = JsonRequest(request.scope, request.receive)
            try:
                async with asyncio.timeout(self.body_timeout_s):
                    await strict.json()  # errors of JSON come from here, not from FastAPI
            except TimeoutError:
                assert self.body_timeout_s is not None
                raise Problem.named("request_timeout", limit_s=self.body_timeout_s) from None
            try:
                return await handle(strict)
            except RequestValidationError as error:
                raise RequestValidationError(
                    [_in_the_body(each) for each in error.errors()]
                ) from None

        return read_and_handle


def _require_json(request: Request) -> None:
    """Check that the headers of a request declare uncompressed JSON in UTF-8.

    The content type must be ``application/json`` or end in ``+json``. Forms, and requests without a
    content type, are refused, because pages of any website can make a browser send them.

    Raises:
        Problem: 415, if the headers declare anything else.
    """
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise Problem.named("unsupported_coding")
    header = Message()
    header["Content-Type"] = request.headers.get("content-type", "")
    kind = header.get_content_type() if request.headers.get("content-type") else ""
    charset = header.get_param("charset", "utf-8")
    if str(charset).lower() not in ("utf-8", "utf8", "us-ascii"):
        raise Problem.named("unsupported_charset")
    if kind != JSON and not kind.endswith("+json"):
        raise Problem.named("unsupported_media_type")


def _in_the_body(error: dict[str, Any]) -> dict[str, Any]:
    """Return a validation error without the tags of models that pydantic adds to its ``loc``."""
    first, *rest = error["loc"]
    return {**error, "loc": (first, *(part for part in rest if part not in SHAPES))}
