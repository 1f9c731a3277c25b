"""The explainer as the pipeline sees it: what it gives, and what stands in for one that fails."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

from groundwire.detection import Claim, Detection, Label, Span
from groundwire.example import Source
from groundwire.explain import Category, Explanation, Subtype, explain
from groundwire.explain.wording import explanation_text


class Explained(Protocol):
    """What an explainer made of a detection."""

    @property
    def detection(self) -> Detection:
        """The same without false positives, its outcome computed anew."""
        ...

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        """One for each span of that detection, in their order."""
        ...

    @property
    def dropped(self) -> tuple[Explanation, ...]:
        """Those of the spans that were dropped."""
        ...

    @property
    def reason(self) -> str | None:
        """The class name of what kept its model from judging; ``None`` if nothing did."""
        ...


class Explainer(Protocol):
    """Gives a second opinion on the spans of a detection."""

    def explain(self, detection: Detection, sources: Sequence[Source]) -> Explained:
        """Say of each span why it was marked, and drop what the evidence says."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ByRules:
    """What :class:`RulesOnly` gives."""

    detection: Detection
    explanations: tuple[Explanation, ...]
    dropped: tuple[Explanation, ...] = ()
    reason: str | None = None
    timing_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class RulesOnly:
    """Explains by rules over texts alone: no model, so it drops nothing."""

    def explain(self, detection: Detection, sources: Sequence[Source]) -> ByRules:
        """Say of each span what differs and where the evidence says otherwise."""
        started = perf_counter()
        explanations = explain(detection, sources)
        timing_ms = round(1000 * (perf_counter() - started), 3)
        return ByRules(detection=detection, explanations=explanations, timing_ms=timing_ms)


def unexplained(detection: Detection, reason: str) -> ByRules:
    """What is left if an explainer failed: all spans as they are, each told to be unexplained."""
    explanations = tuple(_unexplained(span, reason) for span in detection.spans)
    return ByRules(detection=detection, explanations=explanations, reason=reason)


def as_explained(detection: Detection, explanations: Sequence[Explanation]) -> Detection:
    """The detection with the labels and severities of its explanations, which the policy reads.

    An explainer that leans to *supported* and does not drop the span leaves its label.
    """
    known = {(each.start, each.end): each for each in explanations}

    def revise(span: Span) -> Span:
        explanation = known.get((span.start, span.end))
        if explanation is None:
            return span
        label = span.label if explanation.label is Label.SUPPORTED else explanation.label
        return replace(span, label=label, severity=explanation.severity)

    def revise_claim(claim: Claim) -> Claim:
        if not claim.spans:
            return claim
        spans = tuple(map(revise, claim.spans))
        is_contradicted = any(span.label is Label.CONTRADICTED for span in spans)
        label = Label.CONTRADICTED if is_contradicted else Label.UNSUPPORTED
        return replace(claim, spans=spans, label=label)

    return replace(detection, claims=tuple(map(revise_claim, detection.claims)))


def _unexplained(span: Span, reason: str) -> Explanation:
    evidence = span.evidence[0] if span.evidence else None
    is_contradiction = span.label is Label.CONTRADICTED
    return Explanation(
        start=span.start,
        end=span.end,
        label=span.label,
        category=Category.CONTRADICTION if is_contradiction else Category.UNSUPPORTED_ADDITION,
        subtype=Subtype.OTHER,
        severity=span.severity,
        entailment=None,
        text=explanation_text(
            span.text,
            label=span.label,
            reference=None,
            counterpart=None,
            evidence=evidence,
            unexplained=reason,
        ),
        evidence=evidence,
        counterpart=None,
        reason=reason,
    )
