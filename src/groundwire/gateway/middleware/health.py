"""The probes ``/livez`` and ``/readyz``, and the page ``/metrics``."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.readiness import Readiness
from groundwire.gateway.services import Services


async def livez(request: Request) -> Response:
    """Answer that the process is alive, even if it is not ready."""
    del request
    return JSONResponse({"status": "alive"})


async def readyz(request: Request) -> Response:
    """Tell by the HTTP status (200 or 503) whether the gateway is ready, with details as JSON.

    If all upstreams are down, ``status`` in the JSON is ``degraded``, but the gateway is ready: its
    errors tell clients more than those of a load balancer that has no ready gateway. If the gateway
    has a database, ``status`` is also ``degraded`` if the audit log fails, or if the database fails
    after the start. While the database fails, the gateway goes on with the tenants and keys that it
    knows.
    """
    readiness: Readiness = request.app.state.readiness
    status, headers = (503, {"Retry-After": "1"}) if readiness.services is None else (200, {})
    return JSONResponse(readiness_report(readiness), status_code=status, headers=headers)


async def metrics(request: Request) -> Response:
    """Return the metrics in the text format of Prometheus."""
    counted: Metrics = request.app.state.metrics
    content, content_type = counted.render()
    return Response(content, headers={"Content-Type": content_type})


def readiness_report(readiness: Readiness) -> dict[str, Any]:
    """Return the state of the gateway and of its parts as JSON data."""
    if readiness.failure is not None:
        kind = type(readiness.failure).__name__
        return {"status": "failed", "models": {"status": "failed", "error": kind}}
    control = None if readiness.control is None else readiness.control.state
    kept = {} if control is None else control.to_dict()
    services = readiness.services
    if services is None:
        return {"status": "starting", "models": {"status": "loading"}, **kept}
    states = services.upstreams.states()
    is_down = bool(states) and "up" not in states.values()
    is_cut_off = control is not None and (control.is_audit_failing or not control.is_up)
    return {
        "status": "degraded" if is_down or is_cut_off else "ready",
        "models": _models(services),
        "upstreams": [{"name": name, "status": state} for name, state in states.items()],
        "warnings": readiness.warnings,
        **kept,
    }


def _models(services: Services) -> dict[str, Any]:
    info = services.pipeline.detector.info
    return {"status": "loaded", "detector": info.name, "operating_point": info.operating_point}
