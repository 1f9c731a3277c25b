"""Reads the trace id and caller that middleware stored in a request, and the app's services."""

from typing import TYPE_CHECKING, cast

from starlette.requests import HTTPConnection
from starlette.types import Scope

if TYPE_CHECKING:
    from groundwire.gateway.http.caller import Caller
    from groundwire.gateway.services import Services


def trace_id(request: HTTPConnection | Scope) -> str:
    """Return the trace id of a request, which its response, log records and audit events have."""
    return str(_state(request)["trace_id"])


def caller(request: HTTPConnection | Scope) -> "Caller":
    """Return the caller of a request."""
    return cast("Caller", _state(request)["caller"])


def services(request: HTTPConnection) -> "Services":
    """Return the services of the gateway."""
    return cast("Services", request.app.state.services)


def _state(request: HTTPConnection | Scope) -> Scope:
    scope = request.scope if isinstance(request, HTTPConnection) else request
    return cast(Scope, scope["state"])
