"""Makes the marks that tell a client the result of a check: headers, and a field of JSON events.

All functions are pure. The ``x-vsr-*`` headers are those of HaluGate, the hallucination check of
vLLM's Semantic Router. The ``x-groundwire-*`` headers are Groundwire's own.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from groundwire.control.audit.findings import AnswerFindings
from groundwire.detection.values import Outcome, worst
from groundwire.gateway.http.header_text import header_list
from groundwire.pipeline import Checked
from groundwire.pipeline.context import DUE
from groundwire.pipeline.conversation.request import Conversation
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.policy.policy import Action, strongest

#: Request header with which a client asks where in its request evidence was found.
DEBUG_HEADER = "x-groundwire-debug"


def beside_json(checked: Checked) -> Checked:
    """Return a result with the action ``header`` in place of ``body`` if the answer may be JSON.

    A program that expects JSON could not read JSON with a warning beside it.
    """
    is_json = checked.answer.kind is AnswerKind.STRUCTURED or _may_be_json(checked.answer)
    if checked.action is not Action.BODY or not is_json:
        return checked
    return replace(checked, ruling=replace(checked.ruling, action=Action.HEADER))


def vsr_headers(answers: Sequence[Checked]) -> list[tuple[str, str]]:
    """Return HaluGate's documented headers, and ``x-vsr-response-warnings`` of its newer versions.

    Only answers whose action is ``header`` lead to headers. If any answer is withheld there are no
    headers, because a refusal must not quote the text that it withholds. Findings in structured
    answers (JSON) add the header ``x-groundwire-pointers``, with the JSON Pointers of the spans.

    Returns:
        Names and values of the headers, in the documented order. Each header is about all answers
        whose action is ``header``; quoted texts are escaped where needed.
    """
    if any(answer.action is Action.BLOCK for answer in answers):
        return []
    marked = [answer for answer in answers if answer.action is Action.HEADER]
    hallucinated = [each for each in marked if each.outcome is Outcome.HALLUCINATED]
    is_unverified = any(each.outcome is Outcome.UNVERIFIED for each in marked)
    warnings = {"hallucination": bool(hallucinated), "unverified_factual": is_unverified}
    findings = AnswerFindings.of(hallucinated)
    values: dict[str, object] = {
        "x-vsr-fact-check-needed": any(warnings.values()),
        "x-vsr-hallucination-detected": bool(hallucinated),
        "x-vsr-hallucination-spans": header_list(findings.spans),
        "x-vsr-nli-contradictions": findings.n_contradictions,
        "x-vsr-max-severity": findings.max_severity,
        "x-vsr-unverified-factual-response": is_unverified,
        "x-vsr-verification-context-missing": is_unverified,
        "x-vsr-response-warnings": ",".join(name for name, holds in warnings.items() if holds),
        "x-groundwire-pointers": header_list(each for one in hallucinated for each in one.pointers),
    }
    # A header whose value is false, empty or unknown is left out, but 0 is kept.
    has_value = {name: value for name, value in values.items() if value or type(value) is int}
    return [(name, "true" if each is True else str(each)) for name, each in has_value.items()]


def outcome_headers(answers: Sequence[Checked]) -> list[tuple[str, str]]:
    """Return headers with the worst outcome and the strongest action of the answers.

    Without answers, there are no headers. If reasoning of the model came with an answer whose check
    was due, a third header says that the reasoning was not checked.
    """
    if not answers:
        return []
    headers = [
        ("x-groundwire-outcome", str(worst(answer.outcome for answer in answers))),
        ("x-groundwire-action", str(strongest(each.action for each in answers))),
    ]
    if unread := _unread(answers):
        headers.append(("x-groundwire-unread", ",".join(unread)))
    return headers


def evidence_headers(conversation: Conversation) -> list[tuple[str, str]]:
    """Return a response header that lists where in the request evidence was found.

    The value is ``none`` if no evidence was found. A client asks for this header with the request
    header :data:`DEBUG_HEADER`.
    """
    found = (f"{each.origin} {each.place}" for each in conversation.offered)
    return [("x-groundwire-evidence", header_list(found) or "none")]


def is_told_at_end(checked: Checked) -> bool:
    """Return whether the event that ends a streamed answer may report the outcome.

    The outcome ``unverified``, for an answer with nothing to check it against, is reported only if
    the action is ``header`` or stronger. The gateway DVARA has the same rule.
    """
    is_told = checked.action.strength >= Action.HEADER.strength
    return is_told or checked.outcome is not Outcome.UNVERIFIED


def extension(answers: Sequence[Checked], *, trace_id: str) -> dict[str, Any]:
    """Return the value of ``groundwire`` in the event that ends a streamed answer or a stream.

    The value has the results that a response without streaming has in its headers.

    Returns:
        JSON data: ``outcome``, ``action``, ``trace_id``, and under ``headers`` the result of
        :func:`vsr_headers` by name; ``unread`` if reasoning of the model was not checked.
    """
    unread = _unread(answers)
    return {
        "outcome": str(worst(answer.outcome for answer in answers)),
        "action": str(strongest(each.action for each in answers)),
        "trace_id": trace_id,
        "headers": dict(vsr_headers(answers)),
        **({"unread": unread} if unread else {}),
    }


def _unread(answers: Sequence[Checked]) -> list[str]:
    """Return ``["reasoning"]`` if an answer whose check was due has reasoning, else ``[]``."""
    has_reasoning = any(each.answer.has_reasoning and each.path in DUE for each in answers)
    return ["reasoning"] if has_reasoning else []


def _may_be_json(answer: Answer) -> bool:
    """Return whether an answer is, or may be, a JSON object or array."""
    if not answer.text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(answer.text, parse_int=float)  # Python's int refuses very long numbers
    except RecursionError:
        return True
    except ValueError:
        # The rest of the JSON may be in the parts that were not read.
        return answer.n_skipped > 0
    return True
