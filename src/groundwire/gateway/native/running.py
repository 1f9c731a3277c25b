"""Runs checks for an endpoint in threads, and stops waiting for them if the client is gone."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

from fastapi import Request, Response

from groundwire.gateway.chat.answer_checks import CheckTimeoutError
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.streamed import ClientGoneError, until_disconnect
from groundwire.gateway.middleware.state import services
from groundwire.gateway.native.route import JSON
from groundwire.gateway.services import Services
from groundwire.pipeline import Pipeline

T = TypeVar("T")


async def in_thread(request: Request, work: Callable[[], T]) -> T:
    """Run work that needs much processor time in a thread, and return its result.

    Raises:
        Problem: If the work takes too long, or the client has disconnected. Work that still waited
            for a thread then does not begin.
    """
    own = services(request)
    try:
        return await while_there(request, bounded(own, work))
    except CheckTimeoutError:
        raise too_slow(own) from None


async def while_there(request: Request, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, and cancel it if its client disconnects.

    Raises:
        Problem: If the client has disconnected.
    """
    try:
        return await until_disconnect(request, coroutine)
    except ClientGoneError:
        raise Problem(
            499, "client_gone", message="The client hung up before the check was done."
        ) from None


async def submitted(threads: Executor, work: Callable[[], T]) -> T:
    """Run work in a thread of a pool, and return its result."""
    return await asyncio.get_running_loop().run_in_executor(threads, work)


async def bounded(own: Services, work: Callable[[], T]) -> T:
    """Run work in a thread for checks, and return its result.

    Raises:
        CheckTimeoutError: If the work takes longer than ``gateway.check_timeout_s``, including the
            wait for a thread. A thread cannot be stopped, but a late result is discarded.
    """
    limit = asyncio.timeout(own.config.gateway.check_timeout_s)
    try:
        async with limit:
            return await submitted(own.checks, work)
    except TimeoutError as error:
        if limit.expired():
            raise CheckTimeoutError from error
        raise


def too_slow(own: Services) -> Problem:
    """Return the problem of a check that took too long."""
    return Problem(
        503,
        "check_timeout",
        message=f"The check was not done within {own.config.gateway.check_timeout_s:g} s.",
        next_step="Send less at a time, try again when less is going on, or raise "
        "gateway.check_timeout_s. It is not to be read as a pass.",
    )


def pipeline_of(request: Request) -> Pipeline:
    """Return the pipeline: the stages of a check.

    Raises:
        Problem: 503, if no pipeline was loaded, because the configuration checks no answers.
    """
    pipeline = services(request).pipeline
    if pipeline is None:
        raise Problem(
            503,
            "no_detector",
            message="No detector is loaded: under this configuration no answer is ever checked.",
            next_step="Set check.enabled: true (or let a tenant or a decision check answers), and "
            "start the gateway again.",
        )
    return pipeline


def to_json(data: object) -> bytes:
    """Encode data as JSON in ASCII, so that every reader of JSON Lines sees the same line ends."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False).encode("ascii")


def json_response(body: bytes) -> Response:
    """Return a response with a body that is already encoded as JSON."""
    return Response(body, media_type=JSON)


async def answer_in_thread(request: Request, work: Callable[[], dict[str, Any]]) -> Response:
    """Run work in a thread, encode its result there, and return it as a JSON response."""
    return json_response(await in_thread(request, lambda: to_json(work())))


def answered(data: object) -> Response:
    """Encode data as JSON, and return it as a response."""
    return json_response(to_json(data))
