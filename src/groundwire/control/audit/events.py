"""Which events there are for what happened, and what they say.

An answer that is grounded, or that called for no check, leaves no event; nor does one about which
the policy does nothing (``none``). Every other leaves exactly one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import isfinite
from typing import Any

from groundwire.compat.dvara import GroundingResult
from groundwire.control.audit.detail import detail_of
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.findings import AnswerFindings
from groundwire.control.audit.quoted import AuditText, Keeping, Quotes, hashed
from groundwire.detection.values import Detection, Outcome, Reason
from groundwire.pipeline import Checked
from groundwire.policy.policy import Action

#: Texts of one event, at most; how many there are is told in any case.
MAX_TEXTS = 1000
#: Characters of texts that are kept whole in one event; longer ones are cut then.
MAX_CHARS = 200_000

_KEEPING = Keeping()
_INCOMPLETE = (Outcome.UNAVAILABLE, Outcome.PARTIAL, Outcome.UNVERIFIED)
_STREAM = "streaming_response"


class Disposition(StrEnum):
    """What became of a stream whose text was held."""

    DELIVERED = "delivered"  # to its end
    REFUSED = "refused"  # ended by a refusal; what was released before stays with the client
    CANCELLED = "cancelled"  # the client left


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSummary:
    """What became of a stream whose text was held until it was judged.

    Attributes:
        release: ``sentence`` or ``deferred``.
        disposition: How it ended.
        delivered_chars: Characters of text that went to the client, over all choices.
        withheld_chars: Those that came from the upstream and did not.
        code: Of the refusal, if it was refused.
        scan_incomplete: Whether some text was too long to be judged.
        scan_failed: Whether the check failed.
        truncated: Whether the upstream broke off before its end.
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
    answers: Sequence[Checked], *, tenant: str, trace_id: str, keeping: Keeping = _KEEPING
) -> tuple[AuditEvent, ...]:
    """The events of a response that was not streamed.

    Args:
        answers: All of them. Where there are several, each event says of which it is (``choice``).
        tenant: Whose they are.
        trace_id: Of the request.
        keeping: What is kept of answers.
    """
    return _events(answers, {}, tenant=tenant, trace_id=trace_id, keeping=keeping)


def stream_events(
    answers: Sequence[Checked],
    *,
    tenant: str,
    trace_id: str,
    keeping: Keeping = _KEEPING,
    summary: StreamSummary | None = None,
) -> tuple[AuditEvent, ...]:
    """The events of a streamed response.

    Args:
        answers: Those that were judged; none if the client left before.
        tenant: Whose they are.
        trace_id: Of the request.
        keeping: What is kept of answers.
        summary: Of a stream whose text was held; its event is the last.
    """
    origin = {"source": _STREAM}
    events = _events(answers, origin, tenant=tenant, trace_id=trace_id, keeping=keeping)
    if summary is None:
        return events
    return (
        *events,
        AuditEvent(
            type=EventType.STREAMING_ENFORCEMENT_SUMMARY,
            tenant=tenant,
            trace_id=trace_id,
            payload=_summary_payload(summary, tenant),
        ),
    )


def grounding_unavailable_event(
    *, tenant: str, trace_id: str, source: str = "request"
) -> AuditEvent:
    """A request that names sources was refused, for there is no detector to hold answers to them.

    Args:
        tenant: Whose request it is.
        trace_id: Of it.
        source: Where it was noticed.
    """
    return AuditEvent(
        type=EventType.GROUNDING_UNAVAILABLE,
        tenant=tenant,
        trace_id=trace_id,
        payload={
            "workspace_id": tenant,
            "source": source,
            "reason": "no_grounding_detector",
            "message": "The request names sources, and no grounding detector is installed",
        },
    )


