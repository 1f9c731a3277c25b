"""Makes the explanations of a detection, one for each span."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.counterpart import counterpart as find_counterpart
from groundwire.detection.comparison.differences import differs
from groundwire.detection.comparison.finding import Category, Explanation, Subtype
from groundwire.detection.comparison.subtype import subtype_of
from groundwire.detection.example import Source
from groundwire.detection.values import (
    SEVERITY,
    Claim,
    Detection,
    Entailment,
    EvidenceRef,
    Label,
    Span,
)
from groundwire.engine.settings import is_number
from groundwire.errors import SettingError
from groundwire.explain.nearby import SourceLines
from groundwire.explain.references import Library, Reference, fabricated_references
from groundwire.explain.wording import explanation_text

#: HaluGate's threshold of severity: a finding with a lower probability is one less severe.
THRESHOLD = 0.9
#: HaluGate's threshold of entailment: P(entailed) from which a span is a false positive.
ENTAILMENT_THRESHOLD = 0.75
#: Judges a hypothesis, which is the text of a claim, against lines of evidence.
JudgeEntailment: TypeAlias = Callable[[str, tuple[EvidenceRef, ...]], Entailment]

_QUANTITIES = (Subtype.DATE_TIME, Subtype.NUMBER, Subtype.QUANTITY_UNIT)
#: A line with one of these is more than a heading: a figure, a field, a cell, a sentence.
_STATES = re.compile(r"[\d|;]|[.!?]\W*$|:\s*\S")
_MAX_HEADING_WORDS = 6
_NOT_RUN = "the explainer was not run"


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The verdict of the model on a claim, or the reason why there is none."""

    entailment: Entailment | None = None
    reason: str | None = None


def explain(
    detection: Detection,
    sources: Sequence[Source],
    judge_entailment: JudgeEntailment | None = None,
    *,
    threshold: float = THRESHOLD,
    entailment_threshold: float = ENTAILMENT_THRESHOLD,
) -> tuple[Explanation, ...]:
    """Explain every span of a detection: what is wrong with it, and how bad that is.

    Args:
        detection: The detection. It is not changed.
        sources: The sources of the check, with the ids that the detection has.
        judge_entailment: Returns three probabilities for a claim and its evidence. A span is never
            the hypothesis: "1950" alone says nothing. If it raises an exception, its spans are
            unexplained, with the reason. ``None``: the entailment in the detection counts, and
            claims without one are unexplained.
        threshold: Severity is one less where the label has a lower probability, in (0, 1].
        entailment_threshold: P(entailed) from which a span is a false positive, in (0, 1].

    Returns:
        One explanation for each of ``detection.spans``, in their order. Those with
        ``is_false_positive`` are for the caller to drop.

    Raises:
        SettingError: If a threshold is out of its range.
    """
    require_thresholds(threshold, entailment_threshold)
    lines, library = SourceLines(sources), Library(sources)
    judged: dict[tuple[str, tuple[EvidenceRef, ...]], _Verdict] = {}
    explanations = []
    for claim in detection.claims:
        fabricated = fabricated_references(claim, library) if claim.spans else ()
        text = ComparedText(claim.text)
        for span in claim.spans:
            held = lines.held(span, claim, text)
            key = (claim.text, held.evidence)
            if judge_entailment is None:
                verdict = _Verdict(claim.entailment)
            elif key in judged:
                verdict = judged[key]
            else:
                verdict = judged[key] = _judge(judge_entailment, *key)
            finding = _Finding.of(span, held, verdict.entailment, entailment_threshold)
            explanations.append(
                _explained(span, held, verdict, fabricated, finding=finding, threshold=threshold)
            )
    return tuple(explanations)


def severity(
    label: Label,
    entailment: Entailment | None,
    threshold: float = THRESHOLD,
    *,
    is_stated: bool = False,
) -> int:
    """The severity of a finding: entailed 0, unsupported 2, contradicted 4.

    One less, but not below 0, if the explainer gave the label a probability under the threshold.

    Args:
        label: Label of the finding.
        entailment: Verdict of the explainer, if there is one.
        threshold: In (0, 1].
        is_stated: Whether the evidence states another number or date in the place of the span's:
            then a contradiction is certain.
    """
    full = SEVERITY.get(label, 0)
    is_sure = (
        entailment is None
        or entailment.of(label) >= threshold
        or (is_stated and label is Label.CONTRADICTED)
    )
    return full if is_sure else max(0, full - 1)


def is_false_positive(
    span: Span,
    claim: Claim,
    evidence: Sequence[EvidenceRef],
    entailment: Entailment | None,
    threshold: float = ENTAILMENT_THRESHOLD,
) -> bool:
    """Whether the evidence says what the claim says, so that the span should not be marked.

    That is so if P(entailed) reaches the threshold, no rule found a conflict, and no number, date,
    unit or negation of the claim differs from the evidence: models overlook these.
    """
    held = Held.of(span, claim, evidence)
    return _Finding.of(span, held, entailment, threshold) is _Finding.ACQUITTED


