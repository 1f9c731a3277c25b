"""Builds the events about answers and requests.

The outcome of an answer makes one event, unless the outcome is ``grounded`` or ``skipped``, or the
action is ``none``. Apart from that, each checked answer, grounded or not, makes
the event ANSWER_SAMPLED with the probability :attr:`.Keeping.sample`.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from math import isfinite
from types import MappingProxyType
from typing import Any

from groundwire.compat.dvara import GroundingResult
from groundwire.control.audit.detail import detail_of
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.findings import AnswerFindings
from groundwire.control.audit.quoted import AuditText, Keeping, Quotes, hashed
from groundwire.detection.values import Detection, Outcome, Reason
from groundwire.pipeline import Checked
from groundwire.policy.policy import Action

#: Highest number of entries of each list in an event: claims, spans, edits or JSON Pointers.
MAX_TEXTS = 1000
#: Limit on the total length, in characters, of the claims and spans that an event keeps in full.
#: The edits of an event have a limit of the same size. A text beyond the limit is cut after 100
#: characters.
MAX_CHARS = 200_000

_KEEPING = Keeping()
_INCOMPLETE = (Outcome.UNAVAILABLE, Outcome.PARTIAL, Outcome.UNVERIFIED)

#: The field of the payload that marks events about streamed responses.
STREAMED: Mapping[str, Any] = MappingProxyType({"source": "streaming_response"})
_WHOLE: Mapping[str, Any] = MappingProxyType({})


class Disposition(StrEnum):
    """The possible ends of a stream whose text is sent only after it was judged."""

    DELIVERED = "delivered"  # all text was sent to the client, with its edits
    REFUSED = "refused"  # ended by a refusal; the client keeps the text that was released before
    UPSTREAM_ERROR = "upstream_error"  # ended by an error of the upstream, passed on to the client
    CANCELLED = "cancelled"  # the client disconnected


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSummary:
    """Summary of a stream whose text was sent only after it was judged.

    Attributes:
        release: The release mode: ``sentence`` or ``deferred``.
        disposition: How the stream ended.
        delivered_chars: Number of characters of the upstream's text that were sent, in all choices
            together. Characters that an edit replaced count as sent.
        withheld_chars: Number of characters of the upstream's text that were not sent.
        code: The code of the refusal; ``None`` if the stream was not refused.
        scan_incomplete: Whether a part of the stream was too large to be judged, or unreadable.
        scan_failed: Whether a check failed, or the gateway failed to process the stream.
        truncated: Whether the upstream broke off or sent an error, or the stream became unreadable.
    """

    release: str
    disposition: Disposition
    delivered_chars: int
    withheld_chars: int
    code: str | None = None
    scan_incomplete: bool = False
    scan_failed: bool = False
    truncated: bool = False


def response_events(
    answers: Sequence[Checked],
    *,
    tenant: str,
    trace_id: str,
    keeping: Keeping = _KEEPING,
    model: str = "",
    origin: Mapping[str, Any] = _WHOLE,
) -> tuple[AuditEvent, ...]:
    """Build the events of a response.

    Args:
        answers: The answers of the response. If there are several, each event has the index of its
            answer as ``choice``.
        tenant: The id of the tenant of the request.
        trace_id: The id of the request.
        keeping: The settings that say which texts and details are kept.
        model: The model that the client named, already redacted; empty if it named none.
        origin: Fields of each payload that say where the answers come from, such as
            :data:`STREAMED`; empty for a response from the upstream that was not streamed.
    """
    events = []
    is_streamed = origin == STREAMED
    for answer in answers:
        found = [_finding(answer, keeping, is_streamed=is_streamed), _drawn(answer, keeping)]
        choice = {"choice": answer.answer.index} if len(answers) > 1 else {}
        named = {"model": model} if model else {}
        common = {**origin, **named, **choice, "action": str(answer.action)}
        detail = detail_of(answer, keeping) if any(found) and keeping.keeps_detail else None
        events += [
            _event(type_, tenant, trace_id, common | payload, detail)
            for type_, payload in filter(None, found)
        ]
    return tuple(events)


def summary_event(summary: StreamSummary, *, tenant: str, trace_id: str) -> AuditEvent:
    """Build the event with the summary of a stream."""
    optional = ("code", "scan_incomplete", "scan_failed", "truncated")
    counts = {name: each for name, each in asdict(summary).items() if each or name not in optional}
    return _event(EventType.STREAMING_ENFORCEMENT_SUMMARY, tenant, trace_id, {**STREAMED, **counts})


def unchecked_endpoint_event(
    *,
    tenant: str,
    trace_id: str,
    path: str,
    model: str | None,
    decision: str,
    keeping: Keeping = _KEEPING,
) -> AuditEvent:
    """Build the event of a request to an endpoint whose answers are not checked.

    Path and model are redacted, and cut if they are long; ``model`` is ``None`` if no model
    is known. ``decision`` is ``mark`` (a header says that the response is not checked) or
    ``refuse``.
    """
    name = Quotes(keeping, max_chars=0).name
    payload = {
        "path": name(path),
        "model": None if model is None else name(model),
        "decision": decision,
    }
    return _event(EventType.UNCHECKED_ENDPOINT, tenant, trace_id, payload)


def _event(
    type_: EventType,
    tenant: str,
    trace_id: str,
    payload: Mapping[str, Any],
    detail: Mapping[str, Any] | None = None,
) -> AuditEvent:
    return AuditEvent(
        type=type_,
        tenant=tenant,
        trace_id=trace_id,
        payload={"workspace_id": tenant, **payload},
        detail=detail,
    )


def _finding(
    answer: Checked, keeping: Keeping, *, is_streamed: bool
) -> tuple[EventType, dict[str, Any]] | None:
    """Return type and payload of the event that an answer's outcome makes; ``None``: no event."""
    if answer.action is Action.NONE:
        return None
    if answer.outcome in _INCOMPLETE:
        return EventType.CHECK_INCOMPLETE, _outcome_payload(answer)
    if answer.outcome is not Outcome.HALLUCINATED or answer.detection is None:
        return None
    payload = _found_payload(answer, answer.detection, keeping, is_streamed=is_streamed)
    if is_streamed:
        return EventType.HALLUCINATION_DETECTED_STREAMING, payload
    return EventType.HALLUCINATION_DETECTED, payload


