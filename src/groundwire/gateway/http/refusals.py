"""Refusals: errors that replace a withheld answer, or refuse a request.

A refusal never quotes the answer: naming the unsupported claims would deliver them. Some codes and
messages are those that DVARA, another LLM gateway, documents.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from groundwire.compat.dvara import GroundingResult
from groundwire.detection.values import Outcome, worst
from groundwire.gateway.http.problems import Problem
from groundwire.pipeline import Checked
from groundwire.policy.policy import Action

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


def refused(code: RefusalCode) -> Problem:
    """Return the refusal that has this code."""
    return Problem.named(str(code))


def blocked(answers: Sequence[Checked]) -> Problem:
    """Return the refusal of a response with at least one blocked answer.

    The refusal has the code of the worst outcome among the blocked answers. If this outcome is
    ``hallucinated``, the message gives the number of ungrounded claims in all blocked answers.

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
        # The text has the plural even for one claim, like the text that DVARA documents.
        problem.message += f" ({n_claims} ungrounded claims)"
    return problem


def told_of(
    problem: Problem, *, trace_id: str, extension: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the value of ``groundwire`` in the event that ends a stream whose rest is withheld.

    ``problem`` is the refusal. ``extension`` is the result of the check, made by
    :func:`.marks.extension`. Its ``headers`` may quote the withheld text, so they are left out.
    """
    more = {key: value for key, value in (extension or {}).items() if key != "headers"}
    own = {"type": problem.type, "code": problem.code, "message": problem.message}
    return {**more, **own, "trace_id": trace_id}
