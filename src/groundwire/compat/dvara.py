"""The results of checks in the terms of the grounding guardrail of DVARA, an LLM gateway.

Formulas that DVARA's documentation does not give are defined in ``docs/similarity.md``. As in
DVARA, an answer in which nothing could be compared is "grounded".
"""

from dataclasses import dataclass
from typing import Self

from groundwire.detection.similarity import confidence, overall
from groundwire.detection.values import Detection, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingResult:
    """The result of a check of an answer.

    Attributes:
        grounded: Whether no claim has marked words.
        confidence: Confidence in ``grounded``, in [0, 1]; 1 if nothing could be compared.
        ungrounded_claims: The texts of the claims with marked words, in reading order.
        overall_similarity: Mean similarity of the claims that were compared; 1 if there are none.
            For a detector that gives probabilities, the mean P(supported).
    """

    grounded: bool
    confidence: float
    ungrounded_claims: tuple[str, ...]
    overall_similarity: float

    @classmethod
    def of(cls, detection: Detection) -> Self:
        """Make a result from a detection, which may come from any detector."""
        claims, info = detection.claims, detection.detector
        ungrounded = tuple(claim.text for claim in claims if claim.spans)
        if info.score is Score.SIMILARITY:
            known = [claim.similarity for claim in claims if claim.similarity is not None]
            sure = confidence(known, info.threshold)
        else:
            doubts = [claim.probability for claim in claims if claim.probability is not None]
            known = [1 - doubt for doubt in doubts]
            spans = [span.probability for span in detection.spans if span.probability is not None]
            sure = max(spans) if spans else 1 - max(doubts, default=0.0)
        return cls(
            grounded=not ungrounded,
            confidence=sure,
            ungrounded_claims=ungrounded,
            overall_similarity=overall(known),
        )
