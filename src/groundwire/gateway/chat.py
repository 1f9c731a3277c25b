"""``POST /v1/chat/completions``: answered by an upstream, checked on the way back."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import perf_counter, time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from groundwire.conversation import Answer, AnswerKind, read_response
from groundwire.errors import InvalidConversationError
from groundwire.gateway.audit.events import grounding_unavailable_event
from groundwire.gateway.auth import Caller
from groundwire.gateway.chat_request import ChatRequest
from groundwire.gateway.coding import CodingError, Decoder, narrowed
from groundwire.gateway.inflight import AnswersInFlight
from groundwire.gateway.judging import AnswerJudge
from groundwire.gateway.marks import outcome_headers, vsr_headers, warning_text
from groundwire.gateway.observed import ObservedStream
from groundwire.gateway.recording import Recorder
from groundwire.gateway.refusals import RefusalCode, blocked, refused
from groundwire.gateway.release import Release
from groundwire.gateway.released import ReleasedStream
from groundwire.gateway.report import StreamReport
from groundwire.gateway.services import Services
from groundwire.gateway.state import caller, services, trace_id
from groundwire.gateway.streamed import Streamed, until_disconnect
from groundwire.gateway.upstream import Reply
from groundwire.pipeline import CheckPath, Checked, Flow, Pipeline, RequestContext, Review
from groundwire.policy import Action, reach, resolve

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_PATH = "chat/completions"
_EVENTS = "text/event-stream"
_OF_BYTES = frozenset(
    {"content-encoding", "content-length", "content-md5", "content-digest", "digest", "etag"}
)


async def create(request: Request) -> Response:
    """Answer as the upstream does, once its answer has been checked as far as the policy wants."""
    own = services(request)
    chat = ChatRequest.read(
        await request.body(), forwards_sources=own.config.gateway.forwards_sources
    )
    exchange = Exchange(services=own, request=request, chat=chat)
    return await until_disconnect(request, exchange.answer())


class Exchange:
    """One request and its response."""

    def __init__(self, *, services: Services, request: Request, chat: ChatRequest) -> None:
        self._services, self._request, self._chat = services, request, chat
        self._caller, self._trace_id = caller(request), trace_id(request)
        self._recorder = Recorder(services, trace_id=self._trace_id)

    async def answer(self) -> Response:
        """The response.

        Raises:
            Problem: If there is none to give, or it is withheld.
            InvalidConversationError: If the request is none.
            InvalidTextError: If its question or its evidence is not valid text.
        """
        pipeline = self._services.pipeline
        if pipeline is None:
            await self._require_no_check()
            return _relay(await self._send())
        # The upstream is slow and asked at once: what is found out meanwhile costs no time.
        sending = asyncio.create_task(self._send())
        try:
            context = await self._in_thread(partial(self._open, pipeline))
            if context.path not in (CheckPath.CHECKED, CheckPath.NO_EVIDENCE):
                return await self._pass(context, pipeline, await sending)
            return await self._check(context, pipeline, sending)
        finally:
            if not sending.done():
                sending.cancel()

    def _open(self, pipeline: Pipeline) -> RequestContext:
        return pipeline.open(
            self._chat.body, tenant=self._caller.tenant, request=self._chat.asks
        )

    async def _send(self) -> Reply:
        headers = self._request.headers
        return await self._services.upstreams.send(
            method="POST",
            path=_PATH,
            query=self._request.url.query,
            headers=headers.items(),
            body=self._chat.forwarded,
            model=self._chat.model,
            caller=self._caller,
            # What comes has to be read here.
            accept_encoding=narrowed(headers.get("accept-encoding")),
        )

    # Without a check.

    async def _require_no_check(self) -> None:
        """No models are loaded, for nothing in the configuration wants a check; a request may.

        Raises:
            Problem: If it does, and names sources or may not pass unchecked.
        """
        config, tenant = self._services.config, self._caller.tenant
        policy = resolve(
            config.policy, tenant=config.tenants.get(tenant), request=self._chat.asks
        )
        if not policy.enabled:
            return
        conversation = read_request(self._chat.body)
        if conversation.is_explicit or decide(policy, Outcome.UNAVAILABLE) is Action.BLOCK:
            await self._recorder.event(
                grounding_unavailable_event(tenant=tenant, trace_id=self._trace_id)
            )
            raise refused(RefusalCode.GROUNDING_UNAVAILABLE)

    async def _pass(self, context: RequestContext, pipeline: Pipeline, reply: Reply) -> Response:
        if context.path is CheckPath.NOT_FACTUAL:
            # Nothing is known of the answer, and nothing needs to be.
            skipped = pipeline.check(context, Answer(index=0, kind=AnswerKind.EMPTY))
            await self._recorder.complete(context, [skipped])
        return _relay(reply)

    # With one.

    async def _check(
        self, context: RequestContext, pipeline: Pipeline, sending: "asyncio.Task[Reply]"
    ) -> Response:
        actions = reach(context.policy, has_evidence=context.path is CheckPath.CHECKED)
        release = Release.of(actions, self._services.config.gateway.release)
        checks = Checks(self._services, pipeline, context, release=release)
        try:
            reply = await sending
        except BaseException:
            checks.answers.close()
            raise
        if not 200 <= reply.status < 300:
            checks.answers.close()
            return _relay(reply)
        if _media_type(reply) == _EVENTS:
            return self._stream(context, checks, release, reply)
        if release is Release.OBSERVE:
            return Streamed(reply.status, reply.headers, self._observed(context, checks, reply))
        try:
            return await self._complete(context, checks, reply)
        finally:
            checks.answers.close()
            await reply.close()

    def _stream(
        self, context: RequestContext, checks: Checks, release: Release, reply: Reply
    ) -> Response:
        encoding = _header(reply, "content-encoding")

        def conclude(report: Coroutine[Any, Any, StreamReport]) -> None:
            self._services.background.start(self._record_stream(context, report), name="check")

        if release is Release.OBSERVE:
            observed = ObservedStream(
                reply, checks.answers, content_encoding=encoding, conclude=conclude
            )
            return Streamed(reply.status, reply.headers, observed.events())
        settings = self._services.config.gateway
        released = ReleasedStream(
            reply,
            checks,
            head=self._head(),
            release=release,
            content_encoding=encoding,
            max_held_chars=settings.max_held_chars,
            max_held_bytes=settings.max_response_bytes,
            keepalive_s=settings.keepalive_s,
            trace_id=self._trace_id,
            conclude=conclude,
        )
        # A proxy before us that buffers would undo the release sentence by sentence.
        headers = [*_of_new_body(reply), ("x-accel-buffering", "no")]
        return Streamed(reply.status, headers, released.events())

    async def _record_stream(
        self, context: RequestContext, report: Coroutine[Any, Any, StreamReport]
    ) -> None:
        await self._recorder.streamed(context, await report)

    async def _observed(
        self, context: RequestContext, checks: Checks, reply: Reply
    ) -> AsyncIterator[bytes]:
        """Relay a response as it comes, and check it once it is out."""
        limit = self._services.config.gateway.max_response_bytes
        body = bytearray()
        try:
            async for data in reply.chunks():
                if len(body) <= limit:
                    body += data
                yield data
            self._services.background.start(self._check_later(context, checks, reply, body))
        except BaseException:
            checks.answers.close()
            raise
        finally:
            await reply.close()

    async def _check_later(
        self, context: RequestContext, checks: Checks, reply: Reply, raw: bytearray
    ) -> None:
        try:
            _, checked = await self._check_body(context, checks, reply, bytes(raw))
            await self._recorder.complete(context, checked)
        finally:
            checks.answers.close()

    async def _complete(
        self, context: RequestContext, checks: Checks, reply: Reply
    ) -> Response:
        raw = await reply.read(self._services.config.gateway.max_response_bytes)
        read_at = perf_counter()
        body, checked = await self._check_body(context, checks, reply, raw)
        await self._recorder.complete(context, checked, added_s=perf_counter() - read_at)
        if any(each.action is Action.BLOCK for each in checked):
            raise blocked(checked)
        headers = reply.headers
        warnings = [warning_text(each) for each in checked]
        if isinstance(body, dict) and any(warnings):
            raw, headers = with_warnings(body, warnings), _of_new_body(reply)
        marks = [*vsr_headers(checked), *outcome_headers(checked)]
        return Plain(reply.status, [*headers, *marks], raw)

    async def _check_body(
        self, context: RequestContext, checks: Checks, reply: Reply, raw: bytes
    ) -> tuple[object, tuple[Checked, ...]]:
        """The body as JSON data, and what became of its answers."""
        limit = self._services.config.gateway.max_response_bytes
        try:
            body = _decoded(raw, _header(reply, "content-encoding"), limit)
            answers = read_response(body)
        except (CodingError, InvalidConversationError, ValueError, RecursionError) as error:
            # The message may quote the answer, which has no place in a log.
            log.warning("A response cannot be read: %s", type(error).__name__)
            unread = Answer(index=0, kind=AnswerKind.TEXT, n_skipped=1)
            pipeline = self._services.pipeline
            assert pipeline is not None  # or there would be no context
            return None, (pipeline.unavailable(context, unread, type(error).__name__),)
        return body, await checks.answers.check(answers)

    def _head(self) -> dict[str, Any]:
        """What the chunk of a refusal has if there was none before it."""
        return {
            "id": f"chatcmpl-{self._trace_id}",
            "object": "chat.completion.chunk",
            "created": int(time()),
            "model": self._chat.model or "",
        }

    async def _in_thread(self, function: Callable[[], _T]) -> _T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._services.checks, function)


def with_warnings(body: Mapping[str, Any], warnings: Sequence[str | None]) -> bytes:
    """The body of a response with a warning before each answer that has one."""
    choices = []
    for choice, warning in zip(body["choices"], warnings, strict=True):
        if warning is None:
            choices.append(choice)
            continue
        content = choice["message"].get("content")
        if isinstance(content, list):
            content = [{"type": "text", "text": f"{warning}\n\n"}, *content]
        else:
            content = f"{warning}\n\n{content or ''}"
        choices.append({**choice, "message": {**choice["message"], "content": content}})
    return json.dumps({**body, "choices": choices}, separators=(",", ":")).encode()


def _decoded(raw: bytes, encoding: str, limit: int) -> Any:  # noqa: ANN401 - JSON
    decoder = Decoder(encoding, max_bytes=limit)
    return json.loads(decoder.feed(raw) + decoder.finish())


def _relay(reply: Reply) -> Response:
    return Streamed(reply.status, reply.headers, relayed(reply))


def _media_type(reply: Reply) -> str:
    return _header(reply, "content-type").partition(";")[0].strip().lower()


def _header(reply: Reply, name: str) -> str:
    return ", ".join(value for key, value in reply.headers if key.lower() == name)


def _of_new_body(reply: Reply) -> list[tuple[str, str]]:
    """The headers of a reply, without those that are about its bytes."""
    return [(name, value) for name, value in reply.headers if name.lower() not in _OF_BYTES]
