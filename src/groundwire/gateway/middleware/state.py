"""What the outer layers know of a request: trace id, caller, services."""

from typing import TYPE_CHECKING, cast

from starlette.requests import HTTPConnection
from starlette.types import Scope

if TYPE_CHECKING:
    from groundwire.gateway.http.caller import Caller
    from groundwire.gateway.services import Services


def trace_id(request: HTTPConnection | Scope) -> str:
    """The trace id, which ties a response, its log lines and its audit events together."""
    return str(_state(request)["trace_id"])


def caller(request: HTTPConnection | Scope) -> "Caller":
    """The caller of a request."""
    return cast("Caller", _state(request)["caller"])


def services(request: HTTPConnection) -> "Services":
    """The services that requests are answered with."""
    return cast("Services", request.app.state.services)


def _state(request: HTTPConnection | Scope) -> Scope:
    scope = request.scope if isinstance(request, HTTPConnection) else request
    return cast(Scope, scope["state"])