def _explained(
    span: Span,
    held: Held,
    verdict: _Verdict,
    fabricated: tuple[Reference, ...],
    *,
    finding: "_Finding",
    threshold: float,
) -> Explanation:
    subtype = subtype_of(held)
    counterpart = find_counterpart(held, subtype)
    line = _line_of(counterpart, held)
    is_same = span.conflict is not None or _is_same_subject(held, line)
    if not is_same:
        counterpart = None
    is_stated = counterpart is not None and subtype in _QUANTITIES
    label = _label(span, verdict.entailment, finding, is_stated=is_stated)
    if label is Label.CONTRADICTED and not is_same:
        label = Label.UNSUPPORTED  # the line is about something else, and so says nothing otherwise
    is_acquitted = finding is _Finding.ACQUITTED
    reference = _reference(span, label, fabricated)
    if reference is not None:
        subtype, counterpart, is_acquitted = reference.subtype, None, False
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
            evidence=line,
            unexplained=(verdict.reason or _NOT_RUN) if verdict.entailment is None else None,
        ),
        evidence=line,
        counterpart=counterpart,
        is_false_positive=is_acquitted,
        reason=verdict.reason,
    )


def _judge(judge: JudgeEntailment, hypothesis: str, evidence: tuple[EvidenceRef, ...]) -> _Verdict:
    try:
        entailment = judge(hypothesis, evidence)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the span stays marked
        # The message may quote the answer, which has no place in a reason.
        return _Verdict(reason=type(error).__name__)
    if not isinstance(entailment, Entailment):
        return _Verdict(reason=TypeError.__name__)
    return _Verdict(entailment)


class _Finding(Enum):
    """The fate of a span, by P(entailed) and by differences from the evidence."""

    STANDS = "stands"  # under the threshold
    DIFFERS = "differs"  # over it, and a rule or a number, date, unit or negation speaks against it
    ACQUITTED = "acquitted"

    @classmethod
    def of(
        cls, span: Span, held: Held, entailment: Entailment | None, threshold: float
    ) -> "_Finding":
        if entailment is None or entailment.entailment < threshold:
            return cls.STANDS
        # Models overlook what rules find.
        is_plain = span.conflict is not None
        return cls.DIFFERS if is_plain or differs(held) else cls.ACQUITTED


def _label(
    span: Span, entailment: Entailment | None, finding: "_Finding", *, is_stated: bool
) -> Label:
    """Choose the label of a span; one that stays marked is unsupported or contradicted.

    The likelier of these two counts, even where "entailed" is likelier than both: below the
    threshold of entailment that would play the finding down. The detector's label remains where
    the evidence differs although the explainer is sure, and where a rule found a conflict. Evidence
    with another number or date in the place of the span's always contradicts it.
    """
    if finding is _Finding.ACQUITTED:
        return Label.SUPPORTED
    if entailment is None or finding is _Finding.DIFFERS or span.conflict is not None:
        return span.label
    is_contradicted = is_stated or entailment.contradiction >= entailment.neutral
    return Label.CONTRADICTED if is_contradicted else Label.UNSUPPORTED


def _reference(span: Span, label: Label, fabricated: tuple[Reference, ...]) -> Reference | None:
    """The fabricated reference that a span touches.

    For an unsupported span it may be any in its claim: "the tower is green [S7]".
    """
    touched = [found for found in fabricated if found.start < span.end and found.end > span.start]
    if not touched and label is Label.UNSUPPORTED:
        touched = list(fabricated)
    return touched[0] if touched else None


def _category(span: Span, label: Label, reference: Reference | None) -> Category:
    if reference is not None:
        return Category.FABRICATED_REFERENCE
    # A dropped span has the category that it would have if it were not dropped.
    stands = span.label if label is Label.SUPPORTED else label
    is_contradiction = stands is Label.CONTRADICTED
    return Category.CONTRADICTION if is_contradiction else Category.UNSUPPORTED_ADDITION


def _is_same_subject(held: Held, line: EvidenceRef | None) -> bool:
    """Whether a line is about what the claim says beside the span; a span alone may be anything."""
    if line is None or not held.rest_content:
        return True
    found = next((each.content for each in held.lines if each.place == line), frozenset())
    return bool(held.rest_content & found)


def _is_heading(line: EvidenceRef) -> bool:
    """Whether a line only names what follows it: a few words without figure and full stop."""
    words = line.text.strip("#*_ \t").split()
    return len(words) <= _MAX_HEADING_WORDS and _STATES.search(line.text) is None


def _line_of(counterpart: EvidenceRef | None, held: Held) -> EvidenceRef | None:
    """The line that holds the counterpart, or else the best line that is no heading."""
    for line in held.evidence:
        if (
            counterpart is not None
            and line.source_id == counterpart.source_id
            and line.start <= counterpart.start
            and counterpart.end <= line.end
        ):
            return line
    return next((line for line in held.evidence if not _is_heading(line)), None)


def require_thresholds(threshold: float, entailment_threshold: float) -> None:
    """Raise an error unless both thresholds are in range.

    Raises:
        SettingError: If one is not in (0, 1].
    """
    given = {"threshold": threshold, "entailment_threshold": entailment_threshold}
    for name, value in given.items():
        if not is_number(value) or not 0 < value <= 1:
            raise SettingError(name, value, "in (0, 1]")


def unexplained(span: Span, reason: str) -> Explanation:
    """The explanation of a span that could not be explained; it stays as the detector marked it."""
    return Explanation(
        start=span.start,
        end=span.end,
        label=span.label,
        category=_category(span, span.label, None),
        subtype=Subtype.OTHER,
        severity=SEVERITY.get(span.label, 0),
        entailment=None,
        text=explanation_text(
            span.text,
            label=span.label,
            reference=None,
            counterpart=None,
            evidence=None,
            unexplained=reason,
        ),
        evidence=None,
        counterpart=None,
        reason=reason,
    )
