"""What became of one row, and how bad that is."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from groundwire.detection.values import Detection, DetectorInfo, Score
from groundwire.errors import GroundwireError
from groundwire.evaluation.confusion import Judged, is_judged
from groundwire.evaluation.evaluation import judged_of, verdict_of
from groundwire.evaluation.judged_row import JudgedRow


class RowKind(StrEnum):
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
            *(RowKind.FALSE_NEGATIVE, RowKind.FALSE_POSITIVE),
            *(RowKind.FAILED, RowKind.UNCHECKED),
        )


#: What each kind says.
MEANINGS = {
    RowKind.FALSE_NEGATIVE: "hallucinated, and nothing was marked",
    RowKind.FALSE_POSITIVE: "not hallucinated, and words were marked",
    RowKind.FAILED: "could not be read, or its check failed",
    RowKind.UNCHECKED: "nothing of it was checked",
    RowKind.TRUE_POSITIVE: "hallucinated, and words were marked",
    RowKind.TRUE_NEGATIVE: "not hallucinated, and nothing was marked",
    RowKind.UNLABELLED: "nothing is known of the answer",
}

#: Which come first among examples: errors, then what nobody could judge, then the rest.
_TIERS = {
    RowKind.FALSE_NEGATIVE: 0,
    RowKind.FALSE_POSITIVE: 0,
    RowKind.FAILED: 1,
    RowKind.UNCHECKED: 1,
    RowKind.TRUE_POSITIVE: 2,
    RowKind.TRUE_NEGATIVE: 3,
    RowKind.UNLABELLED: 3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
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
    kind: RowKind
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


def _kind(row: JudgedRow, verdict: Detection | GroundwireError, judged: Judged | None) -> RowKind:
    if row.error is not None or isinstance(verdict, GroundwireError):
        return RowKind.FAILED
    if not is_judged(verdict):
        return RowKind.UNCHECKED
    if judged is None:
        return RowKind.UNLABELLED
    if judged.is_flagged:
        return RowKind.TRUE_POSITIVE if judged.is_hallucinated else RowKind.FALSE_POSITIVE
    return RowKind.FALSE_NEGATIVE if judged.is_hallucinated else RowKind.TRUE_NEGATIVE


def _badness(kind: RowKind, judged: Judged | None, detector: DetectorInfo) -> float:
    if judged is None or not judged.has_verdict:
        return 0.0
    doubt, limit = judged.probability, doubt_at(detector)
    match kind:
        case RowKind.FALSE_POSITIVE:
            return _within((doubt - limit) / (1 - limit)) if limit < 1 else 1.0
        case RowKind.FALSE_NEGATIVE:
            return _within((limit - doubt) / limit) if limit > 0 else 1.0
        case RowKind.TRUE_POSITIVE if judged.has_spans:
            return 1 - judged.characters.iou
        case _:
            return 0.0


def _within(value: float) -> float:
    return min(max(value, 0.0), 1.0)
