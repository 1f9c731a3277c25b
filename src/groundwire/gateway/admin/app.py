"""The ASGI app of the admin plane: tenants, keys, policies, and the audit trail.

The app reads and changes the control plane: the database, the tenants and keys, and the audit
trail. The data plane, the app that serves clients' model requests, opens and closes the control
plane. Requests need an admin key, except on open paths such as ``/livez``, and in a local demo.
"""

from functools import cache, partial

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from groundwire.errors import GroundwireError
from groundwire.gateway.admin import keys, tenants, trail
from groundwire.gateway.admin.auth import AdminAuthentication
from groundwire.gateway.admin.problems import admin_problem
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.http.fixed_headers import FixedHeaders
from groundwire.gateway.http.openapi import openapi_document
from groundwire.gateway.http.problems import Problem, problem_response
from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.counting import Counting
from groundwire.gateway.middleware.health import livez, readyz
from groundwire.gateway.middleware.health import metrics as metrics_page
from groundwire.gateway.middleware.limits import RequestLimits
from groundwire.gateway.middleware.readiness import Readiness, Waiting
from groundwire.gateway.middleware.state import trace_id
from groundwire.gateway.middleware.trace import Tracing, log_failure

#: Limit on the bytes of a request body, for the API and for the console.
MAX_BODY_BYTES = 65_536

#: Limit on the requests that the API serves at a time. The console has the same limit, but its
#: requests are counted separately.
MAX_REQUESTS = 64

ROUTERS = (tenants.router, keys.router, trail.router)

#: Headers of responses. Caches must not store a response, since it may contain a key, and browsers
#: must not guess its type.
_UNCACHED = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def create_admin_app(control: ControlPlane, *, readiness: Readiness, metrics: Metrics) -> FastAPI:
    """Make the app of the admin plane. It shares the arguments with the app of the data plane."""
    app = FastAPI(title="Groundwire admin", docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.control, app.state.readiness, app.state.metrics = control, readiness, metrics
    app.state.verifying = trail.Verifying()
    for router in ROUTERS:
        app.include_router(router)
    describe = partial(openapi_document, "admin", title=app.title, routes=app.routes)
    app.openapi = cache(describe)  # type: ignore[method-assign]  # as FastAPI documents
    app.router.routes += [
        Route("/livez", livez),
        Route("/readyz", readyz),
        Route("/metrics", metrics_page),
    ]
    app.router.default = _nothing
    for error in (Problem, GroundwireError, HTTPException, RequestValidationError):
        app.add_exception_handler(error, _respond)
    # Each middleware wraps the ones added before it, so the last one sees a request first.
    app.add_middleware(Waiting, readiness=readiness)
    app.add_middleware(
        RequestLimits, max_requests=MAX_REQUESTS, max_body_bytes=MAX_BODY_BYTES, is_fixed=True
    )
    app.add_middleware(AdminAuthentication, control=control)
    app.add_middleware(FixedHeaders, headers=_UNCACHED)
    app.add_middleware(Tracing)
    app.add_middleware(Counting, began=lambda: None, ended=metrics.admin_request_ended)
    return app


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request for an unknown path."""
    del scope, receive, send
    raise Problem.named("unknown_admin_path")


def _methods_at(scope: Scope) -> list[str]:
    """Return the HTTP methods that the admin API accepts at the path of a request."""
    own = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    there = [route for route in own if route.matches(scope)[0] is not Match.NONE]
    return sorted({method for route in there for method in route.methods or ()})


async def _respond(request: Request, error: Exception) -> Response:
    problem = admin_problem(error)
    if problem.status >= 500 and problem is not error:
        log_failure(error, trace_id(request))
    if problem.status == 405 and (allowed := _methods_at(request.scope)):
        problem.headers["Allow"] = ", ".join(allowed)  # Starlette lists one route's methods only
    return problem_response(problem, trace_id=trace_id(request))
