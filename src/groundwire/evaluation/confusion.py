"""Compares judged answers with their labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan
from typing import Self

from groundwire.detection.detection_json import detection_of
from groundwire.detection.values import Claim, Detection, Label, Reason, Span
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.judged_row import JudgedRow
from groundwire.evaluation.metrics import Overlap, Range, count_characters, count_pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAnswer:
    """A judged answer compared with its labels, in numbers.

    An answer has no verdict if its row could not be read, or if its check failed or judged no
    claim. :func:`.sums.counted` says how scores treat such answers.

    Attributes:
        row: Number of the answer's row in the data.
        id: Id of the answer, as in :attr:`.judged_row.JudgedRow.id`.
        task: The kind of question.
        context_id: Id of the answer's context, as in :attr:`.judged_row.JudgedRow.context_id`.
        is_hallucinated: Whether the answer is hallucinated, by its label; false without a label.
        is_flagged: Whether the detector marked anything in the answer.
        probability: The highest doubt about a claim of the answer, in [0, 1]; answers are ranked
            by this doubt. The doubt about a claim is P(not supported) or, for a detector that
            gives similarities, 1 minus the claim's similarity, but at most 1. The value is 0 if no
            claim has a probability or a similarity.
        characters: Counts of marked characters, as :func:`.metrics.count_characters` makes them;
            all 0 if ``has_spans`` is false.
        pairs: Counts of marked characters, as :func:`.metrics.count_pairs` makes them; all 0 if
            ``has_spans`` is false.
        n_clean_claims: Number of claims in which people marked nothing; 0 if ``has_spans`` is
            false.
        n_clean_passed: Number of the claims counted in ``n_clean_claims`` that the detector
            labelled ``supported``.
        is_complete: Whether all evidence was indexed and all of the answer was judged.
        error: The error, if the row could not be read, its check failed, or it has no detection;
            else empty.
        is_unchecked: Whether the check succeeded, but judged no claim of the answer.
        has_spans: Whether the labels say which characters are hallucinated.
        said: The detector's probability that something in the answer is not supported; ``nan`` if
            it gives none, or there is no verdict.
        latency_ms: Milliseconds that the check took; ``nan`` if there is no verdict.
    """

    row: int
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
    said: float = nan
    latency_ms: float = nan

    @classmethod
    def of(cls, row: JudgedRow, detection: Detection | None) -> Self:
        """Compare the detection of a row, as :func:`detection_in` reads it, with the row's labels.

        If ``detection`` is ``None``, the answer has no verdict.
        """
        gold = [(mark["start"], mark["end"]) for mark in row.gold]
        has_spans, error = row.known == Known.SPANS, ""
        if row.error is not None or detection is None:
            error = ": ".join((row.error or {}).values()) or "there is no detection"
        spans, claims = ((), ()) if detection is None else (detection.spans, detection.claims)
        found = [(span.start, span.end) for span in spans]
        clean = [claim for claim in claims if has_spans and not overlaps(claim, gold)]
        nothing = Overlap(both=0, predicted=0, gold=0)
        verdict = detection if detection and not error and is_judged(detection) else None
        said = None if verdict is None else verdict.probability
        return cls(
            row=row.row,
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
            is_unchecked=not error and verdict is None,
            has_spans=has_spans,
            said=nan if said is None else said,
            latency_ms=nan if verdict is None else 1000 * row.seconds,
        )

    @property
    def has_verdict(self) -> bool:
        """Whether the check succeeded, and judged at least one claim of the answer."""
        return not self.error and not self.is_unchecked

    @property
    def is_right(self) -> bool:
        """Whether there is a verdict, and it agrees with the label."""
        return self.has_verdict and self.is_flagged == self.is_hallucinated


def detection_in(row: JudgedRow) -> Detection | None:
    """Read the detection of a row; ``None`` if the row was not read or its check raised an error.

    Raises:
        KeyError: If the row's data are not a detection; TypeError, ValueError and AttributeError
            mean the same.
    """
    return None if row.detection is None else detection_of(row.detection, row.answer)


def overlaps(stretch: Claim | Span, ranges: Iterable[Range]) -> bool:
    """Return whether a claim or span shares a character with at least one of the ranges."""
    return any(start < stretch.end and stretch.start < end for start, end in ranges)


def is_judged(detection: Detection) -> bool:
    """Return whether at least one claim was judged; if not, the detection is not a verdict.

    A claim that is unchecked for the reason "unrelated" counts as judged: it was compared with the
    evidence, and the two share no word.
    """
    return any(
        claim.label is not Label.UNCHECKED or claim.reason is Reason.UNRELATED
        for claim in detection.claims
    )


def _doubt(claim: Claim) -> float:
    """Return the doubt about a claim: P(not supported), or 1 minus its similarity to the sources.

    The doubt is 1 if the similarity is negative, and 0 if the claim has neither a probability nor a
    similarity.
    """
    if claim.similarity is not None:
        return min(1 - claim.similarity, 1.0)
    return claim.probability or 0.0
