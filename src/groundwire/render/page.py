"""A detection as one HTML page that stands alone."""

from collections.abc import Iterator

from groundwire.detection.values import Detection
from groundwire.render.descriptions import (
    REASONS,
    describe_coverage,
    describe_detector,
    describe_label,
    describe_reasons,
    describe_score,
    explain_outcome,
    pieces,
    unchecked,
)
from groundwire.render.html import page


def to_html(detection: Detection, *, question: str | None = None) -> str:
    """Write one page that stands alone: no scripts, nothing loaded, light and dark.

    Args:
        detection: The detection.
        question: The question; the page shows it above the answer.
    """
    return page(
        "detection.html",
        title=str(detection.outcome),
        outcome=explain_outcome(detection).capitalize(),
        question=question,
        answer=_answer(detection),
        spans=detection.spans,
        unchecked=[
            (claim.text, REASONS[claim.reason] if claim.reason else "no reason given")
            for claim in unchecked(detection)
        ],
        coverage=describe_coverage(detection.coverage),
        reasons=describe_reasons(detection.coverage),
        timings=detection.timings_ms,
        detector=describe_detector(detection.detector),
        describe_label=describe_label,
        describe_score=describe_score,
    )


def _answer(detection: Detection) -> Iterator[tuple[str, int, str]]:
    """Cut the answer into pieces, with number and label of those that are marked."""
    number = 0
    for text, span in pieces(detection.answer, detection.spans):
        number += span is not None
        yield (text, 0, "") if span is None else (text, number, str(span.label))
