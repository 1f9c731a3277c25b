"""Rows of a report and their kinds, which depend on verdict and label."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from groundwire.detection.values import Detection, DetectorInfo, Score
from groundwire.evaluation.confusion import ComparedAnswer, detection_in
from groundwire.evaluation.judged_row import JudgedRow


class RowKind(StrEnum):
    """The kind of a row, which depends on its verdict and its label.

    Attributes:
        tier: Position in the order of examples: wrong verdicts first (0), then rows without a
            verdict and flagged answers without a label (1), then flagged answers that are
            hallucinated (2), then all others (3).
        meaning: Explanation for people.
    """

    tier: int
    meaning: str

    FALSE_NEGATIVE = "false_negative", 0, "hallucinated, and nothing was marked"
    FALSE_POSITIVE = "false_positive", 0, "not hallucinated, and words were marked"
    FAILED = "failed", 1, "could not be read, or its check failed"
    UNCHECKED = "unchecked", 1, "nothing of it was checked"
    FLAGGED = "flagged", 1, "without a label, and words were marked"
    TRUE_POSITIVE = "true_positive", 2, "hallucinated, and words were marked"
    TRUE_NEGATIVE = "true_negative", 3, "not hallucinated, and nothing was marked"
    NOT_FLAGGED = "not_flagged", 3, "without a label, and nothing was marked"

    def __new__(cls, value: str, tier: int, meaning: str) -> Self:
        """Make a member that is equal to the text ``value``."""
        kind = str.__new__(cls, value)
        kind._value_, kind.tier, kind.meaning = value, tier, meaning
        return kind

    @property
    def words(self) -> str:
        """The kind as words for people, such as "false negative"."""
        return self.value.replace("_", " ")

    @property
    def is_wrong(self) -> bool:
        """Whether a person should look at the row.

        A person should look at it if the verdict is wrong or missing, or if the answer is flagged
        and has no label.
        """
        return self.tier < 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One row as reports show it.

    Attributes:
        row: The row of the results.
        kind: The kind of the row.
        detection: The detection of the row; ``None`` if it has none.
        judged: The comparison of the detection with the labels; ``None`` without a label.
        badness: How bad the verdict is, in [0, 1]; rows of one tier are sorted by badness. For a
            wrong verdict, how far the answer's doubt
            (:attr:`.confusion.ComparedAnswer.probability`) is on the wrong side of the doubt at
            which a claim is flagged, as a share of the largest possible distance; 1 if this
            distance is 0. For a verdict without a label, the doubt itself. For a true positive with
            known gold spans, 1 minus the IoU of the marked characters. For all other rows, 0.
    """

    row: JudgedRow
    kind: RowKind
    detection: Detection | None
    judged: ComparedAnswer | None
    badness: float

    @classmethod
    def of(cls, row: JudgedRow, detector: DetectorInfo) -> Self:
        """Compare a row's verdict with its label.

        Raises:
            KeyError: If the detection is malformed; TypeError, ValueError and AttributeError mean
                the same.
        """
        detection = detection_in(row)
        judged = ComparedAnswer.of(row, detection)
        is_labelled = row.hallucinated is not None
        kind = _kind(judged, is_labelled=is_labelled)
        return cls(
            row=row,
            kind=kind,
            detection=detection,
            judged=judged if is_labelled else None,
            badness=_badness(kind, judged, detector),
        )

    @property
    def rank(self) -> tuple[int, float, int]:
        """Sort key: the worst rows come first; equally bad rows are in the order of the data."""
        return self.kind.tier, -self.badness, self.row.row


def _kind(judged: ComparedAnswer, *, is_labelled: bool) -> RowKind:
    if judged.error:
        return RowKind.FAILED
    if judged.is_unchecked:
        return RowKind.UNCHECKED
    if not is_labelled:
        return RowKind.FLAGGED if judged.is_flagged else RowKind.NOT_FLAGGED
    if judged.is_flagged:
        return RowKind.TRUE_POSITIVE if judged.is_hallucinated else RowKind.FALSE_POSITIVE
    return RowKind.FALSE_NEGATIVE if judged.is_hallucinated else RowKind.TRUE_NEGATIVE


def _badness(kind: RowKind, judged: ComparedAnswer, detector: DetectorInfo) -> float:
    # `limit` is the doubt at which a claim is flagged. For a detector that gives similarities, the
    # doubt is 1 minus the similarity.
    limit = detector.threshold
    limit = 1 - limit if detector.score is Score.SIMILARITY else limit
    doubt = judged.probability
    match kind:
        case RowKind.FALSE_POSITIVE:
            return _within((doubt - limit) / (1 - limit)) if limit < 1 else 1.0
        case RowKind.FLAGGED | RowKind.NOT_FLAGGED:
            return _within(doubt)
        case RowKind.FALSE_NEGATIVE:
            return _within((limit - doubt) / limit) if limit > 0 else 1.0
        case RowKind.TRUE_POSITIVE if judged.has_spans:
            return 1 - judged.characters.iou
        case _:
            return 0.0


def _within(value: float) -> float:
    return min(max(value, 0.0), 1.0)
