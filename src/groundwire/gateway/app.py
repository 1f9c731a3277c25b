"""The gateway as an ASGI app: its routes, and the middleware around them.

A request passes these layers of middleware, in this order, unless a layer refuses the request: one
counts the request, one gives it a trace id, one traces it with OpenTelemetry (if traces are
enabled), one finds its tenant by the key, one limits its size and the number of requests at a time,
and one waits until the gateway has started, with its models loaded. Routes of the proxy are plain
Starlette endpoints, which get the bytes of a request unchanged. The gateway's own API has FastAPI
routes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from groundwire.config import Config
from groundwire.control.tenants.directory import Directory
from groundwire.errors import ConfigError, GroundwireError, needs_extra
from groundwire.gateway import integrations, native, relay
from groundwire.gateway.chat import chat
from groundwire.gateway.collectors import of_control
from groundwire.gateway.dialects import DIALECTS
from groundwire.gateway.http.problems import Problem, as_problem, not_found, problem_response
from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.auth import Authentication
from groundwire.gateway.middleware.counting import Counting
from groundwire.gateway.middleware.health import livez, metrics, readyz
from groundwire.gateway.middleware.limits import RequestLimits
from groundwire.gateway.middleware.readiness import Readiness, Waiting
from groundwire.gateway.middleware.state import trace_id
from groundwire.gateway.middleware.trace import Tracing, log_failure
from groundwire.gateway.services import open_services, tenants_of
from groundwire.gateway.telemetry import Telemetry, Traced
from groundwire.pipeline import Pipeline

if TYPE_CHECKING:
    from groundwire.gateway.control import ControlPlane

#: Exceptions of endpoints that this app turns into responses. The middleware :class:`.Tracing`
#: handles all others.
ERRORS = (Problem, GroundwireError, HTTPException, RequestValidationError, ClientDisconnect)

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def create_app(
    config: Config,
    *,
    pipeline: Pipeline | None = None,
    control: "ControlPlane | None" = None,
    is_local_demo: bool = False,
    on_failure: Callable[[Exception], None] | None = None,
    telemetry: Telemetry | None = None,
) -> FastAPI:
    """Return the gateway as an ASGI app; its lifespan opens and closes the services that it uses.

    Args:
        config: The configuration.
        pipeline: A pipeline that is already loaded, and that the caller closes; ``None``: the app
            loads one.
        control: The control plane, with a database; the app opens and closes the control plane.
            ``None``: tenants and keys are those of the configuration.
        is_local_demo: Whether requests need no key. If true, requests whose header Host or Origin
            names another machine are refused.
        on_failure: Called with the error if the part of the start that runs in the background
            fails. With a pipeline and without a control plane, nothing of the start runs in the
            background, and an error ends the start of the app.
        telemetry: Makes traces; the app closes it. ``None``: the configuration decides whether
            traces are made.

    Raises:
        ConfigError: If no key is configured, there is no database to hold keys, and this is not a
            local demo.
        MissingExtraError: If traces are enabled, and OpenTelemetry is not installed.
    """
    telemetry = Telemetry.of(config) if telemetry is None else telemetry
    taken = _keys(config, control, is_local_demo=is_local_demo)
    readiness, counted = Readiness(on_failure), Metrics()
    if control is not None:
        readiness.control = control
        counted.watch(lambda: of_control(control.state))
        counted.activity = control.activity

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if telemetry is not None:
                stack.push_async_callback(asyncio.to_thread, telemetry.close)

            async def start() -> None:
                app.state.services = services = await open_services(
                    stack,
                    config,
                    metrics=counted,
                    pipeline=pipeline,
                    control=control,
                    telemetry=telemetry,
                )
                if control is not None:
                    control.pipeline = services.pipeline
                    await control.wait_until_open()
                readiness.succeed(services)
                if config.gateway.ext_proc_port is not None:
                    with needs_extra("gateway.ext_proc_port", "envoy"):
                        from groundwire.gateway.envoy.processor import serving
                    envoy = serving(app, config.gateway)
                    app.state.ext_proc_port = await stack.enter_async_context(envoy)

            if control is not None:
                stack.push_async_callback(control.close)
                await control.begin()
            elif pipeline is not None:
                await start()
                yield
                return
            loading = asyncio.create_task(_guarded(start(), readiness), name="start")
            yield
            loading.cancel()
            with suppress(asyncio.CancelledError):
                await loading

    app = FastAPI(
        title="Groundwire", docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=lifespan
    )
    app.state.readiness, app.state.metrics = readiness, counted
    # Routes are tried in order, and FastAPI's are slow to try. So the chat routes, which get most
    # requests, come first. The paths with /openai are those that Azure's clients send.
    for dialect in DIALECTS:
        create = partial(chat.create, dialect=dialect)
        for prefix in ("/v1", "/openai", "/openai/v1", "/openai/deployments/{deployment}"):
            app.router.routes.append(Route(f"{prefix}/{dialect.path}", create, methods=["POST"]))
    app.include_router(native.router)
    app.include_router(integrations.router)
    app.openapi = native.document  # type: ignore[method-assign]  # FastAPI documents this override
    app.router.routes += [
        Route("/livez", livez),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
        Route("/v1/{path:path}", relay.relay, methods=METHODS),
        Route("/openai/{path:path}", relay.relay, methods=METHODS),
        Route("/{path:path}", _nothing, methods=METHODS),
    ]
    for error in ERRORS:
        app.add_exception_handler(error, _tell)
    # Each added middleware wraps those added before, so the last one sees a request first.
    gateway = config.gateway
    app.add_middleware(Waiting, readiness=readiness)
    app.add_middleware(
        RequestLimits, max_requests=gateway.max_requests, max_body_bytes=gateway.max_body_bytes
    )
    app.add_middleware(
        Authentication,
        keyring=taken,
        tenants=tenants_of(config, control),
        is_local_demo=is_local_demo,
        until_known=None if control is None else control.require_open,
    )
    if telemetry is not None:
        app.add_middleware(Traced, telemetry=telemetry)
    app.add_middleware(Tracing)
    app.add_middleware(Counting, began=counted.request_began, ended=counted.request_ended)
    return app


def _keys(config: Config, control: "ControlPlane | None", *, is_local_demo: bool) -> Directory:
    """Return the keys that requests may use: the control plane's, else the configured ones.

    Raises:
        ConfigError: If there is no control plane and no configured key, except in a local demo.
    """
    if control is not None:
        return control.directory
    if not config.keys and not is_local_demo:
        raise ConfigError(
            ["There is no key: set tenants.ID.keys, or GROUNDWIRE_GATEWAY_API_KEY to gw_..."]
        )
    return Directory(config)


async def _nothing(request: Request) -> Response:
    raise not_found(request.method, request.url.path)


async def _tell(request: Request, error: Exception) -> Response:
    problem = as_problem(error)
    if problem.status >= 500 and problem is not error:
        log_failure(error, trace_id(request))
    return problem_response(problem, trace_id=trace_id(request), path=request.url.path)


async def _guarded(start: Coroutine[Any, Any, None], readiness: Readiness) -> None:
    try:
        await start
    except Exception as error:  # noqa: BLE001 - any error means that the start has failed
        readiness.fail(error)
