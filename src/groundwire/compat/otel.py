"""Writes verdicts as OpenTelemetry's event ``gen_ai.evaluation.result``."""

from groundwire.compat.verdict import HostVerdict
from groundwire.detection.values import Outcome
from groundwire.errors import needs_extra

with needs_extra("The event for OpenTelemetry", "otel"):
    from opentelemetry import context
    from opentelemetry._logs import LogRecord, get_logger

#: Name of the event. It may change: OpenTelemetry's semantic conventions for generative AI are
#: still in development.
EVENT = "gen_ai.evaluation.result"


def record_evaluation(
    verdict: HostVerdict, *, response_id: str | None = None, with_reason: bool = False
) -> None:
    """Emit a verdict as an event, under OpenTelemetry's current span.

    Args:
        verdict: The verdict. If the answer was not checked, the event has a label and no score.
        response_id: Id of the response; needed if the current span is not that of the LLM request.
        with_reason: Whether the event has the reason, which quotes the answer and its evidence.
    """
    checked = verdict.checked
    is_failure = checked.outcome is Outcome.UNAVAILABLE
    attributes = {
        "gen_ai.evaluation.name": "groundedness",
        "gen_ai.evaluation.score.label": verdict.status,
        "gen_ai.evaluation.score.value": verdict.score,
        "gen_ai.evaluation.explanation": verdict.reason if with_reason else None,
        "gen_ai.response.id": response_id,
        "error.type": (checked.reason or str(checked.outcome)) if is_failure else None,
    }
    known = {key: value for key, value in attributes.items() if value is not None}
    record = LogRecord(event_name=EVENT, context=context.get_current(), attributes=known)
    get_logger("groundwire").emit(record)