def _drawn(answer: Checked, keeping: Keeping) -> tuple[EventType, dict[str, Any]] | None:
    """Decide at random whether an answer is sampled; return type and payload of its event.

    Return ``None`` if the answer is not sampled, or was not checked.
    """
    if answer.detection is None or random.random() >= keeping.sample:
        return None
    return EventType.ANSWER_SAMPLED, {"sample": keeping.sample, **_outcome_payload(answer)}


def _found_payload(
    answer: Checked, detection: Detection, keeping: Keeping, *, is_streamed: bool
) -> dict[str, Any]:
    result, findings = GroundingResult.of(detection), AnswerFindings.of([answer])
    n_claims = len(result.ungrounded_claims)
    payload: dict[str, Any] = {
        "grounded": False,
        "confidence": _number(result.confidence),
        "overall_similarity": _number(result.overall_similarity),
        "ungrounded_claim_count": n_claims,
        **_texts(detection, keeping),
        "unsupported_span_count": len(findings.spans),
        "detector": detection.detector.name,
    }
    if answer.pointers and keeping.text is not AuditText.HASH:
        name = Quotes(keeping, max_chars=0).name
        payload["unsupported_pointers"] = tuple(map(name, answer.pointers[:MAX_TEXTS]))
    if answer.edits:
        payload["edits"] = _edits(answer, detection, keeping)
    judged = {
        "nli_contradictions": findings.n_contradictions,
        "max_severity": findings.max_severity,
    }
    payload |= {name: n for name, n in judged.items() if n is not None}
    if is_streamed and answer.action is Action.BLOCK:
        payload["message"] = f"Streaming response contains {n_claims} ungrounded claim(s)"
    return payload


def _texts(detection: Detection, keeping: Keeping) -> dict[str, tuple[str | None, ...]]:
    claims = [claim for claim in detection.claims if claim.spans][:MAX_TEXTS]
    spans = detection.spans[:MAX_TEXTS]
    if keeping.text is AuditText.HASH:
        # No hashes of spans are kept: a span may be a single year or name, which can be found by
        # hashing all years or names.
        return {"ungrounded_claim_hashes": tuple(hashed(claim.text) for claim in claims)}
    quotes = Quotes(keeping, max_chars=MAX_CHARS)
    answer = quotes.read(detection.answer)
    return {
        "ungrounded_claims": tuple(quotes.part(answer, each) for each in claims),
        "unsupported_spans": tuple(quotes.part(answer, each) for each in spans),
    }


def _edits(
    answer: Checked, detection: Detection, keeping: Keeping
) -> tuple[dict[str, int | str | None], ...]:
    """Return the changes that repaired an answer; words are ``None`` if only hashes are kept."""
    quotes = Quotes(keeping, max_chars=MAX_CHARS)
    old = quotes.read(detection.answer)
    # The new words may be only a part of something to redact, such as half of an e-mail address,
    # which would not be recognised alone. So they are quoted from the redacted source, if known.
    sources = {each.id: each.text for each in answer.context.conversation.sources}
    read = cache(quotes.read)
    return tuple(
        {
            "start": edit.start,
            "end": edit.end,
            "old": quotes.piece(old, edit.start, edit.end),
            "new": quotes.piece(read(sources[place.source_id]), place.start, place.end)
            if (place := next(iter(edit.evidence), None)) and place.source_id in sources
            else quotes.text(edit.new),
        }
        for edit in answer.edits[:MAX_TEXTS]
    )


def _outcome_payload(answer: Checked) -> dict[str, Any]:
    detection = answer.detection
    reasons: Mapping[Reason, int] = {} if detection is None else detection.coverage.reasons
    counts = {str(reason): count for reason, count in sorted(reasons.items())}
    commonest = max(counts, key=lambda reason: counts[reason], default=None)
    return {
        "outcome": str(answer.outcome),
        "reason": answer.reason or commonest,
        "reasons": counts,
        "detector": None if detection is None else detection.detector.name,
    }


def _number(value: float) -> float | None:
    """Round a number; NaN and infinity, which JSON does not have, become ``None``."""
    return round(value, 6) if isfinite(value) else None
