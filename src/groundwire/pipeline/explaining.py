"""Calls an explainer, and puts the labels and severities of explanations into a detection."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from groundwire.detection.example import Source
from groundwire.detection.values import Claim, Detection, Label, Span, claim_label, decide_outcome
from groundwire.explain import Explained, Explanation
from groundwire.pipeline.lazy import Lazy


class AnyExplainer(Protocol):
    """Explains the spans of a detection.

    The explanation of a claim must not depend on other claims, because the claims of a streamed
    answer are explained as they arrive.
    """

    def explain(self, detection: Detection, sources: Sequence[Source]) -> Explained:
        """Explain why each span was marked; spans that the evidence supports may be dropped."""


class LazyExplainer(Lazy[AnyExplainer]):
    """An explainer that is loaded when a policy first wants explanations.

    If the explainer cannot be loaded, findings stay unexplained, as after any other failure.
    """

    def explain(self, detection: Detection, sources: Sequence[Source]) -> Explained:
        """Load the explainer if necessary, and explain the spans of a detection."""
        return self.get().explain(detection, sources)


class Remembered:
    """Wraps the explainer for one answer, so that no claim is explained twice.

    A streamed answer is reviewed many times. If all its findings were explained each time, the time
    would grow with the square of their number.
    """

    def __init__(self, explainer: AnyExplainer) -> None:
        """Wrap an explainer; no claim is explained yet."""
        self._explainer = explainer
        self._claims: dict[int, Claim] = {}
        self._explanations: tuple[Explanation, ...] = ()
        self._dropped: tuple[Explanation, ...] = ()
        self._reason: str | None = None

    def explain(self, detection: Detection, sources: Sequence[Source]) -> Explained:
        """Explain the claims with spans that are new, and return all explanations so far.

        Raises:
            TypeError: If the explainer returns anything but :class:`.Explained`.
            Exception: If the explainer raises it.
        """
        fresh = tuple(c for c in detection.claims if c.spans and c.start not in self._claims)
        if fresh:
            said = self._explainer.explain(replace(detection, claims=fresh), sources)
            if not isinstance(said, Explained):
                raise TypeError(type(said).__name__)
            self._claims |= {claim.start: claim for claim in said.detection.claims}
            self._explanations += said.explanations
            self._dropped += said.dropped
            self._reason = self._reason or said.reason
        claims = tuple(self._claims.get(claim.start, claim) for claim in detection.claims)
        return Explained(
            detection=replace(
                detection, claims=claims, outcome=decide_outcome(claims, detection.coverage)
            ),
            explanations=self._explanations,
            dropped=self._dropped,
            reason=self._reason,
        )


def as_explained(detection: Detection, explanations: Sequence[Explanation]) -> Detection:
    """Put the labels and severities of explanations into the spans of a detection.

    With the setting ``drops_entailed: false``, a span stays marked even if its explanation has the
    label ``supported``. Such a span keeps the detector's label, because the label of a span is
    never ``supported``; its severity is 0.
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
