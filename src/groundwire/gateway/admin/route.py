"""The route class of the admin plane, and the dependencies of its endpoints, such as cursors."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from groundwire.control.audit.control_events import ControlEvents
from groundwire.control.audit.cursor import read_cursor
from groundwire.control.store.errors import StoreUnavailableError
from groundwire.control.tenants.record import IfVersion
from groundwire.gateway.admin.auth import admin
from groundwire.gateway.control import ControlPlane, store_unavailable
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.state import trace_id
from groundwire.gateway.native.described import error_responses
from groundwire.gateway.native.route import NativeRoute

_ETAG = re.compile(r'(?:W/)?"([0-9]{1,10})"')

#: Names of the operations that have no time limit.
UNBOUNDED = frozenset({"verify_trail"})

#: The time limit of a request, in multiples of ``store.timeout_s``.
_PATIENCE = 3.0

#: Limit on the entries of a page.
MAX_LIMIT = 500

#: Error statuses that the OpenAPI document adds to operations with a request body.
BODY = (408, 413, 415)


class AdminRoute(NativeRoute):
    """A route of the admin plane, which refuses unknown query parameters and reads JSON strictly.

    A request has a time limit until its response begins, unless :data:`UNBOUNDED` names its
    operation.
    """

    # The admin plane serves few requests at a time, so a slow sender must not block the others.
    body_timeout_s = 10.0

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that refuses unknown query parameters and limits a request's time."""
        has_body = self.body_field is not None
        handle = super().get_route_handler() if has_body else APIRoute.get_route_handler(self)
        parameters = sorted(_query_parameters(self.dependant))

        async def handle_in_time(request: Request) -> Response:
            if unknown := sorted(set(request.query_params) - set(parameters)):
                raise _unknown_parameter(unknown[0], parameters)
            limit_s = _PATIENCE * control_of(request).config.store.timeout_s
            try:
                async with asyncio.timeout(None if self.name in UNBOUNDED else limit_s):
                    return await handle(request)
            except TimeoutError:
                raise store_unavailable(StoreUnavailableError("it does not answer")) from None

        return handle_in_time


def _query_parameters(dependant: Dependant) -> set[str]:
    """Return the names of all query parameters of an operation and its dependencies."""
    own = {each.alias for each in dependant.query_params}
    return own.union(*map(_query_parameters, dependant.dependencies))


def _unknown_parameter(name: str, known: list[str]) -> Problem:
    there = f"Parameters are {', '.join(known)}." if known else "This operation takes none."
    return Problem.named("unknown_parameter", name=name, there=there)


#: Returns the error responses of an operation of the admin plane for the statuses that are passed.
errors = partial(error_responses, "admin")


def admin_router(tag: str, **more: Any) -> APIRouter:  # noqa: ANN401 - arguments of APIRouter
    """Make a router of the admin plane. It names each operation after its function."""
    return APIRouter(
        route_class=AdminRoute,
        tags=[tag],
        responses=errors(400, 401, 403, 422, 503),
        generate_unique_id_function=lambda route: route.name,
        **more,
    )


def control_of(request: Request) -> ControlPlane:
    """Return the control plane of the app that serves a request."""
    return cast(ControlPlane, request.app.state.control)


async def _control(request: Request) -> ControlPlane:
    return control_of(request)


async def _events(request: Request) -> ControlEvents:
    return control_of(request).events(admin(request).key_id, trace_id=trace_id(request))


async def _version(
    if_match: Annotated[
        str | None,
        Header(
            description='The version that a change is for, such as `"3"`: the ETag of the last '
            "answer. If the tenant has another version by now, nothing changes, and the answer is "
            "412. `*`: any version of a tenant that is stored."
        ),
    ] = None,
) -> IfVersion | None:
    """Return the version in If-Match, or ``"*"`` for any version; ``None`` without this header.

    Raises:
        Problem: 400, if the header is neither one version nor ``*``.
    """
    if if_match is None:
        return None
    if if_match.strip() == "*":
        return "*"
    found = _ETAG.fullmatch(if_match.strip())
    if found is None:
        raise Problem.named("invalid_if_match")
    return int(found[1])


async def _after(
    cursor: Annotated[
        str | None, Query(description="`next` of the page before; without it, the first page.")
    ] = None,
) -> str | None:
    """Return the id of the last entry of the page before; ``None`` without a cursor.

    Raises:
        InvalidCursorError: If the cursor is not valid.
    """
    return None if cursor is None else str(read_cursor(cursor, str)[0])


#: The control plane that serves a request.
Control = Annotated[ControlPlane, Depends(_control)]
#: The builder of the audit events about a request.
Events = Annotated[ControlEvents, Depends(_events)]
#: The version that a tenant must have for a change to be made; ``"*"`` for any version of a stored
#: tenant, ``None`` for no requirement.
Version = Annotated[IfVersion | None, Depends(_version)]
#: The id of the last entry of the page before; ``None`` for the first page.
After = Annotated[str | None, Depends(_after)]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Entries at most.")]
