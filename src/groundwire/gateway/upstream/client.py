"""Sends a request to an upstream; if it fails, the next one is asked, except after a timeout."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from io import BytesIO
from random import Random
from typing import Protocol, Self

import aiohttp
from yarl import URL

from groundwire.config.tree import UpstreamDefaults
from groundwire.config.upstreams import Upstream
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.upstream import errors, routing
from groundwire.gateway.upstream.asking import UpstreamRequest
from groundwire.gateway.upstream.headers import Pairs
from groundwire.gateway.upstream.health import Health
from groundwire.gateway.upstream.reply import UpstreamReply
from groundwire.gateway.upstream.session import new_session, was_stale

_log = logging.getLogger(__name__)

#: A request body with more bytes than this is sent in pieces.
_LARGE_BYTES = 2**20

#: Statuses of a response after which another upstream is tried.
_TRY_OTHERS = frozenset({429, 500, 502, 503, 504})

#: Statuses that count as failures of the upstream. 429 does not: a busy upstream is healthy.
_FAILURES = frozenset({500, 502, 503, 504})


class Observer(Protocol):
    """Counts responses and failures of upstreams; the gateway's metrics implement this protocol."""

    def upstream_answered(self, upstream: str, *, seconds: float) -> None:
        """Record the seconds that an upstream took to send the headers of a response."""

    def upstream_failed(self, upstream: str, kind: str) -> None:
        """Record a failure of an upstream, of a kind such as ``connect`` or ``timeout``."""


class Tracer(Protocol):
    """Makes a trace span for each request to an upstream."""

    def asking(
        self, upstream: Upstream, ask: UpstreamRequest, headers: Pairs
    ) -> AbstractContextManager[object]:
        """Make a trace span that lasts until the response begins.

        In ``headers``, the trace headers of the client are replaced by those of the new span, so
        that the upstream can continue the trace.
        """


