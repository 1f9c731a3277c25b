"""Marks on answers that a client gets: headers, a warning, an extension.

Pure functions over :class:`groundwire.Checked` values. ``x-vsr-*`` are HaluGate's headers, exactly
as it documents them, and stand where the action is ``header``; ``x-groundwire-*`` are ours, and
tell outcomes that HaluGate has no word for.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from groundwire.control.audit.findings import AnswerFindings
from groundwire.detection.values import Outcome, worst
from groundwire.gateway.chat.body_warning import warning_text
from groundwire.gateway.http.header_text import header_list
from groundwire.pipeline import Checked
from groundwire.pipeline.context import DUE
from groundwire.pipeline.conversation import Answer, AnswerKind, Conversation
from groundwire.policy.policy import Action

__all__ = [
    "beside_json",
    "extension",
    "is_told_at_end",
    "outcome_headers",
    "strongest",
    "vsr_headers",
    "warning_text",
]

_TRUE = "true"

#: Request header that asks which texts were used as evidence.
DEBUG_HEADER = "x-groundwire-debug"


def beside_json(checked: Checked) -> Checked:
    """The result for an answer, with the action ``header`` in place of ``body`` if it is JSON.

    A warning before or after JSON would make it unreadable for the program that asked for it.
    """
    is_json = checked.answer.kind is AnswerKind.STRUCTURED or _may_be_json(checked.answer)
    if checked.action is not Action.BODY or not is_json:
        return checked
    return replace(checked, ruling=replace(checked.ruling, action=Action.HEADER))


def vsr_headers(answers: Sequence[Checked]) -> list[tuple[str, str]]:
    """HaluGate's headers: what its page documents, and the single one of its newer versions.

    Only answers whose action is ``header`` have any. If any answer is withheld there are none:
    the headers of a refusal must not quote what it withholds. Findings in structured answers have
    one of ours more, with the JSON Pointer of each span.

    Args:
        answers: The answers of one response. One header has the spans of all, in order.

    Returns:
        Names and values, in the documented order; safe to send as they are.
    """
    if any(answer.action is Action.BLOCK for answer in answers):
        return []
    marked = [answer for answer in answers if answer.action is Action.HEADER]
    hallucinated = [each for each in marked if each.outcome is Outcome.HALLUCINATED]
    is_unverified = any(each.outcome is Outcome.UNVERIFIED for each in marked)
    headers: list[tuple[str, str]] = []
    warnings = []
    if hallucinated or is_unverified:
        headers.append(("x-vsr-fact-check-needed", _TRUE))
    if hallucinated:
        headers += _of_findings(AnswerFindings.of(hallucinated))
        warnings.append("hallucination")
    if is_unverified:
        headers.append(("x-vsr-unverified-factual-response", _TRUE))
        headers.append(("x-vsr-verification-context-missing", _TRUE))
        warnings.append("unverified_factual")
    if warnings:
        headers.append(("x-vsr-response-warnings", ",".join(warnings)))
    if any(each.pointers for each in hallucinated):
        pointers = [pointer for each in hallucinated for pointer in each.pointers]
        headers.append(("x-groundwire-pointers", header_list(pointers)))
    return headers


def outcome_headers(answers: Sequence[Checked]) -> list[tuple[str, str]]:
    """Our own headers: the worst outcome and the strongest action of the answers.

    There are none if no answer was checked before the response. A third one tells that reasoning
    of the model stands beside them, which is not read.
    """
    if not answers:
        return []
    headers = [
        ("x-groundwire-outcome", str(worst(answer.outcome for answer in answers))),
        ("x-groundwire-action", str(strongest(answers))),
    ]
    if unread := _unread(answers):
        headers.append(("x-groundwire-unread", ",".join(unread)))
    return headers


def evidence_headers(conversation: Conversation) -> list[tuple[str, str]]:
    """The places of the evidence in a request, for clients that send ``DEBUG_HEADER``."""
    found = (f"{each.origin} {each.place}" for each in conversation.offered)
    return [("x-groundwire-evidence", header_list(found) or "none")]


def is_told_at_end(checked: Checked) -> bool:
    """Whether a stream tells the outcome of an answer at its end.

    All outcomes are told but ``unverified`` with an action that only keeps a record or does
    nothing: under DVARA's names a request without sources is relayed unchanged.
    """
    is_told = checked.action.strength >= Action.HEADER.strength
    return is_told or checked.outcome is not Outcome.UNVERIFIED


def extension(answers: Sequence[Checked], *, trace_id: str) -> dict[str, Any]:
    """The value of ``groundwire`` on the final chunk: what headers could not say yet.

    Args:
        answers: All answers of the response.
        trace_id: The trace id of the request.

    Returns:
        JSON data: ``outcome``, ``action``, ``trace_id``, and under ``headers`` those of
        :func:`vsr_headers` by name, with the same values; ``unread`` if anything was not.
    """
    unread = _unread(answers)
    return {
        "outcome": str(worst(answer.outcome for answer in answers)),
        "action": str(strongest(answers)),
        "trace_id": trace_id,
        "headers": dict(vsr_headers(answers)),
        **({"unread": unread} if unread else {}),
    }


def _unread(answers: Sequence[Checked]) -> list[str]:
    """What stands beside the answers and was not checked, where the answers were."""
    has_reasoning = any(each.answer.has_reasoning and each.path in DUE for each in answers)
    return ["reasoning"] if has_reasoning else []


def strongest(answers: Sequence[Checked]) -> Action:
    """The strongest action that any answer asks for; ``none`` if there is no answer."""
    actions = (answer.action for answer in answers)
    return max(actions, key=lambda action: action.strength, default=Action.NONE)


def _may_be_json(answer: Answer) -> bool:
    """Whether the whole text is a JSON object or array, as far as it is known."""
    if not answer.text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(answer.text, parse_int=float)  # an int of Python has a limited length
    except RecursionError:
        return True
    except ValueError:
        # The parts that were not read may be the rest of the JSON.
        return answer.n_skipped > 0
    return True


def _of_findings(findings: AnswerFindings) -> list[tuple[str, str]]:
    headers = [("x-vsr-hallucination-detected", _TRUE)]
    if findings.spans:
        headers.append(("x-vsr-hallucination-spans", header_list(findings.spans)))
    if findings.n_contradictions is not None:
        headers.append(("x-vsr-nli-contradictions", str(findings.n_contradictions)))
    if findings.max_severity is not None:
        headers.append(("x-vsr-max-severity", str(findings.max_severity)))
    return headers
