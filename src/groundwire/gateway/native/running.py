"""Runs checks for an endpoint: in threads, and not for clients that are gone."""

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
    """Run work that holds a processor off the event loop.

    Raises:
        Problem: If it takes too long, or the client has gone; work that has not begun is not begun
            then.
    """
    own = services(request)
    try:
        return await while_there(request, bounded(own, work))
    except CheckTimeoutError:
        raise too_slow(own) from None


async def while_there(request: Request, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine while its client is there.

    Raises:
        Problem: If the client has gone.
    """
    try:
        return await until_disconnect(request, coroutine)
    except ClientGoneError:
        raise Problem(
            499, "client_gone", message="The client hung up before the check was done."
        ) from None


async def submitted(threads: Executor, work: Callable[[], T]) -> T:
    """Run work in a thread of a pool."""
    return await asyncio.get_running_loop().run_in_executor(threads, work)


async def bounded(own: Services, work: Callable[[], T]) -> T:
    """Run work in a thread for checks.

    Raises:
        CheckTimeoutError: If it takes longer than ``gateway.check_timeout_s``, the wait for a
            thread included. A thread cannot be stopped: what it gives after that is thrown away.
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
    """The problem of a check that took too long."""
    return Problem(
        503,
        "check_timeout",
        message=f"The check was not done within {own.config.gateway.check_timeout_s:g} s.",
        next_step="Send less at a time, try again when less is going on, or raise "
        "gateway.check_timeout_s. It is not to be read as a pass.",
    )


def pipeline_of(request: Request) -> Pipeline:
    """The stages of a check.

    Raises:
        Problem: If none were loaded.
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
    """A response whose body is JSON, as encoded before."""
    return Response(body, media_type=JSON)


async def answer_in_thread(request: Request, work: Callable[[], dict[str, Any]]) -> Response:
    """Run work in a thread, which also encodes its result, and return that as a JSON response."""
    return json_response(await in_thread(request, lambda: to_json(work())))
