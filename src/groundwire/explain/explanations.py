"""Makes the explanations of a detection, one for each span."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeAlias

from groundwire.detection import values
from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.counterpart import counterpart as find_counterpart
from groundwire.detection.comparison.differences import differs
from groundwire.detection.comparison.finding import Category, Explanation, Subtype
from groundwire.detection.comparison.subtype import subtype_of
from groundwire.detection.example import Source
from groundwire.detection.values import Claim, Detection, Entailment, EvidenceRef, Label, Span
from groundwire.engine.settings import is_number
from groundwire.errors import SettingError
from groundwire.explain.nearby import SourceLines
from groundwire.explain.references import Library, Reference, ReferenceKind, fabricated_references
from groundwire.explain.wording import explanation_text

#: Default of ``threshold``: if a span's label has a lower probability, the span's severity may be
#: one lower. The value is that of HaluGate, the hallucination check of vLLM's Semantic Router.
THRESHOLD = 0.9
#: Default of ``entailment_threshold``: a span may be a false positive only if its claim has this
#: P(entailed) or more. The value is that of HaluGate.
ENTAILMENT_THRESHOLD = 0.75
#: A function that judges whether lines of evidence entail a hypothesis, the text of a claim.
JudgeEntailment: TypeAlias = Callable[[str, tuple[EvidenceRef, ...]], Entailment]

_QUANTITIES = (Subtype.DATE_TIME, Subtype.NUMBER, Subtype.QUANTITY_UNIT)
#: Matches a sign that a line is not a heading: a digit, ``|`` or ``;``, a value after a colon, or
#: an end mark of a sentence at the end of the line.
_STATES = re.compile(r"[\d|;]|[.!?]\W*$|:\s*\S")
_MAX_HEADING_WORDS = 6
_NOT_RUN = "the explainer was not run"


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The verdict of a model on a claim, or the reason why there is no verdict.

    ``reason`` is the class name of the error with which the model failed. ``unexplained`` says in
    the text of the explanation why there is no verdict. :func:`compare`, which needs no verdict,
    leaves all three ``None``.
    """

    entailment: Entailment | None = None
    reason: str | None = None
    unexplained: str | None = None


def explain(
    detection: Detection,
    sources: Sequence[Source],
    judge_entailment: JudgeEntailment | None = None,
    *,
    threshold: float = THRESHOLD,
    entailment_threshold: float = ENTAILMENT_THRESHOLD,
) -> tuple[Explanation, ...]:
    """Explain every span of a detection: its fault, and how severe the fault is.

    Args:
        detection: The detection. It is not changed.
        sources: The sources that the answer was checked with, with the same ids.
        judge_entailment: Function that returns P(entailed), P(neutral) and P(contradicted) of a
            claim by a span's evidence. If the function raises an exception, or does not return an
            ``Entailment``, the span is explained by rules alone, and its explanation gives the
            reason. With ``None``, the entailment in the detection is used; spans of claims without
            an entailment are explained by rules alone.
        threshold: If a span's label has a lower probability than this, the severity of the span may
            be one lower; in (0, 1].
        entailment_threshold: A span is a false positive only if its claim has this P(entailed) or
            more; in (0, 1].

    Returns:
        One explanation for each of ``detection.spans``, false positives included, in the same
        order.

    Raises:
        SettingError: If a threshold is out of its range.
    """
    require_thresholds(threshold, entailment_threshold)
    judge = cache(partial(_judge, judge_entailment)) if judge_entailment else None
    explanations = []
    for claim, span, held, fabricated in _held(detection, sources):
        verdict = judge(claim.text, held.evidence) if judge else _Verdict(claim.entailment)
        if verdict.entailment is None:
            verdict = replace(verdict, unexplained=verdict.reason or _NOT_RUN)
        thresholds = {"threshold": threshold, "entailment_threshold": entailment_threshold}
        explanations.append(_explained(span, held, verdict, fabricated, **thresholds))
    return tuple(explanations)


