"""A small app with the native endpoints, the real shell around them, and a caller from a header."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire import Detector, Pipeline
from groundwire.config import Config, parse
from groundwire.control.audit.log import AuditLog
from groundwire.engine.settings import n_threads
from groundwire.gateway.app import ERRORS
from groundwire.gateway.http.caller import Caller
from groundwire.gateway.http.problems import as_problem, problem_response
from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.limits import RequestLimits
from groundwire.gateway.middleware.state import trace_id
from groundwire.gateway.middleware.trace import Tracing
from groundwire.gateway.native import document, router
from groundwire.gateway.verifying import Verifications
from groundwire.policy.policy import Overrides
from tests.fixed_judge import FixedJudge
from tests.gateway.serving import serving

#: The paths of the endpoints.
PATHS = (
    *("/v1/check", "/v1/check/batch", "/v1/verify"),
    *("/api/v1/classify/fact-check", "/api/v1/nli"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeServices:
    """Of the services, those that native endpoints need."""

    config: Config
    pipeline: Pipeline
    checks: ThreadPoolExecutor
    verifications: Verifications
    audit: AuditLog = field(default_factory=lambda: AuditLog(None))
    metrics: Metrics = field(default_factory=Metrics)
    telemetry: None = None

    def overrides(self, tenant: str) -> Overrides:
        """What the configuration says of a tenant, or who has made the pipeline."""
        if tenant in self.config.tenants:
            return self.config.tenants.get(tenant, Overrides())
        return self.pipeline._tenants.get(tenant, Overrides())


class FromHeader:
    """Takes the tenant from a header: keys are another test's business."""

    def __init__(self, app: ASGIApp, *, services: SomeServices) -> None:
        self._app, self._services = app, services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            tenant = dict(scope["headers"]).get(b"x-test-tenant", b"default").decode()
            scope["state"]["caller"] = Caller(
                tenant=tenant,
                key_id=None,
                passes_authorization=False,
                overrides=self._services.overrides(tenant),
            )
        await self._app(scope, receive, send)


def native_app(services: SomeServices) -> FastAPI:
    """The app; its errors are told as the gateway tells them."""

    async def tell(request: Request, error: Exception) -> Response:
        return problem_response(as_problem(error), trace_id=trace_id(request))

    app = FastAPI(docs_url=None, redoc_url=None, redirect_slashes=False)
    app.include_router(router)
    app.openapi = document  # type: ignore[method-assign]
    app.state.services = services
    for error in ERRORS:
        app.add_exception_handler(error, tell)
    app.add_middleware(
        RequestLimits, max_requests=64, max_body_bytes=services.config.gateway.max_body_bytes
    )
    app.add_middleware(FromHeader, services=services)
    app.add_middleware(Tracing)
    return app


class Statuses:
    """Keeps the status of each response, also of those that nobody is there to read."""

    def __init__(self, app: ASGIApp, seen: "SimpleQueue[int]") -> None:
        self._app, self._seen = app, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_seen(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._seen.put(message["status"])
            await send(message)

        await self._app(scope, receive, send_seen)


@contextmanager
def native(
    pipeline: Pipeline | None, config: str = "", *, seen: "SimpleQueue[int] | None" = None
) -> Iterator[str]:
    """The base URL of an app that answers with a pipeline while the block runs.

    Args:
        pipeline: What checks; by default a pipeline that doubts one word.
        config: YAML.
        seen: Where the status of each response is put.
    """
    read = parse(config, name="groundwire.yaml", environ={})
    checks = ThreadPoolExecutor(2 * n_threads(read.detector.threads))
    pipeline = pipeline or fixed_pipeline()
    verifications = Verifications(read, pipeline.detector)
    try:
        services = SomeServices(
            config=read, pipeline=pipeline, checks=checks, verifications=verifications
        )
        app = native_app(services)
        with serving(app if seen is None else Statuses(app, seen)) as base:
            yield base
    finally:
        verifications.close()
        checks.shutdown(cancel_futures=True)


def fixed_pipeline(doubtful: str = "wrong", judge: Any = None, **stages: Any) -> Pipeline:  # noqa: ANN401
    """A pipeline that doubts one word."""
    return Pipeline(Detector(judge or FixedJudge(doubtful={doubtful: 0.9}), threads=2), **stages)


def without_times(data: Any) -> Any:  # noqa: ANN401 - JSON
    """JSON data without what differs from run to run."""
    if isinstance(data, dict):
        left_out = ("timings_ms", "timing_ms", "processing_time_ms")
        return {k: without_times(v) for k, v in data.items() if k not in left_out}
    return [without_times(each) for each in data] if isinstance(data, list) else data
