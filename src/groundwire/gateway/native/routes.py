"""The router of all native endpoints."""

from fastapi import APIRouter, Request, Response

from groundwire.gateway.http.problems import Problem
from groundwire.gateway.native import batch, check, classify, verify

#: The paths of all native endpoints; each takes POST only.
PATHS = (
    "/v1/check",
    "/v1/check/batch",
    "/v1/verify",
    "/v1/verify/trace",
    "/api/v1/classify/fact-check",
    "/api/v1/nli",
)

router = APIRouter()
for part in (check.router, batch.router, verify.router, classify.router):
    router.include_router(part)


async def _only_post(request: Request) -> Response:
    raise Problem(
        405,
        "method_not_allowed",
        message=f"{request.url.path} takes POST, and this is {request.method}.",
        next_step="Send a POST request; /openapi.json says what of.",
        headers={"Allow": "POST"},
    )


for path in PATHS:
    # Without these routes, the proxy would forward other methods on these paths to the upstream.
    router.add_api_route(
        path,
        _only_post,
        methods=["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"],
        include_in_schema=False,
        response_model=None,
    )
