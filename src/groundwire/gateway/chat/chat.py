"""Handles chat requests: asks an upstream, has its answers checked, and responds."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import ExitStack, closing
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from groundwire.gateway.chat.answer_checks import AnswerChecks
from groundwire.gateway.chat.buffered_response import (
    LARGE_BYTES,
    CheckedBody,
    check_body,
    marked,
    of_new_body,
)
from groundwire.gateway.chat.chat_request import ChatRequest
from groundwire.gateway.chat.dialect import Dialect
from groundwire.gateway.chat.guarded_stream import ReleasedStream
from groundwire.gateway.chat.marks import DEBUG_HEADER, evidence_headers, outcome_headers
from groundwire.gateway.chat.observed import ObservedStream
from groundwire.gateway.chat.opening import open_context
from groundwire.gateway.chat.recording import Recorder, StreamReport
from groundwire.gateway.chat.release import Release
from groundwire.gateway.forwarded import forwarded
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.refusals import blocked
from groundwire.gateway.http.streamed import Streamed, encoded, until_disconnect
from groundwire.gateway.middleware import state
from groundwire.gateway.middleware.state import caller, services, trace_id
from groundwire.gateway.services import Services
from groundwire.gateway.upstream import UpstreamBrokenError, UpstreamReply
from groundwire.pipeline import DUE, CheckPath, RequestContext
from groundwire.pipeline.conversation.known_fields import headers_without_text
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.policy.policy import Action, reach

#: Seconds that a client may take to send the body of its request.
BODY_TIMEOUT_S = 60.0
#: About the highest number of bytes that are kept of a response without streaming, to be checked
#: after the response was sent. If the end is not kept, the response counts as unreadable.
OBSERVED_BYTES = 8 * 2**20

#: Limit on the number of background tasks, as a multiple of ``gateway.max_requests``. While so many
#: tasks run, new answers that would be checked in the background are not checked.
_PENDING_PER_REQUEST = 4
#: The recorded reason if an answer is not checked because too many background tasks run.
_OVERLOADED = "OverloadedError"

#: Type of the task that asks an upstream; the result of the task is the reply.
Sending: TypeAlias = "asyncio.Task[UpstreamReply]"


async def create(request: Request, dialect: Dialect) -> Response:
    """Return the upstream's response to a request, checked as far as the policy demands.

    Raises:
        Problem: If the body of the request is too large, arrives too slowly or cannot be read; if
            the request or the response is refused; or if the upstream sends no response.
        InvalidConversationError: If the body is not a JSON object, or may need a check but is not a
            conversation.
        InvalidTextError: If the request has invalid text, and the policy blocks unchecked answers.
        ClientDisconnect: If the client leaves before the response begins.
    """
    own = services(request)
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):  # slow senders use up gateway.max_requests
            raw = await request.body()
    except TimeoutError as error:
        raise Problem.named("request_timeout", limit_s=BODY_TIMEOUT_S) from error
    read = partial(
        ChatRequest.read,
        raw,
        dialect,
        deployment=request.path_params.get("deployment"),
        content_encoding=request.headers.get("content-encoding", ""),
        settings=own.config.gateway,
    )
    # Reading megabytes on the event loop would keep other requests waiting.
    chat = read() if len(raw) <= LARGE_BYTES else await asyncio.to_thread(read)
    return await until_disconnect(request, Exchange(own, request, chat).answer())


class Exchange:
    """Handles one chat request: asks the upstream, has its answer checked and responds."""

    def __init__(self, services: Services, request: Request, chat: ChatRequest) -> None:
        self._services, self._request, self._chat = services, request, chat
        self._caller, self._trace_id = caller(request), trace_id(request)
        self._recorder = Recorder(services, trace_id=self._trace_id, model=chat.model or "")
        self._pipeline, self._settings = services.pipeline, services.config.gateway
        self._open = partial(open_context, services, chat, self._caller)

    async def answer(self) -> Response:
        """Return the response for the client.

        Raises:
            Problem: If the request or the response is refused, or the upstream sends no response.
            InvalidConversationError: If a check may be due, and the request is not a conversation.
            InvalidTextError: If the request has invalid text, and the policy blocks unchecked
                answers.
        """
        if not self._pipeline.may_check(overrides=self._caller.overrides, request=self._chat.asks):
            return relayed(await self._send(is_read=False))
        if self._recorder.is_failing and (await self._open()).path in DUE:
            self._recorder.require_writable()
        # The upstream is slow: asking it before the request is read saves time.
        sending = asyncio.create_task(self._send(), name="ask an upstream")
        try:
            context = await self._open()
            if context.failure is not None:
                return await self._pass(context, sending, context.failure)
            return await self._told_of_evidence(context, sending)
        except BaseException:
            await _give_up(sending)
            raise

    async def _told_of_evidence(self, context: RequestContext, sending: Sending) -> Response:
        """Return the response, with a header about the evidence if the client asks for one.

        The header tells where in the request evidence was found. A refusal gets this header too.
        """
        is_asked = self._request.headers.get(DEBUG_HEADER) == "true"
        headers = evidence_headers(context.conversation) if is_asked else []
        answer = self._check if context.path in DUE else self._pass
        try:
            response = await answer(context, sending)
        except Problem as problem:
            problem.headers |= dict(headers)
            raise
        response.raw_headers += encoded(headers)
        return response

    async def _send(self, *, is_read: bool = True) -> UpstreamReply:
        ask = forwarded(
            self._request,
            path=self._chat.dialect.path,
            body=self._chat.forwarded,
            model=self._chat.model,
            # A compressed response would have to be decompressed before the gateway can read it.
            accept_encoding="identity" if is_read else None,
            # The body is sent decompressed, so the client's Content-Encoding would be wrong.
            without=b"content-encoding",
        )
        reply = await (state.upstream_of(self._request) or self._services.upstreams.send)(ask)
        if 300 <= reply.status < 400:
            # A client that followed the redirect would get an unchecked answer, and send its keys
            # to another server.
            await reply.close()
            raise Problem.named("upstream_redirects", upstream=reply.upstream, status=reply.status)
        return reply

    # Requests whose answers are not checked.

    async def _pass(
        self, context: RequestContext, sending: Sending, failure: str | None = None
    ) -> Response:
        """Relay a response without reading it.

        An outcome is recorded in two cases: the gate, a classifier of requests, decided that no
        check is needed; or a due check cannot take place, for the reason ``failure``, and the
        response is successful. In both cases, a successful response gets headers with the outcome.
        """
        reply = await sending
        is_success = 200 <= reply.status < 300
        if failure is not None and is_success:
            unread = Answer(index=0, kind=AnswerKind.TEXT)
            answer = self._pipeline.unavailable(context, unread, failure)
        elif failure is None and context.path is CheckPath.NOT_FACTUAL:
            answer = self._pipeline.check(context, Answer(index=0, kind=AnswerKind.EMPTY))
        else:
            return relayed(reply)
        await self._recorder.complete(context, [answer])
        return relayed(reply, outcome_headers([answer]) if is_success else [])

    # Requests whose answers are checked.

    async def _check(self, context: RequestContext, sending: Sending) -> Response:
        actions = _actions(context)
        wish = self._caller.overrides.release or self._settings.release
        release = Release.of(actions, wish, settles=self._recorder.settles)
        most = _PENDING_PER_REQUEST * self._settings.max_requests
        if release is Release.OBSERVE and self._services.background.n_running >= most:
            return await self._pass(context, sending, _OVERLOADED)
        threads = self._services.checks
        checks = AnswerChecks(
            self._pipeline, context, release=release, settings=self._settings, threads=threads
        )
        with ExitStack() as stack:
            stack.callback(checks.close)
            reply = await sending
            if not 200 <= reply.status < 300:
                return relayed(reply)
            if not _is_stream(reply) and release is not Release.OBSERVE:
                return await self._whole(context, checks, reply)
            stack.pop_all()  # :meth:`_stream` and :meth:`_observed` have the checks closed later
        if _is_stream(reply):
            return self._stream(context, checks, release, reply)
        return self._observed(context, checks, reply)

    def _stream(
        self, context: RequestContext, checks: AnswerChecks, release: Release, reply: UpstreamReply
    ) -> Response:
        async def record(report: Coroutine[Any, Any, StreamReport]) -> bool:
            found = await report
            if found.is_upstream_error:
                self._services.metrics.upstream_failed(reply.upstream, "error")
            return await self._recorder.streamed(context, found)

        def conclude(report: Coroutine[Any, Any, StreamReport]) -> "asyncio.Task[bool]":
            return self._services.background.start(record(report), name="check a stream")

        if release is Release.OBSERVE:
            observed = ObservedStream(reply, checks, dialect=self._chat.dialect, conclude=conclude)
            return Streamed(
                observed.events(), status=reply.status, headers=reply.headers, ended=observed.close
            )
        released = ReleasedStream(
            reply,
            checks,
            dialect=self._chat.dialect,
            model=self._chat.model or "",
            release=release,
            settings=self._settings,
            trace_id=self._trace_id,
            settles=self._recorder.settles,
            marks=any(each.strength >= Action.HEADER.strength for each in _actions(context)),
            conclude=conclude,
        )
        # Without X-Accel-Buffering, proxies such as nginx would delay events in a buffer.
        headers = of_new_body(reply)
        headers = headers_without_text(headers) if release.withholds else headers
        headers.append(("x-accel-buffering", "no"))
        return Streamed(
            released.events(), status=reply.status, headers=headers, ended=released.close
        )

    async def _whole(
        self, context: RequestContext, checks: AnswerChecks, reply: UpstreamReply
    ) -> Response:
        try:
            raw = await reply.read(self._settings.max_response_bytes)
        except UpstreamBrokenError as error:
            raise error.problem() from error
        read_at = perf_counter()
        body = await self._checked(checks, reply, raw)
        await self._recorder.complete(context, body.answers, since=read_at)
        if any(answer.action is Action.BLOCK for answer in body.answers):
            refusal = blocked(body.answers)
            refusal.headers |= dict(outcome_headers(body.answers))
            raise refusal
        return marked(reply, body, self._chat.dialect)

    def _observed(
        self, context: RequestContext, checks: AnswerChecks, reply: UpstreamReply
    ) -> Response:
        """Relay a response unchanged, and check it once it has been sent."""
        limit = min(self._settings.max_response_bytes, OBSERVED_BYTES)
        raw, is_complete = bytearray(), False

        async def events() -> AsyncGenerator[bytes]:
            nonlocal is_complete
            async for data in reply.chunks():
                if len(raw) <= limit:  # more bytes are relayed, but not kept
                    raw.extend(data)
                yield data
            is_complete = True

        async def ended() -> None:
            if is_complete or raw:
                # Even if the client left early, the bytes so far are checked, or recorded as
                # unreadable.
                check = self._check_later(context, checks, reply, bytes(raw))
                self._services.background.start(check, name="check a response")
            else:
                checks.close()
            await reply.close()

        return Streamed(events(), status=reply.status, headers=reply.headers, ended=ended)

    async def _check_later(
        self, context: RequestContext, checks: AnswerChecks, reply: UpstreamReply, raw: bytes
    ) -> None:
        with closing(checks):
            body = await self._checked(checks, reply, raw)
            await self._recorder.complete(context, body.answers)

    async def _checked(self, checks: AnswerChecks, reply: UpstreamReply, raw: bytes) -> CheckedBody:
        limit = self._settings.max_response_bytes
        body = await check_body(checks, reply, raw, dialect=self._chat.dialect, max_bytes=limit)
        if body.is_upstream_error:
            self._services.metrics.upstream_failed(reply.upstream, "error")
        return body


def _actions(context: RequestContext) -> frozenset[Action]:
    """Return all actions that the policy can lead to for the answers to a request."""
    return reach(context.policy, has_evidence=context.path is CheckPath.CHECKED)


async def _give_up(sending: Sending) -> None:
    """Cancel a request to an upstream, and close its reply if one has arrived."""
    sending.cancel()
    await asyncio.wait({sending})
    if not sending.cancelled() and sending.exception() is None:
        await sending.result().close()


def relayed(reply: UpstreamReply, marks: Sequence[tuple[str, str]] = ()) -> Response:
    """Return an upstream's reply unchanged, except for the added headers ``marks``."""
    headers = [*reply.headers, *marks]
    return Streamed(reply.chunks(), status=reply.status, headers=headers, ended=reply.close)


def _is_stream(reply: UpstreamReply) -> bool:
    media_type = (reply.header("content-type") or "").partition(";")[0]
    return media_type.strip().lower() == "text/event-stream"
