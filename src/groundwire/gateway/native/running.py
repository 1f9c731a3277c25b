"""Runs the work of endpoints in threads, with a time limit, and encodes results as JSON."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request, Response

from groundwire.gateway.chat.answer_checks import CheckTimeoutError
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.streamed import until_disconnect
from groundwire.gateway.middleware.state import services
from groundwire.gateway.native.route import JSON
from groundwire.gateway.services import Services

T = TypeVar("T")


async def in_thread(request: Request, work: Callable[[], T]) -> T:
    """Run processor-heavy work in a thread, and return its result.

    Raises:
        Problem: If the work takes too long.
        ClientGoneError: If the client has disconnected.
        Exception: Any exception of ``work``.
    """
    own = services(request)
    try:
        return await until_disconnect(request, bounded(own, work))
    except CheckTimeoutError:
        raise too_slow(own) from None


async def bounded(own: Services, work: Callable[[], T]) -> T:
    """Run work in one of the threads for checks, and return its result.

    Raises:
        CheckTimeoutError: If the work takes longer than ``gateway.check_timeout_s``, including the
            wait for a thread. Work that has begun goes on, but its result is discarded.
        Exception: Any exception of ``work``.
    """
    limit = asyncio.timeout(own.config.gateway.check_timeout_s)
    try:
        async with limit:
            return await asyncio.get_running_loop().run_in_executor(own.checks, work)
    except TimeoutError as error:
        if limit.expired():
            raise CheckTimeoutError from error
        raise


def too_slow(own: Services) -> Problem:
    """Return the HTTP error that a client gets for a check that took too long."""
    return Problem.named("check_timeout", limit_s=own.config.gateway.check_timeout_s)


def to_json(data: object) -> bytes:
    """Encode data as JSON in ASCII; other characters become escapes."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False).encode("ascii")


async def answer_in_thread(request: Request, work: Callable[[], dict[str, Any]]) -> Response:
    """Run work in a thread, encode its result there, and return it as a JSON response."""
    return Response(await in_thread(request, lambda: to_json(work())), media_type=JSON)


def answered(data: object) -> Response:
    """Encode data as JSON, and return it as a response."""
    return Response(to_json(data), media_type=JSON)
