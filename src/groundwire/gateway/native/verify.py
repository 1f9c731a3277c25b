"""``POST /v1/verify`` verifies whether an answer's claims follow from the evidence they cite."""

import asyncio
import logging
from threading import Event
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

from groundwire.errors import LimitExceededError, MissingExtraError
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.streamed import until_disconnect
from groundwire.gateway.middleware.state import caller, services
from groundwire.gateway.native import verify_models as models
from groundwire.gateway.native.described import REF, described, errors, request_examples
from groundwire.gateway.native.route import JSON, NativeRoute
from groundwire.gateway.native.running import to_json
from groundwire.gateway.verifying import Verifications
from groundwire.policy.policy import resolve_limits
from groundwire.verify.report import VerificationReport
from groundwire.verify.subject import AnswerSubject
from groundwire.verify.verifier import Scope

log = logging.getLogger(__name__)

router = APIRouter(route_class=NativeRoute)

_EXAMPLES = request_examples()

#: Type of a verification error that an invalid request causes → the invalid field; ``None`` if the
#: type does not tell which field it is.
_OF_THE_REQUEST: dict[str, str | None] = {
    "no_spans": "spans",
    "malformed_spans": "spans",
    "malformed_answer": "answer",
    "no_claims": "answer",
    "invalid_argument": None,
    "unreadable": None,
}
#: Type of a verification error of the backend → the status of the response; 502 for other types.
_OF_THE_BACKEND = {
    "verifier_error": 500,
    "missing_api_key": 503,
    "missing_service_url": 503,
    "rate_limited": 503,
    "timeout": 504,
}
_NOT_SET_UP = ("missing_api_key", "missing_service_url")


@router.post(
    "/v1/verify",
    operation_id="verify",
    summary="Verify an answer claim by claim",
    tags=["Checks"],
    responses={
        200: described(
            "The report. Also one that flags the answer has this status.",
            {"$ref": f"{REF}Verification"},
        ),
        **errors(400, 422, 500, 502, 504),
    },
)
async def verify(
    request: Request,
    body: Annotated[models.VerifyRequest, Body(openapi_examples=_EXAMPLES["/v1/verify"])],
) -> Response:
    """Tell for each claim of an answer whether it follows from the evidence that it cites.

    The response is the report of `detect_hallucination`, as `groundwire verify --json` prints it.
    The configured verifier (`verify.*`) reads each claim with its evidence and without it.
    `flagged` is true if a claim did not pass, or was not verified.
    """
    limit = services(request).config.detector.max_answer_chars
    if len(body.answer) > limit:
        raise LimitExceededError("answer", len(body.answer), limit, "detector.max_answer_chars")
    _require_within_limits(request, body.spans)
    own, over = services(request).verifications, Event()
    scope = Scope(tenant=caller(request).tenant, is_over=over.is_set)
    try:
        async with asyncio.timeout(own.timeout_s):
            loop = asyncio.get_running_loop()
            work = loop.run_in_executor(own.threads, _report, own, body, scope)
            return Response(await until_disconnect(request, work), media_type=JSON)
    except TimeoutError:
        raise Problem.named("verification_timeout", limit_s=own.timeout_s) from None
    finally:
        over.set()  # the thread cannot be stopped, but the verifier looks at this event


def _report(own: Verifications, body: models.VerifyRequest, scope: Scope) -> bytes:
    try:
        report = own.verify(
            AnswerSubject(body.answer),
            body.spans,
            body.settings(),
            scope=scope,
            with_citations=body.citations,
        )
    except MissingExtraError as error:
        raise Problem.named("verifier_unavailable", error=error) from error
    if report.error is not None:
        raise _problem(report)
    return to_json(report.to_dict())


def _require_within_limits(request: Request, spans: list[Any]) -> None:
    """Check that the evidence in a request exceeds no limit of the gateway or of the tenant.

    A check leaves out evidence beyond the limits. A verification is refused instead, because claims
    that cite the missing evidence would seem to cite nothing.

    Raises:
        Problem: If there are more than :data:`.verify_models.MAX_SPANS` pieces of evidence.
        LimitExceededError: If there are more pieces than the configuration or the tenant allows, or
            a text is too long.
    """
    n = len(spans)
    if n > models.MAX_SPANS:
        raise Problem.named("too_many_spans", n=n, limit=models.MAX_SPANS)
    limits = resolve_limits(services(request).config.limits, caller(request).overrides)
    if limits.max_sources and n > limits.max_sources:
        raise LimitExceededError("list of spans", n, limits.max_sources, "evidence.max_sources")
    objects = [each for each in spans if isinstance(each, dict)]
    texts = [each.get(key) for each in objects for key in ("text", "snippet")]
    longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
    if limits.max_source_chars and longest > limits.max_source_chars:
        raise LimitExceededError(
            "longest span", longest, limits.max_source_chars, "evidence.max_source_chars"
        )


def _problem(report: VerificationReport) -> Problem:
    """Return the HTTP error that a client gets for a verification that failed."""
    why, message = str(report.error_type), str(report.error)
    if why in _OF_THE_REQUEST:
        code = "invalid_setting" if why == "invalid_argument" else why
        return Problem(400, code, message=message, param=_OF_THE_REQUEST[why])
    log.warning("A verification failed: %s", why)
    if why in _NOT_SET_UP:
        message = f"The verifier {report.setup.backend} of this gateway is not set up."
    return Problem(
        _OF_THE_BACKEND.get(why, 502),
        why,
        message=message,
        next_step="Try again; if it stays, whoever runs the gateway has to see to verify.*.",
    )
