"""Writes verdicts as annotations of spans, which are steps of traces, in Arize Phoenix."""

from groundwire.compat.verdict import HostVerdict
from groundwire.errors import needs_extra

with needs_extra("Annotations for Phoenix", "phoenix"):
    from opentelemetry.trace import format_span_id, get_current_span
    from phoenix.client import Client

#: Name of the annotation.
NAME = "groundedness"


def annotate_span(
    verdict: HostVerdict,
    *,
    span_id: str | None = None,
    identifier: str | None = None,
    with_reason: bool = True,
    client: Client | None = None,
) -> None:
    """Write a verdict as an annotation of a trace's span, which Phoenix must have received.

    The label is ``passed``, ``failed`` or ``not checked``. An answer that was not checked has no
    score. An annotation of the same span with the same identifier is replaced.

    Args:
        verdict: The verdict.
        span_id: Id of the span, 16 hexadecimal digits; by default that of the current span.
        identifier: Distinguishes several annotations of one span.
        with_reason: Whether the annotation has the reason, which quotes the answer and its
            evidence.
        client: The client; by default one with the settings of the environment.

    Raises:
        ValueError: If ``span_id`` is not given and there is no current span.
        httpx.HTTPError: If Phoenix cannot be reached, or does not know the span.
    """
    if span_id is None:
        current = get_current_span().get_span_context()
        if not current.is_valid:
            raise ValueError(
                "There is no current span, so nothing can be annotated. Call annotate_span within "
                "a span, or give span_id."
            )
        span_id = format_span_id(current.span_id)
    (client or Client()).spans.add_span_annotation(
        span_id=span_id,
        annotation_name=NAME,
        annotator_kind="CODE",
        label=verdict.status,
        score=verdict.score,
        explanation=verdict.reason if with_reason else None,
        metadata={"outcome": str(verdict.checked.outcome)},
        identifier=identifier,
        sync=True,
    )
