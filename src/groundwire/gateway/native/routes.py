"""The router of all endpoints of the gateway's own API; each takes POST only."""

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from groundwire.gateway.http.problems import Problem
from groundwire.gateway.native import batch, check, classify, verify

_OTHER_METHODS = ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]

router = APIRouter()


async def _only_post(request: Request) -> Response:
    raise Problem.named("method_not_allowed", path=request.url.path, method=request.method)


for part in (check.router, batch.router, verify.router, classify.router):
    router.include_router(part)
    for route in part.routes:
        assert isinstance(route, APIRoute)
        # Without this route, the proxy would forward requests with other methods to the upstream,
        # if the path begins with ``/v1/``.
        router.add_api_route(
            route.path, _only_post, methods=_OTHER_METHODS, include_in_schema=False
        )
