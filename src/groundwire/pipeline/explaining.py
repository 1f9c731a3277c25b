"""The explainer as the pipeline sees it, and a detection as it says."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from groundwire.detection import Claim, Detection, Label, Span, claim_label
from groundwire.example import Source
from groundwire.explain import Explained, Explanation


class AnyExplainer(Protocol):
    """Gives a second opinion on the spans of a detection."""

    def explain(self, detection: Detection, sources: Sequence[Source]) -> Explained:
        """Say of each span why it was marked, and drop what the evidence says."""
        ...


def as_explained(detection: Detection, explanations: Sequence[Explanation]) -> Detection:
    """The detection with the labels and severities of its explanations, which the policy reads.

    What is marked although it is entailed (``drops_entailed: false``) keeps the detector's label,
    for a mark is never ``supported``; its severity is 0.
    """
    known = {(each.start, each.end): each for each in explanations}

    def revise(span: Span) -> Span:
        explanation = known.get((span.start, span.end))
        if explanation is None:
            return span
        label = span.label if explanation.label is Label.SUPPORTED else explanation.label
        return replace(span, label=label, severity=explanation.severity)

    def revise_claim(claim: Claim) -> Claim:
        spans = tuple(map(revise, claim.spans))
        return replace(claim, spans=spans, label=claim_label(spans, claim.reason))

    return replace(detection, claims=tuple(map(revise_claim, detection.claims)))
