"""Detections written by hand: an answer with its spans in ``⟦`` and ``⟧``, and its lines."""

import re
from collections.abc import Sequence

from groundwire.detection.example import Source
from groundwire.detection.values import (
    SEVERITY,
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    EvidenceRef,
    Label,
    Outcome,
    Span,
)
from groundwire.explain import Entailment
from groundwire.text.segment import parse_citations

ENTAILED = Entailment(entailment=0.9, neutral=0.06, contradiction=0.04)
NEUTRAL = Entailment(entailment=0.04, neutral=0.92, contradiction=0.04)
CONTRADICTED = Entailment(entailment=0.03, neutral=0.07, contradiction=0.9)

_MARK = re.compile(r"⟦(.*?)⟧", re.DOTALL)


def refs(*lines: str) -> tuple[EvidenceRef, ...]:
    """Lines as evidence, each the whole of a source of its own: S0, S1..."""
    return tuple(
        EvidenceRef(source_id=f"S{i}", start=0, end=len(line), text=line)
        for i, line in enumerate(lines)
    )


def sources(*lines: str) -> tuple[Source, ...]:
    return tuple(Source(text=line, id=f"S{i}") for i, line in enumerate(lines))


def claim(
    marked: str, *lines: str, label: Label = Label.CONTRADICTED, start: int = 0
) -> tuple[Claim, Span]:
    """A claim with its first span."""
    found = claim_of(marked, refs(*lines), label=label, start=start)
    return found, found.spans[0]


def claim_of(
    marked: str,
    evidence: tuple[EvidenceRef, ...],
    *,
    label: Label = Label.CONTRADICTED,
    start: int = 0,
) -> Claim:
    spans, text, last = [], "", 0
    for match in _MARK.finditer(marked):
        text += marked[last : match.start()]
        spans.append(
            Span(
                start=start + len(text),
                end=start + len(text) + len(match[1]),
                text=match[1],
                label=label,
                probability=0.9,
                severity=SEVERITY[label],
                evidence=evidence,
            )
        )
        text, last = text + match[1], match.end()
    text += marked[last:]
    return Claim(
        start=start,
        end=start + len(text),
        text=text,
        label=label,
        probability=0.9,
        citations=tuple(dict.fromkeys(id_ for c in parse_citations(text) for id_ in c.ids)),
        spans=tuple(spans),
        evidence=evidence,
    )


def detection(answer: str, claims: Sequence[Claim]) -> Detection:
    return Detection(
        answer=answer,
        outcome=Outcome.HALLUCINATED,
        claims=tuple(claims),
        coverage=Coverage(
            offered_chars=1, indexed_chars=1, attended_chars=1, answer_chars=1, read_chars=1
        ),
        detector=DetectorInfo(
            name="fixed", revision="0" * 12, operating_point="balanced", threshold=0.5
        ),
    )


def detected(
    marked: str, *lines: str, label: Label = Label.CONTRADICTED
) -> tuple[Detection, tuple[Source, ...]]:
    """A detection with one claim, and its sources."""
    found = claim_of(marked, refs(*lines), label=label)
    return detection(found.text, [found]), sources(*lines)