def compare(detection: Detection, sources: Sequence[Source]) -> tuple[Explanation, ...]:
    """Explain every span of a detection by rules alone, without the verdict of a model.

    The detector's labels stay, except that a contradicted span becomes unsupported if no rule found
    a conflict in the span, and the line that it is compared with is about something else.

    Args:
        detection: The detection. It is not changed.
        sources: The sources that the answer was checked with, with the same ids.

    Returns:
        One explanation for each of ``detection.spans``, in the same order.
    """
    return tuple(
        _explained(span, held, _Verdict(), fabricated)
        for _, span, held, fabricated in _held(detection, sources)
    )


def _held(
    detection: Detection, sources: Sequence[Source]
) -> Iterator[tuple[Claim, Span, Held, tuple[Reference, ...]]]:
    """Yield each span with its claim, its evidence, and the fabricated references of the claim."""
    lines, library = SourceLines(sources), Library(sources)
    for claim in detection.claims:
        fabricated = fabricated_references(claim, library) if claim.spans else ()
        text = ComparedText(claim.text)
        for span in claim.spans:
            yield claim, span, lines.held(span, claim, text), fabricated


def severity(
    label: Label,
    entailment: Entailment | None,
    threshold: float = THRESHOLD,
    *,
    is_stated: bool = False,
) -> int:
    """Return the severity of a finding: supported 0, unsupported 2, contradicted 4.

    The severity is one less, but not below 0, if the explainer is not sure of the label.

    Args:
        label: Label of the finding.
        entailment: Verdict of the explainer; without one, the label counts as sure.
        threshold: The explainer is sure of a label with this probability or more; in (0, 1].
        is_stated: Whether the evidence states another number or date where the span has one; then a
            contradiction is sure.
    """
    full = values.SEVERITY.get(label, 0)
    is_plain = is_stated and label is Label.CONTRADICTED
    is_sure = entailment is None or is_plain or entailment.of(label) >= threshold
    return full if is_sure else max(0, full - 1)


def _explained(
    span: Span,
    held: Held,
    verdict: _Verdict,
    fabricated: tuple[Reference, ...],
    *,
    threshold: float = THRESHOLD,
    entailment_threshold: float = ENTAILMENT_THRESHOLD,
) -> Explanation:
    found = verdict.entailment
    is_entailed = found is not None and found.entailment >= entailment_threshold
    # Models may overlook wrong numbers, dates, units and negations anywhere in the claim, and
    # conflicts that rules find in the span.
    is_acquitted = is_entailed and span.conflict is None and not differs(held)
    subtype = subtype_of(held)
    counterpart = find_counterpart(held, subtype)
    line = _line_of(counterpart, held)
    place = None if line is None else line.place
    is_same = span.conflict is not None or _is_same_subject(held, line)
    if not is_same:
        counterpart = None
    is_stated = counterpart is not None and subtype in _QUANTITIES
    label = Label.SUPPORTED
    if not is_acquitted:
        entailment = None if is_entailed else verdict.entailment
        label = _label_of_fault(span, entailment, is_stated=is_stated)
    if label is Label.CONTRADICTED and not is_same:
        label = Label.UNSUPPORTED  # a line about something else does not contradict the span
    reference = _reference(span, label, fabricated)
    if reference is not None:
        is_work = reference.kind is ReferenceKind.WORK
        # A reference to a work names its author, so the span counts as a name.
        subtype = Subtype.ENTITY if is_work else Subtype.OTHER
        counterpart, is_acquitted = None, False
        label = Label.UNSUPPORTED if label is Label.SUPPORTED else label
    return Explanation(
        start=span.start,
        end=span.end,
        label=label,
        category=_category(span, label, reference),
        subtype=subtype,
        severity=severity(label, verdict.entailment, threshold, is_stated=is_stated),
        entailment=verdict.entailment,
        text=explanation_text(
            span.text,
            label=label,
            reference=reference,
            counterpart=counterpart,
            evidence=place,
            unexplained=verdict.unexplained,
        ),
        evidence=place,
        counterpart=counterpart,
        is_false_positive=is_acquitted,
        reason=verdict.reason,
    )


