"""Relays requests that no other route handles, and returns their responses unchecked.

The paths of these requests begin with ``/v1``, or with ``/openai``, as Azure's clients send them.
"""

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from groundwire.control.audit.events import unchecked_endpoint_event
from groundwire.control.audit.quoted import Keeping
from groundwire.gateway import unchecked
from groundwire.gateway.chat.recording import Recorder
from groundwire.gateway.forwarded import forwarded, require_no_key
from groundwire.gateway.http.coding import CodingError, decoded
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.refusals import RefusalCode, refused
from groundwire.gateway.http.streamed import Streamed, until_disconnect
from groundwire.gateway.middleware import state
from groundwire.gateway.model_list import all_models
from groundwire.gateway.paths import AZURE, PREFIX, RequestTarget, target_of
from groundwire.gateway.services import Services


class _Named(msgspec.Struct):
    """The part of a JSON body that is read: the model, by which the upstream is chosen."""

    model: Any = None


_names = msgspec.json.Decoder(_Named)


async def relay(request: Request) -> Response:
    """Forward a request to an upstream, and return its response.

    Raises:
        Problem: If the request is refused, its body is too large or not complete in time, a
            required audit event cannot be written, or no upstream responds.
        ClientDisconnect: If the client left before its response began.
    """
    raw = request.scope.get("raw_path")
    # ASGI servers may leave out the raw path. The path prefix of Azure's clients is replaced by
    # ``/v1/``.
    path = AZURE.sub(PREFIX, raw if isinstance(raw, bytes) else request.scope["path"].encode())
    require_no_key("path", path.decode("latin-1"))
    target = target_of(path)
    _check(request, target)
    limit_s = state.services(request).config.upstream.response_timeout_s
    try:
        async with asyncio.timeout(limit_s):
            body = await request.body()
    except TimeoutError as error:
        raise Problem.named("request_timeout", limit_s=limit_s) from error
    return await until_disconnect(request, _answer(request, target, body))


async def _answer(request: Request, target: RequestTarget, body: bytes) -> Response:
    services: Services = state.services(request)
    model = target.model or _model_of(request, body, services.config.gateway.max_body_bytes)
    if target.gives_text:
        await _allow(request, target, services, model=model)
    send, all_ = state.upstream_of(request), services.upstreams
    is_list = request.method == "GET" and target.path in {"models", "models/"}
    if send is None and is_list and len(all_.all) > 1:
        ask = forwarded(request, path=target.path, body=b"", model=None, accept_encoding="identity")
        return await all_models(all_, ask)
    ask = forwarded(request, path=target.path, body=body, model=model)
    reply = await (send or all_.send)(ask)
    marks = [unchecked.MARK_HEADER] if target.gives_text else []
    return Streamed(
        reply.chunks(),
        status=reply.status,
        headers=[*reply.headers, *marks],
        ended=reply.close,
        stall_timeout_s=services.config.upstream.idle_timeout_s,
    )


async def _allow(
    request: Request, target: RequestTarget, services: Services, *, model: str | None
) -> None:
    """Allow or refuse a request to an unchecked endpoint, and record the decision.

    Raises:
        Problem: If the request is refused, or the decision cannot be recorded.
    """
    caller = state.caller(request)
    decision = unchecked.decision_for(caller.overrides, services.config)
    event = unchecked_endpoint_event(
        tenant=caller.tenant,
        trace_id=state.trace_id(request),
        path=f"/v1/{target.path}",
        model=model,
        decision=decision,
        keeping=Keeping.of(services.config.audit),
    )
    await Recorder(services, trace_id=event.trace_id).event(event)
    if decision == unchecked.REFUSE:
        problem = refused(RefusalCode.UNCHECKED_ENDPOINT)
        services.metrics.refused(problem.code)
        raise problem


def _check(request: Request, target: RequestTarget) -> None:
    if "websocket" in request.headers.get("upgrade", "").lower():
        raise Problem.named("websocket_not_supported")
    if target.is_chat and (request.method == "POST" or target.path != "chat/completions"):
        raise Problem.named("unknown_chat_path")
    if target.words[0] == "admin":
        # A request for the admin plane may hold settings of the gateway: no upstream must see it.
        raise Problem.named("admin_path_on_data_plane")


def _model_of(request: Request, body: bytes, max_bytes: int) -> str | None:
    """Return the model that a JSON body names; ``None`` if no name can be read.

    The content type is ignored, because some clients send JSON as plain text or as a form. The
    upstream, not the gateway, refuses an invalid body.
    """
    coding = request.headers.get("content-encoding", "")
    try:
        model = _names.decode(decoded(body, coding, max_bytes=max_bytes)).model
    except (CodingError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return model if isinstance(model, str) else None
