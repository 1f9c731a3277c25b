"""How checks are run for an endpoint: in threads, and for nobody who has gone."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

from fastapi import Request, Response

from groundwire.gateway.native.route import JSON
from groundwire.gateway.problems import INVALID_REQUEST, SERVER, Problem
from groundwire.gateway.state import services
from groundwire.gateway.streamed import ClientGoneError, until_disconnect
from groundwire.pipeline import Pipeline

T = TypeVar("T")


async def in_thread(
    request: Request, work: Callable[[], T], *, threads: Executor | None = None
) -> T:
    """Run work that holds a processor off the event loop.

    Args:
        request: Who wants it done.
        work: What is to be done.
        threads: Where; ``None``: where checks are run.

    Raises:
        Problem: If the client has gone; work that has not begun is not begun then.
    """
    pool = services(request).checks if threads is None else threads
    try:
        return await until_disconnect(request, _submitted(pool, work))
    except ClientGoneError:
        raise Problem(
            status=499,
            type=INVALID_REQUEST,
            code="client_gone",
            message="The client hung up before the check was done.",
        ) from None


async def _submitted(threads: Executor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, work)


def pipeline_of(request: Request) -> Pipeline:
    """The stages of a check.

    Raises:
        Problem: If none were loaded.
    """
    pipeline = services(request).pipeline
    if pipeline is None:
        raise Problem(
            status=503,
            type=SERVER,
            code="no_detector",
            message="No detector is loaded: under this configuration no answer is ever checked.",
            next_step="Set check.enabled: true (or let a tenant or a decision check answers), and "
            "start the gateway again.",
        )
    return pipeline


def to_json(data: object) -> bytes:
    """JSON in ASCII: as JSON Lines, every reader agrees where a line ends."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False).encode("ascii")


def json_response(body: bytes) -> Response:
    """A response of JSON that is written already."""
    return Response(body, media_type=JSON)


async def answer_in_thread(
    request: Request, work: Callable[[], dict[str, Any]], *, threads: Executor | None = None
) -> Response:
    """A response of what some work gives; writing it down is part of the work."""
    return json_response(await in_thread(request, lambda: to_json(work()), threads=threads))
