"""The app of the admin port: the admin API, and the console, which is below ``/console``."""

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from groundwire.config.tree import OpenIdConnect
from groundwire.control.accounts import Accounts
from groundwire.control.review.labels import Labels
from groundwire.errors import GroundwireError, needs_extra
from groundwire.gateway.admin.app import MAX_BODY_BYTES, MAX_REQUESTS, create_admin_app
from groundwire.gateway.admin.problems import admin_problem
from groundwire.gateway.console import audit, budget, overview, people, review, sign_in, tenants
from groundwire.gateway.console.services import ConsoleServices
from groundwire.gateway.console.visit import HOME, Visit, person_of, screen
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.http.pages import asset, with_page_policy
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.counting import Counting
from groundwire.gateway.middleware.limits import RequestLimits
from groundwire.gateway.middleware.readiness import Readiness
from groundwire.gateway.middleware.state import trace_id
from groundwire.gateway.middleware.trace import Tracing

if TYPE_CHECKING:
    from groundwire.gateway.console.oidc import Provider


class AdminPlane:
    """The ASGI app of the admin port: the admin API, and the console for browsers."""

    def __init__(self, control: ControlPlane, *, readiness: Readiness, metrics: Metrics) -> None:
        """Make the apps of the API and of the console; ``control`` need not be open yet.

        Raises:
            MissingExtraError: If ``oidc.issuer`` is set, and the extra ``oidc`` is not installed.
        """
        self._api = create_admin_app(control, readiness=readiness, metrics=metrics)
        pages = _pages(control, readiness)
        pages.state.control, pages.state.verifying = control, self._api.state.verifying
        limited = RequestLimits(
            pages, max_requests=MAX_REQUESTS, max_body_bytes=MAX_BODY_BYTES, is_fixed=True
        )
        traced = Tracing(with_page_policy(limited, posts_forms=True))
        self._console = Counting(traced, began=lambda: None, ended=metrics.admin_request_ended)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the app of its path; redirect browsers from ``/`` to the console."""
        app: ASGIApp = self._api
        path = scope.get("path", "")
        if path == HOME or path.startswith(f"{HOME}/"):
            app = self._console
        elif path == "/" and any(b"text/html" in value for _, value in scope["headers"]):
            app = RedirectResponse(HOME)  # browsers ask for HTML
        await app(scope, receive, send)


def _pages(control: ControlPlane, readiness: Readiness) -> Starlette:
    app = Starlette(
        routes=[
            Route(f"{HOME}/assets/{{name}}", asset),
            *overview.routes,
            *sign_in.routes,
            *tenants.routes,
            *budget.routes,
            *audit.routes,
            *review.routes,
            *people.routes,
            Route("/{path:path}", screen(_nothing), methods=["GET", "POST"]),
        ],
        exception_handlers=dict.fromkeys(
            (Problem, GroundwireError, HTTPException, Exception), _problem_page
        ),
    )
    app.state.console = ConsoleServices(
        control=control,
        readiness=readiness,
        accounts=Accounts(control.store),
        labels=Labels(control.store),
        provider=_provider(control.config.oidc),
    )
    return app


def _provider(settings: OpenIdConnect) -> "Provider | None":
    if settings.issuer is None:
        return None
    with needs_extra("oidc.issuer", "oidc"):
        from groundwire.gateway.console.oidc import Provider
    return Provider(settings)


async def _nothing(visit: Visit) -> Response:
    raise Problem.named("unknown_page", path=visit.request.url.path)


async def _problem_page(request: Request, error: Exception) -> Response:
    problem = admin_problem(error)
    # At status 500 or above, the person is not looked up: the database of sessions may be failing.
    person = await person_of(request) if problem.status < 500 else None
    page = Visit(request=request, person=person).page(
        "problem", status=problem.status, problem=problem, trace=trace_id(request)
    )
    page.headers.update(problem.headers)
    return page
