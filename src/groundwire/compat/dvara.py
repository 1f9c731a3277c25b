"""DVARA's grounding guardrail, under its names: for code that was written against it.

Sentences of at least five words are compared with the sources; one whose highest cosine is below
0.7 is ungrounded. Where DVARA's documents are silent, the formulas are those of
``docs/similarity.md``. "Grounded" includes an answer in which nothing could be compared;
:attr:`GroundingResult.detection` says what was really read. For new code, use
:class:`groundwire.Detector`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

from groundwire.detection.similarity import THRESHOLD, confidence, overall
from groundwire.detection.source_limits import MAX_SOURCE_CHARS, MAX_SOURCES, limit_by
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
        confidence: Confidence in [0, 1]; 1 if nothing could be compared.
        ungrounded_claims: Their texts, in reading order.
        overall_similarity: Mean over the claims that were compared; 1 when there are none. Of a
            detector that gives probabilities, the mean P(supported).
        detection: The detection behind it; ``None`` if the check failed and the answer passed.
    """

    grounded: bool = True
    confidence: float = 1.0
    ungrounded_claims: tuple[str, ...] = ()
    overall_similarity: float = 1.0
    detection: Detection | None = None

    @classmethod
    def of(cls, detection: Detection) -> Self:
        """Make a result of a detection, of any detector."""
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


#: The result of a failed check, which DVARA lets pass.
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
        """Put a detector together; :meth:`load` is the usual way.

        Args:
            detector: The detector that checks answers.
            max_sources: Number of sources that are used, the first ones; 0 or less uses all.
            max_source_length: Sources with more characters are left out; 0 or less uses all.
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
        """Load the detector with hashed words, as DVARA 1.0 has it.

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
            answer: The text of the assistant's message; its tool calls are no part of it.
            sources: The value of ``metadata["grounding.sources"]``: a list, whose entries that are
                no text are ignored.

        Returns:
            ``None`` if there is nothing to check: no answer, no source, or none within the limits.
            If the check fails the answer passes, with a warning in the log, and the result has no
            detection.
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
            # The message may quote the answer, which has no place in a log.
            log.warning("Grounding was not checked, the answer passes: %s", type(error).__name__)
            return GROUNDED
        return replace(GroundingResult.of(detection), detection=limited.account_for(detection))


def _sureness(detection: Detection, doubts: Sequence[float]) -> float:
    """The confidence of a detector that gives probabilities: that of its verdict."""
    spans = [span.probability for span in detection.spans if span.probability is not None]
    if spans:
        return max(spans)
    return 1 - max(doubts) if doubts else 1.0