class Upstreams:
    """HTTP client that chooses an upstream by the requested model, and sends it the request.

    A client belongs to one event loop. It is a context manager, which closes the connections.

    Attributes:
        all: The upstreams in their configured order.
    """

    def __init__(
        self,
        upstreams: Sequence[Upstream],
        settings: UpstreamDefaults,
        *,
        random: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        observer: Observer | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        """Make the client; no connection is opened yet.

        Args:
            upstreams: The upstreams, with unique names.
            settings: Timeouts and limits.
            random: Draws the order of upstreams; a new generator by default.
            clock: Returns the time in seconds, for the health of upstreams.
            observer: Counts responses and failures.
            tracer: Makes trace spans.
        """
        self.all = tuple(upstreams)
        self._settings = settings
        self._health = {each.name: Health() for each in self.all}
        self._random, self._clock = random or Random(), clock
        self._observer, self._tracer = observer, tracer
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Make the HTTP session; no connection is opened yet."""
        self._session = new_session(self._settings)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def states(self) -> dict[str, str]:
        """Return the state of each upstream by name, ``up`` or ``down``, in configured order."""
        return {name: "up" if each.is_up else "down" for name, each in self._health.items()}

    async def send(self, ask: UpstreamRequest, *, to: Upstream | None = None) -> UpstreamReply:
        """Send a request, and return the response once its headers have arrived.

        If an upstream cannot be reached, or sends an invalid response or the status 429, 500, 502,
        503 or 504, the next upstream that serves the model is asked. If all fail, the last response
        is returned, if there is one. If an upstream accepts the connection, but sends no response
        in time, no other upstream is asked.

        Without ``to``, upstreams that are down and not due to be tried again are left out. If no
        upstream would be left, all are asked.

        Args:
            ask: The request.
            to: The only upstream to ask; ``None``: those that serve the model, or all if the
                request names no model.

        Raises:
            Problem: 502 if no upstream sent a valid response, 504 if an upstream sent no response
                in time, 503 if no upstream is configured, 404 if no upstream serves the model.
        """
        candidates = self._candidates(ask.model) if to is None else (to,)
        held: UpstreamReply | None = None
        failure: errors.UnansweredError | None = None
        try:
            for upstream in candidates:
                try:
                    reply = await self._ask(upstream, ask)
                except errors.UnansweredError as error:
                    # The model may still be working: asking another upstream would cost twice.
                    if error.kind == "timeout":
                        raise error.problem from error
                    failure = error
                else:
                    if held is not None:
                        await held.close()
                    held = reply
                    if reply.status not in _TRY_OTHERS:
                        return reply
        except BaseException:
            if held is not None:
                await held.close()
            raise
        if held is None:
            assert failure is not None
            raise failure.problem from failure
        return held

    def _candidates(self, model: str | None) -> tuple[Upstream, ...]:
        if not self.all:
            raise Problem.named("no_upstream")
        order = routing.in_order(model, self.all, random=self._random)
        if not order:
            assert model is not None
            raise errors.no_such_model(model)
        now = self._clock()
        asked = tuple(each for each in order if self._health[each.name].may_be_asked(now=now))
        # If all these upstreams are down, they are asked nevertheless: one may be up again.
        return asked or order

    async def _ask(self, upstream: Upstream, ask: UpstreamRequest) -> UpstreamReply:
        name, started = upstream.name, time.monotonic()
        self._health[name] = self._health[name].asked(now=self._clock(), rules=self._settings)
        try:
            response = await self._response(upstream, ask)
        except errors.UnansweredError as error:
            self._failed(name, error.kind)
            raise
        if response.status in _FAILURES:
            self._failed(name, "status")
        else:
            if not self._health[name].is_up:
                _log.warning("upstream %s is up again", name)
            self._health[name] = Health()
        if self._observer is not None:
            self._observer.upstream_answered(name, seconds=time.monotonic() - started)
        idle_s, broke = self._settings.idle_timeout_s, partial(self._failed, name)
        return UpstreamReply(response, upstream=name, idle_timeout_s=idle_s, broke=broke)

    async def _response(self, upstream: Upstream, ask: UpstreamRequest) -> aiohttp.ClientResponse:
        """Return an upstream's response; try again if a reused connection was already closed."""
        while True:
            started, is_reused = time.monotonic(), [False]
            try:
                response = await self._request(upstream, ask, is_reused)
            except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
                if was_stale(error, is_reused=is_reused[0], started=started):
                    continue
                raise self._unanswered(upstream.name, error) from error
            if not 200 <= response.status < 600:
                response.close()
                raise errors.invalid(upstream.name, f"status {response.status}")
            return response

    async def _request(
        self, upstream: Upstream, ask: UpstreamRequest, is_reused: list[bool]
    ) -> aiohttp.ClientResponse:
        assert self._session is not None, "the client was not entered"
        headers = ask.headers_for(upstream)
        tracer = self._tracer
        span = nullcontext() if tracer is None else tracer.asking(upstream, ask, headers)
        with span:
            async with asyncio.timeout(self._settings.response_timeout_s):
                return await self._session.request(
                    ask.method,
                    URL(ask.url(upstream), encoded=True),
                    headers=headers,
                    # aiohttp writes bytes in one go, and a file in pieces. A large body that is
                    # written in one go would block all other requests.
                    data=BytesIO(ask.body) if len(ask.body) > _LARGE_BYTES else ask.body or None,
                    allow_redirects=False,
                    trace_request_ctx=is_reused,
                )

    def _unanswered(self, name: str, error: Exception) -> errors.UnansweredError:
        reason = type(error).__name__
        is_connecting = isinstance(error, aiohttp.ConnectionTimeoutError)
        if isinstance(error, TimeoutError) and not is_connecting:
            return errors.late(name, self._settings.response_timeout_s)
        if isinstance(error, aiohttp.ClientResponseError | ValueError):
            return errors.invalid(name, reason)
        return errors.unreachable(name, reason)

    def _failed(self, name: str, kind: str) -> None:
        if self._observer is not None:
            self._observer.upstream_failed(name, kind)
        before = self._health[name]
        self._health[name] = after = before.failed(now=self._clock(), rules=self._settings)
        if before.is_up and not after.is_up:
            text = "upstream %s is down after %d failures in a row, the last: %s"
            _log.warning(text, name, after.n_failures, kind)
