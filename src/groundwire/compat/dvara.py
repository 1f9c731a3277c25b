"""The interface of DVARA's grounding guardrail, for code that was written for it.

Sentences of at least five words are compared with the sources; a sentence whose highest cosine is
below 0.7 is ungrounded. Formulas that DVARA's documentation does not give are defined in
``docs/similarity.md``. As in DVARA, an answer in which nothing could be compared is
"grounded"; :attr:`GroundingResult.detection` says how much was read. For new code, use
:class:`groundwire.Detector`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

from groundwire.detection.similarity import THRESHOLD, confidence, overall
from groundwire.detection.source_limits import MAX_SOURCE_CHARS, MAX_SOURCES, account_for, limit_by
from groundwire.detection.values import Detection, DetectorInfo, Score
from groundwire.errors import SettingError

log = logging.getLogger(__name__)


class AnswerChecker(Protocol):
    """Anything that checks an answer, such as :class:`groundwire.Detector`."""

    @property
    def info(self) -> DetectorInfo: ...  # noqa: D102
    def detect(self, *, sources: Sequence[str], answer: str) -> Detection: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingResult:
    """The result of a check of an answer.

    Attributes:
        grounded: Whether no claim is ungrounded.
        confidence: Confidence in ``grounded``, in [0, 1]; 1 if nothing could be compared.
        ungrounded_claims: The texts of the ungrounded claims, in reading order.
        overall_similarity: Mean similarity of the claims that were compared; 1 if there are none.
            For a detector that gives probabilities, the mean P(supported).
        detection: The detection that the result was made of; ``None`` if the check failed.
    """

    grounded: bool = True
    confidence: float = 1.0
    ungrounded_claims: tuple[str, ...] = ()
    overall_similarity: float = 1.0
    detection: Detection | None = None

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
            detection=detection,
        )


#: The result of a check that failed: as in DVARA, the answer then passes.
GROUNDED = GroundingResult()


class GroundingDetector:
    """Checks answers as DVARA's grounding filter does."""

    def __init__(
        self,
        detector: AnswerChecker,
        *,
        max_sources: int = MAX_SOURCES,
        max_source_length: int = MAX_SOURCE_CHARS,
    ) -> None:
        """Wrap a detector that is loaded already; :meth:`load` loads one that works as DVARA's.

        Args:
            detector: The detector that checks answers.
            max_sources: Only the first ``max_sources`` sources are used; 0 or less means all.
            max_source_length: Sources with more characters are left out; 0 or less means no limit.
        """
        self.detector = detector
        self.max_sources, self.max_source_length = max_sources, max_source_length

    @classmethod
    def load(
        cls,
        *,
        similarity_threshold: float = THRESHOLD,
        max_sources: int = MAX_SOURCES,
        max_source_length: int = MAX_SOURCE_CHARS,
    ) -> Self:
        """Load the similarity detector that compares hashed words, as DVARA 1.0 does.

        Raises:
            SettingError: If the threshold is outside (0, 1].
        """
        from groundwire.detector import Detector

        if not 0 < similarity_threshold <= 1:
            raise SettingError("similarity_threshold", similarity_threshold, "in (0, 1]")
        detector = Detector.load("similarity:hash", operating_point=similarity_threshold)
        return cls(detector, max_sources=max_sources, max_source_length=max_source_length)

    def detect(self, answer: str, sources: object) -> GroundingResult | None:
        """Check an answer.

        Args:
            answer: The text of the assistant's message, without tool calls.
            sources: The value of ``metadata["grounding.sources"]``, a list of texts. Entries that
                are not texts are ignored; any other value means no sources.

        Returns:
            The result. If the check fails, the answer is "grounded", the result has no detection,
            and the log gets a warning. ``None`` if the answer is blank, or there is no source
            within the limits.
        """
        given = [s for s in sources if isinstance(s, str)] if isinstance(sources, list) else []
        limited = limit_by(
            given, len, max_sources=self.max_sources, max_source_chars=self.max_source_length
        )
        if not limited.kept or not answer.strip():
            return None
        try:
            detection = self.detector.detect(sources=limited.kept, answer=answer)
        except Exception as error:  # noqa: BLE001 - DVARA fails open, whatever went wrong
            # Not the error's message, which may quote the answer: answers must not be logged.
            log.warning("Grounding was not checked, the answer passes: %s", type(error).__name__)
            return GROUNDED
        accounted = account_for(detection, limited.reasons, dropped_chars=limited.dropped_chars)
        return replace(GroundingResult.of(detection), detection=accounted)


def _sureness(detection: Detection, doubts: Sequence[float]) -> float:
    """Return the confidence in the result of a detector that gives probabilities.

    With spans, it is the highest P(not supported) of a span; without, P(supported) of the claim
    that is supported least.
    """
    spans = [span.probability for span in detection.spans if span.probability is not None]
    if spans:
        return max(spans)
    return 1 - max(doubts) if doubts else 1.0