def _judge(judge: JudgeEntailment, hypothesis: str, evidence: tuple[EvidenceRef, ...]) -> _Verdict:
    try:
        entailment = judge(hypothesis, evidence)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the span stays marked
        # The error's message is left out, because it may quote the answer.
        return _Verdict(reason=type(error).__name__)
    if not isinstance(entailment, Entailment):
        return _Verdict(reason=TypeError.__name__)
    return _Verdict(entailment)


def _label_of_fault(span: Span, entailment: Entailment | None, *, is_stated: bool) -> Label:
    """Return the label of a span that is not a false positive: unsupported or contradicted.

    If a rule found a conflict, or ``entailment`` is ``None``, the detector's label is kept.
    Otherwise the span is contradicted if the evidence has another number or date (``is_stated``),
    or if P(contradicted) is at least P(neutral).
    """
    if entailment is None or span.conflict is not None:
        return span.label
    is_contradicted = is_stated or entailment.contradiction >= entailment.neutral
    return Label.CONTRADICTED if is_contradicted else Label.UNSUPPORTED


def _reference(span: Span, label: Label, fabricated: tuple[Reference, ...]) -> Reference | None:
    """Return the first fabricated reference that a span touches; ``None`` if there is none.

    For an unsupported span that touches none, the first fabricated reference of the claim is
    returned, such as ``[S7]`` for "green" in "the tower is green [S7]".
    """
    touched = [found for found in fabricated if found.start < span.end and found.end > span.start]
    others = fabricated if label is Label.UNSUPPORTED else ()
    return next(iter((*touched, *others)), None)


def _category(span: Span, label: Label, reference: Reference | None) -> Category:
    if reference is not None:
        return Category.FABRICATED_REFERENCE
    # A false positive, whose label is ``supported``, gets the category for the detector's label.
    is_contradiction = (span.label if label is Label.SUPPORTED else label) is Label.CONTRADICTED
    return Category.CONTRADICTION if is_contradiction else Category.UNSUPPORTED_ADDITION


def _is_same_subject(held: Held, line: ComparedText | None) -> bool:
    """Return whether a line shares a content word with the claim outside the span.

    The result is also true if there is no line, or if the claim has no content word outside the
    span.
    """
    return line is None or not held.rest_content or bool(held.rest_content & line.content)


def _is_heading(line: EvidenceRef) -> bool:
    """Return whether a line looks like a heading: a few words, and no match of :data:`_STATES`."""
    words = line.text.strip("#*_ \t").split()
    return len(words) <= _MAX_HEADING_WORDS and _STATES.search(line.text) is None


def _contains(place: EvidenceRef, part: EvidenceRef) -> bool:
    return place.source_id == part.source_id and place.start <= part.start <= part.end <= place.end


def _line_of(counterpart: EvidenceRef | None, held: Held) -> ComparedText | None:
    """Return the line that has the counterpart, or else the line most like the text near the span.

    In the second case, headings are left out, and words nearer to the span weigh more. The result
    is ``None`` if no line is left.
    """
    for line in held.lines:
        if counterpart and line.place and _contains(line.place, counterpart):
            return line
    around = held.claim.near(held.start, held.end)
    return max(
        (line for line in held.lines if line.place and not _is_heading(line.place)),
        key=lambda line: sum(1 / around[stem] for stem in around.keys() & line.content),
        default=None,
    )


def require_thresholds(threshold: float, entailment_threshold: float) -> None:
    """Refuse thresholds that are out of range.

    Raises:
        SettingError: If a threshold is not in (0, 1].
    """
    given = {"threshold": threshold, "entailment_threshold": entailment_threshold}
    for name, value in given.items():
        if not is_number(value) or not 0 < value <= 1:
            raise SettingError(name, value, "in (0, 1]")


def unexplained(span: Span, reason: str) -> Explanation:
    """Make the explanation of a span that was not judged, with the detector's label."""
    return Explanation(
        start=span.start,
        end=span.end,
        label=span.label,
        category=_category(span, span.label, None),
        subtype=Subtype.OTHER,
        severity=severity(span.label, None),
        entailment=None,
        text=explanation_text(span.text, label=span.label, unexplained=reason),
        evidence=None,
        counterpart=None,
        reason=reason,
    )
