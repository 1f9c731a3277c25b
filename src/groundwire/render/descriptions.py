"""Descriptions of a detection in words, for the terminal report and the pages.

Templates can use all public names of this module.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from groundwire.detection.values import (
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    Label,
    Outcome,
    Reason,
    Score,
    Span,
)
from groundwire.text.screen import one_line

if TYPE_CHECKING:
    from groundwire.verify.verifier import DoubtedWords

OUTCOMES = {
    Outcome.GROUNDED: "no unsupported words found",
    Outcome.HALLUCINATED: "the sources do not support the marked words",
    Outcome.PARTIAL: "nothing unsupported was found, but not everything was read: see the coverage",
    Outcome.UNVERIFIED: "there was no evidence to hold the answer against: give a source",
    Outcome.SKIPPED: "nothing calls for a check",
    Outcome.UNAVAILABLE: "a check was due and failed: do not take this for a pass",
}

#: Explanation of each reason why something was not checked.
REASONS = {
    Reason.NO_EVIDENCE: "there was no evidence",
    Reason.NO_CLAIM: "the answer has text, and no statement in it that could be checked",
    Reason.LANGUAGE: "claim or evidence is in a language or script that the detector does not know",
    Reason.UNRELATED: "a claim has no word in common with the evidence",
    Reason.TOO_SHORT: "a claim had fewer words than the detector compares",
    Reason.DROPPED_LONG: "a source was over the length limit",
    Reason.DROPPED_OVER_CAP: "there were more sources than the limit allows",
    Reason.ANSWER_OVER_LIMIT: "the answer was over the length limit",
    Reason.QUESTION_SHORTENED: "only the beginning and the end of the question were read",
    Reason.DETECTOR_FAILED: "the detector failed",
    Reason.UNREAD_EVIDENCE: "evidence that is no text, such as an image in a tool result",
    Reason.UNREAD_ANSWER: "a part of the answer that is no text, such as sound",
    Reason.CUT_OFF: "the last word, at which the answer breaks off",
}


def explain_outcome(detection: Detection) -> str:
    """Explain the outcome of a detection in a phrase."""
    return OUTCOMES[detection.outcome]


def describe_claims(detection: Detection) -> str:
    """Count the statements of an answer by label: ``3 statements: 2 supported, 1 contradicted``."""
    n = Counter(claim.label for claim in detection.claims)
    parts = ", ".join(f"{n[label]:,} {label}" for label in Label if n[label])
    total = n.total()
    return f"{total:,} statement{'' if total == 1 else 's'}{': ' if parts else ''}{parts}"


def describe_coverage(coverage: Coverage) -> str:
    """Describe the coverage in one line: the shares of evidence and answer that were read."""
    answer = f"{percent(coverage.read_chars, coverage.answer_chars)} of the answer read"
    if not coverage.offered_chars:
        return f"no evidence; {answer}"
    return (
        f"{percent(coverage.indexed_chars, coverage.offered_chars)} of the evidence indexed, "
        f"{percent(coverage.attended_chars, coverage.offered_chars)} read with the answer "
        f"({coverage.offered_chars:,} characters); {answer}"
    )


def has_gap(coverage: Coverage) -> bool:
    """Return whether a report needs lines on the coverage: something was not read or checked."""
    return bool(coverage.reasons) or not coverage.is_complete


def describe_asides(detection: Detection) -> str:
    """Describe in one line the parts of the answer that claim nothing; empty if there are none."""
    if not detection.asides:
        return ""
    counts = Counter(aside.kind for aside in detection.asides)
    kinds = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(counts.items()))
    coverage = detection.coverage
    total = coverage.answer_chars + coverage.no_claim_chars
    return f"{percent(coverage.no_claim_chars, total)} of the answer: {kinds}"


def describe_reasons(coverage: Coverage) -> list[str]:
    """Describe each reason why something was not checked, with its count, one line each."""
    return [
        f"{reason} ({count:,}): {REASONS[reason]}"
        for reason, count in sorted(coverage.reasons.items())
    ]


def describe_detector(detector: DetectorInfo) -> str:
    """Describe the detector in one line: name, short revision, operating point, threshold."""
    return one_line(
        f"{detector.name} {detector.revision[:12]}, "
        f"{detector.operating_point} (threshold {detector.threshold:g})"
    )


def describe_label(span: Span) -> str:
    """Describe the label of a span, and the conflict that a rule found: ``contradicted (number)``.

    The conflict is made safe to print: in a detection that was read from JSON it can be any text.
    """
    return f"{span.label} ({one_line(span.conflict)})" if span.conflict else str(span.label)


def describe_score(span: Span) -> str:
    """Describe the score of a span with the kind of score: ``similarity 0.41``."""
    if span.similarity is not None:
        return f"{Score.SIMILARITY} {span.similarity:.2f}"
    return f"{Score.PROBABILITY} {span.probability or 0:.2f}"


def highest_probability(detection: Detection) -> float | None:
    """Return the highest probability of any span; without spans, the highest of any claim.

    ``None`` if there is no probability.
    """
    judged = detection.spans or detection.claims
    return max((x.probability for x in judged if x.probability is not None), default=None)


def percent(part: int, whole: int) -> str:
    """Format a share in percent, rounded down, but a share between 0 % and 1 % as ``<1%``.

    If ``whole`` is 0, the share is ``100%``.

    >>> percent(9_999, 10_000), percent(1, 10_000), percent(2, 3)
    ('99%', '<1%', '66%')
    """
    if part >= whole:
        return "100%"
    return f"{100 * part // whole}%" if part == 0 or 100 * part >= whole else "<1%"


#: A marked part of a text: a span of an answer, or words of a claim that its evidence does not
#: support.
MarkedStretch: TypeAlias = "Span | DoubtedWords"
AnyMarked = TypeVar("AnyMarked", bound=MarkedStretch)


def pieces(answer: str, spans: Iterable[AnyMarked]) -> Iterator[tuple[str, AnyMarked | None]]:
    """Cut the answer at its spans, in their order; yield each stretch with its span or ``None``."""
    position = 0
    for span in spans:
        yield answer[position : span.start], None
        yield answer[span.start : span.end], span
        position = span.end
    yield answer[position:], None


def unchecked(detection: Detection) -> Iterator[Claim]:
    """Yield the unchecked claims, except those without evidence: the coverage counts these."""
    for claim in detection.claims:
        if claim.label is Label.UNCHECKED and claim.reason is not Reason.NO_EVIDENCE:
            yield claim
