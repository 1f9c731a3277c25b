"""Labelled answers through a detector: what it made of each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundwire.detection.values import Claim, Detection, Label, Outcome
from groundwire.errors import GroundwireError
from groundwire.evaluation.datasets.labelled import Known, LabelledAnswer
from groundwire.evaluation.loading import AnyDetector
from groundwire.evaluation.metrics import Overlap, Range, count_characters, count_pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A labelled answer, and what the detector made of it.

    An answer whose check failed is not flagged, and has an ``error``. Neither is one of which
    nothing was checked: see :func:`.sums.counted` for what becomes of both. Reports say how many
    these are.

    Attributes:
        id: Names the answer within its set.
        task: What was asked for.
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

    @property
    def has_verdict(self) -> bool:
        """Whether anything of it was judged."""
        return not self.error and not self.is_unchecked


def judge(detector: AnyDetector, answers: Sequence[LabelledAnswer]) -> Iterator[Judged]:
    """Judge answers, several at a time and in order; none is left out."""
    verdicts = detector.detect_batch(answer.example for answer in answers)
    for answer, verdict in zip(answers, verdicts, strict=True):
        yield compare(answer, verdict)


def compare(answer: LabelledAnswer, verdict: Detection | GroundwireError) -> Judged:
    """Hold a verdict against what people marked."""
    return held_against(
        verdict,
        id=answer.id,
        task=answer.task,
        context_id=answer.context_id,
        text=answer.example.answer,
        is_hallucinated=answer.is_hallucinated,
        gold=[(span.start, span.end) for span in answer.spans]
        if answer.known is Known.SPANS
        else None,
    )


def held_against(
    verdict: Detection | GroundwireError,
    *,
    id: str,
    task: str,
    context_id: str,
    text: str,
    is_hallucinated: bool,
    gold: Sequence[Range] | None,
) -> Judged:
    """Hold a verdict against what is known of an answer.

    Args:
        verdict: Of the detector.
        id: Names the answer.
        task: What was asked for.
        context_id: Names its sources.
        text: Of the answer.
        is_hallucinated: Whether it is.
        gold: What people marked in it; ``None`` if they said it of the answer as a whole.
    """
    found: list[Range] = []
    clean: list[Claim] = []
    probability, is_complete, is_unchecked, error = 0.0, False, False, ""
    if isinstance(verdict, Detection):
        found = [(span.start, span.end) for span in verdict.spans]
        probability = max(map(_doubt, verdict.claims), default=0.0)
        clean = [claim for claim in verdict.claims if gold is not None and _is_clean(claim, gold)]
        is_complete = verdict.coverage.is_complete
        is_unchecked = not is_judged(verdict)
        if verdict.outcome is Outcome.UNAVAILABLE:
            error = "the outcome is unavailable"
    else:
        error = f"{type(verdict).__name__}: {verdict}"
    nothing = Overlap(both=0, predicted=0, gold=0)
    return Judged(
        id=id,
        task=task,
        context_id=context_id,
        is_hallucinated=is_hallucinated,
        is_flagged=bool(found),
        probability=probability,
        characters=nothing if gold is None else count_characters(found, gold, text),
        pairs=nothing if gold is None else count_pairs(found, gold),
        n_clean_claims=len(clean),
        n_clean_passed=sum(claim.reason is None and not claim.spans for claim in clean),
        is_complete=is_complete,
        error=error,
        is_unchecked=is_unchecked and not error,
        has_spans=gold is not None,
    )


def is_judged(detection: Detection) -> bool:
    """Whether any claim was held against evidence: an answer without one has passed nothing."""
    return any(claim.label is not Label.UNCHECKED for claim in detection.claims)


def _is_clean(claim: Claim, gold: Sequence[Range]) -> bool:
    return not any(start < claim.end and claim.start < end for start, end in gold)


def _doubt(claim: Claim) -> float:
    """How much a claim is in doubt, in [0, 1]."""
    if claim.similarity is not None:
        return min(1 - claim.similarity, 1.0)
    return claim.probability or 0.0
