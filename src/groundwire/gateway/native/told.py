"""The errors that the OpenAPI document tells of: which endpoint has which, with examples."""

from typing import Any

from groundwire.gateway.http.problems import AUTHENTICATION, INVALID_REQUEST, SERVER, Problem
from groundwire.gateway.http.refusals import RefusalCode, refused
from groundwire.gateway.native.route import JSON

_TRACE_ID = "0f8fad5bd9cb469fa16570867728950e"

#: Name of a response → what it is about, and examples of it.
_TOLD: dict[str, tuple[str, tuple[Problem, ...]]] = {
    "BadRequest": (
        "The request cannot be read, or what is in it cannot be checked.",
        (
            Problem(
                status=400,
                type=INVALID_REQUEST,
                code="invalid_json",
                message="The body is no JSON: expecting value at line 1, column 12.",
                next_step="Send one JSON document as UTF-8, Content-Type application/json.",
            ),
            Problem(
                status=400,
                type=INVALID_REQUEST,
                code="invalid_input",
                message="The answer is empty or only white space, so there is nothing to check. "
                "Pass the text that the model wrote.",
            ),
        ),
    ),
    "InvalidInput": (
        "The request is not as described.",
        (
            Problem(
                status=400,
                type=INVALID_REQUEST,
                code="INVALID_INPUT",
                message="hypothesis: it has no text.",
                next_step="Send a text.",
                param="hypothesis",
            ),
        ),
    ),
    "Unauthorized": (
        "There is no key in the request, or one that nobody has.",
        (
            Problem(
                status=401,
                type=AUTHENTICATION,
                code="missing_api_key",
                message="The request has no key.",
                next_step="Send it as Authorization: Bearer gw_...",
            ),
        ),
    ),
    "Blocked": (
        "The answer was withheld: something in it is not supported, or it could not be checked.",
        (
            Problem(
                status=403,
                type="guardrail_violation",
                code="hallucination_detected",
                message="Response blocked: hallucination detected (1 ungrounded claims)",
            ),
        ),
    ),
    "TooLarge": (
        "There is more than is taken.",
        (
            Problem(
                status=413,
                type=INVALID_REQUEST,
                code="body_too_large",
                message="The body of a request may have 33,554,432 bytes, and this one has more.",
                next_step="Send less, or raise gateway.max_body_bytes.",
            ),
        ),
    ),
    "UnsupportedMediaType": (
        "The body has another content type than those that are read.",
        (
            Problem(
                status=415,
                type=INVALID_REQUEST,
                code="unsupported_media_type",
                message="The content type of the body is none that is read here.",
                next_step="Say which it is, with the header Content-Type: application/json.",
            ),
        ),
    ),
    "InvalidBody": (
        "Fields are missing, unknown, or not what they should be.",
        (
            Problem(
                status=422,
                type=INVALID_REQUEST,
                code="invalid_body",
                message="answer: Field required.",
                next_step="/openapi.json has the schema of the body.",
                param="answer",
            ),
        ),
    ),
    "Failed": (
        "The model failed.",
        (
            Problem(
                status=500,
                type=SERVER,
                code="NLI_CLASSIFICATION_FAILED",
                message="The model failed (DetectionError).",
                next_step="Try again; if it stays, the log of the gateway has more under the "
                "trace id.",
            ),
        ),
    ),
    "UpstreamFailed": (
        "The upstream cannot be reached, or its answer broke off.",
        (
            Problem(
                status=502,
                type=SERVER,
                code="upstream_unreachable",
                message="The upstream cannot be reached.",
                next_step="Try again, or see to upstream.url.",
            ),
        ),
    ),
    "VerifierFailed": (
        "The verifier of the configuration gave no answer. Nothing was verified.",
        (
            Problem(
                status=502,
                type=SERVER,
                code="connection_failed",
                message="The endpoint cannot be reached. See that it runs and that base_url is "
                "right.",
                next_step="Try again; if it stays, whoever runs the gateway has to see to "
                "verify.*.",
            ),
        ),
    ),
    "TooLate": (
        "It took too long. Nothing was verified.",
        (
            Problem(
                status=504,
                type=SERVER,
                code="timeout",
                message="The verification took more than 30 s, and was given up.",
                next_step="Send fewer claims or spans, or raise gateway.check_timeout_s.",
            ),
        ),
    ),
    "NotReady": (
        "What would answer is not loaded, or not yet; or it took too long, or cannot be recorded.",
        (
            Problem(
                status=503,
                type=SERVER,
                code="no_detector",
                message="No detector is loaded: under this configuration no answer is ever "
                "checked.",
                next_step="Set check.enabled: true, and start the gateway again.",
            ),
            Problem(
                status=503,
                type=SERVER,
                code="NLI_MODEL_NOT_READY",
                message="No model is loaded that judges entailment: findings are not explained.",
                next_step="Set explain.enabled: true, and start the gateway again.",
            ),
            Problem(
                status=503,
                type=SERVER,
                code="check_timeout",
                message="The check was not done within 30 s.",
                next_step="Send less at a time, try again when less is going on, or raise "
                "gateway.check_timeout_s. It is not to be read as a pass.",
            ),
            refused(RefusalCode.AUDIT_UNAVAILABLE),
        ),
    ),
    "UpstreamTimeout": (
        "The upstream did not answer in time.",
        (
            Problem(
                status=504,
                type=SERVER,
                code="upstream_timeout",
                message="The upstream did not answer in time.",
                next_step="Try again, or raise upstream.response_timeout_s.",
            ),
        ),
    ),
}

_COMMON = {
    "401": "Unauthorized",
    "413": "TooLarge",
    "415": "UnsupportedMediaType",
    "503": "NotReady",
}
_CHECKS = _COMMON | {"400": "BadRequest", "422": "InvalidBody"}
_VERIFICATIONS = _CHECKS | {"500": "Failed", "502": "VerifierFailed", "504": "TooLate"}
_HALUGATE = _COMMON | {"400": "InvalidInput", "500": "Failed"}

#: Path → status → name of the response.
ERRORS: dict[str, dict[str, str]] = {
    "/v1/check": _CHECKS,
    "/v1/check/batch": _CHECKS,
    "/v1/verify": _VERIFICATIONS,
    "/v1/verify/trace": _VERIFICATIONS,
    "/api/v1/classify/fact-check": _HALUGATE,
    "/api/v1/nli": _HALUGATE,
    "/v1/chat/completions": {
        "400": "BadRequest",
        "401": "Unauthorized",
        "403": "Blocked",
        "413": "TooLarge",
        "502": "UpstreamFailed",
        "503": "NotReady",
        "504": "UpstreamTimeout",
    },
}


def error_responses() -> dict[str, Any]:
    """The errors, as components of the document."""
    return {name: _response(*told) for name, told in _TOLD.items()}


def _response(description: str, problems: tuple[Problem, ...]) -> dict[str, Any]:
    return {
        "description": description,
        "headers": {"X-Trace-ID": {"schema": {"type": "string"}}},
        "content": {
            JSON: {
                "schema": {"$ref": "#/components/schemas/ErrorResponse"},
                "examples": {
                    problem.code: {"value": problem.to_dict(trace_id=_TRACE_ID)}
                    for problem in problems
                },
            }
        },
    }
