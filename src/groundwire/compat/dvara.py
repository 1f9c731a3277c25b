"""The results of checks in the terms of DVARA's grounding guardrail.

Formulas that DVARA's documentation does not give are defined in ``docs/similarity.md``. As in
DVARA, an answer in which nothing could be compared is "grounded".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from groundwire.detection.similarity import confidence, overall
from groundwire.detection.values import Detection, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingResult:
    """The result of a check of an answer.

    Attributes:
        grounded: Whether no claim is ungrounded.
        confidence: Confidence in ``grounded``, in [0, 1]; 1 if nothing could be compared.
        ungrounded_claims: The texts of the ungrounded claims, in reading order.
        overall_similarity: Mean similarity of the claims that were compared; 1 if there are none.
            For a detector that gives probabilities, the mean P(supported).
    """

    grounded: bool
    confidence: float
    ungrounded_claims: tuple[str, ...]
    overall_similarity: float

    @classmethod
    def of(cls, detection: Detection) -> Self:
        """Make a result of a detection; the detection may come from any detector."""
        claims, info = detection.claims, detection.detector
        ungrounded = tuple(claim.text for claim in claims if claim.spans)
        if info.score is Score.SIMILARITY:
            known = [claim.similarity for claim in claims if claim.similarity is not None]
            sure = confidence(known, info.threshold)
        else:
            doubts = [claim.probability for claim in claims if claim.probability is not None]
            known = [1 - doubt for doubt in doubts]
            sure = _sureness(detection, doubts)
        return cls(
            grounded=not ungrounded,
            confidence=sure,
            ungrounded_claims=ungrounded,
            overall_similarity=overall(known),
        )


def _sureness(detection: Detection, doubts: Sequence[float]) -> float:
    """Return the confidence in the result of a detector that gives probabilities.

    With spans, it is the highest P(not supported) of a span; without, P(supported) of the claim
    that is supported least.
    """
    spans = [span.probability for span in detection.spans if span.probability is not None]
    if spans:
        return max(spans)
    return 1 - max(doubts) if doubts else 1.0
