"""The relay behind the layers of the shell, with all services but a pipeline."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from groundwire.config import Config, parse
from groundwire.control.tenants.directory import Directory
from groundwire.gateway.http.problems import Problem, as_problem, problem_response
from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.auth import Authentication
from groundwire.gateway.middleware.limits import RequestLimits
from groundwire.gateway.middleware.state import trace_id
from groundwire.gateway.middleware.trace import Tracing
from groundwire.gateway.relay import relay
from groundwire.gateway.services import open_services
from groundwire.pipeline import Pipeline
from tests.gateway.audited import events_in
from tests.gateway.chats import fixed
from tests.gateway.wire import ScriptedUpstream

#: Of the tenant default.
KEY = "gw_test_0123456789abcdef"

AUTHORIZED = {"Authorization": f"Bearer {KEY}"}

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def config_for(
    upstream: ScriptedUpstream | str, folder: Path, more: str = "", *, gateway: str = ""
) -> Config:
    """A configuration with one upstream; ``more`` is YAML, ``gateway`` more of its section."""
    url = upstream if isinstance(upstream, str) else upstream.url
    upstreams = "" if "upstreams:" in more else f"upstream: {{url: '{url}', api_key: sk-up}}\n"
    text = (
        f"gateway: {{api_key: {KEY}, data_dir: '{folder}'{gateway}}}\n"
        f"audit: {{path: '{folder / 'audit.jsonl'}'}}\n{upstreams}{more}"
    )
    return parse(text, name="groundwire.yaml")


def relay_app(config: Config) -> Starlette:
    """An app that relays everything under ``/v1``."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            app.state.services = await open_services(
                stack, config, metrics=Metrics(), pipeline=Pipeline(fixed())
            )
            yield

    own = config.gateway
    return Starlette(
        routes=[Route("/{path:path}", relay, methods=METHODS)],
        lifespan=lifespan,
        exception_handlers={Problem: _tell, ClientDisconnect: _tell},
        middleware=[
            Middleware(Tracing),
            Middleware(Authentication, keyring=Directory(config), tenants=config.tenants),
            Middleware(
                RequestLimits, max_requests=own.max_requests, max_body_bytes=own.max_body_bytes
            ),
        ],
    )


def events(folder: Path) -> list[dict[str, Any]]:
    """What stands in the audit log."""
    return events_in(folder / "audit.jsonl")


async def _tell(request: Request, error: Exception) -> Response:
    return problem_response(as_problem(error), trace_id=trace_id(request))
