"""Refusals: errors that replace a withheld answer or refuse a request; some codes are DVARA's.

A refusal never quotes the answer: naming the unsupported claims would deliver them.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from groundwire.compat.dvara import GroundingResult
from groundwire.detection.values import Outcome, worst
from groundwire.gateway.http.problems import Problem
from groundwire.pipeline import Checked
from groundwire.policy.policy import Action

#: Type of refusals, except ``audit_unavailable``.
TYPE = "guardrail_violation"
#: Status of refusals, except ``audit_unavailable``. At a status of 500 or above, client libraries
#: would try again, and the next answer would likely be unsupported too.
STATUS = 403


class RefusalCode(StrEnum):
    """The reasons to withhold an answer or to refuse a request; clients see the values as codes."""

    HALLUCINATION_DETECTED = "hallucination_detected"
    UNVERIFIED = "response_unverified"
    PARTIAL = "response_partially_checked"
    CHECK_FAILED = "check_failed"
    STREAM_ERROR = "stream_error"
    STREAM_INCOMPLETE_UNGROUNDED = "stream_incomplete_ungrounded"
    STREAM_TOO_LARGE_TO_SCAN = "stream_too_large_to_scan"
    STREAM_TOOL_ARGUMENTS_UNENFORCEABLE = "stream_tool_arguments_unenforceable"
    UNCHECKED_ENDPOINT = "unchecked_endpoint"
    AUDIT_UNAVAILABLE = "audit_unavailable"  # status 503: nothing is wrong with the answer


_CODES = {
    Outcome.HALLUCINATED: RefusalCode.HALLUCINATION_DETECTED,
    Outcome.UNAVAILABLE: RefusalCode.CHECK_FAILED,
    Outcome.PARTIAL: RefusalCode.PARTIAL,
    Outcome.UNVERIFIED: RefusalCode.UNVERIFIED,
}
_TRY_AGAIN = "Try again; if it stays so, ask who runs this gateway, with the trace id."
#: Message and next step of each code. DVARA's API documents the first message, without a next step.
_TEXTS: Mapping[RefusalCode, tuple[str, str]] = {
    RefusalCode.HALLUCINATION_DETECTED: ("Response blocked: hallucination detected", ""),
    RefusalCode.UNVERIFIED: (
        "Response blocked: there was nothing to check it against",
        'Send what it has to rest on: results of tools, or metadata["grounding.sources"].',
    ),
    RefusalCode.PARTIAL: (
        "Response blocked: it could not be checked in full",
        "Send sources within the limits, as text, in a language that the detector reads.",
    ),
    RefusalCode.CHECK_FAILED: ("Response blocked: the check failed", _TRY_AGAIN),
    RefusalCode.STREAM_ERROR: (
        "Response blocked: the check failed while it was written",
        _TRY_AGAIN,
    ),
    RefusalCode.STREAM_INCOMPLETE_UNGROUNDED: (
        "Response blocked: the upstream broke off before it could be checked",
        "Try again.",
    ),
    RefusalCode.STREAM_TOO_LARGE_TO_SCAN: (
        "Response blocked: it is longer than what can be held to be checked",
        "Ask for a shorter answer, with max_tokens for example.",
    ),
    RefusalCode.STREAM_TOOL_ARGUMENTS_UNENFORCEABLE: (
        "Response blocked: the arguments of its tool calls cannot be read",
        "Try again.",
    ),
    RefusalCode.UNCHECKED_ENDPOINT: (
        "Request refused: answers of this endpoint are not checked",
        "Use POST /v1/chat/completions, or set gateway.unchecked_endpoints to mark.",
    ),
    RefusalCode.AUDIT_UNAVAILABLE: (
        "Response withheld: what is on record of it cannot be written",
        _TRY_AGAIN,
    ),
}


def refused(code: RefusalCode) -> Problem:
    """Return the refusal that has this code."""
    message, next_step = _TEXTS[code]
    if code is RefusalCode.AUDIT_UNAVAILABLE:  # temporary, so clients should try again
        return Problem(503, str(code), message=message, next_step=next_step)
    return Problem(STATUS, str(code), type=TYPE, message=message, next_step=next_step)


def blocked(answers: Sequence[Checked]) -> Problem:
    """Return the refusal of a response with at least one blocked answer.

    The refusal has the code of the worst outcome among the blocked answers. If this outcome is
    hallucinated, the message gives the number of ungrounded claims in all blocked answers.

    Raises:
        ValueError: If no answer is blocked, or the worst outcome is grounded or skipped.
    """
    withheld = [answer for answer in answers if answer.action is Action.BLOCK]
    code = _CODES.get(worst(answer.outcome for answer in withheld))
    if code is None:
        raise ValueError(f"none of {len(answers)} answers is to be blocked")
    problem = refused(code)
    if code is RefusalCode.HALLUCINATION_DETECTED:
        found = [answer.detection for answer in withheld if answer.detection is not None]
        n_claims = sum(len(GroundingResult.of(each).ungrounded_claims) for each in found)
        # DVARA documents this text with the plural, even for one claim.
        problem.message += f" ({n_claims} ungrounded claims)"
    return problem


def told_of(
    problem: Problem, *, trace_id: str, extension: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the field ``groundwire`` of the event that ends a stream whose rest is withheld.

    ``extension`` is the result of the check, made by :func:`.marks.extension`. Its ``headers`` may
    quote the withheld text, so they are left out.
    """
    more = {key: value for key, value in (extension or {}).items() if key != "headers"}
    own = {"type": problem.type, "code": problem.code, "message": problem.message}
    return {**more, **own, "trace_id": trace_id}
