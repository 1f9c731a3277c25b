"""Reads data that was stored in the state of a request or of its app."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from starlette.requests import HTTPConnection
from starlette.types import Scope

if TYPE_CHECKING:
    from groundwire.gateway.http.caller import Caller
    from groundwire.gateway.services import Services
    from groundwire.gateway.upstream import UpstreamReply
    from groundwire.gateway.upstream.asking import UpstreamRequest

    Ask = Callable[[UpstreamRequest], Awaitable[UpstreamReply]]


def trace_id(request: HTTPConnection | Scope) -> str:
    """Return the trace id of a request."""
    return str(_state(request)["trace_id"])


def caller(request: HTTPConnection | Scope) -> "Caller":
    """Return the caller of a request: its tenant, key and settings."""
    return cast("Caller", _state(request)["caller"])


def upstream_of(request: HTTPConnection) -> "Ask | None":
    """Return the function that asks the model behind Envoy, for a request that came from Envoy.

    The result is ``None`` for other requests: for them, the gateway asks one of its own upstreams.
    """
    return cast("Ask | None", _state(request).get("ask_upstream"))


def services(request: HTTPConnection) -> "Services":
    """Return the services of the gateway."""
    return cast("Services", request.app.state.services)


def _state(request: HTTPConnection | Scope) -> Scope:
    scope = request.scope if isinstance(request, HTTPConnection) else request
    return cast(Scope, scope["state"])