def unchecked_endpoint_event(
    *,
    tenant: str,
    trace_id: str,
    path: str,
    model: str | None,
    decision: str,
    keeping: Keeping = _KEEPING,
) -> AuditEvent:
    """Text was asked for at an endpoint whose answers are not checked.

    Args:
        tenant: Whose request it is.
        trace_id: Of it.
        path: As the client gave it; kept cut.
        model: The same.
        decision: ``mark`` (it went on, and its answer says that it is not checked) or ``refuse``.
        keeping: What is taken out of path and model before.
    """
    name = Quotes(keeping, max_chars=0).name
    return AuditEvent(
        type=EventType.UNCHECKED_ENDPOINT,
        tenant=tenant,
        trace_id=trace_id,
        payload={
            "workspace_id": tenant,
            "path": name(path),
            "model": None if model is None else name(model),
            "decision": decision,
        },
    )


def _events(
    answers: Sequence[Checked],
    origin: Mapping[str, str],
    *,
    tenant: str,
    trace_id: str,
    keeping: Keeping,
) -> tuple[AuditEvent, ...]:
    events = []
    for answer in answers:
        if answer.action is Action.NONE:
            continue
        choice = {"choice": answer.answer.index} if len(answers) > 1 else {}
        common = {"workspace_id": tenant, **origin, **choice, "action": str(answer.action)}
        if answer.outcome is Outcome.HALLUCINATED and answer.detection is not None:
            is_streamed = "source" in origin
            payload = _found_payload(answer, answer.detection, keeping, is_streamed=is_streamed)
            type_ = (
                EventType.HALLUCINATION_DETECTED_STREAMING
                if is_streamed
                else EventType.HALLUCINATION_DETECTED
            )
        elif answer.outcome in _INCOMPLETE:
            type_, payload = EventType.CHECK_INCOMPLETE, _incomplete_payload(answer)
        else:
            continue
        events.append(
            AuditEvent(
                type=type_,
                tenant=tenant,
                trace_id=trace_id,
                payload=common | payload,
                detail=detail_of(answer, keeping) if keeping.keeps_detail else None,
            )
        )
    return tuple(events)


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
    if findings.n_contradictions is not None:
        payload["nli_contradictions"] = findings.n_contradictions
    if findings.max_severity is not None:
        payload["max_severity"] = findings.max_severity
    if is_streamed and answer.action is Action.BLOCK:
        payload["message"] = f"Streaming response contains {n_claims} ungrounded claim(s)"
    return payload


def _texts(detection: Detection, keeping: Keeping) -> dict[str, tuple[str | None, ...]]:
    claims = [claim for claim in detection.claims if claim.spans][:MAX_TEXTS]
    spans = detection.spans[:MAX_TEXTS]
    if keeping.text is AuditText.HASH:
        # A span may be a year or a name alone, whose hash is guessed by trying: none is kept.
        return {"ungrounded_claim_hashes": tuple(hashed(claim.text) for claim in claims)}
    quotes = Quotes(keeping, max_chars=MAX_CHARS)
    answer = quotes.read(detection.answer)
    return {
        "ungrounded_claims": tuple(quotes.part(answer, each) for each in claims),
        "unsupported_spans": tuple(quotes.part(answer, each) for each in spans),
    }


def _incomplete_payload(answer: Checked) -> dict[str, Any]:
    detection = answer.detection
    reasons: Mapping[Reason, int] = {} if detection is None else detection.coverage.reasons
    counts = Counter({str(reason): count for reason, count in sorted(reasons.items())})
    commonest = next((reason for reason, _ in counts.most_common(1)), None)
    return {
        "outcome": str(answer.outcome),
        "reason": answer.reason or commonest,
        "reasons": dict(counts),
        "detector": None if detection is None else detection.detector.name,
    }


def _summary_payload(summary: StreamSummary, tenant: str) -> dict[str, Any]:
    told = asdict(summary)
    optional = ("code", "scan_incomplete", "scan_failed", "truncated")
    kept = {name: value for name, value in told.items() if value or name not in optional}
    return {"workspace_id": tenant, "source": _STREAM, **kept}


def _number(value: float) -> float | None:
    """A number that JSON has."""
    return round(value, 6) if isfinite(value) else None
