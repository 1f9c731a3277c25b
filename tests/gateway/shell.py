"""The layers of the shell around an endpoint that says what it saw."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from groundwire.config import Config
from groundwire.control.tenants.directory import Directory
from groundwire.gateway.middleware.auth import Authentication
from groundwire.gateway.middleware.limits import RequestLimits, parse_json
from groundwire.gateway.middleware.state import caller, trace_id
from groundwire.gateway.middleware.trace import Tracing

SECRET = "what a user wrote"


def shell(config: Config, *, is_local_demo: bool = False) -> Starlette:
    """An app whose every path is an echo, or fails as its path says."""
    own = config.gateway
    return Starlette(
        routes=[
            Route("/livez", _echo),
            Route("/v1/json", _json, methods=["POST"]),
            Route("/v1/boom", _boom),
            Route("/v1/broken", _broken),
            Route("/v1/slow", _slow),
            Route("/{path:path}", _echo, methods=["GET", "POST"]),
        ],
        middleware=[
            Middleware(Tracing),
            Middleware(
                Authentication,
                keyring=Directory(config),
                tenants=config.tenants,
                is_local_demo=is_local_demo,
            ),
            Middleware(
                RequestLimits, max_requests=own.max_requests, max_body_bytes=own.max_body_bytes
            ),
        ],
    )


async def _echo(request: Request) -> Response:
    body = await request.body()
    who = caller(request) if "caller" in request.scope["state"] else None
    return JSONResponse(
        {
            "n_bytes": len(body),
            "trace_id": trace_id(request),
            "tenant": who and who.tenant,
            "key_id": who and who.key_id,
            "passes_authorization": who and who.passes_authorization,
        }
    )


async def _json(request: Request) -> Response:
    return JSONResponse({"type": type(parse_json(await request.body())).__name__})


async def _boom(request: Request) -> Response:
    del request
    raise RuntimeError(SECRET)


async def _broken(request: Request) -> Response:
    del request

    async def pieces() -> AsyncIterator[bytes]:
        yield b"a"
        raise RuntimeError(SECRET)

    return StreamingResponse(pieces())


async def _slow(request: Request) -> Response:
    """Answers once the test says so."""
    let_go: asyncio.Event = request.app.state.let_go
    request.app.state.n_waiting += 1
    await let_go.wait()
    return Response(b"done")


def state(app: Starlette) -> Any:  # noqa: ANN401 - of the app
    """What tests and endpoints share."""
    app.state.let_go, app.state.n_waiting = asyncio.Event(), 0
    return app.state
