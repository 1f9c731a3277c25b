"""What became of one row, and how bad that is."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from groundwire.detection.values import Detection, DetectorInfo, Score
from groundwire.errors import GroundwireError
from groundwire.evaluation.confusion import Judged, is_judged
from groundwire.evaluation.evaluation import judged_of, verdict_of
from groundwire.evaluation.judged_row import JudgedRow


class Kind(StrEnum):
    """A verdict, held against what is known of its answer as a whole."""

    FALSE_NEGATIVE = "false_negative"
    FALSE_POSITIVE = "false_positive"
    FAILED = "failed"
    UNCHECKED = "unchecked"
    TRUE_POSITIVE = "true_positive"
    TRUE_NEGATIVE = "true_negative"
    UNLABELLED = "unlabelled"

    @property
    def words(self) -> str:
        """As people read it."""
        return self.value.replace("_", " ")

    @property
    def is_wrong(self) -> bool:
        """Whether the detector did not do what it is for."""
        return self in (
            *(Kind.FALSE_NEGATIVE, Kind.FALSE_POSITIVE),
            *(Kind.FAILED, Kind.UNCHECKED),
        )


#: What each kind says.
MEANINGS = {
    Kind.FALSE_NEGATIVE: "hallucinated, and nothing was marked",
    Kind.FALSE_POSITIVE: "not hallucinated, and words were marked",
    Kind.FAILED: "could not be read, or its check failed",
    Kind.UNCHECKED: "nothing of it was checked",
    Kind.TRUE_POSITIVE: "hallucinated, and words were marked",
    Kind.TRUE_NEGATIVE: "not hallucinated, and nothing was marked",
    Kind.UNLABELLED: "nothing is known of the answer",
}

#: Which come first among examples: errors, then what nobody could judge, then the rest.
_TIERS = {
    Kind.FALSE_NEGATIVE: 0,
    Kind.FALSE_POSITIVE: 0,
    Kind.FAILED: 1,
    Kind.UNCHECKED: 1,
    Kind.TRUE_POSITIVE: 2,
    Kind.TRUE_NEGATIVE: 3,
    Kind.UNLABELLED: 3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One row as reports show it.

    Attributes:
        row: As it stands in the results.
        kind: What became of it.
        detection: What the detector found; ``None`` if the row failed.
        judged: The verdict held against what is known; ``None`` if nothing is.
        badness: How far off the verdict is, in [0, 1]: for a wrong one how far its doubt is on the
            wrong side of the threshold, for a right one the share of its words that are not.
    """

    row: JudgedRow
    kind: Kind
    detection: Detection | None
    judged: Judged | None
    badness: float

    @classmethod
    def of(cls, row: JudgedRow, detector: DetectorInfo) -> Self:
        """Hold a row's verdict against what is known of its answer.

        Raises:
            KeyError: If its detection is none; so do TypeError, ValueError and AttributeError.
        """
        verdict = verdict_of(row)
        judged = None if row.hallucinated is None else judged_of(row, verdict)
        kind = _kind(row, verdict, judged)
        return cls(
            row=row,
            kind=kind,
            detection=None if isinstance(verdict, GroundwireError) else verdict,
            judged=judged,
            badness=_badness(kind, judged, detector),
        )

    @property
    def rank(self) -> tuple[int, float, int]:
        """Sorts the worst first, and equal ones as the data has them."""
        return _TIERS[self.kind], -self.badness, self.row.row

    @property
    def key(self) -> tuple[str, str]:
        """What the same row has in the results of another detector."""
        return self.row.id, self.row.sha256


def doubt_at(detector: DetectorInfo) -> float:
    """Where the threshold lies among doubts, which grow with what speaks against an answer."""
    threshold = detector.threshold
    return 1 - threshold if detector.score is Score.SIMILARITY else threshold


def _kind(row: JudgedRow, verdict: Detection | GroundwireError, judged: Judged | None) -> Kind:
    if row.error is not None or isinstance(verdict, GroundwireError):
        return Kind.FAILED
    if not is_judged(verdict):
        return Kind.UNCHECKED
    if judged is None:
        return Kind.UNLABELLED
    if judged.is_flagged:
        return Kind.TRUE_POSITIVE if judged.is_hallucinated else Kind.FALSE_POSITIVE
    return Kind.FALSE_NEGATIVE if judged.is_hallucinated else Kind.TRUE_NEGATIVE


def _badness(kind: Kind, judged: Judged | None, detector: DetectorInfo) -> float:
    if judged is None or not judged.has_verdict:
        return 0.0
    doubt, limit = judged.probability, doubt_at(detector)
    match kind:
        case Kind.FALSE_POSITIVE:
            return _within((doubt - limit) / (1 - limit)) if limit < 1 else 1.0
        case Kind.FALSE_NEGATIVE:
            return _within((limit - doubt) / limit) if limit > 0 else 1.0
        case Kind.TRUE_POSITIVE if judged.has_spans:
            return 1 - judged.characters.iou
        case _:
            return 0.0


def _within(value: float) -> float:
    return min(max(value, 0.0), 1.0)
