"""Judged answers, each compared with its labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from groundwire.detection.detection_json import detection_of
from groundwire.detection.values import Claim, Detection, Label, Reason, Span
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.judged_row import JudgedRow
from groundwire.evaluation.metrics import Overlap, Range, count_characters, count_pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAnswer:
    """A judged answer compared with its labels, in numbers.

    An answer whose check failed is not flagged, and has an ``error``. Neither is one of which
    nothing was checked: see :func:`.sums.counted` for what becomes of both. Reports say how many
    these are.

    Attributes:
        id: Names the answer within its set.
        task: The kind of question.
        context_id: Names its sources.
        is_hallucinated: Whether people marked anything.
        is_flagged: Whether the detector did.
        probability: Its highest P(not supported) of a claim, in [0, 1]; 0 if none was judged. Of a
            detector that compares, 1 less its lowest similarity: no probability, the same order.
        characters: Marked characters, each once.
        pairs: The same, counted as LettuceDetect does.
        n_clean_claims: Claims in which people marked nothing.
        n_clean_passed: Of these, those that were judged and in which the detector marked nothing.
        is_complete: Whether all sources could be reached and all of the answer was judged.
        error: Why its check failed, else empty.
        is_unchecked: Whether its check did not fail, and judged no claim of it.
        has_spans: Whether it is known which characters are hallucinated; otherwise it counts for
            no score of characters.
    """

    id: str
    task: str
    context_id: str
    is_hallucinated: bool
    is_flagged: bool
    probability: float
    characters: Overlap
    pairs: Overlap
    n_clean_claims: int
    n_clean_passed: int
    is_complete: bool
    error: str = ""
    is_unchecked: bool = False
    has_spans: bool = True

    @classmethod
    def of(cls, row: JudgedRow, detection: Detection | None) -> Self:
        """Compare the detection of a row with the labels of its answer.

        Args:
            row: A row of results.
            detection: Its detection, as :func:`detection_in` reads it.
        """
        gold = [(mark["start"], mark["end"]) for mark in row.gold]
        has_spans, error = row.known == Known.SPANS, ""
        if row.error is not None or detection is None:
            error = ": ".join((row.error or {}).values()) or "there is no detection"
        spans, claims = ((), ()) if detection is None else (detection.spans, detection.claims)
        found = [(span.start, span.end) for span in spans]
        clean = [claim for claim in claims if has_spans and not overlaps(claim, gold)]
        nothing = Overlap(both=0, predicted=0, gold=0)
        return cls(
            id=row.id,
            task=row.task,
            context_id=row.context_id,
            is_hallucinated=bool(row.hallucinated),
            is_flagged=bool(found),
            probability=max(map(_doubt, claims), default=0.0),
            characters=count_characters(found, gold, row.answer) if has_spans else nothing,
            pairs=count_pairs(found, gold) if has_spans else nothing,
            n_clean_claims=len(clean),
            n_clean_passed=sum(claim.reason is None and not claim.spans for claim in clean),
            is_complete=detection is not None and detection.coverage.is_complete,
            error=error,
            is_unchecked=not error and detection is not None and not is_judged(detection),
            has_spans=has_spans,
        )

    @property
    def has_verdict(self) -> bool:
        """Whether anything of it was judged."""
        return not self.error and not self.is_unchecked

    @property
    def is_right(self) -> bool:
        """Whether there is a verdict, and it agrees with the label."""
        return self.has_verdict and self.is_flagged == self.is_hallucinated


def detection_in(row: JudgedRow) -> Detection | None:
    """Read the detection of a row; ``None`` if its check failed.

    Raises:
        KeyError: If its detection is none; so do TypeError, ValueError and AttributeError.
    """
    return None if row.detection is None else detection_of(row.detection, row.answer)


def overlaps(stretch: Claim | Span, ranges: Iterable[Range]) -> bool:
    """Whether a claim or span shares a character with any of some ranges."""
    return any(start < stretch.end and stretch.start < end for start, end in ranges)


def is_judged(detection: Detection) -> bool:
    """Whether any claim was read: an answer without one has passed nothing."""
    return any(
        claim.label is not Label.UNCHECKED or claim.reason is Reason.UNRELATED
        for claim in detection.claims
    )


def _doubt(claim: Claim) -> float:
    """Give the doubt about a claim, in [0, 1]: its probability, or 1 less its similarity."""
    if claim.similarity is not None:
        return min(1 - claim.similarity, 1.0)
    return claim.probability or 0.0
